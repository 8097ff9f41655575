"""Certificates: what is needed to check a verdict again, without this program. docs/certificates.md has the format.

The drafting method and the verification rule are the programs that the verdict is about. What answers them is not: here
nothing is merged, so that a class is one leaf of the tree of answers, with all that was found out about each draw. The
law that these classes add up to must be the one that the verdict rests on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from rheo_proof.exact.chance import Name, Site, Token
from rheo_proof.exact.classes import Belief, Refining, Weight
from rheo_proof.exact.errors import LimitReached, SoundnessError
from rheo_proof.exact.files import write_model
from rheo_proof.exact.law import Law
from rheo_proof.exact.limits import Limits
from rheo_proof.exact.model import Prefix, ToyModel, key
from rheo_proof.exact.number import ONE, Q, rational, to_fraction
from rheo_proof.exact.step import StepLaw
from rheo_proof.schemes.drafting.rheo import Rheo
from rheo_proof.schemes.laws import DraftClasses, class_law, law_by_classes
from rheo_proof.schemes.scheme import RULES, Drafting
from rheo_proof.schemes.tree import Node, Path, Tree
from rheo_proof.theorems.counterexample import Counterexample
from rheo_proof.theorems.instances import Entry, Result, Source

FORMAT = "rheo-proof certificate 1"
MOST_CLASSES = 50_000
"""No certificate has more classes than this: it would be a file of some hundred megabytes."""

MOST_DIGITS = 5_000
"""No numerator or denominator in a certificate has more digits than this: the checker reads none that has."""

CHECKED_RULES = ("rheo", "rrsw", "match", "flow")
"""Rules that the checker knows."""


class Claim(NamedTuple):
    """What a certificate says something about: a scheme on a model, and the step law that was found."""

    entry: Entry
    model: ToyModel
    law: Mapping[Prefix, Fraction]


class Keeping(Refining):
    """Keeps what is known of every draw, also when nothing refers to it any more; a coin is a draw of 0 or 1."""

    def latent(self, law: Law, site: Site, name: Name, order: object = None) -> Token:
        """A new token, noted even if it can only be one."""
        token = super().latent(law, site, name, order)
        self.beliefs.setdefault(name, Belief(law, law.support, ONE))
        return token

    def coin(self, a: Q, site: Site) -> bool:
        """A coin, noted."""
        heads = super().coin(a, site)
        self.beliefs[("coin", *site)] = Belief(Law((ONE - a, a)), (int(heads),), ONE)
        return heads


class Drafted(NamedTuple):
    """A class of drafts: what was found out about each draw, its probability, the kept tree with its tokens known."""

    draws: dict[str, str]
    weight: Q
    tree: Tree


def drafts(drafting: Drafting, model: ToyModel, limits: Limits) -> list[Drafted]:
    """All classes, in the order of the answers. Raises `LimitReached`."""
    found: list[tuple[tuple[int, ...], Drafted]] = []
    agenda: list[tuple[int, ...]] = [()]
    while agenda:
        limits.spend()
        chance = Keeping({}, agenda.pop(), agenda)
        state = drafting.start()
        while not isinstance(state, Tree):
            state = drafting.step(model, state, chance)
        tree = Tree(tuple(node._replace(token=chance.value(node.token)) for node in joined(state.nodes)))
        draws = {_name(name): key(belief.among) for name, belief in chance.beliefs.items()}
        if len(draws) < len(chance.beliefs):
            raise SoundnessError("two draws of the same name")
        found.append((chance.script, Drafted(draws, chance.weight, tree)))
    return [drafted for _, drafted in sorted(found, key=lambda pair: pair[0])]


def joined(nodes: Iterable[Node]) -> Iterator[Node]:
    """The nodes whose parent is kept as well: verification does not see the others."""
    paths: set[Path] = {()}
    for node in nodes:
        if node.path[:-1] in paths:
            paths.add(node.path)
            yield node


def _name(name: Name) -> str:
    """The slots on the way to it for a sampled slot of RheoSampling; words for any other draw."""
    return key(name[1:]) if name[0] == "X" else " ".join(map(str, name))  # type: ignore[arg-type]


def tree_laws(nodes: Iterable[Node], strings: Mapping[Prefix, Fraction]) -> dict[str, Any]:
    """The law of the emitted strings as laws at the prefixes of a tree: go on to a kept child, or emit and stop.

    Whatever the rule is, the strings it emits have such laws: a string is divided where it leaves the tree.

    >>> one, half = Fraction(1), Fraction(1, 2)
    >>> tree_laws([Node((0,), 1, "head", None)], {(0,): half, (1, 0): half})
    {'': {'go': {'1': '1/2'}, 'stop': {'0': '1/2'}}, '1': {'go': {}, 'stop': {'0': '1'}}}
    """
    here: dict[Path, Prefix] = {(): ()}
    for node in nodes:
        assert isinstance(node.token, int)
        here[node.path] = (*here[node.path[:-1]], node.token)
    inside, mass, ends = set(here.values()), dict[Prefix, Fraction](), dict[Prefix, dict[Prefix, Fraction]]()
    for string, chance in strings.items():
        leaves = next(n for n in reversed(range(len(string))) if string[:n] in inside)
        ends.setdefault(string[:leaves], {})[string[leaves:]] = chance
        for length in range(leaves + 1):
            mass[string[:length]] = mass.get(string[:length], Fraction(0)) + chance
    laws: dict[str, Any] = {key(u): {"go": {}, "stop": {}} for u in sorted(mass, key=lambda u: (len(u), u))}
    for u, total in mass.items():
        laws[key(u)]["stop"] = {key(y): str(chance / total) for y, chance in sorted(ends.get(u, {}).items())}
        if u:
            laws[key(u[:-1])]["go"][key(u[-1:])] = str(total / mass[u[:-1]])
    return laws


def scheme_as_json(entry: Entry) -> dict[str, Any]:
    """The parameters alone where the checker can work out everything from them, else with the name of the scheme."""
    p, written, scheme = entry.parameters, entry.parameters.as_json(), entry.scheme()
    fault = written.pop("fault")
    known = p.verify in CHECKED_RULES and type(scheme.verifying) is RULES[p.verify]
    if known and type(scheme.drafting) is Rheo and scheme.drafting == p.drafting():
        return written
    return {"name": entry.name, "fault": fault, **written}


def _claim(claim: Claim, number: int, limits: Limits) -> dict[str, Any]:
    """One claim. Raises `LimitReached`, and `SoundnessError` if its classes do not add up to the law of the verdict."""
    model, scheme = claim.model, claim.entry.scheme()
    classes = drafts(scheme.drafting, model, limits)
    strings: dict[Tree, dict[Prefix, Fraction]] = {}
    law: dict[Prefix, Fraction] = {}
    for _, weight, tree in classes:
        if tree not in strings:
            one = DraftClasses({tree: {(): Weight(ONE, 1)}}, 0)
            found, _ = class_law(scheme.verifying, model, one, Limits(deadline=limits.deadline))
            strings[tree] = dict(found.strings(model.vocab))
        for string, mass in strings[tree].items():
            law[string] = law.get(string, Fraction(0)) + to_fraction(weight) * mass
    if law != claim.law:
        raise SoundnessError(f"{model.name}: the classes of the certificate add up to another law")
    total = StepLaw.of_strings({string: rational(mass) for string, mass in law.items()})
    wrong = total.first_wrong(model)
    laws = {tree: tree_laws(tree.nodes, of) for tree, of in strings.items()}
    return {
        "model": number,
        "scheme": scheme_as_json(claim.entry),
        "verdict": "biased" if wrong else "lossless",
        "tv": str(total.total_variation(model)),
        "expected_tokens": str(total.expected_tokens),
        "acceptance": [str(rate) for rate in total.acceptance(claim.entry.parameters.depth)],
        "law": {key(string): str(law[string]) for string in sorted(law, key=lambda v: (len(v), v))},
        "classes": [
            {"draws": draws, "weight": str(weight), "nodes": _nodes(tree), "laws": laws[tree]}
            for draws, weight, tree in classes
        ],
        "wrong": wrong
        and {
            "string": key(wrong.string),
            "expected": str(wrong.expected),
            "actual": str(wrong.actual),
            "by_class": [str(starts(strings[tree], wrong.string, model)) for _, _, tree in classes],
        },
    }


def _nodes(tree: Tree) -> list[dict[str, Any]]:
    return [{"slots": key(node.path), "token": node.token, "kind": node.kind} for node in tree.nodes]


def starts(strings: Mapping[Prefix, Fraction], wanted: Prefix, model: ToyModel) -> Fraction:
    """The probability that an emitted string, completed by the target, starts with the wanted one."""
    after = [Fraction(1)]
    for length in reversed(range(len(wanted))):
        after.append(after[-1] * to_fraction(model.target(wanted[:length])[wanted[length]]))
    total = Fraction(0)
    for string, mass in strings.items():
        if wanted[: len(string)] == string[: len(wanted)]:
            total += mass * after[max(0, len(wanted) - len(string))]
    return total


def of_results(results: Sequence[Result], smallest: Sequence[Counterexample] = ()) -> Iterator[Claim]:
    """The claims of a run that kept its laws: everything that was decided, and the counterexamples that were found.

    Raises `LimitReached` if something was not decided.
    """
    models: dict[Source, ToyModel] = {}
    for result in results:
        if result.law is None:
            raise LimitReached(f"not everything was decided: {result.why}")
        model = models.setdefault(result.source, result.source.load())
        law = {tuple(map(int, string.split(","))): Fraction(mass) for string, mass in result.law.items()}
        yield Claim(result.entry, model, law)
    for found in smallest:
        entry = Entry(found.name, found.parameters)
        law = dict(law_by_classes(entry.scheme(), found.model).strings(found.model.vocab))
        yield Claim(entry, found.model, law)


def certificate(claims: Iterable[Claim], deadline: float | None = None) -> dict[str, Any]:
    """The certificate of some claims. Raises `LimitReached` if it would be too large, or when time is up.

    >>> from rheo_proof.theorems.instances import Effort, Parameters, prove
    >>> entry = Entry.of("rheo", Parameters(slots=2, depth=1, nodes=2))
    >>> results = prove(Source("random", 0, 3, 1), [entry], Effort(keep_laws=True))
    >>> written = certificate(of_results(results))
    >>> written["verdict"], [each["weight"] for each in written["claims"][0]["classes"]]
    ('lossless', ['3/5', '2/5'])
    """
    models: dict[ToyModel, int] = {}
    limits = Limits(MOST_CLASSES, deadline)
    written: dict[str, Any] = {}
    for claim in claims:
        number, scheme = models.setdefault(claim.model, len(models)), scheme_as_json(claim.entry)
        about = json.dumps([number, scheme])  # top-k is match with m = K
        if about not in written:
            written[about] = _claim(claim, number, limits)
    content = {
        "format": FORMAT,
        "statement": "instance",
        "verdict": "biased" if any(claim["wrong"] for claim in written.values()) else "lossless",
        "models": [write_model(model, Limits(deadline=deadline)) for model in models],
        "claims": [*written.values()],
    }
    check_numbers(content)
    return content


def check_numbers(content: Any) -> None:
    """Raise `LimitReached` if a number in a certificate is too long for the checker."""
    entries = content.values() if isinstance(content, dict) else content if isinstance(content, list) else ()
    for each in entries:
        check_numbers(each)
    if isinstance(content, str) and max(map(len, re.split("[/,]", content))) > MOST_DIGITS:
        raise LimitReached(f"a number of more than {MOST_DIGITS} digits")
