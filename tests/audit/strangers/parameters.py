"""Sampling parameters that reach one side only, some rows only, or are counted wrongly.

All take the ids of a drafted chain [K], the draft's rows [K, V] and the target's rows [K + 1, V].
"""

import numpy as np
import torch
import torch.nn.functional as fn

# Temperature; an engine's sampler class


class RejectionSampler:
    def __init__(self, temperature=1.0):
        self.temperature = temperature

    def scale(self, logits):
        t = torch.full((logits.shape[0], 1), self.temperature, dtype=logits.dtype)
        return logits.div(t)

    @torch.inference_mode()
    def forward(self, draft_ids, q, target_logits):
        p = torch.softmax(self.scale(target_logits), dim=-1)
        k = draft_ids.numel()
        chosen = draft_ids.unsqueeze(1)
        capped = torch.minimum(p[:k].gather(1, chosen) / q.gather(1, chosen), torch.ones(1, dtype=p.dtype))
        uniform = torch.empty_like(capped).uniform_()
        ok = (uniform < capped).squeeze(1)
        n = int(ok.long().cumprod(0).sum())
        weights = (p[n] - q[n]).clamp_(min=0) if n < k else p[k]
        last = torch.multinomial(weights, 1)
        padded = torch.full((k + 1,), -1, dtype=torch.long)
        padded[:n] = draft_ids[:n]
        padded[n] = last
        return padded


def temperature_forgotten(draft_ids, draft_probs, target_logits, temperature=0.5):
    return RejectionSampler().forward(draft_ids, draft_probs, target_logits)


def temperature_applied(draft_ids, draft_probs, target_logits, temperature=0.5):
    return RejectionSampler(temperature).forward(draft_ids, draft_probs, target_logits)


def temperature_of_padding(draft_ids, draft_probs, target_logits, temperature=-1.0):
    """-1 stands for 'no temperature given' and is used as one."""
    return RejectionSampler(temperature).forward(draft_ids, draft_probs, target_logits)


def temperature_of_padding_replaced(draft_ids, draft_probs, target_logits, temperature=-1.0):
    return RejectionSampler(temperature if temperature > 0 else 1.0).forward(draft_ids, draft_probs, target_logits)


def softmax_of_probabilities(draft_ids, draft_probs, target_probs):
    """The rows are laws already and pass through another softmax."""
    return RejectionSampler().forward(draft_ids, draft_probs, target_probs)


def softmax_of_logarithms(draft_ids, draft_probs, target_probs):
    return RejectionSampler().forward(draft_ids, draft_probs, target_probs.log())


# Filters; NumPy with a generator per process

rng = np.random.default_rng(1234)


def min_p(row, least=0.5):
    row = np.where(row >= least * row.max(), row, 0.0)
    return row / row.sum()


def ban(row, token=2):
    row = row.copy()
    row[token] = 0.0
    return row / row.sum()


def chain(draft_ids, q, p):
    """Accept with probability min(1, p/q); the rows of both are what is really meant."""
    out = []
    for i, x in enumerate(draft_ids):
        if rng.random() * q[i][x] < p[i][x]:
            out.append(int(x))
        else:
            rest = np.maximum(p[i] - q[i], 0)
            return [*out, int(rng.choice(len(rest), p=rest / rest.sum()))]
    return [*out, int(rng.choice(len(p[-1]), p=p[-1]))]


def filter_on_the_bonus_row_only(draft_ids, q, p):
    return chain(draft_ids, q, [*p[:-1], min_p(p[-1])])


def filter_on_every_row(draft_ids, q, p):
    return chain(draft_ids, q, [min_p(row) for row in p])


def ban_dropped(draft_ids, q, p, bad_words=(2,)):
    return chain(draft_ids, q, p)


def ban_kept(draft_ids, q, p, bad_words=(2,)):
    for token in bad_words:
        p = [ban(row, token) for row in p]
    return chain(draft_ids, q, p)


