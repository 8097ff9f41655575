"""Files of `rheo-prove audit`: what is read is never overwritten, and a saved script runs from every folder."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rheo_proof.audit.session import installation
from tests.cli.program import environment, is_one_line, prove_here
from tests.cli.test_audit import LOCAL

QUICK = ("--arrays", "list", "--dtype", "float64", "--table", "R26", "--calls", "0")
DRAFTER = """
import random


def draft(draft_model, K):
    tokens, rows = [], []
    for _ in range(K):
        q = draft_model(tokens)
        rows.append(q)
        tokens.append(q.index(max(q)))
    return tokens, rows
"""
BIASED = ("mine.py:biased", *QUICK, "--save", "found.py")


@pytest.fixture(scope="module", autouse=True)
def taken_away() -> Iterator[None]:
    with installation():
        yield


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a verifier, a module that hands it on, a drafter, and links to them."""
    (tmp_path / "mine.py").write_text(LOCAL)
    (tmp_path / "front.py").write_text("from mine import biased, verify\n")
    (tmp_path / "dr.py").write_text(DRAFTER)
    (tmp_path / "link.py").symlink_to("mine.py")
    (tmp_path / "link_to_dr").symlink_to(tmp_path / "dr.py")
    os.link(tmp_path / "mine.py", tmp_path / "hard.py")
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("mine", "front", "dr"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


@pytest.mark.parametrize("option", ["--save", "--json"])
@pytest.mark.parametrize(
    ("function", "target", "what"),
    [
        ("mine.py:biased", "mine.py", "the audited function"),
        ("mine.py:biased", "inner/../mine.py", "the audited function"),
        ("mine.py:biased", "link.py", "the audited function"),
        ("mine.py:biased", "hard.py", "the audited function"),
        ("link.py:biased", "mine.py", "the audited function"),
        ("mine:biased", "mine.py", "the audited function"),
        ("front:biased", "front.py", "the audited function"),
        ("front:biased", "mine.py", "the audited function"),
        ("mine.py:Holder.verify", "mine.py", "the audited function"),
        ("mine.py:biased", "dr.py", "the drafter"),
        ("mine.py:biased", "link_to_dr", "the drafter"),
    ],
)
def test_a_file_that_is_read_is_not_overwritten(
    folder: Path, option: str, function: str, target: str, what: str
) -> None:
    before = {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}
    run = prove_here("audit", function, *QUICK, "--drafter", "dr.py:draft", option, target)
    assert is_one_line(run, 2), run
    assert run.err == f"rheo-prove: {option} {target}: is the file of {what}; name another file\n"
    assert {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()} == before


def test_other_files_are_written(folder: Path) -> None:
    assert prove_here("audit", *BIASED, "--json", "front.json").status == 1
    assert (folder / "found.py").exists()
    assert (folder / "front.json").exists()


def script(folder: Path, where: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(folder / "found.py")]
    return subprocess.run(command, cwd=where, env=environment(), capture_output=True, text=True, check=False)


def test_a_saved_script_runs_from_another_folder_drafter_included_and_says_what_is_missing(folder: Path) -> None:
    run = prove_here("audit", *BIASED, "--drafter", "dr.py:draft")
    assert (run.status, run.err) == (1, "")
    again = script(folder, folder / "inner")
    assert (again.returncode, again.stderr) == (1, "")
    assert "BIASED: TV up to 0.5000." in again.stdout
    assert f"\"drafter\": load('{folder}/dr.py:draft')" in (folder / "found.py").read_text()
    (folder / "dr.py").unlink()
    failed = script(folder, folder / "inner")
    assert (failed.returncode, failed.stdout) == (2, "")
    assert failed.stderr == f"{folder}/found.py: there is no file '{folder}/dr.py'\n"
