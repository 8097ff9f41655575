"""Roles: what an argument of an audited function is, and how its value is made for one run.

A role is written `kind` or `kind[axes]`, such as `target_probs[B,K,V]`. Axes: B requests, K draft tokens, K+1 positions
with the one after the last draft token, V the vocabulary, P root-to-leaf paths, D and D+1 positions on a path without
and with the root, S the prompt and the draft tokens; a number repeats. Without B, the request that is read is meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from rheo_proof.audit.errors import AuditError

Env: TypeAlias = Mapping[str, int]
"""The position on each axis."""

AXES: dict[str, tuple[str, ...]] = {
    "draft_tokens": ("K",),
    "draft_probs": ("K", "V"),
    "draft_logits": ("K", "V"),
    "target_probs": ("K+1", "V"),
    "target_logits": ("K+1", "V"),
    "bonus_probs": ("V",),
    "bonus_logits": ("V",),
    "bonus_token": (),
    "uniforms": ("K",),
    "exponentials": ("K", "V"),
    "parents": ("K",),
    "paths": ("P", "D"),
    "candidates": ("P", "D+1"),
    "path_probs": ("P", "D+1", "V"),
    "path_logits": ("P", "D+1", "V"),
    "input_ids": ("S",),
}
"""Roles that are arrays, with the axes they have unless told otherwise; B comes first where requests are batched."""

SCALARS = (
    "K",
    "vocab",
    "batch",
    "temperature",
    "done",
    "eos",
    "generator",
    "generators",
    "processor",
    "none",
    "prompt_length",
    "draft_model",
    "target_model",
)
"""Roles that are not arrays."""

SPELLINGS: dict[str, str] = {
    **{name: name for name in (*AXES, *SCALARS)},
    **dict.fromkeys(("draft_token_ids", "draft_ids", "drafts", "proposed_tokens", "x_draft", "draft"), "draft_tokens"),
    **dict.fromkeys(("q", "q_probs", "draft_prob", "draft_dist", "draft_distribution"), "draft_probs"),
    **dict.fromkeys(("p", "p_probs", "target_prob", "target_dist", "target_distribution"), "target_probs"),
    **dict.fromkeys(("bonus_token_ids", "bonus_token_id", "bonus"), "bonus_token"),
    **dict.fromkeys(("uniform_samples", "uniform_probs", "uniform_rand", "u", "coins", "rand"), "uniforms"),
    **dict.fromkeys(("parent", "parent_indices"), "parents"),
    **dict.fromkeys(("k", "gamma", "num_draft_tokens", "num_speculative_tokens", "candidate_length"), "K"),
    **dict.fromkeys(("rng", "gen"), "generator"),
    **dict.fromkeys(("prefix", "prompt", "inputs", "prompt_ids", "context"), "input_ids"),
    **dict.fromkeys(("approx_model", "small_model", "assistant_model"), "draft_model"),
    **dict.fromkeys(("large_model", "main_model"), "target_model"),
    **dict.fromkeys(("vocab_size", "V"), "vocab"),
    **dict.fromkeys(("batch_size", "B"), "batch"),
    **dict.fromkeys(("eos_token_id", "eos_id", "eos_token"), "eos"),
}
"""Usual names of parameters, and the roles they have unless told otherwise."""

_WRITTEN = re.compile(r"([A-Za-z_]+)(?:\[([^\]]*)\])?")
_AXIS = re.compile(r"B|K|K\+1|N|N\+1|V|P|D|D\+1|S|[0-9]+")


@dataclass(frozen=True)
class Role:
    """A kind of argument and its axes; None stands for the usual ones."""

    kind: str
    axes: tuple[str, ...] | None = None

    @classmethod
    def read(cls, text: str, parameter: str = "role") -> Role:
        """Read `kind` or `kind[axes]`; nodes N are draft tokens K. Raises `AuditError` that says what would be right.

        >>> Role.read("uniforms[B, N+1]")
        Role(kind='uniforms', axes=('B', 'K+1'))
        """
        match = _WRITTEN.fullmatch(text.strip())
        if match is None:
            raise AuditError(f"{parameter}: {text!r} is not a role; write one such as target_probs[B,K,V]")
        kind, inside = match.groups()
        if kind not in AXES and kind not in SCALARS:
            raise AuditError(f"{parameter}: no role {kind!r}; there are {', '.join((*AXES, *SCALARS))}")
        if inside is None:
            return cls(kind)
        if kind in SCALARS:
            raise AuditError(f"{parameter}: {kind} is a single value and has no axes")
        axes = tuple(axis.strip().replace("N", "K") for axis in inside.split(",") if axis.strip())
        for axis in axes:
            if not _AXIS.fullmatch(axis):
                raise AuditError(
                    f"{parameter}: no axis {axis!r}; there are B, K, K+1, N, N+1, V, P, D, D+1, S, numbers"
                )
        return cls(kind, axes)

    def with_axes(self, axes: Mapping[str, tuple[str, ...]], batched: bool) -> Role:
        """The same role with its axes filled in: those of an adapter, or the usual ones."""
        if self.axes is not None or self.kind in SCALARS:
            return self
        usual = axes.get(self.kind, AXES[self.kind])
        return Role(self.kind, ("B", *usual) if batched and "B" not in usual else usual)


def nested(axes: tuple[str, ...], sizes: Mapping[str, int], value: Callable[[Env], Any]) -> Any:
    """Nested lists over the axes, filled by position; an axis that is a number is gone through without a name.

    >>> nested(("K", "1"), {"K": 2}, lambda at: 10 * at["K"])
    [[0], [10]]
    """

    def level(depth: int, at: dict[str, int]) -> Any:
        if depth == len(axes):
            return value(at)
        axis = axes[depth]
        size = int(axis) if axis.isdigit() else sizes[axis]
        return [level(depth + 1, at if axis.isdigit() else {**at, axis: i}) for i in range(size)]

    return level(0, {})
