"""The torch decoder on toy models, beside the NumPy decoder: tables by prefix, shared tapes, comparisons that raise.

A *group* is a toy model, a configuration of the NumPy decoder and tapes. Groups that share the sizes make one batch:
then requests differ in their models, which is what different prefixes come to, in their budgets and their processing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import rheo_gpu
import torch
from rheo_gpu import Layer, Step, Trees
from rheo_reference import Config, Models, Processing, Tapes, decode_step, simulate
from rheo_reference import Step as ReferenceStep
from rheo_reference.laws import Prefix
from torch import Tensor

BELOW_1 = float(np.nextafter(1, 0))
KINDS = ("", "root", "head", "sampled", "fill")
RULES = ("rheo", "rrsw", "match", "flow")
PAIRS = tuple((rule, proxy) for rule in RULES for proxy in ("paper", "tail") if (rule, proxy) != ("rrsw", "tail"))
SIZES = ("slots", "head", "depth", "beam", "nodes", "sparse", "proxy", "proxy_scale", "fill_scale", "verify")


@dataclass(frozen=True, eq=False)
class Group:
    """Requests that differ in their tapes alone. `config.nodes` is their budget."""

    models: Models
    config: Config
    tapes: Tapes


# One batch


def decode(groups: Sequence[Group], dtype: torch.dtype = torch.float64, **sizes: Any) -> Step:
    """What the torch decoder makes of all groups as one batch. `dtype` is that of the models' rows."""
    counts = [len(group.tapes) for group in groups]
    configs = [group.config for group in groups]
    budgets = repeated([config.nodes for config in configs], counts)
    config = config_of(configs[0], **({"nodes": int(budgets.max())} | sizes))
    return rheo_gpu.decode_step(
        *models_of(groups, dtype),
        config,
        tape_of([group.tapes for group in groups]),
        how_of([config.target for config in configs], counts),
        how_of([config.draft for config in configs], counts),
        budgets if len(groups) > 1 else None,
    )


def config_of(config: Config, **sizes: Any) -> rheo_gpu.Config:
    return rheo_gpu.Config(**{name: getattr(config, name) for name in SIZES} | sizes)


def tape_of(tapes: Sequence[Tapes]) -> rheo_gpu.Tape:
    parts = (np.concatenate([getattr(t, name) for t in tapes]) for name in ("draft_u", "coin_u", "token_u"))
    return rheo_gpu.Tape(*map(torch.from_numpy, parts))


def models_of(
    groups: Sequence[Group], dtype: torch.dtype
) -> tuple[Callable[[Trees], Tensor], Callable[[Layer], Tensor]]:
    """Target and draft of a batch; each request reads the tables of its group."""
    counts = [len(group.tapes) for group in groups]
    targets, drafts = (
        torch.from_numpy(np.stack([np.asarray(getattr(group.models, side)) for group in groups])).to(dtype)
        for side in ("target", "draft")
    )
    which = repeated(range(len(groups)), counts)[:, None]
    vocab = targets.shape[-1]
    return (
        lambda trees: targets[which, rows(trees.paths, vocab)],
        lambda layer: drafts[which, rows(layer.paths, vocab)],
    )


def rows(paths: Tensor, vocab: int) -> Tensor:
    """The rows of a table after paths [.., L] that -1 fills up: the children of row i begin at i V + 1."""
    row = torch.zeros(paths.shape[:-1], dtype=torch.int64, device=paths.device)
    for level in range(paths.shape[-1]):
        token = paths[..., level]
        row = torch.where(token >= 0, row * vocab + 1 + token.clamp(min=0), row)
    return row


def how_of(processings: Sequence[Processing | None], counts: Sequence[int]) -> rheo_gpu.Processing | None:
    """Plain numbers for one group, tensors for several."""
    given = [how for how in processings if how is not None]
    if not given:
        return None
    if len(given) == 1:
        how = given[0]
        return rheo_gpu.Processing(how.temperature, how.top_k, how.top_p, how.min_p)
    return rheo_gpu.Processing(
        repeated([how.temperature for how in given], counts),
        repeated([1 << 20 if how.top_k is None else how.top_k for how in given], counts),
        repeated([how.top_p for how in given], counts),
        repeated([how.min_p for how in given], counts),
    )


def repeated(values: Any, counts: Sequence[int]) -> Tensor:
    return torch.from_numpy(np.repeat(np.asarray(values), counts))


# Comparisons


