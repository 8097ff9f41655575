"""A toy model: exact target and draft laws of the next token, for every prefix that can matter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from rheo_proof.exact.errors import InputError
from rheo_proof.exact.law import Law

Prefix: TypeAlias = tuple[int, ...]
LawSource: TypeAlias = Callable[[Prefix], Law]


def key(prefix: Prefix) -> str:
    """A prefix as it is written in files and messages: tokens joined by commas, the root empty.

    >>> key((0, 2)), key(())
    ('0,2', '')
    """
    return ",".join(map(str, prefix))


class ToyModel:
    """Target laws p(.|u) for prefixes of length 0..depth and draft laws q(.|u) for 0..depth-1.

    `target` and `draft` are asked once for each prefix and must be functions of the prefix alone, so a model over
    a large vocabulary need not be written out. Raises `InputError` for a law of the wrong length.
    """

    def __init__(self, vocab: int, depth: int, target: LawSource, draft: LawSource, name: str = "model") -> None:
        if vocab < 1:
            raise InputError(f"{name}: vocab is {vocab}, expected at least 1")
        if depth < 1:
            raise InputError(f"{name}: depth is {depth}, expected at least 1")
        self.vocab = vocab
        self.depth = depth
        self.name = name
        self._sources = (target, draft)
        self._laws: tuple[dict[Prefix, Law], dict[Prefix, Law]] = ({}, {})

    def target(self, prefix: Prefix) -> Law:
        """p(.|prefix)."""
        return self._laws[0].get(prefix) or self._ask(0, prefix)

    def draft(self, prefix: Prefix) -> Law:
        """q(.|prefix)."""
        return self._laws[1].get(prefix) or self._ask(1, prefix)

    def _ask(self, side: int, prefix: Prefix) -> Law:
        law = self._sources[side](prefix)
        where = f"{self.name}: {('target', 'draft')[side]} {key(prefix)!r}"
        if not isinstance(law, Law):
            raise InputError(f"{where}: {law!r} is not a Law; make one with Law.read")
        if len(law) != self.vocab:
            raise InputError(f"{where}: {len(law)} entries, expected {self.vocab}")
        self._laws[side][prefix] = law
        return law

    def reachable(self, depth: int | None = None) -> Iterator[Prefix]:
        """Prefixes of length 0..depth that target or draft can produce, shorter ones first.

        These are the prefixes at which a target law is needed; below length `depth` a draft law is needed too.
        """
        depth = self.depth if depth is None else depth
        layer: list[Prefix] = [()]
        for length in range(depth + 1):
            yield from layer
            if length < depth:
                layer = [(*u, x) for u in layer for x in range(self.vocab) if self.target(u)[x] or self.draft(u)[x]]

    def __repr__(self) -> str:
        return f"ToyModel({self.name}, vocab={self.vocab}, depth={self.depth})"


def tabled(
    vocab: int, depth: int, target: dict[Prefix, Law], draft: dict[Prefix, Law], name: str = "model", order: int = 0
) -> ToyModel:
    """A model from two tables of laws; with `order` 1 the tables are keyed by the last token only.

    Raises `InputError` that names the prefix whose law is missing.
    """

    def source(what: str, table: dict[Prefix, Law]) -> LawSource:
        def look_up(prefix: Prefix) -> Law:
            short = prefix[-order:] if order else prefix
            if short not in table:
                raise InputError(f"{name}: the {what} law of prefix {key(short)!r} is missing")
            return table[short]

        return look_up

    return ToyModel(vocab, depth, source("target", target), source("draft", draft), name)
