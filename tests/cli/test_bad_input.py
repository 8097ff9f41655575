"""Unusable input: status 2 and one line that names what is wrong, never a traceback, never half an output."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import is_one_line, prove, prove_here

HALF = ["1/2", "1/2"]
MODEL: dict[str, Any] = {"vocab": 2, "depth": 1, "target": {"": HALF, "0": HALF, "1": HALF}, "draft": {"": HALF}}
DIGITS = "9" * 5000

ARGUMENTS: dict[str, tuple[str, ...]] = {
    # what is written: what the message must contain
    "--slots 0": ("slots", "0"),
    "--slots -1": ("slots", "-1"),
    "--head 4": ("head", "4"),
    "--head 3 --slots 2": ("head", "3"),
    "--head -1": ("head", "-1"),
    "--head 1 --head 7": ("head", "7"),
    "--depth 0": ("depth", "0"),
    "--depth -2": ("depth", "-2"),
    "--nodes 0": ("nodes", "0"),
    "--beam 0": ("beam", "0"),
    "--beam -1": ("beam", "-1"),
    "--sparse 0": ("sparse", "0"),
    "--vocab 0": ("vocab", "0"),
    "--vocab -3": ("vocab", "-3"),
    "--vocab five": ("vocab", "five"),
    "--vocab 2.5": ("vocab", "2.5"),
    "--vocab": ("vocab", "argument"),
    "--instances 0": ("instances", "0"),
    "--instances -1": ("instances", "-1"),
    "--seed half": ("seed", "half"),
    "--jobs 0": ("jobs", "0"),
    "--jobs -1": ("jobs", "-1"),
    "--timeout 0": ("timeout", "0"),
    "--timeout x": ("--timeout is x, expected a whole number",),
    "--max-classes 1e3": ("--max-classes is 1e3, expected a whole number",),
    "--timeout -5": ("timeout", "-5"),
    "--max-classes 0": ("max-classes", "0"),
    "--proxy mean": ("proxy", "mean"),
    "--proxy-scale 0 --proxy tail": ("proxy", "0"),
    "--proxy-scale 2 --proxy tail": ("proxy", "2"),
    "--proxy-scale 0.5 --proxy tail": ("proxy-scale", "0.5"),
    "--proxy-scale 1/0 --proxy tail": ("proxy-scale", "1/0"),
    "--proxy-scale abc --proxy tail": ("proxy-scale", "abc"),
    "--proxy-scale -1/2 --proxy tail": ("proxy", "-1/2"),
    "--proxy-scale 1/2/3 --proxy tail": ("proxy-scale", "1/2/3"),
    "--fill-scale 0": ("fill", "0"),
    "--fill-scale 3/2": ("fill", "3/2"),
    "--fill-scale 1e-1": ("fill-scale", "1e-1"),
    "--scheme rehearsal": ("scheme", "rehearsal"),
    "--scheme own-probability": ("scheme", "own-probability"),
    "--fault nothing": ("fault", "nothing"),
    "--fault rheo": ("fault", "rheo"),
    "--family strange": ("family", "strange"),
    "--family ties --family strange": ("family", "strange"),
    "--verify strict": ("verify", "strict"),
    "--colour": ("option", "--colour"),
    "prove": ("command", "prove"),
    "schemes prove": ("argument", "prove"),
    "schemes --vocab 3": ("option", "--vocab"),
    "--fault low-proxy --scheme rheo": ("--fault", "--scheme"),
    "--scheme top-k --verify flow": ("top-k", "verify"),
    "--scheme top-k --head 1": ("top-k", "head"),
    "--scheme chain --slots 3": ("chain", "slots"),
    "--scheme block --verify rheo": ("block", "verify"),
    "--fault ratio-on-top-k --verify rheo": ("ratio-on-top-k", "verify"),
    "--fault rrsw-tail-proxy --proxy paper": ("rrsw-tail-proxy", "proxy"),
    "--vocab 3 schemes": ("--vocab", "schemes"),
    "--fault low-proxy faults": ("--fault", "faults"),
    "--jobs 1 faults": ("--jobs", "faults"),
    "--no-shrink faults": ("shrink", "faults"),
    "--json out.json faults": ("--json", "faults"),
    "--model model.json --seed 1": ("--model", "--seed"),
    "--model model.json --family ties": ("--model", "--family"),
    "--model model.json --instances 3": ("--model", "--instances"),
    "--model model.json --vocab 3": ("--vocab", "2"),
    "--model model.json --depth 2": ("depth", "1"),
    "--model model.json --depth 0": ("depth", "0"),
    "--model missing.json": ("missing.json", "cannot be read"),
    "--model folder": ("folder", "cannot be read"),
}
EMPTY = ("--model", "--scheme", "--fault", "--json", "--family")
"""Options whose value may come out of a shell variable that is not set."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "model.json").write_text(json.dumps(MODEL))
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("arguments", ARGUMENTS)
@pytest.mark.usefixtures("folder")
def test_arguments_that_make_no_sense_are_refused_in_one_line(arguments: str) -> None:
    run = prove_here(*arguments.split())
    assert is_one_line(run, 2), run
    assert [word for word in ARGUMENTS[arguments] if word not in run.err] == []


