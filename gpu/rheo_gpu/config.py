"""The parameters of a decoder: sizes that are fixed for a batch, and what may differ from request to request.

Names in capitals are those of the specification: K slots, m head, D depth, B beam, N nodes, S sparse. R is the number
of requests in a batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from torch import Tensor

PROXIES = ("paper", "tail")
RULES = ("rheo", "rrsw", "match", "flow")

PerRequest: TypeAlias = "Tensor | float"
"""One number for the whole batch, or a tensor of R numbers on the device of the logits."""


@dataclass(frozen=True, eq=False)
class Processing:
    """What is done to the logits of one model, in this order: temperature, top-k, top-p, min-p.

    temperature: 0 puts all mass on the largest logit, ties to the lowest token id. Requests with and without may share
                 a batch.
    top_k:       keep the k most likely tokens. A request that wants none of it has k = V.
    top_p:       keep the fewest most likely tokens whose mass reaches top_p; 1 keeps all.
    min_p:       keep the tokens that are at least min_p times as likely as the most likely one; 0 keeps all.

    Each filter renormalises before the next one looks; ties are decided by token id. None leaves a filter out of the
    computation: top-k and top-p cost a sort of the rows. Numbers in tensors are not checked, which would wait for the
    device; plain numbers are, and raise `ValueError`.
    """

    temperature: PerRequest = 1.0
    top_k: Tensor | int | None = None
    top_p: PerRequest | None = None
    min_p: PerRequest | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.temperature, Tensor) and not 0 <= self.temperature < float("inf"):
            raise ValueError(f"temperature is {self.temperature}, expected a number of at least 0")
        if self.top_k is not None and not isinstance(self.top_k, Tensor):
            _at_least("top_k", self.top_k, 1)
        if self.top_p is not None and not isinstance(self.top_p, Tensor) and not 0 < self.top_p <= 1:
            raise ValueError(f"top_p is {self.top_p}, expected more than 0 and at most 1")
        if self.min_p is not None and not isinstance(self.min_p, Tensor) and not 0 <= self.min_p <= 1:
            raise ValueError(f"min_p is {self.min_p}, expected a number from 0 to 1")

    @property
    def sorts(self) -> bool:
        """Whether a filter needs the tokens of a row in order."""
        return self.top_k is not None or self.top_p is not None


@dataclass(frozen=True)
class Config:
    """The sizes of one batch. The defaults: RheoSampling with one head slot, in sizes close to EAGLE's.

    slots, head:          K, and how many of the K are head slots (m); m = K is the top-K tree of EAGLE-2/3.
    depth, beam, nodes:   D layers, B nodes expanded in each (None: B = K), N draft nodes kept.
    sparse:               draft laws are cut to their S best tokens and renormalised; None keeps all.
    proxy, proxy_scale:   "paper", or "tail" with its scale a.
    fill_scale:           g, multiplies the factors of fills.
    verify:               "rheo", "rrsw", "match" or "flow".

    Raises `ValueError` for sizes that make no tree, and for RRSw with the tail proxy, which is not lossless.
    """

    slots: int = 10
    head: int = 1
    depth: int = 8
    beam: int | None = None
    nodes: int = 60
    sparse: int | None = 128
    proxy: str = "paper"
    proxy_scale: float = 1.0
    fill_scale: float = 1.0
    verify: str = "rheo"

    def __post_init__(self) -> None:
        for name in ("slots", "depth", "nodes"):
            _at_least(name, getattr(self, name), 1)
        for name in ("beam", "sparse"):
            if getattr(self, name) is not None:
                _at_least(name, getattr(self, name), 1)
        _at_least("head", self.head, 0)
        if self.head > self.slots:
            raise ValueError(f"head is {self.head}, expected at most slots = {self.slots}")
        for name in ("proxy_scale", "fill_scale"):
            if not 0 < getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name)}, expected more than 0 and at most 1")
        for name, known in (("proxy", PROXIES), ("verify", RULES)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} is {getattr(self, name)!r}, expected one of {', '.join(known)}")
        if self.verify == "rrsw" and self.proxy == "tail":
            raise ValueError(
                'verify = "rrsw" with proxy = "tail" is not lossless: the sampled slot may then rank above a head slot '
                "of its node, and whether that head is kept may depend on the sampled token, while RRSw tests heads "
                'first. Use proxy = "paper", or another rule.'
            )

    @property
    def width(self) -> int:
        """B, the number of nodes that are expanded in one layer."""
        return self.slots if self.beam is None else self.beam

    @property
    def widths(self) -> tuple[int, ...]:
        """How many nodes are expanded in each layer, at most: layer 0 is the root, layer 1 has K nodes."""
        widths, size = [1], self.slots
        for _ in range(1, self.depth):
            widths.append(min(self.width, size))
            size = widths[-1] * self.slots
        return tuple(widths)

    @property
    def kept(self) -> int:
        """How many draft nodes a tree can have: N, or all candidates where there are fewer."""
        return min(self.nodes, self.slots * sum(self.widths))

    @classmethod
    def from_eagle(cls, depth: int = 7, top_k: int = 10, total_tokens: int = 60, **others: Any) -> Config:
        """The same sizes from the names of the EAGLE code, whose depth leaves out the first layer.

        `total_tokens` counts the root. EAGLE's own tree and verification are `head=top_k, verify="match"`.
        """
        _at_least("total_tokens", total_tokens, 2)
        _at_least("depth", depth, 0)
        return cls(depth=depth + 1, slots=top_k, beam=top_k, nodes=total_tokens - 1, **others)


def _at_least(name: str, value: object, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} is {value!r}, expected a whole number of at least {least}")
