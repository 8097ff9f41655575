"""`rheo-prove plan`: the draws it prints are the planner's, and so is what each fault would need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rheo_proof.schemes.faults import FAULTS
from rheo_proof.stats.fixtures import FIXTURES
from rheo_proof.stats.plan import plan_draws
from tests.cli.program import ROOT, cells, environment, is_one_line, prove, prove_here, written


def rows(out: str, first_column: str) -> dict[str, list[str]]:
    """The rows of the table whose first column has this title, by their first cell."""
    lines = out.splitlines()
    at = next(i for i, line in enumerate(lines) if line.strip().startswith(first_column))
    found = {}
    for line in lines[at + 2 :]:
        if not line.strip():
            break
        name, *others = cells(line)
        found[name] = others
    return found


def test_the_draws_of_every_method_are_printed() -> None:
    run = prove_here("plan", "--eps", "0.01", "--cells", "25")
    assert (run.status, run.err) == (0, "")
    plan = plan_draws(25, "0.01")
    shown = {name: int(values[0].replace(",", "")) for name, values in rows(run.out, "method").items()}
    assert list(shown.values()) == [
        plan.floor,
        plan.single.g,
        plan.single.tv,
        plan.cap,
        *(stage.draws for stage in plan.stages),
    ]
    assert [name.rpartition("(")[2][:2] for name in shown] == ["F3", "F2", "F1", "F4", "F5", "F5"]
    assert f"Recommended for a sampler: the e-process, at most {plan.cap:,} draws." in run.out
    assert f"Recommended for counts: TV on {plan.draws:,} draws." in run.out


def test_what_each_fault_would_need_is_printed_with_its_exact_distance() -> None:
    run = prove_here("plan", "--eps", "0.01", "--cells", "25")
    shown = rows(run.out, "fault")
    assert list(shown) == list(FAULTS)
    for fault, (rule, fixture, k, tv, _, draws) in shown.items():
        certificate = FIXTURES[fixture].certificate(fault, 1)
        assert rule == FIXTURES[fixture].correct(fault).verify
        assert int(k) == certificate.cells
        assert tv.split()[0] == str(certificate.tv)
        assert int(draws.replace(",", "")) == certificate.needed
    for name, fixture_ in FIXTURES.items():
        assert f"{name}: model {fixture_.family} {fixture_.seed}, V = {fixture_.vocab}" in run.out


def test_the_recommendation_for_few_cells_is_g() -> None:
    assert "Recommended for counts: G" in prove_here("plan", "--eps", "0.05", "--cells", "3").out


def test_stricter_levels_are_planned_for(tmp_path: Path) -> None:
    target = tmp_path / "plan.json"
    arguments = ("--eps", "1/50", "--cells", "5", "--alpha", "1e-12", "--beta", "1/1000000", "--json", str(target))
    assert prove_here("plan", *arguments).status == 0
    plan = plan_draws(5, "1/50", 1e-12, 1e-6)
    found = written(target)
    assert found["draws"] == {
        "floor": plan.floor,
        "g": plan.single.g,
        "tv": plan.single.tv,
        "cap": plan.cap,
        "two_stage": [stage.draws for stage in plan.stages],
    }
    assert found["recommended"]["sampler"] == {"method": "sequential", "draws": plan.cap}
    assert (found["eps"], found["cells"], found["alpha"], found["beta"]) == (0.02, 5, 1e-12, 1e-6)
    for need in found["faults"]:
        certificate = FIXTURES[need["fixture"]].certificate(need["fault"], 1, 1e-12, 1e-6)
        assert (need["tv"], need["impossible"]) == (str(certificate.tv), str(certificate.impossible))
        assert need["draws"] == certificate.needed
    assert [fixture["name"] for fixture in found["fixtures"]] == list(
        dict.fromkeys(n["fixture"] for n in found["faults"])
    )


def test_a_single_cell_has_no_g() -> None:
    run = prove_here("plan", "--eps", "0.5", "--cells", "1")
    assert run.status == 0
    assert rows(run.out, "method")["G, Agrawal's bound (F2)"][0] == "-"


@pytest.mark.parametrize(
    "arguments",
    [
        ("--cells", "5"),
        ("--eps", "0.01"),
        ("--eps", "x", "--cells", "5"),
        ("--eps", "", "--cells", "5"),
        ("--eps", "nan", "--cells", "5"),
        ("--eps", "0", "--cells", "5"),
        ("--eps", "1", "--cells", "5"),
        ("--eps", "-0.1", "--cells", "5"),
        ("--eps", "1/0", "--cells", "5"),
        ("--eps", "1e-999999999", "--cells", "5"),
        ("--eps", "0.01", "--cells", "5", "--alpha", "1e999999999"),
        ("--eps", "1e-12", "--cells", "5"),
        ("--eps", "0.01", "--cells", "0"),
        ("--eps", "0.01", "--cells", "2.5"),
        ("--eps", "0.01", "--cells", "1000001"),
        ("--eps", "0.01", "--cells", "5", "--alpha", "0"),
        ("--eps", "0.01", "--cells", "5", "--alpha", "1e-400"),
        ("--eps", "0.01", "--cells", "5", "--beta", "2"),
        ("--eps", "0.01", "--cells", "5", "--json", ""),
        ("--eps", "0.01", "--cells", "5", "--json", "no/such/folder/plan.json"),
        ("--eps", "0.01", "--cells", "5", "--vocab", "3"),
    ],
    ids=" ".join,
)
def test_bad_input_is_one_line_and_status_2(arguments: tuple[str, ...]) -> None:
    run = prove_here("plan", *arguments)
    assert is_one_line(run, 2), run


@pytest.mark.parametrize(
    "arguments",
    [
        ("--eps", "1e-8", "--cells", "1000000", "--alpha", "1e-300", "--beta", "1e-300"),
        ("--eps", "0.999", "--cells", "2", "--alpha", "0.9", "--beta", "0.9"),
        ("--eps", "0.5", "--cells", "1000000", "--beta", "1e-300"),
    ],
    ids=" ".join,
)
def test_extreme_requests_are_planned(arguments: tuple[str, ...]) -> None:
    run = prove_here("plan", *arguments)
    assert (run.status, run.err) == (0, "")


WITHOUT = """
import sys
for name in ("numpy", "scipy"):
    sys.modules[name] = None
import rheo_proof.pytest_plugin
from rheo_proof.cli.main import main
main()
"""


@pytest.mark.parametrize(
    ("arguments", "status"), [(["plan", "--eps", "0.01", "--cells", "5"], 2), (["schemes"], 0)], ids=str
)
def test_only_the_planner_needs_numpy_and_scipy(arguments: list[str], status: int) -> None:
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT, *arguments],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == status, run.stderr
    missing = "rheo-prove: rheo-prove plan needs numpy, scipy; pip install 'rheo-proof[stats]'\n"
    assert run.stderr == (missing if status else "")


def test_the_planner_prints_the_same_in_a_process_of_its_own(tmp_path: Path) -> None:
    arguments = ("plan", "--eps", "0.05", "--cells", "5")
    assert prove(tmp_path, *arguments) == prove_here(*arguments)
