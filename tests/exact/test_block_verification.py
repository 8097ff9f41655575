"""Block verification and hierarchical speculative decoding of a chain (algorithms of arXiv 2403.10444, 2601.05724)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

import pytest

from rheo_proof.exact.chance import Chance, Name, Replay, Site, Token
from rheo_proof.exact.families import FAMILIES, family_model
from rheo_proof.exact.law import Law
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ONE, ZERO, Q, rational
from rheo_proof.exact.program import Emission
from rheo_proof.exact.step import StepLaw, target_probability
from rheo_proof.exact.toys import toy, two_tokens
from rheo_proof.schemes.drafting.chain import Chain
from rheo_proof.schemes.drafting.iid import Iid
from rheo_proof.schemes.faulty_weighted import UncappedHsd
from rheo_proof.schemes.laws import law_by_classes
from rheo_proof.schemes.scheme import Scheme
from rheo_proof.schemes.tree import Node, Tree
from rheo_proof.schemes.verifying.block import Block, true_with
from rheo_proof.schemes.verifying.capped_hsd import CappedHsd, Joint, NaiveHsd
from rheo_proof.schemes.verifying.flow import Flow
from rheo_proof.schemes.verifying.leviathan import Leviathan
from rheo_proof.schemes.verifying.walk import Verifying
from rheo_proof.schemes.verifying.weighted_rejection import WeightedRejection
from tests.walking_zoo import agreed, first_token, lossless

MODELS = [family_model(family, seed, 3, 3) for family in FAMILIES for seed in range(2)]


def accepted(rule: Verifying, model: ToyModel, length: int) -> Fraction:
    law = law_by_classes(Scheme(Chain(length), rule), model)
    return law.expected_tokens - 1


def draft_probability(model: ToyModel, x: Prefix) -> Q:
    mass = ONE
    for i, token in enumerate(x):
        mass *= model.draft(x[:i])[token]
    return mass


def strings(model: ToyModel, length: int) -> Iterator[Prefix]:
    """The chains that can be drafted."""
    return (x for x in product(range(model.vocab), repeat=length) if draft_probability(model, x))


class Transcript(Replay):
    """What a rule asks for along one path."""

    def __init__(self, script: tuple[int, ...] = ()) -> None:
        super().__init__(script)
        self.asked: list[tuple[Site, object]] = []

    def coin(self, a: Q, site: Site) -> bool:
        self.asked.append((site, a))
        return super().coin(a, site)

    def latent(self, law: Law, site: Site, name: Name, order: Sequence[int] | None = None) -> Token:
        self.asked.append((site, law))
        return super().latent(law, site, name, order)


def transcripts(rule: Verifying, model: ToyModel, x: Prefix) -> set[tuple[object, ...]]:
    """What the rule may ask on the chain x and emit then. Coins at the root are certain, and left out."""
    nodes = tuple(Node((0,) * (i + 1), y, "sampled", model.draft(x[:i])) for i, y in enumerate(x))
    found: set[tuple[object, ...]] = set()
    scripts: list[tuple[int, ...]] = [()]
    while scripts:
        chance = Transcript(scripts.pop())
        state = rule.start(model, Tree(nodes))
        emitted = rule.step(model, state, chance)
        assert isinstance(emitted, Emission)
        asked = tuple(one for one in chance.asked if one[0][:2] != ("coin", 0))
        found.add((asked, emitted.prefix, emitted.token))
        for i in range(len(chance.script), len(chance.taken)):
            scripts += [(*chance.taken[:i], other) for other in range(1, chance.options[i])]
    return found


@pytest.mark.parametrize(
    ("length", "block", "chain"), [(1, "3/5", "3/5"), (2, "133/120", "617/600"), (3, "2949/2000", "482/375")]
)
def test_block_verification_accepts_more_than_the_chain_on_the_toy(length: int, block: str, chain: str) -> None:
    law = agreed(Chain(length), Block(), toy(length))
    assert lossless(law, toy(length))
    assert law.expected_tokens - 1 == Fraction(block)
    assert accepted(Leviathan(), toy(length), length) == Fraction(chain)


def test_the_example_of_the_paper_has_eleven_ninths() -> None:
    model = two_tokens(2)
    law = agreed(Chain(2), Block(), model)
    assert lossless(law, model)
    assert law.expected_tokens - 1 == Fraction(11, 9)
    assert accepted(Leviathan(), model, 2) == Fraction(10, 9)
    assert coupling(model, 2) == Fraction(12, 9)


def coupling(model: ToyModel, length: int) -> Q:
    """The bound for one chain: the sum of min(P(x), Q(x)) over all non-empty x."""
    return sum(
        (
            min(target_probability(model, x), draft_probability(model, x))
            for n in range(length)
            for x in strings(model, n + 1)
        ),
        ZERO,
    )


PATHS = {
    "aa": "3/20 1 1/2 1",
    "ab": "3/40 1 1 1",
    "ac": "3/40 1 1 1",
    "ba": "1/60 1 1 1",
    "bb": "1/30 1 1 1",
    "bc": "1/20 1 2/3 1",
    "ca": "3/25 1/3 1 0",
    "cb": "6/25 1/3 1/6 0",
    "cc": "6/25 1/3 1/6 0",
}


@pytest.mark.parametrize("path", PATHS)
def test_probability_weights_and_coin_of_each_path_of_two_tokens(path: str) -> None:
    model, x = toy(2), tuple("abc".index(letter) for letter in path)
    mass, w_1, w_2, h_1 = map(rational, PATHS[path].split())
    assert draft_probability(model, x) == mass
    coins: dict[int, object] = {}
    for length in (1, 2):
        (asked, *_), *_ = sorted(transcripts(Block(), model, x[:length]), key=lambda one: -len(str(one[0])))
        coins[length] = dict(asked)[("coin", length, 1)]  # type: ignore[call-overload]
    assert coins == {1: w_1, 2: w_2}
    p, q = model.target(x[:1]), model.draft(x[:1])
    assert true_with(sum((max(ZERO, w_1 * a - b) for a, b in zip(p, q, strict=True)), ZERO), w_1) == h_1


def test_block_verification_is_flow_verification_on_chains() -> None:
    for model in MODELS:
        for length in (1, 2, 3):
            laws = [law_by_classes(Scheme(Chain(length), rule), model) for rule in (Block(), Flow())]
            assert dict(laws[0].strings(3)) == dict(laws[1].strings(3)), model


def test_block_verification_is_weighted_rejection_of_one_child() -> None:
    for model in MODELS:
        rule = WeightedRejection(lambda q, k: Iid(k, 1).tuples(q))
        laws = [law_by_classes(Scheme(Chain(3), rule), model) for rule in (Block(), rule)]
        assert dict(laws[0].strings(3)) == dict(laws[1].strings(3)), model


def test_block_verification_attains_the_bound_for_rules_without_memory_and_is_never_below_the_chain() -> None:
    """F(()) = 1, F(ux) = min(p(x|u) F(u), Q(ux)): the sum over x bounds every lossless verification of one chain."""
    above = 0
    for model in MODELS:
        bound: dict[Prefix, Q] = {(): ONE}
        for length in (1, 2, 3):
            for u in [u for u in bound if len(u) == length - 1]:
                for x in range(3):
                    bound[*u, x] = min(model.target(u)[x] * bound[u], draft_probability(model, (*u, x)))
        block, chain = accepted(Block(), model, 3), accepted(Leviathan(), model, 3)
        assert block == sum(bound.values()) - 1
        assert block >= chain
        assert block <= coupling(model, 3)
        above += block > chain
    assert above >= 5


def test_a_chain_may_stop_after_an_unlikely_token_that_it_keeps() -> None:
    drafting = Chain(2, rational("1/5"))
    assert lossless(agreed(drafting, Block(), toy(2)), toy(2))
    for model in MODELS:
        assert lossless(law_by_classes(Scheme(Chain(3, rational("1/4")), Block()), model), model)


def test_capped_hsd_is_block_verification_term_by_term() -> None:
    """Same coins, same laws drawn from, same answers, on every drafted chain: nothing in it can accept more."""
    compared = 0
    for model in (toy(3), two_tokens(3), *MODELS):
        for x in strings(model, 3):
            assert transcripts(CappedHsd(), model, x) == transcripts(Block(), model, x), (model, x)
            compared += 1
    assert compared > 300


def test_a_transcript_tells_the_uncapped_test_from_the_capped_one() -> None:
    assert transcripts(UncappedHsd(), toy(2), (0, 0)) != transcripts(Block(), toy(2), (0, 0))


class Accepted(NaiveHsd):
    """Naive HSD that stops where it begins to redraw: what is left of the draft is what it accepted."""

    def redraw(self, model: ToyModel, z: Prefix, joint: Joint, length: int, chance: Chance) -> Emission:
        return Emission(z, 0)


@pytest.mark.parametrize(
    ("model", "length", "count"), [(toy(2), 2, "47/40"), (toy(3), 3, "204/125"), (two_tokens(2), 2, "4/3")]
)
def test_naive_hsd_is_lossless_and_its_accepted_count_attains_the_coupling_bound(
    model: ToyModel, length: int, count: str
) -> None:
    assert lossless(agreed(Chain(length), NaiveHsd(), model), model)
    kept = law_by_classes(Scheme(Chain(length), Accepted()), model)
    assert kept.expected_tokens - 1 == Fraction(count) == coupling(model, length)


def test_naive_hsd_is_lossless_on_random_models() -> None:
    for model in MODELS:
        assert lossless(law_by_classes(Scheme(Chain(2), NaiveHsd()), model), model)


def released(model: ToyModel, length: int) -> StepLaw:
    return law_by_classes(Scheme(Chain(length), UncappedHsd()), model)


def test_the_released_hsd_code_has_the_right_first_token_and_a_wrong_second_one() -> None:
    for model, tv, count in ((toy(2), "1/15", "47/40"), (two_tokens(2), "1/9", "4/3")):
        law = released(model, 2)
        assert first_token(law, model) == [Fraction(str(mass)) for mass in model.target(())]
        wrong = law.first_wrong(model)
        assert wrong is not None
        assert len(wrong.string) == 2
        assert law.total_variation(model) == Fraction(tv)
        assert law.expected_tokens - 1 == Fraction(count)
    assert accepted(Block(), two_tokens(2), 2) < Fraction(4, 3)


def test_the_released_hsd_code_gives_the_printed_law_of_two_tokens() -> None:
    model = two_tokens(2)
    law = dict.fromkeys(product(range(2), repeat=2), ZERO)
    for string, mass in released(model, 2).strings(2):
        for y in range(2):
            if len(string) == 1:
                law[*string, y] += rational(str(mass)) * model.target(string)[y]
        if len(string) > 1:
            law[string[:2]] += rational(str(mass))
    assert [str(law[x]) for x in sorted(law)] == ["1/9", "2/9", "1/3", "1/3"]
    assert [str(target_probability(model, x)) for x in sorted(law)] == ["1/9", "2/9", "2/9", "4/9"]


def test_the_released_hsd_code_is_biased_exactly_where_its_final_test_differs() -> None:
    """That is, where a drafted chain has max(R_1, .., R_{L-1}) > max(1, R_L) and R_L > 0."""
    differing = 0
    for family in FAMILIES:
        for seed in range(6):
            model = family_model(family, seed, 3, 2)
            differs = False
            for x in strings(model, 2):
                first, both = (target_probability(model, u) / draft_probability(model, u) for u in (x[:1], x))
                differs |= first > max(ONE, both) and both > 0
            assert lossless(released(model, 2), model) != differs, model
            differing += differs
    assert 20 < differing < 60


def test_the_released_hsd_code_is_right_for_certain_drafts() -> None:
    for seed in range(6):
        model = family_model("onehot", seed, 3, 3)
        assert lossless(released(model, 3), model)
