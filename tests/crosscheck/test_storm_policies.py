"""Storm's extremes over all predictable policies are those of backward induction, string by string."""

from __future__ import annotations

import pytest

from rheo_proof.exact.families import family_model
from rheo_proof.exact.number import to_fraction
from rheo_proof.schemes.scheme import Parameters
from rheo_proof.theorems.export import FORMATS
from rheo_proof.theorems.induction import Bounds, bounds
from rheo_proof.theorems.policies import Policies
from rheo_proof.theorems.policy_process import policy_process
from rheo_proof.theorems.second_opinion import differences, policy_opinion
from rheo_proof.theorems.storm import bounds_by_storm
from tests.crosscheck.needs_storm import storm_or_skip

storm_or_skip()

CASES = [
    ("rheo", 3, 1, 0, 2, False),
    ("rheo", 3, 1, 1, 2, False),
    ("rheo", 2, 2, 0, 3, False),
    ("flow", 3, 1, 1, 2, False),
    ("flow", 2, 2, 0, 3, False),
    ("match", 3, 1, 0, 2, False),
    ("rrsw", 3, 1, 1, 2, True),
]
"""Rule, V, D, m, N, heads first: here no policy moves the law."""
MOVED = [
    ("rrsw", 3, 1, 1, 2, False, False),
    ("rheo", 3, 1, 0, 2, False, True),
    ("flow", 3, 1, 0, 2, False, True),
    ("bottom-up", 3, 2, 1, 3, False, False),
]
"""The same and `peek`: here some policy moves it."""


def policies(
    verify: str, vocab: int, depth: int, head: int, nodes: int, heads_first: bool, peek: bool = False, seed: int = 0
) -> Policies:
    parameters = Parameters(slots=2, head=head, depth=depth, nodes=nodes, verify=verify)
    model = family_model("random", seed, vocab, depth)
    drafting = parameters.drafting()
    return Policies(model, parameters.verifying(), [drafting], heads_first=heads_first, peek=peek)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", [0, 1])
def test_storm_finds_the_target_at_both_ends(case: tuple[str, int, int, int, int, bool], seed: int) -> None:
    found = policy_opinion(policies(*case, seed=seed))
    assert found.languages == ("prism", "drn")
    assert found.process.kind == "mdp"
    assert found.agrees
    assert found.gap == 0


@pytest.mark.parametrize("case", MOVED)
def test_storm_finds_the_same_extremes_where_a_policy_moves_the_law(
    case: tuple[str, int, int, int, int, bool, bool],
) -> None:
    found = policy_opinion(policies(*case))
    assert found.agrees
    assert found.gap > 0


def test_policies_that_choose_m_at_every_node_do_not_move_the_law() -> None:
    parameters = [Parameters(slots=2, head=head, depth=1, nodes=2, verify="rheo") for head in (0, 1, 2)]
    drafting = [each.drafting() for each in parameters]
    found = policy_opinion(Policies(family_model("random", 0, 3, 1), parameters[0].verifying(), drafting))
    assert found.agrees
    assert found.gap == 0
    assert len(found.process.choices[0]) == 1 + 2 + 2  # stop, two heads, the sampled slot as slot 0 or slot 1


def test_the_extremes_of_other_policies_are_told_apart() -> None:
    """Twin: Storm on policies that peek, our bounds for those that do not."""
    honest, peeking = policies(*CASES[0]), policies(*CASES[0], peek=True)
    text = FORMATS["drn"](policy_process(peeking), ())
    storms = bounds_by_storm(text, "drn")
    assert differences("drn", ranges(bounds(peeking)), storms) == []
    assert differences("drn", ranges(bounds(honest)), storms)


def ranges(found: Bounds) -> dict[tuple[int, ...], tuple]:  # type: ignore[type-arg]
    pairs = zip(found.low, found.high, strict=True)
    return {v: (to_fraction(a), to_fraction(b)) for v, (a, b) in zip(found.strings, pairs, strict=True)}
