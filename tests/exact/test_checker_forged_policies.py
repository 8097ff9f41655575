"""Each guard of the checker of policies is needed; test_checker_forgeries.py has the same for the other checker."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rheo_proof.schemes.scheme import Parameters
from rheo_proof.theorems import checker, policy_checker
from rheo_proof.theorems.adversary import Adversary
from rheo_proof.theorems.instances import Source
from tests.certified import without
from tests.exact.test_checker_forgeries import MODEL, Forgery, judged
from tests.exact.test_policy_checker import written

POLICIES = Path(policy_checker.__file__)
TARGET = {"0,0": "1/4", "0,1": "1/4", "1,0": "1/4", "1,1": "1/4"}
ALWAYS = {"0,0": "1"}
RULE = {"slots": 1, "head": 1, "depth": 1, "nodes": 1, "sparse": None, "heads_first": False, "verify": "rheo"}


def table(law: Any = TARGET, wrong: Any = None, at_once: bool = False) -> Any:
    """All policies where the only node is a head, or the policy that inserts nothing."""
    states = [{"nodes": [], "value": law, "insert": None}]
    states += [] if at_once else [{"nodes": [{"slots": "0", "token": 0}], "value": law, "insert": None}]
    verdict = "biased" if wrong else "lossless"
    about = {"model": 0, "scheme": RULE, "verdict": verdict, "states": states, "wrong": wrong}
    head = {"format": "rheo-proof certificate 1", "statement": "policies", "verdict": verdict}
    return copy.deepcopy({**head, "models": [MODEL], "claims": [about]})


def changed(content: Any, change: Callable[[Any], Any]) -> Any:
    change(content["claims"][0])
    return content


def shown(expected: str = "1/2", actual: str = "1/2", value: str = "1/2") -> Any:
    return table({"0": value}, {"string": "0", "expected": expected, "actual": actual}, at_once=True)


MORE = {"nodes": [{"slots": "0", "token": 1}], "value": TARGET, "insert": None}
UNREACHED = ("claim 0: there are states that nothing leads to", "len(seen) == len(self.states)", "True")
OF_POLICIES = {
    "a table with a state too many": Forgery(changed(table(), lambda c: c["states"].append(MORE)), *UNREACHED),
    "a refutation that shows nothing": Forgery(
        shown(),
        "claim 0: the string has the target's probability",
        "a(Fraction, actual) != a(Fraction, expected)",
        "True",
    ),
    "a probability that the policy has not": Forgery(
        shown(actual="1/3"),
        "claim 0: the policy does not have this probability",
        "self.states[()][0][v] == a(Fraction, actual)",
        "True",
    ),
    "a probability that the target has not": Forgery(
        shown(expected="1/3"),
        "claim 0: the target does not have this probability",
        "starting(self.target(), v) == a(Fraction, expected)",
        "True",
    ),
    "a state is there twice": Forgery(
        changed(table(), lambda c: c["states"].append(c["states"][0])),
        "claim 0: a state is there twice",
        "key not in self.states",
        "True",
    ),
    "one policy in place of all": Forgery(
        changed(table(), lambda c: c["states"][0].update(insert="0")),
        "claim 0: the output after nothing has another law",
        "insert is None and ",
    ),
    "a claim is there twice": Forgery(
        {**table(), "claims": table()["claims"] * 2},
        "two claims have the same model and scheme",
        "len(about) == len(claims)",
        "True",
    ),
}


@pytest.mark.parametrize("what", OF_POLICIES)
def test_a_forgery_about_policies_is_refused_and_would_pass_without_its_guard(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judged(policy_checker, POLICIES, OF_POLICIES[what].content, OF_POLICIES[what], tmp_path, capsys)


def test_a_policy_has_no_state_that_it_does_not_reach(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exposed = written(Adversary("rrsw", Parameters(slots=2, depth=1, nodes=2), (1,)), Source("random", 0, 3, 1))
    states = exposed["claims"][0]["states"]
    states.append({**states[-1], "nodes": [{"slots": "9", "token": 0}]})
    assert exposed["verdict"] == "biased"
    judged(policy_checker, POLICIES, exposed, Forgery(exposed, *UNREACHED), tmp_path, capsys)


def test_a_rule_that_emits_the_same_on_every_tree_is_still_compared_with_the_target(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table that no insertion changes and that starts with another law than the target's."""
    path = tmp_path / "forged.json"
    path.write_text(json.dumps(table(ALWAYS)), "utf-8")
    always = {(0, 0): checker.ONE}
    monkeypatch.setattr(policy_checker.Policies, "output", lambda *_: always)
    assert policy_checker.main(str(path)) == 1
    assert capsys.readouterr().out == "WRONG: claim 0: the law at the start is not the target's.\n"
    twin = without(POLICIES, ("self.states[()][0] == self.target()", "True"))
    twin.Policies.output = lambda *_: always
    assert twin.main(str(path)) == 0
