"""`rheo-prove audit`: exit status, what is printed and written, and what is refused in one line."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from rheo_proof.audit import patches
from rheo_proof.audit.session import installation
from rheo_proof.cli.audit import roles_of, settings_of
from rheo_proof.exact.errors import InputError
from tests.cli.program import Run, environment, is_one_line, prove_here, written

PLAIN = "tests.audit.plain"
QUICK = ("--arrays", "list", "--dtype", "float64", "--table", "dyadic,zeros")
LOCAL = """
import random

print("a verifier that talks")


def verify(tokens, q_rows, p_rows):
    print("called")
    for i, x in enumerate(tokens):
        if not random.random() * q_rows[i][x] < p_rows[i][x]:
            weights = [max(0.0, a - b) for a, b in zip(p_rows[i], q_rows[i])]
            return [*tokens[:i], random.choices(range(len(weights)), weights)[0]]
    return [*tokens, random.choices(range(len(p_rows[-1])), p_rows[-1])[0]]


def biased(tokens, q_rows, p_rows):
    return [*tokens, random.choices(range(len(p_rows[-1])), p_rows[-1])[0]]


def silent(tokens, q_rows, p_rows):
    pass


class Holder:
    @staticmethod
    def verify(tokens, q_rows, p_rows):
        return verify(tokens, q_rows, p_rows)


constant = 3
"""
MAP = ("--map", "tokens=draft_tokens,q_rows=draft_probs", "--map", "p_rows=target_probs")


@pytest.fixture(scope="module", autouse=True)
def taken_away() -> Iterator[None]:
    """Sources of randomness, taken away once for all runs in this process."""
    assert patches._installed is None, "tests/audit/conftest.py left what it had installed"
    with installation():
        yield


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file of verifiers, and the current one."""
    (tmp_path / "mine.py").write_text(LOCAL)
    (tmp_path / "broken.py").write_text("import nowhere_at_all\n")
    (tmp_path / "wrong.py").write_text("1 / 0\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


def audit(*arguments: str) -> Run:
    """A run of the command in this process."""
    return prove_here("audit", *arguments)


@pytest.mark.parametrize(
    ("function", "status", "last"),
    [
        ("right", 0, "LOSSLESS, exactly on 1 of 2 laws, up to rounding: TV at most"),
        ("match", 0, "LOSSLESS BUT SLOWER THAN THE RATIO RULE"),
        ("everything", 1, "BIASED: TV up to"),
        ("one_coin", 1, "CONTRACT BROKEN: a random variable is used twice; TV up to"),
        ("endpoint", 1, "CONTRACT BROKEN: a token of target probability 0 can be emitted; the law itself is right."),
        ("product", 3, "NOT ENUMERABLE: 2 of 2 cases."),
    ],
)
def test_the_exit_status_and_the_last_line_say_the_verdict(function: str, status: int, last: str) -> None:
    run = audit(f"{PLAIN}:{function}", *QUICK)
    assert (run.status, run.err) == (status, "")
    assert run.out.splitlines()[-1].startswith(last), run.out
    assert [line for line in run.out.splitlines() if line.startswith("Covered: ")]
    assert [line for line in run.out.splitlines() if line.startswith("Not covered: several requests in one call; ")]


def test_a_counterexample_is_shown_with_its_rows_its_law_and_its_line() -> None:
    run = audit(f"{PLAIN}:from_target", *QUICK)
    assert run.status == 1
    for words in (
        "Smallest counterexample: dyadic/float64, V = 3, K = 2",
        "The completed output starts with",
        "the target gives",
        "Total variation distance of the completed output:",
        "# draws from the target",
        "token emitted in place of a rejected draft",
        "Random variables of a run, at most:",
        "by the ratio rule",
    ):
        assert words in run.words


def test_a_file_of_ones_own_is_audited_and_what_it_prints_is_dropped(folder: Path) -> None:
    for name in ("mine.py:verify", "mine:verify", "mine.py:Holder.verify", f"{folder}/mine.py:verify"):
        run = audit(name, *QUICK, *MAP)
        assert (run.status, run.err) == (0, ""), run
        assert "talks" not in run.out
        assert "called" not in run.out
    assert audit("mine.py:verify", *QUICK).status == 0, "three parameters in the usual order need no roles"


def test_a_declaration_and_a_tolerance_are_read(folder: Path) -> None:
    declared = audit("mine.py:biased", *QUICK, "--declare", "accepts everything")
    assert declared.status == 1
    assert declared.out.splitlines()[-1].startswith("LOSSY BY DESIGN: accepts everything: TV up to 0.")
    mixed = audit(f"{PLAIN}:mixture", *QUICK, "--declare", "mix 1/2")
    assert mixed.out.splitlines()[-1].startswith("LOSSY BY DESIGN: mix 1/2: follows the declared target, ")
    assert audit(f"{PLAIN}:strong_guard", *QUICK, "--tolerance", "0.01").status == 0
    assert audit(f"{PLAIN}:strong_guard", *QUICK, "--tolerance", "1e-5").status == 1
    assert audit(f"{PLAIN}:overwriting", *QUICK).status == 1
    assert audit(f"{PLAIN}:overwriting", *QUICK, "--allow-in-place").status == 0


def test_a_drafter_is_audited_with_its_verifier() -> None:
    assert audit(f"{PLAIN}:right", *QUICK, "--drafter", f"{PLAIN}:honest").status == 0
    run = audit(f"{PLAIN}:right", *QUICK, "--drafter", f"{PLAIN}:sharpened")
    assert run.status == 1
    assert "CONTRACT BROKEN: the reported draft law is not the law drawn from" in run.out


def test_limits_are_reached_in_words() -> None:
    run = audit(f"{PLAIN}:right", *QUICK, "--max-runs", "3")
    assert (run.status, run.err) == (3, "")
    assert "Not decided: more than 3 runs" in run.out


def test_json_has_the_law_as_fractions(folder: Path) -> None:
    assert audit(f"{PLAIN}:from_target", *QUICK, "--json", "out.json").status == 1
    found = written(folder / "out.json")
    assert found["verdict"] == "biased"
    assert {law["case"] for law in found["laws"]} == {"dyadic/float64", "zeros/float64"}
    worst = found["laws"][found["worst"]]
    assert sum(map(Fraction, worst["law"].values())) == 1
    assert worst["counterexample"]["expected"] != worst["counterexample"]["actual"]
    assert found["departure"]["source"].endswith("# draws from the target")
    assert found["random_variables"]["drawn"] >= 3


def test_a_saved_counterexample_runs_and_passes_once_the_fault_is_mended(folder: Path) -> None:
    run = audit("mine.py:biased", *QUICK, "--save", "counterexample.py")
    assert run.status == 1
    script = (folder / "counterexample.py").read_text()
    assert "('1/2', '1/4', '1/4')" in script.replace("[", "(").replace("]", ")")
    again = run_script(folder)
    assert again.returncode == 1, again.stderr
    assert "BIASED: TV up to" in again.stdout
    assert "1 law on 1 case (dyadic; float64)" in again.stdout
    (folder / "mine.py").write_text(LOCAL + "\n\nbiased = verify\n")
    mended = run_script(folder)
    assert (mended.returncode, mended.stderr) == (0, "")
    assert "LOSSLESS, exactly." in mended.stdout


def run_script(folder: Path) -> subprocess.CompletedProcess[str]:
    """The saved script, in a process of its own."""
    command = [sys.executable, "counterexample.py"]
    return subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)


