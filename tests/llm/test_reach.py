"""How likely a walk reaches each kept node: against the exact prover, against walks, and on cases worked by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rheo_gpu import Config, Layer, Tape, Trees, draft_trees, verify
from rheo_gpu.llm import reach as module
from rheo_gpu.llm.reach import levels, reach
from torch import Tensor

from rheo_proof.cli.crosscheck.floats import options
from rheo_proof.exact.families import dyadic_model
from rheo_proof.exact.model import ToyModel
from rheo_proof.exact.number import ONE, Q
from rheo_proof.schemes.laws import law_by_classes
from rheo_proof.schemes.scheme import Parameters, plain
from rheo_proof.stats.asserts import assert_law_equal
from rheo_proof.stats.verdict import LawMismatch
from tests.torch_models import RULES, rows

Model = Callable[[Any], Tensor]
few = settings(max_examples=max(1, settings.default.max_examples // 5))


# All draws of the sampled slots


def all_draws(draft: Model, config: Config) -> tuple[Trees, Tensor]:
    """One tree for each way in which all sampled slots can fall, with their probabilities.

    Layer by layer: the laws of a layer's sampled slots are known once those above it have been drawn.
    """
    tape = Tape(*(0.5 * torch.ones(1, config.depth, n, dtype=torch.float64) for n in (config.width, 2)), torch.zeros(1))
    tape = replace(tape, token_u=torch.zeros(1, config.depth + 1, dtype=torch.float64))
    mass, first = torch.ones(1, dtype=torch.float64), 0
    for layer, width in enumerate(config.widths):
        for b in range(width):
            trees = draft_trees(draft, config, tape, None)
            t = (trees.tail.q / trees.tail.z[..., None])[:, first + b]
            t = torch.where(trees.tail.there[:, first + b, None], t, torch.eye(1, t.shape[1], dtype=t.dtype))
            request, place = (t > 0).nonzero(as_tuple=True)
            u = (t.cumsum(1) - t / 2)[request, place]
            mass = mass[request] * t[request, place]
            tape = Tape(tape.draft_u[request], tape.coin_u[request], tape.token_u[request])
            tape.draft_u[:, layer, b] = u
        first += width
    return draft_trees(draft, config, tape, None), mass


def tables(model: ToyModel, depth: int) -> tuple[Model, Model]:
    from rheo_proof.cli.crosscheck.torch_backend import _rows

    return _rows(model.target, model.vocab, depth, "cpu"), _rows(model.draft, model.vocab, depth - 1, "cpu")


def averaged(parameters: Parameters, model: ToyModel) -> list[float]:
    config = Config(**options(parameters))
    target, draft = tables(model, config.depth)
    trees, mass = all_draws(draft, config)
    assert float(mass.sum()) == pytest.approx(1, abs=1e-12)
    reached = reach(trees, target(trees), config.verify)
    return [float(x) for x in (levels(trees, reached) * mass[:, None]).sum(0)]


def exact(parameters: Parameters, model: ToyModel) -> list[Fraction]:
    return law_by_classes(plain(parameters), model).acceptance(parameters.depth)


@st.composite
def parameters(draw: st.DrawFn) -> Parameters:
    rule = draw(st.sampled_from(RULES))
    slots, depth = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    proxy = "paper" if rule == "rrsw" else draw(st.sampled_from(["paper", "tail"]))
    return Parameters(
        slots=slots,
        head=draw(st.integers(0, slots)),
        depth=depth,
        beam=draw(st.sampled_from([None, 1, 2])),
        nodes=draw(st.integers(1, 8)),
        sparse=draw(st.sampled_from([None, 2, 3])),
        proxy=proxy,
        proxy_scale=draw(st.sampled_from([ONE, Q(1, 2)])) if proxy == "tail" else ONE,
        fill_scale=draw(st.sampled_from([ONE, Q(1, 2)])),
        verify=rule,
    )


@few
@given(parameters(), st.integers(0, 1 << 30), st.integers(2, 4))
def test_acceptance_averaged_over_all_draws_is_that_of_the_exact_step_law(
    chosen: Parameters, seed: int, vocab: int
) -> None:
    model = dyadic_model(seed, vocab, chosen.depth)
    assert averaged(chosen, model) == pytest.approx([float(x) for x in exact(chosen, model)], abs=1e-12)


DEEP = Parameters(slots=2, head=1, depth=3, beam=2, nodes=7)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("head", [0, 1])
def test_the_same_three_levels_deep(rule: str, head: int) -> None:
    for seed in range(3):
        chosen, model = replace(DEEP, verify=rule, head=head), dyadic_model(seed, 3, 3)
        assert averaged(chosen, model) == pytest.approx([float(x) for x in exact(chosen, model)], abs=1e-12)


def faulty(name: str) -> Callable[..., Tensor]:
    """`_one_sampled` with a fault."""
    right = module._one_sampled

    def wrong(trees: Trees, p_slot: Tensor, p_tail: Tensor, heads_first: bool) -> Tensor:
        if name == "no residual":
            kept = right(trees, p_slot, p_tail, heads_first)
            return torch.where(torch.arange(p_slot.shape[-1]) == trees.head, kept, p_slot)
        if name == "other order":
            return right(trees, p_slot, p_tail, not heads_first)
        uncut = replace(trees, children=torch.ones_like(trees.children))
        return right(uncut, p_slot, p_tail, heads_first)

    return wrong


@pytest.mark.parametrize(
    ("fault", "rule"),
    [(f, r) for f in ("no residual", "other order") for r in ("rheo", "rrsw")],
)
def test_a_fault_in_the_closed_form_is_seen(fault: str, rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = Parameters(slots=3, head=1, depth=2, beam=2, nodes=3, verify=rule)
    models = [dyadic_model(seed, 4, 2) for seed in range(12)]
    right = [averaged(chosen, model) for model in models]
    monkeypatch.setattr(module, "_one_sampled", faulty(fault))
    differs = [a != pytest.approx(averaged(chosen, model), abs=1e-9) for a, model in zip(right, models, strict=True)]
    assert sum(differs) >= 3


# Walks


def batch_of_trees(seed: int, head: int, size: int) -> tuple[Config, Trees, Tensor]:
    """Trees of `size` requests with their own laws, budgets that pad some of them, and the target's laws."""
    config = Config(slots=3, head=head, depth=3, beam=2, nodes=9, sparse=4)
    generator = torch.Generator().manual_seed(seed)
    draft, target = (
        (torch.randn(size, count, 5, generator=generator, dtype=torch.float64) * 1.5).softmax(-1) for count in (31, 156)
    )
    request = torch.arange(size)[:, None]

    def model(layer: Layer) -> Tensor:
        return draft[request, rows(layer.paths, 5)]

    tape = Tape.fill(config, size, generator)
    trees = draft_trees(model, config, tape, None, torch.arange(size) % 3 * 4 + 1)
    return config, trees, target[request, rows(trees.paths, 5)]


