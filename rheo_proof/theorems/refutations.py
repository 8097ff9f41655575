"""Cheap refutations: a verification that accepts too much, or too little, is wrong, and no law has to be computed.

The acceptance of a sampler is often printed anyway. Three numbers to compare it with: the transport optimum of the
first level, a bound for the whole tree, and 1 where draft and target are the same. Passing proves nothing; failing is a
proof.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from rheo_proof.exact.errors import InputError
from rheo_proof.exact.law import Law
from rheo_proof.exact.model import ToyModel
from rheo_proof.exact.number import to_fraction
from rheo_proof.schemes.registry import BUDGETED, ON_RHEO_TREES, REJECT_EVEN_IF_SAME
from rheo_proof.schemes.scheme import RULES, Parameters
from rheo_proof.theorems.bounds import Trees, chained_bound
from rheo_proof.theorems.levels import keeps_all
from rheo_proof.theorems.prices import program_bound
from rheo_proof.theorems.transport import Tuples, by_subsets
from rheo_proof.theorems.zoo import EVERY


def above_optimum(accepted: Fraction, p: Law, tuples: Tuples) -> str:
    """Why no lossless rule accepts so often at a node with target p and candidates of law D; empty if nothing is wrong.

    `accepted` is the probability that the walk goes on to one of the candidates. The reason names a set H of tokens as
    its certificate (arXiv 2502.18779).

    >>> from rheo_proof.exact.number import ONE
    >>> above_optimum(Fraction(1), Law.read(["1/2", "1/2"]), {(0,): ONE})
    'accepts 1, more than the optimum 1/2: all candidates are in (0,) with 1, the target is with 1/2'
    """
    best, inside = by_subsets(p, tuples)
    if accepted <= to_fraction(best):
        return ""
    drafted = p.mass(inside) + 1 - best
    return (
        f"accepts {accepted}, more than the optimum {best}: "
        f"all candidates are in {inside} with {drafted}, the target is with {p.mass(inside)}"
    )


def above_bound(expected_tau: Fraction, trees: Trees, model: ToyModel) -> str:
    """Why no lossless rule has this E[tau] on trees of this law; empty if nothing is wrong.

    >>> from rheo_proof.exact.toys import toy
    >>> from rheo_proof.schemes.drafting.rheo import Rheo
    >>> from rheo_proof.theorems.bounds import kept_trees
    >>> trees = kept_trees(Rheo(slots=1, head=0, depth=2, beam=1, nodes=2), toy(2))
    >>> above_bound(Fraction(133, 120), trees, toy(2)), above_bound(Fraction(47, 40), trees, toy(2))
    ('', 'E[tau] is 47/40, more than the bound 133/120')
    """
    chained = chained_bound(trees, model)
    if expected_tau > chained:
        return f"E[tau] is {expected_tau}, more than the bound {chained}"
    certificate = program_bound(trees, model)
    if expected_tau > certificate.bound:
        return f"E[tau] is {expected_tau}, more than the bound {certificate.bound} of the linear program"
    return ""


def below_one(acceptance: Mapping[int, Fraction] | list[Fraction], model: ToyModel) -> str:
    """Why no ratio rule accepts so little on a model whose draft laws are its target laws; empty if nothing is wrong.

    `acceptance` holds Pr[tau >= l] for l = 1, 2, ..., up to the last level at which nothing is pruned. A ratio rule
    tests a token that was drawn from t with min(1, r/t), r being what is left of the target; with p = q and t = q this
    loses nothing. `accepts_all_if_same` says which schemes are meant. No such rules: one-hot verification and naive
    sampling, K-SEQ with a divisor above 1, and greedy multi-path block verification, whose t is the law of the path it
    selected. Raises `InputError` if target and draft differ.

    >>> from rheo_proof.exact.families import family_model
    >>> below_one([Fraction(1), Fraction(7, 8)], family_model("identical", 0, 3, 2))
    'accepts level 2 with 7/8, although draft and target are the same'
    """
    for u in model.reachable(model.depth - 1):
        if model.target(u) != model.draft(u):
            raise InputError(f"{model.name}: target and draft differ at {u}")
    levels = acceptance.items() if isinstance(acceptance, Mapping) else enumerate(acceptance, 1)
    for level, rate in levels:
        if rate < 1:
            return f"accepts level {level} with {rate}, although draft and target are the same"
    return ""


def accepts_all_if_same(parameters: Parameters) -> bool:
    """Whether `below_one` speaks of a scheme with these parameters, as its `fix` made them, on all of its levels.

    Its rule is a known one that rejects nothing where draft and target are the same; and every node has a sampled child
    that is kept: m < K, no cut of the draft laws, room for all nodes. A fault is meant if the rule it was made from is.

    >>> from rheo_proof.schemes.scheme import SCHEMES
    >>> parameters = Parameters(slots=2, head=1, depth=1, nodes=2)
    >>> [accepts_all_if_same(SCHEMES[name].fix(parameters)) for name in ("rheo", "match", "top-k", "chain")]
    [True, False, False, True]
    """
    rule, slots = parameters.verify, parameters.slots
    if rule in REJECT_EVEN_IF_SAME or rule not in (*RULES, *EVERY):
        return False
    if rule in (*RULES, *ON_RHEO_TREES):
        return parameters.head < slots and parameters.sparse is None and keeps_all(parameters.drafting())
    room = sum(slots**level for level in range(1, parameters.depth + 1))
    return rule not in BUDGETED or parameters.nodes >= room
