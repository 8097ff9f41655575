"""No corrupted certificate gets past the checker.

A changed certificate may only hold if it is one that the package itself writes about the model and the scheme that it
now names: then it is not corrupted, it is another certificate. (A larger beam than there are nodes is the same scheme.)
What the checker takes as stated, it says so; there, only what it says it has checked is changed.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rheo_proof.exact.errors import InputError
from rheo_proof.exact.families import family_model
from rheo_proof.exact.number import rational
from rheo_proof.schemes.scheme import Parameters
from tests.certified import certified, digits, same, status, written_again
from tests.exact.test_checker import refuted

Where = tuple[Any, ...]

HALF = rational("1/2")
ASKED: dict[str, list[tuple[str, Parameters]]] = {
    "rheo": [("rheo", Parameters(slots=3, head=1, depth=2, nodes=4))],
    "rrsw": [("rrsw", Parameters(slots=3, head=1, depth=2, nodes=3))],
    "match": [("match", Parameters(slots=2, head=0, depth=2, nodes=2))],
    "flow": [("flow", Parameters(slots=3, head=1, depth=2, nodes=4, fill_scale=HALF))],
    "tail": [("rheo", Parameters(slots=3, head=1, depth=2, nodes=3, proxy="tail", proxy_scale=HALF))],
    "sparse": [("flow", Parameters(slots=2, head=1, depth=2, nodes=3, beam=1, sparse=2))],
    "top-k": [("top-k", Parameters(slots=2, depth=2, nodes=3))],
    "two": [("rheo", Parameters(slots=2, head=1, depth=1, nodes=1)), ("flow", Parameters(slots=2, depth=2, nodes=2))],
}
STATED: dict[str, tuple[str, Parameters]] = {
    "skip-residual": ("skip-residual", Parameters(slots=2, head=1, depth=2, nodes=3)),
    "own-probability": ("own-probability", Parameters(slots=2, head=1, depth=2, nodes=2)),
    "bottom-up": ("bottom-up", Parameters(slots=2, head=1, depth=2, nodes=3)),
    "duplicate-fills": ("duplicate-fills", Parameters(slots=3, head=1, depth=2, nodes=4)),
    "hsd-naive": ("hsd-naive", Parameters(depth=2)),
    "rrs": ("rrs", Parameters(slots=2, depth=1)),
}


@cache
def known(name: str) -> Any:
    """A certificate of schemes that the checker knows."""
    if name == "refuted":
        return refuted(0)
    return certified(*((each, parameters, family_model("random", 3, 3, 2)) for each, parameters in ASKED[name]))


@cache
def stated(name: str) -> Any:
    """A certificate of a scheme whose classes are taken as stated."""
    return certified((*STATED[name], family_model("random", 3, 3, 2)))


def genuine(content: Any) -> bool:
    """Whether the package writes this certificate about the models and the schemes that it names."""
    try:
        return same(content, written_again(content))
    except InputError:
        return False


# Changes


def places(value: Any, where: Where = ()) -> Iterator[Where]:
    """Every entry of every list and object, by the keys on the way to it."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in entries:
        yield (*where, key)
        yield from places(entry, (*where, key))


def at(content: Any, where: Where) -> Any:
    for key in where:
        content = content[key]
    return content


def edited(text: str, draw: Callable[[st.SearchStrategy[Any]], Any]) -> str:
    """A text with one character changed, left out or put in, or another word."""
    position = draw(st.integers(0, len(text)))
    character = draw(st.sampled_from("0123456789/,-x"))
    length = draw(st.sampled_from([1, 1, 1, 0]))
    words = [
        "lossless",
        "biased",
        "paper",
        "tail",
        "rheo",
        "rrsw",
        "match",
        "flow",
        "head",
        "sampled",
        "fill",
        "1",
        "0",
    ]
    word = draw(st.sampled_from([None, None, None, None, *words]))
    return word or text[:position] + character * draw(st.sampled_from([1, 1, 0])) + text[position + length :]


@st.composite
def changed(draw: st.DrawFn, content: Any, parts: tuple[str, ...] = ()) -> Any:
    """The content with one thing changed; within these parts of a claim, or anywhere."""
    content = copy.deepcopy(content)
    among = [
        where for where in places(content) if not parts or (where[0] == "claims" and where[2:3] and where[2] in parts)
    ]
    group = draw(st.sampled_from(sorted({tuple(map(str, where[:1] + where[2:3])) for where in among})))
    where = draw(st.sampled_from([each for each in among if tuple(map(str, each[:1] + each[2:3])) == group]))
    holder, key = at(content, where[:-1]), where[-1]
    value = holder[key]
    kinds = ["edit", "replace"] if not isinstance(value, dict | list) else ["replace"]
    kinds += ["remove", "swap"] + (["double"] if isinstance(holder, list) else ["rename"])
    kind = draw(st.sampled_from(kinds))
    if kind == "edit" and isinstance(value, str):
        holder[key] = edited(value, draw)
    elif kind == "edit" or kind == "replace":
        others = [at(content, each) for each in among]
        holder[key] = copy.deepcopy(draw(st.sampled_from([*others, None, True, False, 0, 1, 2, 3, "0", "1", [], {}])))
    elif kind == "remove":
        del holder[key]
    elif kind == "swap":
        other = draw(st.sampled_from(list(holder) if isinstance(holder, dict) else range(len(holder))))
        holder[key], holder[other] = holder[other], holder[key]
    elif kind == "double":
        holder.insert(draw(st.integers(0, len(holder))), copy.deepcopy(value))
    else:
        holder[edited(key, draw)] = holder.pop(key)
    return content


