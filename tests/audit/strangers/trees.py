"""Correct verifiers of siblings and trees, and two that are not."""

import random

import torch

# Siblings drawn from q; the target's row, and its rows after each sibling


def with_replacement(candidates, q, p, rows):
    """Recursive rejection, the siblings drawn independently from q."""
    rest = p
    for i, x in enumerate(candidates.tolist()):
        if torch.rand(()) * q[x] < rest[x]:
            return [x, torch.multinomial(rows[i], 1).item()]
        rest = (rest - q).clamp(min=0)
        rest = rest / rest.sum()
    return [torch.multinomial(rest, 1).item()]


def without_replacement(candidates, q, p, rows):
    """Siblings drawn without replacement: q loses each one and is normalised again."""
    rest, draft = p.clone(), q.clone()
    for i in range(len(candidates)):
        x = candidates[i]
        if random.random() < (rest[x] / draft[x]).item():
            return [int(x), int(rows[i].multinomial(1))]
        rest = torch.relu(rest - draft)
        rest.div_(rest.sum())
        draft[x] = 0.0
        total = draft.sum()
        if total == 0:
            break
        draft.div_(total)
    return [int(rest.multinomial(1))]


def with_replacement_on_distinct(candidates, q, p, rows):
    """The rule for independent siblings, applied to siblings drawn without replacement."""
    return with_replacement(candidates, q, p, rows)


# A tree of fixed candidates, one coin for each node: its children share it, in order (first child, next sibling)


def tree_one_coin(tokens, next_child, next_sibling, target_probs, coins, coin_for_final):
    """Node 0 is the root. The coin of a node is compared with the running sum over its children."""
    node, path = 0, []
    while True:
        row, coin, mass = target_probs[node], coins[node], 0.0
        child = next_child[node]
        tried = []
        while child != -1:
            x = int(tokens[child])
            mass = mass + row[x]
            if coin < mass:
                break
            tried.append(x)
            child = next_sibling[child]
        if child == -1:
            row = row.clone()
            row[tried] = 0
            break
        path.append(int(tokens[child]))
        node = int(child)
    cdf = torch.cumsum(row, 0)
    last = int(torch.searchsorted(cdf, coin_for_final * cdf[-1], right=True).clamp(max=len(cdf) - 1))
    return [*path, last]


def tree_one_coin_and_its_leftover(tokens, next_child, next_sibling, target_probs, coins, coin_for_final):
    """Also exact: above the running sum the coin is uniform, so what is left of it draws the last token."""
    node, path = 0, []
    while True:
        row, coin, mass = target_probs[node].clone(), coins[node], 0.0
        child = next_child[node]
        while child != -1:
            x = int(tokens[child])
            if coin < mass + row[x]:
                break
            mass = mass + row[x]
            row[x] = 0
            child = next_sibling[child]
        if child == -1:
            break
        path.append(int(tokens[child]))
        node = int(child)
    above = mass + torch.cumsum(row, 0)
    return [*path, int((above <= coin).sum().clamp(max=int(row.nonzero()[-1])))]


def tree_coin_without_running_sum(tokens, next_child, next_sibling, target_probs, coins, coin_for_final):
    """One coin for all children of a node, each compared with its own probability alone."""
    node, path = 0, []
    while True:
        row, coin = target_probs[node].clone(), coins[node]
        child = next_child[node]
        while child != -1:
            x = int(tokens[child])
            if coin < row[x]:
                break
            row[x] = 0
            child = next_sibling[child]
        if child == -1:
            break
        path.append(int(tokens[child]))
        node = int(child)
    cdf = torch.cumsum(row, 0)
    last = int(torch.searchsorted(cdf, coin_for_final * cdf[-1], right=True).clamp(max=len(cdf) - 1))
    return [*path, last]


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
            row = row / row.sum()
        if not hit:
            return torch.tensor(best), length - 1, row
    return torch.tensor(best), length - 1, torch.softmax(logits[best, length - 1], dim=0)