@pytest.mark.parametrize("option", EMPTY)
@pytest.mark.usefixtures("folder")
def test_an_empty_value_is_refused_in_one_line(option: str) -> None:
    assert is_one_line(prove_here(option, "", "--vocab", "2", "--depth", "1", "--instances", "1"), 2)


@pytest.mark.usefixtures("folder")
def test_the_same_arguments_with_usable_values_are_accepted() -> None:
    """The twin: it is the value that is refused above."""
    sizes = ("--slots", "1", "--head", "1", "--depth", "1", "--nodes", "1", "--beam", "1", "--sparse", "1")
    more = ("--vocab", "1", "--instances", "1", "--jobs", "1", "--timeout", "600", "--max-classes", "100")
    scales = ("--proxy", "tail", "--proxy-scale", "1/2", "--fill-scale", "1/3", "--seed", "-1", "--verify", "flow")
    assert prove_here(*sizes, *more, *scales).status == 0
    assert prove_here("--model", "model.json", "--vocab", "2", "--depth", "1").status == 0
    assert prove_here("--scheme", "top-k", "--head", "3", "--verify", "match", "--model", "model.json").status == 0


@pytest.mark.parametrize(
    "arguments",
    ["--head 4", "--nope", "schemes prove", "--fault low-proxy --scheme rheo", "--model model.json --seed 1"],
)
def test_the_program_itself_ends_the_same_way(arguments: str, folder: Path) -> None:
    run = prove(folder, *arguments.split())
    assert is_one_line(run, 2)
    assert "Traceback" not in run.err


# Models

