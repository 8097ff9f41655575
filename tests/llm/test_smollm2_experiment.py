"""examples/smollm2: the experiment and its report, end to end on a tiny random pair."""

from __future__ import annotations

import json
import math
import re
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner, Result
from rheo_gpu import Processing, Tape, draft_trees
from rheo_gpu.llm.eagle import EagleDraft
from rheo_gpu.llm.reach import levels, reach

from tests.llm import tiny

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "smollm2"
sys.path.insert(0, str(EXAMPLE))
try:
    import clustered
    import contexts
    import measure
    import report
    import results
    import settings
finally:
    sys.path.remove(str(EXAMPLE))


def pair(stops: frozenset[int] = frozenset({2})) -> contexts.Pair:
    target = tiny.target()
    return contexts.Pair(target, EagleDraft(tiny.head(target)), stops)


# One context


@pytest.fixture(scope="module")
def compared() -> dict[str, Any]:
    """A context, what was found for all settings at once, and the text after it."""
    generator = torch.Generator().manual_seed(3)
    with torch.inference_mode():
        text = contexts.Text(pair(), tiny.texts(7)[0])
        text.step(0.8, generator)
        tape = Tape.fill(contexts.WRITES, 1, generator)
        before = text.length
        found = text.compare(settings.drafts("full", 0.8), 0.8, [tape])
    assert text.length == before
    return {"text": text, "tape": tape, "found": dict(zip(settings.settings("full", 0.8), found, strict=True))}


def alone(text: contexts.Text, draft: settings.Draft, tape: Tape, rule: str, n: int, temperature: float) -> Any:
    """One setting by itself: the tree of budget n, read by the target as a decoder would, in target ids."""
    target, drafter = text.pair.target, text.pair.draft
    trees = draft_trees(drafter, draft.config, tape, Processing(draft.temperature), torch.tensor([n]))
    trees = trees.mapped(drafter.tokens, target.vocab)
    tokens = torch.where(trees.tokens >= 0, trees.tokens, text.last)
    seen = target.forward(text.state, tokens, trees.position_ids(text.state.lengths + 1), trees.ancestor_mask())
    target.keep(text.state, torch.full((1, 1), -1))
    return levels(trees, reach(trees, (target.logits(seen.hidden) / temperature).softmax(-1), rule))[0]


def test_settings_that_are_compared_at_once_have_the_acceptance_they_have_alone(compared: dict[str, Any]) -> None:
    seen = 0
    with torch.inference_mode():
        for draft in settings.drafts("full", 0.8)[::3]:
            for rule in draft.rules:
                for n in {draft.nodes[0], draft.nodes[-1]}:
                    expected = alone(compared["text"], draft, compared["tape"], rule, n, 0.8)
                    found = compared["found"][f"{draft.name}|{rule}|{n}"]
                    assert found.tolist() == pytest.approx(expected.tolist(), abs=1e-9)
                    other = alone(compared["text"], draft, compared["tape"], rule, n, 0.7)
                    assert found.tolist() != pytest.approx(other.tolist(), abs=1e-9)
                    seen += 1
    assert seen >= 20


def test_a_comparison_leaves_the_text_as_it_was() -> None:
    with torch.inference_mode():
        strings = []
        for looks in (0, 1, 2):
            text, generator = contexts.Text(pair(), tiny.texts(7)[0]), torch.Generator().manual_seed(0)
            emitted = []
            for _ in range(3):
                tape = Tape.fill(contexts.WRITES, 1, torch.Generator().manual_seed(1))
                for _ in range(looks):
                    text.compare(settings.drafts("main", 1.0)[:2], 1.0, [tape])
                emitted += text.step(1.0, generator)
            strings.append(emitted)
    assert strings[0] == strings[1] == strings[2]


def test_several_draws_are_averaged() -> None:
    generator, sizes = torch.Generator().manual_seed(0), settings.drafts("main", 1.0)[1:3]
    with torch.inference_mode():
        text = contexts.Text(pair(), tiny.texts(7)[0])
        tapes = [Tape.fill(contexts.WRITES, 1, generator) for _ in range(2)]
        each = [text.compare(sizes, 1.0, [tape]) for tape in tapes]
        assert torch.allclose(text.compare(sizes, 1.0, tapes), (each[0] + each[1]) / 2, atol=1e-12)
        assert not torch.allclose(each[0], each[1])


# Runs


