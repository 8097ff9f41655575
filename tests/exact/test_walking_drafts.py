"""The drafting methods by themselves: the law of the tree, its shape, parameters that are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from math import prod

import pytest

from rheo_proof.exact.errors import InputError
from rheo_proof.exact.families import FAMILIES, family_model
from rheo_proof.exact.law import Law
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ONE, ZERO, Q, rational, to_fraction
from rheo_proof.exact.toys import toy
from rheo_proof.schemes.drafting.chain import Chain
from rheo_proof.schemes.drafting.delayed import Delayed
from rheo_proof.schemes.drafting.eagle import Eagle
from rheo_proof.schemes.drafting.greedy import Greedy
from rheo_proof.schemes.drafting.iid import Iid
from rheo_proof.schemes.drafting.iid_paths import IidPaths
from rheo_proof.schemes.drafting.rheo import Rheo
from rheo_proof.schemes.drafting.sequoia import best_shape
from rheo_proof.schemes.drafting.spechub import SpecHub
from rheo_proof.schemes.drafting.static import Shape, Static, full, tapered
from rheo_proof.schemes.drafting.without_replacement import WithoutReplacement
from rheo_proof.schemes.laws import law_by_classes
from rheo_proof.schemes.scheme import Scheme
from rheo_proof.schemes.tree import Node, Path
from rheo_proof.schemes.verifying.eagle_posterior import EaglePosterior
from rheo_proof.schemes.verifying.kseq import KSeq
from rheo_proof.schemes.verifying.leviathan import Leviathan
from rheo_proof.schemes.verifying.match import Match
from rheo_proof.schemes.verifying.relaxed import Relaxed
from rheo_proof.schemes.verifying.rrs import Rrs
from rheo_proof.schemes.verifying.sglang_thresholds import SglangThresholds
from rheo_proof.schemes.verifying.spechub import SpecHub as SpecHubRule
from rheo_proof.schemes.verifying.static_mixing import StaticMixing
from rheo_proof.schemes.verifying.typical import Entropy
from tests.walking_zoo import PAIRS, agreed, lossless, pair, strings_of, trees


def lists(method: Iid | WithoutReplacement | SpecHub | Greedy, model: ToyModel) -> dict[tuple[int, ...], Q]:
    """The law of the children of the root, by enumeration."""
    law: dict[tuple[int, ...], Q] = {}
    for nodes, mass in trees(method, model).items():
        children = tuple(string[0] for _, string in sorted(strings_of(nodes).items()))
        law[children] = law.get(children, ZERO) + mass
    return law


@pytest.mark.parametrize(("family", "seed"), PAIRS)
@pytest.mark.parametrize(
    "method",
    [Iid(2, 1), Iid(3, 1), WithoutReplacement(2, 1), WithoutReplacement(3, 1), SpecHub(1), Greedy(1, 1), Greedy(2, 1)],
)
def test_the_stated_law_of_the_children_is_the_enumerated_one(
    method: Iid | WithoutReplacement | SpecHub | Greedy, family: str, seed: int
) -> None:
    _, q, model = pair(family, seed)
    assert lists(method, model) == method.tuples(q)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_child_carries_the_law_it_was_drawn_from_given_the_earlier_ones(family: str) -> None:
    """Read off the enumerated tree law: Pr[x_k | x_1 .. x_{k-1}] for each k."""
    _, _, model = pair(family, 7)
    for method in (WithoutReplacement(3, 1), Iid(3, 1), SpecHub(1), Greedy(2, 1)):
        law = trees(method, model)
        for nodes, _ in law.items():
            for k, node in enumerate(nodes):
                same = {other: mass for other, mass in law.items() if other[:k] == nodes[:k]}
                conditional = [ZERO] * 3
                for other, mass in same.items():
                    x = other[k].token
                    assert isinstance(x, int)
                    conditional[x] += mass / sum(same.values(), ZERO)
                # A child without a law is deterministic.
                assert node.law == Law(conditional) or (node.law is None and conditional[node.token] == 1)


def paths_of(nodes: tuple[Node, ...], count: int, length: int) -> tuple[Prefix, ...]:
    """The strings that a tree of merged paths came from: the i-th one takes, at each node, the next unused child."""
    strings, used = strings_of(nodes), dict[Prefix, int]()
    found = []
    for _ in range(count):
        place: Path = ()
        for _ in range(length):
            prefix = strings[place] if place else ()
            place = (*place, used.get(prefix, 0))
            used[prefix] = used.get(prefix, 0) + 1
        found.append(strings[place])
    return tuple(found)


@pytest.mark.parametrize(("count", "length"), [(1, 2), (2, 2), (3, 2), (2, 3)])
def test_merged_paths_are_independent_strings_of_the_draft(count: int, length: int) -> None:
    model = family_model("random", 1, 2, length)
    expected: dict[tuple[Prefix, ...], Q] = {}
    for strings in product(product(range(2), repeat=length), repeat=count):
        mass = ONE
        for string in strings:
            mass *= prod((model.draft(string[:i])[x] for i, x in enumerate(string)), start=ONE)
        expected[strings] = mass
    law = {paths_of(nodes, count, length): mass for nodes, mass in trees(IidPaths(count, length), model).items()}
    assert law == expected


def test_copies_of_a_token_share_what_is_below_them() -> None:
    for nodes in trees(IidPaths(2, 2), toy(2)):
        strings = strings_of(nodes)
        if strings[0,] == strings[1,]:
            below = [sorted(s for path, s in strings.items() if path[:1] == (slot,)) for slot in (0, 1)]
            assert below[0] == below[1]
            assert len(below[0]) == 3
        else:
            assert len(nodes) == 4


def test_a_delayed_tree_without_trunk_is_paths_and_without_tail_a_chain() -> None:
    assert trees(Delayed(2, 0, 2), toy(2)) == trees(IidPaths(2, 2), toy(2))
    assert trees(Delayed(3, 2, 0), toy(2)) == trees(Chain(2), toy(2))
    assert trees(Delayed(1, 1, 1), toy(2)) == trees(Chain(2), toy(2))


def test_a_delayed_tree_branches_at_the_end_of_its_trunk_only() -> None:
    for nodes in trees(Delayed(2, 1, 1), toy(2)):
        assert [node.path for node in nodes] == [(0,), (0, 0), (0, 1)]
    assert max(len(nodes) for nodes in trees(Delayed(2, 1, 2), toy(3))) == 1 + 2 + 4


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    ("K", "D", "N"), [(1, 2, 2), (2, 0, 2), (2, 1, 4), (2, 2, 5), (3, 2, 6), (3, 2, 40), (4, 1, 9)]
)
def test_the_tree_of_eagle_is_that_of_rheo_sampling_with_all_slots_deterministic(
    family: str, K: int, D: int, N: int
) -> None:
    model = family_model(family, 0, 4, D + 1)
    rheo = Rheo(slots=K, head=K, depth=D + 1, beam=K, nodes=N)
    (ours,), (theirs,) = trees(rheo, model), trees(Eagle(K, D, N), model)
    assert sorted(ours) == sorted(theirs)
    law, other = agreed(Eagle(K, D, N), EaglePosterior(), model), agreed(rheo, Match(), model)
    assert dict(law.strings(4)) == dict(other.strings(4))


def test_another_depth_or_beam_is_another_tree() -> None:
    """The twin of the comparison with RheoSampling."""
    model = toy(3)
    (tree,) = trees(Eagle(2, 2, 9), model)
    for other in (Rheo(2, 2, 2, 2, 9), Rheo(2, 2, 3, 1, 9), Rheo(2, 2, 3, 2, 8)):
        assert sorted(tree) != sorted(*trees(other, model))


def test_medusa_takes_the_best_tokens_by_index_and_leaves_out_what_the_draft_does_not_have() -> None:
    (nodes,) = trees(Static(((0,), (2,), (2, 1))), toy(2))
    assert strings_of(nodes) == {(0,): (2,), (1,): (1,), (1, 0): (1, 1)}
    one_hot = family_model("onehot", 0, 3, 2)
    (nodes,) = trees(Static(full(2, 2)), one_hot)
    assert len(nodes) == 2


def test_heads_that_do_not_see_the_draft_give_the_same_tokens_below_every_parent() -> None:
    rows = [Law.read(["1/2", "1/3", "1/6"]), Law.read(["1/6", "1/3", "1/2"])]
    model = ToyModel(3, 2, toy(2).target, lambda u: rows[len(u)], "heads")
    (nodes,) = trees(Static(full(2, 2)), model)
    assert sorted(strings_of(nodes).values()) == [(0,), (0, 1), (0, 2), (1,), (1, 1), (1, 2)]
    assert lossless(agreed(Static(full(2, 2)), Match(), model), model)


@pytest.mark.parametrize("shape", [((0,), (2,)), ((1,),), ((1,), (2,), (1, 1))])
@pytest.mark.parametrize("family", ["random", "zeros", "ties"])
def test_draws_outside_the_shape_may_be_thrown_away_unseen(shape: Shape, family: str) -> None:
    model = family_model(family, 3, 3, 2)
    assert lossless(agreed(Static(shape, sampled=True), Rrs(), model), model)


def test_a_draw_behind_one_outside_the_shape_carries_its_law_given_that_one() -> None:
    q = Law.read(["1/10", "2/10", "3/10", "4/10"])
    model = ToyModel(4, 1, lambda u: q, lambda u: q)
    drafted = trees(Static(((0,), (2,)), sampled=True), model)
    assert all(len(nodes) == 2 for nodes in drafted)
    laws = {(nodes[0].token, nodes[1].law) for nodes in drafted}
    assert (3, Law.read(["0", "2/5", "3/5", "0"])) in laws  # 3, then 0 unseen, then 1 or 2
    assert len(laws) == 4 * 3


def ordered_trees(nodes: int, levels: int, width: int) -> Iterator[Shape]:
    """All ordered trees with so many nodes on at most so many levels, the root included, as index tuples."""

    def forests(left: int, index: int) -> Iterator[Shape]:
        if not left:
            yield ()
        if left and index < width and levels > 1:
            for size in range(1, left + 1):
                for child in ordered_trees(size, levels - 1, width):
                    branch = ((index,), *((index, *node) for node in child))
                    for others in forests(left - size, index + 1):
                        yield (*branch, *others)

    yield from forests(nodes - 1, 0)


def value(shape: Shape, acceptance: tuple[Q, ...]) -> Q:
    return ONE + sum((prod((acceptance[i] for i in node), start=ONE) for node in shape), ZERO)


ACCEPTANCE = {
    "toy": tuple(map(rational, ("3/5", "3/10", "1/10"))),
    "flat": tuple(map(rational, ("1/3", "1/3", "1/3"))),
    "second better": tuple(map(rational, ("1/5", "3/5"))),
    "hopeless": tuple(map(rational, ("0", "0"))),
}


@pytest.mark.parametrize("acceptance", ACCEPTANCE.values(), ids=ACCEPTANCE)
@pytest.mark.parametrize("levels", [2, 3, 8])
def test_the_dynamic_program_finds_the_best_of_all_ordered_trees(acceptance: tuple[Q, ...], levels: int) -> None:
    tried = 0
    for nodes in range(1, 9):
        values = [value(shape, acceptance) for shape in ordered_trees(nodes, levels, len(acceptance))]
        if not values:
            with pytest.raises(InputError, match="no tree"):
                best_shape(acceptance, nodes, levels)
            continue
        best = best_shape(acceptance, nodes, levels)
        assert best.value == max(values) == value(best.shape, acceptance)
        assert len(best.shape) == nodes - 1
        tried += len(values)
    assert tried > 8 or levels == 2


def test_of_equally_good_shapes_the_one_with_fewer_children_and_then_the_larger_last_one_is_taken() -> None:
    assert best_shape(["1/2", "1/4"], 3, 3).shape == ((0,), (0, 0))
    assert best_shape(["1/3", "1/3"], 5, 3).shape == ((0,), (1,), (1, 0), (1, 1))


def test_the_best_values_for_the_acceptance_of_the_toy() -> None:
    values = [best_shape(ACCEPTANCE["toy"], nodes, nodes).value for nodes in range(2, 9)]
    assert values == [rational(x) for x in ["8/5", "49/25", "113/50", "619/250", "332/125", "709/250", "3707/1250"]]


def test_the_acceptance_of_the_toy_is_what_each_further_draw_adds() -> None:
    one, two, three = (agreed(WithoutReplacement(k, 1), Rrs(), toy(1)).acceptance(1)[0] for k in (1, 2, 3))
    assert [one, two - one, three - two] == list(map(to_fraction, ACCEPTANCE["toy"]))


@pytest.mark.parametrize("nodes", range(2, 7))
def test_the_value_of_a_shape_is_what_it_emits_where_all_prefixes_are_alike(nodes: int) -> None:
    p, q = toy(1).target(()), toy(1).draft(())
    model = ToyModel(3, 3, lambda u: p, lambda u: q, "everywhere the same")
    best = best_shape(ACCEPTANCE["toy"], nodes, 4)
    law = law_by_classes(Scheme(Static(best.shape, sampled=True), Rrs()), model)
    assert law.expected_tokens == to_fraction(best.value)


def test_tapered_shapes_hold_every_parent_and_are_part_of_the_full_one() -> None:
    assert set(tapered(4, 3)) < set(full(4, 3))
    assert Static(tapered(4, 3)).depth == 3
    assert len(full(2, 3)) == 2 + 4 + 8


REFUSED: list[Callable[[], object]] = [
    lambda: Chain(0),
    lambda: Chain(1, rational("3/2")),
    lambda: Static(()),
    lambda: Static(((0,), (0,))),
    lambda: Static(((0, 1),)),
    lambda: Static(((-1,),)),
    lambda: Static(((),)),
    lambda: best_shape([], 2, 2),
    lambda: best_shape(["3/2"], 2, 2),
    lambda: best_shape(["1/2"], 0, 2),
    lambda: Eagle(0, 1, 1),
    lambda: Eagle(1, -1, 1),
    lambda: Delayed(1, 0, 0),
    lambda: Delayed(1, -1, 2),
    lambda: IidPaths(1, 0),
    lambda: SpecHub(0),
    lambda: Greedy(0, 1),
    lambda: WithoutReplacement(1, 0),
    lambda: KSeq(rational("1/2")),
    lambda: SglangThresholds(acc=ZERO),
    lambda: SglangThresholds(single=rational("3/2")),
    lambda: Relaxed(0, ZERO),
    lambda: Relaxed(1, rational("-1")),
    lambda: StaticMixing(rational("2")),
    lambda: SpecHubRule(rational("2")),
    lambda: agreed(Iid(2, 1), Leviathan(), toy(1)),
    lambda: Entropy(eps=ZERO),
]


@pytest.mark.parametrize("make", REFUSED, ids=map(str, range(len(REFUSED))))
def test_parameters_out_of_range_are_refused_and_the_message_says_what_is_expected(make: Callable[[], object]) -> None:
    with pytest.raises(InputError, match="expected"):
        make()


@pytest.mark.parametrize("make", [lambda: Chain(1, 0.2), lambda: KSeq(1.5), lambda: Relaxed(1, 0.1)])
def test_floats_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(InputError, match="is a float"):
        make()


def test_a_chain_with_a_floor_ends_with_its_first_unlikely_token() -> None:
    for nodes in trees(Chain(3, rational("1/5")), toy(3)):
        strings = strings_of(nodes)
        longest = max(strings.values(), key=len)
        likely = [toy(3).draft(longest[:i])[x] >= rational("1/5") for i, x in enumerate(longest)]
        assert all(likely[:-1])
        assert len(longest) == 3 or not likely[-1]
    assert lossless(agreed(Chain(3, rational("1/5")), Leviathan(), toy(3)), toy(3))
