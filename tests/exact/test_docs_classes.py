"""Every number in docs/classes.md, computed again from the model and the schemes that the page gives in JSON.

Three sources have to agree with what is printed: the class enumerator, replay, and a few lines of plain fractions
written out here; the step laws also with `tests/oracle.py`. The last test changes each number of the page in turn.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rheo_proof.exact import classes, replay
from rheo_proof.exact.chance import Chance, Var
from rheo_proof.exact.classes import Belief, Classes, Refining, Weight, coarsest, explore, successors
from rheo_proof.exact.errors import SoundnessError
from rheo_proof.exact.files import read_model
from rheo_proof.exact.law import Law
from rheo_proof.exact.limits import Limits
from rheo_proof.exact.model import ToyModel
from rheo_proof.exact.number import ONE, Q, to_fraction
from rheo_proof.exact.program import Emission
from rheo_proof.schemes.faults import FAULTS
from rheo_proof.schemes.laws import class_law, draft_classes, law_by_replay
from rheo_proof.schemes.scheme import Parameters, Scheme, plain
from rheo_proof.schemes.tree import Branch, Node, Tree
from rheo_proof.schemes.verifying.walk import Walk
from tests import oracle

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "classes.md").read_text(encoding="utf-8")
NAMES = ("X", "Z")  # the sampled tokens of the example by level

ZERO = Fraction(0)
Row = tuple[str, ...]
Vector = tuple[Fraction, ...]
String = tuple[int, ...]


# Reading the page


def tables(text: str) -> dict[Row, list[Row]]:
    """The tables by their header; each header occurs once."""
    found: dict[Row, list[Row]] = {}
    for block in re.findall(r"(?m)(?:^\|.*\|\n)+", text):
        header, _, *rows = [tuple(cell.strip() for cell in line[1:-1].split("|")) for line in block.splitlines()]
        assert header not in found
        assert {len(row) for row in rows} == {len(header)}
        found[header] = rows
    return found


def amount(text: str) -> Fraction:
    """The value of `1/5 * 3/5 + 1/2 = 31/50`: all sides are equal, and the last one is a reduced fraction."""
    sides = text.split(" = ")
    values = {evaluate(ast.parse(side, mode="eval").body) for side in sides}
    assert len(values) == 1, text
    [value] = values
    assert str(value) == sides[-1]
    return value


def evaluate(node: ast.expr) -> Fraction:
    match node:
        case ast.Constant(value=int(value)):
            return Fraction(value)
        case ast.BinOp(left=left, op=op, right=right):
            a, b = evaluate(left), evaluate(right)
            match op:
                case ast.Add():
                    return a + b
                case ast.Sub():
                    return a - b
                case ast.Mult():
                    return a * b
                case ast.Div():
                    return a / b
    raise AssertionError(ast.dump(node))


def vector(values: Iterable[Fraction]) -> str:
    return "(" + ", ".join(map(str, values)) + ")"


def tokens(values: Iterable[int]) -> str:
    return "{" + ", ".join(map(str, sorted(values))) + "}"


def string(values: Sequence[int]) -> str:
    return "`" + " ".join(map(str, values)) + "`" if values else "`()`"


def plus(*terms: Fraction) -> str:
    return " + ".join(map(str, terms))


# The example in plain fractions


class Laws(NamedTuple):
    """The laws of the JSON block."""

    raw: dict[str, Any]

    def p(self, u: String) -> Vector:
        return tuple(map(Fraction, self.raw["target"][",".join(map(str, u))]))

    def q(self, u: String) -> Vector:
        return tuple(map(Fraction, self.raw["draft"][",".join(map(str, u))]))

    def order(self, u: String) -> list[int]:
        return sorted(range(len(self.q(u))), key=lambda x: (-self.q(u)[x], x))

    def fill(self, u: String, sampled: int) -> tuple[int, Fraction]:
        """The fill of a node with K = 2 and m = 0, and its factor."""
        x = next(x for x in self.order(u) if x != sampled)
        return x, self.q(u)[x]

    def coin(self, u: String, x: int) -> Fraction:
        return min(Fraction(1), self.p(u)[x] / self.q(u)[x])


class Leaf(NamedTuple):
    """A way in which drafting can end: what was answered about X and Z, before anything is merged."""

    X: int
    Z: tuple[int, ...]
    qx: Fraction
    qz: Fraction
    fills: tuple[tuple[int, Fraction], tuple[int, Fraction]]
    third: str

    @property
    def mass(self) -> Fraction:
        return self.qx * self.qz


def leaves(laws: Laws) -> list[Leaf]:
    found = []
    for x in range(3):
        best, *rest = laws.order((x,))
        for part in ((best,), tuple(rest)):
            root, below = laws.fill((), x), laws.fill((x,), part[0])
            third = f"`{root[0]}`" if root[1] >= below[1] else f"`X {below[0]}`"
            share = sum((laws.q((x,))[z] for z in part), ZERO)
            found.append(Leaf(x, part, laws.q(())[x], share, (root, below), third))
    return found


# The example by the package


class Visit(NamedTuple):
    """Verification at a node, without the sampled tokens, which a class may know or not."""

    at: String
    tested: int
    law: Vector
    below: str


def shape(children: Iterable[Branch], level: int) -> str:
    parts = []
    for child in children:
        deeper = shape(child.children, level + 1)
        name = NAMES[level] if child.kind == "sampled" else str(child.token)
        parts.append(f"{name} ({deeper})" if deeper else name)
    return ", ".join(parts)


class Facts(NamedTuple):
    """What the package says about the model and the two schemes of the page."""

    laws: Laws
    model: ToyModel
    scheme: Scheme
    faulty: Scheme
    raw: tuple[dict[str, Any], ...]
    runs: int
    strings: dict[String, Fraction]
    visits: dict[Visit, Fraction]
    seen: dict[Visit, set[int]]
    before: dict[Visit, set[Visit]]


@lru_cache(maxsize=None)
def facts(model_text: str, scheme_text: str, fault_text: str) -> Facts:
    raw, plain_raw, fault_raw = map(json.loads, (model_text, scheme_text, fault_text))
    model, scheme = read_model(raw), plain(Parameters(**plain_raw))
    fault = FAULTS[fault_raw["fault"]]
    parameters = Parameters(**{name: value for name, value in fault_raw.items() if name != "fault"})
    faulty = fault.build(fault.fix(parameters))

    def traced(chance: Chance) -> tuple[tuple[tuple[Visit, int | None], ...], String]:
        drafting: Any = scheme.drafting.start()
        while not isinstance(drafting, Tree):
            drafting = scheme.drafting.step(model, drafting, chance)
        state: Any = scheme.verifying.start(model, drafting)
        trace = []
        while isinstance(state, Walk):
            visit = Visit(
                state.prefix,
                state.tested,
                tuple(map(to_fraction, state.r)),
                shape(state.children, len(state.prefix)),
            )
            sampled = [chance.value(child.token) for child in state.children if child.kind == "sampled"]
            trace.append((visit, sampled[0] if sampled else None))
            state = scheme.verifying.step(model, state, chance)
        return tuple(trace), (*state.prefix, chance.value(state.token))

    counted = [0]
    paths = replay.replay(traced, lambda count: counted.append(count))
    strings: dict[String, Fraction] = {}
    visits: dict[Visit, Fraction] = {}
    seen: dict[Visit, set[int]] = {}
    before: dict[Visit, set[Visit]] = {}
    for (trace, emitted), mass in paths.items():
        strings[emitted] = strings.get(emitted, ZERO) + to_fraction(mass)
        for position, (visit, x) in enumerate(trace):
            visits[visit] = visits.get(visit, ZERO) + to_fraction(mass)
            seen.setdefault(visit, set()).update(() if x is None else (x,))
            before.setdefault(visit, set()).update(v for v, _ in trace[max(0, position - 1) : position])
    raws = (raw, plain_raw, fault_raw)
    return Facts(Laws(raw), model, scheme, faulty, raws, counted[-1], strings, visits, seen, before)


def node_name(node: Node, kept: Sequence[Node]) -> str:
    """The tokens on the way to a node, latent ones by name."""
    above = [other for length in range(1, len(node.path)) for other in kept if other.path == node.path[:length]]
    names = [NAMES[len(n.path) - 1] if n.kind == "sampled" else str(n.token) for n in (*above, node)]
    return f"`{' '.join(names)}`"


def known_of(known: classes.Beliefs) -> dict[str, str]:
    """What is known of X and Z."""
    return {NAMES[len(name) - 1]: tokens(belief.among) for name, belief in known}


# The checks: each takes the tables and the facts, and raises if the page says something else.

Tables = dict[Row, list[Row]]


def check_drafting(page: Tables, fact: Facts) -> None:
    laws, ends = fact.laws, leaves(fact.laws)
    best, *rest = laws.order(())
    q = laws.q(())
    assert page.pop(("X", "probability", "fill of the root", "its value")) == [
        (tokens([best]), str(q[best]), f"`{laws.fill((), best)[0]}`", str(laws.fill((), best)[1])),
        (
            tokens(rest),
            f"{plus(*(q[x] for x in rest))} = {1 - q[best]}",
            f"`{laws.fill((), rest[0])[0]}`",
            str(laws.fill((), rest[0])[1]),
        ),
    ]
    assert page.pop(("X", "Z", "probability", "fill of the root", "fill of `X`", "kept")) == [
        (
            tokens([leaf.X]),
            tokens(leaf.Z),
            f"{leaf.qx} * {leaf.qz} = {leaf.mass}",
            f"`{leaf.fills[0][0]}`, value {leaf.fills[0][1]}",
            f"`X {leaf.fills[1][0]}`, value {leaf.fills[1][1]}",
            leaf.third,
        )
        for leaf in ends
    ]
    by_package = []

    def step(state: Any, chance: Chance) -> Any:
        return fact.scheme.drafting.step(fact.model, state, chance)

    for state, known, mass, _ in successors(step, fact.scheme.drafting.start(), ()):
        for tree, below, more, _ in successors(step, state, known):
            sets = known_of(below)
            by_package.append((sets["X"], sets["Z"], to_fraction(mass * more), node_name(tree.nodes[-1], tree.nodes)))
    assert sorted(by_package) == sorted((tokens([e.X]), tokens(e.Z), e.mass, e.third) for e in ends)


def check_merging(page: Tables, fact: Facts) -> None:
    ends = leaves(fact.laws)[2:]
    assert len({leaf.third for leaf in ends}) == 1
    xs = sorted({leaf.X for leaf in ends})
    rows, joined = [], []
    for part in dict.fromkeys(leaf.Z for leaf in ends):
        a, b = (leaf for leaf in ends if leaf.Z == part)
        densities = [f"{leaf.mass} / ({leaf.qx}) = {leaf.mass / leaf.qx}" for leaf in (a, b)]
        total = a.mass + b.mass
        joined.append((part, total, a.qz))
        rows.append(
            ("X", f"Z in {tokens(part)}", *densities, f"X in {tokens(xs)}", f"{plus(a.mass, b.mass)} = {total}")
        )
        assert a.mass / a.qx == b.mass / b.qx
    (one, w, share), (other, v, rest) = joined
    densities = [f"{w} / ({share}) = {w / share}", f"{v} / ({rest}) = {v / rest}"]
    assert w / share == v / rest
    gives = f"Z in {tokens((*one, *other))}"
    rows.append(("Z", f"X in {tokens(xs)}", *densities, gives, f"{plus(w, v)} = {w + v}"))
    assert page.pop(("along", "where", "density", "density", "gives", "probability")) == rows


def check_classes(page: Tables, fact: Facts) -> Row:
    """Returns the numbers for the sentence below the table."""
    drafted = draft_classes(fact.scheme.drafting, fact.model)
    rows = page.pop(("class", "X", "Z", "probability", "assignments", "kept nodes"))
    assert [row[0] for row in rows] == [f"c{i}" for i in range(1, len(rows) + 1)]
    computed = [
        (
            *known_of(known).values(),
            str(weight.mass),
            str(weight.assignments),
            ", ".join(node_name(node, tree.nodes) for node in tree.nodes),
        )
        for tree, entries in drafted.classes.items()
        for known, weight in entries.items()
    ]
    assert sorted(row[1:] for row in rows) == sorted(computed)
    return tuple(map(str, (drafted.count, drafted.assignments, drafted.walked)))


def then(fact: Facts, visit: Visit) -> str:
    """What the rule does next."""
    name = NAMES[len(visit.at)] if len(visit.at) < 2 else "-"
    if name in re.split(r"\W+", visit.below):
        return "; ".join(f"{name} = {x}: coin {fact.laws.coin(visit.at, x)}" for x in sorted(fact.seen[visit]))
    return f"y = {visit.below}: move; else emit" if visit.below else "emit"


def check_verifying(page: Tables, fact: Facts) -> dict[str, Visit]:
    rows = page.pop(("state", "from", "at", "law", "kept below", "probability", "then"))
    by_print = {
        (string(visit.at), vector(visit.law), visit.below or "-", then(fact, visit)): visit for visit in fact.visits
    }
    labels = {row[0]: by_print[row[2], row[3], row[4], row[6]] for row in rows}
    assert list(labels) == ["c1", "c2", "c3", *(f"s{i}" for i in range(4, len(rows) + 1))]
    assert set(labels.values()) == set(fact.visits)
    masses: dict[str, Fraction] = {}
    for label, source, _, _, _, cell, _ in rows:
        masses[label] = amount(cell)
        assert masses[label] == fact.visits[labels[label]]
        before = [] if source == "-" else source.split(", ")
        assert {labels[one] for one in before} == fact.before[labels[label]]
        assert [visit.tested for visit in fact.before[labels[label]] if visit.at == labels[label].at] in ([], [0])
        factors = {term.split(" * ")[0] for term in cell.split(" = ")[0].split(" + ")}
        assert factors == {str(masses[one]) for one in before} or not before
    starts = dict.fromkeys(row[5] for row in rows[:3])
    assert sum(map(Fraction, (row[5] for row in rows[:3]))) == 1
    assert starts
    return labels


def check_step_law(page: Tables, fact: Facts, states: dict[str, Visit]) -> Row:
    """Returns the sentences below the tables."""
    law, walked = class_law(fact.scheme.verifying, fact.model, draft_classes(fact.scheme.drafting, fact.model))
    assert dict(law.strings(3)) == fact.strings
    assert dict(law_by_replay(fact.scheme, fact.model).strings(3)) == fact.strings
    assert oracle.step_law(fact.raw[0], fact.raw[1]) == fact.strings
    assert walked == len(states)

    emitting = {label: visit for label, visit in states.items() if then(fact, visit).endswith("emit")}
    lumps = page.pop(("after", "law", "tokens", "density", "state"))
    assert sorted(row[:4] for row in lumps) == sorted(
        (string(u), vector(map(to_fraction, lump.law)), tokens(lump.among), str(lump.density))
        for u, group in law.lumps.items()
        for lump in group
        if lump.law is not None
    )
    for after, its_law, _, density, label in lumps:
        visit = emitting[label]
        assert (after, its_law, density) == (string(visit.at), vector(visit.law), str(fact.visits[visit]))

    rows = page.pop(("string", "probability", "state"))
    assert [row[0] for row in rows] == [string(s) for s in sorted(fact.strings, key=lambda s: (len(s), s))]
    for row, s in zip(rows, sorted(fact.strings, key=lambda s: (len(s), s)), strict=True):
        assert amount(row[1]) == fact.strings[s]
        sources = []
        for label in row[2].split(", "):
            visit = emitting[label]
            assert visit.at == s[:-1]
            factor = visit.law[s[-1]]
            sources.append(f"{fact.visits[visit]}" + (f" * {factor}" if factor != 1 else ""))
        expression = " + ".join(sources)
        assert row[1] == (f"{expression} = {fact.strings[s]}" if " " in expression else expression)

    tv, tau = ZERO, [ZERO, ZERO]
    completed = page.pop(("completed", "probability", "target"))
    printed = iter(completed)
    for x in range(3):
        for y, target in enumerate(fact.laws.p((x,))):
            whole = (x, y, y)
            assert fact.laws.p((x, y))[y] == 1
            terms = [str(fact.strings[whole])]
            total = fact.strings[whole]
            if (x, y) in fact.strings:
                terms.append(str(fact.strings[x, y]))
                total += fact.strings[x, y]
            if (x,) in fact.strings:
                terms.append(f"{fact.strings[(x,)]} * {target}")
                total += fact.strings[(x,)] * target
            product = fact.laws.p(())[x] * target
            tv += abs(total - product) / 2
            assert next(printed) == (
                string(whole),
                f"{' + '.join(terms)} = {total}",
                f"{fact.laws.p(())[x]} * {target} = {product}",
            )
    assert next(printed, None) is None
    assert tv == law.total_variation(fact.model)
    for level in (0, 1):
        tau[level] = sum((mass for s, mass in fact.strings.items() if len(s) > level + 1), ZERO)
    assert law.acceptance(2) == tau
    assert law.expected_tokens == 1 + sum(tau)
    full = [mass for s, mass in sorted(fact.strings.items()) if len(s) == 3]
    return (
        f"prolonged with target tokens to length {len(max(fact.strings, key=len))}.",
        f"so the TV is {tv} and the step is lossless.",
        f"with probability 1 - {fact.strings[(2,)]} = {tau[0]}, and both with ``` {plus(*full)} = {tau[1]} ```",
        f"so the expected number of tokens is 1 + {plus(*tau)} = {law.expected_tokens}.",
        f"That is 3 + {walked} = {3 + walked} classes in all. Replay makes {fact.runs} runs",
    )


def by_survival(start: Classes) -> Classes:
    """The cheat: what is kept says nothing about the tokens, they are distributed as they were drawn."""
    return {
        tree: {
            tuple((name, Belief(law, law.support, ONE)) for name, (law, _, _) in known): weight
            for known, weight in entries.items()
        }
        for tree, entries in start.items()
    }


def check_cheat(page: Tables, fact: Facts) -> Row:
    """Returns the sentences below the tables."""
    drafted = draft_classes(fact.faulty.drafting, fact.model)
    law, _ = class_law(fact.faulty.verifying, fact.model, drafted)
    cheated, _ = class_law(
        fact.faulty.verifying, fact.model, classes_of(drafted.walked, by_survival(drafted.classes))
    )
    assert dict(law.strings(3)) == dict(law_by_replay(fact.faulty, fact.model).strings(3))
    assert dict(law.strings(3)) == oracle.step_law(fact.raw[0], fact.raw[2])
    assert dict(law.strings(3)) != dict(cheated.strings(3))
    assert cheated.total_variation(fact.model) == 0

    rows = page.pop(("kept", "X", "probability", "assignments"))
    assert sorted(rows) == sorted(
        (node_name(tree.nodes[0], tree.nodes), known_of(known).get("X", "forgotten"), str(w.mass), str(w.assignments))
        for tree, entries in drafted.classes.items()
        for known, w in entries.items()
    )
    laws = fact.laws
    p, q = laws.p(()), laws.q(())
    survives = [x for x in range(3) if q[x] >= laws.fill((), x)[1]]
    excess = [max(a - b, ZERO) for a, b in zip(p, q, strict=True)]
    expected, total = [], [ZERO] * 3
    for x in [*survives, None]:
        mass = 1 - sum((q[y] for y in survives), ZERO) if x is None else q[x]
        coin = Fraction(1) if x is None else laws.coin((), x)
        first = (
            p
            if x is None
            else tuple(coin * (y == x) + (1 - coin) * excess[y] / (sum(excess, ZERO)) for y in range(3))
        )
        part = [mass * y for y in first]
        total = [a + b for a, b in zip(total, part, strict=True)]
        case, shown = ("the fill is kept", "-") if x is None else (f"X = {x}", str(coin))
        expected.append((case, str(mass), shown, vector(first), vector(part)))
    assert page.pop(("case", "probability", "its coin", "law of the first token", "contributes")) == expected
    tv = sum((abs(a - b) for a, b in zip(total, p, strict=True)), ZERO) / 2
    assert tv == law.total_variation(fact.model)
    alive = sum((q[x] for x in survives), ZERO)
    cut = vector(q[x] / alive if x in survives else ZERO for x in range(3))
    (lost,) = set(range(3)) - set(survives)
    fill, value = laws.fill((), lost)
    values = {q[x] for x in survives}
    assert {laws.fill((), x)[1] for x in survives} == values
    [tie] = values
    masses = [w.mass / known[0][1].mass for e in drafted.classes.values() for known, w in e.items() if known]
    assert masses == [1]
    return (
        f"For X = {survives[0]} and X = {survives[1]} it has value {tie}, as has the fill, and wins the tie;",
        f"for X = {lost} it has value {q[lost]} and loses against the fill {fill} with value {value}.",
        f"joined from two, for {q[survives[0]]} / ({q[survives[0]]}) = 1 on both sides.",
        f"In it X has the law {cut}.",
        f"The sum is {vector(total)} where the target has {vector(p)}. Later tokens are right, so the TV is {tv}.",
        f"with the same probabilities, {alive} and {1 - alive}.",
        f"it takes the law of X to be t = {vector(q)}, as it was drawn,",
        f"it reports TV {to_fraction(cheated.total_variation(fact.model))}: the fault has been proved lossless.",
        f"It finds {tv}, and the step laws differ",
    )


def classes_of(walked: int, found: Classes) -> Any:
    return type(draft_classes(plain(Parameters(slots=1, head=1, depth=1)).drafting, ONE_TOKEN))(found, walked)
