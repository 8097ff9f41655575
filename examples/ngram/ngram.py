"""A character model with a short memory: the law of the next character given the last few."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Prefix = tuple[int, ...]


class NGram:
    """An n-gram model with Witten-Bell interpolation.

    With n(h, x) occurrences of x after the context h, n(h) of any token, d(h) different tokens, and h' the context h
    without its first token:

        p(x | h) = (n(h, x) + d(h) p(x | h')) / (n(h) + d(h))

    Below the empty context stands the uniform law, so no token has probability 0. A context that was never seen has
    n = d = 0 and leaves the word to the shorter one.
    """

    def __init__(self, tokens: Prefix, vocab: int, order: int) -> None:
        """Count: `order` is n, the model looks at up to n - 1 tokens."""
        self.vocab, self.order = vocab, order
        self._counts: dict[Prefix, Floats] = {}
        self._laws: dict[Prefix, Floats] = {}
        for end, x in enumerate(tokens):
            for length in range(min(order, end + 1)):
                self._counts.setdefault(tokens[end - length : end], np.zeros(vocab))[x] += 1

    def law(self, prefix: Prefix) -> Floats:
        """The law of the next token."""
        context = prefix[max(0, len(prefix) - self.order + 1) :]
        while context and context not in self._counts:
            context = context[1:]
        if context not in self._laws:
            counts = self._counts[context]
            shorter = self.law(context[1:]) if context else np.full(self.vocab, 1 / self.vocab)
            different = np.count_nonzero(counts)
            self._laws[context] = (counts + different * shorter) / (counts.sum() + different)
        return self._laws[context]

    def __call__(self, prefixes: Sequence[Prefix]) -> Floats:
        """One row of logits for each prefix, which is how the decoder asks its models."""
        return np.log([self.law(prefix) for prefix in prefixes])

    def bits(self, tokens: Prefix) -> float:
        """Mean number of bits that a token of a text costs, given those before it."""
        contexts = (tokens[max(0, end - self.order + 1) : end] for end in range(len(tokens)))
        return float(-np.log2([self.law(context)[x] for context, x in zip(contexts, tokens, strict=True)]).mean())
