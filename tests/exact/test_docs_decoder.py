"""Every number in docs/decoder.md, computed again from the model, the scheme and the tape that the page gives in JSON.

The tables follow from `decode_step` and from plain fractions, the step law from one run of the decoder in each cell of
its tape, and the Python of the page is run as a doctest. The last test changes each number of the page in turn.
"""

from __future__ import annotations

import doctest
import io
import json
import re
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import accumulate
from math import prod
from pathlib import Path

import numpy as np
import pytest
from rheo_reference import Config, Processing, Tapes, decode_step
from rheo_reference.config import RULES
from rheo_reference.laws import process
from rheo_reference.slots import expand
from rheo_reference.tape import Site
from rheo_reference.tree import Candidates, Tree

from tests.docs_decoder import (
    ROOT_TOKEN,
    VOCAB,
    Example,
    Row,
    cell_by_cell,
    interval,
    json_blocks,
    listed,
    moved,
    near,
    part,
    shown,
    string,
    tables,
    uniform,
    vector,
)
from tests.tape.test_reference_tree import random_laws

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "decoder.md").read_text("utf-8")
EXACT = (ROOT / "docs" / "classes.md").read_text("utf-8")
NAMES = ("X", "Z")  # the sampled tokens of the example, by level
Cell = tuple[Site, tuple[Fraction, Fraction], str]

# What the page says of every step, not of this one.
DEFINED = (
    "pytest -n 0 tests/exact",
    'encoding="utf-8"',
    "Layer 0 is the root.",
    "padded with -1 where a leaf",
    "never one of weight 0:",
    "1 - q(head) would say that there is no tail",
    "both doubled until z reaches 1/2:",
    "and 1 where the numerator is not below the denominator",
    "The coin is not quite 1 and all weights are 0:",
    "over those zeros would give token 0,",
    "1 - (sum of minima) may cancel to 0",
    'above temperature 0, its verification; `head=1, verify="rheo"`',
    "| `coin_u[l, 0]` | never | a head",
    "| `coin_u[l, 1]` | the sampled child is kept | the sampled",
    f"dyadic laws of up to {np.finfo(np.float64).nmant + 1} bits in all",
)


@dataclass
class Page:
    """What the page has to say: tables by header, and sentences."""

    tables: dict[Row, list[Row]] = field(default_factory=dict)
    sentences: list[str] = field(default_factory=list)


@cache
def expected(model_text: str, scheme_text: str, tape_text: str) -> Page:
    assert [json.loads(text) for text in json_blocks(EXACT)[:2]] == [json.loads(model_text), json.loads(scheme_text)]
    example = Example(json.loads(model_text), json.loads(scheme_text), json.loads(tape_text))
    page = Page()
    cells = drafting(page, example)
    cells += walking(page, example)
    probability(page, example, cells)
    rules(page, example)
    boundaries(page)
    page.sentences += DEFINED
    return page


