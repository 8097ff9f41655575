"""`rheo-decode` on a tiny model in a folder: what it prints and writes, and what it says of unusable input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from rheo_decode.command import status
from rheo_gpu.llm.files import save_head
from tokenizers import Tokenizer, decoders, models
from transformers import PreTrainedTokenizerFast

from tests.llm import tiny

ROOT = Path(__file__).resolve().parents[2]
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ .,:;<>{}"
PROMPT = ["--prompt", "abc ab"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """target, small: causal models with a tokenizer of letters; wide: one with more tokens; head.safetensors."""
    folder = tmp_path_factory.mktemp("models")
    for name, seed, sizes in (("target", 0, {}), ("small", 5, {}), ("wide", 0, {"vocab_size": 70})):
        tiny.llama(seed, 3, torch.float32, **sizes).save_pretrained(folder / name)
        tokenizer().save_pretrained(folder / name)
    (folder / "empty").mkdir()
    save_head(tiny.head(tiny.target(0)), folder / "head.safetensors")
    return folder


def tokenizer() -> PreTrainedTokenizerFast:
    vocab = {token: i for i, token in enumerate(["?", "[", "]", *LETTERS][: tiny.V])}
    letters = Tokenizer(models.BPE(vocab, [], unk_token="?"))
    letters.decoder = decoders.Fuse()
    made = PreTrainedTokenizerFast(tokenizer_object=letters, unk_token="?", bos_token="[", eos_token="]")
    made.chat_template = "{% for message in messages %}[{{ message['content'] }}:{% endfor %}"
    return made


def decode(folder: Path, *arguments: str, draft: str | None = "ngram", target: str = "target") -> int:
    named = [] if draft is None else ["--draft", draft if draft == "ngram" else str(folder / draft)]
    return status(["--target", str(folder / target), *named, *PROMPT, "--tokens", "9", *arguments])


def figures(folder: Path, *arguments: str, **others: Any) -> dict[str, Any]:
    path = folder / "run.json"
    path.unlink(missing_ok=True)
    assert decode(folder, *arguments, "--json", str(path), **others) == 0
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


@pytest.mark.parametrize("draft", ["ngram", "small", "head.safetensors"])
def test_every_kind_of_draft_gives_the_greedy_text_at_temperature_0(folder: Path, draft: str) -> None:
    alone = figures(folder, "--method", "autoregressive", "--temperature", "0", draft=None)
    for method in ("rheo", "flow", "top-k", "chain", "rrsw") if draft == "head.safetensors" else ("rheo",):
        run = figures(folder, "--method", method, "--temperature", "0", "--no-compare", draft=draft)
        assert run["text"] == alone["text"]
        assert run["token_ids"] == alone["token_ids"]


def test_it_prints_the_text_and_then_what_the_draft_was_worth(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = figures(folder, "--seed", "3", draft="head.safetensors")
    out, err = capsys.readouterr()
    assert out.startswith(run["text"] + "\n")
    words = " ".join(out.split())
    steps = run["decoding"]["steps"]
    assert f"rheo: {run['decoding']['tokens']} tokens in {steps} steps" in words
    for part in ("target layers", "lm_head", "draft", "selection", "verification", "cache", "prefill", "together"):
        assert part in words
    assert f"autoregressive {run['autoregressive']['tokens_per_second']:.1f}: {run['speed_up']:.2f} times" in words
    assert run["autoregressive"]["tokens"] == run["decoding"]["tokens"] == len(run["token_ids"])
    assert err == ""


def test_the_text_appears_while_it_is_decoded(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from rheo_decode import session

    right, shown = session.generate, list[str]()

    def watched(*arguments: Any, **more: Any) -> Iterator[Any]:
        shown.clear()  # of the tokens that warm up
        for step in right(*arguments, **more):
            yield step
            shown.append(capsys.readouterr().out)

    monkeypatch.setattr(session, "generate", watched)
    run = figures(folder, "--seed", "3", "--no-compare")
    assert len(shown) == run["decoding"]["steps"] > 2
    assert all(shown)
    assert "".join(shown) == run["text"]


def test_no_level_is_below_the_trees(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A walk that has come to the end of a tree has not been refused there. The draft model is the target itself."""
    for depth in (1, 2):
        run = figures(folder, "--depth", str(depth), "--nodes", "4", "--temperature", "0", draft="target")
        assert [level["accepted"] > 0 for level in run["decoding"]["acceptance"]] == [True] * depth
        table = capsys.readouterr().out.partition("went on with a draft token")[2].partition("milliseconds")[0]
        levels = [line.split()[0] for line in table.splitlines() if line.split()[:1] and line.split()[0].isdigit()]
        assert levels == [str(level) for level in range(1, depth + 1)]


