"""The page about regions: its runs are real, and so are its counts."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest

from rheo_proof.exact.limits import Limits
from rheo_proof.schemes.faults import FAULTS
from rheo_proof.schemes.scheme import Parameters, plain
from rheo_proof.theorems.cutting import over_regions
from rheo_proof.theorems.node_statements import EVERY_FILL, Case, differences
from rheo_proof.theorems.statements import EVERY_ORDER, FLOW_EVERY_ORDER, TREE_POINTS, token_orders
from tests.cli.program import prove_here
from tests.exact.test_docs_compare import settled
from tests.exact.test_statements import NODE_FAULTS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "regions.md").read_text("utf-8")
BLOCK = re.compile(r"^```console\n\$ rheo-prove (?P<command>.*)\n(?P<shown>[\s\S]*?)^```", re.MULTILINE)
SHOWN = {block["command"]: block["shown"] for block in BLOCK.finditer(PAGE)}
COUNTS = re.findall(r"^\| (\d+) \| (\d+) \| (\d+) \|$", PAGE, re.MULTILINE)


@pytest.mark.parametrize("command", SHOWN)
def test_a_run_of_the_page_prints_what_it_shows(command: str) -> None:
    run = prove_here(*command.split())
    assert run.status == (1 if "--fault" in command else 0)
    assert settled(run.out) == settled(SHOWN[command])
    assert settled(run.out) != settled(SHOWN[command].replace("1", "2"))


def test_the_counts_of_regions_are_right() -> None:
    assert [vocab for vocab, _, _ in COUNTS] == ["2", "3", "4"]
    for vocab, regions, shapes in ((int(a), int(b), int(c)) for a, b, c in COUNTS):
        case = Case(vocab, 0, "X")
        scheme = plain(case.parameters(Parameters(verify="rheo")))
        compute = partial(differences, scheme, case, Limits(), False)
        leaves = [leaf for leaf, _ in over_regions(case.whole(), compute)]
        assert (len(leaves), len({case.shape(leaf) for leaf in leaves})) == (regions, shapes)
        assert regions == 3**vocab - 2 ** (vocab + 1) + 2


def test_the_sentences_about_sizes_and_faults_are_right() -> None:
    assert (EVERY_ORDER, FLOW_EVERY_ORDER, EVERY_FILL, TREE_POINTS) == (4, 3, 4, 6)
    assert "beyond four tokens, with no fills and with all of them" in PAGE
    assert "on trees in up to six regions for each branch" in PAGE
    assert "tried in\ntwo other orders" in PAGE
    assert (len(token_orders(5, 0, every=False)), len(token_orders(4, 0, every=True))) == (3, 1)
    assert "Up to four tokens (three for FlowVerification) all orders" in PAGE
    assert len(SHOWN) == 2
    assert set(NODE_FAULTS) < set(FAULTS)
