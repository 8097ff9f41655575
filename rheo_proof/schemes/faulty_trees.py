"""Draft trees that break a condition of the theorem, for `faults.py`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rheo_proof.exact.chance import Chance, Token
from rheo_proof.exact.law import Law
from rheo_proof.exact.number import Q
from rheo_proof.schemes.drafting.candidates import Candidate
from rheo_proof.schemes.drafting.expansion import Expansion
from rheo_proof.schemes.drafting.rheo import Rheo
from rheo_proof.schemes.tree import Node, Path


@dataclass(frozen=True)
class OwnProbability(Rheo):
    """The sampled slot is valued by q(X)."""

    def sampled_factor(self, at: Expansion, token: Token, chance: Chance) -> Q:
        """q(X) in place of the proxy."""
        return at.q[chance.value(token)]


@dataclass(frozen=True)
class TailProbability(Rheo):
    """The sampled slot is valued by t(X)."""

    def sampled_factor(self, at: Expansion, token: Token, chance: Chance) -> Q:
        """t(X) in place of the proxy."""
        assert at.t is not None
        return at.t[chance.value(token)]


@dataclass(frozen=True)
class LowProxy(Rheo):
    """The proxy is divided by 3, so a fill may outrank the sampled slot."""

    def sampled_factor(self, at: Expansion, token: Token, chance: Chance) -> Q:
        """A third of the proxy."""
        return at.proxy / 3


@dataclass(frozen=True)
class TieByToken(Rheo):
    """Equal values are ordered by token id, which looks at X."""

    def insert(self, ranked: list[Candidate], candidate: Candidate, room: int, chance: Chance) -> None:
        """Order by value, then token, then creation."""
        place = len(ranked)
        while place and self.before(candidate, ranked[place - 1], chance):
            place -= 1
        ranked.insert(place, candidate)
        del ranked[room:]

    def before(self, a: Candidate, b: Candidate, chance: Chance) -> bool:
        """Whether a ranks before b, which was created earlier."""
        if a.value != b.value:
            return a.value > b.value
        return chance.value(a.node.token) < chance.value(b.node.token)


@dataclass(frozen=True)
class ReportFullQ(Rheo):
    """Verification is told that X was drawn from q; it was drawn from t."""

    def reported_law(self, at: Expansion) -> Law | None:
        """q in place of t."""
        return at.q


@dataclass(frozen=True)
class DrawFullQ(Rheo):
    """X is drawn from all of q; verification is told t."""

    def sampled_token(self, at: Expansion, path: Path, chance: Chance, layer: int, b: int) -> Token:
        """X ~ q."""
        return chance.latent(at.q, ("draft", layer, b), ("X", *path), (*at.head, *at.tail))


@dataclass(frozen=True)
class DropUnlikely(Rheo):
    """The sampled slot is left out when q(X) is less than half of the best tail token's."""

    def slots_of(self, at: Expansion, path: Path, chance: Chance, layer: int, b: int) -> Iterator[tuple[Q, Node]]:
        """All slots but an unlikely sampled one."""
        for factor, node in super().slots_of(at, path, chance, layer, b):
            if node.kind == "sampled" and 2 * at.q[chance.value(node.token)] < at.q[at.tail[0]]:
                continue
            yield factor, node


@dataclass(frozen=True)
class HeadsWithQ(Rheo):
    """Deterministic children carry q, as if they had been drawn from it."""

    def slots_of(self, at: Expansion, path: Path, chance: Chance, layer: int, b: int) -> Iterator[tuple[Q, Node]]:
        """The same slots; head and fill nodes with law q."""
        for factor, node in super().slots_of(at, path, chance, layer, b):
            yield factor, node if node.kind == "sampled" else node._replace(law=at.q)
