"""The exact step law of a scheme on a model, by both enumerators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rheo_proof.exact.chance import Chance
from rheo_proof.exact.classes import Beliefs, Classes, Weight, add, explore
from rheo_proof.exact.errors import InputError
from rheo_proof.exact.limits import Limits
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ONE
from rheo_proof.exact.program import Emission
from rheo_proof.exact.replay import replay
from rheo_proof.exact.step import Lump, StepLaw
from rheo_proof.schemes.scheme import Drafting, Scheme
from rheo_proof.schemes.tree import Tree
from rheo_proof.schemes.verifying.walk import Verifying


@dataclass(frozen=True)
class DraftClasses:
    """The equivalence classes of a drafting method on a model: kept trees with what is known of their tokens.

    `count`: classes; `walked`: classes met on the way; `assignments`: fully resolved drafts they stand for.
    """

    classes: Classes
    walked: int

    @property
    def count(self) -> int:
        """How many classes of draft trees there are."""
        return sum(map(len, self.classes.values()))

    @property
    def assignments(self) -> int:
        """How many assignments of values to the draws they stand for."""
        return sum(weight.assignments for known in self.classes.values() for weight in known.values())


def draft_classes(drafting: Drafting, model: ToyModel, limits: Limits | None = None) -> DraftClasses:
    """Enumerate the equivalence classes of draft trees."""
    _fits(drafting, model)
    start: Classes = {drafting.start(): {(): Weight(ONE, 1)}}
    classes, walked = explore(lambda s, chance: drafting.step(model, s, chance), start, Tree, limits or Limits())
    return DraftClasses(classes, walked)


def class_law(
    verifying: Verifying, model: ToyModel, drafted: DraftClasses, limits: Limits | None = None
) -> tuple[StepLaw, int]:
    """The step law of a verification rule over the classes of draft trees, and the number of classes walked."""
    start: Classes = {}
    for tree, entries in drafted.classes.items():
        state = verifying.start(model, tree)
        names = tuple(dict.fromkeys(var.name for var in state.variables()))
        slot = start.setdefault(state, {})
        for known, weight in entries.items():
            beliefs = dict(known)
            live: Beliefs = tuple((name, beliefs[name]) for name in names)
            add(slot, live, weight)
    limits = limits or Limits()
    finals, walked = explore(lambda s, chance: verifying.step(model, s, chance), start, Emission, limits)
    return StepLaw(_lumps(finals)), walked


def _lumps(finals: Classes) -> dict[Prefix, list[Lump]]:
    lumps: dict[Prefix, list[Lump]] = {}
    for (prefix, token), entries in finals.items():
        for known, weight in entries.items():
            if known:
                belief = known[0][1]
                lump = Lump(belief.law, belief.among, weight.mass / belief.mass)
            else:
                lump = Lump(None, (token,), weight.mass)
            lumps.setdefault(prefix, []).append(lump)
    return lumps


def law_by_classes(scheme: Scheme, model: ToyModel, limits: Limits | None = None) -> StepLaw:
    """The step law by the class enumerator."""
    return class_law(scheme.verifying, model, draft_classes(scheme.drafting, model, limits), limits)[0]


def run(scheme: Scheme, model: ToyModel, chance: Chance) -> Prefix:
    """One decoding step: draft, verify, and return the emitted string."""
    drafting: Any = scheme.drafting.start()
    while not isinstance(drafting, Tree):
        drafting = scheme.drafting.step(model, drafting, chance)
    state: Any = scheme.verifying.start(model, drafting)
    while not isinstance(state, Emission):
        state = scheme.verifying.step(model, state, chance)
    return (*state.prefix, chance.value(state.token))


def law_by_replay(scheme: Scheme, model: ToyModel) -> StepLaw:
    """The step law by the replay enumerator."""
    _fits(scheme.drafting, model)
    return StepLaw.of_strings(replay(lambda chance: run(scheme, model, chance)))


def _fits(drafting: Drafting, model: ToyModel) -> None:
    if drafting.depth > model.depth:
        raise InputError(f"{model.name}: depth {model.depth} is less than the scheme's depth {drafting.depth}")
