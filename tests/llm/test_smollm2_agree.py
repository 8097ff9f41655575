"""examples/smollm2/agree.py: how far two measurements are apart."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

RESULTS = Path(__file__).resolve().parents[2] / "examples" / "smollm2" / "results"
pytestmark = pytest.mark.usefixtures("example_modules")


def shifted(path: Path, by: float) -> Path:
    """The first file of the page, with more accepted tokens in one setting."""
    data = json.loads((RESULTS / "acceptance-1.json").read_text("utf-8"))
    part = data["temperatures"]["1"]
    at = part["settings"].index("m=1|rheo|60")
    for context in part["contexts"]:
        context[3][at] += round(by / data["meta"]["unit"])
    path.write_text(json.dumps(data))
    return path


def compared(*paths: Path) -> Result:
    import agree

    return CliRunner().invoke(agree.main, list(map(str, paths)))


def test_a_file_of_the_page_repeats_the_page_and_one_with_another_acceptance_does_not(tmp_path: Path) -> None:
    same, other = compared(RESULTS / "acceptance-1.json"), compared(shifted(tmp_path / "again.json", 0.2))
    assert same.exit_code == other.exit_code == 0
    assert " 0 of them more than 2 combined" in same.output
    assert " 0 of them more than 2 combined" not in other.output
    lead = "| RheoSampling (m = 1) accepts more than EAGLE-3's top-K tree | 1 | 60 | "
    [before], [after] = ([line for line in run.output.splitlines() if line.startswith(lead)] for run in (same, other))
    assert float(after.rsplit("|", 2)[1]) - float(before.rsplit("|", 2)[1]) > 4


def test_differences_are_apart_by_their_combined_error_and_each_is_counted_once() -> None:
    import agree
    from clustered import Mean
    from results import Part, acceptance, parts_of

    def part(better: Any) -> Part:
        tau = {f"m=0|rheo|{n}": [2.0, 2.0] for n in (8, 60)} | {f"m=1|rheo|{n}": better for n in (8, 16, 60)}
        return Part("1", (0, 1), tau, {}, ())

    first, second = agree.pairs([part([2.1, 2.3])], [part([2.5, 2.8])])
    assert (first.claim.text, first.size, second.size) == ("m = 1 is better than m = 0", 8, 60)
    assert first.here == Mean(pytest.approx(0.2), pytest.approx(0.1), 2, 2)
    assert first.apart == pytest.approx((0.2 - 0.65) / math.hypot(0.1, 0.15))
    assert first._replace(here=Mean(1.0, 0.0, 2, 2), there=Mean(0.5, 0.0, 2, 2)).apart == math.inf
    assert first._replace(here=Mean(0.0, 0.0, 2, 2), there=Mean(0.0, 0.0, 2, 2)).apart == 0
    far = first._replace(here=Mean(0.5, 0.1, 2, 2), there=Mean(0.1, 0.0, 2, 2))
    assert agree.summary([first, far]) == (
        "2 differences, 2 of them more than 2 combined standard errors apart; the largest 4.0, root mean square 3.3"
    )
    page = parts_of(acceptance())
    every = list(agree.pairs(page, page))
    keys = [(pair.claim.better, pair.claim.worse, pair.claim.temperature, pair.size) for pair in every]
    assert len(set(keys)) == len(keys) > 100


def test_what_cannot_be_compared_is_refused(tmp_path: Path) -> None:
    data = json.loads((RESULTS / "acceptance-1.json").read_text("utf-8"))
    part = data["temperatures"].pop("1")
    path = tmp_path / "again.json"
    for name, contexts, message in (
        ("0.7", part["contexts"], "nothing in it that the page compares"),
        ("1", [row for row in part["contexts"] if row[0] == 0], "a single prompt has no error, expected two or more"),
    ):
        path.write_text(json.dumps(data | {"temperatures": {name: part | {"contexts": contexts}}}))
        shown = compared(path)
        assert shown.exit_code == 2
        assert shown.output.splitlines()[-1].endswith(message)
