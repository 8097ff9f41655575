"""The auditor: the exact law of somebody else's verifier, unchanged, by enumerating the randomness that it asks for."""

from __future__ import annotations

from rheo_proof.audit.auditing import audit
from rheo_proof.audit.verdict import Verdict

__all__ = ["Verdict", "audit"]
