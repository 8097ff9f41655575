"""Two n-gram models of one text, decoded with three rules, and how many draft tokens each of them accepts.

    pip install '.[reference]'
    python examples/ngram/decode.py

All rules draft trees of the same size and get the same prompts; every step takes a fresh tape, and all tapes come from
one seeded generator. What differs is the tree (`head`) and the rule (`verify`):

    top-K   the K most likely tokens at every node, verified one-hot: the tree of EAGLE-2/3
    rheo    one head slot, one sampled slot, the rest fill; RheoVerification
    flow    trees of the same kind, FlowVerification

All three write text with the law of the target model; they need more or fewer steps for it.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from ngram import Floats, NGram, Prefix
from rheo_reference import Config, Processing, decode_step, fresh_tapes, generate

TEXT = Path(__file__).with_name("text.txt")
TARGET_ORDER, DRAFT_ORDER = 6, 3
SLOTS, DEPTH, NODES = 4, 5, 16
STEPS_A_PROMPT, PROMPT = 10, 20
RULES = {"top-K": ("match", SLOTS), "rheo": ("rheo", 1), "flow": ("flow", 1)}


class Setting:
    """Text, models, and one way to decode for each rule. Tokens are places in the sorted alphabet of the text."""

    def __init__(self, temperature: float) -> None:
        text = " ".join(TEXT.read_text(encoding="utf-8").split())
        self.alphabet = sorted(set(text))
        self.tokens = tuple(map(self.alphabet.index, text))
        self.target, self.draft = (NGram(self.tokens, len(self.alphabet), n) for n in (TARGET_ORDER, DRAFT_ORDER))
        how = Processing(temperature=temperature)
        self.configs = {
            name: Config(slots=SLOTS, head=head, depth=DEPTH, nodes=NODES, verify=verify, target=how, draft=how)
            for name, (verify, head) in RULES.items()
        }

    def prompt(self, generator: np.random.Generator) -> Prefix:
        """A place of the text. Both models have read it: a prompt says where to begin, it is not a test text."""
        start = int(generator.integers(len(self.tokens) - PROMPT))
        return self.tokens[start : start + PROMPT]

    def write(self, tokens: Prefix) -> str:
        """Tokens as text."""
        return "".join(self.alphabet[token] for token in tokens)


def accepted(setting: Setting, config: Config, prompt: Prefix, generator: np.random.Generator) -> list[int]:
    """One step after the other from the prompt on, each on a fresh tape: their accepted lengths."""
    lengths, prefix, tapes = list[int](), prompt, fresh_tapes(generator, config)
    for _ in range(STEPS_A_PROMPT):
        step = decode_step(setting.target, setting.draft, prefix, config, next(tapes))
        lengths.append(step.accepted_length)
        prefix += step.tokens
    return lengths


def measure(setting: Setting, steps: int, generator: np.random.Generator) -> dict[str, Floats]:
    """For each rule an array [prompt, step] of accepted lengths, of at least so many steps and two prompts."""
    found: dict[str, list[list[int]]] = {name: [] for name in setting.configs}
    for _ in range(max(2, -(-steps // STEPS_A_PROMPT))):
        prompt = setting.prompt(generator)
        for name, config in setting.configs.items():
            found[name].append(accepted(setting, config, prompt, generator))
    return {name: np.array(lengths, dtype=float) for name, lengths in found.items()}


def difference(lengths: Floats, base: Floats) -> tuple[float, float]:
    """Mean difference and its standard error. Steps of one prompt depend on each other, prompts do not."""
    by_prompt = lengths.mean(axis=1) - base.mean(axis=1)
    return float(by_prompt.mean()), float(by_prompt.std(ddof=1) / np.sqrt(len(by_prompt)))


def table(found: dict[str, Floats]) -> str:
    """Rules side by side."""

    def row(label: str, cells: Sequence[object]) -> str:
        return f"{label:<24}" + "".join(f"{cell!s:>18}" for cell in cells)

    names, lengths = list(found), list(found.values())
    lines = [row("", names), row("steps", [array.size for array in lengths])]
    lines.append(row("mean accepted length", [f"{array.mean():.3f}" for array in lengths]))
    for level in range(1, DEPTH + 1):
        lines.append(row(f"accepted at least {level}", [f"{(array >= level).mean():.3f}" for array in lengths]))
    lines.append(row("tokens per step", [f"{array.mean() + 1:.3f}" for array in lengths]))
    for place, name in enumerate(names[:-1], 1):
        pairs = [difference(array, found[name]) for array in lengths[place:]]
        cells = ["-"] * place + [f"{mean:+.3f} +- {error:.3f}" for mean, error in pairs]
        lines.append(row(f"more than {name}", cells))
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, decode, print."""
    parser = argparse.ArgumentParser(description="Decode two n-gram models with three rules.")
    parser.add_argument("--steps", type=int, default=2000, help="steps for each rule, rounded up to tens (2000)")
    parser.add_argument("--seed", type=int, default=1, help="of the one generator behind prompts and tapes (1)")
    parser.add_argument("--temperature", type=float, default=1.0, help="of both models; 0 is greedy (1.0)")
    options = parser.parse_args(arguments)
    if options.steps < 1:
        parser.error(f"--steps is {options.steps}, expected at least 1")
    try:
        setting, generator = Setting(options.temperature), np.random.default_rng(options.seed)
    except ValueError as error:
        parser.error(str(error))

    print(f"{len(setting.tokens)} characters, {len(setting.alphabet)} different ones.")
    for name, model in (("Target", setting.target), ("Draft", setting.draft)):
        print(f"{name}: order {model.order}, {model.bits(setting.tokens):.2f} bits a character on this text.")
    print(f"Trees: K = {SLOTS}, D = {DEPTH}, N = {NODES}; m = {SLOTS} for top-K, m = 1 for the others.")
    print(f"Temperature {options.temperature}, seed {options.seed}, {STEPS_A_PROMPT} steps a prompt.\n")
    print(table(measure(setting, options.steps, generator)))
    print("\n+- is one standard error, over prompts.\n")

    prompt, config = setting.prompt(generator), setting.configs["rheo"]
    made = generate(setting.target, setting.draft, prompt, config, fresh_tapes(generator, config), max_tokens=300)
    print(f"A sample (rheo, {len(made.tokens)} characters in {len(made.steps)} steps), the prompt before the bar:")
    text = f"{setting.write(prompt)}|{setting.write(made.tokens)}"
    print(textwrap.fill(text, width=100, initial_indent="    ", subsequent_indent="    "))


if __name__ == "__main__":
    main()
