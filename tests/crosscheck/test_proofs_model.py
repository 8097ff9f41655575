"""The model of `proofs/` is the code: what Coq computes is what the enumerators compute, as rationals.

The copies that Coq runs are proved equal to the definitions that its theorems speak about (proofs/copies.v). Compared
are the law of the kept tree in rank order, over all draws, and the law of the emitted string, for four rules.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from rheo_proof.exact.chance import Chance
from rheo_proof.exact.families import FAMILIES, family_model
from rheo_proof.exact.law import Law
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import rational, to_fraction
from rheo_proof.exact.replay import replay
from rheo_proof.schemes.drafting.rheo import Rheo
from rheo_proof.schemes.laws import law_by_classes
from rheo_proof.schemes.scheme import Parameters, Scheme
from rheo_proof.schemes.tree import Tree
from rheo_proof.schemes.variations import confident_head
from tests.crosscheck.needs_coq import computed, coq_or_skip
from tests.strategies import affordable, prefixes

coq_or_skip("models")

MODELS, LONE, TWINS = 100, 30, 20
RULES = {"rheo": "crheo (tokens n)", "rrsw": "crrs (tokens n)", "match": "@conehot _ _"}
ALL_RULES = [*RULES, "flow"]
OPTION_RULES = {"rheo": "crheo (tokens n)", "match": "@conehot _ _"}
SCALES = ("1", "2/3", "1/2", "1/5")

# `trees` and `steps` read off the tables of copies.v; `low` is the twin: the slots with a third of the proxy.
PREAMBLE = f"""
From Coq Require Import BinInt.
From mathcomp Require Import all_ssreflect.
From Rheo Require Import programs numbers computing copied_rules parts copies copied_flow copied_options models.
Definition number (a : fractions) := (QArith_base.Qnum a, QArith_base.Qden a).
Definition word {{n}} (u : seq 'I_n) := map (@nat_of_ord n) u.
Fixpoint at_row (l : seq (seq nat * nat)) (u : seq nat) :=
  if l is (v, m) :: k then if v == u then m else at_row k u else 0.
Definition show {{n}} (l : seq (seq (seq 'I_n * bool) * fractions)) :=
  [seq ([seq (word x.1, x.2) | x <- a.1], number a.2) | a <- l].
Section Model.
Variables (n : nat) (target draft : rows) (K : nat) (heads : seq (seq nat * nat)) (D B N : nat).
Notation V := [finType of 'I_n].
Notation p := (@computed n target).
Notation q := (@computed n draft).
Notation m := (fun u : seq V => at_row heads (word u)).
Definition trees := show (tree_law (V := V) (tokens n) q (fun _ => K) m D B N).
Definition steps := [seq [seq (word a.1, number a.2) | a <- law] | law <- rcons
  [seq step_law (V := V) (tokens n) p q (fun _ => K) m D B N rule | rule <- [:: {"; ".join(RULES.values())}]]
  (flow_step_law (V := V) (tokens n) p D q (fun _ => K) m B N)].
Definition low u := cslots (V := V) (tokens n) (div (cproxy (V := V) (tokens n) (q u) (m u)) (whole 3)) (q u) K (m u).
Definition low_trees := show (law_of (tokens n) (map (@cseen fractions V))
  (csample (rheo_tail (V := V) (tokens n) q (fun _ => K) m) (cdraft low (@cby_value fractions V) D B N))).
Variables (tail : bool) (a g : nat * nat).
Notation everywhere v := (fun _ : seq V => v).
Notation options := (fun law => law (everywhere tail) (everywhere (fraction a)) (everywhere (fraction g))).
Definition option_trees := show (options (option_tree_law (V := V) (tokens n) q (fun _ => K) m D B N)).
Definition option_steps := [seq [seq (word a.1, number a.2) | a <- law] | law <-
  [seq options (option_step_law (V := V) (tokens n) p q (fun _ => K) m D B N) rule
  | rule <- [:: {"; ".join(OPTION_RULES.values())}]]].
End Model.
"""

Table: TypeAlias = dict[Any, Fraction]
KeptTree: TypeAlias = tuple[tuple[Prefix, bool], ...]


@dataclass(frozen=True)
class Case:
    """A model, the parameters of its tree, and whether m is chosen at each node from q."""

    model: ToyModel
    parameters: Parameters
    adaptive: bool

    def head(self, q: Law) -> int:
        """m of a node with draft law q."""
        most = self.parameters.head
        return min(confident_head(q), most) if self.adaptive else most

    def drafting(self) -> Rheo:
        """The drafting method of the package."""
        drafting = self.parameters.drafting()
        return replace(drafting, head=self.head) if self.adaptive else drafting

    def term(self, name: str) -> str:
        """The definition `name` of the preamble for this case."""
        p, model = self.parameters, self.model
        above = list(prefixes(model.vocab, p.depth - 1))
        target = written([(u, pairs(model.target(u))) for u in prefixes(model.vocab, p.depth)])
        draft = written([(u, pairs(model.draft(u))) for u in above])
        heads = written([(u, str(self.head(model.draft(u)))) for u in above])
        laws = f"{target} {draft}" if name.endswith("steps") else draft
        sizes = f"{p.slots} {heads} {p.depth} {p.beam} {p.nodes}"
        scales = " ".join(f"({scale.numerator}, {scale.denominator})" for scale in (p.proxy_scale, p.fill_scale))
        options = f"{'true' if p.proxy == 'tail' else 'false'} {scales}" if name.startswith("option") else ""
        return f"{name} {model.vocab} {laws} {sizes} {options}"


def written(rows: list[tuple[Prefix, str]]) -> str:
    """A list of pairs as Coq reads it."""
    lines = "; ".join(f"([:: {'; '.join(map(str, u))}], {row})" for u, row in rows)
    return f"[:: {lines}]".replace("[:: ]", "[::]")


def pairs(law: Law) -> str:
    """A law as a list of numerators and denominators."""
    return "[:: " + "; ".join(f"({mass.numerator}, {mass.denominator})" for mass in map(to_fraction, law)) + "]"


@cache
def cases() -> tuple[Case, ...]:
    """V from 1 to 4 and D from 1 to 3, all families (ties and zeros among them), every combination of K, m, B, N."""
    rng = random.Random("the model is the code")
    made: list[Case] = []
    lone = 0
    for seed in count():
        if len(made) == MODELS:
            break
        vocab, depth = rng.choice([2, 3, 4, 3, 3, 1, 2]), rng.choice([1, 2, 3, 2, 3])
        slots = rng.choice([1, 2, 2, 3, 3, 4])
        parameters = Parameters(
            slots=slots,
            head=rng.choice([0, 1, 1, 2, slots]) % (slots + 1),
            depth=depth,
            beam=rng.choice([1, 2, 3]),
            nodes=rng.choice([1, 2, 3, 4, 6, 9]),
        )
        family = rng.choice([*FAMILIES, "ties", "zeros", "uniform", "swing"])
        model = family_model(family, seed, vocab, depth, order=rng.choice([0, 0, 1]))
        case = Case(model, affordable(parameters, vocab, 81), rng.random() < 0.3)
        if len(kept_trees(case)) == 1:
            # Nothing of the kept tree is random: a few of these are enough.
            lone += 1
            if lone > LONE:
                continue
        made.append(case)
    return tuple(made)


def kept_trees(case: Case) -> Table:
    """The law of the kept tree in rank order, by replay: every node with its prefix and whether it was sampled."""
    drafting = case.drafting()

    def draft(chance: Chance) -> KeptTree:
        state: Any = drafting.start()
        while not isinstance(state, Tree):
            state = drafting.step(case.model, state, chance)
        tokens = {node.path: chance.value(node.token) for node in state.nodes}
        at = [(tuple(tokens[n.path[:level]] for level in range(1, len(n.path) + 1)), n.kind) for n in state.nodes]
        return tuple((u, kind == "sampled") for u, kind in at)

    return {tree: to_fraction(mass) for tree, mass in replay(draft).items()}


@cache
def with_options() -> tuple[Case, ...]:
    """The same models with other proxies and scales, where that keeps other trees."""
    rng = random.Random("options")
    made = []
    for case in 3 * cases():
        proxy, scales = rng.choice(["tail", "tail", "paper"]), [rational(rng.choice(SCALES)) for _ in "ag"]
        changed = replace(case.parameters, proxy=proxy, proxy_scale=scales[0], fill_scale=scales[1])
        if kept_trees(replace(case, parameters=changed)) != kept_trees(case):
            made.append(replace(case, parameters=changed))
    return tuple(made)


def read_trees(answer: list[Any]) -> Table:
    """Coq's law of the kept tree."""
    return {tuple((tuple(u), sampled) for u, sampled in tree): Fraction(*mass) for tree, mass in answer}


def read_strings(answer: list[Any]) -> Table:
    """Coq's law of the emitted string."""
    return {tuple(u): Fraction(*mass) for u, mass in answer}


def step_laws(case: Case, rules: Iterable[str]) -> list[Table]:
    """The step law of each rule, by classes."""
    schemes = [Scheme(case.drafting(), replace(case.parameters, verify=rule).verifying()) for rule in rules]
    return [dict(law_by_classes(scheme, case.model).strings(case.model.vocab)) for scheme in schemes]


def test_coq_computes_what_the_package_computes_and_a_twin_with_another_proxy_does_not(tmp_path: Path) -> None:
    # One test, so that one process runs Coq, once.
    asked = {name: [case.term(name) for case in cases()] for name in ("trees", "steps")}
    asked |= {name: [case.term(name) for case in with_options()] for name in ("option_trees", "option_steps")}
    asked["low_trees"] = [case.term("low_trees") for case in cases()[:TWINS]]
    said = iter(computed(PREAMBLE, [term for terms in asked.values() for term in terms], tmp_path))
    answers = {name: [next(said) for _ in terms] for name, terms in asked.items()}

    trees = [kept_trees(case) for case in cases()]
    for case, kept, answer in zip(cases(), trees, answers["trees"], strict=True):
        assert read_trees(answer) == kept, f"kept trees of {case}"
    for case, answer in zip(with_options(), answers["option_trees"], strict=True):
        assert read_trees(answer) == kept_trees(case), f"kept trees of {case}"
    for case, answer in zip(cases(), answers["steps"], strict=True):
        assert list(map(read_strings, answer)) == step_laws(case, ALL_RULES), f"strings of {case}"
    for case, answer in zip(with_options(), answers["option_steps"], strict=True):
        assert list(map(read_strings, answer)) == step_laws(case, OPTION_RULES), f"strings of {case}"
    # The twin: a law of trees as well, but a wrong one.
    wrong = [read_trees(answer) for answer in answers["low_trees"]]
    assert all(sum(twin.values()) == 1 for twin in wrong)
    assert sum(twin != kept for twin, kept in zip(wrong, trees[:TWINS], strict=True)) >= 2


def test_the_cases_have_what_a_model_can_get_wrong() -> None:
    models = [case.model for case in cases()]
    roots = [list(model.draft(())) for model in models]
    assert sum(len(set(law)) < len(law) for law in roots) >= 20, "ties"
    assert sum(0 in law for law in roots) >= 10, "zeros"
    assert {(model.vocab, case.parameters.depth) for model, case in zip(models, cases(), strict=True)} >= {
        (vocab, depth) for vocab in (2, 3, 4) for depth in (1, 2)
    }
    assert max(len(kept_trees(case)) for case in cases()[:TWINS]) >= 5
    assert sum(len(kept_trees(case)) > 1 for case in cases()) == MODELS - LONE
    rheo, rrsw, match, flow = zip(*(step_laws(case, ALL_RULES) for case in cases()), strict=True)
    differ = [sum(one != other for one, other in zip(rheo, laws, strict=True)) for laws in (match, rrsw, flow)]
    assert all(found >= least for found, least in zip(differ, (40, 10, 20), strict=True)), "rules that differ"
    assert len(with_options()) >= 40, "options"


def test_a_missing_coq_is_a_failure_where_it_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("RHEO_REQUIRE_COQ", "1")
    with pytest.raises(pytest.fail.Exception, match="coqc is not installed"):
        coq_or_skip("models")
    monkeypatch.setenv("RHEO_REQUIRE_COQ", "0")
    with pytest.raises(pytest.skip.Exception, match="needs coqc"):
        coq_or_skip("models")
