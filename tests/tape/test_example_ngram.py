"""examples/ngram: its models have laws, what it prints can be read, and a seed decides all of it."""

from __future__ import annotations

import ast
import importlib.util
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "ngram"
RULES = ["top-K", "rheo", "flow"]
DEPTH = 5


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("example_ngram", EXAMPLE / "ngram.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ngram = load()
TEXT = " ".join((EXAMPLE / "text.txt").read_text("utf-8").split())
ALPHABET = sorted(set(TEXT))
TOKENS = tuple(map(ALPHABET.index, TEXT))


def run(*options: str) -> subprocess.CompletedProcess[str]:
    """The program as a user starts it, in a folder that is not the repository."""
    command = [sys.executable, str(EXAMPLE / "decode.py"), *options]
    paths = [str(ROOT / "reference"), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    return subprocess.run(command, cwd=EXAMPLE.parent, env=environment, capture_output=True, text=True, check=False)


@cache
def printed(*options: str) -> str:
    done = run(*options)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def table(output: str) -> dict[str, list[str]]:
    """Cells by label; the lines between the first empty line and the second, whose labels take 24 characters."""
    head, *lines = output.split("\n\n")[1].splitlines()
    assert head.split() == RULES
    return {line[:24].strip(): line[24:].replace(" +- ", "+-").split() for line in lines}


def check_table(rows: dict[str, list[str]], steps: int) -> None:
    """Raise unless the rows agree with each other."""
    levels = [list(map(float, rows[f"accepted at least {level}"])) for level in range(1, DEPTH + 1)]
    assert set(rows["steps"]) == {str(steps)}
    for place in range(len(RULES)):
        shares, mean = [level[place] for level in levels], float(rows["mean accepted length"][place])
        assert shares == sorted(shares, reverse=True)
        assert 0 <= shares[-1] <= shares[0] <= 1
        assert abs(sum(shares) - mean) < 0.005
        assert abs(mean + 1 - float(rows["tokens per step"][place])) < 0.002
    for first, name in enumerate(RULES[:-1]):
        assert rows[f"more than {name}"][: first + 1] == ["-"] * (first + 1)
        for place in range(first + 1, len(RULES)):
            difference, error = map(float, rows[f"more than {name}"][place].split("+-"))
            means = [float(rows["mean accepted length"][i]) for i in (first, place)]
            assert abs(means[1] - means[0] - difference) < 0.002
            assert error >= 0


@pytest.mark.parametrize("order", [1, 3, 6])
def test_the_laws_of_a_model_are_positive_and_sum_to_one(order: int) -> None:
    model = ngram.NGram(TOKENS, len(ALPHABET), order)
    rng = np.random.default_rng(0)
    seen = [TOKENS[:end] for end in rng.integers(len(TOKENS), size=200)]
    unseen = [tuple(row) for row in rng.integers(len(ALPHABET), size=(200, 8)).tolist()]
    rows = np.exp(model([(), *seen, *unseen]))
    assert rows.shape == (401, len(ALPHABET))
    assert (rows > 0).all()
    np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=1e-12)


def test_a_model_counts_as_its_formula_says() -> None:
    model = ngram.NGram((0, 1, 0, 1, 0, 2), 3, 2)
    unigram = (np.array([3, 2, 1]) + 3 / 3) / (6 + 3)
    np.testing.assert_allclose(model.law(()), unigram)
    np.testing.assert_allclose(model.law((2, 0)), (np.array([0, 2, 1]) + 2 * unigram) / (3 + 2))
    np.testing.assert_allclose(model.law((0, 2)), unigram)


def test_the_law_is_that_of_the_longest_context_that_was_seen() -> None:
    model = ngram.NGram(TOKENS, len(ALPHABET), 6)
    prefix = TOKENS[:100]
    assert (model.law(prefix) == model.law(prefix[-5:])).all()
    assert (model.law(prefix) != model.law(prefix[-4:])).any()


def test_the_text_is_of_the_promised_size() -> None:
    assert 15_000 <= len(TEXT) <= 40_000
    assert TEXT.isascii()


def test_the_printed_table_can_be_read() -> None:
    output = printed("--steps", "35", "--seed", "5")
    check_table(table(output), 40)
    assert f"{len(TOKENS)} characters, {len(ALPHABET)} different ones." in output
    assert "|" in output.split("A sample")[1]


def test_a_wrong_cell_is_noticed() -> None:
    rows = table(printed("--steps", "35", "--seed", "5"))
    for label in rows:
        wrong = [f"{float(rows[label][-1].split('+-')[0]) + 1:.3f}", "+-0.1" * label.startswith("more")]
        with pytest.raises(AssertionError):
            check_table(rows | {label: [*rows[label][:-1], "".join(wrong)]}, 40)


def test_one_seed_gives_one_output_and_another_seed_another() -> None:
    first = printed("--steps", "35", "--seed", "5")
    again, other = (run("--steps", "35", "--seed", seed).stdout for seed in ("5", "6"))
    assert first == again
    assert table(first) != table(other)
    assert first.split("A sample")[1] != other.split("A sample")[1]


def test_at_temperature_0_all_rules_take_the_same_steps() -> None:
    """The draft law is one-hot there, so all trees are its greedy chain, and all rules follow the target's."""
    rows = table(printed("--steps", "20", "--temperature", "0"))
    assert all(len(set(cells)) == 1 for label, cells in rows.items() if not label.startswith("more"))
    assert rows["more than top-K"][1:] == ["+0.000+-0.000"] * 2


@pytest.mark.parametrize(
    ("option", "value", "complaint"),
    [("--temperature", "-1", "temperature is -1.0"), ("--steps", "0", "--steps is 0, expected at least 1")],
)
def test_a_number_out_of_range_is_refused_in_one_line(option: str, value: str, complaint: str) -> None:
    done = run(option, value)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1].startswith(f"decode.py: error: {complaint}")


def test_it_needs_numpy_and_the_decoder_only() -> None:
    allowed = set(sys.stdlib_module_names) | {"numpy", "rheo_reference", "ngram"}
    for name in ("ngram.py", "decode.py"):
        tree = ast.parse((EXAMPLE / name).read_text("utf-8"))
        found = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        found |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        assert found
        assert {str(module).partition(".")[0] for module in found} <= allowed
