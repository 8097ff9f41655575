"""End of sequence: what is emitted behind an accepted end, and an end that the draft rows cannot emit.

The last id of the vocabulary is the end. One-hot drafts [K] and the target's rows [K + 1, V], as lists.
"""

import numpy as np

rng = np.random.RandomState(0)


def categorical(row):
    return int(np.searchsorted(np.cumsum(row), rng.random_sample() * np.sum(row), side="right"))


def verify_fixed(draft, rows, stop_inside):
    """Fixed drafts: accepted with p; `stop_inside` says whether the end of sequence stops the scan."""
    end = len(rows[0]) - 1
    out = []
    for x, p in zip(draft, rows[:-1], strict=True):
        if rng.random_sample() >= p[x]:
            p = np.array(p, dtype=float)
            p[x] = 0
            return [*out, categorical(p)]
        out.append(x)
        if stop_inside and x == end:
            return out
    return [*out, categorical(rows[-1])]


def stop_tested_on_the_last_token(draft, rows):
    """The caller stops where the last token is the end."""
    return verify_fixed(draft, rows, stop_inside=False)


def stop_tested_on_every_token(draft, rows):
    return verify_fixed(draft, rows, stop_inside=True)


def masked(row):
    row = list(row)
    row[-1] = 0
    total = sum(row)
    return [value / total for value in row]


def end_masked_on_draft_rows(draft, rows):
    return verify_fixed(draft, [*map(masked, rows[:-1]), rows[-1]], stop_inside=True)


def end_masked_on_no_row(draft, rows):
    return verify_fixed(draft, rows, stop_inside=True)
