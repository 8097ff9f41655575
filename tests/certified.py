"""Certificates for tests: written by the package, judged by the checker, written again from what they are about."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from rheo_proof.exact.files import read_model
from rheo_proof.exact.model import ToyModel
from rheo_proof.exact.number import rational
from rheo_proof.schemes.laws import law_by_classes
from rheo_proof.schemes.scheme import Parameters
from rheo_proof.theorems import checker
from rheo_proof.theorems.certificate import Claim, certificate
from rheo_proof.theorems.instances import Entry


def certified(*asked: tuple[str, Parameters, ToyModel]) -> Any:
    """The certificate of some named schemes on models, as it is read from its file."""
    claims = []
    for name, parameters, model in asked:
        entry = Entry.of(name, parameters)
        law = law_by_classes(entry.scheme(), model)
        claims.append(Claim(entry, model, dict(law.strings(model.vocab))))
    return json.loads(json.dumps(certificate(claims)))


def status(content: Any, folder: Path) -> int:
    """What the checker says of it: 0 proved, 1 wrong, 2 no certificate, 3 some of it is taken as stated."""
    path = folder / "certificate.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return checker.main(str(path))


def without(source: Path, *changes: tuple[str, str]) -> Any:
    """A checker of which some lines are others: a module that is nowhere else."""
    text = source.read_text("utf-8")
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    module = ModuleType("tests.another_checker")
    exec(compile(text, str(source), "exec"), module.__dict__)
    return module


@cache
def lax() -> Any:
    """The checker that needs nothing: it writes into a claim what follows instead of comparing that."""
    compared = (
        'need(json.dumps(value, sort_keys=True) == json.dumps(claim[key], sort_keys=True), f"{key} does not follow")'
    )
    refusing = "    if not condition:\n        raise Refused(otherwise)\n"
    return without(Path(checker.__file__), (compared, "claim[key] = value"), (refusing, "    return\n"))


def forged(content: Any, *strings: str) -> Any:
    """A certificate in which all that follows from models, schemes and classes does follow, whatever these are.

    Where that makes it biased, the first of the strings that is wrong is shown, or the last of them.
    """
    content = copy.deepcopy(content)
    models = [lax().Model(model) for model in content["models"]]
    for claim in content["claims"]:
        for string in strings or ("0", "1", "0,0", "0,1"):
            claim["wrong"] = {"string": string}
            lax().Claim(claim, models)
            if claim["wrong"] is None or claim["wrong"]["actual"] != claim["wrong"]["expected"]:
                break
    content["verdict"] = "biased" if any(claim["verdict"] == "biased" for claim in content["claims"]) else "lossless"
    return content


def written_again(content: Any) -> Any:
    """What the package writes about the models and schemes of a certificate, all of them RheoSampling's."""
    models = [read_model(model) for model in content["models"]]
    asked = []
    for claim in content["claims"]:
        written = dict(claim["scheme"])
        scales = {name: rational(written.pop(name)) for name in ("proxy_scale", "fill_scale")}
        parameters = replace(Parameters(**written), **scales)
        asked.append((parameters.verify, parameters, models[claim["model"]]))
    return certified(*asked)


def same(one: Any, other: Any) -> bool:
    """Whether two certificates say the same: rationals are numbers, models and classes have no order."""
    return bool(settled(one) == settled(other))


def settled(content: Any) -> Any:
    models = [plain(model) for model in content["models"]]
    claims = [plain({**in_order(claim), "model": models[claim["model"]]}) for claim in content["claims"]]
    return plain({**content, "models": sorted(models, key=str), "claims": claims})


def in_order(claim: Any) -> Any:
    """The claim with its classes, and with them the masses of the wrong string, in an order that says nothing."""
    if "classes" not in claim:
        return claim
    wrong = claim["wrong"]
    masses = wrong["by_class"] if wrong else [None] * len(claim["classes"])
    pairs = sorted(zip(claim["classes"], masses, strict=True), key=lambda pair: json.dumps(pair, sort_keys=True))
    found = {**claim, "classes": [one for one, _ in pairs]}
    return {**found, "wrong": {**wrong, "by_class": [mass for _, mass in pairs]}} if wrong else found


def plain(value: Any) -> Any:
    """Rationals in lowest terms, however they were written; everything marked by its type, so that 1 is not true."""
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [plain(entry) for entry in value]
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]+(/[0-9]*[1-9][0-9]*)?", value):
        return str(Fraction(value))
    return value if isinstance(value, str | None) else repr(value)


def digits(text: str) -> Iterable[int]:
    """Where the digits of a text are."""
    return (match.start() for match in re.finditer("[0-9]", text))
