"""The fixture `rheo_audit`, in a project that is not this one."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.cli.program import environment

VERIFIER = """
import random


def draw(weights):
    return random.choices(range(len(weights)), weights)[0]


def verify(draft_tokens, draft_probs, target_probs):
    for i, x in enumerate(draft_tokens):
        p, q = target_probs[i], draft_probs[i]
        if not random.random() * q[x] < p[x]:
            return [*draft_tokens[:i], draw([max(0.0, a - b) for a, b in zip(p, q)])]
    return [*draft_tokens, draw(target_probs[-1])]


def resampling(draft_tokens, draft_probs, target_probs):
    for i, x in enumerate(draft_tokens):
        p, q = target_probs[i], draft_probs[i]
        if not random.random() * q[x] < p[x]:
            y = random.choices(range(len(p)), p)[0]
            return [*draft_tokens[:i], y]
    return [*draft_tokens, draw(target_probs[-1])]


def tidier(draft_tokens, draft_probs, target_probs):
    for i, x in enumerate(draft_tokens):
        p, q = target_probs[i], draft_probs[i]
        if random.random() * q[x] >= p[x]:
            return [*draft_tokens[:i], draw([max(0.0, a - b) for a, b in zip(p, q)])]
    return [*draft_tokens, draw(target_probs[-1])]


def writing(draft_tokens, draft_probs, target_probs):
    tokens = tidier(draft_tokens, draft_probs, target_probs)
    draft_probs[0][0] = 7.0
    return tokens
"""
TESTS = """
import pytest
from engine.verifier import resampling, tidier, verify, writing

QUICK = {"arrays": "list", "tables": ["dyadic"], "dtypes": ["float64"]}


def test_lossless(rheo_audit):
    verdict = rheo_audit(verify, adapter="chain", **QUICK)
    assert verdict.kind == "lossless"


def test_biased(rheo_audit):
    rheo_audit(resampling, adapter="chain", **QUICK)


def test_known_to_be_biased(rheo_audit):
    assert rheo_audit(resampling, expect="biased", **QUICK).worst is not None


def test_mended(rheo_audit):
    rheo_audit(verify, expect="biased", **QUICK)


NONSENSE = [{"adapter": "chian"}, {"expect": "bias"}, {"tables": ["no such"]}, {"expect": ("contract broken", "nan")}]


@pytest.mark.parametrize("options", NONSENSE)
def test_asked_in_a_wrong_way(rheo_audit, options):
    rheo_audit(verify, **{**QUICK, **options})


ACCEPTING = "a row of nan is accepted"
CHANGING = "the input is changed"
NAN = {**QUICK, "tables": ["dyadic", "nan draft"]}


def test_named(rheo_audit):
    rheo_audit(tidier, expect=("contract broken", ACCEPTING), **NAN)


def test_named_all(rheo_audit):
    rheo_audit(writing, expect=("contract broken", ACCEPTING, CHANGING), **NAN)


def test_another_breach(rheo_audit):
    rheo_audit(writing, expect=("contract broken", ACCEPTING), **NAN)


def test_named_but_mended(rheo_audit):
    rheo_audit(tidier, expect=("contract broken", ACCEPTING, CHANGING), **NAN)


def test_permitted(rheo_audit):
    rheo_audit(writing, allow_nan=True, allow_in_place=True, **NAN)


def test_permitted_in_part(rheo_audit):
    rheo_audit(writing, allow_nan=True, **NAN)


def test_something_else():
    pass
"""


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What pytest prints on a project with a package of verifiers and these tests."""
    project = tmp_path_factory.mktemp("project")
    (project / "engine").mkdir()
    (project / "engine" / "__init__.py").touch()
    (project / "engine" / "verifier.py").write_text(VERIFIER)
    (project / "tests").mkdir()
    (project / "tests" / "test_verifier.py").write_text(TESTS)
    (project / "pytest.ini").write_text("[pytest]\npythonpath = .\nfilterwarnings = error\n")
    command = [sys.executable, "-m", "pytest", "-p", "rheo_proof.pytest_plugin", "-p", "no:cacheprovider", "-n", "0"]
    run = subprocess.run(command, cwd=project, env=environment(), capture_output=True, text=True, check=False)
    assert run.returncode == 1, run.stdout + run.stderr
    return run.stdout


def section(output: str, name: str) -> str:
    """What is printed of one failed test."""
    found = re.search(rf"^_+ {re.escape(name)} _+\n(?P<shown>[\s\S]*?)(?=^_+ |^=+ )", output, re.MULTILINE)
    assert found is not None, output
    return found["shown"]


def test_the_lossless_one_passes_and_the_others_fail(output: str) -> None:
    failed = set(re.findall(r"^FAILED tests/test_verifier.py::(\w+)", output, re.MULTILINE))
    wrong = {"test_another_breach", "test_named_but_mended", "test_permitted_in_part"}
    assert failed == {"test_biased", "test_mended", "test_asked_in_a_wrong_way", *wrong}
    assert "9 failed, 6 passed" in output


def test_a_breach_that_was_not_named_fails_and_so_does_one_that_is_gone(output: str) -> None:
    shown = section(output, "test_another_breach")
    assert shown.splitlines()[:2] == [
        "Expected: contract broken: a row of nan is accepted.",
        "CONTRACT BROKEN: the input is changed; a row of nan is accepted; the law itself is right.",
    ]
    gone = section(output, "test_named_but_mended").splitlines()
    assert gone[0] == "Expected: contract broken: a row of nan is accepted, the input is changed."
    permitted = section(output, "test_permitted_in_part").splitlines()
    assert permitted[0] == "CONTRACT BROKEN: the input is changed; the law itself is right."


def test_a_failure_is_one_screen_with_the_counterexample_and_no_traceback_of_ours(output: str) -> None:
    shown = section(output, "test_biased")
    lines = shown.splitlines()
    assert lines[0].startswith("BIASED: TV up to 0.")
    assert len(lines) <= 50, shown
    assert "Smallest counterexample: dyadic/float64, V = 3, K = 2" in shown
    assert "Where it departs: engine/verifier.py:21: y = random.choices(range(len(p)), p)[0]" in shown
    assert "Traceback" not in shown
    assert "rheo_proof/" not in shown


def test_a_kind_that_was_expected_passes_and_another_one_fails(output: str) -> None:
    shown = section(output, "test_mended")
    assert shown.splitlines()[:2] == ["Expected: biased.", "LOSSLESS, exactly."]


def test_asking_in_a_wrong_way_is_said_in_one_line(output: str) -> None:
    for options, words in (
        ("options0", "rheo_audit: no adapter 'chian'; there are chain, "),
        ("options1", "rheo_audit: expect is 'bias'; there are lossless, "),
        ("options2", "rheo_audit: no table 'no such'; there are "),
        ("options3", "rheo_audit: expect is ('contract broken', 'nan'), and there is no finding 'nan'; there are "),
    ):
        lines = section(output, f"test_asked_in_a_wrong_way[{options}]").splitlines()
        assert len(lines) == 1
        assert lines[0].startswith(words)
