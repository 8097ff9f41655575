"""examples/smollm2/speed.py: ratios and their errors, the program on a tiny pair; what the programs refuse."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner, Result
from rheo_gpu.llm.statistics import Totals

from tests.llm import tiny

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "smollm2"

pytestmark = pytest.mark.usefixtures("example_modules")


@pytest.fixture
def speed(example_modules: None) -> ModuleType:
    import speed

    return speed


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.pair_files(tmp_path_factory.mktemp("pair"))


def totals(tokens: int, seconds: float, prefill: float = 9.0) -> Totals:
    made = Totals(steps=tokens, tokens=tokens, emitted=tokens)
    made.seconds |= {"draft": seconds / 2, "target layers": seconds / 2, "prefill": prefill}
    return made


def test_the_ratio_is_of_all_tokens_a_second_without_the_prefill(speed: ModuleType) -> None:
    """12 tokens in 3 s against 8 in 4 s is 2. Without one prompt: 8 / 2 against 6 / 3 and 4 / 1 against 2 / 1."""
    own, plain = [totals(4, 1.0), totals(8, 2.0)], [totals(2, 1.0), totals(6, 3.0)]
    value, error = speed.ratio(own, plain)
    assert value == pytest.approx(2)
    assert error == pytest.approx(0)
    own[1] = totals(8, 4.0)  # 12 / 5 against 2; without one: (8 / 4) / 2 = 1 and (4 / 1) / 2 = 2
    value, error = speed.ratio(own, plain)
    assert value == pytest.approx(1.2)
    assert error == pytest.approx(math.sqrt(1 / 2 * (1 / 4 + 1 / 4)))
    assert speed.ratio(own[:1], plain[:1])[1] is None


def run(speed: ModuleType, folder: Path, *options: str, head: str = "head.safetensors") -> Result:
    files = ["--target", str(folder / "model"), "--head", str(folder / head)]
    return CliRunner().invoke(speed.main, [*files, "--prompts", "2", "--tokens", "5", "--threads", "1", *options])


def test_the_program_measures_each_setting_against_none(speed: ModuleType, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "speed.json"
    shown = run(speed, folder, "--out", str(out), "--only", "chain 2", "--only", "flow D=4 N=8")
    assert shown.exit_code == 0, shown.output
    content = json.loads(out.read_text())
    assert (content["format"], content["prompts"], content["tokens"]) == ("rheo-speed/1", 2, 5)
    assert [row["setting"] for row in content["rows"]] == ["without a draft", "chain 2", "flow D=4 N=8"]
    plain, chain, flow = content["rows"]
    assert (plain["speed"], plain["error"], plain["tokens_per_step"]) == (1.0, 0.0, 1.0)
    assert plain["ms"]["draft"] == 0
    assert plain["steps"] > max(chain["steps"], flow["steps"])
    for row in content["rows"]:
        assert sum(row["ms"].values()) == pytest.approx(row["ms_per_step"], rel=0.01, abs=0.05)


def test_a_single_prompt_has_no_error(speed: ModuleType, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "speed.json"
    shown = run(speed, folder, "--out", str(out), "--only", "chain 2", "--prompts", "1")
    assert shown.exit_code == 0, shown.output
    assert "+-" not in shown.output
    assert [row["error"] for row in json.loads(out.read_text())["rows"]] == [None, None]


def test_what_cannot_be_used_is_one_line_and_nothing_is_written(
    speed: ModuleType, folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "speed.json"
    for options, said in (({"head": "prompts.txt"}, "expected a whole safetensors file"),):
        shown = run(speed, folder, "--out", str(out), **options)
        assert shown.exit_code == 2
        assert said in " ".join(shown.output.split())
    shown = run(speed, folder, "--only", "chain 9")
    assert shown.exit_code == 2
    assert "no setting 'chain 9', expected chain 2" in " ".join(shown.output.split())
    assert not out.exists()


@pytest.mark.parametrize("name", ["train", "texts", "check"])
def test_the_other_programs_refuse_a_folder_without_a_model(name: str, folder: Path, tmp_path: Path) -> None:
    """They go through the same line as the loader; check with a head that is none."""
    (tmp_path / "empty").mkdir()
    program = __import__(name).main
    arguments = {
        "train": [tmp_path / "empty", folder / "prompts.txt", tmp_path / "out"],
        "texts": [folder / "model" / "..", tmp_path / "out"],
        "check": [folder / "model", folder / "prompts.txt"],
    }[name]
    shown = CliRunner().invoke(program, list(map(str, arguments)))
    assert shown.exit_code == 2, shown.output
    assert "expected" in " ".join(shown.output.split())
    assert not (tmp_path / "out").exists()