def again(trees: Trees, request: int, count: int) -> Trees:
    """One tree of a batch, many times."""
    which = torch.full((count,), request)
    tensors = {name: value[which] for name, value in vars(trees).items() if isinstance(value, Tensor)}
    tail = replace(trees.tail, **{name: value[which] for name, value in vars(trees.tail).items()})
    return replace(trees, **tensors, tail=tail)


def ends(trees: Trees, reached: Tensor, request: int) -> dict[int, Fraction]:
    """The law of the last accepted node of one tree, the root being 0."""
    law = {i: Fraction(float(reached[request, i])) for i in range(trees.tokens.shape[1]) if trees.there[request, i]}
    inner = dict(law)
    for i in inner:
        if i:
            law[int(trees.parents[request, i])] -= inner[i]
    least = min(law.values())
    assert least > -1e-12
    positive = {i: max(mass, Fraction(0)) for i, mass in law.items()}
    whole = sum(positive.values())
    return {i: mass / whole for i, mass in positive.items()}


def walks(config: Config, trees: Trees, p: Tensor, request: int) -> Callable[[int, int], Any]:
    """A sampler of the last accepted node: `verify` on fresh tapes."""

    def sampler(seed: int, count: int) -> Any:
        tape = Tape.fill(config, count, torch.Generator().manual_seed(seed % (1 << 62)))
        laws = p[request : request + 1].expand(count, -1, -1)
        out = verify(again(trees, request, count), laws, config, tape, None)
        return out.keep.gather(1, out.accepted[:, None])[:, 0].numpy()

    return sampler


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("head", [0, 1, 3])
def test_walks_end_at_each_node_as_often_as_the_closed_form_says(rule: str, head: int) -> None:
    config, trees, p = batch_of_trees(head, head, 3)
    reached = reach(trees, p, rule)
    for request in range(3):
        law = ends(trees, reached, request)
        sampler = walks(replace(config, verify=rule), trees, p, request)
        assert_law_equal(sampler, law, eps=0.05, name=f"{rule} {head} {request}", seeded=True)


def test_a_test_of_a_sampled_child_that_was_pruned_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """On average it is not: a head is reached with probability p either way. So it takes a given tree."""
    config, trees, p = batch_of_trees(1, 1, 3)
    assert trees.there[0].sum() == 2
    monkeypatch.setattr(module, "_one_sampled", faulty("pruned sampled"))
    law = ends(trees, reach(trees, p, "rheo"), 0)
    with pytest.raises(LawMismatch):
        assert_law_equal(walks(config, trees, p, 0), law, eps=0.05, name="pruned", seeded=True)