def test_the_texts_are_decoded_as_the_page_says() -> None:
    page = (EXAMPLE.parents[1] / "docs" / "real-pair.md").read_text("utf-8")
    assert "Each prompt is answered by the pair itself (m = 1, RheoVerification, N = 16)" in page
    found = contexts.WRITES
    assert (found.head, found.verify, found.nodes, found.slots, found.depth) == (1, "rheo", 16, 10, 7)
    assert (found.sparse, found.proxy, found.proxy_scale, found.fill_scale) == (128, "paper", 1, 1)


@pytest.mark.parametrize("temperature", [1.0, 0.8, 0.6])
def test_a_setting_is_what_its_name_says(temperature: float) -> None:
    drafts = settings.drafts("full", temperature)
    assert len({d.name for d in drafts}) == len(drafts)
    for d in drafts:
        words = re.fullmatch(
            r"(?:top-K (?P<law>raw|processed)|m=(?P<m>\d)|(?P<chain>chain))(?: tail (?P<tail>\S+))?"
            r"(?: fill (?P<fill>\S+))?(?: draft at (?P<heat>\S+))?(?: sparse (?P<sparse>\S+))?",
            d.name,
        )
        assert words is not None, d.name
        c = d.config
        heat = 1.0 if words["law"] == "raw" else float(words["heat"] or temperature)
        assert d.temperature == heat
        assert c.head == (10 if words["law"] else 0 if words["chain"] else int(words["m"]))
        assert (c.slots, d.nodes) == ((1, (7,)) if words["chain"] else (10, (8, 16, 30, 60)))
        assert (c.proxy, c.proxy_scale) == (("tail", Fraction(words["tail"])) if words["tail"] else ("paper", 1))
        assert c.fill_scale == Fraction(words["fill"] or 1)
        assert c.sparse == (None if words["sparse"] == "full" else int(words["sparse"] or 128))
        assert (c.depth, c.nodes) == (7, max(d.nodes))
        assert d.rules == (("match",) if words["law"] else d.rules)
    names = {d.name for d in drafts}
    assert {"m=0", "m=1", "m=2", "m=3", "chain", "top-K raw", "m=1 sparse 32", "m=1 sparse full"} <= names
    assert {f"m=1 tail {a}" for a in ("1", "1/2", "1/4")} <= names
    assert ("top-K processed" in names) == (temperature != 1)


def test_contexts_are_steps_that_were_chosen_by_chance(tmp_path: Path) -> None:
    """Of eight steps one: were it always the first, an answer's beginning would stand for the whole of it."""
    plan = measure.Plan("main", 0, 1, 8, 1, (1.0,))
    with torch.inference_mode():
        steps = [measure.measured(pair(), tiny.texts(5)[0], number, 1.0, plan).contexts[0][0] for number in range(4)]
        again = measure.measured(pair(), tiny.texts(5)[0], 0, 1.0, plan).contexts[0][0]
    assert len(set(steps)) > 1
    assert steps[0] == again


def run(out: Path, grid: str = "full", **options: Any) -> Any:
    plan = measure.Plan(grid, 0, 1, 2, 1, settings.TEMPERATURES[grid])
    return measure.measure(pair(), tiny.texts(5, 9), plan, {"head": {"file": "tiny"}}, out, **options)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("run") / "results.json"
    run(out)
    return out


def test_an_interrupted_run_leaves_nothing_half_written_and_goes_on(tmp_path: Path) -> None:
    steps = iter(range(100))

    def stop(line: str) -> None:
        if next(steps) == 1:
            raise KeyboardInterrupt

    out = tmp_path / "results.json"
    with pytest.raises(KeyboardInterrupt):
        run(out, "main", progress=stop)
    assert [path.name for path in tmp_path.iterdir()] == ["results.json.partial"]
    assert {
        row[0]
        for part in json.loads((tmp_path / "results.json.partial").read_text())["temperatures"].values()
        for row in part["contexts"]
    } == {0}
    run(out, "main")
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]
    whole = tmp_path / "whole.json"
    run(whole, "main")
    assert out.read_text() == whole.read_text()


def test_the_rest_of_another_run_is_not_continued(tmp_path: Path, measured: Path) -> None:
    out = tmp_path / "results.json"
    content = json.loads(measured.read_text())
    content["meta"]["plan"]["seed"] = 1
    (tmp_path / "results.json.partial").write_text(json.dumps(content))
    with pytest.raises(measure.click.UsageError, match="is of another run"):
        run(out)


def test_a_file_holds_every_setting_of_every_context(measured: Path) -> None:
    _, parts = results.read(measured)
    assert [part.temperature for part in parts] == ["1", "0.8", "0.6"]
    for part in parts:
        assert part.prompts == (0, 1)
        for setting, tau in part.tau.items():
            assert all(1 <= x <= 8 for x in tau)
            assert sum(part.levels[setting]) + 1 == pytest.approx(sum(tau) / 2, abs=1e-4)
        assert [steps for _, steps, _ in part.loop] == [2, 2]
        assert 1 <= part.in_the_loop().mean <= 8
    assert results.pooled([parts, parts])[0].prompts == (0, 1, 0, 1)


