"""Nothing in a step waits for the device, and nothing loops over requests, nodes or tokens.

On a CPU nothing ever waits, so the operations themselves are looked at: none of them gives a number to the host, has a
shape that depends on data, or copies between devices; all of them run on tensors without data, where a decision of the
host would fail; how many there are does not depend on the sizes of a batch; and the compiler finds one graph.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import rheo_gpu
import torch
from rheo_gpu import Config, Layer, Processing, Step, Tape, Trees
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from tests.torch_models import RULES, dyadic_models, rows

WAITS = (
    *("_local_scalar_dense", "item", "is_nonzero", "equal", "allclose"),
    *("nonzero", "masked_select", "argwhere", "unique", "_unique", "_unique2", "unique_dim", "unique_consecutive"),
    *("repeat_interleave", "bincount", "histc", "lift_fresh", "_assert_async"),
)
"""Operations that give data to the host, have a shape that depends on data, or make a tensor of numbers of the host."""


class Waited(Exception):
    """An operation that would wait for the device."""


class NoWaiting(TorchDispatchMode):
    """Raises at an operation that would wait for the device; counts all others."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += 1
        name = func.name().split("::")[1].split(".")[0]
        given = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        if name in WAITS:
            raise Waited(name)
        if name.startswith(("index", "_index", "_unsafe_index")) and any(
            index.dtype in (torch.bool, torch.uint8) for index in given[1:]
        ):
            raise Waited(f"{name} with a mask")
        result = func(*args, **(kwargs or {}))
        devices = {leaf.device for leaf in [*given, *tree_leaves(result)] if isinstance(leaf, Tensor)}
        if len(devices) > 1:
            raise Waited(f"{name} between {devices}")
        return result


HOW: dict[str, Callable[[int, Any], Processing | None]] = {
    "laws": lambda batch, device: None,
    "plain": lambda batch, device: Processing(),
    "greedy": lambda batch, device: Processing(0),
    "numbers": lambda batch, device: Processing(0.7, top_k=3, top_p=0.9, min_p=0.1),
    "tensors": lambda batch, device: Processing(
        torch.full((batch,), 0.7, device=device),
        torch.full((batch,), 3, device=device),
        torch.full((batch,), 0.9, device=device),
        torch.full((batch,), 0.1, device=device),
    ),
}


def a_step(
    verify: str,
    how: str,
    device: Any = "cpu",
    batch: int = 3,
    vocab: int = 12,
    dtype: torch.dtype = torch.float32,
    **sizes: Any,
) -> Callable[[], Step]:
    """One step on rows that are all the same, with budgets, mask and positions; the tensors are made beforehand."""
    config = Config(**{"slots": 3, "head": 1, "depth": 3, "nodes": 8, "sparse": 5, "verify": verify, **sizes})
    proxies = {"proxy": "tail"} if verify != "rrsw" else {}
    config = Config(**{**vars(config), **proxies})
    shape = {"device": device, "dtype": torch.float64}
    tape = Tape(
        torch.full((batch, config.depth, config.width), 0.5, **shape),
        torch.full((batch, config.depth, 2), 0.5, **shape),
        torch.full((batch, config.depth + 1), 0.5, **shape),
    )
    processing, budgets = HOW[how](batch, device), torch.full((batch,), 5, device=device)
    asked = [1 + config.kept, *config.widths]
    made = {width: torch.full((batch, width, vocab), 1 / vocab, device=device, dtype=dtype) for width in asked}

    def run() -> Step:
        step = rheo_gpu.decode_step(
            lambda trees: made[trees.tokens.shape[1]],
            lambda layer: made[layer.tokens.shape[1]],
            config,
            tape,
            processing,
            processing,
            budgets,
        )
        step.trees.ancestor_mask()
        step.trees.position_ids(budgets)
        return step

    return run


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("verify", RULES)
def test_no_operation_waits_for_the_device(verify: str, how: str) -> None:
    """Short rows and long ones, with and without a cut of the draft."""
    for sizes in ({}, {"sparse": None, "head": 0}, {"vocab": 2000, "head": 3}, {"dtype": torch.bfloat16, "depth": 1}):
        run = a_step(verify, how, **sizes)
        with NoWaiting() as mode:
            run()
        assert mode.count > 50


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("verify", RULES)
def test_a_step_runs_on_tensors_without_data(verify: str, how: str) -> None:
    """On the device of shapes alone: a decision of the host fails there, and so does a tensor of another device."""
    step = a_step(verify, how, "meta", vocab=2000)()
    parts = [value for part in (step.trees, step.verified) for value in vars(part).values()]
    tensors = [leaf for part in parts for leaf in tree_leaves(getattr(part, "__dict__", None) or part)]
    found = [leaf for leaf in tensors if isinstance(leaf, Tensor)]
    assert len(found) > 20
    assert {leaf.device.type for leaf in found} == {"meta"}


@pytest.mark.parametrize("verify", RULES)
def test_a_step_runs_on_fake_tensors(verify: str) -> None:
    with FakeTensorMode():
        step = a_step(verify, "tensors")()
    assert step.verified.tokens.shape == (3, 4)


