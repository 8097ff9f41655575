"""Requests of one batch, and steps that follow one another, are independent: pairs of strings have the product law.

A decoder whose requests share uniforms emits the right law at each of them, so that no check of one string sees it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import rheo_gpu
import torch
from torch import Tensor

from rheo_proof.exact.model import Prefix
from rheo_proof.schemes.scheme import Parameters
from rheo_proof.stats.asserts import assert_law_equal
from rheo_proof.stats.ledger import separate_ledger
from rheo_proof.stats.verdict import LawMismatch
from tests.law.samplers import Logits, Tables, chunks, counted, step_law, torch_config, torch_strings

EPS = 0.03
RULES = ("rheo", "rrsw", "match", "flow")
LOGITS = Logits.random(3, 3, 1)
TABLES = Tables.of_logits(LOGITS, torch.float32)

Strings = Callable[[torch.Generator, int], Tensor]
"""(generator, n) -> the strings of n pairs, one below the other: [2 n, D + 1]."""


def parameters(rule: str) -> Parameters:
    return Parameters(slots=1, head=0, depth=1, nodes=1, verify=rule)


def adjacent(rule: str) -> Strings:
    """Requests 2 i and 2 i + 1 of one batch."""
    return lambda generator, n: torch_strings(TABLES, parameters(rule), generator, 2 * n)


def successive(rule: str) -> Strings:
    """The same request in two steps, whose tapes one generator fills one after the other."""

    def strings(generator: torch.Generator, n: int) -> Tensor:
        steps = [torch_strings(TABLES, parameters(rule), generator, n) for _ in range(2)]
        return torch.stack(steps, 1).flatten(0, 1)

    return strings


def sharing(rule: str) -> Strings:
    """The fault: two neighbours read the same uniforms."""

    def strings(generator: torch.Generator, n: int) -> Tensor:
        config = torch_config(parameters(rule))
        tape = rheo_gpu.Tape.fill(config, n, generator)
        twice = (u.repeat_interleave(2, 0) for u in (tape.draft_u, tape.coin_u, tape.token_u))
        return torch_strings(TABLES, parameters(rule), generator, 2 * n, tape=rheo_gpu.Tape(*twice))

    return strings


def pairs(strings: Strings) -> Callable[[int, int], Counter[Any]]:
    """A sampler whose draws are pairs of strings."""

    def sample(seed: int, draws: int) -> Counter[Any]:
        generator = torch.Generator().manual_seed(seed)
        found: Counter[Any] = Counter()
        for n in chunks(draws):
            side_by_side = strings(generator, n).reshape(n, -1)
            width = side_by_side.shape[1] // 2
            rows, counts = side_by_side.unique(dim=0, return_counts=True)
            for row, count in zip(rows.tolist(), counts.tolist(), strict=True):
                halves = (row[:width], row[width:])
                found[tuple(tuple(token for token in half if token >= 0) for half in halves)] += count
        return found

    return sample


def product_law(rule: str) -> dict[tuple[Prefix, Prefix], Any]:
    law = step_law(parameters(rule), LOGITS.exact())
    return {(a, b): law[a] * law[b] for a, b in product(law, law)}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("strings", [adjacent, successive])
def test_strings_are_independent(rule: str, strings: Callable[[str], Strings]) -> None:
    assert_law_equal(pairs(strings(rule)), product_law(rule), eps=EPS, seeded=True)


@pytest.mark.parametrize("rule", RULES)
def test_shared_uniforms_are_refuted_although_each_string_has_its_law(rule: str) -> None:
    def one(seed: int, draws: int) -> Counter[Any]:
        """Of each pair the second string."""
        generator = torch.Generator().manual_seed(seed)
        return counted(sharing(rule)(generator, n)[1::2] for n in chunks(draws))

    assert_law_equal(one, step_law(parameters(rule), LOGITS.exact()), eps=EPS, seeded=True)
    with separate_ledger(), pytest.raises(LawMismatch):
        assert_law_equal(pairs(sharing(rule)), product_law(rule), eps=EPS, seeded=True)
