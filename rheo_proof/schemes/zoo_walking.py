"""The published schemes whose verification walks from the root, under the names that users type.

`slots` of the parameters stands for the number of drafts of a node or of paths, `depth` for the number of layers.
`LOSSY` are rules that change the law on purpose, `CONTROLS` are faults, each with the condition it breaks.
"""

from __future__ import annotations

from collections.abc import Callable

from rheo_proof.exact.number import Q, rational
from rheo_proof.schemes import faulty_walking as faulty
from rheo_proof.schemes import zoo_drafts
from rheo_proof.schemes.drafting.chain import Chain
from rheo_proof.schemes.drafting.delayed import Delayed
from rheo_proof.schemes.drafting.eagle import Eagle
from rheo_proof.schemes.drafting.sequoia import best_shape
from rheo_proof.schemes.drafting.spechub import SpecHub as SpecHubDrafting
from rheo_proof.schemes.drafting.static import Static, full, tapered
from rheo_proof.schemes.drafting.stochastic_beam import StochasticBeam
from rheo_proof.schemes.scheme import Drafting as DraftingMethod
from rheo_proof.schemes.scheme import Named, Parameters, Scheme
from rheo_proof.schemes.verifying.eagle_posterior import EaglePosterior
from rheo_proof.schemes.verifying.greedy import Greedy
from rheo_proof.schemes.verifying.kseq import KSeq
from rheo_proof.schemes.verifying.leviathan import Leviathan
from rheo_proof.schemes.verifying.match import Match
from rheo_proof.schemes.verifying.naive_tree import NaiveTree
from rheo_proof.schemes.verifying.relaxed import Relaxed
from rheo_proof.schemes.verifying.rrs import Rrs
from rheo_proof.schemes.verifying.rrsw import Rrsw
from rheo_proof.schemes.verifying.sglang_thresholds import SglangThresholds
from rheo_proof.schemes.verifying.spechub import SpecHub
from rheo_proof.schemes.verifying.static_mixing import StaticMixing
from rheo_proof.schemes.verifying.typical import Entropy, SampledMatch, Typical
from rheo_proof.schemes.verifying.walk import Verifying

Drafts = Callable[[Parameters], DraftingMethod]


def _stopping(p: Parameters) -> Chain:
    return Chain(p.depth, rational("1/5"))


def _eagle(p: Parameters) -> Eagle:
    return Eagle(p.slots, p.depth - 1, p.nodes)


