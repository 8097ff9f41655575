"""docs/real-pair.md and its tables say what the result files say, and no claim more than its numbers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from rheo_gpu.llm.methods import method

from tests.pictures import drawn

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "smollm2"
PAGE = ROOT / "docs" / "real-pair.md"


pytestmark = pytest.mark.usefixtures("example_modules")


def shift(monkeypatch: pytest.MonkeyPatch, by: float) -> None:
    """Let the page read results in which one setting accepts more."""
    import page
    import results

    right = results.read

    def shifted(path: Path) -> Any:
        meta, parts = right(path)
        for part in parts:
            part.tau["m=1|rheo|60"][:] = [x + by for x in part.tau["m=1|rheo|60"]]
        return meta, parts

    for module in (page, results):
        monkeypatch.setattr(module, "read", shifted)


def test_the_pages_are_what_the_results_make_of_them() -> None:
    import page

    for path, text in page.pages().items():
        assert path.read_text("utf-8") == text, f"{path.name} is stale: python examples/smollm2/page.py"


def test_the_figures_show_the_results(tmp_path: Path) -> None:
    import page

    paths = page.draw(tmp_path)
    assert paths
    for path in paths:
        committed = (ROOT / "docs" / "assets" / path.name).read_text("utf-8")
        assert drawn(committed) == drawn(path.read_text("utf-8")), "stale: python examples/smollm2/page.py"
        assert f"assets/{path.name}" in PAGE.read_text("utf-8")
        assert len(committed) < 100_000


def test_a_changed_result_changes_the_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import page

    shift(monkeypatch, 0.1)
    [path, *_] = page.draw(tmp_path)
    committed = (ROOT / "docs" / "assets" / path.name).read_text("utf-8")
    assert drawn(committed) != drawn(path.read_text("utf-8"))


def test_a_changed_result_changes_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: pages are not compared with themselves."""
    import page

    before = page.claims_table()
    shift(monkeypatch, 1)
    assert page.claims_table() != before


def test_verdicts_follow_from_differences_and_errors() -> None:
    from claims import verdict
    from clustered import Mean

    def said(*values: float) -> str:
        return verdict([Mean(value, 0.1, 9, 9) for value in values])

    assert said(0.3, 0.2) == "holds"
    assert said(0.3, 0.19) == "holds in part"
    assert said(0.19, -0.19) == "cannot be told"
    assert said(-0.3, 0.1) == "does not hold"
    assert said(0.3, -0.3) == "mixed"
    assert verdict([Mean(0.0, 0.0, 9, 9)] * 4) == "cannot be told"
    assert verdict([Mean(-0.01, 0.004, 9, 9)], same=True) == "does not hold"
    assert verdict([Mean(-0.01, 0.0051, 9, 9)] * 2, same=True) == "cannot be told"
    assert verdict([Mean(-0.01, 0.0051, 9, 9), Mean(0.3, 0.1, 9, 9)], same=True) == "does not hold"
    assert verdict([Mean(-0.004, 0.004, 9, 9), Mean(0.001, 0.009, 9, 9)], same=True) == "holds"
    assert verdict([Mean(0.3, 0.1, 9, 9), Mean(0.0, 0.0, 9, 9)]) == "holds in part"


def test_a_claim_counts_all_files_that_have_both_settings_and_shows_each() -> None:
    import claims
    from results import Part

    def part(temperature: str, better: float, *names: str) -> Part:
        tau = {f"{name}|{n}": [2.0, 2.0, 2.0] for name in names for n in claims.SIZES}
        tau |= {f"m=1|rheo|{n}": [2.0 + better, 2.0 + better / 2, 2.0 + better] for n in claims.SIZES}
        return Part(temperature, (0, 1, 2), tau, {}, ())

    parts = [part("1", 0.2, "m=0|rheo", "m=2|rheo"), part("1", 0.4, "m=0|rheo"), part("0.6", 9.0, "m=0|rheo")]
    by_text = {claim.text: claims.found(claim, parts) for claim in claims.CLAIMS if claim.temperature == "1"}
    both, one = by_text["m = 1 is better than m = 0"], by_text["m = 1 is better than m = 2"]
    assert [mean.n for mean in both.together.values()] == [6] * 4
    assert [mean.clusters for mean in both.together.values()] == [3] * 4
    assert both.together[8].mean == pytest.approx((0.2 + 0.1 + 0.2 + 0.4 + 0.2 + 0.4) / 6)
    assert [mean.mean for mean in both.apart] == pytest.approx([0.5 / 3, 1.0 / 3])
    assert [mean.n for mean in one.together.values()] == [3] * 4
    assert not by_text["m = 1 is better than m = 3"].together


