"""Packages that verify trees of candidates, with drafting and the last draw as the package does them.

As in `peer_steps`, every function takes the two models as functions of a prefix and returns the emitted tokens.
"""

from __future__ import annotations

import torch

from tests.audit.peers.models import PROMPT, Rows, row_after

# Two children of the root, one child of the first of them.
CHOICES = [[0], [1], [0, 0]]
SIBLINGS = 2


def eagle(draft: Rows, target: Rows, temperature: float = 1.0) -> torch.Tensor:
    """eagle.model of eagle-llm: siblings without replacement, `evaluate_posterior`, then its last draw."""
    from eagle.model import utils

    processor = None if temperature == 1.0 else _Temperature(temperature)
    processor = processor or _Temperature(1.0)
    utils.TOPK = SIBLINGS
    buffers = utils.generate_tree_buffers(CHOICES, device="cpu")
    drawn = _eagle_draft(draft, processor)
    candidates, probs, tree = utils.generate_candidates(
        drawn, buffers["tree_indices"], buffers["retrieve_indices"], torch.tensor([[PROMPT]]), processor
    )
    logits = torch.stack([_path_logits(target, path) for path in candidates.tolist()])
    best, accepted, last = utils.evaluate_posterior(
        logits, candidates, processor, probs, drawn[2], buffers["p_indices"], tree, buffers["b_indices"]
    )
    accepted = int(accepted)
    return torch.cat([candidates[int(best), 1 : accepted + 1], torch.multinomial(last, 1)])


class _Temperature:
    """A list of logits processors that only scales."""

    def __init__(self, temperature: float) -> None:
        self.temperature = temperature

    def __call__(self, _: object, logits: torch.Tensor) -> torch.Tensor:
        return logits / self.temperature


def _eagle_draft(draft: Rows, processor: _Temperature) -> tuple[torch.Tensor, torch.Tensor, list[torch.Tensor]]:
    """What the package's drafting head returns: tokens and conditional probabilities [rows, siblings], and the rows."""
    from eagle.model.cnets import Model

    tokens, probs, rows = [], [], []
    prefixes: list[tuple[int, ...]] = [()]
    for _ in range(2):
        logits = torch.stack([row_after(draft, prefix).log() for prefix in prefixes])
        token, prob, row = Model.sample(None, logits, processor, k=SIBLINGS)
        tokens.append(token)
        probs.append(prob)
        rows.append(row)
        # Only the first child of the root has a child.
        prefixes = [(int(token[0, 0]),)]
    return torch.cat(tokens), torch.cat(probs), rows


def _path_logits(target: Rows, path: list[int]) -> torch.Tensor:
    """Logits [depth + 1, V] along one path from the prompt; after its end, padded with -1, whatever comes."""
    tokens = path[1:]
    return torch.stack(
        [
            row_after(target, tokens[:end]).log() if -1 not in tokens[:end] else torch.zeros_like(row_after(target, ()))
            for end in range(len(path))
        ]
    )


def medusa(draft: Rows, target: Rows) -> torch.Tensor:
    """medusa.model.utils: candidates, `evaluate_posterior` at temperature 1 and thresholds 0.09 and 0.3, greedy last token."""
    from medusa.model.utils import evaluate_posterior, generate_candidates

    heads = torch.stack([row_after(draft, ()).log(), row_after(draft, ()).log()])[:, None, None]
    # The root is the most likely token of the target, every head proposes its two most likely ones.
    candidates, _ = generate_candidates(heads, row_after(target, ()).log()[None, None], [2, 2], torch.arange(5), 1.0)
    logits = torch.stack(
        [torch.stack([row_after(target, path[: end + 1]).log() for end in range(len(path))]) for path in candidates.tolist()]
    )
    best, accepted = evaluate_posterior(logits, candidates, 1.0, 0.09, 0.3)
    best, accepted = int(best), int(accepted)
    following = logits[best, accepted].argmax().reshape(1)
    return torch.cat([candidates[best, : accepted + 1], following])
