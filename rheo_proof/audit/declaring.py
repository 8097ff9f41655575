"""What a user declares a function to be: lossy on purpose, or exact for another target than p."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rheo_proof.audit.errors import AuditError
from rheo_proof.exact.law import Law
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ONE, ZERO, Q

MIX = re.compile(r"mix\s+(?P<weight>\d+/\d+|\d+(\.\d+)?)", re.IGNORECASE)


@dataclass(frozen=True)
class Declared:
    """A declaration in words; with a `weight`, the target is (1 - w) p + w q wherever there is a draft row."""

    text: str
    weight: Q | None = None

    def target(self, model: ToyModel) -> ToyModel:
        """The model whose target rows the output should follow."""
        if self.weight is None:
            return model
        w = self.weight

        def mixed(prefix: Prefix) -> Law:
            p = model.target(prefix)
            if len(prefix) >= model.depth:
                return p
            return Law((ONE - w) * a + w * b for a, b in zip(p, model.draft(prefix), strict=True))

        return ToyModel(model.vocab, model.depth, mixed, model.draft, f"{model.name}, mixed")


def declared_as(text: str | None) -> Declared | None:
    """Read a declaration: `mix 1/2` is the mixture of target and draft with that weight of the draft, all else words.

    >>> declared_as("typical acceptance, threshold 0.09")
    Declared(text='typical acceptance, threshold 0.09', weight=None)
    >>> str(declared_as("mix 0.5").weight)
    '1/2'
    """
    if text is None:
        return None
    if not text.strip():
        raise AuditError("declared: say in a few words what is lossy on purpose, or 'mix W' for (1 - W) p + W q")
    found = MIX.fullmatch(text.strip())
    if found is None and not text.strip().lower().startswith("mix"):
        return Declared(text.strip())
    try:
        weight = Q(found["weight"]) if found else None
    except (ValueError, ZeroDivisionError):
        weight = None
    if weight is None or not ZERO <= weight <= ONE:
        raise AuditError(
            f"declared: {text.strip()!r} starts with 'mix' and has no weight from 0 to 1 after it; write 'mix 1/2' or "
            f"'mix 0.5' for that mixture of p and q, and begin with another word otherwise"
        )
    return Declared(text.strip(), weight)