def test_what_the_page_says_in_words_follows_from_its_table() -> None:
    """Each sentence in words, by the verdicts that it rests on."""
    table = re.findall(r"(?m)^\| (.*?) \| .*? \| ([\d.]+) \| .* \| \*\*(.*)\*\* \|$", PAGE.read_text("utf-8"))
    said = {(text, temperature): verdict for text, temperature, verdict in table}
    lead = "RheoSampling (m = 1) accepts more than EAGLE-3's top-K tree"
    assert (said[lead, "1"], said[lead, "0.8"], said[lead, "0.6"]) == ("holds", "holds in part", "does not hold")
    assert said["EAGLE-3's tree from raw scores accepts more than from the processed law", "0.6"] == "holds"
    at_1 = "RheoSampling with a draft law at temperature 1 accepts more than EAGLE-3's tree"
    assert (said[at_1, "0.8"], said[at_1, "0.6"]) == ("holds", "cannot be told")
    flow = "FlowVerification accepts more on the same trees, m = 1"
    assert (said[flow, "1"], said[flow, "0.8"]) == ("holds", "holds in part")
    assert said["m = 1 is better than m = 0", "1"] == "holds"
    assert said["m = 1 is better than m = 2", "1"] == said["m = 1 is better than m = 3", "1"] == "cannot be told"
    transport = "optimal transport at each node accepts more than RRSw, m = 1"
    assert {said[transport, t] for t in ("1", "0.8", "0.6")} == {"holds"}
    assert said["no difference between a draft law cut to its 128 best tokens and a full one", "1"] == "does not hold"
    assert said["the tail proxy at full scale accepts more, rheo", "1"] == "does not hold"
    assert said["the tail proxy at scale 1/2 accepts more, flow", "1"] == "cannot be told"
    assert said["the same, by 0.14 tokens or more", "1"] == "does not hold"


def test_sparse_draft_laws_cost_a_few_hundredths_and_more_with_one_head() -> None:
    import claims
    import page
    from results import parts_of

    parts = parts_of(page.acceptance())
    [claim] = [claim for claim in claims.CLAIMS if "128 best tokens" in claim.text]
    found = claims.found(claim, parts)
    assert [n for n, mean in found.together.items() if mean.mean < -2 * mean.error] == [60]
    assert -0.05 < found.together[60].mean < -0.02
    assert min(found.apart).mean < -0.03 < max(found.apart).mean


def test_the_commands_of_the_page_give_its_differences_again_within_their_errors() -> None:
    """Another head by the same commands: at most one difference in twenty is more than two errors apart."""
    import agree
    import page
    from results import parts_of, read

    again, there = (parts_of(paths) for paths in (page.again(), page.acceptance()))
    assert sorted(part.temperature for part in again) == ["0.6", "0.8", "1"]
    heads = {read(path)[0]["head"]["sha256"] for path in (*page.again(), *page.acceptance())}
    assert len(heads) == 3, "it is no head of the page"
    apart = [abs(pair.apart) for pair in agree.pairs(again, there)]
    assert len(apart) > 100
    assert sum(x > 2 for x in apart) <= len(apart) / 20


