"""The sharpest of the bounds on E[tau]: a linear program over all lossless verifications, certified by prices.

On a kept tree T a verification accepts the string x with some probability L_T(x). It is lossless only if, for every ux,

    E[L_T(ux)] <= p(x|u) E[L_T(u)],       and for every T:  sum over kept children c of u of L_T(c) <= L_T(u)

The largest E[sum of L_T(x)] under these constraints is the value of the program. Its dual is one price(x) >= 0 for
each string, and *any* prices prove a bound, so it does not matter where they come from: here, from a solver in floating
point, rounded to rationals. The bound they prove is then computed in rationals.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

from rheo_proof.exact.errors import InputError, SoundnessError
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ONE, ZERO, Q, to_fraction
from rheo_proof.theorems.bounds import Strings, Trees, presence

Prices: TypeAlias = dict[Prefix, Q]
"""A price of at least 0 for each string; strings left out cost nothing."""

DENOMINATORS = (100, 10_000, 10**6, 10**9)
"""Prices are rounded to fractions with denominators up to each of these; the best bound is kept."""


class Certificate(NamedTuple):
    """E[tau] <= `bound` for every lossless verification, which `priced_bound` proves from the `prices` alone."""

    bound: Fraction
    prices: Prices


def priced_bound(trees: Trees, model: ToyModel, prices: Mapping[Prefix, Q]) -> Fraction:
    """The bound that some prices prove, as an exact rational:

        E[tau] <= sum over tokens x of p(x) price(x) + E[largest total gain of a path in T]

    A path starts at the root and goes down through kept strings as far as it likes; passing x gains
    gain(x) = 1 - price(x) + sum over tokens y of p(y|x) price(xy). Proof: docs/transport.md.

    Raises `InputError` for a price that is negative or no rational.

    >>> from rheo_proof.exact.toys import toy
    >>> from rheo_proof.schemes.drafting.rheo import Rheo
    >>> from rheo_proof.theorems.bounds import kept_trees
    >>> trees = kept_trees(Rheo(slots=1, head=0, depth=1, beam=1, nodes=1), toy(1))
    >>> priced_bound(trees, toy(1), {}), priced_bound(trees, toy(1), {(2,): ONE})
    (Fraction(1, 1), Fraction(3, 5))
    """
    refund: dict[Prefix, Q] = {}
    for x, price in prices.items():
        if type(price) is not Q or price < ZERO or not x:
            raise InputError(f"the price {price!r} of {x} is not a rational of at least 0 for a string")
        refund[x[:-1]] = refund.get(x[:-1], ZERO) + model.target(x[:-1])[x[-1]] * price
    total = refund.get((), ZERO)
    for tree, mass in trees.items():
        total += mass * _best_path(tree, prices, refund)
    return to_fraction(total)


def _best_path(tree: Strings, prices: Mapping[Prefix, Q], refund: Mapping[Prefix, Q]) -> Q:
    best: dict[Prefix, Q] = {}
    for x in sorted(tree, key=len, reverse=True):
        gain = ONE - prices.get(x, ZERO) + refund.get(x, ZERO) + best.get(x, ZERO)
        best[x[:-1]] = max(best.get(x[:-1], ZERO), gain)
    return best.get((), ZERO)


def program_bound(trees: Trees, model: ToyModel) -> Certificate:
    """The value of the linear program, as far as rounded prices prove it: an exact upper bound with its certificate.

    scipy's HiGHS finds the prices in double precision; the bound is `priced_bound` of their best rounding, so an error
    of the solver makes it larger, never wrong. Raises `InputError` without scipy, `SoundnessError` if HiGHS fails.

    >>> from rheo_proof.exact.toys import toy
    >>> from rheo_proof.schemes.drafting.rheo import Rheo
    >>> from rheo_proof.theorems.bounds import kept_trees
    >>> certificate = program_bound(kept_trees(Rheo(slots=2, head=1, depth=2, beam=2, nodes=4), toy(2)), toy(2))
    >>> certificate.bound
    Fraction(23, 20)
    """
    found = _solve(trees, model)
    certificates = []
    for denominator in DENOMINATORS:
        rounded = {x: price.limit_denominator(denominator) for x, price in found.items()}
        prices: Prices = {x: Q(r.numerator, r.denominator) for x, r in rounded.items() if r > 0}
        certificates.append(Certificate(priced_bound(trees, model, prices), prices))
    return min(certificates, key=lambda certificate: certificate.bound)


class _Program(NamedTuple):
    """Maximise the sum of the variables under matrix * variables <= right. A variable is Pr[T] L_T(x).

    The first rows are one for each string: what the target allows. Then one for each T and each u with kept children.
    """

    matrix: dict[tuple[int, int], Any]
    right: list[Any]
    columns: int


def _program(trees: Trees, model: ToyModel, strings: list[Prefix]) -> _Program:
    row_of = {x: row for row, x in enumerate(strings)}
    below: dict[Prefix, list[Prefix]] = {}
    for x in strings:
        below.setdefault(x[:-1], []).append(x)
    matrix: dict[tuple[int, int], Any] = {}
    right: list[Any] = [model.target(())[x[-1]] if len(x) == 1 else 0 for x in strings]
    columns = 0
    for tree, mass in trees.items():
        inner = {u: row for row, u in enumerate(sorted({x[:-1] for x in tree}), len(right))}
        right += [0 if u else mass for u in inner]
        for column, x in enumerate(sorted(tree), columns):
            matrix[row_of[x], column] = 1
            matrix[inner[x[:-1]], column] = 1
            if x in inner:
                matrix[inner[x], column] = -1
            for child in below.get(x, ()):
                matrix[row_of[child], column] = -model.target(x)[child[-1]]
        columns += len(tree)
    return _Program(matrix, right, columns)


def _solve(trees: Trees, model: ToyModel) -> dict[Prefix, Fraction]:
    """The prices that HiGHS finds, floats as the rationals they are."""
    try:
        from scipy.optimize import linprog
        from scipy.sparse import coo_array
    except ImportError:
        raise InputError("needs scipy; pip install 'rheo-proof[transport]'") from None
    strings = list(presence(trees))
    if not strings:
        return {}
    entries, right, columns = _program(trees, model, strings)
    where = ([row for row, _ in entries], [column for _, column in entries])
    matrix = coo_array((_doubles(entries.values()), where), shape=(len(right), columns)).tocsr()
    solution = linprog([-1] * columns, A_ub=matrix, b_ub=_doubles(right), method="highs-ipm")
    if solution.status != 0:
        raise SoundnessError(f"HiGHS: {solution.message}")
    marginals = solution.ineqlin.marginals[: len(strings)]
    return {x: Fraction(*(-price).as_integer_ratio()) for x, price in zip(strings, marginals, strict=True)}


def _doubles(values: Any) -> Any:
    """Rationals in double precision."""
    import numpy

    return numpy.array([Fraction(int(x.numerator), int(x.denominator)) for x in values], dtype="float64")