without_0 = {"": HALF, "1": HALF}
MODELS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "negative": (MODEL | {"target": MODEL["target"] | {"1": ["3/2", "-1/2"]}}, ("target", "'1'", "negative")),
    "too-little": (MODEL | {"draft": {"": ["1/2", "1/3"]}}, ("draft", "''", "5/6")),
    "too-much": (MODEL | {"target": MODEL["target"] | {"0": ["1/2", "2/3"]}}, ("target", "'0'", "7/6")),
    "too-short": (MODEL | {"target": MODEL["target"] | {"0": ["1"]}}, ("target", "'0'", "1 entries")),
    "too-long": (MODEL | {"draft": {"": ["1/2", "1/2", "0"]}}, ("draft", "''", "3 entries")),
    "empty-law": (MODEL | {"draft": {"": []}}, ("draft", "''")),
    "float": (MODEL | {"draft": {"": [0.5, 0.5]}}, ("draft", "''", "0.5", "float")),
    "decimal": (MODEL | {"draft": {"": ["0.5", "0.5"]}}, ("draft", "''", "0.5")),
    "word": (MODEL | {"draft": {"": ["half", "1/2"]}}, ("draft", "''", "half")),
    "zero-denominator": (MODEL | {"draft": {"": ["1/0", "1"]}}, ("draft", "''", "1/0")),
    "no-number": (MODEL | {"draft": {"": [None, 1]}}, ("draft", "''", "None")),
    "truth": (MODEL | {"draft": {"": [True, False]}}, ("draft", "''", "True")),
    "not-a-law": (MODEL | {"draft": {"": "1/2"}}, ("draft", "''", "list")),
    "missing-target": (MODEL | {"target": without_0}, ("target", "'0'", "missing")),
    "missing-root": (MODEL | {"draft": {}}, ("draft", "''", "missing")),
    "missing-deep": (MODEL | {"depth": 2, "draft": {"": HALF, "0": HALF, "1": HALF}}, ("target", "'0,0'", "missing")),
    "missing-order-1": (MODEL | {"order": 1, "depth": 3}, ("draft", "'0'", "missing")),
    "unknown-key": (MODEL | {"tagret": {}}, ("tagret",)),
    "no-draft": ({key: MODEL[key] for key in ("vocab", "depth", "target")}, ("draft", "missing")),
    "vocab-0": (MODEL | {"vocab": 0}, ("vocab", "0")),
    "vocab-word": (MODEL | {"vocab": "2"}, ("vocab", "'2'")),
    "vocab-float": (MODEL | {"vocab": 2.0}, ("vocab", "2.0")),
    "depth-0": (MODEL | {"depth": 0}, ("depth", "0")),
    "order-2": (MODEL | {"order": 2}, ("order", "2")),
    "order-true": (MODEL | {"order": True}, ("order", "True")),
    "order-float": (MODEL | {"order": 1.0}, ("order", "1.0")),
    "order-null": (MODEL | {"order": None}, ("order", "None")),
    "bad-prefix": (MODEL | {"target": MODEL["target"] | {"0, 1": HALF}}, ("target", "'0, 1'")),
    "outside": (MODEL | {"target": MODEL["target"] | {"2": HALF}}, ("target", "'2'")),
    "too-deep": (MODEL | {"target": MODEL["target"] | {"0,0": HALF}}, ("target", "'0,0'")),
    "list": ([MODEL], ("vocab",)),
    "number": (3, ("vocab",)),
    "null": (None, ("vocab",)),
    "tables-are-lists": (MODEL | {"target": [HALF, HALF, HALF]}, ("target",)),
    "model-in-a-case": ({"model": MODEL | {"vocab": 3}, "scheme": {}}, ("target", "2 entries", "3")),
    "long-numerator": (MODEL | {"draft": {"": [DIGITS, "0"]}}, ("draft", "''")),
    "long-prefix": (MODEL | {"target": MODEL["target"] | {DIGITS: HALF}}, ("target",)),
}
RAW: dict[str, bytes] = {
    "empty": b"",
    "blank": b" \n",
    "truncated": json.dumps(MODEL).encode()[:-9],
    "truncated-early": b'{"vocab": 2,',
    "two-values": json.dumps(MODEL).encode() * 2,
    "zeros": b"\0" * 64,
    "binary": bytes(range(256)),
    "not-a-number": b'{"vocab": 2, "depth": 1, "target": {"": [NaN, 1]}, "draft": {"": [1, 0]}}',
    "twice": b'{"vocab": 2, "vocab": 3, "depth": 1, "target": {}, "draft": {}}',
    "nested": b"[" * 100_000,
    "long-number": b'{"vocab": ' + DIGITS.encode() + b"}",
}


@pytest.mark.parametrize("name", MODELS)
def test_a_mistake_in_a_model_is_named_with_its_place(name: str, folder: Path) -> None:
    model, words = MODELS[name]
    (folder / "bad.json").write_text(json.dumps(model))
    run = prove_here("--model", "bad.json")
    assert is_one_line(run, 2), run
    assert [word for word in ("bad.json", *words) if word not in run.err] == []


@pytest.mark.parametrize("name", RAW)
def test_a_file_that_is_no_model_is_refused_in_one_line(name: str, folder: Path) -> None:
    (folder / "bad.json").write_bytes(RAW[name])
    run = prove_here("--model", "bad.json")
    assert is_one_line(run, 2), run
    assert "bad.json" in run.err


def test_fractions_of_any_length_are_computed_with(folder: Path) -> None:
    """Denominators of 2,100 digits, which multiply on the way down the tree."""
    whole = 10**2100
    law = [f"1/{whole}", f"{whole - 1}/{whole}"]
    keys = ("", "0", "1")
    model = {"vocab": 2, "depth": 2, "order": 1, "target": dict.fromkeys(keys, law), "draft": dict.fromkeys(keys, HALF)}
    (folder / "long.json").write_text(json.dumps(model))
    limit = sys.get_int_max_str_digits()
    run = prove_here("--model", "long.json", "--head", "1", "--json", "run.json")
    assert (run.status, run.err) == (0, "")
    assert sys.get_int_max_str_digits() == limit, "a run leaves the process as it was"


@pytest.mark.usefixtures("folder")
def test_an_unreadable_file_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", denied)
    run = prove_here("--model", "model.json")
    assert is_one_line(run, 2)
    assert "model.json: cannot be read: Permission denied" in run.err
