"""Certificates for tests: written by the package, judged by the checker, written again from what they are about."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
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
    """What the checker says of it: 0 it holds, 1 it is wrong, 2 it is no certificate."""
    path = folder / "certificate.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return checker.main(str(path))


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
