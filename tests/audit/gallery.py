"""The gallery: every fault of other people's verifiers that the auditor must find."""

from __future__ import annotations

from tests.audit.fault import Fault
from tests.audit.gallery_laws import DRAFTS, PARAMETERS, RULES
from tests.audit.gallery_noise import BATCHES, COINS, ENDS, LOSSY, RESIDUALS, SLOWER

GALLERY: tuple[Fault, ...] = (
    *DRAFTS,
    *PARAMETERS,
    *RULES,
    *RESIDUALS,
    *COINS,
    *BATCHES,
    *ENDS,
    *LOSSY,
    *SLOWER,
)
