"""Every number in docs/classes.md, computed again from the model and the schemes that the page gives in JSON.

Three sources have to agree with what is printed: the class enumerator, replay, and a few lines of plain fractions
written out here; the step laws also with `tests/oracle.py`. The last test changes each number of the page in turn.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rheo_proof.exact.chance import Chance, Var
from rheo_proof.exact.classes import Belief, Beliefs, Weight, coarsest, successors
from rheo_proof.exact.files import read_model
from rheo_proof.exact.law import Law
from rheo_proof.exact.number import ONE, rational, to_fraction
from rheo_proof.exact.replay import replay
from rheo_proof.exact.step import StepLaw
from rheo_proof.schemes.faults import FAULTS
from rheo_proof.schemes.laws import DraftClasses, class_law, draft_classes, law_by_replay
from rheo_proof.schemes.scheme import Parameters, Scheme, plain
from rheo_proof.schemes.tree import Branch, Node, Tree
from rheo_proof.schemes.verifying.walk import Walk
from tests import oracle

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "classes.md").read_text(encoding="utf-8")
NAMES = ("X", "Z")  # the sampled tokens of the example, by level
VOCAB = range(3)
ZERO = Fraction(0)

Row = tuple[str, ...]
Vector = tuple[Fraction, ...]


def tables(text: str) -> dict[Row, list[Row]]:
    """The tables of the page by their headers, which are all different."""
    found: dict[Row, list[Row]] = {}
    for block in re.findall(r"(?m)(?:^\|.*\|\n)+", text):
        header, _, *rows = [tuple(cell.strip() for cell in line[1:-1].split("|")) for line in block.splitlines()]
        assert header not in found
        found[header] = rows
    return found


def vector(values: Iterable[object]) -> str:
    return "(" + ", ".join(map(str, values)) + ")"


def tokens(values: Iterable[int]) -> str:
    return "{" + ", ".join(map(str, sorted(values))) + "}"


def string(values: Sequence[object]) -> str:
    return f"`{' '.join(map(str, values))}`" if values else "`()`"


def plus(terms: Iterable[object]) -> str:
    return " + ".join(map(str, terms))


def node_name(node: Node, tree: Tree) -> str:
    """The tokens on the way to a node, sampled ones by name."""
    way = sorted((n for n in tree.nodes if n.path == node.path[: len(n.path)]), key=lambda n: len(n.path))
    return string([NAMES[len(n.path) - 1] if n.kind == "sampled" else n.token for n in way])


def classes(drafted: DraftClasses) -> list[Row]:
    """What is known of X and Z, the probability, the assignments and the kept nodes, by class."""
    return sorted(
        (
            *(tokens(belief.among) for _, belief in beliefs),
            str(weight.mass),
            str(weight.assignments),
            ", ".join(node_name(node, tree) for node in tree.nodes),
        )
        for tree, entries in drafted.classes.items()
        for beliefs, weight in entries.items()
    )


def evaluate(expression: str) -> Fraction:
    """A sum of products of fractions."""
    return sum(prod(map(Fraction, term.split(" * "))) for term in expression.split(" + "))


def is_sum(expression: str) -> str:
    """The expression and its value, unless it is just a number."""
    return f"{expression} = {evaluate(expression)}" if " " in expression else expression


class Laws(NamedTuple):
    """The laws of the JSON block, and what a node does with K = 2 and m = 0."""

    raw: dict[str, Any]

    def p(self, *u: int) -> Vector:
        return tuple(map(Fraction, self.raw["target"][",".join(map(str, u))]))

    def q(self, *u: int) -> Vector:
        return tuple(map(Fraction, self.raw["draft"][",".join(map(str, u))]))

    def fill(self, *u: int, sampled: int | None) -> tuple[int, Fraction]:
        return max(((x, self.q(*u)[x]) for x in VOCAB if x != sampled), key=lambda pair: (pair[1], -pair[0]))

    def coin(self, *u: int, sampled: int) -> Fraction:
        return min(Fraction(1), self.p(*u)[sampled] / self.q(*u)[sampled])


@dataclass
class Page:
    """What the page has to say about its model and schemes: tables by header, and sentences."""

    laws: Laws
    model: Any
    scheme: Scheme
    tables: dict[Row, list[Row]]
    sentences: list[str]


@cache
def expected(model_text: str, scheme_text: str, fault_text: str) -> Page:
    raw, plain_raw, fault_raw = map(json.loads, (model_text, scheme_text, fault_text))
    fault = FAULTS[fault_raw["fault"]]
    parameters = Parameters(**{name: value for name, value in fault_raw.items() if name != "fault"})
    assert all(fault_raw[name] == value for name, value in plain_raw.items() if name not in ("depth", "nodes"))
    scheme, faulty = plain(Parameters(**plain_raw)), fault.build(fault.fix(parameters))
    page = Page(Laws(raw), read_model(raw), scheme, {}, [])
    drafting(page)
    verification(page, plain_raw)
    cheat(page, faulty, fault_raw)
    return page


def enumerated(page: Page, scheme: Scheme, raw: dict[str, Any]) -> tuple[DraftClasses, StepLaw, int]:
    """By classes; the step law is also that of replay and of the oracle."""
    drafted = draft_classes(scheme.drafting, page.model)
    law, walked = class_law(scheme.verifying, page.model, drafted)
    by_replay, by_oracle = law_by_replay(scheme, page.model), oracle.step_law(page.laws.raw, raw)
    assert dict(law.strings(3)) == dict(by_replay.strings(3)) == by_oracle
    return drafted, law, walked


def drafting(page: Page) -> None:
    laws, method, q = page.laws, page.scheme.drafting, page.laws.q()
    at, best = method.expansion(page.model.draft(())), laws.fill(sampled=None)[0]
    assert (at.head, tuple(at.t or ())) == ((), q)
    [below] = {laws.fill(x, sampled=None)[0] for x in VOCAB}
    page.sentences += [
        f"With m = {len(at.head)} there is no head, t = q, the sampled slot has factor {at.proxy}, and one slot",
        f"Its best token is {best}. The fill has to skip X, so the program asks `find(X, [{best}])`:",
        f"For the fill below comes `find(Z, [{below}])`,",
    ]
    step = partial(method.step, page.model)

    def fill(above: str, *u: int, sampled: int) -> str:
        return "`{}{}`, value {}".format(above, *laws.fill(*u, sampled=sampled))

    first, rows, ends = [], [], {}
    for state, beliefs, mass, _ in successors(step, method.start(), ()):
        among = beliefs[0][1].among
        first.append((tokens(among), is_sum(plus(q[x] for x in among)), fill("", sampled=among[0])))
        for tree, ((_, of_x), (_, of_z)), more, _ in successors(step, state, beliefs):
            [x], [z, *_] = of_x.among, of_z.among
            qz = sum(laws.q(x)[token] for token in of_z.among)
            assert q[x] * qz == mass * more
            fills, kept = (fill("", sampled=x), fill("X ", x, sampled=z)), node_name(tree.nodes[-1], tree)
            assert kept == max(fills, key=lambda one: Fraction(one.split()[-1])).split(",")[0]
            rows.append((tokens([x]), tokens(of_z.among), is_sum(f"{q[x]} * {qz}"), *fills, kept))
            ends.setdefault(tree, []).append((x, of_z.among, q[x], qz))
    page.tables["X", "probability", "fill of the root"] = sorted(first)
    page.tables["X", "Z", "probability", "fill of the root", "fill of `X`", "kept"] = sorted(rows)
    merging(page, sorted(max(ends.values(), key=len)))


def merging(page: Page, alike: list[tuple[int, tuple[int, ...], Fraction, Fraction]]) -> None:
    """`alike`: for each end with the same kept nodes X, what is known of Z, and their probabilities."""
    of_x, of_z = f"X in {tokens({end[0] for end in alike})}", f"Z in {tokens({z for end in alike for z in end[1]})}"

    def row(along: str, where: str, pairs: Sequence[tuple[Fraction, Fraction]], gives: str) -> Row:
        """Classes by (probability, share of the set); their densities are equal."""
        [density] = {mass / share for mass, share in pairs}
        densities = [f"{mass} / ({share}) = {density}" for mass, share in pairs]
        return along, where, *densities, gives, is_sum(plus(mass for mass, _ in pairs))

    rows, joined = [], []
    for part, qz in dict.fromkeys((z, qz) for _, z, _, qz in alike):
        pairs = [(qx * qz, qx) for _, z, qx, _ in alike if z == part]
        rows.append(row("X", f"Z in {tokens(part)}", pairs, of_x))
        joined.append((sum(mass for mass, _ in pairs), qz))
    page.tables["along", "where", "density", "density", "gives", "probability"] = [*rows, row("Z", of_x, joined, of_z)]


class Visit(NamedTuple):
    """Verification at a node, whatever the sampled tokens are."""

    at: tuple[int, ...]
    tested: int
    law: Vector
    below: str


def shape(children: Iterable[Branch], level: int) -> str:
    """Kept children, and in brackets what is below them."""
    names = [(NAMES[level] if child.law else child.token, child.children) for child in children]
    return ", ".join(f"{name} ({shape(kept, level + 1)})" if kept else str(name) for name, kept in names)


def traced(page: Page, chance: Chance) -> tuple[tuple[Visit, int | None], ...]:
    """One decoding step: the nodes that verification visits, each with the token of its sampled child."""
    state: Any = page.scheme.drafting.start()
    while not isinstance(state, Tree):
        state = page.scheme.drafting.step(page.model, state, chance)
    state, trace = page.scheme.verifying.start(page.model, state), []
    while isinstance(state, Walk):
        at, r, children, tested = state
        visit = Visit(at, tested, tuple(map(to_fraction, r)), shape(children, len(at)))
        trace.append((visit, next((chance.value(child.token) for child in children if child.law), None)))
        state = page.scheme.verifying.step(page.model, state, chance)
    return tuple(trace)


def verification(page: Page, raw: dict[str, Any]) -> None:
    laws, (drafted, law, walked) = page.laws, enumerated(page, page.scheme, raw)
    found = [(f"c{i}", *row) for i, row in enumerate(classes(drafted), 1)]
    page.tables["class", "X", "Z", "probability", "assignments", "kept nodes"] = found
    runs: list[int] = []
    mass: dict[Visit, Fraction] = {}
    seen: dict[Visit, set[int]] = {}
    ways: dict[Visit, set[tuple[Visit, int]]] = {}
    for trace, weight in replay(lambda chance: traced(page, chance), runs.append).items():
        for i, (visit, x) in enumerate(trace):
            mass[visit] = mass.get(visit, ZERO) + to_fraction(weight)
            seen.setdefault(visit, set()).update(() if x is None else (x,))
            way = [(before, visit.at[-1] if token is None else token) for before, token in trace[max(0, i - 1) : i]]
            ways.setdefault(visit, set()).update(way)

    def term(visit: Visit, before: Visit, x: int) -> str:
        """How the visit comes about: x is tested and passes, x is tested and fails, or x is drawn."""
        if not seen[before]:
            return f"{mass[before]} * {before.law[x]}"
        share = laws.q(*before.at)[x] / sum(laws.q(*before.at)[y] for y in seen[before])
        coin = laws.coin(*before.at, sampled=x)
        return f"{mass[before]} * {share} * {1 - coin if visit.tested else coin}"

    def then(visit: Visit) -> str:
        coins = [f"{NAMES[len(visit.at)]} = {x}: coin {laws.coin(*visit.at, sampled=x)}" for x in sorted(seen[visit])]
        return "; ".join(coins) or (f"y = {visit.below}: move; else emit" if visit.below else "emit")

    order = sorted(mass, key=lambda visit: (len(visit.at), visit.tested, visit.at))
    label = {visit: f"{'s' if ways[visit] else 'c'}{i}" for i, visit in enumerate(order, 1)}
    page.tables["state", "from", "at", "law", "kept below", "probability", "then"] = rows = []
    for visit in order:
        steps = sorted(ways[visit], key=lambda way: (order.index(way[0]), way[1]))
        expression = plus(term(visit, *way) for way in steps) or str(mass[visit])
        assert evaluate(expression) == mass[visit]
        source = ", ".join(dict.fromkeys(label[before] for before, _ in steps)) or "-"
        shown = (string(visit.at), vector(visit.law), visit.below or "-")
        rows.append((label[visit], source, *shown, is_sum(expression), then(visit)))
    assert walked == len(rows)
    [forgets] = [row[0] for row in rows if row[1] == rows[2][0] and row[2] == rows[2][2]]
    [meets] = [label[visit] for visit in order if visit.tested and len(ways[visit]) > 1]
    [shared] = [row[0] for row in rows if "," in row[1]]
    page.sentences += [
        f"So {drafted.count} classes stand for all {drafted.assignments} assignments, and {drafted.walked} more were",
        f"On the way to {forgets} a rejected X takes",
        f"In {meets} two rejected tokens meet: the state holds",
        f"And {shared} is entered from two classes",
        f"is {drafted.walked} + {walked} = {drafted.walked + walked} classes in all. Replay makes {len(runs)} runs",
    ]
    step_law(page, law, [(label[visit], visit, mass[visit]) for visit in order if then(visit).endswith("emit")])


def step_law(page: Page, law: StepLaw, emitting: list[tuple[str, Visit, Fraction]]) -> None:
    """Lumps, strings and completed strings; `emitting`: the states that can end the step, with their probability."""
    strings = dict(law.strings(3))
    page.tables["after", "law", "tokens", "density", "state"] = lumps = []
    sources: dict[tuple[int, ...], list[Row]] = {s: [] for s in sorted(strings, key=lambda s: (len(s), s))}
    for label, visit, mass in emitting:
        ends = [y for y in VOCAB if visit.law[y] and str(y) != visit.below]
        if visit.law.count(ZERO) < 2:
            lumps.append((string(visit.at), vector(visit.law), tokens(ends), str(mass), label))
        for y in ends:
            sources[(*visit.at, y)].append((f"{mass} * {visit.law[y]}".removesuffix(" * 1"), label))
    found = [(u, *lump) for u, group in law.lumps.items() for lump in group if lump.law is not None]
    by_package = {(string(u), vector(of), tokens(among), str(density)) for u, of, among, density in found}
    assert {row[:4] for row in lumps} == by_package
    sums = {s: plus(part for part, _ in parts) for s, parts in sources.items()}
    assert {s: evaluate(expression) for s, expression in sums.items()} == strings
    page.tables["string", "probability", "state"] = [
        (string(s), is_sum(sums[s]), ", ".join(label for _, label in parts)) for s, parts in sources.items()
    ]
    completed, tv = page.tables.setdefault(("completed", "probability", "target"), []), ZERO
    for x, y in product(VOCAB, repeat=2):
        assert page.laws.p(x, y)[y] == 1
        first, second = page.laws.p()[x], page.laws.p(x)[y]
        parts = [str(strings[s]) for s in ((x, y, y), (x, y)) if s in strings]
        expression = plus([*parts, f"{strings[(x,)]} * {second}"] if (x,) in strings else parts)
        completed.append((string((x, y, y)), f"{expression} = {evaluate(expression)}", is_sum(f"{first} * {second}")))
        tv += abs(evaluate(expression) - first * second) / 2
    reach = [sum(mass for s, mass in strings.items() if len(s) > level) for level in (1, 2)]
    both = is_sum(plus(strings[s] for s in sums if len(s) > 2))
    assert (law.total_variation(page.model), law.acceptance(2), law.expected_tokens) == (tv, reach, 1 + sum(reach))
    page.sentences += [
        f"prolonged with target tokens to length {page.scheme.drafting.depth + 1}.",
        f"so the TV is {tv} and the step is lossless.",
        f"probability 1 - {1 - reach[0]} = {reach[0]}, and both with ``` {both} ```",
        f"so the expected number of tokens is 1 + {plus(reach)} = {law.expected_tokens}.",
    ]


def as_drawn(beliefs: Beliefs) -> Beliefs:
    """The cheat: that a node was kept says nothing about its token."""
    return tuple((name, Belief(law, law.support, ONE)) for name, (law, _, _) in beliefs)


def cheat(page: Page, faulty: Scheme, raw: dict[str, Any]) -> None:
    drafted, law, _ = enumerated(page, faulty, raw)
    every = {tree: {as_drawn(beliefs): w for beliefs, w in found.items()} for tree, found in drafted.classes.items()}
    cheated, _ = class_law(faulty.verifying, page.model, DraftClasses(every, drafted.walked))
    assert dict(law.strings(3)) != dict(cheated.strings(3))
    forgotten, joined = classes(drafted)
    page.tables["X", "probability", "assignments", "kept"] = [joined, ("forgotten", *forgotten)]
    laws, p, q = page.laws, page.laws.p(), page.laws.q()
    kept = [x for x in VOCAB if q[x] >= laws.fill(sampled=x)[1]]
    alive, [value] = sum(q[x] for x in kept), {q[x] for x in kept} | {laws.fill(sampled=x)[1] for x in kept}
    excess = [max(a - b, ZERO) for a, b in zip(p, q, strict=True)]
    cases: list[tuple[str, Fraction, str, Vector]] = [("the fill is kept", 1 - alive, "-", p)]
    for x in kept:
        a = laws.coin(sampled=x)
        first = tuple(a * (y == x) + (1 - a) * excess[y] / sum(excess) for y in VOCAB)
        cases.insert(-1, (f"X = {x}", q[x], str(a), first))
    page.tables["case", "probability", "its coin", "law of the first token", "contributes"] = [
        (case, str(mass), coin, vector(first), vector(mass * y for y in first)) for case, mass, coin, first in cases
    ]
    total = [sum(mass * first[y] for _, mass, _, first in cases) for y in VOCAB]
    tv = sum(abs(a - b) for a, b in zip(total, p, strict=True)) / 2
    assert tv == law.total_variation(page.model)
    page.sentences += [
        f"joined from two, for {value} / ({value}) = {value / value} on both sides.",
        f"In it X has the law {vector(q[x] / alive if x in kept else ZERO for x in VOCAB)}.",
        f"The sum is {vector(total)} where the target has {vector(p)}. Later tokens are right, so the TV is {tv}.",
        f"with the same probabilities, {alive} and {1 - alive}. But in the first one it takes the law of X to be "
        f"t = {vector(q)}, as it was drawn,",
        f"it reports TV {cheated.total_variation(page.model)}: the fault has been proved lossless.",
        f"It finds {tv}, and the step laws differ",
    ]


def check(text: str) -> None:
    """Raise unless every number in the text is the computed one."""
    page, printed, flat = expected(*re.findall(r"(?s)```json\n(.*?)```", text)), tables(text), " ".join(text.split())
    for header, rows in page.tables.items():
        assert printed[header] == rows
    for sentence in page.sentences:
        assert sentence in flat, f"the page does not say: {sentence}"


def entry(among: tuple[int, ...], mass: str, assignments: int) -> tuple[Beliefs, Weight]:
    thirds = Law.read(["1/3", "1/3", "1/3"])
    return ((("X",), Belief(thirds, among, thirds.mass(among))),), Weight(rational(mass), assignments)


def test_classes_are_joined_only_if_densities_and_counts_are_equal_and_sets_are_disjoint() -> None:
    first = entry((0,), "1/12", 1)
    assert coarsest(dict([first, entry((1, 2), "1/6", 2)])) == dict([entry((0, 1, 2), "1/4", 3)])
    for other in (entry((1, 2), "1/3", 2), entry((1, 2), "1/6", 4), entry((0, 2), "1/6", 2)):
        assert coarsest(dict([first, other])) == dict([first, other])


def test_a_latent_token_cannot_be_compared_but_can_be_looked_up() -> None:
    with pytest.raises(TypeError, match="ask"):
        assert Var(("X",)) in [0, 1]
    assert Var(("X",)) not in {0, 1}


def test_every_number_on_the_page_is_the_computed_one() -> None:
    check(PAGE)


def test_a_change_of_any_number_on_the_page_is_noticed() -> None:
    numbers = list(re.finditer(r"[0-9]+", PAGE))
    assert len(numbers) > 500
    escaped = []
    for number in numbers:
        changed = f"{PAGE[: number.start()]}{int(number[0]) + 1}{PAGE[number.end() :]}"
        with suppress(Exception):
            check(changed)
            escaped.append(PAGE[number.start() - 40 : number.end() + 10])
    assert escaped == []
