"""`rheo-prove compare`: rows, verdicts, bounds, JSON, pictures, and what it says when it cannot."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from rheo_proof.exact.families import family_model
from rheo_proof.exact.files import read_model, write_model
from rheo_proof.exact.toys import toy
from rheo_proof.report.console import decimal
from rheo_proof.report.plots import COLOURS
from rheo_proof.schemes.laws import law_by_classes
from rheo_proof.schemes.registry import LOSSY, REDRAWING
from rheo_proof.schemes.scheme import Parameters
from rheo_proof.theorems import comparison
from rheo_proof.theorems.comparison import DEFAULT
from rheo_proof.theorems.prices import Certificate
from rheo_proof.theorems.zoo import EVERY, PLANNED
from tests.cli.program import ROOT, Run, cells, environment, is_one_line, prove_here, settled, written

SMALL = ("compare", "--vocab", "3", "--depth", "2")
FEW = (*SMALL, "--schemes", "rheo,flow,top-k,chain", "--schemes", "relaxed,bottom-up")


@lru_cache
def everything(folder: Path) -> tuple[Run, dict[str, Any], str]:
    """One run with all schemes: what it printed, its JSON, its picture."""
    run = prove_here(*SMALL, "--json", str(folder / "c.json"), "--plot", str(folder / "c.svg"))
    return run, written(folder / "c.json"), (folder / "c.svg").read_text("utf-8")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, dict[str, Any], str]:
    return everything(tmp_path_factory.mktemp("compare"))


def rows(out: str) -> dict[str, list[str]]:
    """The cells of each scheme's row."""
    found = {}
    lines = out.splitlines()
    start = next(number for number, line in enumerate(lines) if set(line.strip()) == {"─"})
    for line in lines[start + 1 :]:
        if not line.strip():
            break
        name, *others = cells(line)
        found[name] = others
    return found


def test_all_schemes_are_compared_and_the_lossless_ones_are(whole: tuple[Run, dict[str, Any], str]) -> None:
    run, content, _ = whole
    assert (run.status, run.err) == (0, "")
    assert {row["name"] for row in content["rows"]} == set(DEFAULT)
    assert len(DEFAULT) >= 50
    for row in content["rows"]:
        allowed = {"lossless"} if row["expected"] == "lossless" else {"lossless here", row["expected"]}
        assert row["verdict"] in allowed, row["name"]
        assert (row["tv"] == "0") == (row["verdict"] in ("lossless", "lossless here"))
    assert f"Covered: {len(DEFAULT)} of {len(DEFAULT)} schemes decided on one model (random 0)" in run.words
    assert run.words.endswith("which is no part of E[tau].")


def test_lossless_schemes_come_first_the_most_tokens_first(whole: tuple[Run, dict[str, Any], str]) -> None:
    _, content, _ = whole
    lossless = [Fraction(row["expected_tokens"]) for row in content["rows"] if row["tv"] == "0"]
    assert lossless == sorted(lossless, reverse=True)
    others = [row["verdict"] for row in content["rows"][len(lossless) :]]
    assert others == ["lossy by design"] * len(LOSSY)


def test_every_number_is_that_of_the_step_law(whole: tuple[Run, dict[str, Any], str]) -> None:
    _, content, _ = whole
    model = read_model(content["model"])
    assert model.target(()) == family_model("random", 0, 3, 2).target(())
    for name in ("rheo", "gbv", "ot-greedy-flow", "sglang-acc", "dx"):
        [row] = [row for row in content["rows"] if row["name"] == name]
        named = EVERY[name]
        law = law_by_classes(named.build(named.fix(Parameters(slots=2, depth=2))), model)
        assert row["expected_tokens"] == str(law.expected_tokens)
        assert row["acceptance"] == [str(rate) for rate in law.acceptance(2)]
        assert row["tv"] == str(law.total_variation(model))
        assert sum(Fraction(rate) for rate in row["acceptance"]) + 1 == law.expected_tokens


def test_no_lossless_scheme_is_above_the_bound_of_its_trees(whole: tuple[Run, dict[str, Any], str]) -> None:
    _, content, _ = whole
    bounded = [row for row in content["rows"] if row["distance"] is not None]
    without = {row["name"] for row in content["rows"] if row["verdict"] == "lossless" and row["distance"] is None}
    assert without == set(REDRAWING)
    for row in bounded:
        assert row["bound_kind"] == "program"
        assert Fraction(row["distance"]) == Fraction(row["bound"]) - Fraction(row["expected_tokens"]) >= 0
    best = {row["name"] for row in bounded if row["distance"] == "0"}
    assert {"block", "bv", "hsd", "top-k"} <= best


