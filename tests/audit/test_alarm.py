"""A timeout stops a call that goes on without random numbers, names the line, and leaves the process as it was."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rheo_proof.audit import audit, sampled
from rheo_proof.audit.alarm import alarm
from rheo_proof.audit.verdict import LOSSLESS, UNDECIDED, Verdict
from tests.audit import plain


def endless(draft_tokens: Any, draft_probs: Any, target_probs: Any) -> Any:
    while True:
        pass  # never ends


def stubborn(draft_tokens: Any, draft_probs: Any, target_probs: Any) -> Any:
    try:
        while True:
            pass  # never ends
    except BaseException:
        return [0]


assert sampled  # imported before the clock runs: it takes long on a busy machine


class OnlyAsItIs:
    """Ends when it is audited, and not in an ordinary call."""

    __name__ = __qualname__ = "only_as_it_is"

    def __call__(self, draft_tokens: Any, draft_probs: Any, target_probs: Any) -> Any:
        return plain.right(draft_tokens, draft_probs, target_probs) if audited() else endless(1, 2, 3)


def audited() -> bool:
    from rheo_proof.audit.exploring import in_a_run

    return in_a_run()


@pytest.fixture(autouse=True)
def in_time() -> Iterator[None]:
    """Where nothing stops a call, this test fails in place of hanging."""

    def late(*_: Any) -> None:
        raise KeyboardInterrupt("the call was not stopped")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, 20)
    yield
    assert signal.getsignal(signal.SIGALRM) is late, "the handler is put back"
    left, _ = signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
    assert 0 < left < 20, "the timer is put back"


def asked(function: Callable[..., Any], **more: Any) -> Verdict:
    return audit(function, arrays="list", tables=["R26"], dtypes=["float64"], **{"calls": 0, "timeout": 2, **more})


@pytest.mark.parametrize("function", [endless, stubborn])
@pytest.mark.parametrize("mode", ["auto", "piecewise", "sampled"])
def test_a_call_that_never_ends_is_stopped_at_its_line(function: Callable[..., Any], mode: str) -> None:
    verdict = asked(function, mode=mode)
    assert (verdict.kind, verdict.status) == (UNDECIDED, 3)
    [undecided] = verdict.undecided
    code = function.__code__
    assert undecided.why in [
        f"out of time, in a call that had not ended, at {code.co_filename}:{code.co_firstlineno + line}"
        for line in range(1, 5)
    ]


def test_ordinary_calls_are_stopped_too() -> None:
    verdict = asked(OnlyAsItIs(), calls=3, timeout=1)
    assert verdict.kind == UNDECIDED
    assert "in an ordinary call: out of time" in verdict.undecided[0].why


def test_a_function_that_ends_is_judged_as_without_a_timeout() -> None:
    assert asked(plain.right, timeout=60).kind == LOSSLESS


def test_no_alarm_is_set_without_a_timeout_or_in_another_thread() -> None:
    before = signal.getsignal(signal.SIGALRM)

    def handlers(deadline: float | None) -> None:
        with alarm(deadline):
            assert signal.getsignal(signal.SIGALRM) is before

    handlers(None)
    thread = threading.Thread(target=handlers, args=(time.monotonic() + 5,))
    thread.start()
    thread.join()
    with alarm(time.monotonic() + 5):
        assert signal.getsignal(signal.SIGALRM) is not before


def test_nothing_is_raised_outside_of_a_call_and_an_earlier_timer_is_served() -> None:
    rung = []
    handler = signal.signal(signal.SIGALRM, lambda *_: rung.append(True))
    timer = signal.setitimer(signal.ITIMER_REAL, 0.05)
    with alarm(time.monotonic() + 0.1):
        end = time.monotonic() + 0.25
        while time.monotonic() < end:
            pass
    assert rung == [True]
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, *timer)
