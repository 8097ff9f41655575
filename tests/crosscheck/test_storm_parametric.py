"""One node of RheoVerification for all p and q at once: Storm's rational functions of p0, p1, q0, q1.

X ~ q is kept with probability min(1, p(X)/q(X)), else y ~ norm((p - q)+). With three tokens and the signs of p - q
fixed, every probability is a rational function, and the token that comes out has the law p if three functions are p0,
p1 and 1 - p0 - p1. That is a statement about all p and q of these signs, not about examples. The text is written here
by hand; that it is what the program does is checked on models.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from rheo_proof.exact.law import Law
from rheo_proof.exact.model import tabled
from rheo_proof.schemes.laws import law_by_classes
from rheo_proof.schemes.scheme import Parameters, plain
from rheo_proof.theorems.storm import need_storm
from tests.crosscheck.needs_storm import storm_or_skip

storm_or_skip()

TOKENS = range(3)
Signs = tuple[bool, ...]
SIGNS: list[Signs] = [signs for signs in product((True, False), repeat=3) if any(signs) and not all(signs)]
"""For each token whether p >= q. All or none of them would be p = q: nothing is rejected, and there is no residual."""

LAWS = [
    (("1/2", "1/3", "1/6"), ("1/5", "1/5", "3/5")),
    (("1/10", "3/10", "3/5"), ("1/2", "1/4", "1/4")),
    (("1/4", "3/8", "3/8"), ("1/2", "1/4", "1/4")),
    (("3/5", "1/5", "1/5"), ("1/3", "1/3", "1/3")),
]


def node(signs: Signs, residual: str = "p{0}-q{0}", values: dict[str, str] | None = None) -> str:
    """The node as PRISM text; `residual` is what a rejection draws from, before it is normalised."""
    given = {name: f" = {value}" for name, value in (values or {}).items()}
    lines = ["dtmc", *(f"const double {name}{given.get(name, '')};" for name in ("p0", "p1", "q0", "q1"))]
    lines += ["formula p2 = 1-p0-p1;", "formula q2 = 1-q0-q1;"]
    left = [x for x in TOKENS if signs[x]]
    lines.append(f"formula z = {' + '.join(residual.format(x) for x in left)};")
    lines += ["module node", "  s : [0..10] init 0;"]
    lines.append("  [] s=0 -> " + " + ".join(f"q{x} : (s'={x + 1})" for x in TOKENS) + ";")
    for x in TOKENS:
        kept = f"(s'={x + 5})"
        lines.append(
            f"  [] s={x + 1} -> " + (f"1 : {kept};" if signs[x] else f"p{x}/q{x} : {kept} + 1-p{x}/q{x} : (s'=4);")
        )
    lines.append("  [] s=4 -> " + " + ".join(f"({residual.format(x)})/z : (s'={x + 8})" for x in left) + ";")
    lines += [f"  [] s={end} -> 1 : (s'={end});" for end in range(5, 11)] + ["endmodule"]
    for x in TOKENS:
        lines += [f'label "kept_{x}" = s={x + 5};', f'label "drawn_{x}" = s={x + 8};']
        lines.append(f'label "first_{x}" = s={x + 5} | s={x + 8};')
    return "\n".join(lines) + "\n"


def asked(text: str, number: Any, labels: list[str], folder: Path) -> list[Any]:
    """The probabilities of some labels, in Storm's number type; from one model, so that p0 is the same p0 in all."""
    stormpy = need_storm()
    path = folder / "node.prism"
    path.write_text(text, encoding="utf-8")
    model = stormpy.build_model[number](stormpy.parse_prism_program(str(path)))
    [start] = model.initial_states
    queries = stormpy.parse_properties("; ".join(f'P=? [F "{label}"]' for label in labels))
    return [stormpy.model_checking(model, query, only_initial_states=True).get_value(start) for query in queries]


def first_token(text: str, folder: Path) -> list[Any]:
    return asked(text, need_storm().RationalFunction, [f"first_{x}" for x in TOKENS], folder)


def is_the_target(functions: list[Any]) -> bool:
    """Whether they are p0, p1 and what is left to 1."""
    total = functions[0] + functions[1] + functions[2]
    written = [f"{function.numerator}/{function.denominator}" for function in functions[:2]]
    return written == ["p0/1", "p1/1"] and total.is_constant() and f"{total.numerator}/{total.denominator}" == "1/1"


@pytest.mark.parametrize("signs", SIGNS)
def test_the_first_token_has_the_targets_law_for_all_p_and_q_of_these_signs(signs: Signs, tmp_path: Path) -> None:
    assert is_the_target(first_token(node(signs), tmp_path))


@pytest.mark.parametrize("signs", SIGNS)
def test_with_another_residual_it_has_not(signs: Signs, tmp_path: Path) -> None:
    """Twin: what is drawn after a rejection is p itself, cut to the same tokens. With one token left it is the same."""
    assert is_the_target(first_token(node(signs, "p{0}"), tmp_path)) == (sum(signs) == 1)


@pytest.mark.parametrize(("p", "q"), LAWS)
def test_the_text_is_what_the_program_does(p: tuple[str, ...], q: tuple[str, ...], tmp_path: Path) -> None:
    signs = tuple(Fraction(a) >= Fraction(b) for a, b in zip(p, q, strict=True))
    values = {f"{name}{x}": law[x] for name, law in (("p", p), ("q", q)) for x in (0, 1)}
    text = node(signs, values=values)
    below = {(x,): Law.read(["1/3", "1/3", "1/3"]) for x in TOKENS}
    model = tabled(3, 1, {(): Law.read(list(p)), **below}, {(): Law.read(list(q))})
    law = dict(law_by_classes(plain(Parameters(slots=1, head=0, depth=1, nodes=1)), model).strings(3))
    labels = [f"{what}_{x}" for what in ("kept", "drawn") for x in TOKENS]
    found = [Fraction(str(value)) for value in asked(text, need_storm().Rational, labels, tmp_path)]
    kept = [sum(mass for string, mass in law.items() if string[:-1] == (x,)) for x in TOKENS]
    assert found == [*kept, *(law.get((x,), Fraction(0)) for x in TOKENS)]
