"""RheoSampling (arXiv 2609.21827) in torch: batches of draft trees on any device, without waiting for it.

Written for engines; it imports torch and nothing else. Read in this order:

    config.py   sizes that a batch shares, and what may differ from request to request
    laws.py     logits -> the laws p and q, and the best S tokens of q in order
    tape.py     where randomness comes from, and how one uniform becomes one decision
    slots.py    the K slots of expanded nodes: head, sampled, fill
    tree.py     layers, rank order, pruning; the kept trees as tree attention needs them
    verify.py   the walk; RheoVerification, RRSw, Match
    flow.py     FlowVerification
    decode.py   one step from top to bottom

R requests, V tokens, K slots, D layers, B nodes expanded in a layer, E in all, N draft nodes kept, S tokens of a draft
law. Requests are the first axis of every tensor; the second axis of a kept tree is its nodes, the root first.
"""

from .config import Config, Processing
from .decode import Step, decode_step
from .tape import Tape
from .tree import Layer, Trees, draft_trees
from .verify import Verified, verify

__all__ = [
    "Config",
    "Layer",
    "Processing",
    "Step",
    "Tape",
    "Trees",
    "Verified",
    "decode_step",
    "draft_trees",
    "verify",
]
