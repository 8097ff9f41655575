"""Small verifiers on plain lists, as somebody else would write them: right ones, and faults.

They draw with `random`-like functions that take their randomness from the run in progress, so that the tests of cases
and adapters need no interception.
"""

from __future__ import annotations

from rheo_proof.audit.exploring import current


def uniform():
    return current().uniform()


def sample(weights):
    return current().categorical(weights)


def residual(p, q):
    return [max(a - b, 0.0) for a, b in zip(p, q, strict=True)]


def chain(draft_tokens, draft_probs, target_probs):
    """Tokens, by the ratio rule."""
    out = []
    for x, q, p in zip(draft_tokens, draft_probs, target_probs, strict=False):
        if uniform() * q[x] < p[x]:
            out.append(x)
        else:
            return [*out, sample(residual(p, q))]
    return [*out, sample(target_probs[len(out)])]


def chain_from_target(draft_tokens, draft_probs, target_probs):
    """R23: after a rejection the whole target is drawn from."""
    out = []
    for x, q, p in zip(draft_tokens, draft_probs, target_probs, strict=False):
        if uniform() * q[x] < p[x]:
            out.append(x)
        else:
            return [*out, sample(p)]
    return [*out, sample(target_probs[len(out)])]


def accept_all(draft_tokens, draft_probs, target_probs):
    """R17 a, R19: every draft token is accepted."""
    return [*draft_tokens, sample(target_probs[len(draft_tokens)])]


def inverted(draft_tokens, draft_probs, target_probs):
    """R18: the ratio upside down."""
    out = []
    for x, q, p in zip(draft_tokens, draft_probs, target_probs, strict=False):
        if uniform() * p[x] < q[x]:
            out.append(x)
        else:
            return [*out, sample(residual(p, q))]
    return [*out, sample(target_probs[len(out)])]


def certain_rule(draft_tokens, draft_probs, target_probs):
    """R43: the rule for certain drafts, whatever the draft was drawn from; right, and slower."""
    out = []
    for x, p in zip(draft_tokens, target_probs, strict=False):
        if uniform() < p[x]:
            out.append(x)
        else:
            return [*out, sample([0.0 if y == x else m for y, m in enumerate(p)])]
    return [*out, sample(target_probs[len(out)])]


def one_uniform(draft_tokens, draft_probs, target_probs):
    """R30: one uniform for all positions."""
    u = uniform()
    out = []
    for x, q, p in zip(draft_tokens, draft_probs, target_probs, strict=False):
        if u * q[x] < p[x]:
            out.append(x)
        else:
            return [*out, sample(residual(p, q))]
    return [*out, sample(target_probs[len(out)])]


def block_with_token_residual(draft_tokens, draft_probs, target_probs):
    """R20 a: acceptance of block verification, residual of the ratio rule."""
    weight, passed, weights = 1.0, 0, [1.0]
    for x, q, p in zip(draft_tokens, draft_probs, target_probs, strict=False):
        weight = min(1.0, weight * p[x] / q[x])
        weights.append(weight)
    for i in range(1, len(draft_tokens) + 1):
        if i == len(draft_tokens):
            bound = weights[i]
        else:
            left = sum(residual([weights[i] * a for a in target_probs[i]], draft_probs[i]))
            bound = left / (left + 1 - weights[i]) if left + 1 - weights[i] else 0.0
        if uniform() < bound:
            passed = i
    out = list(draft_tokens[:passed])
    if passed == len(draft_tokens):
        return [*out, sample(target_probs[passed])]
    return [*out, sample(residual(target_probs[passed], draft_probs[passed]))]


def batch(verify):
    """Each request by itself."""
    return lambda draft_tokens, draft_probs, target_probs: [
        verify(*rows) for rows in zip(draft_tokens, draft_probs, target_probs, strict=True)
    ]


def exchanged(draft_tokens, draft_probs, target_probs):
    """R33: the target rows of another request."""
    return batch(chain)(draft_tokens, draft_probs, target_probs[1:] + target_probs[:1])


def recursive(candidates, q, p):
    """Candidates of one position, drawn independently: recursive rejection."""
    for x in candidates:
        if uniform() * q[x] < p[x]:
            return x
        p = residual(p, q)
        total = sum(p)
        p = [a / total for a in p]
    return sample(p)


def recursive_stale(candidates, q, p):
    """The same, with the target where the residual belongs."""
    for x in candidates:
        if uniform() * q[x] < p[x]:
            return x
    return sample(residual(p, q))


def sticks(candidates, q, p):
    """A fixed list of candidates: accepted with what is left of the target, by stick-breaking."""
    left = list(p)
    for x in candidates:
        if uniform() * sum(left) < left[x]:
            return x
        left[x] = 0.0
    return sample(left)


def tree(tokens, parents, q, p):
    """Recursive rejection, level by level; rows of q are those of the nodes, p[0] is the root's, p[i + 1] node i's."""
    return walked(tokens, parents, q, p, lambda left, target: left)


def tree_without_residual(tokens, parents, q, p):
    """The same, with the node's target in the end, whatever was rejected."""
    return walked(tokens, parents, q, p, lambda left, target: target)


def walked(tokens, parents, q, p, last):
    """Down the tree; the last token is drawn from `last` of what is left and of the node's target."""
    out, node = [], -1
    while True:
        left = p[node + 1]
        for child in [i for i, parent in enumerate(parents) if parent == node]:
            x = tokens[child]
            if uniform() * q[child][x] < left[x]:
                out.append(x)
                node = child
                break
            left = residual(left, q[child])
            total = sum(left)
            left = [a / total for a in left]
        else:
            return [*out, sample(last(left, p[node + 1]))]
