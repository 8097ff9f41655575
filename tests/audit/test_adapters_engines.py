"""The signatures that are in wide use, on tensors and arrays: our own functions of that shape, right and wrong."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch

from rheo_proof.audit.adapters import find
from rheo_proof.audit.cases import Case, Request
from rheo_proof.audit.exploring import explore
from rheo_proof.audit.tables import table
from tests.audit.audited import audited, every, installed

__all__ = ["installed"]

DOUBLE = ("float64",)
TINY = 1e-12


def assisted(candidate_input_ids, candidate_logits, candidate_length, new_logits, is_done_candidate):
    """A step of assisted generation, one position after the other."""
    ids = candidate_input_ids[0, -candidate_length:]
    q, p = candidate_logits[0].softmax(-1), new_logits[0].softmax(-1)
    n = 0
    while n < candidate_length and torch.rand(()) * q[n, ids[n]] <= p[n, ids[n]]:
        n += 1
    if is_done_candidate and n == candidate_length:
        return ids[None, :n], n - 1
    left = (p[n] - q[n]).relu() if n < candidate_length else p[n]
    return torch.cat([ids[:n], torch.multinomial(left, 1)])[None], n


def assisted_without_stop(candidate_input_ids, candidate_logits, candidate_length, new_logits, is_done_candidate):
    """R35: a token after the end."""
    return assisted(candidate_input_ids, candidate_logits, candidate_length, new_logits, False)


def assisted_with_the_prompt(candidate_input_ids, candidate_logits, candidate_length, new_logits, is_done_candidate):
    """The tokens are counted from the front, where the prompt is."""
    ids = torch.cat([candidate_input_ids[:, :candidate_length]], -1)
    return assisted(ids, candidate_logits, candidate_length, new_logits, is_done_candidate)


def rejection_sampler(target_probs, bonus_token_ids, draft_probs, draft_token_ids):
    """Vectorised over the batch; everything is drawn in advance, and what is not needed is masked."""
    k = draft_token_ids.shape[1]
    x = draft_token_ids.unsqueeze(-1)
    p, q = target_probs[:, :k], draft_probs
    accepted = torch.rand(draft_token_ids.shape) < (p.gather(-1, x) / q.gather(-1, x)).squeeze(-1)
    taken = accepted.cumprod(1).sum(1, keepdim=True)
    left = (p - q).clamp(min=torch.finfo(p.dtype).tiny)
    recovered = (left / torch.empty_like(left).exponential_()).argmax(-1)
    place = torch.arange(k).expand_as(draft_token_ids)
    out = torch.where(place < taken, draft_token_ids, torch.where(place == taken, recovered, -1))
    return torch.cat([out, torch.where(taken == k, bonus_token_ids, -1)], 1)


def rejection_sampler_next_row(target_probs, bonus_token_ids, draft_probs, draft_token_ids):
    """R33: target rows of the next request."""
    return rejection_sampler(target_probs.roll(1, 0), bonus_token_ids, draft_probs, draft_token_ids)


def rejection_sampler_garbage(target_probs, bonus_token_ids, draft_probs, draft_token_ids):
    """Something is left behind the padding."""
    out = rejection_sampler(target_probs, bonus_token_ids, draft_probs, draft_token_ids)
    return torch.where(out == -1, draft_token_ids[:, :1], out).roll(1, 1)


def posterior(logits, candidates, logits_processor):
    """Down the tree: at each level the distinct next tokens of the paths that agree so far, by breaking sticks."""
    alive = list(range(candidates.shape[0]))
    depth, left = 0, logits_processor(None, logits[0, 0][None])[0].softmax(-1)
    while depth + 1 < candidates.shape[1]:
        tried: list[int] = []
        chosen = None
        for path in alive:
            x = int(candidates[path, depth + 1])
            if x == -1 or x in tried:
                continue
            tried.append(x)
            if torch.rand(1).item() < left[x] / left.sum():
                chosen = x
                break
            left = left.clone()
            left[x] = 0
        if chosen is None:
            break
        alive = [path for path in alive if int(candidates[path, depth + 1]) == chosen]
        depth += 1
        left = logits_processor(None, logits[alive[0], depth][None])[0].softmax(-1)
    return torch.tensor(alive[0]), depth, left


def posterior_with_old_row(logits, candidates, logits_processor):
    """The last token is drawn from the row at the root."""
    best, length, _ = posterior(logits, candidates, logits_processor)
    return best, length, logits_processor(None, logits[0, 0][None])[0].softmax(-1)


def numpy_chain(draft_tokens, draft_probs, target_probs, rng):
    k = len(draft_tokens)
    for i in range(k):
        if rng.random() * draft_probs[i, draft_tokens[i]] >= target_probs[i, draft_tokens[i]]:
            left = np.maximum(target_probs[i] - draft_probs[i], 0)
            return i, rng.choice(len(left), p=left / left.sum())
    return k, rng.choice(target_probs.shape[1], p=target_probs[k] / target_probs[k].sum())


def numpy_chain_from_target(draft_tokens, draft_probs, target_probs, rng):
    k = len(draft_tokens)
    for i in range(k):
        if rng.random() * draft_probs[i, draft_tokens[i]] >= target_probs[i, draft_tokens[i]]:
            return i, rng.choice(target_probs.shape[1], p=target_probs[i] / target_probs[i].sum())
    return k, rng.choice(target_probs.shape[1], p=target_probs[k] / target_probs[k].sum())


def agrees(function, adapter, tables):
    """The answers of a function that should be right, held against what is expected."""
    answers = every(function, adapter, adapter.cases(DOUBLE, tables))
    assert len(answers) >= len(tables)
    for (case, request), answer in answers.items():
        assert answer.failures == {}
        assert answer.distance < TINY, case.name
        assert answer.changed == set()
        assert abs(answer.accepted - adapter.baseline(case, request).ratio) < TINY
    return answers


def departs(function, adapter, tables):
    """The smallest distance of a function that should be wrong."""
    return min(answer.distance for answer in every(function, adapter, adapter.cases(DOUBLE, tables)).values())


def test_assisted_generation_gets_logits_a_prompt_and_a_length():
    adapter = find("hf")
    agrees(assisted, adapter, ["zeros", "R20", "R35"])
    assert departs(assisted_with_the_prompt, adapter, ["R01"]) > 0.05


def test_a_candidate_that_ends_is_done_and_nothing_may_follow_it():
    case = find("hf").cases(DOUBLE, ["R35"])[0]
    wrong = audited(assisted_without_stop, find("hf"), case, Request())
    assert {text: float(mass) for text, mass in wrong.failures.items()} == {"tokens follow the end of sequence 1": 0.5}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_batched_rejection_sampler_gets_a_bonus_token_and_returns_padding(dtype):
    adapter = find("vllm")
    for case in adapter.cases((dtype,), ["dyadic", "middle of three"]):
        request = adapter.requests(case)[0]
        answer = audited(rejection_sampler, adapter, case, request)
        assert answer.failures == {}
        assert answer.distance <= 4 * case.unit
        assert abs(answer.accepted - adapter.baseline(case, request).ratio) <= 16 * case.unit


def test_rows_of_another_request_and_tokens_behind_padding_are_found():
    adapter = find("vllm")
    case = adapter.cases(DOUBLE, ["two dyadic"])[0]
    assert audited(rejection_sampler_next_row, adapter, case, Request()).distance > 0.1
    garbage = audited(rejection_sampler_garbage, adapter, case, Request())
    assert garbage.distance is None or garbage.distance > 0.1


@pytest.mark.parametrize("parents", [(-1, -1), (-1, -1, 0, 0, 1)])
def test_the_posterior_of_paths_is_read_with_the_vector_that_it_returns(parents):
    adapter = find("eagle", parents=parents)
    agrees(posterior, adapter, ["tenths", "thirds"])
    assert departs(posterior_with_old_row, adapter, ["tenths"]) > 0.01


def test_the_processor_divides_by_the_temperature():
    adapter = find("eagle", temperature=Fraction(1, 2))
    agrees(posterior, adapter, ["tenths"])

    def forgets(logits, candidates, logits_processor):
        return posterior(logits, candidates, lambda _, rows: rows)

    assert departs(forgets, adapter, ["tenths"]) > 0.05


def test_numpy_arrays_and_a_generator_are_handed_over():
    adapter = find("chain", arrays="numpy", returns="length,token", roles={"rng": "generator"})
    agrees(numpy_chain, adapter, ["dyadic", "tenths", "zeros"])
    assert departs(numpy_chain_from_target, adapter, ["tenths"]) > 0.05


def test_uniforms_as_arguments_are_random_tensors_and_arrays():
    def verify(draft_tokens, draft_probs, target_probs, uniforms):
        """The string of accepted tokens, without a bonus; a rejected one becomes the likeliest of the residual."""
        for i in range(len(draft_tokens)):
            if not uniforms[i] * draft_probs[i, draft_tokens[i]] < target_probs[i, draft_tokens[i]]:
                return [*draft_tokens[:i], (target_probs[i] - draft_probs[i]).argmax()]
        return [*draft_tokens, target_probs[-1].argmax()]

    laws = []
    for arrays in ("torch", "numpy"):
        adapter = find("chain", arrays=arrays, roles={"uniforms": "uniforms[K]"})
        answer = audited(verify, adapter, Case(table("tenths"), "float64"), Request())
        assert answer.failures == {}
        laws.append(answer.law)
    assert laws[0] == laws[1]


def test_a_tensor_that_is_written_to_is_a_changed_argument():
    def zeroes(draft_tokens, draft_probs, target_probs):
        target_probs[0, draft_tokens[0]] = 0
        return torch.multinomial(target_probs[0], 1)

    def takes_over(draft_tokens, draft_probs, target_probs):
        draft_probs.uniform_()
        return torch.multinomial(target_probs[0], 1)

    case = Case(table("tenths"), "float32")
    assert audited(zeroes, find("chain"), case, Request()).changed == {"target_probs"}
    assert audited(takes_over, find("chain"), case, Request()).changed == {"draft_probs"}


def test_a_call_without_interception_takes_plain_tensors_from_another_source():
    """What the fall-back for compiled code does."""
    from random import Random

    from rheo_proof.audit.arrays import Arrays

    class Dice:
        def __init__(self, seed):
            self.random, self.arrays = Random(seed), Arrays("torch", audited=False)

        def choose(self, weights, what):
            return self.random.choices(range(len(weights)), [float(w) for w in weights])[0]

        def uniform(self):
            return self.random.random()

        def exponential(self):
            return self.random.expovariate(1)

        def seed(self):
            return self.random.getrandbits(60)

        def phase(self, name):
            pass

    def verify(target_probs, bonus_token_ids, draft_probs, draft_token_ids):
        assert type(target_probs) is type(draft_token_ids) is torch.Tensor
        return rejection_sampler(target_probs, bonus_token_ids, draft_probs, draft_token_ids)

    adapter = find("vllm")
    case = Case(table("two awkward"), "float32")
    outcomes = {adapter.step(verify, case, Request(1), Dice(seed)) for seed in range(30)}
    assert len(outcomes) > 3
    known = explore(adapter.program(rejection_sampler, case, Request(1))).law
    assert outcomes <= set(known)
