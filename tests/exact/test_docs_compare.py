"""The page that compares schemes: its runs are real, its pictures too, and its sentences follow from its tables."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

import pytest

from tests.cli.program import prove_here
from tests.pictures import drawn

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "compare.md").read_text("utf-8")
BLOCK = re.compile(r"^```console\n\$ rheo-prove (?P<command>.*)\n(?P<shown>[\s\S]*?)^```", re.MULTILINE)
SHOWN = {block["command"]: block["shown"] for block in BLOCK.finditer(PAGE)}
PROSE = BLOCK.sub("", PAGE)
PICTURES = {
    "compare": "compare.svg",
    "compare --sweep m": "sweep-m.svg",
    "compare --sweep m --family near": "sweep-m-near.svg",
    "compare --sweep nodes --models 6": "sweep-nodes.svg",
    "compare --sweep sparse": "sweep-sparse.svg",
    "compare --sweep temperature": "sweep-temperature.svg",
    "compare --sweep noise": "sweep-noise.svg",
}
SINGLE = {
    "compare --slots 3 --nodes 5 --family peaked --seed 13 --schemes rheo,top-k": ("top-k", "rheo"),
    "compare --slots 3 --nodes 5 --family random --seed 22 --schemes rheo,rrsw": ("rrsw", "rheo"),
    "compare --slots 3 --nodes 5 --family swing --seed 9 --schemes rheo,flow": ("rheo", "flow"),
}
"""Runs on single models, and which scheme the page says is ahead there of which."""
SWEEPS = [command for command in PICTURES if "--sweep" in command]


def settled(text: str) -> list[str]:
    """The lines of an output without times, the widths that depend on them, blank lines and the number type."""
    text = (
        re.sub(r" +\d+\.\d\d s\b", " time", text).replace("gmpy2.mpq", "a type").replace("fractions.Fraction", "a type")
    )
    lines = (re.sub(r"[ ─]+", " ", line).strip() for line in text.splitlines())
    return [line for line in lines if line]


@lru_cache
def table(command: str) -> dict[str, dict[str, str]]:
    """The curves of a sweep as the page shows them: label -> point -> number."""
    header, _, *rows = [line for line in SHOWN[command].splitlines()[1:] if line.strip()]
    points = re.split(r" {2,}", header.strip())[1:]
    found = {}
    for row in rows:
        label, *values = re.split(r" {2,}", row.strip())
        if len(values) != len(points):
            break
        found[label] = dict(zip(points, values, strict=True))
    return found


def test_the_page_shows_a_comparison_six_sweeps_and_three_models() -> None:
    assert set(SHOWN) == {*PICTURES, *SINGLE}
    assert {command.split()[2] for command in SWEEPS} == {"m", "nodes", "sparse", "temperature", "noise"}
    assert min(len(table(command)) for command in SWEEPS) >= 7


def printed(command: str, *more: str) -> str:
    run = prove_here(*command.split(), *more)
    assert (run.status, run.err) == (0, "")
    return run.out


@pytest.mark.parametrize("command", PICTURES)
def test_a_command_prints_and_draws_what_the_page_shows(command: str, tmp_path: Path) -> None:
    picture = tmp_path / PICTURES[command]
    assert settled(printed(command, "--plot", str(picture))) == settled(SHOWN[command])
    committed = (ROOT / "docs" / "assets" / PICTURES[command]).read_text("utf-8")
    assert f"assets/{PICTURES[command]}" in PAGE
    assert drawn(committed) == drawn(picture.read_text("utf-8"))
    assert len(committed) < 100_000


@pytest.mark.parametrize("command", SINGLE)
def test_on_single_models_the_order_is_the_one_that_the_page_says(command: str) -> None:
    assert settled(printed(command)) == settled(SHOWN[command])
    rows = [re.split(r" {2,}", line.strip()) for line in SHOWN[command].splitlines() if " lossless   " in line]
    assert tuple(row[0] for row in rows) == SINGLE[command]
    assert len({row[3] for row in rows}) == 2


def test_an_output_that_differs_in_one_number_is_noticed() -> None:
    shown = SHOWN["compare"]
    assert settled(shown) != settled(shown.replace("2.9551", "2.9552"))
    assert settled(shown) == settled(re.sub(r"\d+\.\d\d s\b", "9.99 s", shown))


def test_every_number_in_the_text_is_printed_by_a_command() -> None:
    numbers = re.findall(r"\b\d\.\d{4}\b", PROSE)
    outputs = "".join(SHOWN.values())
    assert len(numbers) > 25
    assert [number for number in numbers if number not in outputs] == []


def curve(command: str, label: str) -> dict[str, str]:
    return table(command)[label]


def at_least(command: str, upper: str, lower: str) -> bool:
    """Whether one curve is nowhere below another; four decimals compare as text."""
    return all(curve(command, upper)[x] >= value for x, value in curve(command, lower).items())


@pytest.mark.parametrize("command", SWEEPS)
def test_what_is_said_to_hold_at_every_point_does(command: str) -> None:
    by_m = " m " in f"{command} "
    suffix = "" if by_m else " m=1"
    assert at_least(command, f"rheo{suffix}", "top-k")
    assert at_least(command, f"rheo{suffix}", f"rrsw{suffix}")
    assert at_least(command, f"flow{suffix}", f"rheo{suffix}")
    for other in (f"rheo{suffix}", f"rrsw{suffix}", f"flow{suffix}"):
        assert at_least(command, other, f"match{suffix}")


PAIRS = [
    ("compare --sweep m", "1", "rheo", "2.2242", "top-k", "1.8367"),
    ("compare --sweep noise", "1/2", "rheo m=1", "2.4619", "rrsw m=1", "2.3599"),
    ("compare --sweep temperature", "1/3", "rheo m=1", "2.5096", "rheo m=0", "2.4853"),
    ("compare --sweep temperature", "1", "rheo m=0", "2.6690", "rheo m=1", "2.3759"),
    ("compare --sweep temperature", "1", "rheo m=1", "2.3759", "top-k", "2.0373"),
    ("compare --sweep temperature", "1/4", "rheo m=1", "2.5183", "top-k", "2.3363"),
    ("compare --sweep nodes --models 6", "7", "flow m=1", "2.6491", "rheo m=1", "2.5928"),
    ("compare --sweep nodes --models 6", "2", "rheo m=1", "1.9382", "rheo m=1, tail proxy", "1.9332"),
    ("compare --sweep nodes --models 6", "5", "rheo m=1, fill scale 1/2", "2.3964", "rheo m=1", "2.3265"),
]


@pytest.mark.parametrize(("command", "x", "upper", "high", "lower", "low"), PAIRS)
def test_a_comparison_of_the_text_is_that_of_the_table(
    command: str, x: str, upper: str, high: str, lower: str, low: str
) -> None:
    assert (curve(command, upper)[x], curve(command, lower)[x]) == (high, low)
    assert high > low
    words = " ".join(PROSE.split())
    assert high in words
    assert low in words


def test_m_is_best_at_0_on_two_families_and_elsewhere_on_others() -> None:
    for command in ("compare --sweep m", "compare --sweep m --family near"):
        assert max(curve(command, "rheo").items(), key=lambda point: point[1])[0] == "0"
    last = {label: values["12"] for label, values in table("compare --sweep nodes --models 6").items()}
    assert max(last, key=lambda label: last[label]) == "rheo m=2"
    two = {label: values["2"] for label, values in table("compare --sweep nodes --models 6").items()}
    assert max(two, key=lambda label: two[label]) == "rheo m=0"


def test_schemes_that_are_said_to_be_the_same_have_the_same_row() -> None:
    rows = {line.split()[0]: line.split()[1:] for line in SHOWN["compare"].splitlines() if " lossless " in line}
    for same in (("rheo", "greedy", "spechub"), ("chain", "leviathan"), ("bv", "hsd", "block"), ("top-k", "eagle")):
        assert len({tuple(rows[name][:-3]) for name in same}) == 1, same
    one_hot = {"eagle", "top-k", "medusa-tree"}
    assert {name for name, row in rows.items() if row[-4] == "0"} == {"flow", "block", "bv", "hsd", *one_hot}
    [swing] = [SHOWN[command] for command in SINGLE if "swing" in command]
    assert next(line for line in swing.splitlines() if line.strip().startswith("flow ")).split()[-5:-3] == [
        "19/792",
        "(0.0240)",
    ]


EQUAL = {
    "compare --sweep m": {"0", "3"},
    "compare --sweep m --family near": {"0", "3"},
    "compare --sweep nodes --models 6": {"1"},
    "compare --sweep sparse": {"1", "2"},
    "compare --sweep temperature": {"inf"},
    "compare --sweep noise": {"0"},
}


@pytest.mark.parametrize("command", SWEEPS)
def test_rheo_and_rrsw_are_equal_exactly_where_the_page_says(command: str) -> None:
    suffix = "" if " m " in f"{command} " else " m=1"
    rheo, rrsw = curve(command, f"rheo{suffix}"), curve(command, f"rrsw{suffix}")
    assert {x for x in rheo if rheo[x] == rrsw[x]} == EQUAL[command]
