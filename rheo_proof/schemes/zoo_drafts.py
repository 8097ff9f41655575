"""How the published schemes draft, from the parameters that users type, and what their faults have in common.

`slots` stands for the number of children of a node or of paths, `depth` for the number of layers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rheo_proof.schemes.drafting.chain import Chain
from rheo_proof.schemes.drafting.greedy import Greedy
from rheo_proof.schemes.drafting.iid import Iid
from rheo_proof.schemes.drafting.iid_paths import IidPaths
from rheo_proof.schemes.drafting.without_replacement import WithoutReplacement
from rheo_proof.schemes.scheme import Drafting, Named, Parameters, Scheme
from rheo_proof.schemes.verifying.walk import Verifying


def chain(p: Parameters) -> Chain:
    """One token a layer."""
    return Chain(p.depth)


def iid(p: Parameters) -> Iid:
    """Independent children."""
    return Iid(p.slots, p.depth)


def without(p: Parameters) -> WithoutReplacement:
    """Children drawn without replacement."""
    return WithoutReplacement(p.slots, p.depth)


def greedy(p: Parameters) -> Greedy:
    """The best tokens and a sampled one."""
    return Greedy(p.slots, p.depth)


def paths(p: Parameters) -> IidPaths:
    """Independent paths from the root."""
    return IidPaths(p.slots, p.depth)


def same(p: Parameters) -> Parameters:
    """The parameters as they were given."""
    return p


def control(name: str, breaks: str, drafts: Callable[[Parameters], Drafting], rule: Callable[[], Verifying]) -> Named:
    """A negative control: a fault of a published scheme, with the condition it breaks."""
    return Named(name, breaks, lambda p: replace(p, variant=name), lambda p: Scheme(drafts(p), rule()), False)