# Schemes that the checker knows


@pytest.mark.parametrize("name", [*ASKED, "refuted"])
def test_a_changed_certificate_is_refused_unless_the_package_writes_it(name: str, tmp_path: Path) -> None:
    refusals = [0]

    @settings(max_examples=40, suppress_health_check=list(HealthCheck))
    @given(changed(known(name)))
    def refused(content: Any) -> None:
        found = status(content, tmp_path)
        refusals[0] += found > 0
        assert found in (1, 2) or genuine(content)

    refused()
    assert status(known(name), tmp_path) == 0
    assert refusals[0] > 20


@pytest.mark.parametrize("name", ["sparse", "refuted"])
def test_every_single_digit_counts(name: str, tmp_path: Path) -> None:
    text = json.dumps(known(name))
    tried = list(digits(text))
    held = []
    for position in tried[:: max(1, len(tried) // 60)]:
        other = f"{text[:position]}{(int(text[position]) + 1) % 10}{text[position + 1 :]}"
        if status(other, tmp_path) not in (1, 2):
            held.append(json.loads(other))
    assert len(tried) > 200
    assert all(map(genuine, held))
    assert len(held) < 5


def test_a_certificate_that_is_not_genuine_is_told_from_one_that_is() -> None:
    """The twin of the tests above: their measure of what may hold."""
    content = copy.deepcopy(known("rheo"))
    assert genuine(content)
    content["claims"][0]["tv"] = "1"
    assert not genuine(content)


# Schemes of which the classes are taken as stated


WORKED_OUT = ("verdict", "tv", "expected_tokens", "acceptance", "law", "wrong")


@pytest.mark.parametrize("name", STATED)
def test_what_follows_from_stated_classes_cannot_be_changed(name: str, tmp_path: Path) -> None:
    @settings(max_examples=30, suppress_health_check=list(HealthCheck))
    @given(changed(stated(name), WORKED_OUT))
    def refused(content: Any) -> None:
        found = status(content, tmp_path)
        assert found in (1, 2) or (found == 3 and same_or_other_string(content, stated(name)))

    refused()
    assert status(stated(name), tmp_path) == 3


def same_or_other_string(content: Any, before: Any) -> bool:
    """Whether nothing but the string that is shown to be wrong is another: any wrong string proves the verdict."""
    if same(content, before):
        return True
    content, before = copy.deepcopy(content), copy.deepcopy(before)
    shown = [claim.pop("wrong") for each in (content, before) for claim in each["claims"]]
    return same(content, before) and shown[0]["string"] != shown[1]["string"]


@pytest.mark.parametrize("name", STATED)
def test_a_stated_class_cannot_be_lost_doubled_or_weighed_otherwise(name: str, tmp_path: Path) -> None:
    for number in range(len(stated(name)["claims"][0]["classes"])):
        for change in CHANGES:
            content = copy.deepcopy(stated(name))
            classes = content["claims"][0]["classes"]
            change(classes, number)
            found = status(content, tmp_path)
            assert found in (1, 2) or (found == 3 and same(content, stated(name))), (change, number)


def _lost(classes: list[Any], number: int) -> None:
    del classes[number]


def _doubled(classes: list[Any], number: int) -> None:
    classes.append(copy.deepcopy(classes[number]))


def _heavier(classes: list[Any], number: int) -> None:
    numerator, _, denominator = classes[number]["weight"].partition("/")
    classes[number]["weight"] = f"{int(numerator) + 1}/{denominator or 1}"


def _cut(classes: list[Any], number: int) -> None:
    """An edge to a node that the walk reaches."""
    reached = {u.split(",")[-1] for u in classes[number]["laws"] if u}
    nodes = classes[number]["nodes"]
    for node in [node for node in nodes if str(node["token"]) in reached][:1]:
        node["slots"] = "7,7"


def _law(classes: list[Any], number: int) -> None:
    """Some mass of the law at the root is moved from one outcome to another."""
    laws = classes[number]["laws"][""]
    for side in ("go", "stop"):
        for outcome in list(laws[side])[:1]:
            laws[side][outcome + "9"] = laws[side].pop(outcome)
            return


CHANGES = [_lost, _doubled, _heavier, _cut, _law]