def test_the_same_seed_gives_the_same_text(folder: Path) -> None:
    first, again, other = (figures(folder, "--no-compare", "--seed", seed)["text"] for seed in ("3", "3", "4"))
    assert first == again != other


def test_the_chat_template_is_used_unless_the_prompt_is_raw(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import rheo_decode.session

    seen = list[list[int]]()
    plain = rheo_decode.session.autoregressive

    def noting(target: Any, prompts: Any, *others: Any, **more: Any) -> Any:
        seen.extend(prompts)
        return plain(target, prompts, *others, **more)

    monkeypatch.setattr(rheo_decode.session, "autoregressive", noting)
    for arguments in ((), ("--raw",)):
        assert decode(folder, "--method", "autoregressive", *arguments, draft=None) == 0
    words = ["".join(["?", "[", "]", *LETTERS][token] for token in prompt) for prompt in seen]
    assert sorted(set(words)) == ["[abc ab:", "abc ab"]


def test_a_text_ends_with_the_stop_token_of_the_model(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = figures(folder, "--no-compare", "--temperature", "0")
    import rheo_decode.session

    end = whole["token_ids"][3]
    monkeypatch.setattr(rheo_decode.session, "stop_tokens", lambda target, tokenizer: [end])
    run = figures(folder, "--no-compare", "--temperature", "0")
    assert run["token_ids"] == whole["token_ids"][: whole["token_ids"].index(end) + 1]


UNUSABLE: dict[str, tuple[str, ...]] = {
    # arguments: what the message must contain
    "--nodes 0": ("--nodes", "0"),
    "--nodes six": ("--nodes", "six"),
    "--slots 0": ("--slots",),
    "--depth -1": ("--depth",),
    "--head 9": ("head is 9", "slots"),
    "--head 1 --method chain": ("chain", "head"),
    "--nodes 9 --method chain": ("--nodes does not go with --method chain", "use --depth"),
    "--slots 1 --method chain": ("--slots does not go with --method chain",),
    "--tokens 0": ("--tokens",),
    "--tokens 400": ("expected a shorter prompt or a lower limit",),
    "--temperature -1": ("temperature is -1.0",),
    "--temperature nan": ("temperature is nan",),
    "--draft-temperature inf": ("temperature is inf",),
    "--top-p 0": ("top_p is 0.0",),
    "--top-p nan": ("top_p is nan",),
    "--seed x": ("--seed",),
    "--seed -1": ("--seed",),
    f"--seed {2**63}": ("--seed",),
    "--threads 0": ("--threads",),
    "--method magic": ("magic", "rheo"),
    "--method autoregressive": ("--draft does not go with",),
    "--json /nowhere/run.json": ("--json", "cannot be written"),
    "--json .": ("--json", "cannot be written"),
    "--wrong": ("--wrong",),
}


@pytest.mark.parametrize("arguments", UNUSABLE)
def test_unusable_arguments_are_refused_in_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: str
) -> None:
    assert decode(folder, *arguments.split()) == 2
    one_line(capsys, *UNUSABLE[arguments])


def one_line(capsys: pytest.CaptureFixture[str], *words: str) -> None:
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("rheo-decode: ")
    assert err.count("\n") == 1
    assert [word for word in words if word not in err] == [], err


@pytest.mark.parametrize(
    ("draft", "target", "words"),
    [
        ("ngram", "none", ("--target", "none does not exist")),
        ("none", "target", ("--draft", "none does not exist")),
        ("ngram", ".", ("no config.json", "causal language model")),
        ("empty", "target", ("neither config.json nor head.safetensors",)),
        ("target/config.json", "target", ("config.json", "expected a whole safetensors file")),
        ("small/model.safetensors", "target", ("expected 'rheo-head-1'",)),
        ("wide", "target", ("70 tokens for a target with 64",)),
        ("head.safetensors", "wide", ("made for a target with 64 tokens",)),
    ],
)
def test_models_that_do_not_fit_or_are_not_there_are_refused_in_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], draft: str, target: str, words: tuple[str, ...]
) -> None:
    assert decode(folder, draft=draft, target=target) == 2
    one_line(capsys, *words)


