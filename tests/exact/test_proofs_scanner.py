"""What `make proofs` asks of the sources and of Coq's answers; sources that assume something, answers that admit it."""

from __future__ import annotations

import importlib.util
import re
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROVED = """(* Axiom in a comment. *)
Section Sums.
Variable n : nat.
Hypothesis positive : 0 < n.

(* n is at most itself. *)
Theorem small : n <= n. Proof. exact: leqnn. Qed.
End Sums.
"""


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("proofs_check", ROOT / "proofs" / "check.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


check = load()


def test_nothing_is_assumed_in_our_proofs() -> None:
    assert "nothing assumed" in check.check_sources(ROOT / "proofs")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sums.v").write_text(PROVED)
    (tmp_path / "_CoqProject").write_text("-Q . Rheo\n\nsums.v\n")
    return tmp_path


def test_a_proof_that_assumes_nothing_passes(folder: Path) -> None:
    assert check.check_sources(folder).startswith("1 files")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Qed.", "Admitted."),
        ("exact: leqnn.", "admit."),
        ("exact: leqnn.", "give_up."),
        ("End Sums.", "End Sums.\nAxiom magic : False."),
        ("Variable n", "Axioms a b : False.\nVariable n"),
        ("Section Sums.", "Section Sums.\nParameter m : nat."),
        ("Section Sums.", "Conjecture fermat :\n  False.\nSection Sums."),
        ("End Sums.", "End Sums.\nHypothesis late : False."),
        ("Section Sums.\n", "Variable early : False.\nSection Sums.\n"),
        ("Section Sums.\n", "Module Type M.\nVariables a b : nat.\nEnd M.\nSection Sums.\n"),
        ("Section Sums.\n", "#[local] Context (a : False).\nSection Sums.\n"),
        ("Section Sums.\n", "(* (* *) *) Axiom after_a_comment : False.\nSection Sums.\n"),
        ("Section Sums.\n", "Unset Guard Checking.\nSection Sums.\n"),
        ("Section Sums.\n", "#[bypass_check(universes)] Definition u := Type.\nSection Sums.\n"),
        ("(* n is at most itself. *)\n", ""),
        ("(* n is at most itself. *)\n", "(* n is at most itself. *)\n\n"),
        ("(* Axiom in a comment. *)\n", "\n" * 400),
    ],
)
def test_a_source_that_assumes_or_hides_something_is_found(folder: Path, old: str, new: str) -> None:
    assert old in PROVED
    (folder / "sums.v").write_text(PROVED.replace(old, new, 1))
    with pytest.raises(check.Failed, match=r"sums\.v"):
        check.check_sources(folder)


def test_a_file_that_is_not_compiled_is_found(folder: Path) -> None:
    (folder / "spare.v").write_text("")
    with pytest.raises(check.Failed, match=r"spare\.v"):
        check.check_sources(folder)


def test_a_copy_of_our_proofs_with_one_qed_admitted_is_found(tmp_path: Path) -> None:
    copy = Path(shutil.copytree(ROOT / "proofs", tmp_path / "proofs", ignore=shutil.ignore_patterns("*.vo*", "*.glob")))
    text = (copy / "generate.v").read_text()
    (copy / "generate.v").write_text(text[: text.rindex("Qed.")] + "Admitted." + text[text.rindex("Qed.") + 4 :])
    with pytest.raises(check.Failed, match=r"^generate\.v:\d+: Admitted is not allowed$"):
        check.check_sources(copy)


def test_coq_must_say_of_every_theorem_that_it_is_closed() -> None:
    closed = check.CLOSED + "\n"
    check.axiom_free(["a", "b"], closed * 2)
    for answer in ("", closed, closed * 3, closed + "Axioms:\nmagic : False\n"):
        with pytest.raises(check.Failed):
            check.axiom_free(["a", "b"], answer)
    with pytest.raises(check.Failed):
        check.axiom_free([], "")


SUMMARY = """
CONTEXT SUMMARY
===============

* Theory: Set is predicative

* Axioms: <none>

* Constants/Inductives relying on type-in-type: <none>

* Constants/Inductives relying on unsafe (co)fixpoints: <none>

* Inductives whose positivity is assumed: <none>
"""


def test_a_theorem_that_gains_a_premise_is_found() -> None:
    kept = (ROOT / "proofs" / "statements.txt").read_text("utf-8")
    check.same_statements(kept, kept)
    assert re.search(r"^rrsw_paper_proxy_lossless$", kept, re.MULTILINE)
    start = kept.index("rheo_generate\n")
    gained = kept[:start] + kept[start:].replace("->", "-> p = q ->", 1)
    with pytest.raises(check.Failed, match="p = q"):
        check.same_statements(kept, gained)


def test_coqchk_must_find_all_four_lists_empty() -> None:
    assert check.summary_faults(SUMMARY) == []
    assert len(check.summary_faults("")) == 4
    for title in ("Axioms", "type-in-type", "(co)fixpoints", "assumed"):
        listed = SUMMARY.replace(f"{title}: <none>", f"{title}:\n    Rheo.generate.magic")
        assert listed != SUMMARY
        assert len(check.summary_faults(listed)) == 1


def test_the_main_theorems_are_among_those_that_coq_is_asked_about() -> None:
    asked = (ROOT / "proofs" / "assumptions.v").read_text()
    for name in ("lossless", "layered_predictable", "run_lossless", "rheo_generate", "prefix_criterion", "run_sound"):
        assert f"\nPrint Assumptions {name}.\n" in asked


def test_what_the_readme_names_is_there() -> None:
    readme = (ROOT / "proofs" / "README.md").read_text()
    sources = "".join(path.read_text() for path in (ROOT / "proofs").glob("*.v"))
    named = set(re.findall(r"`([a-z]+(?:_[a-z0-9]+)+)`", readme)) - {
        "realFieldType",
        "rheo_proof",
        "proxy_scale",
        "fill_scale",
        "vm_compute",
    }
    assert len(named) > 40
    assert [
        name
        for name in sorted(named)
        if not re.search(rf"(?:Lemma|Theorem|Corollary|Definition|Fixpoint) {name}\b", sources)
    ] == []
    assert set(re.findall(r"`([a-z_]+\.v)`", readme)) == set(check.listed(ROOT / "proofs"))


def test_the_command_says_what_it_can_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert check.main(["nothing"]) == 2
    assert "usage" in capsys.readouterr().err