# Top-k and top-p: together, or one after the other


def top_k_top_p_joint(p, k=4, top_p=0.82):
    ordered, index = p.sort(dim=-1, descending=True)
    before = ordered.cumsum(-1) - ordered
    drop = (before >= top_p) | (torch.arange(p.shape[-1]) >= k)
    ordered = ordered.masked_fill(drop, 0.0)
    p = torch.zeros_like(p).scatter_(-1, index, ordered)
    return p / p.sum(-1, keepdim=True)


def top_k_then_top_p(p, k=4, top_p=0.82):
    ordered, index = p.sort(dim=-1, descending=True)
    ordered[..., k:] = 0
    ordered /= ordered.sum(-1, keepdim=True)
    before = ordered.cumsum(-1) - ordered
    ordered[before >= top_p] = 0
    p = torch.zeros_like(p).scatter_(-1, index, ordered)
    return p / p.sum(-1, keepdim=True)


def chain_by_log(draft_ids, q, p):
    """The same test in logarithms, as kernels write it."""
    k = len(draft_ids)
    u = torch.rand(k, dtype=p.dtype)
    for i in range(k):
        x = draft_ids[i]
        if u[i].log() + q[i, x].log() < p[i, x].log():
            continue
        return torch.cat([draft_ids[:i], torch.multinomial(fn.relu(p[i] - q[i]), 1)])
    return torch.cat([draft_ids, torch.multinomial(p[k], 1)])


def filters_one_after_the_other(draft_ids, draft_probs, target_probs):
    return chain_by_log(draft_ids, draft_probs, top_k_then_top_p(target_probs))


def filters_together(draft_ids, draft_probs, target_probs):
    return chain_by_log(draft_ids, draft_probs, top_k_top_p_joint(target_probs))


# Only the bonus is sampled


def target_rows_by_argmax(draft_ids, draft_probs, target_probs):
    best = target_probs.argmax(dim=-1)
    wrong = (draft_ids != best[:-1]).nonzero()
    if wrong.numel():
        first = wrong[0, 0]
        return torch.cat([draft_ids[:first], best[first : first + 1]])
    return torch.cat([draft_ids, torch.multinomial(target_probs[-1], 1)])


def target_rows_sampled(draft_ids, draft_probs, target_probs):
    own = torch.multinomial(target_probs, 1).flatten()
    wrong = (draft_ids != own[:-1]).nonzero()
    if wrong.numel():
        first = wrong[0, 0]
        return own[: first + 1]
    return own


# Penalties: a step with model callables, which give weights; each earlier occurrence halves the weight


def penalised(weights, history):
    counts = torch.bincount(torch.tensor(history, dtype=torch.long), minlength=weights.numel())
    weights = weights * torch.pow(torch.tensor(0.5, dtype=weights.dtype), counts)
    return weights / weights.sum()


def prompt_lookup_step(ids, target_model, guess, history_of):
    """The guess is a fixed function of the context: accepted with p."""
    out = []
    for x in guess:
        p = penalised(target_model([*ids, *out]), history_of([*ids, *out]))
        if torch.bernoulli(p[x]):
            out.append(x)
            continue
        p[x] = 0
        return [*out, torch.multinomial(p, 1).item()]
    p = penalised(target_model([*ids, *out]), history_of([*ids, *out]))
    return [*out, torch.multinomial(p, 1).item()]


def only_the_last_token_is_counted(ids, target_model, guess=(0, 0)):
    return prompt_lookup_step(ids, target_model, guess, lambda history: history[-1:])


def the_last_token_is_counted_twice(ids, target_model, guess=(0, 0)):
    return prompt_lookup_step(ids, target_model, guess, lambda history: history + history[-1:])


def all_tokens_are_counted(ids, target_model, guess=(0, 0)):
    return prompt_lookup_step(ids, target_model, guess, lambda history: history)
