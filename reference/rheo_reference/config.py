"""The parameters of a decoder, checked when they are written down.

Names in capitals are those of the specification: K slots, m head, D depth, B beam, N nodes, S sparse.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

PROXIES = ("paper", "tail")
RULES = ("rheo", "rrsw", "match", "flow")
DTYPES = ("float64", "float32")


@dataclass(frozen=True)
class Processing:
    """What is done to the logits of one model, in this order (laws.py has the details).

    temperature: 0 puts all mass on the largest logit, ties to the lowest token id.
    top_k:       keep the k most likely tokens; None keeps all.
    top_p:       keep the fewest most likely tokens whose mass reaches top_p; 1 keeps all.
    min_p:       keep the tokens that are at least min_p times as likely as the most likely one; 0 keeps all.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float = 1.0
    min_p: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < float("inf"):
            raise ValueError(f"temperature is {self.temperature}, expected a number of at least 0")
        if self.top_k is not None:
            _at_least("top_k", self.top_k, 1)
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p is {self.top_p}, expected more than 0 and at most 1")
        if not 0 <= self.min_p <= 1:
            raise ValueError(f"min_p is {self.min_p}, expected a number from 0 to 1")


@dataclass(frozen=True)
class Config:
    """One way to decode. The defaults: RheoSampling with one head slot, in sizes close to EAGLE's.

    slots, head:              K, and how many of the K are head slots (m); m = K is the top-K tree of EAGLE-2/3.
    depth, beam, nodes:       D layers, B nodes expanded in each (None: B = K), N draft nodes kept.
    sparse:                   draft laws are cut to their S best tokens and renormalised; None keeps all.
    proxy, proxy_scale:       "paper", or "tail" with its scale a.
    fill_scale:               g, multiplies the factors of fills.
    verify:                   "rheo", "rrsw", "match" or "flow". At temperature 0 all of them decode greedily.
    target, draft:            what is done to the logits of either model. None: the model answers with laws, which are
                              checked and used as they are.
    dtype:                    precision of softmax and filters. All arithmetic after them is float64.
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
    target: Processing | None = field(default_factory=Processing)
    draft: Processing | None = field(default_factory=Processing)
    dtype: str = "float64"

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
        for name, known in (("proxy", PROXIES), ("verify", RULES), ("dtype", DTYPES)):
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
