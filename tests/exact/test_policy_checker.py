"""Certificates about all predictable policies: they hold as they are written, and no corrupted one does."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings

from rheo_proof.exact.errors import InputError, LimitReached
from rheo_proof.exact.files import read_model
from rheo_proof.exact.limits import Limits
from rheo_proof.schemes.scheme import Parameters
from rheo_proof.theorems import policy_checker
from rheo_proof.theorems.adversary import Adversary, decide
from rheo_proof.theorems.instances import Source
from rheo_proof.theorems.policy_certificate import certificate
from tests.certified import digits, same
from tests.exact.test_checker import SCHEMA, SOURCE
from tests.exact.test_checker_mutations import changed

ASKED = {
    "rheo": ("rheo", 1, False, "lossless"),
    "match": ("match", 0, False, "lossless"),
    "flow": ("flow", 1, False, "lossless"),
    "rrsw, heads first": ("rrsw", 1, True, "lossless"),
    "rrsw": ("rrsw", 1, False, "biased"),
}


@cache
def known(name: str) -> Any:
    """The certificate of one adversary on one model."""
    rule, head, heads_first, _ = ASKED[name]
    parameters = Parameters(slots=3, depth=2, nodes=2 if rule == "flow" else 3)
    adversary = Adversary(rule, parameters, (head,), heads_first=heads_first)
    return written(adversary, Source("random", 1, 3 if name == "rrsw" else 2, 2))


def written(adversary: Adversary, source: Source) -> Any:
    return json.loads(json.dumps(certificate([decide(adversary, source, Limits())])))


def genuine(content: Any) -> bool:
    """Whether the package writes this certificate about the models and the policies that it names."""
    again = copy.deepcopy(content)
    for claim in again["claims"]:
        scheme, data = dict(claim["scheme"]), content["models"][claim["model"]]
        rule, head, heads_first = (scheme.pop(name) for name in ("verify", "head", "heads_first"))
        try:
            model = read_model(data)
            adversary = Adversary(rule, Parameters(**scheme), (head,), heads_first=heads_first)
            one = written(adversary, Source("file", 0, model.vocab, model.depth, data, "model"))
        except (InputError, LimitReached):
            return False
        claim |= {**one["claims"][0], "model": claim["model"]}
    again["verdict"] = "biased" if any(claim["wrong"] for claim in again["claims"]) else "lossless"
    return same(in_order(content), in_order(again))


def in_order(content: Any) -> Any:
    """The same with the states of every claim in one order: a table has none."""
    content = copy.deepcopy(content)
    for claim in content["claims"]:
        for state in claim["states"]:
            state["nodes"] = state["nodes"] if claim["scheme"]["verify"] == "flow" else sorted(state["nodes"], key=str)
        claim["states"].sort(key=lambda state: json.dumps(state, sort_keys=True))
    return content


def status(content: Any, folder: Path) -> int:
    path = folder / "certificate.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return policy_checker.main(str(path))


@pytest.mark.parametrize("name", ASKED)
def test_a_certificate_holds_and_fits_the_schema(name: str, tmp_path: Path) -> None:
    content = known(name)
    assert content["verdict"] == content["claims"][0]["verdict"] == ASKED[name][-1]
    assert len(content["claims"][0]["states"]) > 2
    assert status(content, tmp_path) == 0
    validator = jsonschema.Draft202012Validator(SCHEMA)
    assert validator.is_valid(content)
    assert not validator.is_valid({**content, "statement": "instance"})
    assert genuine(copy.deepcopy(content))


@pytest.mark.parametrize("name", ASKED)
def test_a_changed_certificate_is_refused_unless_the_package_writes_it(name: str, tmp_path: Path) -> None:
    refusals = [0]

    @settings(max_examples=40, suppress_health_check=list(HealthCheck))
    @given(changed(known(name)))
    def refused(content: Any) -> None:
        if status(content, tmp_path):
            refusals[0] += 1
        else:
            assert genuine(content)

    refused()
    assert refusals[0] > 20


def test_every_single_digit_counts(tmp_path: Path) -> None:
    text = json.dumps(known("rrsw"))
    tried = list(digits(text))
    for position in tried[:: max(1, len(tried) // 70)]:
        other = f"{text[:position]}{(int(text[position]) + 1) % 10}{text[position + 1 :]}"
        assert status(other, tmp_path) or genuine(json.loads(other))
    assert len(tried) > 150


@pytest.mark.parametrize("name", ["rheo", "flow"])
def test_no_state_can_be_lost(name: str, tmp_path: Path) -> None:
    for number in range(len(known(name)["claims"][0]["states"])):
        content = copy.deepcopy(known(name))
        del content["claims"][0]["states"][number]
        assert status(content, tmp_path) == 1


def test_a_rule_that_some_policy_exposes_has_no_table_that_holds(tmp_path: Path) -> None:
    """RRSw with heads inserted late: neither the table of RheoVerification nor that of heads first passes as its."""
    parameters = Parameters(slots=2, depth=1, nodes=2)
    for rule, heads_first in (("rheo", False), ("rrsw", True)):
        adversary = Adversary(rule, parameters, (1,), heads_first=heads_first)
        content = written(adversary, Source("random", 0, 3, 1))
        assert status(content, tmp_path) == 0
        content["claims"][0]["scheme"] |= {"verify": "rrsw", "heads_first": False}
        assert status(content, tmp_path) == 1


def test_what_the_checker_does_not_know_has_no_certificate() -> None:
    parameters = Parameters(slots=2, depth=1, nodes=2)
    for adversary in (Adversary("skip-residual", parameters, (1,)), Adversary("rheo", parameters, (0, 1))):
        with pytest.raises(LimitReached, match="not what the checker knows"):
            written(adversary, Source("random", 0, 2, 1))


def test_the_two_files_work_elsewhere(tmp_path: Path) -> None:
    for source in (SOURCE, SOURCE.with_name("policy_checker.py")):
        (tmp_path / source.name).write_bytes(source.read_bytes())
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(known("flow")), "utf-8")
    run = alone(tmp_path, path.name)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith("HOLDS: 1 claims of lossless under every policy")
    assert "Proved from the rule: 1 with flow; " in run.stdout
    for arguments in ((), (path.name, path.name)):
        run = alone(tmp_path, *arguments)
        assert (run.returncode, run.stdout, run.stderr) == (2, "", "usage: python policy_checker.py FILE\n")


def test_the_copied_file_uses_the_checker_beside_it_and_no_other(tmp_path: Path) -> None:
    """The package is on the path of neither run; where it is, it is not asked."""
    (tmp_path / "policy_checker.py").write_bytes(SOURCE.with_name("policy_checker.py").read_bytes())
    run = alone(tmp_path, "c.json")
    assert (run.returncode, run.stdout, run.stderr.count("\n")) == (2, "", 1)
    assert "checker.py: this file is missing" in run.stderr
    (tmp_path / "checker.py").write_text("raise SystemExit('the neighbour')", "utf-8")
    for options in (("-I", "-S"), ()):
        assert alone(tmp_path, "c.json", options=options).stderr == "the neighbour\n"


def alone(folder: Path, *arguments: str, options: tuple[str, ...] = ("-I", "-S")) -> subprocess.CompletedProcess[str]:
    """A run of the copied file."""
    command = [sys.executable, *options, "policy_checker.py", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE.parents[2])}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
