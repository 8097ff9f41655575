"""How many draft tokens are accepted by the rules that everybody knows, exactly: what an audited function is beside.

The ratio rule accepts x with min(1, p(x)/q(x)) and goes on with the residual (arXiv 2211.17192, 2302.01318); several
candidates are tried like that one after the other (recursive rejection, arXiv 2305.09781), down the tree.
"""

from __future__ import annotations

from dataclasses import dataclass

from rheo_proof.audit.cases import Case, Request
from rheo_proof.audit.drafts import ROOT, Draft, Drafting
from rheo_proof.exact.law import Law, residual
from rheo_proof.exact.model import Prefix
from rheo_proof.exact.number import ONE, ZERO, Q
from rheo_proof.theorems.transport import MOST_TOKENS, Tuples, by_subsets


@dataclass(frozen=True)
class Baseline:
    """Expected numbers of tokens: accepted by the ratio rule, by the best lossless rule (if known), and drafted.

    All are 0 where nothing is expected, as of functions that loop.
    """

    ratio: Q
    optimum: Q | None
    drafted: Q


def baseline(drafting: Drafting, case: Case, request: Request) -> Baseline:
    """What can be expected of a draft that is drawn from the rows that are handed over.

    The optimum is that of block verification for a chain (arXiv 2403.10444), that of transport for one level (arXiv
    2310.15141), and unknown for trees.

    >>> from rheo_proof.audit.drafts import CHAIN
    >>> from rheo_proof.audit.tables import table
    >>> found = baseline(CHAIN, Case(table("dyadic"), "float64"), Request())
    >>> str(found.ratio), str(found.optimum), str(found.drafted)
    ('25/16', '13/8', '2')
    """
    drafts = drafting.law(case, request)
    drafted = sum((mass * len(draft.tokens) for draft, mass in drafts.items()), ZERO)
    ratio = sum((mass * accepted(drafting, case, request, draft) for draft, mass in drafts.items()), ZERO)
    optimum = None
    if drafting.chain:
        optimum = chain_optimum(case, request, drafts)
    elif drafting.one_level and case.vocab <= MOST_TOKENS:
        tuples: Tuples = {}
        for draft, mass in drafts.items():
            tuples[draft.tokens] = tuples.get(draft.tokens, ZERO) + mass
        optimum = by_subsets(case.target(request.index, request.context), tuples).acceptance
    return Baseline(ratio, optimum, drafted)


def accepted(drafting: Drafting, case: Case, request: Request, draft: Draft, node: int = ROOT) -> Q:
    """The expected number of tokens that recursive rejection accepts below a node of a given draft.

    Candidates that the target does not leave anything for are not reached.
    """
    left: Law = case.target(request.index, draft.prefix(node))
    reached, total = ONE, ZERO
    for child in draft.children(node):
        q, x = drafting.law_at(case, request.index, draft, child), draft.tokens[child]
        chance = min(ONE, left[x] / q[x])
        total += reached * chance * (ONE + accepted(drafting, case, request, draft, child))
        reached *= ONE - chance
        if not reached:
            break
        left = residual(left, q)
    return total


def chain_optimum(case: Case, request: Request, drafts: dict[Draft, Q]) -> Q:
    """The sum of F(x) over all draft strings, F(ux) = min(p(x|u) F(u), Q(ux)): what block verification accepts."""
    presence: dict[Prefix, Q] = {}
    for draft, mass in drafts.items():
        for length in range(1, len(draft.tokens) + 1):
            string = draft.tokens[:length]
            presence[string] = presence.get(string, ZERO) + mass
    limit: dict[Prefix, Q] = {(): ONE}
    for string in sorted(presence, key=len):
        p = case.target(request.index, request.context + string[:-1])
        limit[string] = min(p[string[-1]] * limit[string[:-1]], presence[string])
    return sum(limit.values(), ZERO) - ONE
