"""Twins of the comparison by tape: a fault in any part of the torch decoder makes it differ from the NumPy decoder.

Some faults show only on a tape where a decision flips: a coin or a draw that takes the boundary itself. That they are
noticed says that the tapes hold such numbers, and that the comparison looks at them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from rheo_gpu import flow, laws, slots, tape, tree
from rheo_reference import Config
from torch import Tensor

from tests.torch_models import RULES, Group, assert_same, break_points, dyadic_models, mixed_tapes

verify: Any = importlib.import_module("rheo_gpu.verify")  # the package has a function of that name


def batch(rule: str) -> list[Group]:
    """Two models in one batch, a small tree and a deep one."""
    groups = []
    for seed, nodes in ((7, 5), (11, 100)):
        config = Config(slots=3, head=1, depth=3, beam=9, nodes=nodes, sparse=3, verify=rule, target=None, draft=None)
        models = dyadic_models(seed, 4, 3)
        groups.append(Group(models, config, mixed_tapes(seed, config, 600, break_points(models, 1))))
    return groups


def lower(u: Tensor) -> Tensor:
    """The floats just below, so that a decision at a boundary goes the other way."""
    return torch.nextafter(u, torch.full_like(u, -1.0))


inverse_cdf, coin, expand, ordered, best = tape.inverse_cdf, verify.coin, slots.expand, laws.ordered, laws.best


def reaching(weights: Tensor, u: Tensor) -> Tensor:
    return inverse_cdf(weights, lower(u))


def reaching_coin(at: Any, r: Tensor, mass: Tensor) -> tuple[Tensor, Tensor]:
    return coin(at._replace(coins=lower(at.coins)), r, mass)


def crossed_coins(at: Any, r: Tensor, mass: Tensor) -> tuple[Tensor, Tensor]:
    return coin(at._replace(coins=at.coins.flip(1)), r, mass)


def high_ids_first(logits: Tensor, how: Any, sparse: int | None) -> tuple[Tensor, Tensor]:
    tokens, q = ordered(logits.flip(-1), how, sparse)
    return logits.shape[-1] - 1 - tokens, q


def not_renormalised(logits: Tensor, how: Any, sparse: int | None) -> tuple[Tensor, Tensor]:
    q, tokens = best(laws.process(logits, how), logits.shape[-1] if sparse is None else sparse)
    return tokens, q


def small_proxy(tokens: Tensor, q: Tensor, u: Tensor, config: Any) -> Any:
    made, tail = expand(tokens, q, u, config)
    made.factors[..., config.head] *= 0.5
    return made, tail


def full_q(tokens: Tensor, q: Tensor, u: Tensor, config: Any) -> Any:
    made, tail = expand(tokens, q, u, config)
    return made, replace(tail, z=torch.ones_like(tail.z))


def younger_first(function: Callable[..., Any]) -> Callable[..., Any]:
    """While a function runs, sorts put equal values in the opposite order."""
    sort = Tensor.sort

    def opposite(values: Tensor, **how: Any) -> tuple[Tensor, Tensor]:
        best, order = sort(values.flip(-1), **how)
        return best, values.shape[-1] - 1 - order

    def wrong(*arguments: Any) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Tensor, "sort", opposite)
            return function(*arguments)

    return wrong


def smaller_budgets(*arguments: Any, pruned: Callable[..., Any] = tree._pruned) -> Any:
    config, made, u, budgets, *others = arguments
    return pruned(config, made, u, budgets - 1, *others)


def parent_as_owner(*arguments: Any, pruned: Callable[..., Any] = tree._pruned) -> Any:
    trees = pruned(*arguments)
    return replace(trees, owner=trees.owner.flip(1))


COINS = ("rheo", "rrsw")
FAULTS: dict[str, tuple[tuple[str, ...], Any, str, Any]] = {
    "draws reach the boundary": (RULES, verify, "inverse_cdf", reaching),
    "sampled slots reach the boundary": (RULES, slots, "inverse_cdf", reaching),
    "coins reach their ratio": (COINS, verify, "coin", reaching_coin),
    "coins are read crosswise": (COINS, verify, "coin", crossed_coins),
    "no residual": (COINS, verify, "residual", lambda at, r, mass: r),
    "heads stay in": (("rrsw",), verify, "put", lambda rows, *others: rows),
    "ties by the higher token id": (RULES, tree, "ordered", high_ids_first),
    "sparse laws not renormalised": (RULES, tree, "ordered", not_renormalised),
    "kept nodes: ties to the younger": (RULES, tree, "_pruned", younger_first(tree._pruned)),
    "beams: ties to the younger": (RULES, tree, "_beam", younger_first(tree._beam)),
    "a proxy too small": (RULES, tree, "expand", small_proxy),
    "q for t": (("rheo", "rrsw", "flow"), tree, "expand", full_q),
    "budgets off by one": (RULES, tree, "_pruned", smaller_budgets),
    "expanded nodes mixed up": (("flow",), tree, "_pruned", parent_as_owner),
    "sums too large": (("flow",), flow, "added", lambda values: tape.added(values) * 1.1),
    "layers added up from the top": (("flow",), flow, "reversed", tuple),
    "no subtree": (("flow",), flow.Masses, "_add_up", lambda self: setattr(self, "full", self.c)),
    "tails stay in": (("flow",), flow, "put", lambda rows, *others: rows),
}


@pytest.mark.parametrize("rule", RULES)
def test_the_right_decoder_agrees(rule: str) -> None:
    assert assert_same(batch(rule), each=20) == 1200


@pytest.mark.parametrize(("fault", "rule"), [(fault, rule) for fault, (rules, *_) in FAULTS.items() for rule in rules])
def test_a_fault_is_noticed(fault: str, rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, where, name, wrong = FAULTS[fault]
    monkeypatch.setattr(where, name, wrong, raising=name != "reversed")
    with pytest.raises(AssertionError, match=r"differ|expected"):
        assert_same(batch(rule), each=20)
