"""RheoSampling (arXiv 2609.21827) in NumPy: the specification, read aloud as a decoder that decodes.

Written to be read and ported; it imports NumPy and nothing else. Read in this order:

    config.py   the parameters, and how EAGLE's map to them
    laws.py     logits -> the laws p and q that everything below means
    tape.py     where randomness comes from, and how one uniform becomes one decision
    slots.py    the K slots of one expanded node: head, sampled, fill
    tree.py     candidates of all layers, rank order, pruning; the kept tree as tree attention needs it
    verify.py   RheoVerification, RRSw, Match
    flow.py     FlowVerification
    decode.py   one step from top to bottom, and the loop around it

For experiments on toy models, batch.py (with batch_*.py) takes many independent steps at once, the same strings faster.
"""

from .batch import Models, Strings, simulate
from .config import Config, Processing
from .decode import Generation, Step, decode_step, generate
from .tape import Tape, Tapes, fresh_tapes
from .tree import Tree

__all__ = [
    "Config",
    "Generation",
    "Models",
    "Processing",
    "Step",
    "Strings",
    "Tape",
    "Tapes",
    "Tree",
    "decode_step",
    "fresh_tapes",
    "generate",
    "simulate",
]
