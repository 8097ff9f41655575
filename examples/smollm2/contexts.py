"""A text that grows by steps of speculative decoding, and the comparison of many trees at the place where it stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from rheo_gpu import Config, Processing, Tape, Trees, draft_trees, verify
from rheo_gpu.llm.errors import Unusable
from rheo_gpu.llm.reach import levels, reach
from rheo_gpu.llm.step import begun, drafted, followed, kept, read_trees
from rheo_gpu.llm.union import Union, joined, laws_at
from settings import DEPTH, Draft
from torch import Tensor

WRITES = Config(slots=10, head=1, depth=DEPTH, nodes=16, sparse=128, verify="rheo")
"""How the texts themselves are decoded, whose steps are the contexts."""


class Pair(NamedTuple):
    """A target (see rheo_gpu/llm/target.py), a draft for it, and the tokens that end a text."""

    target: Any
    draft: Any
    stops: frozenset[int]


class Text:
    """One text, with all that the two models remember of it.

    `last` is its last token, which neither has read; `emitted` says how many tokens each step has emitted.
    """

    def __init__(self, pair: Pair, prompt: Sequence[int]) -> None:
        self.pair, self.last, self.emitted = pair, prompt[-1], list[int]()
        self.state = begun(pair.target, pair.draft, [prompt])

    @property
    def length(self) -> int:
        """How many tokens it has."""
        return int(self.state.lengths[0]) + 1

    def step(self, temperature: float, generator: torch.Generator) -> list[int]:
        """Decode one step: the emitted tokens, to the first stop token."""
        target, draft, how = self.pair.target, self.pair.draft, Processing(temperature)
        tape = Tape.fill(WRITES, 1, generator)
        trees = drafted(draft, target.vocab, WRITES, tape, how)
        seen = read_trees(target, self.state, trees, torch.tensor([self.last]))
        out = verify(trees, target.logits(seen.hidden), WRITES, tape, how)
        if bool(out.broken.any()):
            raise Unusable("the target answered with a row that is no law, expected finite logits")
        followed(draft, seen, out, *kept(target, self.state, out))
        tokens: list[int] = out.tokens[0, : int(out.lengths[0])].tolist()
        self.last = tokens[-1]
        self.emitted.append(len(tokens))
        stop = next((i for i, token in enumerate(tokens) if token in self.pair.stops), len(tokens))
        return tokens[: stop + 1]

    def compare(self, drafts: Sequence[Draft], temperature: float, tapes: Sequence[Tape]) -> Tensor:
        """Pr[tau >= l | tree], averaged over tapes, for each draft, rule and size in order: [settings, D].

        All drafts see the same tapes, one for each draw, and the target reads the nodes of all trees at once. The text
        stays as it is.
        """
        target, draft = self.pair.target, self.pair.draft
        trees = [draft_trees(draft, d.config, tape, Processing(d.temperature)) for d in drafts for tape in tapes]
        nodes = Union.of(trees)
        tokens = nodes.tokens if draft.tokens is None else draft.tokens[nodes.tokens.clamp(min=0)]
        tokens = torch.where(nodes.tokens >= 0, tokens, self.last)[None]
        seen = target.forward(self.state, tokens, self.state.lengths[:, None] + nodes.depths, nodes.mask())
        target.keep(self.state, torch.full((1, 1), -1))
        p = laws_at(seen.hidden[0], target.logits, Processing(temperature), draft.tokens)[None]
        return _by_setting(drafts, trees, nodes.rows, p, len(tapes))


def _by_setting(
    drafts: Sequence[Draft], trees: Sequence[Trees], rows: Sequence[Tensor], p: Tensor, draws: int
) -> Tensor:
    """Acceptance by level of all settings in order, from shared laws p [1, U, V]. Trees of one shape go together."""
    found: dict[tuple[int, str, int], Tensor] = {}
    shapes: dict[Any, list[int]] = {}
    for i, d in enumerate(drafts):
        tree = trees[i * draws]
        for rule in d.rules:
            shapes.setdefault((rule, d.head, tree.children.shape, tree.tail.q.shape), []).append(i)
    for (rule, *_), members in shapes.items():
        wanted = [(i, n, draw) for i in members for n in drafts[i].nodes for draw in range(draws)]
        batch = joined([trees[i * draws + draw].first(n) for i, n, draw in wanted])
        reached = reach(batch, p, rule, torch.cat([rows[i * draws + draw] for i, _, draw in wanted]))
        for (i, n, _), each in zip(wanted, levels(batch, reached), strict=True):
            found[i, rule, n] = found.get((i, rule, n), 0) + each / draws
    return torch.stack([found[i, rule, n] for i, d in enumerate(drafts) for rule in d.rules for n in d.nodes])
