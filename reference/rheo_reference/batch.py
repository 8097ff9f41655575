"""Batched simulation: many independent steps on one toy model at once, each with the outcome of `decode.decode_step`.

The same tapes give the same strings. A toy model has few prefixes, so everything that a law alone decides is worked out
once for each of them, by the functions of the decoder itself; what is left for a step is to look up, multiply, rank and
compare. Arrays have the steps along their last axis, and a loop runs over layers, slots or tokens, never over steps.

    batch.py         models as tables, strings as an array, and the simulation from top to bottom
    batch_tables.py  what the laws at a prefix decide
    batch_tree.py    drafting and pruning
    batch_verify.py  RheoVerification, RRSw, Match
    batch_flow.py    FlowVerification
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .batch_flow import Flow
from .batch_tables import Tables
from .batch_tree import draft_trees
from .batch_verify import Match, Rheo, Rrsw, walk
from .config import Config, Processing
from .laws import Floats, Ints, Laws, Model, Prefix
from .tape import Tapes

RULES: dict[str, type[Match]] = {"rheo": Rheo, "rrsw": Rrsw, "match": Match, "flow": Flow}

CHUNK = 8192
"""Steps that are simulated together: enough to hide the cost of a call to NumPy, few enough to stay in the cache."""


@dataclass(frozen=True, eq=False)
class Models:
    """A toy model: row i of a table is the answer after the i-th prefix, shorter prefixes first, then by tokens.

    So the children of row i are the rows i V + 1, ..., i V + V. The target needs all prefixes up to the depth of the
    decoder, the draft all shorter ones; rows beyond are not looked at.
    """

    target: NDArray[Any]
    draft: NDArray[Any]

    @classmethod
    def of(cls, target: Model, draft: Model, vocab: int, depth: int, prefix: Prefix = ()) -> Models:
        """What two models answer below a prefix."""
        shorter, longer = (prefixes(vocab, length, prefix) for length in (depth - 1, depth))
        return cls(np.asarray(target(longer)), np.asarray(draft(shorter)))


@dataclass(frozen=True, eq=False)
class Strings:
    """What a batch of steps emitted: tokens[i, : lengths[i]], the rest of a row being -1."""

    tokens: Ints
    lengths: Ints

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: int) -> Prefix:
        return tuple(map(int, self.tokens[index, : self.lengths[index]]))

    def __iter__(self) -> Iterator[Prefix]:
        return map(self.__getitem__, range(len(self)))


def simulate(models: Models, config: Config, tapes: Tapes) -> Strings:
    """The string of `decode_step(.., config, tapes[i])` for each i.

    All laws are checked before the first step, also those that no step asks for.
    """
    tables = read(models, config)
    rule = RULES[config.verify](tables)
    strings = Strings(np.full((len(tapes), config.depth + 1), -1), np.zeros(len(tapes), dtype=np.int64))
    if len(tapes):
        tapes[0].fits(config)
    for begin in range(0, len(tapes), CHUNK):
        chunk = slice(begin, begin + CHUNK)
        trees = draft_trees(tables, config, tapes.draft_u[chunk])
        rule.begin(trees, tapes.coin_u[chunk], tapes.token_u[chunk])
        walk(rule, strings.tokens[chunk], strings.lengths[chunk])
    return strings


def read(models: Models, config: Config) -> Tables:
    """The processed laws of all prefixes, and all that they decide."""
    target, draft = np.asarray(models.target), np.asarray(models.draft)
    if target.ndim != 2 or draft.ndim != 2 or not target.shape[1] or target.shape[1] != draft.shape[1]:
        raise ValueError(f"tables of shapes {target.shape} and {draft.shape}, expected rows of one length")
    return Tables(
        laws(target, config.depth, config.target, config.dtype, "target"),
        laws(draft, config.depth - 1, config.draft, config.dtype, "draft"),
        config,
    )


def laws(table: NDArray[Any], longest: int, how: Processing | None, dtype: str, name: str) -> list[Floats]:
    """The processed laws after all prefixes up to a length."""
    needed = prefixes(table.shape[1], longest)
    if len(table) < len(needed):
        raise ValueError(f"the {name} table has {len(table)} rows, expected {len(needed)}: prefixes up to {longest}")
    return list(Laws(lambda _: table[: len(needed)], needed, how, dtype, name))


def prefixes(vocab: int, longest: int, below: Prefix = ()) -> list[Prefix]:
    """All of them up to a length, in the order of the tables."""
    return [below + tokens for length in range(longest + 1) for tokens in product(range(vocab), repeat=length)]