def test_walks_of_another_rule_end_elsewhere() -> None:
    config, trees, p = batch_of_trees(1, 1, 3)
    law = ends(trees, reach(trees, p, "rrsw"), 2)
    with pytest.raises(LawMismatch):
        assert_law_equal(walks(config, trees, p, 2), law, eps=0.05, name="rheo for rrsw", seeded=True)


# Shapes and values


def test_the_root_is_reached_and_padding_never() -> None:
    _, trees, p = batch_of_trees(4, 1, 6)
    for rule in RULES:
        reached = reach(trees, p, rule)
        assert torch.equal(reached[:, 0], torch.ones(6, dtype=reached.dtype))
        assert bool((reached[~trees.there] == 0).all())
        by_level = levels(trees, reached)
        assert by_level.sum(1).tolist() == pytest.approx((reached.sum(1) - 1).tolist())


@pytest.mark.parametrize("rule", RULES)
def test_nodes_may_share_rows_of_laws(rule: str) -> None:
    """One pool of laws for all trees, in any order, is the same as a law for each node."""
    _, trees, p = batch_of_trees(5, 1, 6)
    batch, size, vocab = p.shape
    order = torch.randperm(batch * size, generator=torch.Generator().manual_seed(0))
    pool = p.reshape(-1, vocab)[order][None]
    place = order.argsort().view(batch, size)
    assert torch.equal(reach(trees, pool, rule, place), reach(trees, p, rule))
    assert not torch.equal(reach(trees, pool, rule, place.flip(1)), reach(trees, p, rule))


@pytest.mark.parametrize("rule", RULES)
def test_tokens_that_are_never_drafted_need_no_column(rule: str) -> None:
    """p restricted to the draft's vocabulary, as it is: its rows then have mass below 1."""
    _, trees, p = batch_of_trees(6, 1, 6)
    longer = torch.cat([0.75 * p, torch.full((*p.shape[:2], 1), 0.25, dtype=p.dtype)], -1)
    assert torch.equal(reach(trees, longer[..., :-1], rule), reach(trees, longer, rule))


def test_a_row_that_is_no_law_is_left_by_no_walk() -> None:
    _, trees, p = batch_of_trees(7, 1, 6)
    broken = p.clone()
    broken[:, 0] = torch.nan
    for rule in RULES:
        reached = reach(trees, broken, rule)
        assert reached.sum(1).tolist() == [1.0] * 6


def test_what_is_refused() -> None:
    _, trees, p = batch_of_trees(8, 1, 2)
    with pytest.raises(ValueError, match="rule is 'ot', expected one of rheo, rrsw, match, flow"):
        reach(trees, p, "ot")
    with pytest.raises(ValueError, match=r"target laws of shape \(2, 3, 5\), expected \(2, 10, V\)"):
        reach(trees, p[:, :3], "rheo")
    with pytest.raises(ValueError, match=r"laws \(2, 10, 5\) and rows \(2, 3\)"):
        reach(trees, p, "rheo", torch.zeros(2, 3, dtype=torch.int64))


def test_one_node_by_hand() -> None:
    """p = (1/2, 1/4, 1/8, 1/8), q = (1/2, 1/8, 1/4, 1/8), m = 1: t = (0, 1/4, 1/2, 1/4), and X = 2.

    rheo: a = 1/4; (p - t)+ = (1/2, 0, 0, 0), so the head is reached otherwise. rrsw: head 1/2; then r = (0, 1/2, 1/4,
    1/4), a = 1/2, (r - t)+ = (0, 1/4, 0, 0).
    """
    config = Config(slots=3, head=1, depth=1, nodes=3, sparse=None)
    q = torch.tensor([[[0.5, 0.125, 0.25, 0.125]]], dtype=torch.float64)
    p = torch.tensor([[[0.5, 0.25, 0.125, 0.125]]], dtype=torch.float64)
    tape = Tape(*(torch.full(s, 0.25, dtype=torch.float64) for s in ((1, 1, 3), (1, 1, 2), (1, 2))))
    trees = draft_trees(lambda layer: q, config, tape, None)
    assert sorted(trees.tokens[0].tolist()) == [-1, 0, 1, 2]
    where = [trees.tokens[0].tolist().index(token) for token in range(3)]
    laws = p.expand(1, 4, 4)
    assert reach(trees, laws, "rheo")[0, where].tolist() == [0.75, 0.0, 0.25]
    assert reach(trees, laws, "rrsw")[0, where].tolist() == [0.5, 0.25, 0.25]
    assert reach(trees, laws, "match")[0, where].tolist() == [0.5, 0.25, 0.125]