def test_the_results_are_of_the_head_in_the_repository_or_of_one_that_is_named() -> None:
    import hashlib

    import page

    here = hashlib.sha256((EXAMPLE / "head.safetensors").read_bytes()).hexdigest()
    assert (EXAMPLE / "head.safetensors").stat().st_size <= 13_000_000
    files = [json.loads(path.read_text("utf-8"))["meta"] for path in page.acceptance()]
    assert files
    for meta in files:
        assert (meta["head"]["sha256"] == here) == (meta["head"]["file"] == "head.safetensors")


def test_the_whole_grid_was_measured_with_two_heads_at_each_temperature() -> None:
    import page
    import results
    import settings

    heads: dict[str, set[str]] = {}
    for path in page.acceptance():
        meta, parts = results.read(path)
        for part in parts:
            heads.setdefault(part.temperature, set()).add(meta["head"]["sha256"])
            assert part.has(*settings.settings("full", float(part.temperature))), path.name
            assert len(part.prompts) >= 400, path.name
            assert len(set(part.prompts)) >= 64, path.name
    assert {name: len(each) for name, each in heads.items()} == {"1": 2, "0.8": 2, "0.6": 2}
    records = [EXAMPLE / "head.safetensors.json", EXAMPLE / "results" / "head-1.json"]
    assert [json.loads(path.read_text("utf-8"))["seed"] for path in records] == [0, 1]


def test_the_head_of_the_repository_was_trained_on_two_threads_in_less_than_forty_minutes() -> None:
    record = json.loads((EXAMPLE / "head.safetensors.json").read_text("utf-8"))
    assert record["threads"] == 2
    assert len(record["losses"]) == record["steps"]
    assert record["seconds"] < 40 * 60


def test_what_the_page_says_about_speed_is_what_was_measured() -> None:
    rows = {row["setting"]: row for row in json.loads((EXAMPLE / "results" / "speed.json").read_text("utf-8"))["rows"]}

    def forward(name: str) -> float:
        ms = rows[name]["ms"]
        return float(ms["target layers"] + ms["lm_head"])

    alone = forward("without a draft")
    assert 1.15 < forward("rheo D=4 N=8") / alone < 1.6  # "about a third more"
    assert forward("rheo D=7 N=60") / alone > 2.5  # "several times as much"
    limits = [
        row["tokens_per_step"] * rows["without a draft"]["ms_per_step"] / forward(name) for name, row in rows.items()
    ]
    assert max(limits) < 1.5  # "by the limits of the table"
    fast = [name for name, row in rows.items() if row["speed"] - 2 * row["error"] > 1]
    assert fast, "nothing is faster than decoding without a draft"
    assert all(int(re.split(r"[ =]", name)[-1]) <= 8 for name in fast)  # "a tree of few nodes"
    default = method("rheo").config
    assert rows[f"rheo D={default.depth} N={default.nodes}"]["speed"] > 1


def commands() -> list[list[str]]:
    text = PAGE.read_text("utf-8").replace("\\\n", " ")
    return [line.split("#")[0].split() for line in re.findall(r"(?m)^    (python .*|rheo-decode .*)$", text)]


def test_every_option_that_the_page_names_exists() -> None:
    found = set()
    for command in commands():
        name = Path(command[1]).stem if command[0] == "python" else "rheo-decode"
        if name == "rheo-decode":
            from rheo_decode.command import cli as program
        else:
            program = __import__(name).main
        shown = CliRunner().invoke(program, ["--help"])
        assert shown.exit_code == 0, shown.output
        for option in (part for part in command if part.startswith("--")):
            assert option in shown.output, (name, option)
        found.add(name)
    assert found == {
        "agree",
        "check",
        "claims",
        "fetch",
        "measure",
        "page",
        "report",
        "rheo-decode",
        "speed",
        "texts",
        "train",
    }


def test_the_prompts_are_many_and_all_different() -> None:
    lines = (EXAMPLE / "prompts_test.txt").read_text("utf-8").splitlines()
    assert len(set(lines)) == len(lines) >= 64


def test_a_file_that_is_given_twice_is_refused() -> None:
    import claims
    import page

    [path, *_] = map(str, page.acceptance())
    run = CliRunner().invoke(claims.main, [path, path])
    assert run.exit_code == 2
    assert "repeats another file" in run.output
