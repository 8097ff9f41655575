"""Correct verifiers of siblings and trees, and two that are not."""

import random

import torch

# Siblings drawn from q. candidates [N], q [V], p [N + 1, V]: the target's row, and its row after each candidate


def with_replacement(candidates, q, p):
    """Recursive rejection, the siblings drawn independently from q."""
    rest = p[0]
    for i, x in enumerate(candidates.tolist()):
        if torch.rand(()) * q[x] < rest[x]:
            return [x, torch.multinomial(p[i + 1], 1).item()]
        rest = (rest - q).clamp(min=0)
        rest = rest / rest.sum()
    return [torch.multinomial(rest, 1).item()]


def without_replacement(candidates, q, p):
    """Siblings drawn without replacement: q loses each one and is normalised again."""
    rest, draft = p[0].clone(), q.clone()
    for i in range(len(candidates)):
        x = candidates[i]
        if random.random() < (rest[x] / draft[x]).item():
            return [int(x), int(p[i + 1].multinomial(1))]
        rest = torch.relu(rest - draft)
        rest.div_(rest.sum())
        draft[x] = 0.0
        total = draft.sum()
        if total == 0:
            break
        draft.div_(total)
    return [int(rest.multinomial(1))]


def with_replacement_on_distinct(candidates, q, p):
    """The rule for independent siblings, applied to siblings drawn without replacement."""
    return with_replacement(candidates, q, p)


# A tree of fixed candidates, with one coin for each node that its children share: tokens [N], parents [N] (-1: the
# root), target rows [N + 1, V] and coins [N + 1], those of the root first


def walk(tokens, parents, target_probs, coins, choose):
    """From the root down; `choose(row, coin, tokens)` is the place of the child that is taken, or None."""
    node, path = -1, []
    while True:
        children = (parents == node).nonzero().flatten().tolist()
        row = target_probs[node + 1].clone()
        taken = choose(row, coins[node + 1], [int(tokens[child]) for child in children])
        if taken is None:
            return path, node, row, children
        node = children[taken]
        path.append(int(tokens[node]))


def last_token(row, coin):
    cdf = torch.cumsum(row, 0)
    if not cdf[-1] > 0:
        raise ValueError("nothing to draw from")
    return int(torch.searchsorted(cdf, coin * cdf[-1], right=True).clamp(max=len(cdf) - 1))


def tree_one_coin(tokens, parents, target_probs, coins, coin_for_final):
    """The coin of a node is compared with the running sum over its children."""

    def choose(row, coin, candidates):
        mass = 0.0
        for place, x in enumerate(candidates):
            mass = mass + row[x]
            if coin < mass:
                return place
        row[candidates] = 0.0
        return None

    path, _, row, _ = walk(tokens, parents, target_probs, coins, choose)
    return [*path, last_token(row, coin_for_final)]


def tree_one_coin_and_its_leftover(tokens, parents, target_probs, coins):
    """Also exact: above the running sum the coin is uniform, so what is left of it draws the last token."""
    spent = []

    def choose(row, coin, candidates):
        mass = row.new_zeros(())
        for place, x in enumerate(candidates):
            if coin < mass + row[x]:
                return place
            mass = mass + row[x]
            row[x] = 0
        spent.append(mass)
        return None

    path, node, row, _ = walk(tokens, parents, target_probs, coins, choose)
    above = spent[-1] + torch.cumsum(row, 0)
    return [*path, int((above <= coins[node + 1]).sum().clamp(max=int(row.nonzero()[-1])))]


def tree_coin_without_running_sum(tokens, parents, target_probs, coins, coin_for_final):
    """One coin for all children of a node, each compared with its own probability alone."""

    def choose(row, coin, candidates):
        for place, x in enumerate(candidates):
            if coin < row[x]:
                return place
            row[x] = 0
        return None

    path, _, row, _ = walk(tokens, parents, target_probs, coins, choose)
    return [*path, last_token(row, coin_for_final)]


# EAGLE-like: candidate paths from a tree of top tokens, one-hot rule at each level


def evaluate_paths(logits, candidates):
    """logits [P, D + 1, V] of every path, candidates [P, D + 1], column 0 accepted already, -1 behind a path's end.

    Returns (best path, accepted length, law of the next token).
    """
    length, accepted, best = 1, candidates[0][:1], 0
    for i in range(1, candidates.shape[1]):
        same = (candidates[:, :length] == accepted).all(dim=1)
        row = torch.softmax(logits[torch.nonzero(same, as_tuple=True)[0][0], i - 1], dim=0)
        seen = set()
        hit = False
        for j in range(candidates.shape[0]):
            if not same[j]:
                continue
            xi = candidates[j, i].item()
            if xi in seen or xi == -1:
                continue
            seen.add(xi)
            r = random.random()
            if r < row[xi]:
                accepted = torch.cat((accepted, candidates[j, i][None]), dim=0)
                length += 1
                best, hit = j, True
                break
            row[xi] = 0
            if row.sum() == 0:
                raise ValueError("nothing to draw from")
            row = row / row.sum()
        if not hit:
            return torch.tensor(best), length - 1, row
    return torch.tensor(best), length - 1, torch.softmax(logits[best, length - 1], dim=0)
