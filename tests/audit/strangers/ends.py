"""End of sequence: what is emitted behind an accepted end, and an end that the draft rows cannot emit.

One-hot drafts [K] and the target's rows [K + 1, V], as lists; the id of the end of sequence.
"""

import numpy as np

rng = np.random.RandomState(0)


def categorical(row):
    return int(np.searchsorted(np.cumsum(row), rng.random_sample() * np.sum(row), side="right"))


def verify_fixed(draft, rows, stop):
    """Fixed drafts: accepted with p; the scan ends behind a token `stop`."""
    out = []
    for x, p in zip(draft, rows[:-1], strict=True):
        if rng.random_sample() >= p[x]:
            p = np.array(p, dtype=float)
            p[x] = 0
            return [*out, categorical(p)]
        out.append(x)
        if x == stop:
            return out
    return [*out, categorical(rows[-1])]


def stop_tested_on_the_last_token(draft, rows, eos):
    """The caller stops where the last token is the end."""
    return verify_fixed(draft, rows, stop=None)


def stop_tested_on_every_token(draft, rows, eos):
    return verify_fixed(draft, rows, stop=eos)


def masked(row, eos):
    row = list(row)
    row[eos] = 0
    total = sum(row)
    return [value / total for value in row]


def end_masked_on_draft_rows(draft, rows, eos):
    return verify_fixed(draft, [*(masked(row, eos) for row in rows[:-1]), rows[-1]], stop=eos)


def end_masked_on_no_row(draft, rows, eos):
    return verify_fixed(draft, rows, stop=eos)
