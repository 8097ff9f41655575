"""Every option of `rheo-prove audit` and of its adapters: a value that makes no sense is refused in one line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rheo_proof.audit import audit
from rheo_proof.audit.adapters.options import OPTIONS
from rheo_proof.audit.errors import AuditError
from rheo_proof.audit.session import installation
from rheo_proof.cli.audit import FLAGS
from tests.audit import plain
from tests.cli.program import is_one_line, prove_here

PLAIN = "tests.audit.plain"
QUICK = ("--arrays", "list", "--dtype", "float64", "--table", "R26", "--calls", "0", "--max-runs", "60")


@pytest.fixture(scope="module", autouse=True)
def taken_away() -> Iterator[None]:
    with installation():
        yield


BAD_SETTINGS = [
    ("roles=3", "roles has an option of its own, --map"),
    ("max_runs=3", "max_runs has an option of its own, --max-runs"),
    ("mode=exact", "mode has an option of its own, --mode"),
    ("declared=x", "declared has an option of its own, --declare"),
    ("tables=x", "tables has an option of its own, --table"),
    ("name=3", "has no option 'name'; it has arrays, roles"),
    ("drafting=3", "has no option 'drafting'; it has"),
    ("told=3", "no adapter has an option 'told'"),
    ("foo=1", "adapter chain has no option 'foo'; it has"),
    (
        "target_process=foo",
        "'foo' is no value for it; expected a Python function, which only `audit(...)` can be handed",
    ),
    ("constants=3", "constants: 3 is no value for it; expected parameters and their values"),
    ("constants={1: 2}", "expected parameters and their values"),
    ("order=x", "order: 'x' is no value for it; expected roles, such as"),
    ("order=('x',)", "order: role: no role 'x'"),
    ("prompt=-1", "prompt: -1 is no value for it; expected a whole number from 0"),
    ("prompt=True", "prompt: True is no value for it"),
    ("batched=banana", "batched: 'banana' is no value for it; expected True or False"),
    ("batched=1", "batched: 1 is no value for it; expected True or False"),
    ("temperature=hot", "temperature: 'hot' is no value for it; expected a number from 1/100 to 100"),
    ("temperature=0", "expected a number from 1/100 to 100"),
    ("temperature=1e999", "expected a number from 1/100 to 100"),
    ("temperature=1/0", "expected a number from 1/100 to 100"),
    ("axes=3", "axes: 3 is no value for it"),
    ("axes={'draft_probs': ('X',)}", "axes: role: no axis 'X'"),
    ("names={'a': 'b'}", "names: a: no role 'b'"),
    ("batched=True batched=False", "--set gives batched twice"),
]
OTHERS = [
    (("--adapter", "siblings", "--set", "count=0"), "count: 0 is no value for it; expected a whole number from 1"),
    (("--adapter", "siblings", "--set", "count=1000000000"), "expected a whole number from 1 to 16"),
    (("--adapter", "siblings", "--set", "method=best"), "method: 'best' is no value for it; expected iid, distinct or"),
    (("--adapter", "tree", "--set", "parents=()"), "parents: () is no value for it"),
    (("--adapter", "tree", "--set", "parents=(0, 1)"), "parents: (0, 1) is no value for it"),
    (("--adapter", "tree", "--set", "parents=x"), "parents: 'x' is no value for it"),
    (("--adapter", "step", "--set", "form=some"), "form: 'some' is no value for it; expected next or all"),
    (("--adapter", "step", "--set", "batched=True"), "adapter step has no option 'batched'"),
    (("--adapter", "step", "--set", "loops=2"), "loops: 2 is no value for it; expected True or False"),
    (("--table", ""), "--table has an empty name in 'R26,', expected names such as --table dyadic,zeros"),
    (("--dtype", ""), "--dtype has an empty name in 'float64,', expected names such as --dtype float32,float64"),
    (("--declare", ""), "--declare is empty; give it a value or leave it out"),
    (("--declare", "mix 50%"), "declared: 'mix 50%' starts with 'mix' and has no weight from 0 to 1 after it; write"),
    (("--declare", "mix 0,5"), "declared: 'mix 0,5' starts with 'mix'"),
    (("--declare", "mix"), "declared: 'mix' starts with 'mix'"),
    (("--declare", "Mix 3/2"), "declared: 'Mix 3/2' starts with 'mix'"),
    (("--declare", "mix 1/0"), "declared: 'mix 1/0' starts with 'mix'"),
    (("--declare", "mix -1/2"), "declared: 'mix -1/2' starts with 'mix'"),
    (("--table", "two dyadic"), "table 'two dyadic' does not fit adapter chain: it is 2 requests in one call, which"),
    (("--table", "R35"), "table 'R35' does not fit adapter chain: it has an end of sequence, which goes with"),
    (("--calls", "-1"), "calls is -1, expected a whole number from 0"),
    (("--eps", "1/20"), "eps: goes with the modes piecewise and sampled"),
]  # fmt: skip


@pytest.mark.parametrize(("written", "words"), BAD_SETTINGS, ids=[written for written, _ in BAD_SETTINGS])
def test_a_setting_that_makes_no_sense_is_named_in_one_line(written: str, words: str) -> None:
    parts = written.split(" ") if written.count("=") > 1 else [written]
    run = prove_here("audit", f"{PLAIN}:right", *QUICK, *(x for part in parts for x in ("--set", part)))
    assert is_one_line(run, 2), run
    assert words in run.err


@pytest.mark.parametrize(("arguments", "words"), OTHERS, ids=[" ".join(arguments) for arguments, _ in OTHERS])
def test_another_option_that_makes_no_sense_is_named_in_one_line(arguments: tuple[str, ...], words: str) -> None:
    run = prove_here("audit", f"{PLAIN}:right", *QUICK, *arguments)
    assert is_one_line(run, 2), run
    assert words in run.err


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"tables": "dyadic"}, r"tables is 'dyadic', expected a list of names or tables, such as \['dyadic'\]"),
        ({"tables": [3]}, "tables is "),
        ({"dtypes": "float64"}, "dtypes is 'float64', expected a list of types"),
        ({"dtypes": []}, "dtypes is "),
        ({"max_runs": 0}, "max_runs is 0, expected a whole number from 1"),
        ({"max_runs": "3"}, "max_runs is '3'"),
        ({"timeout": "soon"}, "timeout is 'soon', expected a number of seconds"),
        ({"calls": 1.5}, "calls is 1.5"),
        ({"allow_nan": "no"}, "allow_nan is 'no', expected True or False"),
        ({"declared": 3}, "declared is 3, expected a few words"),
        ({"adapter": 3}, "adapter is 3, expected a name of chain"),
        ({"adapter": None}, "adapter is None"),
        ({"drafter": "mine:draft"}, "drafter: 'mine:draft' is no value for it; expected a Python function"),
        ({"roles": "p"}, "roles: 'p' is no value for it"),
    ],
)
def test_from_python_it_is_refused_too(asked: dict[str, Any], words: str) -> None:
    with pytest.raises(AuditError, match=words):
        audit(plain.right, **{"arrays": "list", "tables": ["R26"], "dtypes": ["float64"], **asked})


def test_settings_that_make_sense_are_taken() -> None:
    for written in ("batched=false", "bonus=True", "temperature=1/2", "prompt=0", "constants={}", "axes={}"):
        run = prove_here("audit", f"{PLAIN}:right", *QUICK, "--set", written)
        assert (run.status, run.err) == (0, ""), (written, run)


def test_the_statistical_mode_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rheo_proof.audit.sampled", None)
    run = prove_here("audit", f"{PLAIN}:right", *QUICK, "--mode", "sampled")
    assert is_one_line(run, 2), run
    assert run.err == "rheo-prove: mode sampled needs numpy, scipy; pip install 'rheo-proof[stats]'\n"


NAMES = sorted(
    {*FLAGS, "name", "foo", "drafting", "function", "told", *(name for known in OPTIONS.values() for name in known)}
)
LITERALS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 70), st.floats(), st.lists(st.integers(-2, 3), max_size=4),
    st.sampled_from(["tokens", "probs", "all", "1/2", "iid"]),
    st.dictionaries(st.sampled_from(["a", "p"]), st.integers(0, 2), max_size=2),
    st.sampled_from([("draft_tokens",), {"draft_probs": ("V",)}, {"p": "target_probs"}, {"draft_tokens": "uniforms"}]),
)  # fmt: skip
WORDS = st.one_of(LITERALS.map(repr), st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=8))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(sorted(OPTIONS)), st.lists(st.tuples(st.sampled_from(NAMES), WORDS), max_size=2))
@example("chain", [("batched", "banana")])
@example("tree", [("parents", "[-1, -1]")])
def test_no_setting_ends_in_a_traceback(adapter: str, chosen: list[tuple[str, str]]) -> None:
    words = [x for name, value in chosen for x in ("--set", f"{name}={value}")]
    run = prove_here("audit", f"{PLAIN}:right", *QUICK, "--adapter", adapter, *words)
    assert run.status in (0, 1, 2, 3), run
    assert "Traceback" not in run.err
    assert is_one_line(run, 2) if run.status == 2 else run.err == ""


def test_an_answer_to_rows_of_nan_can_be_permitted() -> None:
    accepting = (f"{PLAIN}:through_nan", *QUICK, "--table", "nan draft")
    refused = prove_here("audit", *accepting)
    assert refused.status == 1
    assert "CONTRACT BROKEN: a row of nan is accepted; the law itself is right." in refused.words
    permitted = prove_here("audit", *accepting, "--allow-nan")
    assert (permitted.status, permitted.err) == (0, ""), permitted
    assert "nan is accepted" not in permitted.out
