"""`assert_law_equal`: a sampler, or counts, against an exact law, with both error rates proved.

    assert_law_equal(sampler, law, eps=0.03)

promises: if the sampler has the law, this raises with probability at most `alpha` (1e-9); if its law is at total
variation distance `eps` or more, this returns with probability at most `beta` (1e-3). The number of draws follows from
that (`plan.py`). Three methods:

    sequential  the default for a sampler: a Dirichlet-grid e-process at alpha/2 that stops as soon as it is sure, and
                at the cap the fixed test at alpha/2, whose power is proved
    fixed       the default for counts, and for a sampler with slack: TV or G, whichever needs fewer draws
    two-stage   a test at alpha_1, and only if it rejects another one at alpha / alpha_1 on fresh draws; fails if both
                reject. Fewer draws than one test, and not "run again until green": the rerun is planned and stricter
"""

from __future__ import annotations

from math import inf, log
from typing import Any

from rheo_proof.exact.errors import InputError, SoundnessError
from rheo_proof.stats.cells import Counts, LawLike, read_counts, read_law
from rheo_proof.stats.check import Check
from rheo_proof.stats.eprocess import EProcess
from rheo_proof.stats.goodness import TestResult, g_test, tv_test
from rheo_proof.stats.plan import ALPHA, BETA, Plan, plan_draws
from rheo_proof.stats.sampling import Sampler, batch_sizes, draw
from rheo_proof.stats.verdict import Verdict

METHODS = ("sequential", "fixed", "two-stage")


def assert_law_equal(
    source: Any,
    law: LawLike,
    *,
    eps: Any,
    alpha: Any = ALPHA,
    beta: Any = BETA,
    slack: float = 0.0,
    method: str | None = None,
    name: str | None = None,
    seeded: bool = False,
) -> Verdict:
    """Raise `LawMismatch` if `source` does not have the law; see the module for what is promised.

    `source`: a sampler, called as `source(generator, n)` (with `seeded`, as `source(seed, n)`), see `sampling.py`; or
    counts, a mapping cell -> count or integers in the order of the law's cells. `law`: a mapping cell -> rational or a
    sequence of rationals; a draw elsewhere, or where the law is 0, fails with p-value 0. `slack`: a TV distance that is
    allowed, for engines in single precision (F1'). `name`: what the random numbers hang on; by default the test's id.

    Raises `InputError` for unusable input, and for counts with fewer draws than planned. Every call spends its alpha
    from the budget of the run (`ledger.py`).

    >>> from rheo_proof.stats.ledger import separate_ledger
    >>> with separate_ledger():
    ...     assert_law_equal(lambda rng, n: rng.integers(2, size=n), ["1/2", "1/2"], eps=0.1, name="a coin").draws
    2960
    """
    target = read_law(law)
    plan = plan_draws(target, eps, alpha, beta, slack)
    chosen = method or ("sequential" if callable(source) and not slack else "fixed")
    if chosen not in METHODS:
        raise InputError(f"method: {chosen!r} is not one of {', '.join(METHODS)}")
    if chosen == "sequential" and slack:
        raise InputError("method: an e-process has no slack; use 'fixed' or 'two-stage'")
    check = Check.begin(name, target, plan.alpha, described(plan), seeded)
    if not callable(source):
        if chosen != "fixed":
            raise InputError(f"method: {chosen!r} needs a sampler, not counts")
        return _of_counts(read_counts(source, target), check, plan)
    run = {"sequential": _sequential, "fixed": _fixed, "two-stage": _two_stage}[chosen]
    return run(source, check, plan)


def described(plan: Plan) -> str:
    """The promise of a plan in a few words."""
    slack = f", slack {plan.slack:g}" if plan.slack else ""
    return f"eps {plan.eps:g}, alpha {plan.alpha:g}, beta {plan.beta:g}{slack}"


def _test(counts: Counts, check: Check, plan: Plan, which: str) -> TestResult:
    return g_test(counts, check.target) if which == "G" else tv_test(counts, check.target, plan.slack)


def _of_counts(counts: Counts, check: Check, plan: Plan) -> Verdict:
    if counts.n < plan.draws:
        raise InputError(
            f"{check.name}: {counts.n:,} draws are fewer than the {plan.draws:,} planned for {plan.cells} cells with "
            f"{described(plan)} (plan_draws)"
        )
    check.spend()
    return _judged(counts, check, plan)


def _fixed(sampler: Sampler, check: Check, plan: Plan) -> Verdict:
    check.spend()
    return _judged(check.drawn(sampler, plan.draws, 0), check, plan)


def _judged(counts: Counts, check: Check, plan: Plan) -> Verdict:
    result = _test(counts, check, plan, plan.single.test)
    return check.verdict(f"fixed test, {result.name}", counts, plan.draws, result.log_p)


def _sequential(sampler: Sampler, check: Check, plan: Plan) -> Verdict:
    check.spend()
    process, source = EProcess(check.target), check.stream(0)
    looks = 0
    for size in batch_sizes(plan.cap, len(check.target.all_cells), growing=True):
        process.update(draw(sampler, source.next(), size, check.target))
        looks += 1
        if log(2) - process.log_max <= log(plan.alpha):
            break
    log_p = -process.log_max
    method = "sequential check, e-process"
    if process.draws == plan.cap:
        result = _test(process.total, check, plan, plan.capped.test)
        log_p = min(log_p, result.log_p)
        method += f" and at the cap {result.name}"
    # Either part rejects at alpha/2: twice the smaller p-value is a p-value.
    verdict = check.verdict(method, process.total, plan.cap, min(0.0, log(2) + log_p), looks)
    if process.draws != plan.cap:
        raise SoundnessError(
            f"{check.name}: passed after {process.draws:,} of {plan.cap:,} draws, without proved power"
        )
    return verdict


def _two_stage(sampler: Sampler, check: Check, plan: Plan) -> Verdict:
    check.spend()
    one, two = plan.stages
    first = check.drawn(sampler, one.draws, 0)
    result = _test(first, check, plan, one.test)
    if first.impossible or not result.rejects(plan.first):
        log_p = -inf if first.impossible else 0.0
        return check.verdict(f"two-stage check, stage 1, {result.name}", first, one.draws, log_p, stages=2)
    second = check.drawn(sampler, two.draws, 1)
    result = _test(second, check, plan, two.test)
    # p = alpha_1 p_2 where stage 1 rejects and 1 elsewhere is a p-value: P(p <= t) <= alpha_1 (t / alpha_1).
    log_p = min(0.0, log(plan.first) + result.log_p)
    return check.verdict(f"two-stage check, stage 2, {result.name}", second, two.draws, log_p, stages=2)
