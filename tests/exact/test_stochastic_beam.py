"""Stochastic beam search: what the race keeps, and that recursive rejection of it is lossless."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import pytest

from rheo_proof.exact.errors import InputError
from rheo_proof.exact.families import FAMILIES, family_model
from rheo_proof.exact.model import Prefix
from rheo_proof.exact.number import ZERO, Q
from rheo_proof.exact.toys import toy
from rheo_proof.schemes.drafting.chain import Chain
from rheo_proof.schemes.drafting.stochastic_beam import StochasticBeam, drafted
from rheo_proof.schemes.drafting.without_replacement import WithoutReplacement
from rheo_proof.schemes.laws import law_by_classes
from rheo_proof.schemes.scheme import Scheme
from rheo_proof.schemes.tree import Node
from rheo_proof.schemes.verifying.rrs import Rrs
from rheo_proof.schemes.verifying.traversal import Traversal
from rheo_proof.theorems.bounds import chained_bound, kept_trees
from tests.walking_zoo import agreed, lossless, strings_of, trees

RULES = (Rrs(), Traversal())


@dataclass(frozen=True)
class Likeliest(StochasticBeam):
    """The fault: of the arrived strings the likeliest are kept, so being kept depends on what was drawn."""

    def kept(self, arrived: tuple[Prefix, ...], masses: dict[Prefix, Q], length: int) -> list[Prefix]:
        """The W likeliest prefixes, likeliest last."""
        there = dict.fromkeys(x[:length] for x in arrived)
        weight = {u: sum((mass for x, mass in masses.items() if x[:length] == u), ZERO) for u in there}
        return sorted(there, key=lambda u: (weight[u], u))[-self.width :]


@pytest.mark.parametrize("rule", RULES, ids=["rrs", "traversal"])
@pytest.mark.parametrize(("width", "depth", "vocab"), [(1, 2, 3), (2, 1, 4), (2, 2, 3), (3, 2, 2), (2, 3, 2)])
def test_a_stochastic_beam_is_verified_without_loss(rule: Rrs | Traversal, width: int, depth: int, vocab: int) -> None:
    for seed, family in enumerate(FAMILIES):
        model = family_model(family, seed, vocab, depth)
        assert lossless(law_by_classes(Scheme(StochasticBeam(width, depth), rule), model), model), family


@pytest.mark.parametrize("rule", RULES, ids=["rrs", "traversal"])
def test_both_enumerators_agree_and_a_beam_of_the_likeliest_is_refuted(rule: Rrs | Traversal) -> None:
    model = family_model("random", 1, 2, 2)
    assert lossless(agreed(StochasticBeam(2, 2), rule, model), model)
    assert not lossless(agreed(Likeliest(2, 2), rule, toy(2)), toy(2))


TOKENS = [
    (1, 2, "617/600", "133/120"),
    (2, 1, "9/10", "9/10"),
    (3, 1, "1", "1"),
    (2, 2, "18768359/12790800", "360749/232560"),
]
"""Width, depth, accepted tokens on the toy by recursive rejection and by Traversal Verification."""


@pytest.mark.parametrize(("width", "depth", "by_rejection", "by_traversal"), TOKENS)
def test_accepted_tokens_on_the_toy(width: int, depth: int, by_rejection: str, by_traversal: str) -> None:
    drafting = StochasticBeam(width, depth)
    bound = chained_bound(kept_trees(drafting, toy(depth)), toy(depth))
    for rule, expected in zip(RULES, (by_rejection, by_traversal), strict=True):
        law = law_by_classes(Scheme(drafting, rule), toy(depth))
        assert law.expected_tokens - 1 == Fraction(expected) <= bound


def test_a_beam_of_one_is_a_chain_and_one_layer_is_drawn_without_replacement() -> None:
    for family in FAMILIES:
        two, one = family_model(family, 3, 3, 2), family_model(family, 3, 4, 1)
        assert trees(StochasticBeam(1, 2), two) == trees(Chain(2), two)
        for width in (1, 2, 3):
            assert trees(StochasticBeam(width, 1), one) == trees(WithoutReplacement(width, 1), one)


def layer(nodes: tuple[Node, ...], length: int) -> tuple[Prefix, ...]:
    return tuple(string for string in strings_of(nodes).values() if len(string) == length)


def test_each_layer_by_itself_is_drawn_without_replacement_from_its_strings() -> None:
    """The first layer, too, although the race is run among strings of full length."""
    model = family_model("random", 2, 3, 2)
    for length in (1, 2):
        found: dict[tuple[Prefix, ...], Q] = {}
        for nodes, mass in trees(StochasticBeam(2, 2), model).items():
            strings = layer(nodes, length)
            found[strings] = found.get(strings, ZERO) + mass
        masses = drafted(model, length)
        expected = {(x, y): a * b / (1 - a) for x, a in masses.items() for y, b in masses.items() if x != y}
        assert found == expected


def test_sizes_below_one_are_refused() -> None:
    for width, depth in ((0, 1), (1, 0)):
        with pytest.raises(InputError, match="expected at least 1 each"):
            StochasticBeam(width, depth)
