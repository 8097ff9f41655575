"""The numbers of docs/bottom-up.md: from the rule itself on the trees that the page describes, and from the program."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest

from rheo_proof.exact.classes import Classes, Weight
from rheo_proof.exact.law import Law
from rheo_proof.exact.model import ToyModel
from rheo_proof.exact.number import ONE, ZERO, Q, rational
from rheo_proof.schemes.laws import DraftClasses, class_law
from rheo_proof.schemes.tree import Node, Tree
from rheo_proof.schemes.verifying.bottom_up import BottomUp
from rheo_proof.schemes.verifying.flow import Flow
from rheo_proof.schemes.verifying.rheo import Rheo
from rheo_proof.schemes.verifying.walk import Verifying
from tests.cli.program import prove_here

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "bottom-up.md").read_text(encoding="utf-8")
T = {"root": Law.read(["0", "1/2", "1/2"]), "0": Law.read(["0", "3/4", "1/4"])}
P = {"root": Law.read(["1/2", "1/4", "1/4"]), "0": Law.read(["0", "1/2", "1/2"])}
EVEN = Law.read(["1/3", "1/3", "1/3"])


def rows(section: str) -> dict[str, list[str]]:
    """The rows of the only table of a section, by their first cell."""
    text = PAGE.split(f"## {section}\n")[1].split("\n## ")[0]
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    return {line[0]: line[1:] for line in lines if not set(line[0]) <= {"-"}}


def model() -> ToyModel:
    target = dict.fromkeys([(), *((x,) for x in range(3)), *((x, y) for x in range(3) for y in range(3))], EVEN)
    target |= {(): P["root"], (0,): P["0"]}
    draft = dict.fromkeys([(), (0,), (1,), (2,)], EVEN)
    return ToyModel(3, 2, target.__getitem__, draft.__getitem__)


def starts_with_head(rule: Verifying, z: int, x: int | None) -> Q:
    """Pr[the output starts with 0] for the tree with Z = z below the head, and the sampled token x of the root."""
    nodes = [Node((0,), 0, "head", None), Node((0, 1), z, "sampled", T["0"])]
    if x is not None:
        nodes.append(Node((1,), x, "sampled", T["root"]))
    classes: Classes = {Tree(tuple(nodes)): {(): Weight(ONE, 1)}}
    law, _ = class_law(rule, model(), DraftClasses(classes, 1))
    return sum((rational(str(mass)) for string, mass in law.strings(3) if string[0] == 0), ZERO)


def averaged(rule: Verifying, z: int, with_x: bool) -> Q:
    if not with_x:
        return starts_with_head(rule, z, None)
    return sum((mass * starts_with_head(rule, z, x) for x, mass in enumerate(T["root"]) if mass), ZERO)


def mean(values: dict[int, Q]) -> Q:
    return sum((T["0"][z] * value for z, value in values.items()), ZERO)


def test_the_page_states_the_laws_of_the_example() -> None:
    stated = rows("What an adversary sees")
    for node in ("root", "0"):
        assert stated[node] == [", ".join(map(str, P[node])), ", ".join(map(str, T[node]))]


def test_the_opponents_tree_makes_the_first_token_five_eighths_and_each_fixed_tree_one_half() -> None:
    stated = rows("What an adversary sees")
    rule = BottomUp()
    computed = {
        "without X": {z: averaged(rule, z, False) for z in (1, 2)},
        "with X": {z: averaged(rule, z, True) for z in (1, 2)},
        "with X if Z = 1": {1: averaged(rule, 1, True), 2: averaged(rule, 2, False)},
    }
    for name, values in computed.items():
        assert stated[name] == [str(values[1]), str(values[2]), str(mean(values))]
    assert mean(computed["with X if Z = 1"]) == Fraction(5, 8)
    assert "by 1/8" in PAGE


@pytest.mark.parametrize("rule", [Rheo(), Flow()])
def test_the_same_opponent_gains_nothing_against_rules_that_are_lossless(rule: Verifying) -> None:
    assert mean({1: averaged(rule, 1, True), 2: averaged(rule, 2, False)}) == P["root"][0]


def test_success_below_the_head_is_the_table_of_weights() -> None:
    stated = rows("What exactly breaks")
    rule = BottomUp()
    half = {z: averaged(rule, z, False) for z in (1, 2)}
    # With X in the tree the call for the head is reached with probability 1/2, and has weight 1.
    whole = {z: averaged(rule, z, True) / P["root"][0] for z in (1, 2)}
    for name, values in (("w = 1/2", half), ("w = 1", whole)):
        assert stated[name] == [str(values[1]), str(values[2]), str(mean(values))]


def test_random_models_do_not_refute_the_rule_and_the_search_does() -> None:
    commands = re.findall(r"`(rheo-prove --[^`]*)`", PAGE.replace("\n", " "))
    assert len(commands) >= 2
    random = prove_here(*commands[0].split()[1:])
    assert random.status == 3
    assert re.search(r"Decided: .*", PAGE).group() in random.out  # type: ignore[union-attr]
    searched = prove_here(*commands[1].split()[1:])
    assert searched.status == 1
    assert re.search(r"(?m)^V = .*bottom-up$", PAGE).group() in searched.out  # type: ignore[union-attr]
    assert "Total variation distance of the completed output: 1/4" in searched.out
    assert "from the target's law is 1/4" in PAGE