SYNCS: dict[str, Callable[[Tensor], Any]] = {
    "item": lambda x: x[0].item(),
    "int": lambda x: int(x[0]),
    "if": lambda x: 1 if x[0] > 0 else 2,
    "a slice to an entry": lambda x: x[: x.long()[1]],
    "nonzero": lambda x: x.nonzero(),
    "where": lambda x: torch.where(x > 0),
    "a mask": lambda x: x[x > 0],
    "writing through a mask": lambda x: x.clone().index_put_((x > 0,), x[0]),
    "masked_select": lambda x: x.masked_select(x > 0),
    "equal": lambda x: torch.equal(x, x),
    "unique": lambda x: x.unique(),
    "repeat": lambda x: torch.repeat_interleave(x, x.long()),
    "numbers of the host": lambda x: x + torch.tensor([1.0, 2.0, 3.0, 4.0]),
    "another device": lambda x: x.to("meta"),
}


@pytest.mark.parametrize("sync", SYNCS)
def test_an_operation_that_waits_is_noticed(sync: str) -> None:
    x = torch.arange(4.0)
    with pytest.raises(Waited), NoWaiting():
        SYNCS[sync](x)


@pytest.mark.parametrize("decision", [lambda x: x.tolist(), lambda x: x.item(), bool, lambda x: x.nonzero()])
def test_a_decision_of_the_host_fails_without_data(decision: Callable[[Tensor], Any]) -> None:
    with pytest.raises((NotImplementedError, RuntimeError)):
        decision(torch.ones((), device="meta"))


# Operations


SIZES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "requests": ({"batch": 2}, {"batch": 9}),
    "tokens": ({"vocab": 12}, {"vocab": 60}),
    "tokens of a long row": ({"vocab": 2000}, {"vocab": 2300}),
    "slots": ({"slots": 3, "beam": 3}, {"slots": 4, "beam": 3}),
    "the beam": ({"beam": 4}, {"beam": 8}),
    "the cut": ({"sparse": 4}, {"sparse": 9}),
    "nodes": ({"nodes": 4}, {"nodes": 14}),
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("verify", RULES)
def test_the_number_of_operations_does_not_depend_on_the_sizes(verify: str, size: str) -> None:
    """But for the depth, for how often a long row is cut into blocks, and for the kept nodes of FlowVerification, which
    inserts them one after the other."""
    counts = []
    for sizes in SIZES[size]:
        run = a_step(verify, "tensors", **sizes)
        with NoWaiting() as mode:
            run()
        counts.append(mode.count)
    if (verify, size) == ("flow", "nodes"):
        assert counts[1] > counts[0]
        assert (counts[1] - counts[0]) % (14 - 4) == 0
    else:
        assert counts[0] == counts[1]


def test_a_loop_over_requests_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def one_by_one(trees: Trees) -> Tensor:
        eye = torch.eye(trees.tokens.shape[1], dtype=torch.bool)
        return torch.stack([eye | (parents[:, None] >= 0) for parents in trees.parents])

    monkeypatch.setattr(Trees, "ancestor_mask", one_by_one)
    with pytest.raises(AssertionError):
        test_the_number_of_operations_does_not_depend_on_the_sizes("rheo", "requests")


# The compiler


@pytest.mark.filterwarnings("default")
def test_a_step_is_one_graph_for_the_compiler_and_gives_the_same() -> None:
    """Without a break: `fullgraph` raises at anything that the graph cannot hold, a decision of the host above all.

    All rules verify the same trees, in one graph: drafting does not look at the rule, and compiling takes long.
    """
    config = Config(slots=2, head=1, depth=2, nodes=4, sparse=3, verify=RULES[0])
    models = dyadic_models(3, 4, 2)
    target, draft = (torch.from_numpy(table) for table in (models.target, models.draft))
    tape = Tape.fill(config, 40, torch.Generator().manual_seed(0))
    temperature, budgets = torch.arange(40) % 3 / 2, torch.arange(40) % 5

    def steps(tape_draft: Tensor, coin: Tensor, token: Tensor, heat: Tensor, kept: Tensor) -> tuple[Tensor, ...]:
        def at(table: Tensor) -> Callable[[Trees | Layer], Tensor]:
            return lambda asked: table[rows(asked.paths, 4)]

        tape, how = Tape(tape_draft, coin, token), Processing(heat, top_p=0.9)
        made = rheo_gpu.decode_step(at(target), at(draft), config, tape, how, Processing(), kept)
        verified = [made.verified]
        for rule in RULES[1:]:
            verified.append(
                rheo_gpu.verify(made.trees, at(target)(made.trees), replace(config, verify=rule), tape, how)
            )
        return made.trees.ancestor_mask(), *(x for v in verified for x in (v.tokens, v.lengths, v.keep))

    given = (tape.draft_u, tape.coin_u, tape.token_u, temperature, budgets)
    torch._dynamo.reset()
    compiled = torch.compile(steps, fullgraph=True, backend="aot_eager", dynamic=False)
    expected = steps(*given)
    assert len(expected) == 1 + 3 * len(RULES)
    assert len({str(tokens.tolist()) for tokens in expected[1::3]}) >= 3  # two rules may agree on trees this small
    for found, same in zip(compiled(*given), expected, strict=True):
        assert torch.equal(found, same)


def test_a_break_of_the_graph_is_an_error() -> None:
    torch._dynamo.reset()
    with pytest.raises(Exception, match=r"(?i)item|data-dependent|graph break"):
        torch.compile(lambda x: x * x[0].item() if x[0].item() > 0 else x, fullgraph=True, backend="aot_eager")(
            torch.ones(3)
        )
