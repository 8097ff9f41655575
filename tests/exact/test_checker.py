"""Certificates hold when the package writes them, and the checker is what it is said to be."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings

from rheo_proof.exact.errors import LimitReached, SoundnessError
from rheo_proof.exact.families import family_model
from rheo_proof.exact.files import read_model
from rheo_proof.exact.model import ToyModel
from rheo_proof.schemes.registry import LOSSY, ZOO
from rheo_proof.schemes.scheme import Parameters
from rheo_proof.theorems import certificate as writer
from rheo_proof.theorems import checker
from rheo_proof.theorems.certificate import Claim, certificate
from rheo_proof.theorems.instances import Entry
from rheo_proof.theorems.zoo import EVERY, FAULTS_KNOWN
from tests.certified import certified, status
from tests.oracle import step_law
from tests.strategies import Instance, instances, written

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "rheo_proof" / "theorems" / "checker.py"
SCHEMA = json.loads((ROOT / "rheo_proof" / "theorems" / "certificate.schema.json").read_text("utf-8"))
CHECKED = ("rheo", "rrsw", "match", "flow")
SMALL = Parameters(slots=2, head=1, depth=2, nodes=3)


def model(family: str = "random", seed: int = 0, vocab: int = 3, depth: int = 2) -> ToyModel:
    return family_model(family, seed, vocab, depth)


def valid(content: Any) -> bool:
    return bool(jsonschema.Draft202012Validator(SCHEMA).is_valid(content))


# What the package writes holds


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(instances(60))
def test_the_certificate_of_any_instance_holds_and_says_what_the_oracle_says(
    tmp_path: Path, instance: Instance
) -> None:
    parameters = instance.parameters
    content = certified((parameters.verify, parameters, instance.model))
    [claim] = content["claims"]
    assert ("name" in claim["scheme"]) == (parameters.verify not in CHECKED)
    assert status(content, tmp_path) == (3 if "name" in claim["scheme"] else 0)
    law = step_law(written(instance.model), {**parameters.as_json(), "fault": None})
    assert {tuple(map(int, v.split(","))): Fraction(mass) for v, mass in claim["law"].items()} == law


@pytest.mark.parametrize(
    "name", sorted([*ZOO, *LOSSY, *FAULTS_KNOWN, "duplicate-fills", "adaptive-head", "top-k", "block"])
)
def test_the_certificate_of_any_scheme_holds_or_is_consistent(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = Entry.of(name, replace(SMALL, depth=1))
    depth = 2 if len(writer.drafts(entry.scheme().drafting, model(vocab=2), writer.Limits())) < 20 else 1
    parameters = replace(SMALL, depth=depth)
    content = certified((name, parameters, model(vocab=2)), (name, parameters, model("zeros", 1, 2)))
    if name in checker.UNNAMED:
        assert status(content, tmp_path) == 0
        assert re.fullmatch(r"HOLDS: [^;]*\nProved from the scheme: 2 with .*\n", capsys.readouterr().out)
    else:
        assert status(content, tmp_path) == 3
        said = capsys.readouterr().out
        assert re.match(rf"CONSISTENT: .*; taken as stated, not proved here: {name}\.\n", said)
        assert said.endswith("Proved from the scheme: none\n")
    assert valid(content)


def test_the_schemes_that_have_no_name_are_those_that_the_checker_takes_by_no_name() -> None:
    """So that none that could be worked out is taken as stated; and no name is one that the checker cannot read."""
    unnamed = set()
    for name in EVERY:
        for parameters in (SMALL, Parameters(slots=1, head=0, proxy="tail"), Parameters(verify="flow", sparse=2)):
            scheme = writer.scheme_as_json(Entry.of(name, parameters))
            if "name" not in scheme:
                unnamed.add(name)
            else:
                assert name not in checker.UNNAMED
                assert checker.Scheme(scheme, checker.Model(plain_model())).name == name
    assert unnamed == {*checker.UNNAMED}


def plain_model() -> Any:
    return {"vocab": 1, "depth": 1, "target": {"": ["1"], "0": ["1"]}, "draft": {"": ["1"]}}


def test_the_same_claim_is_written_once(tmp_path: Path) -> None:
    """Top-k is Match where all slots are heads."""
    parameters, one = replace(SMALL, head=2), model()
    content = certified(("top-k", parameters, one), ("match", parameters, one), ("flow", parameters, one))
    assert len(content["claims"]) == 2
    assert status(content, tmp_path) == 0


def test_a_number_that_the_checker_does_not_read_is_not_written(tmp_path: Path) -> None:
    for digits, fine in ((5_000, True), (5_001, False)):
        number = {"tv": [f"1/{'3' * digits}"]}
        assert bool(re.fullmatch(checker.KINDS[Fraction][1], number["tv"][0])) is fine
        if fine:
            writer.check_numbers(number)
        else:
            with pytest.raises(LimitReached, match="more than 5000 digits"):
                writer.check_numbers(number)


def test_what_a_class_does_not_look_at_is_left_open(tmp_path: Path) -> None:
    """Twenty tokens, one node kept: the sampled token that is pruned is one class for all that are no fill."""
    parameters = Parameters(slots=3, head=1, depth=1, nodes=1)
    content = certified(("rheo", parameters, model("random", 0, 20, 1)))
    [claim] = content["claims"]
    assert sorted(len(one["draws"][""].split(",")) for one in claim["classes"]) == [1, 18]
    assert status(content, tmp_path) == 0


@pytest.mark.parametrize("number", [0, 1])
def test_a_refutation_names_a_string_and_its_mass_in_each_class(number: int, tmp_path: Path) -> None:
    content = refuted(number)
    [claim] = content["claims"]
    assert (content["verdict"], claim["verdict"], "name" in claim["scheme"]) == ("biased", "biased", False)
    masses = zip(claim["classes"], claim["wrong"]["by_class"], strict=True)
    total = sum(Fraction(one["weight"]) * Fraction(mass) for one, mass in masses)
    assert total == Fraction(claim["wrong"]["actual"]) != Fraction(claim["wrong"]["expected"])
    assert status(content, tmp_path) == 0
    assert valid(content)


def refuted(number: int) -> Any:
    """RRSw on a tree with the tail proxy, which is biased: the checker knows the scheme."""
    case = json.loads((ROOT / f"tests/cases/rrsw-tail-proxy-refuted-{number}.json").read_text("utf-8"))
    scheme = {**case["scheme"], "verify": "rrsw", "proxy": "tail"}
    sizes = {name: scheme[name] for name in ("slots", "head", "depth", "nodes")}
    parameters = Parameters(**sizes, beam=scheme.get("beam"), proxy="tail", verify="rrsw")
    return certified(("rrsw", parameters, read_model(case["model"])))


def test_classes_that_add_up_to_another_law_are_never_written() -> None:
    entry, law = Entry.of("rheo", SMALL), {(0,): Fraction(1)}
    with pytest.raises(SoundnessError, match="another law"):
        certificate([Claim(entry, model(), law)])


def test_a_certificate_that_is_too_large_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "MOST_CLASSES", 1)
    with pytest.raises(LimitReached, match="more than 1 classes"):
        certified(("rheo", SMALL, model()))


# The schema


def test_the_schema_describes_what_is_written_and_nothing_else() -> None:
    content = certified(("flow", SMALL, model(vocab=2)), ("rheo", SMALL, model()))
    assert valid(content)
    for change in CHANGES:
        copy = json.loads(json.dumps(content))
        change(copy)
        assert not valid(copy)


def _unsaid(content: Any) -> None:
    del content["claims"][0]["wrong"]


def _more(content: Any) -> None:
    content["claims"][0]["seconds"] = 1


def _float(content: Any) -> None:
    content["models"][0]["target"][""][0] = 0.5


def _no_rational(content: Any) -> None:
    content["claims"][0]["tv"] = "1e-3"


def _kind(content: Any) -> None:
    content["claims"][0]["classes"][0]["nodes"][0]["kind"] = "root"


def _format(content: Any) -> None:
    content["format"] = "rheo-proof certificate 2"


CHANGES: list[Callable[[Any], None]] = [_unsaid, _more, _float, _no_rational, _kind, _format]


# The checker itself


def test_the_checker_is_short_and_stands_alone(tmp_path: Path) -> None:
    assert len(SOURCE.read_text("utf-8").splitlines()) <= 350
    copy, path = tmp_path / "elsewhere.py", tmp_path / "certificate.json"
    copy.write_text(SOURCE.read_text("utf-8"), "utf-8")
    path.write_text(json.dumps(certified(("flow", SMALL, model()))), "utf-8")
    command = [sys.executable, "-I", "-S", str(copy)]
    run = subprocess.run([*command, str(path)], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith("HOLDS: 1 claims of lossless")
    path.write_text(path.read_text("utf-8").replace('"verdict": "lossless"', '"verdict": "biased"'), "utf-8")
    run = subprocess.run([*command, str(path)], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout.count("\n"), run.stderr) == (1, 1, "")
    for arguments in ([], [str(path), str(path)]):
        run = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
        assert (run.returncode, run.stdout, run.stderr) == (2, "", "usage: python checker.py FILE\n")


HOPELESS = {
    "empty": "",
    "no JSON": "{",
    "a list": "[]",
    "nested": "[" * 100_000,
    "a float": '{"format": 0.5}',
    "a large number": f'{{"format": {"9" * 5000}}}',
    "infinity": '{"format": Infinity}',
    "a key twice": '{"format": "rheo-proof certificate 1", "format": "rheo-proof certificate 1"}',
    "bytes": "\udcff",
}


@pytest.mark.parametrize("what", HOPELESS)
def test_what_is_no_certificate_is_said_to_be_none_in_one_line(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "certificate.json"
    path.write_bytes(HOPELESS[what].encode("utf-8", errors="surrogateescape"))
    assert checker.main(str(path)) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)


@pytest.mark.parametrize(
    "number",
    ["1e999999999", "9" * 5_001, f"1/{'0' * 5_000}1", "1/0", "0.5", " 1", "1 ", "\u0661", "+1", "1_0", "", "nan"],
)
def test_what_is_no_rational_is_refused_at_once(number: str, tmp_path: Path) -> None:
    content = certified(("rheo", SMALL, model()))
    content["models"][0]["target"][""][0] = number
    assert status(content, tmp_path) == 2


def test_a_missing_file_and_a_folder_are_no_certificates(tmp_path: Path) -> None:
    assert checker.main(str(tmp_path / "none.json")) == 2
    assert checker.main(str(tmp_path)) == 2


def test_a_missing_name_and_what_does_not_belong_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert checker.main("") == 2
    assert capsys.readouterr().err.startswith("'': no certificate: ")
    content = certified(("rheo", SMALL, model()))
    content["models"][0]["target"]["0"][1] = 0.5
    assert status(json.dumps(content).replace("0.5", "7"), tmp_path) == 2
    assert capsys.readouterr().err.endswith("it holds 7 where a rational in quotes of up to 5000 digits belongs\n")


# For given sizes the work grows in proportion to the file


@contextmanager
def counted() -> Iterator[list[int]]:
    """Calls of functions, those of rational arithmetic among them."""
    calls = [0]

    def count(_: object, event: str, __: object) -> None:
        calls[0] += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        yield calls
    finally:
        sys.setprofile(None)


SIZES = [(2, 2, 3), (3, 2, 3), (3, 2, 8)]


def calls_by_character(rule: str, folder: Path) -> list[Fraction]:
    """For certificates of growing sizes."""
    found, lengths = [], []
    for vocab, depth, nodes in SIZES:
        parameters = Parameters(slots=2, head=0, depth=depth, nodes=nodes)
        text = json.dumps(certified((rule, parameters, model("random", 0, vocab, depth))))
        with counted() as calls:
            assert status(text, folder) == 0
        found.append(Fraction(calls[0], len(text)))
        lengths.append(len(text))
    assert max(lengths) > 3 * min(lengths)
    return found


@pytest.mark.parametrize("rule", CHECKED)
def test_the_work_grows_in_proportion_to_the_file_at_small_sizes(rule: str, tmp_path: Path) -> None:
    ratios = calls_by_character(rule, tmp_path)
    assert max(ratios) < 2 * ratios[0]


def test_a_checker_that_compares_all_classes_with_one_another_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rebuilt = checker.Claim.rebuilt
    seen: dict[checker.Claim, list[Any]] = {}

    def slow(self: checker.Claim, one: Any) -> Any:
        seen.setdefault(self, []).append(one)
        return [rebuilt(self, other) for other in seen[self]][-1]

    monkeypatch.setattr(checker.Claim, "rebuilt", slow)
    ratios = calls_by_character("match", tmp_path)
    assert max(ratios) > 2 * ratios[0]


def test_a_class_that_is_there_many_times_is_refused_before_any_is_rebuilt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is short in the file would be long in work: only the draws of a class are needed to rebuild it."""
    content = certified(("rheo", SMALL, model()))
    classes = content["claims"][0]["classes"]
    classes[:] = [{**classes[0], "weight": 0, "nodes": 0, "laws": 0}] * 100
    monkeypatch.setattr(checker.Claim, "rebuilt", None)
    assert status(content, tmp_path) == 1
    assert capsys.readouterr().out == "WRONG: claim 0: a class is there twice.\n"
