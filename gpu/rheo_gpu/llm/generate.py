"""Texts from a real model: with a draft model, or one token a step.

A step is the one of docs/torch.md: draft trees, one forward pass of the target over them, verification, and what stays
of the caches. Stop tokens and limits cut a text after the verification, so they change no law.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from rheo_gpu import Config, Layer, Processing, verify
from rheo_gpu.laws import read
from rheo_gpu.tape import inverse_cdf

from .drafter import Drafter
from .errors import Unusable
from .statistics import Clock, Step
from .step import begun, drafted, followed, kept, read_trees
from .target import State, Target
from .texts import Texts

Emitted = tuple[Tensor, Tensor, Tensor, Tensor]
"""tokens [R, n], lengths [R], accepted [R] and broken [R], as in `rheo_gpu.Verified`."""


def generate(
    target: Target,
    drafter: Drafter,
    prompts: Sequence[Sequence[int]],
    config: Config,
    how: Processing,
    how_draft: Processing,
    *,
    limit: int = 128,
    stop: Sequence[int] = (),
    seeds: int | Sequence[int] = 0,
) -> Iterator[Step]:
    """Decode a batch with draft trees: an iterator of steps, with the new tokens of each request.

    A text has the law of the target under `how`, whatever the draft model says, as long as what it says about a node
    depends on the text and the path to the node alone (drafter.py). It ends behind its first stop token or
    after `limit` new tokens. seeds: one for each request, or s for s, s + 1 and so on; the same seed gives the same
    text, whoever shares the batch, but for rounding: kernels may add up otherwise in a batch of another size.

    Raises `Unusable`, before the first step, for prompts, limits and seeds that cannot be used and for models that do
    not fit each other; and in a step if the target answers with logits that are no law.
    """
    texts = Texts(prompts, target.vocab, limit, stop, seeds, target.device)
    _room(target, drafter, texts, config.depth)
    _fits(target, drafter)

    def step(state: State, clock: Clock) -> Emitted:
        def answer(layer: Layer) -> Tensor:
            clock.lap("selection")
            logits = drafter(layer)
            clock.lap("draft")
            return logits

        tape = texts.tape(config)
        trees = drafted(drafter, target.vocab, config, tape, how_draft, answer)
        clock.lap("selection")
        seen = read_trees(target, state, trees, texts.last)
        clock.lap("target layers")
        logits = target.logits(seen.hidden)
        clock.lap("lm_head")
        out = verify(trees, logits, config, tape, how)
        clock.lap("verification")
        keep, counts = kept(target, state, out, texts.active)
        clock.lap("cache")
        followed(drafter, seen, out, keep, counts)
        clock.lap("draft")
        return out.tokens, out.lengths, out.accepted, out.broken

    return _steps(target, drafter, texts, step)


def autoregressive(
    target: Target,
    prompts: Sequence[Sequence[int]],
    how: Processing,
    *,
    limit: int = 128,
    stop: Sequence[int] = (),
    seeds: int | Sequence[int] = 0,
) -> Iterator[Step]:
    """The same without a draft model, one token a step, read and drawn by the same code. Raises `Unusable` likewise."""
    texts = Texts(prompts, target.vocab, limit, stop, seeds, target.device)
    _room(target, None, texts, 0)
    alone = torch.ones(len(prompts), 1, 1, dtype=torch.bool, device=target.device)

    def step(state: State, clock: Clock) -> Emitted:
        seen = target.forward(state, texts.last[:, None], state.lengths[:, None], alone)
        clock.lap("target layers")
        logits = target.logits(seen.hidden[:, 0])
        clock.lap("lm_head")
        law, sound = read(logits, how)
        tokens = inverse_cdf(law.double(), texts.uniforms())[:, None]
        clock.lap("verification")
        target.keep(state, torch.where(texts.active, 0, -1)[:, None])
        clock.lap("cache")
        one = torch.ones_like(tokens[:, 0])
        return tokens, one, 0 * one, ~sound[:, 0]

    return _steps(target, None, texts, step)


def _steps(
    target: Target, drafter: Drafter | None, texts: Texts, step: Callable[[State, Clock], Emitted]
) -> Iterator[Step]:
    """Prefill, then steps until all texts have ended. The mode is left between steps: the caller's code runs there."""
    clock = Clock(target.device)
    with torch.inference_mode():
        state = begun(target, drafter, texts.prompts)
    clock.lap("prefill")
    while not texts.done:
        with torch.inference_mode():
            before = list(texts.ended)
            tokens, lengths, accepted, broken = step(state, clock)
            new, emitted = texts.grow(tokens, lengths, broken)
            counts = [None if end else count for end, count in zip(before, accepted.tolist(), strict=True)]
        clock.lap("cache")
        yield Step(new, emitted, counts, list(texts.ended), clock.taken())
        clock.resume()


def _room(target: Target, drafter: Drafter | None, texts: Texts, depth: int) -> None:
    """Whether the positions of both models suffice, the draft nodes behind the last token included."""
    # In a batch a text that has ended is carried along, with all that its last step has emitted, and padding behind it.
    depth = depth if len(texts.prompts) == 1 else 2 * depth + (drafter is not None)
    longest = max(map(len, texts.prompts)) + texts.limit + depth
    most = {"target": target.positions}
    if drafter is not None:
        most["draft model"] = drafter.positions
    for model, positions in most.items():
        if positions is not None and longest > positions:
            raise Unusable(
                f"the longest prompt, {texts.limit} new tokens and {depth} draft nodes behind them take {longest} "
                f"positions of the {model}'s {positions}: expected a shorter prompt or a lower limit"
            )


def _fits(target: Target, drafter: Drafter) -> None:
    """Whether the draft model speaks of the target's tokens and asks for hidden states that the target keeps."""
    if drafter.layers and drafter.layers != target.layers:
        raise Unusable(
            f"the target keeps its hidden states {target.layers}, but the draft model wants {drafter.layers}: load the "
            "target with those layers"
        )
    ids = drafter.tokens
    if ids is not None and (int(ids[0]) < 0 or bool((ids.diff() <= 0).any())):
        raise Unusable("the target's ids of the draft tokens do not increase, expected each token once, in order")
    if drafter.vocab > target.vocab if ids is None else not len(ids) == drafter.vocab or int(ids.max()) >= target.vocab:
        raise Unusable(
            f"the draft model has {drafter.vocab} tokens that are not among the {target.vocab} of the target, expected "
            "models with the same vocabulary"
        )