def test_a_lossless_scheme_above_its_bound_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "REDRAWING", ())
    run = prove_here(*SMALL, "--schemes", "hsd-naive")
    assert run.status == 4
    assert "more than the bound" in run.err


def test_what_is_printed_is_what_is_written(whole: tuple[Run, dict[str, Any], str]) -> None:
    run, content, _ = whole
    for row in content["rows"]:
        assert row["name"] in run.out
        assert " ".join(decimal(Fraction(rate)) for rate in row["acceptance"]) in run.out
        tokens = Fraction(row["expected_tokens"])
        assert decimal(tokens) in run.out or tokens.denominator == 1


def test_the_picture_names_every_scheme(whole: tuple[Run, dict[str, Any], str]) -> None:
    _, content, picture = whole
    assert picture.startswith("<?xml")
    assert picture.rstrip().endswith("</svg>")
    for row in content["rows"]:
        assert f">{row['name']}</text>" in picture
    assert ">bound of its own trees</text>" in picture


def colours(picture: str) -> list[str]:
    """The colour of each bar, from the top."""
    bars = re.findall(r'clip-path="url\(#\w+\)" style="fill: (#\w+)"', picture)
    kinds = {colour: kind for kind, colour in COLOURS.items()}
    return [kinds[bar] for bar in bars if bar in kinds]


def test_table_json_and_picture_say_the_same_verdict_of_every_scheme(whole: tuple[Run, dict[str, Any], str]) -> None:
    run, content, picture = whole
    written_verdicts = {row["name"]: row["verdict"] for row in content["rows"]}
    assert written_verdicts == {name: row[0] for name, row in rows(run.out).items()}
    assert colours(picture) == list(written_verdicts.values())
    assert written_verdicts["bottom-up"] == "lossless here"
    for kind in COLOURS:
        assert (f">{kind}</text>" in picture) == (kind in written_verdicts.values())


def test_a_fault_that_identical_models_hide_is_never_drawn_or_written_as_lossless(tmp_path: Path) -> None:
    target, picture = tmp_path / "c.json", tmp_path / "c.svg"
    names = ("--schemes", "rheo,rrs-skip-repeated,verify-full-q,skip-residual")
    files = ("--json", str(target), "--plot", str(picture))
    run = prove_here(*SMALL, "--family", "identical", *names, *files)
    assert run.status == 0
    found = {row["name"]: row["verdict"] for row in written(target)["rows"]}
    assert found["rheo"] == "lossless"
    hidden = [name for name, verdict in found.items() if verdict == "lossless here"]
    assert len(hidden) >= 1
    assert hidden == [name for name in found if name != "rheo" and rows(run.out)[name][0] == "lossless here"]
    assert colours(picture.read_text("utf-8")) == list(found.values())
    assert len(set(COLOURS.values())) == len(COLOURS) == 4


