"""Laws: from the logits of a model to the processed laws that "lossless" refers to.

The order is that of transformers: temperature, top-k, top-p, min-p, and each filter renormalises before the next one
looks. vLLM agrees on temperature, top-k, top-p and puts min-p before top-k; the two orders differ only if min-p and
top-p are both in use. Ties are decided by token id in every filter: top-k keeps exactly k tokens (transformers and
vLLM keep all that tie with the k-th), and which of two equally likely tokens top-p keeps does not depend on a sort.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .config import Processing

Prefix: TypeAlias = tuple[int, ...]
Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Model: TypeAlias = Callable[[Sequence[Prefix]], ArrayLike]
"""A batch of n prefixes -> n rows of V logits, or of V probabilities where the configuration says so."""


def best(law: NDArray[np.floating[Any]], k: int) -> Ints:
    """The first k tokens of the order (-probability, token id), without tokens of probability 0.

    A partition finds the k-th largest value; only the tokens at or above it are sorted. All that tie with it take
    part, in the order of their ids, so the cut is exact.
    """
    if k < len(law):
        least = np.partition(law, len(law) - k)[len(law) - k]
        tokens = np.flatnonzero((law >= least) & (law > 0))
    else:
        tokens = np.flatnonzero(law)
    return tokens[np.argsort(-law[tokens], kind="stable")[:k]]


def process(logits: ArrayLike, how: Processing, dtype: str = "float64") -> Floats:
    """The law of the next token: softmax at a temperature, then top-k, top-p, min-p.

    Raises `ValueError` for NaN, for an infinite logit, and when every token is banned (all logits -inf).
    """
    row = _row(logits, dtype)
    top = row.max()
    if not np.isfinite(top):
        raise ValueError("a logit is NaN" if np.isnan(top) else "a logit is +inf" if top > 0 else "all logits are -inf")
    if how.temperature == 0:
        law = np.zeros(len(row))
        law[row.argmax()] = 1.0
        return law
    law = _softmax(row - top, how.temperature)
    if how.top_k is not None and how.top_k < len(law):
        law = _only(law, best(law, how.top_k))
    if how.top_p < 1:
        order = best(law, len(law))
        mass_of_better = np.concatenate(([0.0], np.cumsum(law[order])[:-1]))
        law = _only(law, order[mass_of_better < how.top_p])
    if how.min_p > 0:
        law = _only(law, np.flatnonzero(law >= how.min_p * law.max()))
    return law.astype(np.float64, copy=False)


def check(law: ArrayLike) -> Floats:
    """The law itself. Raises `ValueError` for NaN, entries outside [0, 1], and a sum that is not 1 up to rounding."""
    given = np.asarray(law)
    precision = given.dtype if given.dtype == np.float32 else np.float64
    row = _row(given, "float64")
    if not row.any():
        raise ValueError("all probabilities are 0")
    # NaN, where there is one, is what argmin finds.
    for token in (row.argmin(), row.argmax()):
        if not 0 <= row[token] <= 1:
            raise ValueError(f"token {token} has probability {row[token]}")
    if abs(row.sum() - 1) > np.sqrt(np.finfo(precision).eps):
        raise ValueError(f"the probabilities sum to {row.sum()}, not to 1")
    return row


class Laws:
    """The laws of a batch of prefixes. A row is processed when it is first asked for.

    Rules that walk down the tree look at a handful of its nodes: this is what spares them the other softmaxes.
    """

    def __init__(self, model: Model, prefixes: Sequence[Prefix], how: Processing | None, dtype: str, name: str) -> None:
        self.rows = np.asarray(model(prefixes))
        if self.rows.ndim != 2 or len(self.rows) != len(prefixes):
            raise ValueError(
                f"the {name} model answered {len(prefixes)} prefixes with an array of shape {self.rows.shape}, "
                "expected one row for each"
            )
        self.prefixes, self.how, self.dtype, self.name = prefixes, how, dtype, name
        self._known: dict[int, Floats] = {}

    def __getitem__(self, index: int) -> Floats:
        if index not in self._known:
            self._known[index] = self._read(index)
        return self._known[index]

    def __iter__(self) -> Iterator[Floats]:
        """All of them, for those who look at each law once: none is kept."""
        return map(self._read, range(len(self.prefixes)))

    def _read(self, index: int) -> Floats:
        row = self.rows[index]
        try:
            return check(row) if self.how is None else process(row, self.how, self.dtype)
        except ValueError as error:
            raise ValueError(f"{self.name} model after prefix {self.prefixes[index]}: {error}") from None


def _row(values: ArrayLike, dtype: str) -> NDArray[Any]:
    row = np.asarray(values, dtype=dtype)
    if row.ndim != 1 or not len(row):
        raise ValueError(f"an array of shape {row.shape}, expected one number for each token")
    return row


def _softmax(shifted: NDArray[Any], temperature: float) -> NDArray[Any]:
    """Softmax of logits whose maximum is 0. The shift comes first: a tiny temperature then underflows to 0.

    A temperature that the precision cannot hold as a positive finite number is applied in float64.
    """
    with np.errstate(over="ignore"):
        if not 0 < shifted.dtype.type(temperature) < np.inf:
            shifted = shifted.astype(np.float64)
        shifted /= temperature
    np.exp(shifted, out=shifted)
    shifted /= shifted.sum()
    return shifted


def _only(law: NDArray[Any], tokens: Ints) -> NDArray[Any]:
    kept = np.zeros_like(law)
    kept[tokens] = law[tokens] / law[tokens].sum()
    return kept
