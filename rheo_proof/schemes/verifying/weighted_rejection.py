"""Recursive rejection with weights: Traversal Verification in recursive form (arXiv 2505.12398)."""

from __future__ import annotations

from rheo_proof.exact.number import Q
from rheo_proof.schemes.verifying.masses import Masses, Tuples, rejection_masses
from rheo_proof.schemes.verifying.weighted import Weighted


class WeightedRejection(Weighted):
    """The masses of recursive rejection; one child tries after the other, each with the weight that is left for it.

    On a chain this is block verification (arXiv 2403.10444), for draws without replacement Traversal Verification. For
    independent draws, too, it is lossless.
    """

    def masses(self, scaled: tuple[Q, ...], tuples: Tuples) -> Masses:
        """`rejection_masses`."""
        return rejection_masses(scaled, tuples)
