"""Each guard of the checker is needed: without it a forged certificate would pass, and with it none does.

A forgery is consistent: models, schemes and classes are made up, all that follows from them is worked out as the
checker does. It is judged twice. The checker must refuse it for the right reason; the checker without this one guard,
which is the twin of the test, must let it pass.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rheo_proof.theorems import checker
from tests.certified import forged, without

CHECKER = Path(checker.__file__)
HALF = ["1/2", "1/2"]
MODEL = {"vocab": 2, "depth": 1, "target": {"": HALF, "0": HALF, "1": HALF}, "draft": {"": HALF}}
DEEP = {
    "vocab": 2,
    "depth": 2,
    "target": dict.fromkeys(("", "0", "1", "0,0", "0,1", "1,0", "1,1"), HALF),
    "draft": dict.fromkeys(("", "0", "1"), HALF),
}
SURE = {"vocab": 2, "depth": 1, "target": {"": ["1", "0"], "0": HALF}, "draft": {"": ["1", "0"]}}
WIDE = {
    "vocab": 4,
    "depth": 1,
    "target": {u: ["1/4"] * 4 for u in ("", "0", "1", "2", "3")},
    "draft": {"": ["2/5", "1/5", "1/5", "1/5"]},
}
SCHEME = {"slots": 1, "head": 0, "depth": 1, "beam": 1, "nodes": 1, "sparse": None, "proxy": "paper"}
SCHEME |= {"proxy_scale": "1", "fill_scale": "1"}
OTHER = {"name": "made-up", "fault": None, **SCHEME, "verify": "made-up"}
PLAIN = {"0": "1/2", "1": "1/2"}


def claim(scheme: Any, classes: list[Any], model: int = 0) -> Any:
    follows = dict.fromkeys(("verdict", "tv", "expected_tokens", "acceptance", "law", "wrong"))
    return {"model": model, "scheme": scheme, "classes": classes, **follows}


def content(model: Any, *claims: Any) -> Any:
    about = {"format": "rheo-proof certificate 1", "statement": "instance", "verdict": None}
    return {**about, "models": [model], "claims": [*claims]}


def one(stop: Any = PLAIN, weight: str = "1", draws: Any = None, nodes: Any = (), **laws: Any) -> Any:
    """A class of a scheme that is not known: it stops at the root, or has other laws besides."""
    listed = [{"slots": slots, "token": token, "kind": "head"} for slots, token in nodes]
    return {"draws": draws or {}, "weight": weight, "nodes": listed, "laws": {"": {"go": {}, "stop": stop}, **laws}}


def stated(*classes: Any, model: Any = MODEL, **scheme: Any) -> Any:
    return content(model, claim({**OTHER, **scheme}, [*classes]))


def known(model: Any, *draws: Any, **scheme: Any) -> Any:
    """A claim of RheoSampling with these classes."""
    return content(model, claim({**SCHEME, "verify": "rheo", **scheme}, [one(draws=each) for each in draws]))


def going(go: Any, stop: Any) -> Any:
    return {"go": go, "stop": stop}


class Forgery(NamedTuple):
    """What the checker says of it, the guard that says it, what stands there in the twin."""

    content: Any
    reason: str
    guard: str
    twin: str = ""


NEGATIVE = {"": ["3/2", "-1/2"], "0": HALF, "1": HALF}
WEIGHTS, CLASS_LAW = "claim 0: the weights are not positive numbers", "claim 0: the law of a class at "
TWICE = "claim 0: a class is there twice"
LAWS, OFF = "a law after '{}' is not 2 masses", "a law after '{}' is missing, or cannot be reached"
REACHABLE = "off = (self.p.keys() ^ (drafted | layer)) | (self.q.keys() ^ drafted)"
MISSING_ONLY = "off = ((drafted | layer) - self.p.keys()) | (drafted - self.q.keys())"
EXTRA_ONLY = "off = (self.p.keys() - (drafted | layer)) | (self.q.keys() - drafted)"
NOTHING_WRONG = stated(one({"1": "1/2"}, nodes=[("0", 0)], **{"0": going({}, {"0": "1"})}))
NOTHING_WRONG["claims"][0]["classes"][0]["laws"][""]["go"] = {"0": "1/2"}
OVER = stated(one({}, nodes=[("0", 0), ("0,0", 1)], **{"0,1": going({}, PLAIN)}), model=DEEP)
OVER["claims"][0]["classes"][0]["laws"][""]["go"] = {"0,1": "1"}
EMPTY = stated(one({}, nodes=[("0", 0)], **{"0": going({}, {"": "1"})}))
EMPTY["claims"][0]["classes"][0]["laws"][""]["go"] = {"0": "1"}
ASTRAY = stated(one({}, **{"0": going({}, PLAIN)}))
ASTRAY["claims"][0]["classes"][0]["laws"][""]["go"] = {"0": "1"}

FORGERIES = {
    "a class is lost": Forgery(known(MODEL, {"": "0"}), WEIGHTS, "sum(weights) == 1 and "),
    "a stated weight is too small": Forgery(stated(one(weight="1/2")), WEIGHTS, "sum(weights) == 1 and "),
    "a weight is negative": Forgery(
        stated(one(weight="3/2"), one({"0": "1"}, "-1/2", {"": "0"})), WEIGHTS, " and min(weights) > 0"
    ),
    "a weight is 0": Forgery(stated(one(), one({"0": "1"}, "0", {"": "0"})), WEIGHTS, " and min(weights) > 0"),
    "a class stands for another": Forgery(
        known(MODEL, {"": "0"}, {"": "0"}), TWICE, "len(draws) == len(classes)", "True"
    ),
    "a stated class is doubled": Forgery(
        stated(one(weight="1/2"), one({"0": "1"}, "1/2")), TWICE, "len(draws) == len(classes)", "True"
    ),
    "p is negative": Forgery(
        known({**MODEL, "target": NEGATIVE}, {}, head=1), LAWS.format(""), "sum(law) == 1 and min(law) >= 0", "True"
    ),
    "q is negative": Forgery(
        known({**MODEL, "draft": {"": NEGATIVE[""]}}, {}, head=1), LAWS.format(""), " and min(law) >= 0"
    ),
    "q does not sum to 1": Forgery(
        known({**MODEL, "draft": {"": ["1/2", "1/4"]}}, {}, head=1), LAWS.format(""), " and sum(law) == 1"
    ),
    "a target law leads nowhere": Forgery(
        known({**SURE, "target": {**SURE["target"], "1": HALF}}, {}, head=1),  # type: ignore[dict-item]
        OFF.format("1"),
        REACHABLE,
        MISSING_ONLY,
    ),
    "a draft law is too deep": Forgery(
        known({**SURE, "draft": {**SURE["draft"], "0": HALF}}, {}, head=1),  # type: ignore[dict-item]
        OFF.format("0"),
        REACHABLE,
        MISSING_ONLY,
    ),
    "a target law is missing": Forgery(
        known({**MODEL, "target": {"": HALF, "0": HALF}}, {}, head=1), OFF.format("1"), REACHABLE, EXTRA_ONLY
    ),
    "a chance is negative": Forgery(stated(one({"0": "3/2", "1": "-1/2"})), CLASS_LAW, " and min(masses) > 0"),
    "a chance is 0": Forgery(stated(one({"0": "1", "1": "0"})), CLASS_LAW, " and min(masses) > 0"),
    "chances do not sum to 1": Forgery(stated(one({"0": "1/2"})), CLASS_LAW, "sum(masses) == 1 and "),
    "two tokens are gone at once": Forgery(OVER, CLASS_LAW, " and {len(x) for x in go} <= {1}"),
    "it stops without a token": Forgery(EMPTY, CLASS_LAW, " and () not in stop"),
    "it goes on to no node": Forgery(ASTRAY, "claim 0: at '0' a class has no node, or no law", "u in inside and "),
    "a law that nothing leads to": Forgery(
        stated(one(**{"1": going({}, PLAIN)})),
        "claim 0: there is a law that nothing leads to",
        "len(walks) == len(laws)",
        "True",
    ),
    "a node is there twice": Forgery(
        stated(one(nodes=[("0", 0), ("0", 1)])), "claim 0: the nodes form no tree", " and path not in here"
    ),
    "a token that there is not": Forgery(
        stated(one({"0": "1/2", "7": "1/2"})),
        "claim 0: no law leads to string '7'",
        " and v[-1] < self.model.vocab",
    ),
    "a scheme deeper than the model": Forgery(
        stated(one(), depth=2),
        "claim 0: the scheme is deeper than the model",
        "self.scheme.depth <= self.model.depth",
        "True",
    ),
    "a refutation that shows nothing": Forgery(
        NOTHING_WRONG, "claim 0: string '1' has the target's probability", "actual != expected", "True"
    ),
    "a class knows too much": Forgery(
        known(WIDE, {"": "1"}, {"": "2,3"}, slots=2, head=1),
        "claim 0: a class knows more or less",
        "need(asked == held",
        "need(True",
    ),
    "a class knows too little": Forgery(
        known(WIDE, {"": "1,2,3"}, slots=3, head=1),
        "claim 0: a draw () is",
        " and (len(drawn) == 1 or not drawn & fills)",
    ),
    "a claim is there twice": Forgery(
        content(MODEL, claim(OTHER, [one()]), claim(OTHER, [one({"0": "1"})])),
        "two claims have the same model and scheme",
        "len(about) == len(claims)",
        "True",
    ),
    "a model without a claim": Forgery(
        {**stated(one()), "models": [MODEL, DEEP]},
        "a model has no claim",
        'found and {claim["model"] for claim in claims} == {*range(len(read))}',
        "True",
    ),
    "a rule that is not known": Forgery(
        known(MODEL, {"": "0"}, {"": "1"}, verify="own"),
        "claim 0: proxy or rule is unknown",
        " and (a(str, self.verify) in RULES or named)",
    ),
    "a proxy that is not known": Forgery(
        stated(one(), proxy="q"), "claim 0: proxy or rule is unknown", 'self.proxy in ("paper", "tail") and '
    ),
    "no node at all": Forgery(stated(one(), nodes=0), "claim 0: a size or a scale is out", "all(sizes) and "),
    "more heads than slots": Forgery(
        stated(one(), head=2), "claim 0: a size or a scale is out", " and self.head <= self.slots"
    ),
    "the fault of another": Forgery(
        stated(one(), fault="low-proxy"), "claim 0: the fault is neither", "fault in (None, self.name)", "True"
    ),
    **{
        f"{name} by name": Forgery(
            stated(one(), name=name), f"claim 0: {name} is worked out here", " not in UNNAMED", ""
        )
        for name in checker.UNNAMED
    },
}


@pytest.mark.parametrize("what", FORGERIES)
def test_a_consistent_forgery_is_refused_and_would_pass_without_its_guard(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = FORGERIES[what]
    strings = ("1",) if case.content is NOTHING_WRONG else ()
    judged(checker, CHECKER, forged(case.content, *strings), case, tmp_path, capsys)


def judged(
    real: Any, source: Path, forgery: Any, case: Forgery, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The real one says why it refuses; the twin lets it pass."""
    path = folder / "forged.json"
    path.write_text(json.dumps(forgery), "utf-8")
    assert real.main(str(path)) == 1
    said = capsys.readouterr().out
    assert said.startswith(f"WRONG: {case.reason}")
    assert said.count("\n") == 1
    assert without(source, (case.guard, case.twin)).main(str(path)) in (0, 3), capsys.readouterr()


