"""Curves: exact mean expected tokens of a few schemes while one number is turned.

Every point is the mean of E[tau] + 1 over the same models, as a fraction. Every law behind it is decided: the curve of
a scheme that is not lossless would be a curve of something else, and is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

from rheo_proof.exact.errors import InputError, LimitReached, SoundnessError
from rheo_proof.exact.families import family_model
from rheo_proof.exact.model import ToyModel
from rheo_proof.exact.number import ONE, Q
from rheo_proof.exact.sweeps import noisy_model, tempered_model
from rheo_proof.schemes.laws import DraftClasses, class_law, draft_classes
from rheo_proof.schemes.scheme import Parameters
from rheo_proof.theorems.instances import Effort
from rheo_proof.theorems.zoo import EVERY


@dataclass(frozen=True)
class Curve:
    """A label, a named scheme, and its parameters; `None` where the swept number rules the scheme out."""

    label: str
    name: str
    parameters: Parameters


@dataclass(frozen=True)
class Point:
    """Where a sweep stands: what is written at the axis, the model of a seed, and what it does to parameters."""

    label: str
    model: Callable[[int], ToyModel]
    change: Callable[[Parameters], Parameters]


@dataclass(frozen=True)
class Sweep:
    """What is turned, the points, and how the models are made, in words."""

    axis: str
    points: tuple[Point, ...]
    models: str


HALF = ONE / 2
EXPONENTS = range(5)
NOISE = tuple(Q(k, 4) for k in range(5))
SWEEPS = ("temperature", "noise", "m", "nodes", "sparse")
BASE = Parameters(slots=3, depth=2, nodes=5)
"""Sizes of a sweep: K = 3 leaves room for fills at m = 1, and N = 5 of 12 candidates makes ranking matter."""


def sweep_of(kind: str, vocab: int, parameters: Parameters, family: str) -> Sweep:
    """The points of a sweep. Raises `InputError` for an unknown kind.

    >>> [point.label for point in sweep_of("m", 4, BASE, "random").points]
    ['0', '1', '2', '3']
    """
    depth = parameters.depth
    of_family = f"family {family}"

    def fixed(seed: int) -> ToyModel:
        return family_model(family, seed, vocab, depth)

    def same(p: Parameters) -> Parameters:
        return p

    if kind == "temperature":
        labels = {e: "inf" if not e else "1" if e == 1 else f"1/{e}" for e in EXPONENTS}
        points = [Point(text, partial(tempered_model, vocab, depth, e), same) for e, text in labels.items()]
        how = "laws proportional to powers 0 to 4 of integer weights, the draft's weights within 2 of the target's"
        return Sweep("temperature of target and draft", tuple(points), how)
    if kind == "noise":
        points = [Point(str(share), partial(noisy_model, vocab, depth, share), same) for share in NOISE]
        return Sweep("share of noise in the draft", tuple(points), "q = (1 - share) p + share r, p and r independent")
    fields: dict[str, tuple[str, str, range]] = {
        "m": ("m, deterministic slots of K", "head", range(parameters.slots + 1)),
        "nodes": ("N, draft nodes kept", "nodes", range(1, _candidates(parameters) + 1)),
        "sparse": ("S, tokens that the draft keeps", "sparse", range(1, vocab + 1)),
    }
    if kind not in fields:
        raise InputError(f"unknown sweep {kind!r}; known are {', '.join(SWEEPS)}")
    axis, name, values = fields[kind]
    points = [Point(str(x), fixed, partial(_set, name, x)) for x in values]
    return Sweep(axis, tuple(points), of_family)


def _set(name: str, value: int, parameters: Parameters) -> Parameters:
    changes: dict[str, Any] = {name: value}
    return replace(parameters, **changes)


def _candidates(parameters: Parameters) -> int:
    """How many candidates a draft of these sizes has, at most."""
    beam = parameters.beam or parameters.slots
    layer = total = parameters.slots
    for _ in range(parameters.depth - 1):
        layer = min(layer, beam) * parameters.slots
        total += layer
    return total


def curves_of(kind: str, base: Parameters) -> list[Curve]:
    """The curves of a sweep: every m in turn where m is not what is swept, else one curve a rule.

    RRSw is not drawn with the tail proxy, with which it is biased.
    """
    at = replace(base, head=min(1, base.slots), verify="rheo")
    text = "" if kind == "m" else f" m={at.head}"
    curves = [Curve("top-k", "top-k", base)]
    if kind != "m":
        others = [m for m in range(base.slots) if m != at.head]
        curves += [Curve(f"rheo m={m}", "rheo", replace(at, head=m)) for m in sorted((at.head, *others))]
    else:
        curves.append(Curve("rheo", "rheo", at))
    curves += [Curve(f"{rule}{text}", rule, replace(at, verify=rule)) for rule in ("rrsw", "match", "flow")]
    curves.append(Curve(f"rheo{text}, tail proxy", "rheo", replace(at, proxy="tail")))
    curves.append(Curve(f"rheo{text}, fill scale 1/2", "rheo", replace(at, fill_scale=HALF)))
    return curves


Curves = dict[str, list[Fraction]]
"""Mean E[tau] + 1 of each curve at each point."""


def draw(
    kind: str, vocab: int, base: Parameters, family: str, seeds: Sequence[int], effort: Effort
) -> Iterator[Curves]:
    """The curves, longer by one point each time; the effort is that for one curve on one model.

    Raises `LimitReached`, and `SoundnessError` for a biased curve.
    """
    sweep = sweep_of(kind, vocab, base, family)
    curves = curves_of(kind, base)
    drawn: Curves = {curve.label: [] for curve in curves}
    for point in sweep.points:
        totals = {curve.label: Fraction(0) for curve in curves}
        for seed in seeds:
            model = point.model(seed)
            drafted: dict[Any, DraftClasses] = {}
            for curve in curves:
                try:
                    totals[curve.label] += _tokens(curve, point.change(curve.parameters), model, drafted, effort)
                except LimitReached as limit:
                    where = f"{curve.label} on {model.name}, point {point.label} of the sweep"
                    raise LimitReached(f"{where}: {limit}") from None
        for label, total in totals.items():
            drawn[label].append(total / len(seeds))
        yield drawn


def _tokens(
    curve: Curve, parameters: Parameters, model: ToyModel, drafted: dict[Any, DraftClasses], effort: Effort
) -> Fraction:
    """E[tau] + 1 of a curve's scheme on one model; schemes that draft alike share their classes in `drafted`."""
    named = EVERY[curve.name]
    scheme = named.build(named.fix(parameters))
    if scheme.drafting not in drafted:
        drafted[scheme.drafting] = draft_classes(scheme.drafting, model, effort.limits())
    drafts = drafted[scheme.drafting]
    law = class_law(scheme.verifying, model, drafts, effort.limits(drafts.walked))[0]
    if law.first_wrong(model) is not None:
        raise SoundnessError(f"{curve.label} is biased on {model.name}")
    return law.expected_tokens