def drafting(page: Page, example: Example) -> list[Cell]:
    """Expansions, candidates and the kept tree; the scheme has one expanded node a layer."""
    config, candidates, cells, expansions = example.config(), Candidates(), list[Cell](), list[Row]()
    for layer in range(config.depth):
        [node] = candidates.beam(layer, config.width)
        path, site = candidates.path(node), ("draft", layer, 0)
        law, u = example.law("draft", path), uniform(example.tape, site)
        order = sorted(VOCAB, key=lambda x: (-law[x], x))
        q = [law[x] for x in order]
        index, ends = part(q, u)
        expansion = expand(np.array(list(map(float, law))), config)
        assert expansion.tail is not None
        x = expansion.tail.draw(float(u))
        assert (order[index], tuple(order), 1.0) == (x, tuple(expansion.tail.tokens), expansion.proxy)
        drawn = f"{NAMES[layer]} = {x}"
        cells.append((site, ends, drawn))
        row = (layer, 0, string(path), listed(order), listed(q), listed(accumulate(q)), u, drawn)
        expansions.append(tuple(map(str, row)))
        candidates.add(node, expansion.slots(x), expansion.tail)
    header = ("layer", "b", "node", "order", "q in order", "cumulative q", "u", "sampled token")
    page.tables[header] = expansions

    step, created = example.step(example.tape), list[Row]()
    tree, kept = step.tree, step.tree.paths()
    for node, slot in enumerate(candidates.nodes):
        path, above = candidates.path(node), candidates.parents[node]
        factor = example.law("draft", path[:-1])[slot.token] if slot.kind == "fill" else Fraction(1)
        value = factor * (Fraction(created[above][6]) if node else 1)
        assert (float(factor), float(value)) == (slot.factor, candidates.values[node])
        rank = str(kept.index(path)) if path in kept else "pruned"
        parent = str(above) if node else "-"
        place = candidates.slots[node]
        created.append((str(node), string(path), parent, str(place), slot.kind, str(factor), str(value), rank))
    page.tables["created", "node", "parent", "slot", "kind", "factor", "value", "rank"] = created

    positions, mask = tree.position_ids(1), tree.ancestor_mask()
    header = ("index", "node", "parent", "depth", "position id", "slot", "kind", "attends to")
    page.tables[header] = [
        tuple(map(str, row))
        for row in zip(
            range(len(tree)),
            map(string, kept),
            tree.parents,
            tree.depths,
            positions,
            tree.slots,
            tree.kinds,
            (listed(np.flatnonzero(seen)) for seen in mask),
            strict=True,
        )
    ]
    ones = sum(row[6] == "1" for row in created[1:]) + 1
    page.sentences += [
        f"the head (empty, as m = {config.head}), sums the tail to z, and sets the proxy: with m = {config.head} it is "
        f"z = {expansion.proxy:.0f}.",
        f"In layer 1 there are two nodes, and {expansions[-1][2]} is the one that the beam lets through.",
        f'toy(model["draft"]), ({ROOT_TOKEN},)',
        f"With K = {config.slots} and m = {config.head} that is",
        f"The best N = {config.nodes} by decreasing value",
        f"{('', 'One', 'Two', 'Three', 'Four')[ones]} nodes have the value 1,",
        f"here B = {config.width}, so there is one a layer.",
    ]
    return cells


def walking(page: Page, example: Example) -> list[Cell]:
    """The walk of RheoVerification in fractions; it has to be what the decoder did."""
    step, cells, rows = example.step(example.tape), list[Cell](), list[Row]()
    tree, node, accepted, u_token = step.tree, 0, list[int](), "-"
    while True:
        level, path = len(accepted), step.tree.paths()[node]
        p, weights, sampled = example.law("target", path), None, tree.sampled_child(node)
        name, coin, u_coin, result, token = "-", "-", "-", "-", -1
        if sampled is None:
            weights = p
        else:
            x, t, site = int(tree.tokens[sampled]), example.law("draft", path), ("coin", level, 1)
            a, u = min(Fraction(1), p[x] / t[x]), uniform(example.tape, site)
            name, coin, u_coin, result = f"{NAMES[level]} = {x}", str(a), str(u), "true" if u < a else "false"
            cells.append((site, (Fraction(0), a) if u < a else (a, Fraction(1)), result))
            token = x
            if u >= a:
                weights = tuple(max(above - below, Fraction(0)) for above, below in zip(p, t, strict=True))
                page.sentences += [
                    f"The coin for {name} is {p[x]} over {t[x]}, which is {a}, and {u} is not below it.",
                    f"need not be divided by their sum {sum(weights)}: the draw compares cumulative weights with "
                    f"{uniform(example.tape, ('token', level, 0))} times the total, which is "
                    f"{uniform(example.tape, ('token', level, 0)) * sum(weights)}.",
                ]
            else:
                page.sentences.append(f"* **Level {level}.** p({x}) / t({x}) is {p[x]} over {t[x]}, more than one:")
                assert p[x] > t[x]
        u_token = "-"
        if weights is not None:
            site = ("token", level, 0)
            token, ends = part(weights, uniform(example.tape, site))
            u_token = str(uniform(example.tape, site))
            cells.append((site, ends, f"y = {token}"))
        child = tree.child(node, token)
        then = "emit" if child is None else f"move to {child}"
        drawn = "-" if weights is None else vector(weights)
        row = (level, node, string(path), vector(p), name, coin, u_coin, result, drawn, u_token, token, then)
        rows.append(tuple(map(str, row)))
        if child is None:
            break
        accepted.append(child)
        node = child
    assert (step.accepted, step.tokens) == (tuple(accepted), (*tree.paths()[node], token))
    header = "level,index,node,p,sampled child,coin,u,result,weights,u,token,then"
    page.tables[tuple(header.split(","))] = rows
    page.sentences += [
        f"Two draft tokens were accepted, the nodes {accepted[0]} and {accepted[1]}, and one more",
        f"* **Level {len(accepted)}.** No kept children: the bonus token",
        f"Token {tree.tokens[accepted[-1]]} is a kept {tree.kinds[accepted[-1]]}, so the walk goes on below it.",
    ]
    return cells