def assert_same_strings(groups: Sequence[Group], step: Step) -> int:
    """Each request has the string of the NumPy decoder. Says how many were compared."""
    done = 0
    for group in groups:
        expected = simulate(group.models, group.config, group.tapes)
        here = slice(done, done + len(expected))
        tokens, lengths = step.verified.tokens[here].numpy(), step.verified.lengths[here].numpy()
        wrong = np.flatnonzero((tokens != expected.tokens).any(1) | (lengths != expected.lengths))
        if len(wrong):
            i = int(wrong[0])
            raise AssertionError(
                f"{len(wrong)} of {len(expected)} strings differ, first {tokens[i]} of length {lengths[i]}, expected "
                f"{expected[i]}: request {done + i} with {group.config}"
            )
        done += len(expected)
    if done != len(step.verified.tokens):
        raise AssertionError(f"{len(step.verified.tokens)} strings for {done} requests")
    if step.verified.broken.any() or step.trees.broken.any():
        raise AssertionError("a sound model is called broken")
    return done


def assert_same_steps(groups: Sequence[Group], step: Step, each: int, exact: bool = True) -> int:
    """Trees, accepted nodes and consumed uniforms of the first requests of each group, and the strings once more."""
    done = compared = 0
    for group in groups:
        for i in range(min(each, len(group.tapes))):
            reference = reference_step(group, i)
            try:
                assert_same_tree(reference, step.trees, done + i, exact)
                assert_same_walk(reference, step, done + i)
            except AssertionError as error:
                raise AssertionError(f"request {done + i}, {group.config}: {error}") from None
            compared += 1
        done += len(group.tapes)
    return compared


def reference_step(group: Group, i: int) -> ReferenceStep:
    vocab = np.shape(group.models.target)[1]
    target, draft = (partial(answers, getattr(group.models, side), vocab) for side in ("target", "draft"))
    return decode_step(target, draft, (), group.config, group.tapes[i])


def answers(table: Any, vocab: int, prefixes: Sequence[Prefix]) -> Any:
    numbers = []
    for prefix in prefixes:
        number = 0
        for token in prefix:
            number = number * vocab + 1 + token
        numbers.append(number)
    return table[numbers]


def assert_same_tree(reference: ReferenceStep, trees: Trees, i: int, exact: bool) -> None:
    tree, size, whole = reference.tree, len(reference.tree), trees.tokens.shape[1]
    same("nodes", trees.there[i], [True] * size + [False] * (whole - size))
    for name, padding in (("tokens", -1), ("parents", -1), ("depths", 0), ("slots", -1)):
        expected = getattr(tree, name).tolist()
        if name == "slots":
            expected[0] = -1
        same(name, getattr(trees, name)[i], expected + [padding] * (whole - size))
    same("kinds", trees.kinds[i], [KINDS.index(kind) for kind in tree.kinds] + [0] * (whole - size))
    values = tree.values if exact else trees.values[i, :size].numpy()
    same("values", trees.values[i], [*values, *[0.0] * (whole - size)])
    np.testing.assert_allclose(trees.values[i, :size], tree.values, rtol=0 if exact else 1e-12, atol=0)
    mask = np.eye(whole, dtype=np.bool_)
    mask[:size, :size] = tree.ancestor_mask()
    same("ancestor mask", trees.ancestor_mask()[i], mask.tolist())
    lengths = torch.arange(len(trees.tokens)) + 5
    positions = [*tree.position_ids(i + 5), *[i + 4] * (whole - size)]
    same("position ids", trees.position_ids(lengths)[i], positions)
    depth = trees.paths.shape[-1]
    paths = [[*path, *[-1] * (depth - len(path))] for path in tree.paths()]
    same("paths", trees.paths[i], paths + [[-1] * depth] * (whole - size))
    for node in range(1, size):
        number = int(trees.expansion[i, tree.parents[node]])
        same("owner", trees.owner[i, number], int(tree.parents[node]))
        same("child", trees.children[i, number, tree.slots[node]], node)
        same("slot token", trees.slot_tokens[i, number, tree.slots[node]], int(tree.tokens[node]))
    same("number of children", (trees.children[i] > 0).sum(), size - 1)


def assert_same_walk(reference: ReferenceStep, step: Step, i: int) -> None:
    verified, depth = step.verified, step.verified.tokens.shape[1] - 1
    padding = [-1] * (depth - len(reference.accepted))
    same("string", verified.tokens[i], [*reference.tokens, *padding])
    same("kept entries", verified.keep[i], [0, *reference.accepted, *padding])
    same("length", verified.lengths[i], len(reference.tokens))
    same("accepted length", verified.accepted[i], reference.accepted_length)
    same("last token", verified.last[i], reference.tokens[-1])
    read = {("draft", *site) for site in step.trees.draft_used[i].nonzero().tolist()}
    read |= {("coin", *site) for site in verified.coin_used[i].nonzero().tolist()}
    read |= {("token", *site, 0) for site in verified.token_used[i].nonzero().tolist()}
    if read != set(reference.used):
        raise AssertionError(f"uniforms read: {sorted(read)}, expected {sorted(reference.used)}")


