"""`python -m rheo_proof.stats.calibration`: how large the tests really are, by exact enumeration of the multinomial.

For a law p and n draws every possible outcome is listed with its probability, and the outcomes that each test rejects
are added up. Nothing is sampled and nothing is approximated, so the numbers are the same on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import exp, fsum, inf, log

import numpy as np
import numpy.typing as npt

from rheo_proof.stats.cells import Counts, Target, read_law
from rheo_proof.stats.goodness import approximate, g_test, tv_test
from rheo_proof.stats.multinomial import outcomes, probabilities

CASES: tuple[tuple[tuple[str, ...], int], ...] = (
    (("9/10", "1/20", "1/20"), 100),
    (("9/10", "1/20", "1/20"), 200),
    (("1/2", "9/20", "1/20"), 100),
    (("1/3", "1/3", "1/3"), 100),
)
"""Laws and numbers of draws; the least likely cell expects the textbook's 5 draws or more in each."""

ALPHAS = (1e-2, 1e-4, 1e-6, 1e-9)

TESTS = ("Pearson", "G, chi-square tail", "G, Agrawal (F2)", "TV, McDiarmid (F1)")
"""Two approximate p-values, two bounds."""

BOUNDS = TESTS[2:]

DEEPEST = 600
"""p-values below exp(-600) are left out: the probabilities of such outcomes are not floats any more."""


def log_p_values(counts: Counts, target: Target) -> tuple[float, ...]:
    """The logarithms of the p-values of `TESTS` at one outcome."""
    rough = approximate(counts, target)
    tails = (log(p) if p > 0 else -inf for p in (rough.pearson_p_value, rough.g_p_value))
    return (*tails, g_test(counts, target).log_p, tv_test(counts, target).log_p)


@lru_cache(maxsize=8)
def exact_p_values(law: tuple[str, ...], n: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """All outcomes of n draws: probabilities, shape (outcomes,), and log p-values of `TESTS`, shape (outcomes, 4)."""
    target = read_law(law)
    everything = outcomes(n, target.size)
    values = np.array([log_p_values(Counts(tuple(map(int, row))), target) for row in everything])
    return probabilities(everything, target.p), values


def sizes(law: Sequence[str], n: int, alphas: Sequence[float] = ALPHAS) -> dict[str, list[float]]:
    """For each test, its true false-alarm rate at each alpha divided by alpha; above 1 the test is not what it says.

    >>> found = sizes(["9/10", "1/20", "1/20"], 20, [1e-2])
    >>> found["Pearson"][0] > 1 > found["G, Agrawal (F2)"][0]
    True
    """
    masses, values = exact_p_values(tuple(law), n)
    return {
        name: [fsum(masses[column <= log(alpha)]) / alpha for alpha in alphas]
        for name, column in zip(TESTS, values.T, strict=True)
    }


def worst_ratios(law: Sequence[str], n: int) -> dict[str, float]:
    """For each test, the largest P(p-value <= t) / t over all attainable t < 1 down to exp(-`DEEPEST`).

    A p-value that is one has a ratio of at most 1.

    >>> worst_ratios(["1/2", "1/2"], 20)["G, Agrawal (F2)"] < 1
    True
    """
    masses, values = exact_p_values(tuple(law), n)
    found = {}
    for name, column in zip(TESTS, values.T, strict=True):
        order = np.argsort(column, kind="stable")
        ordered, reached = np.maximum(column[order], -DEEPEST), np.cumsum(masses[order])
        last = np.append(ordered[1:] > ordered[:-1], True)  # of outcomes with the same p-value, the one that counts all
        pairs = zip(reached[last], ordered[last], strict=True)
        found[name] = max([float(mass) / exp(value) for mass, value in pairs if -DEEPEST < value < 0], default=0.0)
    return found


def shown(ratio: float) -> str:
    """A ratio with two significant digits, `0` for one below a thousandth.

    >>> shown(776.9), shown(0.376), shown(1e-7)
    ('777', '0.38', '0')
    """
    return "0" if ratio < 1e-3 else f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"


def report() -> Iterator[str]:
    """The page's table, a line each."""
    yield "true false-alarm rate / nominal alpha, exact"
    yield ""
    head = "".join(f"{alpha:>10g}" for alpha in ALPHAS)
    for law, n in CASES:
        smallest = min(read_law(law).p) * n
        yield f"p = ({', '.join(law)}), n = {n}, smallest expected count {smallest:g}"
        yield f"  {'alpha':<20}{head}"
        for name, ratios in sizes(law, n).items():
            yield f"  {name:<20}" + "".join(f"{shown(ratio):>10}" for ratio in ratios)
        yield ""
    for bound in BOUNDS:
        worst = max(worst_ratios(law, n)[bound] for law, n in CASES)
        yield f"largest true p-value / bound, all attainable thresholds: {bound} {shown(worst)}"


def main() -> None:
    """Print the report."""
    print("\n".join(report()).rstrip())


if __name__ == "__main__":
    main()