def test_nothing_is_saved_where_there_is_nothing_to_show(folder: Path) -> None:
    run = audit("mine.py:verify", *QUICK, "--save", "none.py")
    assert run.status == 0
    assert "there is no counterexample, so none.py was not written" in run.out
    assert not (folder / "none.py").exists()


BAD = [
    (("nowhere:verify",), "no module 'nowhere'"),
    (("tests.nowhere:verify",), "no module 'tests.nowhere'"),
    (("nowhere.py:verify",), "no file 'nowhere.py'"),
    (("mine.py",), "expected package.module:function or file.py:function"),
    (("mine.py:",), "expected package.module:function"),
    (("mine.py:verfy",), "mine.py has no 'verfy'; it has Holder, biased, silent, verify"),
    (("mine.py:Holder.nothing",), "mine.py has no 'Holder.nothing'"),
    (("mine.py:constant",), "is of type int, and cannot be called"),
    (("broken.py:verify",), "broken.py cannot be run: ModuleNotFoundError"),
    (("broken:verify",), "broken cannot be imported: there is no module 'nowhere_at_all'"),
    (("wrong:verify",), "wrong cannot be imported: ZeroDivisionError"),
    (("mine.py:verify", "--adapter", "chian"), "no adapter 'chian'; there are chain"),
    (("mine.py:verify", "--map", "tokens"), "--map is 'tokens', expected parameter=role"),
    (("mine.py:verify", "--map", "tokens=draftees"), "draftees"),
    (("mine.py:verify", "--map", "nobody=draft_tokens"), "no parameter 'nobody'"),
    (("mine.py:Holder",), "mine.py:Holder is a class; name a function"),
    (("operator:contains",), "contains: parameter 'a' has no role"),
    (("mine.py:silent",), "never gives a usable answer: returned None for tokens"),
    (("mine.py:verify", "--returns", "words"), "no 'words'"),
    (
        ("mine.py:verify", "--arrays", "jax"),
        "adapter chain, arrays: 'jax' is no value for it; expected torch, numpy or list",
    ),
    (("mine.py:verify", "--dtype", "float16"), "dtype 'float16': expected float32 or float64"),
    (("mine.py:verify", "--table", "dyadics"), "no table 'dyadics'"),
    (("mine.py:verify", "--tolerance", "2"), "tolerance"),
    (("mine.py:verify", "--declare", ""), "--declare is empty; give it a value"),
    (("mine.py:verify", "--set", "batched"), "--set is 'batched', expected name=value"),
    (("mine.py:verify", "--set", "colour=red"), "colour"),
    (("mine.py:verify", "--drafter", "mine.py:nobody"), "mine.py has no 'nobody'"),
    (("mine.py:verify", "--max-runs", "0"), "--max-runs is 0"),
    (("mine.py:verify", "--json", "no/where.json"), "does not exist"),
    (("mine.py:verify", "--json", "a", "--save", "a"), "name the same file"),
    ((), "Missing argument"),
]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("arguments", "words"), BAD, ids=[" ".join(arguments) for arguments, _ in BAD])
def test_unusable_input_is_named_in_one_line(arguments: tuple[str, ...], words: str) -> None:
    quick = () if "--arrays" in arguments else ("--arrays", "list")
    run = audit(*arguments, *quick)
    assert is_one_line(run, 2), run
    assert words in run.err


def test_roles_and_settings_are_read_and_what_is_left_over_is_refused() -> None:
    assert roles_of(("p = target_probs[B,K+1,V], u=uniforms",)) == {"p": "target_probs[B,K+1,V]", "u": "uniforms"}
    for wrong in ("p", "p=", "p=x[", "=x", "p=x y"):
        with pytest.raises(InputError, match="--map"):
            roles_of((wrong,))
    assert settings_of(("method=iid", "count=3")) == {"method": "iid", "count": 3}
    for wrong in ("count", "=3", "count=", "a b=3"):
        with pytest.raises(InputError, match="--set"):
            settings_of((wrong,))