def same(what: str, found: Tensor, expected: Any) -> None:
    if found.tolist() != expected:
        raise AssertionError(f"{what}: {found.tolist()}, expected {expected}")


def assert_same(groups: Sequence[Group], each: int, exact: bool = True) -> int:
    """All strings and some whole steps. Says how many tapes were compared."""
    step = decode(groups)
    assert_same_steps(groups, step, each, exact)
    return assert_same_strings(groups, step)


def assert_equal_steps(a: Any, b: Any, rows: Any = slice(None)) -> None:
    """All tensors of two answers (a step, trees, what was verified) are equal, those of `a` taken at some requests."""
    for name, value in vars(a).items():
        other = getattr(b, name)
        if isinstance(value, Tensor):
            if not torch.equal(value[rows], other):
                raise AssertionError(f"{name} differ: {value[rows]} and {other}")
        elif hasattr(value, "__dict__"):
            assert_equal_steps(value, other, rows)


# Tapes


def mixed_tapes(seed: int, config: Config, batch: int, points: Sequence[float] = ()) -> Tapes:
    """Half of them from a generator; the others coarse: 0, the largest float below 1, sixteenths, and given points."""
    rng = np.random.default_rng(seed)
    tapes = Tapes.fill(rng, config, batch)
    for uniforms in (tapes.draft_u, tapes.coin_u, tapes.token_u):
        coarse = np.where(
            rng.random(uniforms.shape) < (0.7 if len(points) else 0),
            rng.choice(points if len(points) else [0.0], size=uniforms.shape),
            rng.choice([0.0, BELOW_1, *np.arange(16) / 16], size=uniforms.shape),
        )
        uniforms[::2] = coarse[::2]
    return tapes


def break_points(models: Models, head: int) -> list[float]:
    """Where a decision of a dyadic model flips, and the floats beside it: cdf values and acceptance ratios."""
    points = set[float]()
    for row, p in enumerate(np.asarray(models.target)):
        points |= set(np.cumsum(p))
        if row >= len(models.draft):
            continue
        q = np.asarray(models.draft[row])
        order = np.argsort(-q, kind="stable")[head:]
        z, cdf = q[order].sum(), np.cumsum(q[order])
        if z > 0:
            points |= set(cdf / z)
            points |= {z * p[x] / q[x] for x in order if q[x] > 0}
            rest = p.copy()
            rest[order] = np.maximum(z * p[order] - q[order], 0)
            points |= set(np.cumsum(rest) / rest.sum()) if rest.sum() else set()
    found = sorted(point for point in points if 0 <= point < 1)
    beside = {float(np.nextafter(point, side)) for point in found for side in (0.0, 1.0)}
    return sorted({*map(float, found), *beside, 0.0, BELOW_1} - {1.0})


# Models


def dyadic_table(rng: np.random.Generator, count: int, vocab: int) -> Any:
    """Laws of sixteenths: any, with ties, with zeros, one-hot, uniform where that is possible."""
    rows = np.zeros((count, vocab))
    for row in rows:
        kind = rng.integers(5)
        unit = (2, 4, 8, 16, 1)[kind]
        np.add.at(row, rng.integers(vocab, size=16 // unit), unit / 16)
    return rows


def dyadic_models(seed: int, vocab: int, depth: int) -> Models:
    """Tables of sixteenths; at some prefixes the draft is the target, at some the two have no token in common."""
    rng = np.random.default_rng(seed)
    inner, whole = (sum(vocab**length for length in range(longest)) for longest in (depth, depth + 1))
    target, draft = dyadic_table(rng, whole, vocab), dyadic_table(rng, inner, vocab)
    for i in range(inner):
        kind = rng.integers(6)
        if kind == 0:
            target[i] = draft[i]
        if kind == 1 and (draft[i] == 0).any():
            target[i] = np.eye(vocab)[rng.choice(np.flatnonzero(draft[i] == 0))]
    return Models(target, draft)


def logit_models(seed: int, vocab: int, depth: int, scale: float = 1.5) -> Models:
    rng = np.random.default_rng(seed)
    inner, whole = (sum(vocab**length for length in range(longest)) for longest in (depth, depth + 1))
    return Models(scale * rng.normal(size=(whole, vocab)), scale * rng.normal(size=(inner, vocab)))
