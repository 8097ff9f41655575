"""The NumPy decoder as a function from uniforms to decisions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rheo_proof.cli.crosscheck.floats import options, row
from rheo_proof.cli.crosscheck.search import Answer, Decoder, Tape
from rheo_proof.exact.chance import Site
from rheo_proof.exact.errors import InputError
from rheo_proof.exact.law import Law
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.schemes.scheme import Parameters


def need_numpy() -> None:
    """Raise `InputError` where NumPy or the decoder is not installed."""
    try:
        import rheo_reference  # noqa: F401
    except ImportError as error:
        raise InputError(f"the NumPy decoder needs {error.name}; pip install 'rheo-proof[reference]'") from None


def numpy_decoder(model: ToyModel, parameters: Parameters) -> Decoder:
    """`decode_step` on a toy model, one tape after the other. Raises `InputError` where NumPy is not installed."""
    need_numpy()
    import numpy as np
    import rheo_reference as rheo

    config = rheo.Config(**options(parameters), target=None, draft=None)
    rows: dict[Law, list[float]] = {}

    def answer(laws: Callable[[Prefix], Law]) -> Callable[[Sequence[Prefix]], Any]:
        def rows_of(prefixes: Sequence[Prefix]) -> Any:
            for law in map(laws, prefixes):
                if law not in rows:
                    rows[law] = row(law)
            return np.array([rows[laws(u)] for u in prefixes])

        return rows_of

    target, draft = answer(model.target), answer(model.draft)

    def step(uniforms: Tape) -> Answer:
        draft_u = np.zeros((config.depth, config.width))
        coin_u = np.zeros((config.depth, 2))
        token_u = np.zeros(config.depth + 1)
        for (kind, level, i), u in uniforms.items():
            if kind == "token":
                token_u[level] = u
            else:
                (draft_u if kind == "draft" else coin_u)[level, i] = u
        done = rheo.decode_step(target, draft, (), config, rheo.Tape(draft_u, coin_u, token_u))
        return done.tokens, decisions(done)

    return lambda tapes: [step(uniforms) for uniforms in tapes]


def decisions(step: Any) -> list[tuple[Site, int]]:
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
