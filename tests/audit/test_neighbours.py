"""Faults that need another request of the call to be rejected show on tables where one is, for certain."""

from __future__ import annotations

import numpy as np
import pytest

from rheo_proof.audit import audit
from rheo_proof.audit.tables import table
from rheo_proof.audit.verdict import LOSSLESS

BESIDE = ("beside a rejection", "beside a late rejection")


def verify(draft_tokens, draft_probs, target_probs, accepted=lambda ok: ok):
    """The ratio rule for a batch, padded with -1; `accepted` is what the fault is put into."""
    batch, k = draft_tokens.shape
    rows, places = np.arange(batch)[:, None], np.arange(k)[None, :]
    p, q = target_probs[rows, places, draft_tokens], draft_probs[rows, places, draft_tokens]
    ok = accepted(np.array([[np.random.random() * q[b, i] < p[b, i] for i in range(k)] for b in range(batch)]))
    out = np.full((batch, k + 1), -1)
    for b in range(batch):
        n = int(np.cumprod(ok[b]).sum())
        row = target_probs[b, n] if n == k else np.maximum(target_probs[b, n] - draft_probs[b, n], 0)
        row = row if row.sum() > 0 else target_probs[b, n]
        out[b, :n] = draft_tokens[b, :n]
        out[b, n] = np.random.choice(len(row), p=row / row.sum())
    return out


def stops_where_a_neighbour_is_rejected(draft_tokens, draft_probs, target_probs):
    return verify(draft_tokens, draft_probs, target_probs, lambda ok: ok & ok.all(axis=0))


def stops_late_where_a_neighbour_is_rejected_late(draft_tokens, draft_probs, target_probs):
    return verify(
        draft_tokens, draft_probs, target_probs, lambda ok: np.stack([ok[:, 0], ok[:, 1] & ok[:, 1].all()], 1)
    )


def verdict_on(function, *tables):
    return audit(function, "chain", arrays="numpy", batched=True, returns="padded", tables=tables, dtypes=("float64",))


@pytest.mark.parametrize("name", BESIDE)
def test_a_neighbour_is_rejected_for_certain_and_the_right_rule_does_not_mind(name):
    assert table(name).length == 2
    assert verdict_on(verify, name).kind == LOSSLESS


@pytest.mark.parametrize(
    "function", [stops_where_a_neighbour_is_rejected, stops_late_where_a_neighbour_is_rejected_late]
)
def test_what_a_rejected_neighbour_breaks_is_seen(function):
    assert verdict_on(function, *BESIDE).kind != LOSSLESS
    assert verdict_on(function, "first of two").kind == LOSSLESS  # where neighbours are never rejected
