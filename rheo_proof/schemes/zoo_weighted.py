"""The schemes that carry acceptance weight along the tree, under the names that users type.

`slots` of the parameters stands for the number of children of a node or of paths, `depth` for the number of layers.
`CONTROLS` are faults, each with the condition it breaks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from rheo_proof.exact.law import Law
from rheo_proof.exact.number import Q
from rheo_proof.schemes import faulty_weighted as faulty
from rheo_proof.schemes import zoo_drafts
from rheo_proof.schemes.drafting.iid import Iid
from rheo_proof.schemes.drafting.static import full
from rheo_proof.schemes.faulty_walking import TopAsDraws
from rheo_proof.schemes.scheme import Drafting, Named, Parameters, Scheme
from rheo_proof.schemes.verifying.block import Block
from rheo_proof.schemes.verifying.capped_hsd import CappedHsd, NaiveHsd
from rheo_proof.schemes.verifying.chain_verification import ChainVerification
from rheo_proof.schemes.verifying.dx import Dx
from rheo_proof.schemes.verifying.gbv import Gbv
from rheo_proof.schemes.verifying.masses import PlanMaker, TupleLaw, Tuples
from rheo_proof.schemes.verifying.optimal_transport import OptimalTransport
from rheo_proof.schemes.verifying.plans import shortest_path_plan
from rheo_proof.schemes.verifying.settled import Places
from rheo_proof.schemes.verifying.traversal import Traversal
from rheo_proof.schemes.verifying.univer_style import ScaledGreedy, UniverStyle
from rheo_proof.schemes.verifying.walk import Verifying
from rheo_proof.schemes.verifying.weighted_rejection import WeightedRejection


class OneLevel(Drafting, Protocol):
    """A drafting method that can say the law D of the list of children of a node."""

    def tuples(self, q: Law) -> dict[tuple[int, ...], Q]:
        """D, for the draft law q."""


def told(drafting: OneLevel) -> TupleLaw:
    """What a rule is told of a drafting method that treats all nodes alike."""
    return lambda q, k: drafting.tuples(q)


def told_paths(q: Law, k: int) -> Tuples:
    """D of a node that k independent paths pass."""
    return Iid(k, 1).tuples(q)


def _scheme(name: str, line: str, drafts: Callable[[Parameters], Drafting], rule: Callable[[], Verifying]) -> Named:
    return Named(name, line, zoo_drafts.same, lambda p: Scheme(drafts(p), rule()), True)


def _told(
    name: str, line: str, drafts: Callable[[Parameters], OneLevel], rule: Callable[[TupleLaw], Verifying]
) -> Named:
    """A rule that needs the law D of the tuples."""

    def build(p: Parameters) -> Scheme:
        drafting = drafts(p)
        return Scheme(drafting, rule(told(drafting)))

    return Named(name, line, zoo_drafts.same, build, True)


def _dx(p: Parameters) -> Scheme:
    drafting = p.drafting()
    return Scheme(drafting, Dx(Places(drafting.expansion, p.slots, p.depth)))


def planned(plan: PlanMaker, suffix: str = "") -> tuple[Named, ...]:
    """The schemes that verify by a transport plan, with a given plan maker."""
    top_down, scaled = (lambda tuples: OptimalTransport(plan, tuples)), (lambda tuples: UniverStyle(plan, tuples))
    return (
        _told(
            f"ot-iid{suffix}", "i.i.d. drafts, optimal transport (SpecTr, arXiv 2310.15141)", zoo_drafts.iid, top_down
        ),
        _told(
            f"ot-without{suffix}",
            "draws without replacement, optimal transport (arXiv 2502.18779)",
            zoo_drafts.without,
            top_down,
        ),
        _told(f"ot-greedy{suffix}", "greedy drafts, optimal transport (arXiv 2502.18779)", zoo_drafts.greedy, top_down),
        _told(
            f"univer-iid{suffix}",
            "i.i.d. drafts, UniVer-style reconstruction (arXiv 2605.04543)",
            zoo_drafts.iid,
            scaled,
        ),
        _told(
            f"univer-without{suffix}",
            "draws without replacement, UniVer-style reconstruction (arXiv 2605.04543)",
            zoo_drafts.without,
            scaled,
        ),
        _told(
            f"univer-greedy{suffix}",
            "greedy drafts, UniVer-style reconstruction (arXiv 2605.04543)",
            zoo_drafts.greedy,
            scaled,
        ),
    )


ENTRIES: tuple[Named, ...] = (
    _scheme("bv", "a chain, block verification with its coins (arXiv 2403.10444)", zoo_drafts.chain, Block),
    _scheme("hsd", "a chain, capped HSD as printed: equal to bv (arXiv 2601.05724)", zoo_drafts.chain, CappedHsd),
    _scheme(
        "hsd-naive", "a chain, naive HSD, which redraws what it rejects (arXiv 2601.05724)", zoo_drafts.chain, NaiveHsd
    ),
    _scheme("traversal", "draws without replacement, leaf by leaf (arXiv 2505.12398)", zoo_drafts.without, Traversal),
    _scheme(
        "traversal-paths",
        "i.i.d. paths, merged, leaf by leaf (arXiv 2505.12398, 2602.16961)",
        zoo_drafts.paths,
        Traversal,
    ),
    _told(
        "traversal-masses",
        "traversal in recursive form: equal to it (arXiv 2505.12398)",
        zoo_drafts.without,
        WeightedRejection,
    ),
    _scheme(
        "paths-masses",
        "i.i.d. paths, weighted recursive rejection (this project)",
        zoo_drafts.paths,
        lambda: WeightedRejection(told_paths),
    ),
    _scheme("gbv", "the best of K i.i.d. paths, block verification (arXiv 2602.16961)", zoo_drafts.paths, Gbv),
    *planned(shortest_path_plan),
    _told(
        "greedy-scaled", "greedy drafts, scaled plan in closed form (arXiv 2502.18779)", zoo_drafts.greedy, ScaledGreedy
    ),
    _scheme(
        "chain-verification",
        "RheoSampling's tree, block verification along sampled chains (this project)",
        lambda p: p.drafting(),
        ChainVerification,
    ),
    Named("dx", "RheoSampling's tree, DX: never below RheoVerification (this project)", zoo_drafts.same, _dx, True),
)
"""Lossless schemes."""

CONTROLS: tuple[Named, ...] = (
    zoo_drafts.control(
        "traversal-sort-by-token",
        "siblings are not tested in the order of their draws: by token id",
        zoo_drafts.without,
        faulty.TraversalById,
    ),
    zoo_drafts.control(
        "traversal-top-as-draws",
        "a deterministic child is tested as if it had been drawn: Traversal Verification of the top-K tree",
        lambda p: TopAsDraws(full(p.slots, p.depth)),
        Traversal,
    ),
    zoo_drafts.control(
        "traversal-by-creation",
        "a sibling is tested before the elder one's subtree is exhausted: leaves by age (code of arXiv 2602.16961)",
        zoo_drafts.paths,
        faulty.TraversalByCreation,
    ),
    zoo_drafts.control(
        "hsd-uncapped",
        "the chain is kept too often: final test min(1, R_L) (released code of arXiv 2601.05724, b8575e2)",
        zoo_drafts.chain,
        faulty.UncappedHsd,
    ),
    zoo_drafts.control(
        "gbv-first-maximum",
        "the selected path has another law than q~: among equal ratios the first is taken",
        zoo_drafts.paths,
        faulty.GbvFirstMaximum,
    ),
    zoo_drafts.control(
        "gbv-clipped",
        "the selected path has another law than q~: ratios clipped at 1, the first is taken",
        zoo_drafts.paths,
        faulty.GbvClipped,
    ),
)
"""Faults; every one of them must be refuted."""
