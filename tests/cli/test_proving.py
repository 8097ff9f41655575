"""A proof on the battery of toy models: what it says, where it says it, and that it says it again."""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from rheo_proof.exact.families import FAMILIES
from rheo_proof.report.console import number
from rheo_proof.schemes.faults import FAULTS
from rheo_proof.schemes.registry import ALL, CONTROLS, LOSSY, ZOO
from rheo_proof.schemes.scheme import SCHEMES
from rheo_proof.schemes.variations import VARIATIONS
from rheo_proof.theorems.zoo import PLANNED, SCHEMES_KNOWN
from tests.cli.program import Run, command, environment, prove, prove_here, settled, strings_shown, tables

DEFAULT_RULES = ("rheo", "rrsw", "flow")
SMALL = ("--vocab", "3", "--depth", "2", "--instances", "10")


def test_the_default_scheme_is_proved(proof: tuple[Run, dict[str, Any]]) -> None:
    run, content = proof
    assert run.status == 0
    assert run.err == ""
    assert "\x1b" not in run.out
    assert run.out.splitlines()[-1] == "PROVED: lossless."
    assert content["verdict"] == "lossless"


def test_every_rule_and_every_m_are_decided_on_every_model(proof: tuple[Run, dict[str, Any]]) -> None:
    run, content = proof
    shown = tables(run.out)
    assert tuple(shown) == DEFAULT_RULES
    for rows in shown.values():
        assert [row["m"] for row in rows] == ["0", "1", "2", "3"]
        assert {(row["models"], row["lossless"], row["biased"], row["largest TV"]) for row in rows} == {
            ("20", "20", "0", "0")
        }
        assert all(int(row["classes"].replace(",", "")) >= 20 for row in rows)
    decided = {(i["family"], i["seed"], i["scheme"]["head"], i["scheme"]["verify"]) for i in content["instances"]}
    assert len(decided) == len(content["instances"]) == 20 * 4 * 3
    assert {i["tv"] for i in content["instances"]} == {"0"}


def test_at_least_nine_families_take_part_and_are_named(proof: tuple[Run, dict[str, Any]]) -> None:
    run, content = proof
    families = {instance["family"] for instance in content["instances"]}
    assert families == set(FAMILIES)
    assert {(i["family"], i["seed"]) for i in content["instances"]} == {(f, seed) for f in FAMILIES for seed in (0, 1)}
    assert len(families) >= 9
    [covered] = [part for part in run.words.split("Covered: ")[1:] if part.startswith("statement")]
    assert all(family in covered for family in families)


def test_the_closing_lines_say_what_was_covered_and_what_was_not(proof: tuple[Run, dict[str, Any]]) -> None:
    words = proof[0].words
    covered, _, not_covered = words.partition("Covered: ")[2].partition("Not covered: ")
    assert "statement 'instance' for 20 models" in covered
    assert all(part in covered for part in ("V = 5", "D = 3", "K = 3", "B = 3", "N = 8", "m = 0, 1, 2, 3", "exact"))
    assert all(part in not_covered for part in ("other models", "floating point", "random generators"))
    assert not_covered.endswith("PROVED: lossless.")
    assert "Decided: 240 lossless, 0 biased, 0 undecided" in words


def test_expected_tokens_and_one_whole_law_are_shown_and_are_those_of_the_file(
    proof: tuple[Run, dict[str, Any]],
) -> None:
    run, content = proof
    assert "One model in full: random 0, rheo, m = 1" in run.words
    [one] = [
        i
        for i in content["instances"]
        if (i["family"], i["seed"], i["scheme"]["head"], i["scheme"]["verify"]) == ("random", 0, 1, "rheo")
    ]
    assert f"expected tokens {number(Fraction(one['expected_tokens']))}" in run.words
    shown = strings_shown(run.out)
    assert len(shown) == 5
    assert shown == {string: number(Fraction(one["law"][string])) for string in shown}
    likeliest = sorted((Fraction(mass) for mass in one["law"].values()), reverse=True)[:5]
    assert [Fraction(one["law"][string]) for string in shown] == likeliest


def test_a_proof_is_printed_again_word_for_word_whatever_the_hash_seed(tmp_path: Path) -> None:
    first, second = (prove(tmp_path, *SMALL, PYTHONHASHSEED=seed) for seed in ("1", "2"))
    assert first.status == 0
    assert settled(first.out) == settled(second.out)


def test_another_seed_gives_another_output() -> None:
    """The twin: what stays the same above is not the same for everything."""
    assert settled(prove_here(*SMALL).out) != settled(prove_here(*SMALL, "--seed", "5").out)


