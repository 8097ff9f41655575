"""Block verification of a chain (arXiv 2403.10444): the longest prefix whose coin is true, coins tossed for all."""

from __future__ import annotations

from collections.abc import Sequence

from rheo_proof.exact.chance import Chance
from rheo_proof.exact.errors import InputError
from rheo_proof.exact.law import Law, normalised
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ONE, ZERO, Q
from rheo_proof.exact.program import Emission
from rheo_proof.schemes.verifying.seen import Seeing, Seen


class Block(Seeing):
    """tau is the largest i whose coin Bern(h_i) is true; y ~ p if tau = L, else y ~ norm(s_tau).

    w_0 = 1 and w_i = min(1, w_{i-1} p(x_i)/q(x_i)); s_i = (w_i p - q)+ after x_1 .. x_i, with sum S_i. h_L = w_L,
    h_i = S_i / (S_i + 1 - w_i) for 0 < i < L, and h_0 = 1.
    """

    def verify(self, model: ToyModel, children: tuple[Seen, ...], chance: Chance) -> Emission:
        """All coins, from the last one."""
        return block(model, *chain(children), chance)


def chain(children: tuple[Seen, ...]) -> tuple[Prefix, tuple[Law, ...]]:
    """The tokens of a chain and their draft laws. Raises `InputError` for a draft that is not a sampled chain."""
    tokens: list[int] = []
    laws: list[Law] = []
    while children:
        child = children[0]
        if len(children) > 1 or len(child.slots) > 1 or child.law is None:
            raise InputError(f"block verification needs a sampled chain, but {tuple(tokens)} has other children")
        tokens.append(child.token)
        laws.append(child.law)
        children = child.children
    return tuple(tokens), tuple(laws)


def block(model: ToyModel, x: Prefix, q: Sequence[Law], chance: Chance) -> Emission:
    """Block verification of the tokens x with the draft laws q."""
    p, w = [model.target(x[:i]) for i in range(len(x) + 1)], [ONE]
    for i, token in enumerate(x):
        w.append(min(ONE, w[i] * p[i][token] / q[i][token]))
    for i in reversed(range(len(x) + 1)):
        if i == len(x):
            h, law = w[i], p[i].probs
        else:
            law = tuple(max(ZERO, w[i] * a - b) for a, b in zip(p[i], q[i], strict=True))
            h = true_with(sum(law, ZERO), w[i]) if i else ONE
        if chance.coin(h, ("coin", i, 1)):
            break
    return Emission(x[:i], chance.latent(normalised(law), ("token", i, 0), ("y",)))


def true_with(s: Q, w: Q) -> Q:
    """h_i = S / (S + 1 - w), 1 for S = 0 and w = 1."""
    return s / (s + ONE - w) if s or w < ONE else ONE
