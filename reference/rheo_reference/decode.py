"""One step of speculative decoding from top to bottom, and the loop that makes text of steps."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from .config import Config
from .laws import Laws, Model, Prefix
from .slots import expand
from .tape import Site, Tape
from .tree import Candidates, Tree
from .verify import RULES


@dataclass(frozen=True)
class Step:
    """What one step did: the emitted string, the tree, the nodes of it that were accepted, the uniforms read.

    `drawn`: the tokens of all sampled slots, kept or not, in the order in which their uniforms were read.
    """

    tokens: Prefix
    accepted: tuple[int, ...]
    tree: Tree
    used: tuple[Site, ...]
    drawn: tuple[int, ...]

    @property
    def accepted_length(self) -> int:
        """tau, the number of accepted draft tokens."""
        return len(self.accepted)

    @property
    def tree_size(self) -> int:
        """Kept draft nodes, the root not counted."""
        return len(self.tree) - 1

    @property
    def sampled_kept(self) -> int:
        """Kept sampled nodes."""
        return self.tree.kinds.count("sampled")


def decode_step(target: Model, draft: Model, prefix: Prefix, config: Config, tape: Tape) -> Step:
    """Draft a tree below the prefix, verify it, and return the emitted string: accepted tokens and one more.

    The draft model is called once for each layer, with the prefixes of the nodes that are expanded; the target model
    once, with the prefixes of all kept nodes, the root first.
    """
    tape.fits(config)
    prefix = tuple(prefix)

    candidates, drawn = Candidates(), list[int]()
    for layer in range(config.depth):
        nodes = candidates.beam(layer, config.width)
        laws = Laws(draft, [prefix + candidates.path(node) for node in nodes], config.draft, config.dtype, "draft")
        for b, (node, q) in enumerate(zip(nodes, laws, strict=True)):
            expansion = expand(q, config)
            x = expansion.tail.draw(tape.draft(layer, b)) if expansion.tail else None
            drawn += [] if x is None else [x]
            candidates.add(node, expansion.slots(x), expansion.tail)
    tree = candidates.prune(config.nodes)

    p = Laws(target, [prefix + path for path in tree.paths()], config.target, config.dtype, "target")
    accepted, last = RULES[config.verify](tree, p, tape)

    tokens = (*(int(tree.tokens[node]) for node in accepted), last)
    return Step(tokens, tuple(accepted), tree, tuple(tape.used), tuple(drawn))


@dataclass(frozen=True)
class Generation:
    """A generated text without its prefix, the steps that made it, and why it ended: "stop" or "length"."""

    tokens: Prefix
    steps: tuple[Step, ...]
    ended: str

    def accepted_by_level(self) -> list[int]:
        """In entry l - 1, how many steps accepted at least l draft tokens, those cut off at the end included."""
        deepest = max((step.accepted_length for step in self.steps), default=0)
        return [sum(step.accepted_length >= level for step in self.steps) for level in range(1, deepest + 1)]


def generate(
    target: Model,
    draft: Model,
    prefix: Prefix,
    config: Config,
    tapes: Iterable[Tape],
    max_tokens: int,
    stop: Collection[int] = (),
) -> Generation:
    """Steps until `max_tokens` are there or a stop token is; that token is the last one, wherever it was accepted.

    Every step takes a new tape: `fresh_tapes(generator, config)` never runs out. Strings are cut, never the trees, so
    what is emitted has the law of target samples cut at the same place.
    """
    prefix, tokens, steps = tuple(prefix), list[int](), list[Step]()
    source = iter(tapes)
    while len(tokens) < max_tokens:
        tape = next(source, None)
        if tape is None:
            raise ValueError(f"no tape is left after {len(steps)} steps and {len(tokens)} tokens")
        step = decode_step(target, draft, (*prefix, *tokens), config, tape)
        steps.append(step)
        for token in step.tokens[: max_tokens - len(tokens)]:
            tokens.append(token)
            if token in stop:
                return Generation(tuple(tokens), tuple(steps), "stop")
    return Generation(tuple(tokens), tuple(steps), "length")
