"""Public packages: recorded verdicts, the page that shows them, and the audits again where a package is installed."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

import pytest

from tests.audit.peers import hollow, record
from tests.audit.peers.registry import PEERS, TABLES, Peer

ROOT = Path(__file__).resolve().parents[2]
RECORDED = record.recorded()
NAMES = [peer.name for peer in PEERS]


# The record and the page


def test_every_peer_is_recorded_with_its_version_in_the_order_of_the_registry() -> None:
    assert list(RECORDED) == NAMES
    for peer in PEERS:
        held = RECORDED[peer.name]
        assert (held["package"], bool(held["version"])) == (peer.package, True)
        assert f"| {peer.package} | {held['version']} | `{peer.verifier}` | {held['kind']} |" in record.table(RECORDED)
    assert len({peer.package for peer in PEERS}) == 16


def test_the_page_is_what_its_command_writes() -> None:
    text = record.PAGE.read_text("utf-8")
    assert "python -m tests.audit.peers.record" in text
    assert record.page(text) == text


def test_a_verdict_that_changes_changes_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    text = record.PAGE.read_text("utf-8")
    changed = json.loads(json.dumps(RECORDED))
    changed["rotalabs"]["kind"] = "lossless"
    monkeypatch.setattr(record, "recorded", lambda: changed)
    assert record.page(text) != text


def test_the_extra_installs_the_releases_that_are_recorded() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extra = {line.partition(">")[0] for line in project["optional-dependencies"]["audit-peers"]}
    pinned = dict(
        line.split("==") for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines() if "==" in line
    )
    versions = {held["package"]: held["version"] for held in RECORDED.values()}
    assert extra
    assert {name: versions[name] for name in extra} == {name: pinned[name] for name in extra}


def test_kinds_that_were_seen_and_what_must_come_with_them() -> None:
    for held in RECORDED.values():
        departs = held["kind"] in ("biased", "lossy by design") and held["counterexample"] is not None
        assert departs or float(held["distance"]) < 1e-6
        assert not held["undecided"] or not held["kind"].startswith("lossless")
        assert "ordinary calls" not in str(held["undecided"]), "no ordinary calls contradict what was enumerated"
    seeded = {peer.name for peer in PEERS if peer.seeded}
    assert seeded == {"sglang_dspark", *(name for name in NAMES if name.startswith("economize"))}
    assert "Five are an exception" in record.PAGE.read_text("utf-8")
    assert len(seeded) == 5
    assert {name for name, held in RECORDED.items() if not held["called"]} == seeded
    assert {held["kind"] for held in RECORDED.values()} >= {"lossless", "biased", "contract broken", "lossy by design"}


# One module of a package


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A package whose `__init__` cannot run, and whose module asks for another one that is not there."""
    folder = tmp_path / "needy_package" / "inner"
    folder.mkdir(parents=True)
    (tmp_path / "needy_package" / "__init__.py").write_text("raise RuntimeError('no accelerator')\n")
    (folder / "__init__.py").write_text("")
    (folder / "verifier.py").write_text("import absent.part as part\nfrom absent import Base\nSIZE = part.SIZE\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return "needy_package.inner.verifier"


def test_a_module_is_loaded_without_the_rest_of_its_package(package: str) -> None:
    module = hollow.load(package, {"absent.part": {"SIZE": 3}})
    assert module.SIZE == 3
    assert not any(name.startswith(("needy_package", "absent")) for name in sys.modules)


def test_what_the_module_needs_is_missed_and_so_is_a_package_that_is_not_there(package: str) -> None:
    with pytest.raises(ModuleNotFoundError, match="absent"):
        hollow.load(package, {})
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        hollow.load("no_such_package.verifier", {})


# The audits again


@pytest.mark.parametrize("peer", PEERS, ids=NAMES)
def test_the_verdict_is_the_recorded_one(peer: Peer) -> None:
    held = RECORDED[peer.name]
    if peer.version is None:
        pytest.skip(f"{peer.package} is not installed (docs/audit-peers.md says how)")
    if peer.version != held["version"]:
        pytest.skip(f"{peer.package} {peer.version} is installed, and {held['version']} was audited")
    verdict = record.audited(peer, tables=TABLES)
    assert verdict.kind == held["kind"], verdict.findings
    assert record.counterexample(verdict) == held["counterexample"]
    made = record.entry(peer, verdict)
    assert {name: made[name] for name in ("found", "undecided", "called")} == {
        name: held[name] for name in ("found", "undecided", "called")
    }


def test_the_record_names_no_folder_of_the_machine_it_was_made_on() -> None:
    assert (
        record.here("at /opt/venv/lib/python3.11/site-packages/eagle/model.py:7 (why)") == "at eagle/model.py:7 (why)"
    )
    assert "site-packages" not in record.RECORD.read_text()
