"""What docs/storm.md says of Storm: its runs, the sizes of its quotients, and the traps; and kept trees by Storm."""

from __future__ import annotations

import shlex
from dataclasses import replace
from fractions import Fraction

import pytest
from click.testing import CliRunner

from rheo_proof.cli.program import cli
from rheo_proof.exact.families import family_model
from rheo_proof.exact.number import ONE
from rheo_proof.schemes.scheme import Parameters, plain
from rheo_proof.theorems.chain import PHASES, TREE, Point, Program, markov_chain
from rheo_proof.theorems.export import drn
from rheo_proof.theorems.process import Process, Way, explored, numbered, one
from rheo_proof.theorems.storm import Quotient, law_by_storm, need_storm, quotient, read
from tests.crosscheck.needs_storm import storm_or_skip
from tests.docs_storm import SHOWN, asked, lines, rows
from tests.exact.test_export import trees_of_the_classes

storm_or_skip()

CHECKS = [command for command in SHOWN if command.startswith("storm")]


def test_the_page_shows_three_checks() -> None:
    assert len(CHECKS) == 3


@pytest.mark.parametrize("command", CHECKS)
def test_a_check_on_the_page_is_what_the_program_prints(command: str) -> None:
    run = CliRunner().invoke(cli, shlex.split(command))
    assert run.exit_code == 0
    assert lines(run.output) == lines(SHOWN[command])


@pytest.mark.parametrize("options", rows())
def test_storms_quotients_of_a_row_are_computed_again(options: str) -> None:
    case, row = asked(options), rows()[options]
    chain = markov_chain(case.scheme, case.model)
    assert quotient(chain) == (row["strong"], row["blocks"])
    weak = quotient(chain, weak=True)
    assert weak.states == row["weak"]
    assert weak.trees <= row["blocks"]


def test_states_of_different_futures_are_not_merged() -> None:
    """Twin: with the outputs made alike the same chain has a block for each phase, unless one counts steps."""
    chain = markov_chain(plain(Parameters(slots=2, head=0, depth=2, nodes=4)), family_model("random", 0, 3, 2))
    outputs = tuple(sorted(state for label, where in chain.labels.items() if label != TREE for state in where))
    alike = replace(chain, labels={TREE: chain.labels[TREE], "out_0": outputs})
    assert quotient(alike).states < quotient(chain).states // 3
    assert quotient(alike, weak=True) == Quotient(len(PHASES), 1)


@pytest.mark.parametrize(("head", "nodes"), [(1, 4), (0, 4), (0, 3)])
def test_storm_gives_every_kept_tree_the_probability_that_the_classes_give_it(head: int, nodes: int) -> None:
    """The chain is cut off where a tree is kept, and the tree is the output."""
    model = family_model("random", 0, 3, 2)
    scheme = plain(Parameters(slots=2, head=head, depth=2, nodes=nodes))
    program = Program(scheme, model)
    trees: list[Point] = []

    def way(point: Point) -> Way:
        if point.phase != "tree":
            return program.way(point)._replace(labels=())
        trees.append(point)
        return Way((1, len(trees)), "", [("", [(point, ONE)])], (f"out_{len(trees) - 1}",))

    law = law_by_storm(drn(numbered(explored(program.start(), way))), "drn")
    assert len(trees) > 2
    assert {trees[n].state: mass for (n,), mass in law.items()} == trees_of_the_classes(scheme, model)


# Traps of stormpy that the page names; the others are in test_storm_step.py


def test_storm_takes_a_comment_among_transitions_for_one() -> None:
    text = drn(markov_chain(plain(Parameters(slots=1, head=0, depth=1, nodes=1)), family_model("random", 0, 2, 1)))
    assert read(text, "drn").nr_states > 5
    with pytest.raises(RuntimeError, match="':' not found"):
        read(text.replace("    action 0\n", "    action 0\n        // a comment\n"), "drn")


def test_bisimulation_takes_no_rational_model() -> None:
    stormpy = need_storm()
    model = read(drn(Process((one((0, ONE)),), ("",), {"out_0": (0,)})), "drn")
    with pytest.raises(TypeError, match="incompatible function arguments"):
        stormpy.transformations.perform_bisimulation(model, stormpy.parse_properties('P=? [F "out_0"]'))


def test_a_float_is_taken_over_as_its_binary_value() -> None:
    stormpy = need_storm()
    assert Fraction(str(stormpy.Rational("0.1"))) == Fraction(1, 10)
    assert Fraction(str(stormpy.Rational(0.1))) == Fraction(0.1) != Fraction(1, 10)