def test_the_rational_type_changes_no_verdict_and_no_number(tmp_path: Path) -> None:
    slow = prove(tmp_path, *SMALL, RHEO_NUMBER="fraction")
    assert "fractions.Fraction" in slow.out
    assert slow.status == 0
    fast = prove_here(*SMALL)
    assert settled(slow.out).replace("fractions.Fraction", "") == settled(fast.out).replace("gmpy2.mpq", "").replace(
        "fractions.Fraction", ""
    )


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_a_terminal_sees_a_progress_bar_on_stderr_only(tmp_path: Path) -> None:
    import pty

    leader, follower = pty.openpty()
    arguments = command(["--vocab", "3", "--depth", "2", "--instances", "20"])
    with subprocess.Popen(
        arguments, cwd=tmp_path, env=environment(TERM="xterm"), stdout=subprocess.PIPE, stderr=follower
    ) as process:
        os.close(follower)
        on_terminal = read_all(leader)
        assert process.stdout is not None
        out = process.stdout.read()
    os.close(leader)
    assert process.returncode == 0
    assert b"deciding" in on_terminal
    assert b"\x1b[" in on_terminal
    assert b"\x1b" not in out
    assert b"deciding" not in out
    assert out.decode().splitlines()[-1] == "PROVED: lossless."


def read_all(descriptor: int) -> bytes:
    """Everything that is written to a pseudo-terminal until its other end is closed."""
    read = b""
    while True:
        try:
            more = os.read(descriptor, 4096)
        except OSError:  # how Linux says that the other end is closed
            return read
        if not more:
            return read
        read += more


# What there is


def test_all_schemes_and_variations_are_listed_each_with_its_line_and_what_to_expect(tmp_path: Path) -> None:
    run = prove(tmp_path, "schemes")
    assert (run.status, run.err) == (0, "")
    rows = {line.split()[0]: line for line in run.out.splitlines() if line.strip() and not line.startswith(" ─")}
    assert set(rows) == {"scheme", *SCHEMES_KNOWN}
    assert {*SCHEMES, *VARIATIONS, *ZOO, *LOSSY, *PLANNED} == set(SCHEMES_KNOWN)
    for name, named in SCHEMES_KNOWN.items():
        assert named.line in rows[name]
        assert rows[name].rstrip().endswith(f" {named.expected}")


def test_all_faults_are_listed_each_with_the_condition_it_breaks(tmp_path: Path) -> None:
    run = prove(tmp_path, "faults")
    assert (run.status, run.err) == (0, "")
    rows = {line.split()[0]: line for line in run.out.splitlines() if line.strip() and not line.startswith(" ─")}
    assert set(rows) == {"fault", *FAULTS, *CONTROLS}
    assert (len(FAULTS), len(CONTROLS)) == (18, 15)
    assert all(named.line in rows[name] for name, named in {**FAULTS, **CONTROLS}.items())


def test_help_and_version_are_there(tmp_path: Path) -> None:
    shown = prove(tmp_path, "--help")
    assert (shown.status, shown.err) == (0, "")
    options = ("--vocab", "--depth", "--slots", "--head", "--beam", "--nodes", "--sparse", "--proxy", "--verify")
    options += ("--scheme", "--fault", "--model", "--instances", "--seed", "--family", "--json", "--jobs", "--timeout")
    assert [option for option in options if option not in shown.out] == []
    assert prove_here("--version").out.startswith("rheo-prove, version ")


@pytest.mark.parametrize("name", [*SCHEMES, *VARIATIONS])
def test_a_named_scheme_ends_with_the_status_that_the_listing_promises(name: str) -> None:
    sizes = ("--vocab", "3", "--depth", "3", "--instances", "10")
    run = prove_here("--scheme", name, *sizes, *(() if ALL[name].lossless else ("--head", "1")))
    assert run.err == ""
    assert run.status == (0 if ALL[name].lossless else 1)
    assert run.out.splitlines()[-1] == ("PROVED: lossless." if ALL[name].lossless else "REFUTED: biased.")
    assert name in tables(run.out)


def test_several_schemes_are_decided_side_by_side_each_once() -> None:
    names = ("chain", "block", "match")
    run = prove_here(*(f"--scheme={name}" for name in (*names, "chain")), "--vocab", "3", "--depth", "2")
    assert run.status == 0
    assert tuple(tables(run.out)) == names
    assert [row["m"] for row in tables(run.out)["chain"]] == ["0"]
    assert "K = 1, B = 1, N = 8 (chain, block); D = 2, K = 3, B = 3, N = 8 (match)" in run.words


def test_chosen_heads_rules_and_families_are_the_only_ones_decided() -> None:
    chosen = ("--head", "2", "--head", "0", "--verify", "flow", "--verify", "match", "--family", "ties")
    run = prove_here("--vocab", "3", "--depth", "2", *chosen, "--instances", "3", "--slots", "2")
    assert run.status == 0
    assert {name: [row["m"] for row in rows] for name, rows in tables(run.out).items()} == {
        "flow": ["2", "0"],
        "match": ["2", "0"],
    }
    assert "3 models (ties)" in run.words


def test_rrsw_is_left_out_with_the_tail_proxy_and_a_note_says_so() -> None:
    run = prove_here(*SMALL, "--proxy", "tail", "--proxy-scale", "1/2")
    assert run.status == 0
    assert tuple(tables(run.out)) == ("rheo", "flow")
    assert "Note: rrsw was left out" in run.words
    assert "proxy tail x 1/2" in run.words
