"""docs/reach.md: the rungs that it names are what the commands say that they prove, and what it calls invisible is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rheo_proof.cli.program import cli
from rheo_proof.theorems.adversary import AGAINST
from tests.cli.program import prove_here

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reach.md").read_text(encoding="utf-8")
LADDER = PAGE.split("## The ladder\n")[1].split("\n### ")[0]
SMALL = ("--vocab", "2", "--depth", "1", "--slots", "2", "--nodes", "2", "--instances", "1", "--verify", "rheo")


def test_every_command_of_the_page_is_one() -> None:
    named = set(re.findall(r"`rheo-prove ([a-z]+)", PAGE))
    assert named >= {"policies", "symbolic", "check", "export"}
    assert named <= set(cli.commands)


def test_the_ladder_has_the_statements_of_the_commands_and_ends_on_paper() -> None:
    rungs = re.findall(r"(?m)^\| \*\*(.*?)\*\* \| .* \| (.*?) \|$", LADDER)
    assert rungs == [
        ("instance", "`rheo-prove`"),
        ("all tree policies", "`rheo-prove policies`"),
        ("all targets, one node", "`rheo-prove symbolic`"),
        ("all targets, whole trees", "`rheo-prove symbolic`"),
        ("the theorem", "[on paper](theorem.md)"),
    ]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (SMALL, ["statement 'instance'", "other models and sizes, other tree policies", "PROVED"]),
        (("policies", *SMALL), ["statement 'all predictable policies'", "every predictable policy", "PROVED"]),
        (
            ("symbolic", "--vocab", "2", "--head", "0", "--verify", "rheo"),
            [
                "Proved, one node: rheo; for every target law p and every tail law t",
                "Proved, whole tree: rheo; for every target at every prefix",
                "From one node to all trees: not computed here. It is the induction of the theorem",
                "PROVED",
            ],
        ),
    ],
)
def test_a_run_says_itself_which_rung_it_is_on(arguments: tuple[str, ...], says: list[str]) -> None:
    run = prove_here(*arguments)
    assert run.status == 0
    for words in says:
        assert words in run.words
    assert "Not covered: " in run.words


def test_policies_that_choose_m_at_every_node_take_an_option_and_the_page_says_so() -> None:
    assert "| how many heads, the same at every node | policies, at each m |" in PAGE
    assert "| how many heads, per node, from q | policies with `--head any` |" in PAGE
    run = prove_here("policies", *SMALL)
    assert "another m at another node (--head any)" in run.words
    run = prove_here("policies", *SMALL, "--head", "any")
    assert (run.status, "that chooses m at every node" in run.words) == (0, True)


@pytest.mark.parametrize("name", ["own-probability", "low-proxy", "tie-by-token"])
def test_a_fault_that_looks_at_the_token_is_refuted_on_the_first_rung_and_has_none_among_policies(name: str) -> None:
    assert f"`{name}`" in PAGE
    assert name not in AGAINST
    refused = prove_here("policies", "--verify", name)
    assert (refused.status, refused.out) == (2, "")
    assert prove_here("--fault", name, "--vocab", "3", "--depth", "2", "--slots", "2", "--instances", "1").status == 1


def test_the_checker_has_the_size_that_the_page_says() -> None:
    checker = ROOT / "rheo_proof" / "theorems" / "checker.py"
    lines = len(checker.read_text(encoding="utf-8").splitlines())
    assert f"or {lines} lines of it" in PAGE
    assert lines <= 350
