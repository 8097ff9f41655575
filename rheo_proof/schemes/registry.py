"""Every scheme that has a name: plain ones, harmless variations, the zoo of published ones, deliberate faults."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from rheo_proof.exact.errors import SoundnessError
from rheo_proof.schemes import zoo_walking, zoo_weighted
from rheo_proof.schemes.faults import FAULTS
from rheo_proof.schemes.scheme import READABLE, SCHEMES, Named, Parameters
from rheo_proof.schemes.variations import VARIATIONS

ON_RHEO_TREES = ("chain-verification", "dx")
"""Schemes of the zoo on RheoSampling's tree, which read m, the beam, the budget and the proxy."""

BUDGETED = (*ON_RHEO_TREES, "eagle", "sequoia")
"""Schemes of the zoo that read the budget N; the others keep every node that they draft."""

CHAINS = ("leviathan", "early-stop", "bv", "hsd", "hsd-naive", "relaxed", "static-mixing")
"""Schemes of the zoo that draft one token a layer, whatever K is."""

CHAIN_FAULTS = ("chain-drop-unlikely", "hsd-uncapped")
"""Controls that draft one token a layer."""

PAIRS = ("spechub",)
"""Schemes that draft two children of every node, whatever K is."""

THREE_PATHS = ("traversal-by-creation",)
"""Controls that need three paths: with two, nothing is out of order."""

REDRAWING = ("hsd-naive",)
"""Schemes that emit more than one token of their own: bounds on what can be accepted of a draft do not hold for them.

They ask the target for laws off the draft tree, which no other scheme here does.
"""

REJECT_EVEN_IF_SAME = (
    *("match", "nss", "eagle", "medusa-tree"),  # no test divides by q
    *("sglang-acc", "sglang-single", "sglang-repeated", "medusa-sampled"),  # nor here
    *("kseq-safe", "kseq-clipped-5/4"),  # the divisor is more than 1
    *("gbv", "gbv-first-maximum", "gbv-clipped"),  # the tested law is that of the best path, not q
    "early-stop",  # accepts what it drafts, and may draft less
)
"""Rules, by the `verify` of their parameters, that may end before the last level even if draft and target are the same.

All others reach it then, if nothing is pruned; a test enumerates both.
"""


def united(*groups: Iterable[Named]) -> dict[str, Named]:
    """Schemes by name. Raises `SoundnessError` if two have the same one.

    >>> sorted(united([SCHEMES["rheo"]], [SCHEMES["match"]]))
    ['match', 'rheo']
    """
    found: dict[str, Named] = {}
    for group in groups:
        for named in group:
            if named.name in found:
                raise SoundnessError(f"two schemes have the name {named.name!r}")
            found[named.name] = named
    return found


def settled(named: Named) -> Named:
    """A scheme of the zoo that fixes the parameters it does not read, so that equal schemes have equal parameters."""

    def fix(parameters: Parameters) -> Parameters:
        wanted = named.fix(parameters)
        kept: dict[str, Any] = {"head": 0, **{name: getattr(wanted, name) for name in _reads(named.name)}}
        kept["slots"] = _slots(named.name, wanted.slots)
        return Parameters(**kept, verify=named.name, variant=wanted.variant)

    return replace(named, fix=fix, zoo=True, reads=_reads(named.name))


def _slots(name: str, asked: int) -> int:
    """The K of a scheme of the zoo; some take none."""
    fixed = {1: (*CHAINS, *CHAIN_FAULTS), 2: PAIRS, 3: THREE_PATHS}
    return next((slots for slots, names in fixed.items() if name in names), asked)


def _reads(name: str) -> frozenset[str]:
    """The parameters that a scheme of the zoo has."""
    if name in ON_RHEO_TREES:
        return READABLE - {"verify"}
    return frozenset(("depth", "slots", "nodes") if name in BUDGETED else ("depth", "slots"))


ZOO = united(map(settled, (*zoo_walking.ENTRIES, *zoo_weighted.ENTRIES)))
"""Published schemes, lossless."""

LOSSY = united(replace(settled(named), lossy=True) for named in zoo_walking.LOSSY)
"""Published schemes that give up the law for speed."""

CONTROLS = united(map(settled, (*zoo_walking.CONTROLS, *zoo_weighted.CONTROLS)))
"""Faults of the schemes of the zoo; `faults.py` has those of RheoSampling."""

KNOWN = united(SCHEMES.values(), VARIATIONS.values(), ZOO.values(), LOSSY.values())
"""Schemes that `--scheme` takes; those that need a plan maker are in `theorems/zoo.py`, where all are looked up."""

ALL = united(KNOWN.values(), FAULTS.values(), CONTROLS.values())
"""Everything above, and the faults."""