def test_a_model_without_a_tokenizer_or_a_template_is_refused_in_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    tiny.llama(0, 3, torch.float32).save_pretrained(tmp_path)
    capsys.readouterr()
    assert status(["--target", str(tmp_path), "--draft", "ngram", *PROMPT]) == 2
    one_line(capsys, "no tokenizer that can be read")
    plain = tokenizer()
    plain.chat_template = None
    plain.save_pretrained(tmp_path)
    assert status(["--target", str(tmp_path), "--draft", "ngram", *PROMPT]) == 2
    one_line(capsys, "no chat template: use --raw")
    for name in ("model.safetensors", "config.json"):
        whole = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(whole[: len(whole) // 2])
        assert status(["--target", str(tmp_path), "--draft", "ngram", "--raw", *PROMPT]) == 2
        one_line(capsys, str(tmp_path))


def test_a_missing_prompt_or_draft_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = ["--target", str(folder / "target")]
    for arguments, word in (
        ([*target, "--draft", "ngram"], "--prompt"),
        ([*target, "--draft", "ngram", "--prompt", ""], "--prompt is empty"),
        ([*target, "--draft", "ngram", "--prompt", "a\udcff"], "--prompt is no text"),
        ([*target, *PROMPT], "--draft is missing"),
        (["--draft", "ngram", *PROMPT], "--target"),
        ([*target, *PROMPT, "--method", "autoregressive", "--nodes", "3"], "--nodes does not go with"),
    ):
        assert status(arguments) == 2
        one_line(capsys, word)


HELP = """
import sys
from rheo_decode.command import status
assert status(["--help"]) == 0
print(sorted(sys.modules.keys() & {"torch", "transformers", "rheo_gpu", "rheo_proof"}))
"""
WITHOUT = """
import sys
sys.modules[sys.argv[1]] = None
from rheo_decode.command import status
sys.exit(status(sys.argv[2:]))
"""


def python(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(ROOT / "gpu"), str(ROOT)])
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_help_is_printed_before_anything_large_is_loaded() -> None:
    assert python(HELP).stdout.endswith("\n[]\n")


@pytest.mark.parametrize("missing", ["torch", "transformers"])
def test_a_missing_library_is_named_with_the_extra_that_has_it(folder: Path, missing: str) -> None:
    run = python(WITHOUT, missing, "--target", str(folder / "target"), "--draft", "ngram", *PROMPT)
    assert (run.returncode, run.stdout) == (2, "")
    expected = f"{missing} is not installed, expected the extra llm: pip install 'rheo-proof[llm]'"
    assert run.stderr == f"rheo-decode: {expected}\n"


def test_decoding_without_a_draft_is_compared_under_the_same_processing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At another temperature it would be another task."""
    import rheo_decode.session

    asked: list[Any] = []
    plain = rheo_decode.session.autoregressive

    def noting(target: Any, prompts: Any, how: Any, **more: Any) -> Any:
        asked.append(how)
        return plain(target, prompts, how, **more)

    monkeypatch.setattr(rheo_decode.session, "autoregressive", noting)
    assert decode(folder, "--temperature", "0.5", "--top-p", "0.9") == 0
    assert asked
    assert {(how.temperature, how.top_p) for how in asked} == {(0.5, 0.9)}