@pytest.mark.parametrize("laws", [MODEL, DEEP, WIDE])
def test_what_is_made_the_same_way_and_is_not_forged_passes(laws: Any, tmp_path: Path) -> None:
    heads = forged(known(laws, {}, head=1))
    path = tmp_path / "genuine.json"
    path.write_text(json.dumps(heads), "utf-8")
    assert (heads["verdict"], checker.main(str(path))) == ("lossless", 0)


@pytest.mark.parametrize("change", [{"verdict": "biased"}, {"verdict": None}])
def test_the_verdict_is_that_of_the_claims(change: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = Forgery(None, "the verdict is not that", 'verdict == ("biased" if biased else "lossless")', "True")
    judged(checker, CHECKER, {**forged(stated(one())), **change}, case, tmp_path, capsys)


# Schemes with a name


@pytest.mark.parametrize(
    "change",
    [
        {"name": None},
        {"name": ""},
        {"name": "Rheo"},
        {"name": "rheo "},
        {"name": "rheo\n"},
        {"name": ["rheo"]},
        {"name": "x" * 41},
        {"verify": None},
        {"verify": "a, b"},
        {"slots": "1"},
        {"head": None},
        {"depth": {}},
        {"beam": 1.5},
        {"nodes": True},
        {"sparse": "1"},
        {"proxy_scale": 1},
        {"fill_scale": None},
    ],
)
def test_a_claim_with_a_name_has_parameters_of_the_right_kinds(
    change: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    forgery = forged(stated(one()))
    forgery["claims"][0]["scheme"] |= change
    path = tmp_path / "forged.json"
    path.write_text(json.dumps(forgery), "utf-8")
    assert checker.main(str(path)) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)


@pytest.mark.parametrize("key", ["name", "fault"])
def test_a_name_and_a_fault_come_together(key: str, tmp_path: Path) -> None:
    forgery = forged(stated(one()))
    del forgery["claims"][0]["scheme"][key]
    path = tmp_path / "forged.json"
    path.write_text(json.dumps(forgery), "utf-8")
    assert checker.main(str(path)) == 2


def test_what_is_taken_as_stated_is_never_said_to_hold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One claim in a hundred is enough; what was worked out beside it is named, too."""
    made_up = [claim({**OTHER, "name": f"made-up-{n}"}, [one()]) for n in range(3)]
    heads = [claim({**SCHEME, "head": 1, "nodes": n + 1, "verify": "match"}, [one()]) for n in range(50)]
    path = tmp_path / "mixed.json"
    path.write_text(json.dumps(forged(content(MODEL, *heads, *made_up))), "utf-8")
    assert checker.main(str(path)) == 3
    assert capsys.readouterr().out == (
        "CONSISTENT: 53 claims of lossless, 0 of biased, on 1 models; "
        "taken as stated, not proved here: made-up-0, made-up-1, made-up-2.\n"
        "Proved from the scheme: 50 with match\n"
    )
