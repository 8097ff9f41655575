"""Whole texts: with every method and every draft model, alone and in a batch, cut and counted."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest
import torch
from rheo_gpu import Processing, Tape
from rheo_gpu.llm import generate as loop
from rheo_gpu.llm import step as one_step
from rheo_gpu.llm.eagle import EagleDraft
from rheo_gpu.llm.errors import Unusable
from rheo_gpu.llm.generate import autoregressive, generate
from rheo_gpu.llm.methods import METHODS, method
from rheo_gpu.llm.ngram import NgramDraft
from rheo_gpu.llm.small import SmallDraft
from rheo_gpu.llm.statistics import PARTS, Step, Totals
from rheo_gpu.llm.target import Target
from transformers import GPT2Config, GPT2LMHeadModel

from tests.llm import tiny
from tests.llm.drafting import logits_after, plain_target
from tests.llm.tiny import V as VOCAB

PROMPTS = [[3, 5, 3, 5, 9], [7], [11, 2, 40, 2, 40, 2, 40, 2]]
SEEDS = [5, 9, 70]
LIMIT = 12
SIZES: dict[str, Any] = {"slots": 3, "depth": 3, "nodes": 7}


@pytest.fixture(scope="module")
def target() -> Any:
    return tiny.target(0, (1, 2), num_hidden_layers=2)


@pytest.fixture(scope="module")
def drafters(target: Any) -> dict[str, Any]:
    """A small model much like the target, one that is not, an n-gram, and a head with a vocabulary of its own."""
    near = plain_target(0)
    with torch.no_grad():
        for weight in near.model.parameters():
            weight.add_(0.03 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(1)))
    return {
        "near": SmallDraft(near),
        "far": SmallDraft(plain_target(8, depth=1)),
        "n-gram": NgramDraft(VOCAB, dtype=torch.float64),
        "head": EagleDraft(tiny.head(target)),
    }


def texts(steps: Iterable[Step], count: int = len(PROMPTS)) -> list[list[int]]:
    new: list[list[int]] = [[] for _ in range(count)]
    for step in steps:
        for text, tokens in zip(new, step.tokens, strict=True):
            text += tokens
    return new


def decode(target: Any, drafter: Any, name: str, prompts: Any = PROMPTS, seeds: Any = SEEDS, **others: Any) -> Any:
    heat = {key: others.pop(key) for key in ("temperature", "top_p", "draft_temperature") if key in others}
    others = {"limit": LIMIT, **others}
    return texts(
        generate(target, drafter, prompts, *method(name, **SIZES, **heat), seeds=seeds, **others), len(prompts)
    )


def test_autoregressive_decoding_at_temperature_0_is_greedy(target: Any) -> None:
    model, found = tiny.llama(0, 2), texts(autoregressive(target, PROMPTS, Processing(0.0), limit=6))
    for prompt, new in zip(PROMPTS, found, strict=True):
        text = list(prompt)
        for _ in range(6):
            text.append(int(logits_after(model, text).argmax()))
        assert new == text[len(prompt) :]


@pytest.mark.parametrize("name", METHODS)
def test_at_temperature_0_every_method_and_draft_model_gives_the_greedy_text(
    target: Any, drafters: dict[str, Any], name: str
) -> None:
    greedy = texts(autoregressive(target, PROMPTS, Processing(0.0), limit=LIMIT))
    for drafter in drafters.values():
        assert decode(target, drafter, name, temperature=0.0) == greedy


@pytest.mark.parametrize("name", METHODS)
def test_a_request_gets_the_same_text_alone_and_in_a_batch(target: Any, drafters: dict[str, Any], name: str) -> None:
    others = {"temperature": 0.8, "top_p": 0.9, "stop": [1, 2, 3, 4]}
    for drafter in drafters.values() if name == "rheo" else [drafters["near"]]:
        together = decode(target, drafter, name, **others)
        alone = [decode(target, drafter, name, [p], [s], **others)[0] for p, s in zip(PROMPTS, SEEDS, strict=True)]
        assert together == alone


def test_a_request_gets_the_same_text_alone_and_in_a_batch_without_a_draft(target: Any) -> None:
    together = texts(autoregressive(target, PROMPTS, Processing(0.8, top_p=0.9), limit=LIMIT, seeds=SEEDS))
    for prompt, seed, text in zip(PROMPTS, SEEDS, together, strict=True):
        assert texts(autoregressive(target, [prompt], Processing(0.8, top_p=0.9), limit=LIMIT, seeds=[seed]), 1) == [
            text
        ]


def test_the_same_seed_gives_the_same_text_and_another_one_another(target: Any, drafters: dict[str, Any]) -> None:
    first, again, other = (decode(target, drafters["near"], "rheo", seeds=seeds) for seeds in (SEEDS, SEEDS, 30))
    assert first == again
    assert all(a != b for a, b in zip(first, other, strict=True))
    assert decode(target, drafters["near"], "rheo", seeds=30) == decode(
        target, drafters["near"], "rheo", seeds=[30, 31, 32]
    )


def test_every_step_reads_a_fresh_tape_and_no_two_requests_share_one(
    target: Any, drafters: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    drafted: list[Tape] = []
    verified: list[Tape] = []
    draft, verify = one_step.draft_trees, loop.verify
    monkeypatch.setattr(one_step, "draft_trees", lambda d, c, tape, *a: drafted.append(tape) or draft(d, c, tape, *a))
    monkeypatch.setattr(loop, "verify", lambda t, x, c, tape, h: verified.append(tape) or verify(t, x, c, tape, h))
    decode(target, drafters["near"], "rheo")
    assert len(verified) > 5
    assert all(a is b for a, b in zip(drafted, verified, strict=True))
    numbers = torch.cat([part.flatten() for tape in drafted for part in (tape.draft_u, tape.coin_u, tape.token_u)])
    assert len(numbers.unique()) == len(numbers)


def test_a_tape_that_is_read_twice_would_be_noticed(
    target: Any, drafters: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = method("rheo", **SIZES).config
    stale = Tape.fill(config, len(PROMPTS), torch.Generator().manual_seed(0))
    monkeypatch.setattr(loop.Texts, "tape", lambda self, config: stale)
    with pytest.raises(AssertionError, match="assert"):
        test_every_step_reads_a_fresh_tape_and_no_two_requests_share_one(target, drafters, monkeypatch)


def test_a_text_ends_behind_its_first_stop_token_and_is_else_the_same(target: Any, drafters: dict[str, Any]) -> None:
    whole = decode(target, drafters["near"], "rheo")
    stop = [whole[0][4], whole[2][7]]
    cut = decode(target, drafters["near"], "rheo", stop=stop)
    for text, short in zip(whole, cut, strict=True):
        ends = [i + 1 for i, token in enumerate(text) if token in stop]
        assert short == text[: min(ends, default=len(text))]
    assert len(cut[0]) <= 5


def test_a_limit_cuts_the_text_and_changes_nothing_before(target: Any, drafters: dict[str, Any]) -> None:
    whole = decode(target, drafters["near"], "flow")
    for limit in (1, 2, 7):
        assert decode(target, drafters["near"], "flow", limit=limit) == [text[:limit] for text in whole]


def test_the_statistics_add_up(target: Any, drafters: dict[str, Any]) -> None:
    chosen = method("rheo", **SIZES)
    steps = list(generate(target, drafters["near"], PROMPTS, *chosen, limit=LIMIT, seeds=SEEDS, stop=[1, 2, 3]))
    totals = Totals.of(steps)
    took_part = [(s, r) for s in steps for r in range(len(PROMPTS)) if s.accepted[r] is not None]
    assert totals.steps == len(took_part)
    assert totals.tokens == sum(map(len, texts(steps)))
    assert totals.emitted == totals.steps + sum(int(s.accepted[r] or 0) for s, r in took_part)
    assert all(s.emitted[r] == 1 + int(s.accepted[r] or 0) >= len(s.tokens[r]) >= 1 for s, r in took_part)
    levels = totals.acceptance()
    assert levels[0][0] == totals.steps
    assert sum(accepted for _, accepted in levels) == totals.emitted - totals.steps
    assert all(accepted == walks for (_, accepted), (walks, _) in pairwise(levels))
    assert set(totals.seconds) == set(PARTS)
    assert all(seconds > 0 for seconds in totals.seconds.values())
    assert [end for end in steps[-1].ended if end not in ("stop", "limit")] == []
    assert totals.tokens_per_step > 1.3, "the near draft model should be accepted"
    assert totals.as_json()["tokens"] == totals.tokens


def test_a_draft_model_is_told_the_hidden_states_of_the_tokens_before(target: Any) -> None:
    """A draft model that checks what it is told, against whole texts read by the model itself."""
    seeing = tiny.target(0, (0, 1), num_hidden_layers=2)
    model, told = tiny.llama(0, 2), list[int]()

    class Checking(SmallDraft):
        layers = (0, 1)

        def begin(self, first: Any) -> None:
            self.texts = first[:, None].tolist()
            super().begin(first)

        def follow(self, tokens: Any, counts: Any, features: Any) -> None:
            for r, count in enumerate(counts.tolist()):
                self.texts[r] += tokens[r, :count].tolist()
                seen = model(input_ids=torch.tensor([self.texts[r]]), output_hidden_states=True).hidden_states
                states = torch.stack([seen[layer][0] for layer in self.layers], 1)
                torch.testing.assert_close(features[r, :count], states[len(states) - count - 1 : -1])
                told.append(count)
            super().follow(tokens, counts, features)

    decode(seeing, Checking(plain_target(0)), "rheo", limit=6)
    assert max(told[3:]) > 2, "draft tokens should be accepted"


def test_hidden_states_of_other_tokens_would_be_noticed(target: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    right = loop.followed
    monkeypatch.setattr(
        loop, "followed", lambda draft, seen, out, keep, counts: right(draft, seen, out, keep - 1, counts)
    )
    with pytest.raises(AssertionError, match="not close"):
        test_a_draft_model_is_told_the_hidden_states_of_the_tokens_before(target)


@pytest.mark.parametrize("name", ["rheo", "flow"])
def test_logits_that_are_no_law_end_the_text_with_one_clear_line(
    target: Any, drafters: dict[str, Any], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    logits = target.logits
    monkeypatch.setattr(target, "logits", lambda hidden: logits(hidden) * float("nan"))
    with pytest.raises(Unusable, match="request 0: after 0 new tokens the target answered with logits that are no law"):
        decode(target, drafters["near"], name)
    with pytest.raises(Unusable, match="no law"):
        texts(autoregressive(target, PROMPTS, Processing()))


def test_a_text_that_has_ended_may_break_without_harm(
    target: Any, drafters: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = decode(target, drafters["near"], "rheo")
    stop = [whole[0][0]]
    expected = decode(target, drafters["near"], "rheo", stop=stop)
    assert len(expected[0]) == 1
    assert all(len(text) > 1 for text in expected[1:])
    logits, calls = target.logits, list[int]()

    def broken_later(hidden: Any) -> Any:
        rows = logits(hidden).clone()
        calls.append(1)
        if len(calls) > 1:
            rows[0] = float("nan")
        return rows

    monkeypatch.setattr(target, "logits", broken_later)
    assert decode(target, drafters["near"], "rheo", stop=stop) == expected


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"prompts": []}, "no prompts"),
        ({"prompts": [[1], []]}, "prompt 1 is empty"),
        ({"prompts": [[VOCAB]]}, "prompt 0 holds a token outside"),
        ({"prompts": [[-1]]}, "prompt 0 holds a token outside"),
        ({"limit": 0}, "a limit of 0 new tokens"),
        ({"limit": 250}, "expected a shorter prompt or a lower limit"),
        ({"seeds": [1, 1, 2]}, "2 different seeds for 3 requests"),
        ({"seeds": [1]}, "1 different seeds for 3 requests"),
        ({"seeds": [1, 2, 1 + 2**32]}, "seeds that differ by a multiple of 2\\^32 are alike"),
        ({"seeds": 2**70}, "at most 64 bits"),
        ({"drafter": NgramDraft(VOCAB + 1)}, "65 tokens that are not among the 64"),
    ],
)
def test_what_cannot_be_decoded_is_refused_at_once(
    target: Any, drafters: dict[str, Any], wrong: dict[str, Any], message: str
) -> None:
    asked: dict[str, Any] = {"prompts": PROMPTS, "drafter": drafters["far"], **wrong}
    drafter, prompts = asked.pop("drafter"), asked.pop("prompts")
    with pytest.raises(Unusable, match=message):
        generate(target, drafter, prompts, *method("rheo"), **asked)


def test_the_generator_of_torch_reads_32_bits_of_a_seed() -> None:
    """Why such seeds are refused: the day it reads more, they need not be."""
    one, other = (torch.rand(9, generator=torch.Generator().manual_seed(seed)) for seed in (7, 7 + 2**32))
    assert torch.equal(one, other)


@pytest.mark.parametrize("ids", [[3, 3, 5], [5, 3, 7], [-1, 3, 5]])
def test_a_draft_model_that_has_a_token_twice_is_refused(target: Any, ids: list[int]) -> None:
    drafter = NgramDraft(3)
    drafter.tokens = torch.tensor(ids)
    with pytest.raises(Unusable, match="expected each token once, in order"):
        generate(target, drafter, PROMPTS, *method("rheo"))


def test_a_draft_model_with_fewer_positions_than_the_text_needs_is_refused_at_once(target: Any) -> None:
    """Not in the middle of the text, where its positions would run out."""
    short = plain_target(0)
    draft = SmallDraft(short)
    needed = len(PROMPTS[0]) + LIMIT + SIZES["depth"]
    how = method("rheo", **SIZES)
    draft.positions = needed
    assert len(texts(generate(target, draft, PROMPTS[:1], *how, limit=LIMIT), 1)[0]) == LIMIT
    draft.positions = needed - 1
    with pytest.raises(Unusable, match=f"take {needed} positions of the draft model's {needed - 1}"):
        generate(target, draft, PROMPTS[:1], *how, limit=LIMIT)


def test_a_text_that_has_ended_stays_within_the_positions_of_the_target() -> None:
    """With a table of positions it would else be read beyond its end while others of the batch go on."""
    torch.manual_seed(0)
    model = GPT2LMHeadModel(
        GPT2Config(vocab_size=VOCAB, n_embd=32, n_layer=1, n_head=4, n_positions=64, initializer_range=0.3)
    )
    target = Target(model.double())
    chosen = method("rheo", slots=3, depth=6, nodes=9)
    for first in range(12):
        prompts, seeds = [[1] * (64 - 12 - 13), [5, 6]], [first, 1000 + first]
        steps = list(generate(target, SmallDraft(target), prompts, *chosen, limit=12, seeds=seeds))
        assert list(map(len, texts(steps, 2))) == [12, 12]
    with pytest.raises(Unusable, match="expected a shorter prompt"):
        generate(target, SmallDraft(target), [[1] * 40, [5]], *chosen, limit=12)


def test_no_position_beyond_the_last_is_read_in_a_batch() -> None:
    """Texts that end with all draft tokens accepted go furthest: with the target as its own draft they often do."""
    torch.manual_seed(0)
    n, depth, limit = 12, 2, 6
    model = GPT2LMHeadModel(
        GPT2Config(vocab_size=VOCAB, n_embd=32, n_layer=1, n_head=4, n_positions=n, initializer_range=0.3)
    )
    target = Target(model.double())
    chosen = method("chain", depth=depth)
    prompts = [[3]] * 24
    steps = list(generate(target, SmallDraft(target), prompts, *chosen, limit=limit, seeds=0))
    assert list(map(len, texts(steps, 24))) == [limit] * 24
    with pytest.raises(Unusable, match=f"take {n + 1} positions"):
        generate(target, SmallDraft(target), prompts, *chosen, limit=limit + 1, seeds=0)


@pytest.mark.parametrize("name", METHODS)
def test_top_p_and_temperature_are_those_of_the_target(target: Any, drafters: dict[str, Any], name: str) -> None:
    """No token comes out that is not among the fewest likely ones of the mass asked for."""
    outside = []
    for asked in (0.5, None):
        chosen = method(name, **SIZES, temperature=0.7, top_p=asked)
        new = texts(generate(target, drafters["far"], PROMPTS, *chosen, limit=30, seeds=SEEDS))
        outside.append(0)
        for prompt, text in zip(PROMPTS, new, strict=True):
            for i, token in enumerate(text):
                law = (logits_after(target.model, prompt + text[:i]) / 0.7).softmax(-1)
                better = float(law[law > law[token]].sum())
                outside[-1] += better >= 0.5
    assert outside[0] == 0
    assert outside[1] > 0


def test_a_target_that_keeps_other_hidden_states_than_the_draft_model_wants_is_refused(target: Any) -> None:
    drafter = NgramDraft(VOCAB)
    drafter.layers = (1,)
    with pytest.raises(Unusable, match=r"keeps its hidden states \(1, 2\), but the draft model wants \(1,\)"):
        generate(target, drafter, PROMPTS, *method("rheo"))


def test_the_methods_are_what_their_names_say() -> None:
    assert method("top-k", slots=5, temperature=0.6, top_p=0.9).config.head == 5
    for name in METHODS:
        how = method(name, temperature=0.6, top_p=0.9).how
        assert (how.temperature, how.top_p) == (0.6, 0.9)
    how = method("top-k", temperature=0.6, top_p=0.9).how_draft
    assert (how.temperature, how.top_p) == (1.0, None)
    chain = method("chain", depth=3, temperature=0.6)
    assert (chain.config.slots, chain.config.head, chain.config.kept, chain.how_draft.temperature) == (1, 0, 3, 0.6)
    assert method("rheo", head=2).config.head == 2
    assert (method("rheo").config.depth, method("chain").config.depth, method("rheo", depth=4).config.depth) == (
        1,
        2,
        4,
    )
    assert {name: method(name).config.verify for name in METHODS} == {
        "rheo": "rheo",
        "flow": "flow",
        "rrsw": "rrsw",
        "top-k": "match",
        "chain": "rheo",
    }
    for wrong in (
        {"name": "magic"},
        {"name": "chain", "head": 1},
        {"name": "rheo", "head": 9},
        {"name": "rheo", "nodes": 0},
    ):
        with pytest.raises(Unusable):
            method(**wrong)
    with pytest.raises(Unusable, match="make more than 1,000,000 candidates"):
        method("rheo", slots=200_000, depth=2)
    with pytest.raises(Unusable, match="make more than 1,000,000 candidates"):
        method("chain", depth=10**12)
    with pytest.raises(Unusable, match="temperature"):
        method("rheo", temperature=-1.0)
