"""A second opinion from Storm (stormchecker.org), a model checker that shares nothing with this project.

Storm reads the exported *text*, so what is checked is what a user would hand on. It computes in exact rationals, and
its numbers have to be ours. stormpy is imported where it is used; without it each function raises `InputError`.

What stormpy 2.0 does not do by itself, and what is done about it: rows are not checked to sum to 1 (`Process` does); a
float would be taken over as its binary value (none is handed over, only text); bisimulation takes no rational models
(they are handed over as constant rational functions).
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from rheo_proof.exact.errors import InputError, SoundnessError
from rheo_proof.exact.model import Prefix
from rheo_proof.theorems.export import drn
from rheo_proof.theorems.process import Process, string_of

Law: TypeAlias = Mapping[Prefix, Fraction]
MISSING = "a second opinion from Storm needs stormpy; pip install 'rheo-proof[storm]' (Linux with glibc 2.34 or later)"


def need_storm() -> Any:
    """stormpy. Raises `InputError` where it is not installed, or is a version with another interface."""
    try:
        import stormpy
        import stormpy.analysis
        import stormpy.transformations
    except ImportError:
        raise InputError(MISSING) from None
    if not hasattr(stormpy, "Rational"):
        raise InputError(f"stormpy {stormpy.__version__} has another interface; version 2.0 or later is needed")
    return stormpy


def read(text: str, language: str, parametric: bool = False) -> Any:
    """Storm's model of an exported text, with exact numbers."""
    stormpy = need_storm()
    number = stormpy.RationalFunction if parametric else stormpy.Rational
    with tempfile.TemporaryDirectory(prefix="rheo-") as folder:
        path = Path(folder) / f"step.{language}"
        path.write_text(text, encoding="utf-8")
        if language == "drn":
            return stormpy.build_model_from_drn[number](str(path))
        return stormpy.build_model[number](stormpy.parse_prism_program(str(path)))


def law_by_storm(text: str, language: str) -> dict[Prefix, Fraction]:
    """The law of the outputs of an exported chain: the share of time that it spends at each, in the long run.

    Outputs are end states, so this is the probability to end there. Raises `SoundnessError` unless it sums to 1.
    """
    model = read(text, language)
    share = need_storm().analysis.compute_steady_state_distribution(model)
    law = {
        string: sum((Fraction(str(share.get_value(state))) for state in _states(model, label)), Fraction(0))
        for label, string in _outputs(model)
    }
    if sum(law.values()) != 1:
        raise SoundnessError(f"Storm finds outputs of total probability {sum(law.values())}")
    return {string: mass for string, mass in law.items() if mass}


def chances_by_storm(text: str, language: str) -> dict[Prefix, Fraction]:
    """The same by one query of reachability for each output, another algorithm of Storm."""
    model = read(text, language)
    found = {string: _query(model, f'P=? [F "{label}"]') for label, string in _outputs(model)}
    return {string: mass for string, mass in found.items() if mass}


def bounds_by_storm(text: str, language: str) -> dict[Prefix, tuple[Fraction, Fraction]]:
    """For each output of a decision process the least and the largest probability that choices can give it."""
    model = read(text, language)
    return {
        string: (_query(model, f'Pmin=? [F "{label}"]'), _query(model, f'Pmax=? [F "{label}"]'))
        for label, string in _outputs(model)
    }


def _outputs(model: Any) -> list[tuple[str, Prefix]]:
    """The labels of outputs and their strings, shorter ones first."""
    found = [(label, string) for label in model.labeling.get_labels() if (string := string_of(label)) is not None]
    return sorted(found, key=lambda pair: (len(pair[1]), pair[1]))


def _states(model: Any, label: str) -> list[int]:
    return list(model.labeling.get_states(label))


def _query(model: Any, formula: str) -> Fraction:
    stormpy = need_storm()
    [asked] = stormpy.parse_properties(formula)
    [first] = model.initial_states
    answer = stormpy.model_checking(model, asked, only_initial_states=True).get_value(first)
    return Fraction(str(answer))


class Quotient(NamedTuple):
    """Blocks of a coarsest bisimulation: of all states, and of the kept trees among them."""

    states: int
    trees: int


def quotient(process: Process, weak: bool = False) -> Quotient:
    """How many states of a chain have different futures, by Storm's bisimulation with respect to outputs and trees.

    Two states are in one block iff they go into every block with the same probability and have the same labels; `weak`:
    iff they leave their block into every other one with the same probability, however many steps that takes.
    """
    stormpy = need_storm()
    model = read(drn(process, value_type="parametric"), "drn", parametric=True)
    labels = [*process.labels]
    asked = stormpy.parse_properties("; ".join(f'P=? [F "{label}"]' for label in labels))
    kinds = stormpy.transformations.BisimulationType
    kind = kinds.WEAK if weak else kinds.STRONG
    found = stormpy.transformations.perform_bisimulation(model, asked, bisimulation_type=kind)
    return Quotient(found.nr_states, len(_states(found, "tree")) if "tree" in labels else 0)
