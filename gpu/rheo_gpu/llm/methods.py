"""The methods by name: sizes of the trees, verification rule, and what is done to the logits of either model."""

from __future__ import annotations

from typing import NamedTuple

from rheo_gpu import Config, Processing

from .errors import Unusable

AUTOREGRESSIVE = "autoregressive"

MOST = 1_000_000
"""Candidates of a tree, slots of all nodes that are expanded: more would take gigabytes for no use."""


class Method(NamedTuple):
    """What `generate` takes: sizes and rule, the processing of the target's logits and of the draft model's."""

    config: Config
    how: Processing
    how_draft: Processing


class Named(NamedTuple):
    """A row of the table.

    rule: the verification rule. head: m, where None stands for K. chain: one slot, so that a tree is a chain of D
    nodes. raw: the draft model's logits are taken as they are, as EAGLE does.
    """

    line: str
    rule: str
    head: int | None = 1
    chain: bool = False
    raw: bool = False


METHODS = {
    "rheo": Named("RheoSampling: m head slots, one sampled slot, fill; optimal transport at each node", "rheo"),
    "flow": Named("the same trees under FlowVerification", "flow"),
    "rrsw": Named("the same trees under recursive rejection without replacement", "rrsw"),
    "top-k": Named("EAGLE's tree of the K best tokens, one-hot verification", "match", None, raw=True),
    "chain": Named("one sampled token after another, rejection sampling", "rheo", 0, chain=True),
}


def method(
    name: str,
    *,
    temperature: float = 1.0,
    top_p: float | None = None,
    slots: int = 3,
    depth: int | None = None,
    nodes: int = 3,
    head: int | None = None,
    draft_temperature: float | None = None,
    sparse: int | None = 128,
) -> Method:
    """The method of a name in sizes K = `slots`, D = `depth` (1 if it is None, 2 for a chain), N = `nodes`, m = `head`.

    The sizes that are chosen if none are given are for a CPU, where each further layer takes a call of the draft model.
    The law of the draft model is at temperature 1 unless `draft_temperature` is given, that of a chain at the target's:
    a tree is wider than the target's favourites, a chain is not. Raises `Unusable` for a name that is not in the table
    and for sizes that make no tree.
    """
    named = METHODS.get(name)
    if named is None:
        raise Unusable(f"method {name!r}, expected one of {', '.join([*METHODS, AUTOREGRESSIVE])}")
    if head is not None and named.head != 1:
        raise Unusable(f"the method {name} has no head slots to choose: leave out head = {head}")
    depth = depth if depth is not None else 2 if named.chain else 1
    if named.chain:
        slots, nodes = 1, depth
    m = slots if named.head is None else named.head if head is None else head
    heat = draft_temperature if draft_temperature is not None else temperature if named.chain else 1.0
    try:
        config = Config(slots=slots, head=m, depth=depth, nodes=nodes, sparse=sparse, verify=named.rule)
        how, how_draft = Processing(temperature, top_p=top_p), Processing(heat, top_p=None if named.raw else top_p)
    except ValueError as error:
        raise Unusable(str(error)) from None
    if depth > MOST or slots * sum(config.widths) > MOST:
        raise Unusable(
            f"{slots} slots and a depth of {depth} make more than {MOST:,} candidates, expected a smaller tree"
        )
    return Method(config, how, how_draft)