def test_the_tables_come_from_the_file_alone(measured: Path, tmp_path: Path) -> None:
    shown = CliRunner().invoke(report.main, [str(measured), "--plots", str(tmp_path)])
    assert shown.exit_code == 0, shown.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tokens-0.6.svg", "tokens-0.8.svg", "tokens-1.svg"]
    part = results.read(measured)[1][1]
    both = [a - b for a, b in zip(part.tau["m=1|rheo|60"], part.tau["top-K processed|match|60"], strict=True)]
    mean, error = sum(both) / 2, abs(both[0] - both[1]) / 2
    [line] = [
        line
        for line in shown.output.partition("T = 0.8")[2].partition("T = 0.6")[0].splitlines()
        if line.startswith("| m=1 rheo - top-K processed ")
    ]
    assert line.endswith(f" {mean:+.3f} ± {error:.3f} |")
    for name, *_ in report.DIFFERENCES:
        assert f"| {name} |" in shown.output
    twice = CliRunner().invoke(report.main, [str(measured), str(measured)])
    assert "## All files together" in twice.output


def test_files_that_are_no_results_are_refused(tmp_path: Path, measured: Path) -> None:
    for text in ("{", "[]", '{"format": "other"}', measured.read_text().replace('"unit"', '"unite"')):
        path = tmp_path / "bad.json"
        path.write_text(text)
        shown = CliRunner().invoke(report.main, [str(path)])
        assert shown.exit_code == 2
        assert "bad.json" in shown.output.splitlines()[-1]


# The program


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.pair_files(tmp_path_factory.mktemp("pair"))


def program(folder: Path, out: Path, *options: str, head: str = "head.safetensors") -> Result:
    files = ["--target", folder / "model", "--head", folder / head, "--out", out, "--prompts", folder / "prompts.txt"]
    return CliRunner().invoke(measure.main, [*map(str, files), "--grid", "main", *options])


def test_the_program_measures_what_it_is_given(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    shown = program(folder, out, "--contexts", "2", "--steps", "3")
    assert shown.exit_code == 0, shown.output
    assert "contexts 4 at T = 1" in shown.output
    content = json.loads(out.read_text())
    assert [row[0] for row in content["temperatures"]["1"]["contexts"]] == [0, 0, 1, 1]
    plan = {"grid": "main", "seed": 0, "contexts": 2, "steps": 3, "draws": 1, "temperatures": [1.0]}
    assert content["meta"]["plan"] == plan
    again = program(folder, out)
    assert again.exit_code == 2
    assert "out.json exists" in again.output


@pytest.mark.parametrize(
    ("options", "head", "message"),
    [
        ((), "prompts.txt", "expected a whole safetensors file"),
        (("--contexts", "9", "--steps", "3"), "head.safetensors", "expected at most --steps, 3"),
    ],
)
def test_unusable_input_is_refused_in_a_line(
    options: tuple[str, ...], head: str, message: str, folder: Path, tmp_path: Path
) -> None:
    shown = program(folder, tmp_path / "out.json", *options, head=head)
    assert shown.exit_code == 2
    assert message in " ".join(shown.output.split())
    assert list(tmp_path.iterdir()) == []


# Errors by cluster


def test_the_clustered_error_of_a_case_worked_by_hand() -> None:
    """Values 1, 2, 3 of prompt a, 5 of b, 7 of c: mean 18/5. Deviations summed: -24/5, 7/5, 17/5.

    Their squares sum to 914/25. Error: sqrt(3/2 * 914/25) / 5 = sqrt(1371) / 25.
    """
    found = clustered.mean_of([1.0, 5.0, 2.0, 7.0, 3.0], ["a", "b", "a", "c", "a"])
    assert found.mean == pytest.approx(18 / 5)
    assert found.error == pytest.approx(math.sqrt(1371) / 25)
    assert found[2:] == (5, 3)
    unclustered = clustered.mean_of([1.0, 5.0, 2.0, 7.0, 3.0], range(5))
    assert unclustered.error == pytest.approx(math.sqrt(1.16))
    assert unclustered.error < found.error


def test_one_cluster_has_no_error_and_lengths_must_agree() -> None:
    assert math.isnan(clustered.mean_of([1.0, 2.0], [0, 0]).error)
    with pytest.raises(ValueError, match="2 values and 1 clusters"):
        clustered.mean_of([1.0, 2.0], [0])
