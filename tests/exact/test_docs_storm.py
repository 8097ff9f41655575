"""docs/storm.md: the exports that it shows are those of the program, and so are the counts that need no Storm.

What Storm says on the page is computed again in `tests/crosscheck/test_storm_counts.py`.
"""

from __future__ import annotations

import shlex

import pytest
from click.testing import CliRunner

from rheo_proof.cli.program import cli
from rheo_proof.schemes.laws import draft_classes
from rheo_proof.theorems.chain import TREE, markov_chain
from rheo_proof.theorems.second_opinion import boxes
from tests.docs_storm import PAGE, ROOT, SHOWN, asked, rows

EXPORTS = [command for command in SHOWN if command.startswith("export")]


def test_the_page_shows_two_exports_and_three_checks() -> None:
    assert (len(EXPORTS), len(SHOWN)) == (2, 5)


@pytest.mark.parametrize("command", EXPORTS)
def test_an_export_on_the_page_is_what_the_program_writes(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "tests" / "golden")
    assert CliRunner().invoke(cli, shlex.split(command)).output == SHOWN[command]


def test_the_model_on_the_page_is_the_one_in_the_repository() -> None:
    assert f"```json\n{(ROOT / 'tests' / 'golden' / 'two.json').read_text('utf-8')}```" in PAGE


@pytest.mark.parametrize("options", rows())
def test_states_trees_and_classes_of_a_row_are_counted_again(options: str) -> None:
    case = asked(options)
    chain = markov_chain(case.scheme, case.model)
    drafted = draft_classes(case.scheme.drafting, case.model)
    row = rows()[options]
    assert (row["states"], row["kept trees"]) == (len(chain.choices), len(chain.labels[TREE]))
    assert (row["classes"], row["stand for"]) == (drafted.count, boxes(drafted))


def test_the_order_that_the_page_claims_holds_in_every_row() -> None:
    for row in rows().values():
        assert row["states"] >= row["strong"] >= row["weak"]
        assert row["stand for"] == row["kept trees"] >= row["blocks"]
    looking = [row for row in rows().values() if row["classes"] == row["stand for"] > 1]
    assert len(looking) > 4
    assert all(row["classes"] >= row["blocks"] for row in looking)


def test_classes_and_blocks_are_in_no_order() -> None:
    table = rows()
    fewer = [options for options, row in table.items() if row["classes"] < row["blocks"]]
    more = [options for options, row in table.items() if row["blocks"] < row["classes"] < row["kept trees"]]
    assert {"--head 0", "--head 0 --nodes 8", "--head 0 --verify flow"} <= set(fewer)
    assert more == ["--vocab 4 --head 0 --nodes 6 --family disjoint"]
    assert table[more[0]]["blocks"] == 1
