"""Ready-made adapters for chains, candidates of one position, and trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rheo_proof.audit.adapters.verify import Verify
from rheo_proof.audit.drafts import Drafting, siblings

TREE = (-1, -1, 0)
"""Two candidates, one below the first: every larger tree has so many drafts that the battery takes minutes."""

CANDIDATES = dict.fromkeys(("candidates", "candidate_ids", "candidate_tokens"), "draft_tokens")
"""Here a candidate is a draft token, not a path."""


def chain(**options: Any) -> Verify:
    """K draft tokens in a row: (tokens [K], q [K,V], p [K+1,V]) -> the emitted string; with `batched`, B first.

    >>> chain(batched=True).name, chain(arrays="list").returns
    ('chain', 'tokens')
    """
    return Verify(**{"name": "chain", "names": CANDIDATES, **options})


def one_level(count: int = 2, method: str = "iid", **options: Any) -> Verify:
    """Several candidates for one position: (candidates [K], q [V], p [V]) -> one token, by default."""
    usual = {
        "name": "siblings",
        "drafting": siblings(count, method),
        "axes": {"draft_probs": ("V",), "target_probs": ("V",), "draft_logits": ("V",), "target_logits": ("V",)},
        "returns": "token",
        "names": CANDIDATES,
    }
    return Verify(**{**usual, **options})


def tree(parents: Sequence[int] = TREE, method: str = "iid", **options: Any) -> Verify:
    """A tree: (tokens [K], parents [K], q [K,V], p [K+1,V]) -> the emitted string.

    Row 0 of p is that of the root, row i+1 that after node i; row i of q is that which node i was drawn from.
    """
    usual = {
        "name": "tree",
        "drafting": Drafting(tuple(parents), method),
        "names": CANDIDATES,
        "order": ("draft_tokens", "parents", "draft_probs", "target_probs"),
    }
    return Verify(**{**usual, **options})