def _delayed(p: Parameters) -> Delayed:
    return Delayed(p.slots, p.depth // 2, p.depth - p.depth // 2)


def _medusa(p: Parameters) -> Static:
    return Static(tapered(p.slots, p.depth))


def _eagle_1(p: Parameters) -> Static:
    return Static(tapered(p.slots, p.depth), sampled=True)


def _best_chain(p: Parameters) -> Static:
    return Static(full(1, p.depth))


def _sequoia(p: Parameters) -> Static:
    """The best shape of at most `nodes` nodes if the k-th child is accepted with probability 2^-k."""
    room = sum(p.slots**level for level in range(1, p.depth + 1))
    acceptance = [Q(1, 2**k) for k in range(1, p.slots + 1)]
    return Static(best_shape(acceptance, min(p.nodes, room) + 1, p.depth + 1).shape, sampled=True)


def _entry(name: str, line: str, drafts: Drafts, rule: Callable[[Parameters], Verifying], lossless: bool) -> Named:
    return Named(name, line, zoo_drafts.same, lambda p: Scheme(drafts(p), rule(p)), lossless)


def _scheme(name: str, line: str, drafts: Drafts, rule: Callable[[], Verifying]) -> Named:
    return _entry(name, line, drafts, lambda p: rule(), True)


def _lossy(name: str, line: str, drafts: Drafts, rule: Callable[[], Verifying]) -> Named:
    return _entry(name, line, drafts, lambda p: rule(), False)


ENTRIES: tuple[Named, ...] = (
    _scheme("leviathan", "a chain, token by token (arXiv 2211.17192, 2302.01318)", zoo_drafts.chain, Leviathan),
    _scheme(
        "early-stop",
        "a chain that ends at a token with q < 1/5, which is kept (arXiv 2211.17192)",
        _stopping,
        Leviathan,
    ),
    _scheme(
        "rrs", "i.i.d. drafts, recursive rejection with replacement (SpecInfer, arXiv 2305.09781)", zoo_drafts.iid, Rrs
    ),
    _scheme("rrs-paths", "i.i.d. paths, recursive rejection (arXiv 2305.09781, 2602.16994)", zoo_drafts.paths, Rrs),
    _scheme(
        "nss", "i.i.d. drafts, naive sampling: y ~ p, then look (SpecInfer, arXiv 2305.09781)", zoo_drafts.iid, Match
    ),
    _scheme("naive-tree", "i.i.d. drafts, only the first is tested (arXiv 2602.16994)", zoo_drafts.iid, NaiveTree),
    _scheme(
        "kseq", "i.i.d. drafts, K-SEQ with the smallest valid divisor (SpecTr, arXiv 2310.15141)", zoo_drafts.iid, KSeq
    ),
    _entry(
        "kseq-safe",
        "i.i.d. drafts, K-SEQ with the divisor K (SpecTr, arXiv 2310.15141)",
        zoo_drafts.iid,
        lambda p: KSeq(Q(p.slots)),
        True,
    ),
    _scheme("kseq-paths", "i.i.d. paths, K-SEQ (SpecTr, arXiv 2310.15141)", zoo_drafts.paths, KSeq),
    _scheme(
        "rsd-c",
        "draws without replacement, recursive rejection with their laws (arXiv 2402.14160)",
        zoo_drafts.without,
        Rrs,
    ),
    _scheme(
        "rsd-s",
        "stochastic beam search, recursive rejection with the laws of its draws (arXiv 2402.14160)",
        lambda p: StochasticBeam(p.slots, p.depth),
        Rrs,
    ),
    _scheme("sequoia", "draws without replacement on the best shape for them (arXiv 2402.12374)", _sequoia, Rrs),
    _scheme("eagle-1", "draws without replacement on a fixed shape (arXiv 2401.15077)", _eagle_1, Rrs),
    _entry(
        "spechub",
        "pairs with a hub, their optimal rule (arXiv 2411.05289)",
        lambda p: SpecHubDrafting(p.depth),
        lambda p: SpecHub(),
        True,
    ),
    _scheme("greedy", "top K - 1 and one sampled draft, tested first (arXiv 2502.18779)", zoo_drafts.greedy, Greedy),
    _scheme(
        "greedy-top-first", "top K - 1 and one sampled draft, tested last (arXiv 2502.18779)", zoo_drafts.greedy, Rrsw
    ),
    _scheme(
        "eagle",
        "dynamic top-K tree, evaluate_posterior (EAGLE-2/3, arXiv 2406.16858, 2503.01840)",
        _eagle,
        EaglePosterior,
    ),
    _scheme(
        "medusa-tree", "Medusa's fixed tree of best tokens, one-hot verification (arXiv 2401.10774)", _medusa, Match
    ),
    _scheme("delayed", "a trunk, then i.i.d. paths, recursive rejection (arXiv 2602.16994)", _delayed, Rrs),
    _scheme("delayed-kseq", "a trunk, then i.i.d. paths, K-SEQ (arXiv 2602.16994)", _delayed, KSeq),
)
"""Lossless schemes."""

LOSSY: tuple[Named, ...] = (
    _lossy(
        "sglang-acc",
        "top-K tree, threshold_acc 4/5 (sgl-kernel speculative_sampling.cuh, 120affb)",
        lambda p: Static(full(p.slots, p.depth)),
        lambda: SglangThresholds(acc=rational("4/5")),
    ),
    _lossy(
        "sglang-single",
        "top-K tree, threshold_single 1/2 (sgl-kernel speculative_sampling.cuh, 120affb)",
        lambda p: Static(full(p.slots, p.depth)),
        lambda: SglangThresholds(single=rational("1/2")),
    ),
    _lossy(
        "medusa-typical",
        "Medusa's typical acceptance, fast mode (arXiv 2401.10774)",
        _medusa,
        lambda: Typical(Entropy()),
    ),
    _lossy(
        "medusa-sampled",
        "Medusa's rows that match samples (FasterDecoding/Medusa e2a5d20)",
        _medusa,
        SampledMatch,
    ),
    _lossy(
        "relaxed",
        "a chain of best tokens, relaxed acceptance, top 2 within 1/5 (NVIDIA/TensorRT-LLM)",
        _best_chain,
        lambda: Relaxed(2, rational("1/5")),
    ),
    _lossy(
        "static-mixing",
        "a chain verified against 3/4 p + 1/4 q (lossy variant of arXiv 2211.17192)",
        zoo_drafts.chain,
        lambda: StaticMixing(rational("1/4")),
    ),
)
"""Rules that give up the law for speed."""

CONTROLS: tuple[Named, ...] = (
    zoo_drafts.control(
        "rrs-skip-repeated",
        "the number of tests looks at the tokens: a repeated draft is skipped, q not adjusted",
        zoo_drafts.iid,
        faulty.SkipRepeated,
    ),
    zoo_drafts.control(
        "rsd-unnormalised",
        "X is tested against a law it was not drawn from: q without the drawn tokens, not renormalised",
        zoo_drafts.without,
        faulty.Unnormalised,
    ),
    zoo_drafts.control(
        "rsd-sort-by-token",
        "siblings are not tested in the order of their draws: by token id",
        zoo_drafts.without,
        lambda: faulty.Sorted(faulty.by_token),
    ),
    zoo_drafts.control(
        "rsd-sort-by-q",
        "siblings are not tested in the order of their draws: by decreasing q",
        zoo_drafts.without,
        lambda: faulty.Sorted(faulty.by_probability),
    ),
    zoo_drafts.control(
        "rsd-top-as-draws",
        "a deterministic child is tested as if it had been drawn: top K with the laws of draws",
        lambda p: faulty.TopAsDraws(full(p.slots, p.depth)),
        Rrs,
    ),
    zoo_drafts.control(
        "kseq-clipped",
        "the tests take more of p than there is: K-SEQ with divisor 1, the negative rest set to 0",
        zoo_drafts.iid,
        lambda: faulty.Clipped(rational(1)),
    ),
    zoo_drafts.control(
        "kseq-clipped-5/4",
        "the tests take more of p than there is: K-SEQ with divisor 5/4, the negative rest set to 0",
        zoo_drafts.iid,
        lambda: faulty.Clipped(rational("5/4")),
    ),
    zoo_drafts.control(
        "chain-drop-unlikely",
        "whether x is presented looks at x: dropped where q(x) < 1/5",
        lambda p: faulty.DropUnlikely(p.depth),
        Leviathan,
    ),
    zoo_drafts.control(
        "sglang-repeated",
        "siblings are not distinct: i.i.d. drafts for a rule that adds up their p",
        zoo_drafts.iid,
        SglangThresholds,
    ),
)
"""Faults; every one of them must be refuted."""
