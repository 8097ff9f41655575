"""pytest plugin: audits as tests, and the error budget of the statistical assertions of a run.

`rheo_audit` is a fixture: `rheo_audit(my_verify, adapter="chain")` passes if the function is lossless, and fails with
its smallest counterexample if it is not.

Every `assert_law_equal` spends its false-alarm rate. At the end of the run the sum is printed with the root seed of the
random numbers, summed over workers, and a run that spent more than the limit fails, whatever its tests said. Neither
NumPy nor SciPy is loaded for this, and the auditor only by tests that use it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from rheo_proof.stats import ledger
from rheo_proof.stats.seeds import VARIABLE, root_seed

if TYPE_CHECKING:
    from rheo_proof.audit.verdict import Verdict

KEY = "rheo_proof_budget"


def pytest_configure(config: pytest.Config) -> None:
    """Keep the totals of the workers with the session's configuration; refuse an unusable root seed at once."""
    config.stash[WORKERS] = ledger.Ledger()
    try:
        root_seed()
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None


WORKERS: pytest.StashKey[ledger.Ledger] = pytest.StashKey()


def pytest_runtest_setup() -> None:
    """Number the assertions of each test from 0, so that its random numbers do not depend on the tests before it."""
    ledger.current().new_test()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """A worker has ended: add what it spent."""
    node.config.stash[WORKERS].add_plain(getattr(node, "workeroutput", {}).get(KEY, {}))


def spent(config: pytest.Config) -> ledger.Ledger:
    """What this process and its workers spent."""
    total = ledger.Ledger()
    total.add_plain(ledger.current().to_plain())
    total.add_plain(config.stash[WORKERS].to_plain())
    return total


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """On a worker: report what was spent. On the controller: fail a run that spent more than the limit."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output[KEY] = ledger.current().to_plain()
    elif spent(session.config).exceeded and session.exitstatus in (
        pytest.ExitCode.OK,
        pytest.ExitCode.NO_TESTS_COLLECTED,
    ):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the budget and the root seed of a run that had statistical assertions."""
    total = spent(config)
    if total.spent:
        terminalreporter.write_line(f"{total.line()}; root seed {root_seed()} ({VARIABLE})")
    if total.exceeded:
        terminalreporter.write_line("ERROR: the statistical assertions of this run exceed their error budget", red=True)


def expected_of(expect: Any) -> tuple[str, set[str] | None]:
    """The kind that is expected, if any, and the findings, if they are named. Raises `InputError`."""
    from rheo_proof.audit.contract import TOPICS
    from rheo_proof.audit.verdict import STATUS
    from rheo_proof.exact.errors import InputError

    if not isinstance(expect, tuple):
        kind, topics = expect, None
    else:
        kind, topics = (expect[0] if expect else ""), set(expect[1:])
    if not isinstance(kind, str) or (kind not in STATUS and (kind or topics is not None)):
        raise InputError(f"expect is {expect!r}; there are {', '.join(STATUS)}")
    for topic in topics or ():
        if topic not in TOPICS:
            raise InputError(f"expect is {expect!r}, and there is no finding {topic!r}; there are {', '.join(TOPICS)}")
    return kind, topics


@pytest.fixture
def rheo_audit() -> Callable[..., Verdict]:
    """Audit a verifier; fail unless the verdict is the expected one.

    Takes what `rheo_proof.audit.audit` takes. Without `expect`, `lossless` is expected, or `lossless but slower than
    the ratio rule`, and in mode `sampled`, which proves nothing, `not refuted`; with it, exactly this kind, and with a
    tuple, such as `("contract broken", "the input is changed")`, exactly this kind and these findings. Returns the
    verdict.
    """

    def check(
        function: Callable[..., Any],
        adapter: Any = "chain",
        *,
        expect: str | tuple[str, ...] = "",
        **options: Any,
    ) -> Verdict:
        __tracebackhide__ = True
        from rheo_proof.audit import audit
        from rheo_proof.exact.errors import InputError
        from rheo_proof.report.audit import as_text

        verdict, unusable = None, ""
        try:
            kind, topics = expected_of(expect)
            verdict = audit(function, adapter, **options)
        except InputError as error:
            unusable = str(error)
        if verdict is None:
            pytest.fail(f"rheo_audit: {unusable}", pytrace=False)
        found = {finding.topic for finding in verdict.findings if not finding.remark}
        if (verdict.kind != kind if kind else not verdict.passes) or (topics is not None and found != topics):
            words = f"{kind}: {', '.join(sorted(topics)) or 'nothing found'}" if topics is not None else kind
            expected = f"Expected: {words}.\n" if kind else ""
            pytest.fail(f"{expected}{as_text(verdict)}", pytrace=False)
        return verdict

    return check
