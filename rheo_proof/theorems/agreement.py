"""A run's own check on the class enumerator: replay, which shares no enumeration code, on small models.

A scheme that told latent tokens from known ones without asking would fool the class enumerator, and this is how it
would be noticed.
"""

from __future__ import annotations

from dataclasses import replace

from rheo_proof.exact.errors import LimitReached, SoundnessError
from rheo_proof.exact.families import family_model
from rheo_proof.exact.model import ToyModel
from rheo_proof.exact.replay import replay
from rheo_proof.exact.step import StepLaw
from rheo_proof.schemes.laws import law_by_classes, run
from rheo_proof.schemes.scheme import Scheme
from rheo_proof.theorems.instances import Entry

FAMILIES = ("random", "ties")
PATHS = 4000
"""Replay gives up on a model after so many paths."""


def replay_agrees(entry: Entry, vocab: int = 3, depth: int = 2) -> int:
    """On how many small models replay finished and found the law of the class enumerator, as rationals.

    Raises `SoundnessError` where the two laws differ.

    >>> from rheo_proof.schemes.scheme import Parameters
    >>> replay_agrees(Entry.of("rheo", Parameters(slots=2, nodes=4)))
    2
    """
    return sum(_agrees_somewhere(entry, family, vocab, min(depth, entry.parameters.depth)) for family in FAMILIES)


def _agrees_somewhere(entry: Entry, family: str, vocab: int, depth: int) -> bool:
    """At the size asked for, or at a smaller one where that has too many paths."""
    for v, d in dict.fromkeys(((vocab, depth), (min(2, vocab), depth), (min(2, vocab), 1))):
        if _agrees(entry.named.build(replace(entry.parameters, depth=d)), family_model(family, 0, v, d)):
            return True
    return False


def _agrees(scheme: Scheme, model: ToyModel) -> bool:
    def count(paths: int) -> None:
        if paths > PATHS:
            raise LimitReached(f"more than {PATHS} paths")

    try:
        obvious = StepLaw.of_strings(replay(lambda chance: run(scheme, model, chance), count))
    except LimitReached:
        return False
    by_classes = law_by_classes(scheme, model)
    if dict(obvious.strings(model.vocab)) != dict(by_classes.strings(model.vocab)):
        raise SoundnessError(f"{model.name}: the two enumerators find different laws")
    return True