def test_the_same_run_gives_the_same_picture_and_a_png_is_one(tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg", "c.PNG"):
        assert prove_here(*FEW, "--plot", str(tmp_path / name)).status == 0
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    png = (tmp_path / "c.PNG").read_bytes()
    assert png.startswith(b"\x89PNG")
    assert len(png) > 5000


def test_chosen_schemes_are_the_only_ones_and_a_fault_may_be_one() -> None:
    run = prove_here(*FEW, "--schemes", "flow,gbv-clipped")
    assert run.status == 0
    shown = rows(run.out)
    assert set(shown) == {"rheo", "flow", "top-k", "chain", "relaxed", "bottom-up", "gbv-clipped"}
    assert shown["relaxed"][0] == "lossy by design"
    assert shown["gbv-clipped"][0] == "biased"
    assert shown["bottom-up"][0] == "lossless here"
    assert "Lossless here, not in general: bottom-up (biased)." in run.words


def test_a_lossy_scheme_that_is_exact_on_a_model_is_said_to_be_so() -> None:
    run = prove_here(*SMALL, "--family", "identical", "--schemes", "static-mixing")
    assert run.status == 0
    assert rows(run.out)["static-mixing"][:2] == ["lossless here", "0"]
    assert "Lossless here, not in general: static-mixing (lossy by design)." in run.words


def test_a_scheme_that_ought_to_be_lossless_and_is_not_is_status_1(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = EVERY["skip-residual"]
    monkeypatch.setitem(EVERY, "rheo", type(wrong)("rheo", wrong.line, wrong.fix, wrong.build, True))
    run = prove_here(*SMALL, "--schemes", "rheo,flow")
    assert run.status == 1
    assert "Biased, although expected to be lossless: rheo." in run.words


def test_a_model_of_ones_own_is_compared(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    run = prove_here(
        "compare", "--model", "examples/model.json", "--schemes", "rheo,greedy,spechub", "--json", str(path)
    )
    assert run.status == 0
    assert {row["expected_tokens"] for row in written(path)["rows"]} == {"2"}
    assert "on one model (model.json), V = 3, D = 1" in run.words


def test_too_few_classes_leave_a_row_undecided_and_the_status_is_3() -> None:
    run = prove_here(*SMALL, "--schemes", "rheo,rrs", "--max-classes", "60")
    assert run.status == 3
    assert rows(run.out)["rrs"][0] == "undecided"
    assert rows(run.out)["rheo"][0] == "lossless"
    assert "rrs: more than 60 classes." in run.words
    assert run.words.endswith("To decide more: a larger --max-classes; or a smaller --vocab, --depth or --slots.")
    assert "To decide more" not in prove_here(*SMALL, "--schemes", "rheo,rrs").words


def test_a_program_that_rounding_left_with_the_larger_bound_gives_way_and_the_kind_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The prices are spoiled, so the program proves less than chained strings do; on the other side nothing changes."""
    path = tmp_path / "c.json"
    arguments = (*SMALL, "--schemes", "block", "--json", str(path))
    assert prove_here(*arguments).status == 0
    [whole] = written(path)["rows"]
    honest = comparison.program_bound

    def spoiled(*given: Any) -> Certificate:
        return honest(*given)._replace(bound=honest(*given).bound + 1)

    monkeypatch.setattr(comparison, "program_bound", spoiled)
    run = prove_here(*arguments)
    [row] = written(path)["rows"]
    assert (whole["bound_kind"], row["bound_kind"]) == ("program", "chained")
    assert row["bound"] == whole["bound"], "block verification reaches both"
    assert rows(run.out)["block"][5] == "0*"
    assert "with * that of chained strings" in run.words


def test_many_trees_get_the_bound_of_chained_strings_or_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(comparison, "PROGRAM_TREES", 5)
    chained = prove_here(*SMALL, "--schemes", "rheo,top-k")
    assert rows(chained.out)["rheo"][5].endswith("*")
    assert not rows(chained.out)["top-k"][5].endswith("*")
    assert "with * that of chained strings" in chained.words
    path = tmp_path / "c.json"
    assert prove_here(*SMALL, "--schemes", "rheo,top-k", "--json", str(path)).status == 0
    kinds = {row["name"]: row["bound_kind"] for row in written(path)["rows"]}
    assert kinds == {"rheo": "chained", "top-k": "program"}
    monkeypatch.setattr(comparison, "MOST_TREES", 5)
    assert rows(prove_here(*SMALL, "--schemes", "rheo").out)["rheo"][5] == "-"


@pytest.mark.parametrize(
    "arguments",
    [
        ("--schemes", "no-such-scheme"),
        ("--schemes", ""),
        ("--vocab", "0"),
        ("--depth", "0"),
        ("--slots", "0"),
        ("--head", "3"),
        ("--nodes", "0"),
        ("--family", "no-such-family"),
        ("--family", ""),
        ("--model", "no-such-file.json"),
        ("--model", "examples/model.json", "--seed", "1"),
        ("--model", "examples/model.json", "--depth", "2"),
        ("--schemes", "rheo,"),
        ("--schemes", "rheo,,flow"),
        ("--schemes", "spechub", "--slots", "3"),
        ("--schemes", "chain,leviathan", "--slots", "2"),
        ("--schemes", "rrs,kseq", "--nodes", "5"),
        ("--schemes", "rrs", "--head", "0"),
        ("--timeout", "x"),
        ("--timeout", "0"),
        ("--timeout", "1" + "0" * 400),
        ("--max-classes", "2.5"),
        ("--sweep", "m", "--models", "0"),
        ("--plot", "c.pdf"),
        ("--plot", "no/such/folder/c.svg"),
        ("--json", ""),
        ("--models", "5"),
        ("--sweep", "colour"),
        ("--sweep", "m", "--schemes", "rheo"),
        ("--sweep", "m", "--model", "examples/model.json"),
        ("--sweep", "noise", "--family", "random"),
        ("--sweep", "m", "--family", "no-such-family"),
        ("--sweep", "m", "--vocab", "0"),
        ("--sweep", "m", "--head", "0"),
        ("--sweep", "m", "--slots", "0"),
        ("--sweep", "nodes", "--nodes", "3"),
    ],
    ids=" ".join,
)
def test_bad_input_is_one_line_and_status_2(arguments: tuple[str, ...]) -> None:
    run = prove_here("compare", *arguments)
    assert is_one_line(run, 2), run


MESSAGES = {
    ("--schemes", ""): "--schemes has an empty name in '', expected names such as --schemes rheo,flow",
    ("--schemes", "rheo,"): "--schemes has an empty name in 'rheo,', expected names such as --schemes rheo,flow",
    ("--timeout", "x"): "--timeout is x, expected a whole number from 1 to 1000000000",
    ("--schemes", "spechub", "--slots", "3"): "spechub always has slots = 2; leave out --slots",
    ("--schemes", "rrs", "--nodes", "5"): "rrs keeps every node that it drafts; leave out --nodes",
}


@pytest.mark.parametrize("arguments", MESSAGES, ids=" ".join)
def test_a_message_says_what_is_wrong_and_what_would_be_right(arguments: tuple[str, ...]) -> None:
    assert prove_here("compare", *arguments).err == f"rheo-prove: {MESSAGES[arguments]}\n"


def test_the_same_arguments_with_usable_values_are_compared() -> None:
    """The twin: it is the value that is refused above."""
    few = ("compare", "--depth", "1", "--vocab", "3")
    assert prove_here(*few, "--schemes", " rheo, flow", "--timeout", "600", "--max-classes", "5000").status == 0
    assert prove_here(*few, "--schemes", "spechub", "--slots", "2").status == 0
    mixed = prove_here(*few, "--schemes", "spechub,rrs,chain,leviathan", "--slots", "3")
    assert mixed.status == 0
    assert "K = 1, whatever is asked for: chain, leviathan. K = 2, whatever is asked for: spechub." in mixed.words


def test_what_no_scheme_reads_is_not_said_to_be_covered(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    run = prove_here("compare", "--depth", "1", "--vocab", "3", "--schemes", "spechub,rrs", "--json", str(path))
    assert "V = 3, D = 1, K = 2, as far as a scheme reads them" in run.words
    scheme = written(path)["rows"][0]["scheme"]
    assert (scheme["slots"], scheme["depth"]) == (2, 1)
    assert (scheme["head"], scheme["nodes"], scheme["beam"]) == (None, None, None)
    more = prove_here("compare", "--depth", "1", "--vocab", "3", "--schemes", "spechub,rheo")
    assert "D = 1, K = 2, B = 2, N = 8, m = 1, as far as a scheme reads them" in more.words


@pytest.mark.parametrize("spelling", ["c.svg", "folder/../c.svg", "link.svg", "{}/c.svg"])
def test_json_and_plot_are_never_written_to_the_same_file(
    spelling: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "link.svg").symlink_to("c.svg")
    before = sorted(path.name for path in tmp_path.iterdir())
    run = prove_here(*FEW, "--json", "c.svg", "--plot", spelling.format(tmp_path))
    assert is_one_line(run, 2), run
    assert "name the same file" in run.err
    assert sorted(path.name for path in tmp_path.iterdir()) == before


WITHOUT = """
import sys
for name in {missing}:
    sys.modules[name] = None
from rheo_proof.cli.main import main
main()
"""


def run_without(missing: tuple[str, ...], *arguments: str) -> Run:
    command = [sys.executable, "-c", WITHOUT.format(missing=missing), *arguments]
    run = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    return Run(run.returncode, run.stdout, run.stderr)


def test_without_matplotlib_a_plot_is_refused_and_nothing_else(tmp_path: Path) -> None:
    refused = run_without(("matplotlib",), *FEW, "--plot", str(tmp_path / "c.svg"))
    assert refused == Run(2, "", "rheo-prove: needs matplotlib; pip install 'rheo-proof[plot]'\n")
    assert run_without(("matplotlib",), *FEW).status == 0


def test_without_the_transport_extra_some_rows_say_so_and_the_bounds_are_weaker() -> None:
    run = run_without(("networkx", "ot", "scipy"), *SMALL, "--schemes", "rheo," + ",".join(PLANNED))
    assert (run.status, run.err) == (0, "")
    for name in PLANNED:
        assert rows(run.out)[name] == ["not applicable"]
        assert f"{name}: needs networkx; pip install 'rheo-proof[transport]'." in run.words
    assert rows(run.out)["rheo"][5].endswith("*")


def test_two_runs_differ_in_their_times_only() -> None:
    assert settled(prove_here(*FEW).out) == settled(prove_here(*FEW).out)


def test_the_toy_has_the_numbers_of_the_literature(tmp_path: Path) -> None:
    """E[tau] on the toy with two layers, from the papers or recomputed from their definitions."""
    expected = {"chain": "617/600", "bv": "133/120", "rrs": "48881/36000", "traversal": "1253/720", "top-k": "231/200"}
    model, target = tmp_path / "toy.json", tmp_path / "c.json"
    model.write_text(json.dumps(write_model(toy(2))), "utf-8")
    arguments = ("--model", str(model), "--slots", "2", "--schemes", ",".join(expected), "--json", str(target))
    assert prove_here("compare", *arguments).status == 0
    found = {row["name"]: Fraction(row["expected_tokens"]) - 1 for row in written(target)["rows"]}
    assert found == {name: Fraction(value) for name, value in expected.items()}
