"""The exported texts say what the program does: read back without the package, they have its law, to the last digit."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from rheo_proof.exact.chance import Chance, Var
from rheo_proof.exact.errors import LimitReached, SoundnessError
from rheo_proof.exact.families import family_model
from rheo_proof.exact.files import load_json, read_model
from rheo_proof.exact.law import Law
from rheo_proof.exact.model import Prefix, ToyModel, tabled
from rheo_proof.exact.number import ONE, Q, to_fraction
from rheo_proof.exact.step import target_probability
from rheo_proof.schemes.laws import draft_classes, law_by_classes
from rheo_proof.schemes.scheme import Parameters, Scheme, plain
from rheo_proof.schemes.tree import Tree
from rheo_proof.schemes.verifying.rheo import Rheo
from rheo_proof.schemes.verifying.walk import Walk
from rheo_proof.theorems.chain import TREE, Program, markov_chain
from rheo_proof.theorems.export import FORMATS, prism
from rheo_proof.theorems.induction import bounds
from rheo_proof.theorems.instances import Entry
from rheo_proof.theorems.policies import Policies
from rheo_proof.theorems.policy_process import policy_process
from rheo_proof.theorems.process import Choice, Process, Row, explored, numbered, one, out, string_of
from rheo_proof.theorems.zoo import EVERY
from tests.exported import READERS, Read, read_prism
from tests.strategies import Instance, instances

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
HALF, THIRD = Q(1, 2), Q(1, 3)

every_format = pytest.mark.parametrize("language", FORMATS)


def two() -> ToyModel:
    return read_model(load_json(GOLDEN / "two.json"), "two.json")


def text(process: Process, language: str) -> str:
    return FORMATS[language](process, ())


def read(process: Process, language: str) -> Read:
    return READERS[language](text(process, language))


def emitted(scheme: Scheme, model: ToyModel) -> dict[Prefix, Fraction]:
    return dict(law_by_classes(scheme, model).strings(model.vocab))


def scheme_of(name: str, **parameters: Any) -> Scheme:
    return Entry.of(name, Parameters(**parameters)).scheme()


# The law


@every_format
@given(instances())
@settings(max_examples=40)
def test_the_text_of_a_step_has_the_law_of_the_class_enumerator(language: str, instance: Instance) -> None:
    scheme = plain(instance.parameters)
    try:
        process = markov_chain(scheme, instance.model, states=600)
    except LimitReached:
        return
    assert read(process, language).law() == emitted(scheme, instance.model)


def test_many_of_those_instances_are_small_enough() -> None:
    """Twin: a limit that stopped them all would make the test above say nothing."""
    sizes: list[int] = []

    @given(instances())
    @settings(max_examples=40)
    def collect(instance: Instance) -> None:
        try:
            sizes.append(len(markov_chain(plain(instance.parameters), instance.model, states=600).choices))
        except LimitReached:
            sizes.append(0)

    collect()
    assert len([size for size in sizes if size > 10]) > len(sizes) // 3


@pytest.mark.parametrize("name", EVERY)
def test_every_named_scheme_is_exported_with_its_law(name: str) -> None:
    scheme, model = scheme_of(name, slots=2, head=1, depth=2, nodes=4), family_model("random", 0, 2, 2)
    try:
        process = markov_chain(scheme, model, states=1500)
    except LimitReached:
        scheme, model = scheme_of(name, slots=2, head=1, depth=1, nodes=4), family_model("random", 0, 2, 1)
        process = markov_chain(scheme, model)
    assert read(process, "drn").law() == emitted(scheme, model)


@pytest.mark.parametrize(
    ("fault", "head"), [("skip-residual", 1), ("verify-full-q", 1), ("own-probability", 0), ("rsd-sort-by-q", 0)]
)
def test_a_fault_is_exported_with_its_law_which_is_not_the_targets(fault: str, head: int) -> None:
    model = family_model("random", 1, 3, 2)
    scheme = scheme_of(fault, slots=2, head=head, depth=2, nodes=3)
    law = read(markov_chain(scheme, model, complete=True), "prism").law()
    target = {v: to_fraction(target_probability(model, v)) for v in product(range(3), repeat=3)}
    assert {v for v in law if law[v]} <= set(target)
    distance = sum(abs(law.get(v, Fraction(0)) - target[v]) for v in target) / 2
    assert distance > 0
    assert distance == law_by_classes(scheme, model).total_variation(model)


@every_format
def test_a_completed_step_of_a_lossless_scheme_has_the_targets_law(language: str) -> None:
    model = family_model("ties", 3, 3, 2)
    for rule in ("rheo", "rrsw", "flow", "match"):
        process = markov_chain(plain(Parameters(slots=2, head=1, depth=2, nodes=4, verify=rule)), model, complete=True)
        law = read(process, language).law()
        strings = product(range(3), repeat=3)
        assert law == {v: to_fraction(p) for v in strings if (p := target_probability(model, v))}


def test_a_corrupted_transition_changes_the_law() -> None:
    """Twin: the law that is read hangs on every probability of the text."""
    scheme, model = plain(Parameters(slots=2, head=0, depth=2, nodes=3)), family_model("random", 0, 2, 2)
    process = markov_chain(scheme, model)
    law = read(process, "drn").law()
    changed = list(corruptions(process))
    assert len(changed) > 10
    assert all(read(wrong, "drn").law() != law for wrong in changed)


def corruptions(process: Process) -> list[Process]:
    """The process with the two first probabilities of one row changed, for every row that has two."""
    found = []
    for state, (choice, *_) in enumerate(process.choices):
        if len(choice.row) > 1:
            (a, mass), (b, other), *rest = choice.row
            row: Row = ((a, mass / 2), (b, other + mass / 2), *rest)
            choices = (*process.choices[:state], (Choice("", row),), *process.choices[state + 1 :])
            found.append(replace(process, choices=choices))
    return found


# Kept trees


@pytest.mark.parametrize("parameters", [(2, 1, 4), (2, 0, 4), (2, 0, 3), (3, 0, 4)])
def test_classes_give_every_kept_tree_the_probability_that_the_chain_gives_it(parameters: tuple[int, int, int]) -> None:
    slots, head, nodes = parameters
    for family in ("random", "ties", "zeros"):
        model = family_model(family, 0, 3, 2)
        scheme = plain(Parameters(slots=slots, head=head, depth=2, nodes=nodes))
        assert trees_of_the_chain(scheme, model) == trees_of_the_classes(scheme, model)


def trees_of_the_chain(scheme: Scheme, model: ToyModel) -> dict[Tree, Fraction]:
    """Every kept tree with its probability in the exported text, read by label."""
    program = Program(scheme, model)
    found = explored(program.start(), program.way)
    trees = {point: f"tree_{n}" for n, point in enumerate(p for p in found if p.phase == "tree")}
    marked = {point: way._replace(labels=(trees.get(point, "other"),)) for point, way in found.items()}
    back = read(numbered(marked), "drn")
    return {point.state: back.reach(label)[0] for point, label in trees.items()}


def trees_of_the_classes(scheme: Scheme, model: ToyModel) -> dict[Tree, Fraction]:
    """Every kept tree that the classes stand for: the equation of docs/classes.md, written out."""
    found: dict[Tree, Fraction] = {}
    for tree, entries in draft_classes(scheme.drafting, model).classes.items():
        for known, weight in entries.items():
            names = [name for name, _ in known]
            for values in product(*(belief.among for _, belief in known)):
                tokens = dict(zip(names, values, strict=True))
                nodes = tuple(
                    node._replace(token=tokens[node.token.name]) if isinstance(node.token, Var) else node
                    for node in tree.nodes
                )
                mass = weight.mass
                for (name, belief), x in zip(known, values, strict=True):
                    assert name in tokens
                    mass *= belief.law[x] / belief.mass
                found[Tree(nodes)] = found.get(Tree(nodes), Fraction(0)) + to_fraction(mass)
    return found


# Policies


@every_format
@pytest.mark.parametrize("peek", [False, True])
@pytest.mark.parametrize(("verify", "head"), [("rheo", 0), ("rheo", 1), ("rrsw", 1), ("flow", 0)])
def test_the_text_of_policies_has_the_extremes_of_backward_induction(
    verify: str, head: int, peek: bool, language: str
) -> None:
    parameters = Parameters(slots=2, head=head, depth=1, nodes=2, verify=verify)
    policies = Policies(family_model("random", 0, 3, 1), parameters.verifying(), [parameters.drafting()], peek=peek)
    found = bounds(policies)
    ours = {
        v: (to_fraction(a), to_fraction(b)) for v, a, b in zip(found.strings, found.low, found.high, strict=True) if b
    }
    assert read(policy_process(policies), language).outputs() == ours
    assert found.lossless == (not peek and verify != "rrsw")


# What is refused


def test_a_row_that_is_no_law_is_refused() -> None:
    end = one((1, ONE))
    assert Process((one((0, HALF), (1, HALF)), end), ("", ""), {})
    wrong: list[Any] = [
        ((0, HALF), (1, THIRD)),
        ((0, HALF), (1, HALF + THIRD)),
        ((0, ONE), (1, Q(0))),
        ((0, ONE + HALF), (1, -HALF)),
        ((0, 0.5), (1, 0.5)),
        ((1, HALF), (0, HALF)),
        ((1, HALF), (1, HALF)),
        ((0, HALF), (2, HALF)),
        (),
    ]
    for row in wrong:
        with pytest.raises(SoundnessError):
            Process(((Choice("", row),), end), ("", ""), {})


def test_a_process_that_cannot_be_written_is_refused() -> None:
    a, end = one((1, ONE)), one((1, ONE))
    fits: dict[str, Any] = {"choices": (a, end), "words": ("", ""), "labels": {"out_0": (1,)}}
    assert Process(**fits)
    for wrong in (
        {"choices": (a, ())},
        {"choices": (a, (*end, *end))},
        {"choices": (a, one((0, ONE)))},
        {"words": ("",)},
        {"labels": {"out 0": (1,)}},
        {"labels": {"out_0": (2,)}},
        {"labels": {"out_0": (1, 0)}},
    ):
        with pytest.raises(SoundnessError):
            Process(**{**fits, **wrong})
    assert Process(**{**fits, "choices": (a, (*end, *end)), "kind": "mdp"}).kind == "mdp"


def test_too_many_states_are_refused() -> None:
    scheme, model = plain(Parameters(slots=2, head=1, depth=2, nodes=4)), family_model("random", 0, 3, 2)
    count = len(markov_chain(scheme, model).choices)
    assert len(markov_chain(scheme, model, states=count).choices) == count
    with pytest.raises(LimitReached, match=f"more than {count - 1} states"):
        markov_chain(scheme, model, states=count - 1)


def test_a_step_that_is_no_function_of_its_answers_is_noticed() -> None:
    class Forgetful(Rheo):
        """It asks for a coin the first time it stands somewhere, and not again."""

        def __init__(self) -> None:
            self.asked: set[Prefix] = set()

        def at(self, model: ToyModel, walk: Walk, chance: Chance) -> Any:
            if walk.prefix not in self.asked:
                self.asked.add(walk.prefix)
                chance.coin(HALF, ("coin", 0, 9))
            return super().at(model, walk._replace(children=()), chance)

    drafting = Parameters(slots=1, head=1, depth=1, nodes=1).drafting()
    point = Law.read(["1", "0"])
    certain = tabled(2, 1, {(): point, (0,): point}, {(): point})
    with pytest.raises(SoundnessError, match="did not ask again"):
        markov_chain(Scheme(drafting, Forgetful()), certain)


# The texts


@pytest.mark.parametrize("name", ["step.prism", "step.drn", "completed.prism", "policies.prism", "policies.drn"])
def test_the_texts_of_a_small_example_are_those_in_the_repository(name: str) -> None:
    stem, _, language = name.partition(".")
    parameters = Parameters(slots=1, head=0, depth=1, nodes=1)
    if stem == "policies":
        process = policy_process(Policies(two(), Rheo(), [parameters.drafting()]))
    else:
        process = markov_chain(plain(parameters), two(), complete=stem == "completed")
    golden = (GOLDEN / name).read_text("utf-8")
    assert golden.endswith(text(process, language))
    title = golden.removesuffix(text(process, language))
    assert all(line.startswith("//") or not line for line in title.splitlines())


def test_the_law_of_the_small_example_by_hand() -> None:
    """q = (1/2, 1/2), p = (1/3, 2/3): X = 0 is kept with probability 2/3, X = 1 always; then the token repeats."""
    law = read_prism((GOLDEN / "step.prism").read_text("utf-8")).law()
    assert law == {(0, 0): Fraction(1, 3), (1,): Fraction(1, 6), (1, 1): Fraction(1, 2)}
    completed = read_prism((GOLDEN / "completed.prism").read_text("utf-8")).law()
    assert completed == {(0, 0): Fraction(1, 3), (1, 1): Fraction(2, 3)}


def test_the_text_does_not_depend_on_the_number_type_or_the_hash_seed() -> None:
    command = [sys.executable, "-m", "rheo_proof", "export", "--nodes", "3", "--head", "0"]
    texts = set()
    for numbers, seed in (("fraction", "1"), ("gmpy2", "2")):
        environ = {**os.environ, "RHEO_NUMBER": numbers, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        texts.add(subprocess.run(command, env=environ, capture_output=True, text=True, check=True, cwd=ROOT).stdout)
    assert len(texts) == 1
    assert "dtmc" in texts.pop()


def test_long_numbers_are_decimals_in_prism_text_and_stay_exact() -> None:
    """Storm refuses whole numbers beyond 64 bits there."""
    for below, written in ((2**63 - 1, f"1/{2**63 - 1} :"), (2**63, f"1.0/{2**63}.0 :")):
        tiny = Q(1, below)
        process = Process((one((0, ONE - tiny), (1, tiny)), one((1, ONE))), ("", ""), {out((1,)): (1,)})
        assert written in prism(process)
        assert read_prism(prism(process)).rows[0][0][1] == Fraction(1, below)


def test_a_title_stays_a_comment() -> None:
    process = Process((one((0, ONE)),), ("",), {})
    assert prism(process, ["a\nmodule b \u2028 \udc80"]).splitlines()[0] == "// a module b \\udc80"


def test_a_label_with_a_gap_leaves_out_what_is_in_the_gap() -> None:
    ends = [one((state, Q(1))) for state in range(1, 6)]
    ways = tuple((state, Q(1, 5)) for state in range(1, 6))
    process = Process((one(*ways), *ends), tuple("abcdef"), {"out_0": (1, 3, 4)})
    assert 'label "out_0" = s=1 | (s>=3 & s<=4);' in text(process, "prism")


def test_labels_are_read_back() -> None:
    strings: list[Prefix] = [(0,), (1, 0), (10,), (1, 0, 12)]
    assert [string_of(out(string)) for string in strings] == strings
    assert string_of(TREE) is None
