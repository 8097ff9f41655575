"""Whole steps whose fault is in the drafting: the draft token does not come from the law that the ratio reads.

Three authors: one works in NumPy with functions from ids to a row of probabilities, one in torch with a candidate
generator object and logits, one in plain torch loops.
"""

import numpy as np
import torch

# NumPy, a model maps a list of ids to the probabilities of the next one


def sample(p):
    return int(np.random.choice(np.arange(p.shape[-1]), p=p))


def positive_part(x):
    x = np.where(x > 0, x, 0)
    return x / np.sum(x)


def numpy_step(ids, draft_model, target_model, n, pick):
    guess, rows = list(ids), []
    for _ in range(n):
        rows.append(draft_model(guess))
        guess.append(pick(rows[-1]))
    out = []
    for i, q in enumerate(rows):
        x = guess[len(ids) + i]
        p = target_model(guess[: len(ids) + i])
        if np.random.random() < min(1, p[x] / q[x]):
            out.append(x)
        else:
            out.append(sample(positive_part(p - q)))
            return out
    out.append(sample(target_model(guess)))
    return out


def greedy_drafts_dense_q(ids, draft_model, target_model, n):
    return numpy_step(ids, draft_model, target_model, n, pick=lambda q: int(np.argmax(q)))


def sampled_drafts_dense_q(ids, draft_model, target_model, n):
    return numpy_step(ids, draft_model, target_model, n, pick=sample)


# A candidate generator that hands over ids and logits; a model maps ids [1, L] to logits [1, V]


class CandidateGenerator:
    def __init__(self, assistant, n, do_sample=True, top_k=None, return_raw=False):
        self.assistant, self.n = assistant, n
        self.do_sample, self.top_k, self.return_raw = do_sample, top_k, return_raw

    def process(self, scores):
        if self.top_k is None:
            return scores
        best, index = scores.topk(self.top_k, dim=-1)
        return torch.full_like(scores, float("-inf")).scatter(-1, index, best)

    @torch.no_grad()
    def get_candidates(self, input_ids):
        kept = []
        for _ in range(self.n):
            raw = self.assistant(input_ids)
            scores = self.process(raw)
            kept.append(raw if self.return_raw else scores)
            if self.do_sample:
                nxt = torch.multinomial(scores.softmax(dim=-1), num_samples=1)
            else:
                nxt = scores.argmax(dim=-1, keepdim=True)
            input_ids = torch.cat((input_ids, nxt), dim=-1)
        return input_ids, torch.stack(kept, dim=1)


def accept_candidates(candidate_ids, candidate_logits, new_logits):
    n = candidate_logits.shape[1]
    new_ids = candidate_ids[:, -n:]
    q, p = candidate_logits.softmax(-1), new_logits.softmax(-1)
    index = torch.arange(n)
    ratio = p[0, index, new_ids[0]] / q[0, index, new_ids[0]]
    coins = torch.rand_like(ratio)
    accepted = coins < ratio
    matches = ((~accepted).cumsum(dim=-1) < 1).sum()
    last = p[:, matches]
    if matches < n:
        last = torch.clamp(last - q[:, matches], min=0)
        last.div_(last.sum())
    token = torch.multinomial(last, num_samples=1)
    return torch.cat((new_ids[:, :matches], token), dim=-1) if matches > 0 else token


def assisted_step(input_ids, assistant, model, n, **how):
    ids, logits = CandidateGenerator(assistant, n, **how).get_candidates(input_ids)
    rows = [model(ids[:, : input_ids.shape[1] + i]) for i in range(n + 1)]
    return accept_candidates(ids, logits, torch.stack(rows, dim=1))


def assistant_made_greedy(input_ids, assistant, model, n):
    return assisted_step(input_ids, assistant, model, n, do_sample=False)


def assistant_that_samples(input_ids, assistant, model, n):
    return assisted_step(input_ids, assistant, model, n)


def raw_logits_returned(input_ids, assistant, model, n):
    return assisted_step(input_ids, assistant, model, n, top_k=2, return_raw=True)


def processed_logits_returned(input_ids, assistant, model, n):
    return assisted_step(input_ids, assistant, model, n, top_k=2)


# Beams and rounded logits: plain torch, a model maps a tuple of ids to a row


def verify_path(path, rows, targets):
    """Leviathan's rule for a path; `rows` are the draft laws of its tokens."""
    out = []
    for x, q, p in zip(path, rows, targets[:-1], strict=True):
        if torch.rand(()) < p[x] / q[x]:
            out.append(x)
            continue
        rest = (p - q).relu_()
        out.append(torch.multinomial(rest, 1).item())
        return out
    out.append(torch.multinomial(targets[-1], 1).item())
    return out


def beam_search(ids, model, n, width=2):
    beams = [((), 1.0, [])]
    for _ in range(n):
        grown = []
        for path, score, rows in beams:
            q = model(tuple(ids) + path)
            grown += [((*path, x), score * q[x].item(), [*rows, q]) for x in range(len(q))]
        beams = sorted(grown, key=lambda beam: beam[1], reverse=True)[:width]
    return beams[0]


def best_beam_dense_q(ids, draft_model, target_model, n):
    path, _, rows = beam_search(ids, draft_model, n)
    return verify_path(path, rows, [target_model(tuple(ids) + path[:i]) for i in range(n + 1)])


def best_beam_one_hot_q(ids, draft_model, target_model, n):
    path, _, rows = beam_search(ids, draft_model, n)
    rows = [torch.nn.functional.one_hot(torch.tensor(x), len(q)).to(q.dtype) for x, q in zip(path, rows, strict=True)]
    return verify_path(path, rows, [target_model(tuple(ids) + path[:i]) for i in range(n + 1)])


def drafts_from_rounded_logits(ids, draft_model, target_model, n, dtype=torch.bfloat16):
    """The models give logits; the sampler sees them rounded, the verifier does not."""
    path, rows = (), []
    for _ in range(n):
        logits = draft_model(tuple(ids) + path)
        rows.append(torch.softmax(logits, -1))
        path += (torch.multinomial(torch.softmax(logits.to(dtype).to(logits.dtype), -1), 1).item(),)
    targets = [torch.softmax(target_model(tuple(ids) + path[:i]), -1) for i in range(n + 1)]
    return verify_path(path, rows, targets)


def drafts_from_the_logits_verified(ids, draft_model, target_model, n):
    return drafts_from_rounded_logits(ids, draft_model, target_model, n, dtype=torch.float64)
