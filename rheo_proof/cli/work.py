"""Deciding all models, on one core or several, in an order that does not depend on how many."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from rheo_proof.theorems.instances import Effort, Entry, Result, Source, prove


def decide(sources: Sequence[Source], entries: Sequence[Entry], effort: Effort, jobs: int) -> Iterator[list[Result]]:
    """The results of each model in turn. An interrupt ends the worker processes before it is passed on."""
    if jobs == 1 or len(sources) == 1:
        for source in sources:
            yield prove(source, entries, effort)
        return
    from joblib import Parallel, delayed
    from joblib.externals.loky import get_reusable_executor

    try:
        yield from Parallel(n_jobs=jobs, return_as="generator")(
            delayed(_in_worker)(source, entries, effort) for source in sources
        )
    except (KeyboardInterrupt, GeneratorExit):
        get_reusable_executor().shutdown(wait=False, kill_workers=True)
        raise


def _in_worker(source: Source, entries: Sequence[Entry], effort: Effort) -> list[Result]:
    sys.set_int_max_str_digits(0)
    return prove(source, entries, effort)
