"""The token after a rejection, from the wrong row."""

import random

import numpy as np
import torch
from torch.distributions import Categorical


def resample_from_target(ids, q, p):
    """Simple, and not lossless: the target itself after a rejection."""
    for i, x in enumerate(ids.tolist()):
        if torch.rand(1).item() < (p[i, x] / q[i, x]).item():
            continue
        return [*ids[:i].tolist(), Categorical(probs=p[i]).sample().item()]
    return [*ids.tolist(), Categorical(probs=p[-1]).sample().item()]


def resample_from_residual(ids, q, p):
    for i, x in enumerate(ids.tolist()):
        if torch.rand(1).item() < (p[i, x] / q[i, x]).item():
            continue
        return [*ids[:i].tolist(), Categorical(probs=torch.relu(p[i] - q[i])).sample().item()]
    return [*ids.tolist(), Categorical(probs=p[-1]).sample().item()]


def residual_in_place(ids, q, p):
    """Looks like the target, but the row has been made the residual: fine, if the caller gives its rows away."""
    p = p.clone()
    for i in range(len(ids)):
        if torch.rand(()).double() >= p[i, ids[i]] / q[i, ids[i]]:
            p[i].sub_(q[i]).relu_()
            break
    else:
        i = len(ids)
    return ids[:i].tolist() + Categorical(probs=p[i]).sample((1,)).tolist()


# The same two rules on lists


def on_lists(draft, q, p, after_rejection):
    for i, x in enumerate(draft):
        if not random.random() * q[i][x] < p[i][x]:
            return [*draft[:i], *random.choices(range(len(p[i])), after_rejection(p[i], q[i]))]
    return [*draft, *random.choices(range(len(p[-1])), p[-1])]


def target_after_rejection(draft, q, p):
    return on_lists(draft, q, p, lambda p, q: p)


def residual_after_rejection(draft, q, p):
    return on_lists(draft, q, p, lambda p, q: [max(a - b, 0.0) for a, b in zip(p, q, strict=True)])


# NaN in the draft's row


def nan_falls_to_index_zero(ids, q, p):
    """Comparisons with NaN are false, the empty residual's argmax is 0."""
    out = []
    for i, x in enumerate(ids):
        if np.random.rand() < p[i][x] / q[i][x]:
            out.append(int(x))
            continue
        rest = np.where(p[i] > q[i], p[i] - q[i], 0.0)
        race = np.random.exponential(size=rest.shape)
        out.append(int(np.argmax(rest / race)))
        return np.array(out)
    return np.array([*out, int(np.argmax(p[-1] / np.random.exponential(size=p[-1].shape)))])


def race(weights):
    """One draw; refuses what is no row."""
    if not np.isfinite(weights).all() or not weights.any():
        raise ValueError("nothing to draw from")
    return int(np.argmax(weights / np.random.exponential(size=weights.shape)))


def nan_is_refused(ids, q, p):
    out = []
    for i, x in enumerate(ids):
        if np.random.rand() < p[i][x] / q[i][x]:
            out.append(int(x))
            continue
        return np.array([*out, race(np.maximum(p[i] - q[i], 0.0))])
    return np.array([*out, race(p[-1])])
