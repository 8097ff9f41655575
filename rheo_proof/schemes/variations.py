"""Harmless variations: changes that look dangerous and are not, each to be proved lossless."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rheo_proof.exact.chance import Chance, Token
from rheo_proof.exact.law import Law
from rheo_proof.schemes.drafting.expansion import Expansion
from rheo_proof.schemes.drafting.rheo import Rheo as RheoDrafting
from rheo_proof.schemes.scheme import Named, Parameters, Scheme


@dataclass(frozen=True)
class DuplicateFills(RheoDrafting):
    """Fills are the best tokens of the tail, X or not, so two siblings may hold the same token."""

    def fills(self, at: Expansion, token: Token, chance: Chance) -> tuple[int, ...]:
        """The best tokens of the tail."""
        return at.tail[: self.slots - len(at.head) - 1]


def confident_head(q: Law) -> int:
    """An m chosen from q alone: how many tokens have more than a third of it (0, 1 or 2)."""
    return sum(3 * mass > 1 for mass in q)


def _adaptive(parameters: Parameters) -> Scheme:
    def head(q: Law) -> int:
        return min(confident_head(q), parameters.head)

    return Scheme(replace(parameters.drafting(), head=head), parameters.verifying())


VARIATIONS: dict[str, Named] = {
    named.name: named
    for named in (
        Named(
            "duplicate-fills",
            "fills do not skip X: two siblings may hold the same token",
            lambda p: p,
            lambda p: Scheme(p.drafting(DuplicateFills), p.verifying()),
            True,
        ),
        Named(
            "adaptive-head", "m is chosen at each node as a function of q, up to --head", lambda p: p, _adaptive, True
        ),
    )
}
"""Variations by name; they take every `--verify`."""
