"""The NumPy decoder as a function from uniforms to decisions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

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
    for site in step.used:
        kind, level, which = site
        if kind == "draft":
            made.append((site, next(drawn)))
            continue
        node = step.accepted[level - 1] if level else 0
        child = step.accepted[level] if level < len(step.accepted) else None
        if kind == "token":
            made.append((site, step.tokens[level]))
        elif which == 1:
            made.append((site, int(child is not None and step.tree.kinds[child] == "sampled")))
        else:
            heads = [c for c in step.tree.children(node) if step.tree.kinds[c] == "head"]
            made.append((site, heads.index(child) if child in heads else len(heads)))
    return made
