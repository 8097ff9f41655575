"""What the tests of the top-down schemes share: both enumerators at once, the optimum of a draft law, test trees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations

from rheo_proof.exact.families import FAMILIES, family_model
from rheo_proof.exact.law import Law
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ONE, ZERO, Q
from rheo_proof.exact.step import StepLaw
from rheo_proof.schemes.drafting.growing import Child, Draw, Growing
from rheo_proof.schemes.laws import draft_classes, law_by_classes, law_by_replay
from rheo_proof.schemes.scheme import Drafting, Scheme
from rheo_proof.schemes.tree import Node, Path, Tree
from rheo_proof.schemes.verifying.walk import Verifying

PAIRS = [(family, seed) for family in FAMILIES for seed in range(3)]
"""Random pairs (p, q) of one node."""


def agreed(drafting: Drafting, verifying: Verifying, model: ToyModel) -> StepLaw:
    """The step law, which both enumerators must find."""
    scheme = Scheme(drafting, verifying)
    by_classes, by_replay = law_by_classes(scheme, model), law_by_replay(scheme, model)
    assert dict(by_classes.strings(model.vocab)) == dict(by_replay.strings(model.vocab))
    assert by_classes.first_wrong(model) == by_replay.first_wrong(model)
    return by_classes


def lossless(law: StepLaw, model: ToyModel) -> bool:
    """The criterion, and the distance, which does not rest on it; they must say the same."""
    right = law.first_wrong(model) is None
    assert right == (law.total_variation(model) == 0)
    return right


def pair(family: str, seed: int, vocab: int = 3) -> tuple[Law, Law, ToyModel]:
    """p and q of the root, and their model."""
    model = family_model(family, seed, vocab, 1)
    return model.target(()), model.draft(()), model


def first_token(law: StepLaw, model: ToyModel) -> list[Fraction]:
    """The law of the first emitted token."""
    masses = [Fraction(0)] * model.vocab
    for string, mass in law.strings(model.vocab):
        masses[string[0]] += mass
    return masses


def best_acceptance(p: Law, tuples: Mapping[tuple[int, ...], Q]) -> Q:
    """alpha* = 1 + min over H of p(H) - D(all drafts in H), over all sets H of tokens."""
    tokens = range(len(p))
    sets = chain.from_iterable(combinations(tokens, size) for size in range(len(p) + 1))
    return ONE + min(p.mass(H) - sum((mass for t, mass in tuples.items() if set(t) <= set(H)), ZERO) for H in sets)


def trees(drafting: Drafting, model: ToyModel) -> dict[tuple[Node, ...], Q]:
    """The law of the kept tree; no token may be latent."""
    law: dict[tuple[Node, ...], Q] = {}
    for tree, entries in draft_classes(drafting, model).classes.items():
        assert isinstance(tree, Tree)
        assert list(entries) == [()]
        law[tree.nodes] = entries[()].mass
    return law


def strings_of(nodes: Iterable[Node]) -> dict[Path, Prefix]:
    """The tokens on the way to each node."""
    tokens = {node.path: node.token for node in nodes}
    found: dict[Path, Prefix] = {}
    for path in tokens:
        string = [tokens[path[:length]] for length in range(1, len(path) + 1)]
        found[path] = tuple(x for x in string if isinstance(x, int))
        assert len(found[path]) == len(path)
    return found


@dataclass(frozen=True)
class Given(Growing):
    """A tree for tests: the root has these children, their descendants none. A child without a token is drawn."""

    tokens: Sequence[int | None]
    laws: Sequence[Law | None]
    depth: int = 1

    def children(self, model: ToyModel, prefix: Prefix, place: Path, draw: Draw) -> Sequence[Child]:
        """The children as given."""
        made: list[Child] = []
        for x, law in zip(self.tokens, self.laws, strict=True):
            if x is None:
                assert law is not None
                made.append(Child(draw(law), law))
            else:
                made.append(Child(x, law))
        return made
