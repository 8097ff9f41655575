"""The error budget of a run of the tests: counted, summed over workers, printed, enforced; and the root seed."""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from rheo_proof.exact.errors import InputError
from rheo_proof.stats.ledger import LIMIT, Ledger, current, separate_ledger, test_name
from rheo_proof.stats.seeds import ROOT_SEED, root_seed, spawn_key, stream

ROOT = Path(__file__).resolve().parents[2]
ASSERTION = """
from rheo_proof.stats.asserts import assert_law_equal

def test_a_coin():
    assert_law_equal(lambda generator, n: generator.integers(2, size=n), ["1/2", "1/2"], eps=0.1)
"""
SPENDER = """
import pytest
from rheo_proof.stats.ledger import current

@pytest.mark.parametrize("i", range({tests}))
def test_spends(i):
    current().spend({alpha})
"""


def run(folder: Path, source: str, *options: str, **variables: str) -> tuple[int, str]:
    """A run of pytest on one file, in a process of its own: exit status and output."""
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_it.py").write_text(source)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "RHEO_SEED"))}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "rheo_proof.pytest_plugin",
        "-p",
        "no:cacheprovider",
        *options,
    ]
    done = subprocess.run(
        [*command, "test_it.py"],
        cwd=folder,
        env={**kept, "PYTHONPATH": str(ROOT), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_a_run_prints_its_assertions_their_budget_and_the_root_seed(tmp_path: Path) -> None:
    status, out = run(tmp_path, ASSERTION, "-n", "0", RHEO_SEED="42")
    assert status == 0, out
    assert "statistical assertions: 1, error budget 1 x 1e-09 = 1e-09, limit 1e-06; root seed 42 (RHEO_SEED)" in out


def test_the_totals_of_the_workers_are_summed_and_a_run_over_the_limit_fails(tmp_path: Path) -> None:
    """No worker spends too much by itself: four tests of 3e-7 on two workers."""
    status, out = run(tmp_path, SPENDER.format(tests=4, alpha="3e-7"), "-n", "2", "--dist", "load")
    assert status == 1, out
    assert "statistical assertions: 4, error budget 4 x 3e-07 = 1.2e-06, limit 1e-06" in out
    assert "exceed their error budget" in out
    assert "4 passed" in out


def test_a_run_within_the_limit_passes(tmp_path: Path) -> None:
    """The twin; a thousand assertions at 1e-9 are exactly the limit."""
    status, out = run(tmp_path, SPENDER.format(tests=1000, alpha="1e-9"), "-n", "0")
    assert "1000 x 1e-09 = 1e-06" in out
    assert status == 0, out
    assert "exceed" not in out


def test_a_run_without_statistical_assertions_prints_nothing_of_them(tmp_path: Path) -> None:
    status, out = run(tmp_path, "def test_nothing():\n    assert True\n", "-n", "0")
    assert status == 0, out
    assert "statistical" not in out


def test_an_unusable_root_seed_stops_the_run(tmp_path: Path) -> None:
    status, out = run(tmp_path, ASSERTION, "-n", "0", RHEO_SEED="today")
    assert status == 4, out
    assert "RHEO_SEED is 'today'" in out


def test_this_run_counts_too(request: pytest.FixtureRequest) -> None:
    assert request.config.pluginmanager.hasplugin("rheo_proof.pytest_plugin")


# The ledger


def test_alphas_are_added_as_the_decimals_they_are_written_as() -> None:
    ledger = Ledger()
    for _ in range(1000):
        ledger.spend(1e-9)
    assert ledger.total == LIMIT == Fraction(1, 10**6)
    assert not ledger.exceeded
    ledger.spend(1e-300)
    assert ledger.exceeded


def test_what_one_process_spent_another_can_add() -> None:
    one, two = Ledger(), Ledger()
    one.spend(1e-9)
    one.spend(2e-9)
    two.spend(1e-9)
    two.add_plain(one.to_plain())
    assert two.total == Fraction("4e-9")
    assert two.line().startswith("statistical assertions: 3, error budget 2 x 1e-09 + 1 x 2e-09 = 4e-09")


def test_a_separate_ledger_leaves_the_one_of_the_run_alone() -> None:
    before = current().total
    with separate_ledger() as ledger:
        current().spend(0.5)
    assert ledger.total == Fraction(1, 2)
    assert current().total == before


def test_the_name_of_an_assertion_is_the_id_of_its_test(request: pytest.FixtureRequest) -> None:
    assert test_name() == request.node.nodeid


# Seeds


def test_a_stream_depends_on_root_name_and_stage_and_on_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    def first(*arguments: object) -> float:
        return float(np.random.default_rng(stream(*arguments)).random())

    monkeypatch.delenv("RHEO_SEED", raising=False)
    seen = [first("a"), first("a", 0), first("a", 1), first("a", 0, 1), first("b")]
    assert seen == [first("a"), first("a", 0), first("a", 1), first("a", 0, 1), first("b")]
    monkeypatch.setenv("RHEO_SEED", str(ROOT_SEED))
    assert first("a") == seen[0]
    monkeypatch.setenv("RHEO_SEED", "1")
    assert len({*seen, first("a")}) == 6


def test_a_spawn_key_is_the_same_in_every_process() -> None:
    program = "from rheo_proof.stats.seeds import spawn_key; print(spawn_key('a', 1))"
    keys = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": salt},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for salt in ("1", "2")
    }
    assert keys == {str(spawn_key("a", 1))}


@pytest.mark.parametrize("value", ["x", "-1", "1.5", "1e3", "٣"])
def test_a_root_seed_that_is_no_integer_is_refused(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RHEO_SEED", value)
    with pytest.raises(InputError, match="RHEO_SEED"):
        root_seed()


def test_an_empty_root_seed_is_the_one_of_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RHEO_SEED", " ")
    assert root_seed() == ROOT_SEED
