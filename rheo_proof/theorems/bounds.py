"""What no lossless verification of a drafting method can exceed: bounds on E[tau] for whole trees.

Two facts about a lossless step carry all of them. A string is accepted only if the target writes it: the output,
prolonged with target tokens, starts with x with probability P(x), and ux is accepted with at most p(x|u) times the
probability that u is. And it is accepted only if it was drafted, so with at most Pr[x in T], T being the set of kept
strings.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from typing import TypeAlias

from rheo_proof.exact.chance import Var
from rheo_proof.exact.errors import SoundnessError
from rheo_proof.exact.limits import Limits
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ONE, ZERO, Q, to_fraction
from rheo_proof.exact.step import target_probability
from rheo_proof.schemes.laws import DraftClasses, draft_classes
from rheo_proof.schemes.scheme import Drafting
from rheo_proof.schemes.tree import Path, Tree

Strings: TypeAlias = frozenset[Prefix]
"""The kept strings of one draft tree, the root left out."""

Trees: TypeAlias = dict[Strings, Q]
"""The law of the kept strings."""


def kept_trees(drafting: Drafting, model: ToyModel, limits: Limits | None = None) -> Trees:
    """The exact law of the set T of kept strings, from the classes of draft trees with their tokens filled in.

    Order and repetition of nodes are forgotten. Raises what `draft_classes` raises; `limits` also counts the trees.

    >>> from rheo_proof.exact.toys import toy
    >>> from rheo_proof.schemes.drafting.rheo import Rheo
    >>> trees = kept_trees(Rheo(slots=1, head=0, depth=1, beam=1, nodes=1), toy(1))
    >>> sorted((sorted(tree), str(mass)) for tree, mass in trees.items())
    [([(0,)], '3/10'), ([(1,)], '1/10'), ([(2,)], '3/5')]
    """
    limits = limits or Limits()
    return trees_of(draft_classes(drafting, model, limits), limits)


def trees_of(drafted: DraftClasses, limits: Limits) -> Trees:
    """The same from classes that were enumerated before; `limits` counts the trees."""
    trees: Trees = {}
    for tree, entries in drafted.classes.items():
        for known, weight in entries.items():
            for values in product(*(belief.among for _, belief in known)):
                limits.spend()
                mass = weight.mass
                for x, (_, belief) in zip(values, known, strict=True):
                    mass *= belief.law[x] / belief.mass
                strings = strings_of(tree, {name: x for x, (name, _) in zip(values, known, strict=True)})
                trees[strings] = trees.get(strings, ZERO) + mass
    if sum(trees.values(), ZERO) != ONE:
        raise SoundnessError(f"the trees have total probability {sum(trees.values(), ZERO)}")
    return trees


def strings_of(tree: Tree, values: Mapping[object, int]) -> Strings:
    """The strings of a tree's nodes; nodes without a kept parent are left out, as a verification does."""
    at: dict[Path, Prefix] = {(): ()}
    for node in sorted(tree.nodes, key=lambda node: len(node.path)):
        if node.path[:-1] in at:
            x = values[node.token.name] if isinstance(node.token, Var) else node.token
            at[node.path] = (*at[node.path[:-1]], x)
    return frozenset(string for path, string in at.items() if path)


def presence(trees: Trees) -> dict[Prefix, Q]:
    """Pr[x in T] for every string that can be kept, shorter ones first."""
    found: dict[Prefix, Q] = {}
    for tree, mass in trees.items():
        for string in tree:
            found[string] = found.get(string, ZERO) + mass
    return {string: found[string] for string in sorted(found, key=lambda x: (len(x), x))}


def string_bound(trees: Trees, model: ToyModel) -> Fraction:
    """E[tau] <= sum over strings x other than the root of min(P(x), Pr[x in T]), for every lossless verification.

    >>> from rheo_proof.exact.toys import toy
    >>> from rheo_proof.schemes.drafting.rheo import Rheo
    >>> string_bound(kept_trees(Rheo(slots=1, head=0, depth=2, beam=1, nodes=2), toy(2)), toy(2))
    Fraction(47, 40)
    """
    kept = presence(trees)
    return to_fraction(sum((min(target_probability(model, x), mass) for x, mass in kept.items()), ZERO))


def chained_bound(trees: Trees, model: ToyModel) -> Fraction:
    """E[tau] <= sum of F(x) with F(()) = 1 and F(ux) = min(p(x|u) F(u), Pr[ux in T]): never above `string_bound`.

    What u cannot be accepted with, ux cannot be either. On a chain this is the E[tau] of block verification (arXiv
    2403.10444), which is why that rule cannot be improved.

    >>> from rheo_proof.exact.toys import toy
    >>> from rheo_proof.schemes.drafting.rheo import Rheo
    >>> chained_bound(kept_trees(Rheo(slots=1, head=0, depth=2, beam=1, nodes=2), toy(2)), toy(2))
    Fraction(133, 120)
    """
    limit: dict[Prefix, Q] = {(): ONE}
    for x, mass in presence(trees).items():
        limit[x] = min(model.target(x[:-1])[x[-1]] * limit[x[:-1]], mass)
    return to_fraction(sum(limit.values(), ZERO) - ONE)
