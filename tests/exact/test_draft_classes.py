"""Classes of draft trees against replay of the drafting program alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import pytest
from hypothesis import given

from rheo_proof.exact.chance import Chance, Name, Replay, Var
from rheo_proof.exact.families import family_model
from rheo_proof.exact.model import ToyModel
from rheo_proof.exact.number import to_fraction
from rheo_proof.exact.replay import replay
from rheo_proof.schemes.drafting.rheo import Rheo as RheoDrafting
from rheo_proof.schemes.faults import FAULTS
from rheo_proof.schemes.laws import DraftClasses, class_law, draft_classes
from rheo_proof.schemes.scheme import RULES, Parameters, plain
from rheo_proof.schemes.tree import Tree
from rheo_proof.schemes.variations import VARIATIONS
from tests.strategies import Instance, instances


def draft(drafting: RheoDrafting, model: ToyModel, chance: Chance) -> Tree:
    state: Any = drafting.start()
    while not isinstance(state, Tree):
        state = drafting.step(model, state, chance)
    return state


def resolved_drafts(drafting: RheoDrafting, model: ToyModel) -> int:
    """How many ways there are to resolve the draws of the drafting program."""

    def run(chance: Chance) -> tuple[int, ...]:
        draft(drafting, model, chance)
        assert isinstance(chance, Replay)
        return tuple(chance.taken)

    return len(replay(run))


def trees(drafted: DraftClasses) -> dict[Tree, Fraction]:
    """The law of the kept tree with all tokens resolved."""
    law: dict[Tree, Fraction] = {}
    for tree, entries in drafted.classes.items():
        for beliefs, weight in entries.items():
            for values in product(*(belief.among for _, belief in beliefs)):
                token: dict[Name, int] = {}
                mass = weight.mass
                for x, (name, belief) in zip(values, beliefs, strict=True):
                    token[name] = x
                    mass = mass * belief.law[x] / belief.mass
                nodes = (
                    n._replace(token=token[n.token.name] if isinstance(n.token, Var) else n.token) for n in tree.nodes
                )
                whole = Tree(tuple(nodes))
                law[whole] = law.get(whole, Fraction(0)) + to_fraction(mass)
    return law


def draftings(parameters: Parameters) -> Iterator[RheoDrafting]:
    for named in (*VARIATIONS.values(), *FAULTS.values()):
        yield named.build(named.fix(parameters)).drafting
    yield parameters.drafting()


@given(instances(drafts=60))
def test_draft_classes_stand_for_every_draft_with_its_probability(instance: Instance) -> None:
    for drafting in set(draftings(instance.parameters)):
        drafted = draft_classes(drafting, instance.model)
        assert drafted.assignments == resolved_drafts(drafting, instance.model)
        by_replay = replay(partial(draft, drafting, instance.model))
        assert trees(drafted) == {tree: to_fraction(mass) for tree, mass in by_replay.items()}


@pytest.mark.parametrize(("family", "vocab", "drafts"), [("random", 4, 27), ("uniform", 5, 64), ("near", 3, 8)])
def test_the_number_of_drafts_by_hand(family: str, vocab: int, drafts: int) -> None:
    """m = 1, D = 2 and B = 2: three sampled slots with V - 1 outcomes each."""
    model = family_model(family, 1, vocab, 2)
    assert all(len(model.draft(u).support) == vocab for u in ((), *((x,) for x in range(vocab))))
    drafted = draft_classes(Parameters(depth=2, beam=2).drafting(), model)
    assert drafted.assignments == drafts == (vocab - 1) ** 3
    assert drafted.count < drafts


def test_only_what_is_inspected_is_resolved() -> None:
    """A single level is never expanded: with no fill nobody looks at X, with fills only "which of them" is asked."""
    model = family_model("random", 0, 6, 1)
    for slots, count in ((2, 1), (3, 2), (4, 3), (6, 5)):
        drafted = draft_classes(Parameters(slots=slots, depth=1, nodes=9).drafting(), model)
        assert (drafted.count, drafted.assignments) == (count, 5)


@pytest.mark.parametrize("verify", RULES)
def test_classes_are_fewer_than_paths(verify: str) -> None:
    model, parameters = family_model("random", 0, 5, 2), Parameters(slots=2, depth=2, nodes=3, verify=verify)
    scheme, paths = plain(parameters), Counter[str]()
    drafted = draft_classes(scheme.drafting, model)
    law, walked = class_law(scheme.verifying, model, drafted)
    replay(partial(draft, scheme.drafting, model), lambda n: paths.update(["path"]))
    assert drafted.assignments == paths["path"] > drafted.count
    assert walked > 0
    assert law.expected_tokens > 1
    assert sum((mass for _, mass in law.strings(5)), Fraction(0)) == 1
