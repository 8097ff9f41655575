"""The NumPy decoder as a function from uniforms to decisions, and the faults that can be injected into it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from rheo_proof.cli.crosscheck.cells import Decisions, Decoder
from rheo_proof.exact.chance import Site
from rheo_proof.exact.errors import InputError
from rheo_proof.exact.law import Law
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.schemes.scheme import Parameters


def numpy_decoder(model: ToyModel, parameters: Parameters) -> Decoder:
    """`decode_step` on a toy model. Raises `InputError` where NumPy or the decoder is not installed."""
    try:
        import numpy as np
        from rheo_reference import Config, Tape, decode_step
    except ImportError as error:
        raise InputError(f"the NumPy decoder needs {error.name}; pip install 'rheo-proof[reference]'") from None

    beam = parameters.slots if parameters.beam is None else parameters.beam
    config = Config(
        slots=parameters.slots,
        head=parameters.head,
        depth=parameters.depth,
        beam=beam,
        nodes=parameters.nodes,
        sparse=parameters.sparse,
        proxy=parameters.proxy,
        proxy_scale=_double(parameters.proxy_scale),
        fill_scale=_double(parameters.fill_scale),
        verify=parameters.verify,
        target=None,
        draft=None,
    )
    rows: dict[Law, list[float]] = {}

    def answer(laws: Callable[[Prefix], Law]) -> Callable[[Sequence[Prefix]], Any]:
        def rows_of(prefixes: Sequence[Prefix]) -> Any:
            for law in map(laws, prefixes):
                if law not in rows:
                    rows[law] = [_double(mass) for mass in law]
            return np.array([rows[laws(u)] for u in prefixes])

        return rows_of

    target, draft = answer(model.target), answer(model.draft)

    def step(uniforms: Mapping[Site, float]) -> tuple[Prefix, Decisions]:
        draft_u = np.zeros((config.depth, beam))
        coin_u = np.zeros((config.depth, 2))
        token_u = np.zeros(config.depth + 1)
        for (kind, level, i), u in uniforms.items():
            if kind == "token":
                token_u[level] = u
            else:
                (draft_u if kind == "draft" else coin_u)[level, i] = u
        done = decode_step(target, draft, (), config, Tape(draft_u, coin_u, token_u))
        return done.tokens, decisions(done)

    return step


def _double(value: Any) -> float:
    """The nearest double of a rational."""
    return int(value.numerator) / int(value.denominator)


def decisions(step: Any) -> Decisions:
    """What was decided with each uniform, read off the step: which token, which head (or none), true or false."""
    made: list[tuple[Site, int]] = []
    drawn = iter(step.drawn)
    node = 0
    for site in step.used:
        kind, level, which = site
        if kind == "draft":
            made.append((site, next(drawn)))
            continue
        node = step.accepted[level - 1] if level else 0
        if kind == "token":
            made.append((site, step.tokens[level]))
        elif which == 1:
            made.append((site, int(("token", level, 0) not in step.used)))
        else:
            heads = [child for child in step.tree.children(node) if step.tree.kinds[child] == "head"]
            taken = ("coin", level, 1) not in step.used
            made.append((site, heads.index(step.accepted[level]) if taken else len(heads)))
    return made


@contextmanager
def injected(fault: str) -> Iterator[None]:
    """Put a fault of the prover's list into the NumPy decoder. Raises `InputError` for one that it has no place for."""
    if fault not in INJECTIONS:
        raise InputError(f"no fault {fault!r} for the NumPy decoder; known are {', '.join(INJECTIONS)}")
    with ExitStack() as stack:
        for target, make in INJECTIONS[fault].items():
            module, _, name = target.rpartition(".")
            original = getattr(__import__(module, fromlist=[name]), name)
            stack.enter_context(patch(target, make(original)))
        yield


def _valued(factor: Callable[[Any, Any, int], float]) -> Callable[[Any], Any]:
    """`Expansion.slots` with another factor for the sampled slot."""

    def make(original: Any) -> Any:
        class Valued(original):  # type: ignore[misc]
            def slots(self, x: int | None) -> Any:
                made = super().slots(x)
                return [s._replace(factor=factor(self, s, x or 0)) if s.kind == "sampled" else s for s in made]

        return Valued

    return make


def _own_probability(at: Any, slot: Any, x: int) -> float:
    tail = at.tail
    scale = tail.q[0] / at.fills[0].factor if at.fills else 1
    return float(tail.q[tail.where(x)] / scale)


def _tail_probability(at: Any, slot: Any, x: int) -> float:
    return float(at.tail.t[at.tail.where(x)])


def _low_proxy(at: Any, slot: Any, x: int) -> float:
    return float(slot.factor / 3)


def _skip_residual(original: Any) -> Any:
    return lambda r, mass, tail: r


def _inverse_ratio(original: Any) -> Any:
    def accept(r: Any, mass: float, tail: Any, x: int) -> float:
        ratio = tail.z * r[x] / (mass * tail.q[tail.where(x)])
        return float(min(1, 1 / ratio)) if ratio else 0

    return accept


def _reordered(key: Callable[[Any, int], Any]) -> Callable[[Any], Any]:
    """FlowVerification that inserts the nodes in another order than by rank."""

    def make(original: Any) -> Any:
        class Reordered(original):  # type: ignore[misc]
            def insert(self, n: int) -> None:
                if n < len(self.tree) - 1:
                    return
                self.seen: list[int] = [0]
                for node in sorted(range(1, len(self.tree)), key=lambda i: key(self.tree, i)):
                    self.put(node)
                    self.seen.append(node)

            def put(self, n: int) -> None:
                c, f = self.c.copy(), self.f.copy()
                super().insert(n)
                rho = self.f[self.tree.parents[n]] if self.tree.tails[n] is not None else 1
                for node in self.seen:
                    self.c[node] = c[node] * rho
                    if node in self.revealed and node != self.tree.parents[n]:
                        self.f[node] = f[node] * rho

        return Reordered

    return make


def _slot_path(tree: Any, node: int) -> tuple[int, ...]:
    above = int(tree.parents[node])
    return (*(_slot_path(tree, above) if above else ()), int(tree.slots[node]))


INJECTIONS: dict[str, dict[str, Callable[[Any], Any]]] = {
    "own-probability": {"rheo_reference.slots.Expansion": _valued(_own_probability)},
    "tail-probability": {"rheo_reference.slots.Expansion": _valued(_tail_probability)},
    "low-proxy": {"rheo_reference.slots.Expansion": _valued(_low_proxy)},
    "skip-residual": {"rheo_reference.verify.residual": _skip_residual},
    "inverse-ratio": {"rheo_reference.verify.acceptance": _inverse_ratio},
    "flow-depth-first": {"rheo_reference.verify.Masses": _reordered(_slot_path)},
    "flow-layers": {"rheo_reference.verify.Masses": _reordered(lambda tree, node: (int(tree.depths[node]), node))},
}
"""By fault: what is replaced in the decoder, and by what."""