def probability(page: Page, example: Example, cells: list[Cell]) -> None:
    """The cell of the tape, and what the exact page says about its path."""
    step = example.step(example.tape)
    assert tuple(site for site, _, _ in cells) == step.used
    page.tables["uniform", "u", "interval", "length", "decides"] = [
        (shown(site), str(uniform(example.tape, site)), interval(ends), str(ends[1] - ends[0]), decided)
        for site, ends, decided in cells
    ]
    for site, ends, _ in cells:
        inside, outside = near(ends)
        assert all(example.step(moved(example.tape, site, u)).tokens == step.tokens for u in inside)
        for u in outside:
            other = example.step(moved(example.tape, site, u))
            assert (other.tokens, other.used, other.tree.tokens.tolist()) != (
                step.tokens,
                step.used,
                step.tree.tokens.tolist(),
            )
    lengths = [ends[1] - ends[0] for _, ends, _ in cells]
    x, z, _, failed, drawn, _ = lengths
    exact = tables(EXACT)
    states = {row[0]: row for row in exact["state", "from", "at", "law", "kept below", "probability", "then"]}
    of_class = Fraction(states["c2"][5])
    share = x * z / of_class
    emitted = Fraction(states["s13"][5].split(" = ")[1])
    s10 = x * z * failed
    assert states["s10"][1:3] == ("s6", "`0`")
    assert states["s10"][5] == f"{of_class} * {share} * {failed} = {s10}"
    assert states["s13"][5] == f"{of_class} * 1 * 1 + {s10} * {drawn} = {emitted}"
    q = example.law("draft", (0,))[0]
    page.sentences += [
        f"The product of the lengths is the probability of this cell, {prod(lengths)}.",
        f"Its kept tree belongs to class c2, which has probability {of_class}; Z is 1 with a share of {share} in it, "
        f"and {of_class} * {share} = {x * z} is what the two draft intervals give.",
        f"The failed coin leads to s10, with {of_class} * {share} * {failed} = {s10}, and the draw of token 0 to s13, "
        f"with {s10} * {drawn} = {prod(lengths)}.",
        f"State s13 has {emitted}, and so has the string {string(step.tokens)} in the",
        f"The other {emitted - prod(lengths)} is the cell in which `draft_u[1, 0]` is below {q}: then Z = 0 and its "
        f"coin is 1, so {x} * {q} = {x * q}.",
    ]
    assert x * q + prod(lengths) == emitted
    law, count = cell_by_cell(example)
    printed = {row[0]: Fraction(row[1].split(" = ")[-1]) for row in exact["string", "probability", "state"]}
    assert {string(s): mass for s, mass in law.items()} == printed
    page.sentences.append(f"which makes {count:,} cells; it runs `decode_step` once in each,")


def rules(page: Page, example: Example) -> None:
    page.tables["verify", "uniforms read by verification", "emitted"] = rows = []
    for verify in RULES:
        step = example.step(example.tape, verify=verify)
        rows.append((verify, listed(shown(site) for site in step.used if site[0] != "draft"), string(step.tokens)))
    assert rows[0][1:] == rows[1][1:]


def boundaries(page: Page) -> None:
    """Numbers in the prose of the examples about rounding, which the Python below them has as floats."""
    law = process([40, 0], Processing())
    assert law[0] == 1 > law[1] > 0
    z, q, p = Fraction(3, 8), Fraction(5, 16), Fraction(3, 16)
    exact, once, twice = z * p / q, float(z) * float(p) / float(q), float(p) / (float(q) / float(z))
    assert float(exact) == once != twice
    assert np.cumsum([float(Fraction(1, 10))] * 10)[-1] == np.nextafter(1, 0)
    page.sentences += [
        f"With z = {z}, q(x) = {q} and p(x) = {p} the coin is {exact}, and ```python",
        f">>> z, q, p = {float(z)}, {float(q)}, {float(p)} >>> z * p / q, p / (q / z) ({once}, {twice})",
        f"Of logits {40} and {0} the second has a small probability, the first rounds to {law[0]:.0f}, and",
        f"Ten weights of {Fraction(1, 10)} add up to the largest float below {1}, and a uniform",
        f">>> third = {1} / {3} >>>",
        f"Config(slots={2}, head={1})).proxy",
    ]


