"""Correct verifiers in many idioms, each with the toy it is played on, and two trees that are wrong."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import torch

from tests.audit.brute import Law
from tests.audit.fault import pairs, row
from tests.audit.plays import MAKE, Dice, Play, Prefix, Toy, by_depth, chain, floats, siblings
from tests.audit.strangers import correct, trees

FIRST = (row("1/2", "3/8", "1/8"), row("1/8", "1/4", "5/8"))
SECOND = (row("1/4", "1/4", "1/2"), row("3/8", "1/2", "1/8"))
TWO = Toy(by_depth(FIRST[0], SECOND[0]), by_depth(FIRST[1], SECOND[1]), 2)


@dataclass(frozen=True)
class Right:
    """A verifier that emits the target's law; `law` is that of its first two tokens."""

    verifier: Callable[..., Any]
    play: Play
    toy: Toy = TWO

    @property
    def name(self) -> str:
        return self.verifier.__name__

    @property
    def law(self) -> Law:
        return pairs(list(self.toy.target(())), list(self.toy.target((0,))))

    def outcome(self, function: Callable[..., Any], dice: Dice) -> Hashable:
        return self.toy.completed(self.play(function, self.toy, dice), 2, dice)


def drawn_list(distinct: bool) -> Play:
    """Two candidates drawn from q, with or without replacement."""

    def play(function: Callable[..., Any], toy: Toy, dice: Dice) -> Prefix:
        q = list(toy.draft(()))
        first = dice(q)
        rest = [Fraction(0) if x == first else w / (1 - q[first]) for x, w in enumerate(q)]
        return siblings(function, toy, (first, dice(rest if distinct else q)))

    return play


# Two children of the root (tokens 2 and 0), a child of the first (token 1).
TOKENS, PARENTS = (2, 0, 1), (-1, -1, 0)
PATHS = ((), (2,), (0,), (2, 1))


def small_tree(function: Callable[..., Any], toy: Toy, dice: Dice) -> Prefix:
    """function(tokens, parents, target rows of root and nodes, a coin for each[, a last coin])."""
    rows = MAKE["torch"](floats([toy.target(path) for path in PATHS]))
    coins = torch.rand(len(PATHS) + 1, dtype=torch.float64)
    last = [coins[-1]] if "coin_for_final" in inspect.signature(function).parameters else []
    return tuple(function(torch.tensor(TOKENS), torch.tensor(PARENTS), rows, coins[:-1], *last))


def small_tree_paths(function: Callable[..., Any], toy: Toy, dice: Dice) -> Prefix:
    """function(logits [P, D + 1, V], candidates [P, D + 1]) -> best path, accepted length, law of the next token."""
    candidates = torch.tensor([[0, 2, 1], [0, 0, -1]])
    nodes = ((0, 1, 3), (0, 2, 2))
    rows = MAKE["torch"](floats([toy.target(path) for path in PATHS])).log()
    best, length, last = function(torch.stack([rows[list(path)] for path in nodes]), candidates)
    weights = [Fraction(float(w)) for w in last]
    accepted = candidates[best][1 : 1 + int(length)].tolist()
    return (*accepted, dice([w / sum(weights) for w in weights]))


CORRECT: tuple[Right, ...] = (
    Right(correct.vectorised, chain(padded=True)),
    Right(correct.loops, chain()),
    Right(correct.numpy_chain, chain("numpy")),
    Right(correct.pure_python, chain("list")),
    Right(correct.exponential_race, chain(padded=True)),
    Right(correct.gumbel_argmax, chain()),
    Right(correct.inverse_cdf, chain()),
    Right(correct.block_verification, chain()),
    Right(correct.length_and_law, chain("numpy")),
    Right(correct.reject_folded_in, chain()),
    Right(correct.flipped, chain()),
    Right(correct.uniforms_in_slices, chain()),
    Right(trees.with_replacement, drawn_list(distinct=False)),
    Right(trees.without_replacement, drawn_list(distinct=True)),
    Right(trees.tree_one_coin, small_tree),
    Right(trees.tree_one_coin_and_its_leftover, small_tree),
    Right(trees.evaluate_paths, small_tree_paths),
)

WRONG: tuple[Right, ...] = (
    Right(trees.with_replacement_on_distinct, drawn_list(distinct=True)),
    Right(trees.tree_coin_without_running_sum, small_tree),
)
