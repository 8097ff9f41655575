"""Toy models as files: what is written is read back, and every mistake is named in one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheo_proof.exact.errors import InputError
from rheo_proof.exact.families import FAMILIES, family_model
from rheo_proof.exact.files import load_json, read_model, write_model
from rheo_proof.exact.law import Law, point
from rheo_proof.exact.model import Prefix, ToyModel, key, tabled
from rheo_proof.schemes.laws import law_by_classes
from rheo_proof.schemes.scheme import RULES, Parameters, plain
from tests.strategies import models

HALF = ["1/2", "1/2"]
GOOD: dict[str, Any] = {
    "vocab": 2,
    "depth": 2,
    "target": {"": HALF, "0": ["1/3", "2/3"], "1": [1, 0], "0,0": HALF, "0,1": HALF, "1,0": HALF, "1,1": HALF},
    "draft": {"": ["1/4", "3/4"], "0": HALF, "1": ["0", "1"]},
}


def bad(*path: str, value: object) -> dict[str, Any]:
    """The good model with one place changed; `value` None removes it."""
    model = deepcopy(GOOD)
    place = model
    for step in path[:-1]:
        place = place[step]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return model


def same(a: ToyModel, b: ToyModel) -> bool:
    """Equal where it matters: at every prefix that either can reach."""
    reached = list(a.reachable())
    return (a.vocab, a.depth, reached) == (b.vocab, b.depth, list(b.reachable())) and all(
        a.target(u) == b.target(u) and (len(u) == a.depth or a.draft(u) == b.draft(u)) for u in reached
    )


# Good models


def test_a_good_model_is_read() -> None:
    model = read_model(GOOD, "here")
    assert repr(model) == "ToyModel(here, vocab=2, depth=2)"
    assert model.target((0,)) == Law.read(["1/3", "2/3"])
    assert model.draft((1,)) == point(1, 2)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("vocab", [1, 2, 3])
def test_a_family_survives_a_file(family: str, vocab: int, tmp_path: Path) -> None:
    model = family_model(family, 7, vocab, 2)
    file = tmp_path / "model.json"
    file.write_text(json.dumps(write_model(model)))
    assert same(read_model(load_json(file)), model)


@given(st.tuples(st.integers(1, 3), st.integers(1, 2)).flatmap(lambda shape: models(*shape)))
def test_a_random_model_survives_being_written_and_read(model: ToyModel) -> None:
    data = write_model(model)
    again = read_model(data)
    assert same(again, model)
    assert write_model(again) == data
    assert json.loads(json.dumps(data)) == data


def test_two_models_are_told_apart() -> None:
    changed = read_model(bad("target", "1,1", value=[1, 0]))
    assert same(read_model(GOOD), read_model(GOOD))
    assert not same(read_model(GOOD), changed)
    assert not same(family_model("random", 0, 2, 2), family_model("random", 1, 2, 2))


def test_what_is_never_reached_need_not_be_there() -> None:
    """Neither law goes from 1 to 0: nothing is needed after 1, 0."""
    never = bad("target", "1", value=[0, 1])
    del never["target"]["1,0"]
    assert read_model(never).target((1,)) == point(1, 2)
    assert "1,0" not in write_model(read_model(never))["target"]
    with pytest.raises(InputError, match="the target law of prefix '1,0' is missing"):
        read_model(never).target((1, 0))


def test_laws_that_are_never_used_are_checked_all_the_same() -> None:
    with pytest.raises(InputError, match="target '1,0': sums to 3/2"):
        read_model(bad("target", "1", value=[0, 1]) | {"target": {**GOOD["target"], "1": [0, 1], "1,0": ["1/2", 1]}})


# Models whose laws depend on the last token only

SHORT: dict[str, Any] = {
    "vocab": 3,
    "depth": 3,
    "order": 1,
    "target": {"": ["1/2", "1/3", "1/6"], "0": [0, "1/4", "3/4"], "1": ["2/3", 0, "1/3"], "2": [0, 1, 0]},
    "draft": {"": ["1/6", "1/3", "1/2"], "0": ["1/3"] * 3, "1": [0, "3/4", "1/4"], "2": [1, 0, 0]},
}


@pytest.mark.parametrize("verify", RULES)
def test_order_1_is_the_unrolled_model(verify: str) -> None:
    short = read_model(SHORT)
    unrolled = write_model(short)
    assert "order" not in unrolled
    assert set(unrolled["target"]) >= {"", "0", "2,1,0"}
    long = read_model(unrolled)
    assert same(short, long)
    scheme = plain(Parameters(slots=2, nodes=5, verify=verify))
    laws = [list(law_by_classes(scheme, model).strings(3)) for model in (short, long)]
    assert laws[0] == laws[1]


def test_order_1_of_a_family_is_the_unrolled_model() -> None:
    for family in FAMILIES:
        model = family_model(family, 3, 2, 3, order=1)
        assert model.target((0, 1)) is not None
        assert model.target((0, 0, 1)) == model.target((1,)) == model.target((1, 1))
        assert same(read_model(write_model(model)), model)


def test_order_1_needs_the_laws_of_reachable_tokens_only() -> None:
    """From 2 both laws go to 2; 0 and 1 are never said, however deep the model."""
    two = ["0", "0", "1"]
    model = read_model(
        {"vocab": 3, "depth": 9, "order": 1, "target": {"": two, "2": two}, "draft": {"": two, "2": two}}
    )
    assert model.target((2,) * 9) == point(2, 3)


def test_order_1_needs_no_draft_law_after_the_last_token() -> None:
    last = {"vocab": 2, "depth": 1, "order": 1, "target": {"": HALF, "0": HALF, "1": HALF}, "draft": {"": HALF}}
    assert read_model(last).depth == 1
    with pytest.raises(InputError, match="the draft law of prefix '0' is missing"):
        read_model(last | {"depth": 2})


@pytest.mark.parametrize(("side", "prefix"), [("target", "2"), ("draft", "1"), ("draft", "")])
def test_order_1_names_what_is_missing(side: str, prefix: str) -> None:
    model = deepcopy(SHORT)
    del model[side][prefix]
    with pytest.raises(InputError, match=f"the {side} law of prefix '{prefix}' is missing"):
        read_model(model)


# Mistakes

MISTAKES: dict[str, tuple[object, str]] = {
    "negative": (bad("target", "0", value=["3/2", "-1/2"]), "m: target '0', token 1: -1/2 is negative"),
    "sum": (bad("draft", "1", value=["1/2", "1/3"]), "m: draft '1': sums to 5/6, expected exactly 1"),
    "sum above 1": (bad("target", "", value=[1, 1]), "m: target '': sums to 2, expected exactly 1"),
    "short": (bad("target", "0,1", value=[1]), "m: target '0,1': 1 entries, expected 2 (one for each token)"),
    "long": (bad("draft", "", value=[*HALF, 0]), "m: draft '': 3 entries, expected 2 (one for each token)"),
    "no entries": (bad("draft", "", value=[]), "m: draft '': 0 entries, expected 2 (one for each token)"),
    "float": (bad("target", "1", value=[0.5, 0.5]), "m: target '1', token 0: 0.5 is a float; write a rational"),
    "whole float": (bad("target", "1", value=[1.0, 0]), "m: target '1', token 0: 1.0 is a float; write a rational"),
    "word": (bad("draft", "0", value=["half", "1/2"]), "m: draft '0', token 0: 'half' is not a rational"),
    "decimal": (bad("draft", "0", value=["0.5", "0.5"]), "m: draft '0', token 0: '0.5' is not a rational"),
    "two lines": (
        bad("draft", "0", value=["1/2\n\n,", "1/2"]),
        "m: draft '0', token 0: '1/2\\n\\n,' is not a rational",
    ),
    "zero denominator": (bad("draft", "0", value=["1/0", 1]), "m: draft '0', token 0: '1/0' has a zero denominator"),
    "truth value": (bad("target", "1", value=[True, 0]), "m: target '1', token 0: True is not a number"),
    "null entry": (bad("target", "1", value=[1, [None]]), "m: target '1', token 1: [None] is not a number"),
    "no list": (bad("target", "1", value="1/2"), "m: target '1': '1/2' is not a list of rationals"),
    "missing target": (bad("target", "0,1", value=None), "m: the target law of prefix '0,1' is missing"),
    "missing draft": (bad("draft", "1", value=None), "m: the draft law of prefix '1' is missing"),
    "missing root": (bad("draft", "", value=None), "m: the draft law of prefix '' is missing"),
    "unknown key": (bad("size", value=3), "m: unknown key 'size'; known are vocab, depth, target, draft, order"),
    "missing key": (bad("draft", value=None), "m: the key 'draft' is missing"),
    "key of words": (bad("target", "a", value=HALF), "m: target: the key 'a' is not a prefix; write tokens joined by"),
    "key with a space": (bad("target", "0, 1", value=HALF), "m: target: the key '0, 1' is not a prefix"),
    "key with a hole": (bad("target", "0,,1", value=HALF), "m: target: the key '0,,1' is not a prefix"),
    "key with a sign": (bad("target", "-1", value=HALF), "m: target: the key '-1' is not a prefix"),
    "second spelling": (bad("target", "00", value=HALF), "m: target: the key '00' is not a prefix"),
    "other digits": (bad("target", "\u0661", value=HALF), "m: target: the key '\u0661' is not a prefix"),
    "long target": (bad("target", "0,0,0", value=HALF), "m: target: the prefix '0,0,0' is longer than 2"),
    "long draft": (bad("draft", "0,0", value=HALF), "m: draft: the prefix '0,0' is longer than 1"),
    "token": (bad("target", "0,2", value=HALF), "m: target: the prefix '0,2' has a token outside 0..1"),
    "order 2": (bad("order", value=2), "m: order is 2, expected 1 or no such key"),
    "order 0": (bad("order", value=0), "m: order is 0, expected 1 or no such key"),
    "order true": (bad("order", value=True), "m: order is True, expected 1 or no such key"),
    "order 1.0": (bad("order", value=1.0), "m: order is 1.0, expected 1 or no such key"),
    "order null": ({**GOOD, "order": None}, "m: order is None, expected 1 or no such key"),
    "order word": (bad("order", value="1"), "m: order is '1', expected 1 or no such key"),
    "order 1, long": (bad("order", value=1), "m: target: the prefix '0,0' is longer than 1"),
    "no vocabulary": (bad("vocab", value=0), "m: vocab is 0, expected a whole number of at least 1"),
    "vocabulary of words": (bad("vocab", value="2"), "m: vocab is '2', expected a whole number of at least 1"),
    "whole float vocabulary": (bad("vocab", value=2.0), "m: vocab is 2.0, expected a whole number of at least 1"),
    "true vocabulary": (bad("vocab", value=True), "m: vocab is True, expected a whole number of at least 1"),
    "no depth": (bad("depth", value=0), "m: depth is 0, expected a whole number of at least 1"),
    "negative depth": (bad("depth", value=-1), "m: depth is -1, expected a whole number of at least 1"),
    "table of laws": (bad("target", value=[HALF]), "m: target: expected an object from prefixes to laws"),
    "list": ([GOOD], "m: expected an object with the keys vocab, depth, target, draft"),
    "word alone": ("model", "m: expected an object with the keys vocab, depth, target, draft"),
    "nothing": (None, "m: expected an object with the keys vocab, depth, target, draft"),
}


def complaint(read: Callable[[], object]) -> str:
    """The message of the error; one line."""
    with pytest.raises(InputError) as error:
        read()
    message = str(error.value)
    assert message
    assert len(message.splitlines()) == 1
    return message


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named_with_its_place(mistake: str) -> None:
    data, expected = MISTAKES[mistake]
    assert complaint(lambda: read_model(data, "m")).startswith(expected)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_a_file_is_named_the_same(mistake: str, tmp_path: Path) -> None:
    data, expected = MISTAKES[mistake]
    file = tmp_path / "model.json"
    file.write_text(json.dumps(data))
    assert complaint(lambda: read_model(load_json(file), "m")).startswith(expected)


# Files


def in_file(folder: Path, content: bytes) -> Path:
    file = folder / "model.json"
    file.write_bytes(content)
    return file


WRITTEN = json.dumps(GOOD).encode()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (WRITTEN[:-1], "is not complete JSON: "),
        (WRITTEN[:40], "is not complete JSON: "),
        (b"", "is empty; expected a JSON object"),
        (b"{\n\n'vocab': 2}", "at line 3"),
        (WRITTEN + b"}", "is not complete JSON: Extra data at line 1"),
        (b"\xff\xfe{", "is not a text file in UTF-8"),
        (b"[" * 100_000, "is nested too deeply to be a model"),
        (WRITTEN.replace(b'"depth"', b'"vocab"'), "the key 'vocab' is given twice"),
        (WRITTEN.replace(b'"0,1"', b'"0,0"'), "the key '0,0' is given twice"),
        (WRITTEN.replace(b'"1/4"', b"NaN"), "token 0: nan is a float"),
        (WRITTEN.replace(b'"1/4"', b"Infinity"), "token 0: inf is a float"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_a_file_that_is_no_model_is_refused_by_name(content: bytes, expected: str, tmp_path: Path) -> None:
    file = in_file(tmp_path, content)
    message = complaint(lambda: read_model(load_json(file), str(file)))
    assert message.startswith(f"{file}: ")
    assert expected in message


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "with a byte order mark"])
def test_a_complete_file_is_read(mark: bytes, tmp_path: Path) -> None:
    assert same(read_model(load_json(in_file(tmp_path, mark + WRITTEN))), read_model(GOOD))


def test_what_cannot_be_opened_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for path in (tmp_path, tmp_path / "missing.json", loop, in_file(tmp_path, WRITTEN) / "below"):
        assert complaint(partial(load_json, path)).startswith(f"{path}: cannot be read: ")

    def denied(*args: object, **kwargs: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", denied)
    assert complaint(lambda: load_json("locked.json")) == "locked.json: cannot be read: Permission denied"


# Models that are not files


@pytest.mark.parametrize(("vocab", "depth"), [(0, 1), (1, 0)])
def test_a_model_has_a_token_and_a_layer(vocab: int, depth: int) -> None:
    with pytest.raises(InputError, match="is 0, expected at least 1"):
        ToyModel(vocab, depth, lambda u: point(0, 1), lambda u: point(0, 1))


def test_a_law_of_the_wrong_length_is_refused_when_it_is_asked_for() -> None:
    model = ToyModel(2, 1, lambda u: point(0, 3), lambda u: point(0, 2), "odd")
    assert model.draft((1,)) == point(0, 2)
    with pytest.raises(InputError, match="odd: target '0,1': 3 entries, expected 2"):
        model.target((0, 1))


def test_a_row_that_is_no_law_is_refused_when_it_is_asked_for() -> None:
    model = ToyModel(2, 1, lambda u: [1, 0], lambda u: point(0, 2), "raw")  # type: ignore[arg-type, return-value]
    with pytest.raises(InputError, match=r"raw: target '0': .* is not a Law; make one with Law.read"):
        model.target((0,))


def test_a_law_is_asked_for_once() -> None:
    asked: list[Prefix] = []

    def target(prefix: Prefix) -> Law:
        asked.append(prefix)
        return point(0, 1)

    model = ToyModel(1, 1, target, lambda u: point(0, 1))
    assert model.target((0,)) is model.target((0,))
    assert asked == [(0,)]


def test_a_table_without_a_reachable_law_names_the_prefix() -> None:
    laws: dict[Prefix, Law] = {(): point(1, 2)}
    model = tabled(2, 1, laws, laws, "table")
    assert list(model.reachable()) == [(), (1,)]
    with pytest.raises(InputError, match="table: the target law of prefix '1' is missing"):
        model.target((1,))


def test_reachable_prefixes_are_those_of_either_law_shorter_ones_first() -> None:
    model = read_model(bad("target", "1", value=[0, 1]))
    assert [key(u) for u in model.reachable()] == ["", "0", "1", "0,0", "0,1", "1,1"]
    assert [key(u) for u in model.reachable(1)] == ["", "0", "1"]


def test_an_unknown_family_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match="unknown family 'odd'; known are random, near, "):
        family_model("odd", 0, 2, 1)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_law_of_a_family_is_a_function_of_seed_and_prefix_alone(family: str) -> None:
    first, second = family_model(family, 5, 3, 2), family_model(family, 5, 3, 2)
    backwards = list(reversed(list(first.reachable())))
    assert [second.target(u) for u in backwards] == [first.target(u) for u in backwards]
    others = [family_model(family, seed, 3, 2) for seed in range(6, 12)]
    assert not all(same(first, other) for other in others)
