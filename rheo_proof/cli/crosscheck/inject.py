"""Faults of the prover's list, put into the NumPy decoder by replacing one of its parts for a while.

One fault of the list has no place here: `rrsw-tail-proxy` is a combination that the decoder refuses, and none of its
parts is wrong. `inverse-ratio` is one more, which the prover does not have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pkgutil import resolve_name
from typing import Any, TypeAlias
from unittest.mock import patch

from rheo_proof.exact.errors import InputError

Injections: TypeAlias = dict[str, dict[str, Callable[[Any], Any]]]
"""By fault: what is replaced in the decoder, and by what."""


@contextmanager
def injected(fault: str, table: Injections | None = None) -> Iterator[None]:
    """Put a fault of the prover's list into a decoder: the NumPy one, unless another's table is given.

    Raises `InputError` for a fault that the decoder has no place for.
    """
    known = INJECTIONS if table is None else table
    if fault not in known:
        raise InputError(f"no fault {fault!r} for this decoder; known are {', '.join(known)}")
    with ExitStack() as stack:
        for target, make in known[fault].items():
            stack.enter_context(patch(target, make(resolve_name(target))))
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


def _tied_by_token(original: Any) -> Any:
    class ByToken(original):  # type: ignore[misc]
        def ordered(self, nodes: list[int]) -> list[int]:
            return sorted(nodes, key=lambda i: (-self.values[i], self.nodes[i].token, i))

        def beam(self, layer: int, width: int) -> list[int]:
            return self.ordered([i for i, depth in enumerate(self.depths) if depth == layer])[:width]

        def prune(self, nodes: int) -> Any:
            kept: list[int] = [0]
            for i in self.ordered(list(range(1, len(self.values))))[:nodes]:
                kept += [i] if self.parents[i] in kept else []  # a child may now rank before its parent
            with patch("rheo_reference.tree.ranked", lambda values: [i - 1 for i in kept[1:]]):
                return super().prune(nodes)

    return ByToken


def _drop_unlikely(original: Any) -> Any:
    class Dropping(original):  # type: ignore[misc]
        def slots(self, x: int | None) -> Any:
            made = super().slots(x)
            if x is None or 2 * self.tail.q[self.tail.where(x)] >= self.tail.q[0]:
                return made
            return [slot for slot in made if slot.kind != "sampled"]

    return Dropping


def _with_full_q(**parts: Callable[..., Any]) -> Callable[[Any], Any]:
    """`expand` whose tail also knows the whole draft law (`order`, `law`) and has some methods or values replaced."""

    def make(original: Any) -> Any:
        from rheo_reference.slots import Tail, cut

        class Informed(Tail):
            pass

        def expand(law: Any, config: Any) -> Any:
            made = original(law, config)
            if made.tail is None:
                return made
            order, q = cut(law, config.sparse)
            tail = Informed(*((order, q, 1.0) if "draw" not in parts and "full" in parts else made.tail))
            tail.inner, tail.order, tail.law = made.tail, order, q  # type: ignore[attr-defined]
            return made._replace(tail=tail)

        for name, part in parts.items():
            setattr(Informed, name, part)
        if "draw" not in parts:
            Informed.draw = lambda self, u: self.inner.draw(u)  # type: ignore[attr-defined, method-assign]
        return expand

    return make


def _draw_from_q(tail: Any, u: float) -> int:
    from rheo_reference.tape import inverse_cdf

    return int(tail.order[inverse_cdf(tail.law, u)])


def _pass_where_t_is_0(original: Any) -> Any:
    return lambda r, mass, tail, x: 1.0 if tail.where(x) < 0 else original(r, mass, tail, x)


def _residual_of_q(original: Any) -> Any:
    def residual(r: Any, mass: float, tail: Any) -> Any:
        weights = r.copy()
        weights[tail.order] = (weights[tail.order] - tail.law).clip(0)
        return weights if weights.any() else r

    return residual


def _one_uniform(original: Any) -> Any:
    """One uniform for the coins of all levels."""

    def coin(self: Any, level: int, which: int) -> float:
        self.used.append(("coin", level, which))
        return float(self.coin_u[0, which])

    return coin


def _reused(original: Any) -> Any:
    """The draw after a rejection takes the uniform of the coin."""

    def token(self: Any, level: int) -> float:
        fresh = original(self, level)
        coin = ("coin", level, 1)
        return float(self.coin_u[level, 1]) if coin in self.used else float(fresh)

    return token


def _bonus(draft: bool) -> Callable[[Any], Any]:
    """Target laws in which a leaf has another row: its parent's, or the draft's where there is one."""

    def make(original: Any) -> Any:
        class Rows(original):  # type: ignore[misc]
            rows: Any
            models: dict[str, Any] = {}  # noqa: RUF012

            def __init__(self, model: Any, prefixes: Any, how: Any, dtype: str, name: str) -> None:
                super().__init__(model, prefixes, how, dtype, name)
                self.models[name] = model
                if name != "target":
                    return
                rows: Any = self.rows.copy()
                deepest = len(prefixes[0]) + 1 if draft else 0
                for i, u in enumerate(prefixes):
                    if any(v[:-1] == u for v in prefixes):
                        continue
                    if not draft:
                        rows[i] = model([u[:-1]])[0]
                    elif len(u) <= deepest:
                        rows[i] = self.models["draft"]([u])[0]
                self.rows = rows

        return Rows

    return make


DRAFTS: list[Any] = []
"""The draft models that `_remembered` has seen."""


def _remembered(original: Any) -> Any:
    def laws(model: Any, prefixes: Any, how: Any, dtype: str, name: str) -> Any:
        if name == "draft":
            DRAFTS[:] = [model]
        return original(model, prefixes, how, dtype, name)

    return laws


def _in_token_order(ratio: bool) -> Callable[[Any], Any]:
    """RRSw that tests one child after the other: in the order of their tokens, or each with min(1, r/q)."""

    def make(original: Any) -> Any:
        from rheo_reference.tape import inverse_cdf
        from rheo_reference.verify import acceptance, residual, sampled_token, walk

        def rule(tree: Any, p: Any, tape: Any) -> Any:
            def token_at(node: int, level: int) -> int:
                r, mass = p[node].copy(), 1.0
                q = DRAFTS[-1]([p.prefixes[node]])[0] if ratio and tree.children(node) else r
                children = tree.children(node)
                for child in children if ratio else sorted(children, key=lambda c: tree.tokens[c]):
                    x = int(tree.tokens[child])
                    if tree.kinds[child] == "sampled":
                        _, tail = sampled_token(tree, child)
                        if tape.coin(level, 1) < acceptance(r, mass, tail, x):
                            return x
                        r, mass = residual(r, mass, tail), 1.0
                        r = r / r.sum()
                    elif tape.coin(level, 0) < (r[x] / q[x] if ratio else r[x] / r.sum()):
                        return x
                    elif ratio:
                        r = (r - q).clip(0)
                        r = r / r.sum()
                    else:
                        r[x] = 0.0
                        mass = float(r.sum())
                return int(inverse_cdf(r, tape.token(level)))

            return walk(tree, token_at)

        return {**original, "rrsw": rule}

    return make


INJECTIONS: Injections = {
    "own-probability": {"rheo_reference.slots.Expansion": _valued(_own_probability)},
    "tail-probability": {"rheo_reference.slots.Expansion": _valued(_tail_probability)},
    "low-proxy": {"rheo_reference.slots.Expansion": _valued(_low_proxy)},
    "tie-by-token": {"rheo_reference.decode.Candidates": _tied_by_token},
    "drop-unlikely": {"rheo_reference.slots.Expansion": _drop_unlikely},
    "verify-full-q": {"rheo_reference.decode.expand": _with_full_q(full=lambda self: True)},
    "draw-full-q": {
        "rheo_reference.decode.expand": _with_full_q(draw=_draw_from_q),
        "rheo_reference.verify.acceptance": _pass_where_t_is_0,
    },
    "skip-residual": {"rheo_reference.verify.residual": _skip_residual},
    "residual-of-q": {
        "rheo_reference.decode.expand": _with_full_q(),
        "rheo_reference.verify.residual": _residual_of_q,
    },
    "shared-coin": {"rheo_reference.tape.Tape.token": _reused},
    "stale-bonus": {"rheo_reference.decode.Laws": _bonus(draft=False)},
    "bonus-from-draft": {"rheo_reference.decode.Laws": _bonus(draft=True)},
    "second-token": {"rheo_reference.tape.Tape.coin": _one_uniform},
    "resort-siblings": {"rheo_reference.decode.RULES": _in_token_order(ratio=False)},
    "ratio-on-top-k": {
        "rheo_reference.decode.Laws": _remembered,
        "rheo_reference.decode.RULES": _in_token_order(ratio=True),
    },
    "flow-depth-first": {"rheo_reference.verify.Masses": _reordered(_slot_path)},
    "flow-layers": {"rheo_reference.verify.Masses": _reordered(lambda tree, node: (int(tree.depths[node]), node))},
    "inverse-ratio": {"rheo_reference.verify.acceptance": _inverse_ratio},
}