def run_python(text: str) -> None:
    """The Python of the page, on the page as it stands in `text`."""
    examples = doctest.DocTestParser().get_doctest(text, {"open": lambda *_, **__: io.StringIO(text)}, "page", None, 0)
    report = io.StringIO()
    failed, tried = doctest.DocTestRunner(verbose=False).run(examples, out=report.write)
    assert failed == 0, report.getvalue()
    assert tried > 30


def check(text: str) -> None:
    """Raise unless every number in the text is the computed one."""
    page, printed, flat = expected(*json_blocks(text)), tables(text), " ".join(text.split())
    for header, rows in page.tables.items():
        assert printed[header] == rows, header
    for sentence in page.sentences:
        assert sentence in flat, f"the page does not say: {sentence}"
    run_python(text)


def test_every_number_on_the_page_is_the_computed_one() -> None:
    check(PAGE)


def test_the_lines_of_the_step_are_those_of_the_program() -> None:
    source = (ROOT / "reference" / "rheo_reference" / "decode.py").read_text("utf-8")
    quoted = [block for block in re.findall(r"(?s)```python\n(.*?)```", PAGE) if ">>>" not in block]
    step = source[source.index("    candidates, drawn = ") : source.index("@dataclass(frozen=True)\nclass Generation")]
    lines = [line.removeprefix("    ") for line in step.splitlines() if line]
    assert "".join(quoted).splitlines() == lines
    assert len(lines) > 10


def sites_read(verify: str, tree: Tree, node: int, token: int) -> set[tuple[str, int]]:
    """The sites of one level that the page says are read at a visited node, where `token` came out."""
    child = tree.sampled_child(node)
    if verify in ("match", "flow") or child is None:
        return {("token", 0)}
    heads = [int(tree.tokens[n]) for n in tree.children(node) if tree.kinds[n] == "head"]
    of_heads = {("coin", 0)} if verify == "rrsw" and heads else set()
    if of_heads and token in heads:
        return of_heads
    return of_heads | {("coin", 1)} | (set() if token == tree.tokens[child] else {("token", 0)})


@pytest.mark.parametrize("verify", RULES)
def test_rules_read_the_sites_that_the_page_names(verify: str) -> None:
    config = Config(slots=3, head=1, depth=2, nodes=4, sparse=None, verify=verify, target=None, draft=None)
    tapes = Tapes.fill(np.random.default_rng(0), config, batch=200)
    read: set[tuple[str, int]] = set()
    for seed in range(200):
        target, draft = (random_laws(seed, 5, side) for side in ("target", "draft"))
        step = decode_step(target, draft, (), config, tapes[seed])
        for level, node in enumerate((0, *step.accepted)):
            used = {(kind, which) for kind, at, which in step.used if kind != "draft" and at == level}
            assert used == sites_read(verify, step.tree, node, step.tokens[level])
            read |= used
    rows = {row[0]: row[1:] for row in tables(PAGE)["site", "rheo", "rrsw", "match", "flow"]}
    never = {site for site, row in rows.items() if row[RULES.index(verify)] == "never"}
    names = {"`coin_u[l, 0]`": ("coin", 0), "`coin_u[l, 1]`": ("coin", 1), "`token_u[l]`": ("token", 0)}
    assert never == {name for name, site in names.items() if site not in read}


def test_a_draw_rounds_to_the_total_only_for_totals_up_to_the_smallest_normal_float() -> None:
    u, tiny = np.nextafter(1.0, 0.0), np.finfo(np.float64).tiny
    assert all(u * total == total for total in (5e-324, tiny / 2, tiny))
    assert all(u * total < total for total in (np.nextafter(tiny, 1.0), 2 * tiny, 0.1, 1 / 3, u, 1.0))


def test_a_change_of_any_number_on_the_page_is_noticed() -> None:
    numbers = list(re.finditer(r"(?<![\w.])[0-9]+(?![\w.])", PAGE))
    assert len(numbers) > 300
    check(PAGE)
    escaped = []
    for number in numbers:
        changed = f"{PAGE[: number.start()]}{int(number[0]) + 1}{PAGE[number.end() :]}"
        with suppress(Exception):
            check(changed)
            escaped.append(PAGE[number.start() - 40 : number.end() + 20])
    assert escaped == []
