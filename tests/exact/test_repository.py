"""Promises of the repository about itself: commands, versions, sizes, and lints that ruff does not have."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INSTALL_AND_PROVE = "pip install . && rheo-prove --vocab 5 --depth 3"
INSTALL_AND_TEST = "pip install -c constraints.txt -e '.[test]' && pytest"
LONGEST_MODULE = 400
LONGEST_METHOD = 120
METHOD_FOLDERS = ("rheo_proof/schemes/drafting/", "rheo_proof/schemes/verifying/")
EXACT_FOLDERS = ("rheo_proof/exact/", "rheo_proof/schemes/", "rheo_proof/theorems/")

# Written in pieces, so that this file does not find itself.
HOSTS = tuple(
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("deb", "debian", "org"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("download", "pytorch", "org"),
        ("conda", "anaconda", "org"),
    )
)
MACHINE_PATH = re.compile(r"(?<![\w.~/-])/(?:home|root|work|Users)/")


def tracked() -> list[str]:
    """The files of the repository: committed, or about to be."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout.decode()
    files = sorted(name for name in set(listing.split("\0")) - {""} if (ROOT / name).is_file())
    assert {"pyproject.toml", "rheo_proof/exact/law.py", "tests/oracle.py"} <= set(files)
    return files


def modules() -> Iterator[tuple[str, str]]:
    return ((name, text(name)) for name in tracked() if name.endswith(".py"))


def text(name: str) -> str:
    return (ROOT / name).read_text("utf-8", errors="replace")


# Commands and versions


def test_readme_shows_the_two_set_up_commands() -> None:
    readme = text("README.md")
    assert INSTALL_AND_PROVE in readme
    assert INSTALL_AND_TEST in readme


def test_ci_runs_the_test_command_of_the_readme() -> None:
    lines = [line for line in text(".ci/run").splitlines() if not line.lstrip().startswith("#")]
    assert any(INSTALL_AND_TEST in line for line in lines)


def pins(source: str) -> dict[str, str]:
    """Every `name==version` of a text, comments left out; one version for each name."""
    code = re.sub(r"(?m)^\s*#.*$", "", source)
    found = [(normal(name), version) for name, version in re.findall(r"([\w.-]+)==([\w.+]+)", code)]
    assert len(dict(found)) == len(set(found)), "a package with two versions"
    return dict(found)


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_pre_commit_has_the_versions_of_the_constraints() -> None:
    hooks, constraints = pins(text(".pre-commit-config.yaml")), pins(text("constraints.txt"))
    assert {"ruff", "mypy", "gmpy2"} <= set(hooks)
    assert hooks == {name: constraints.get(name) for name in hooks}


def test_every_requirement_is_pinned() -> None:
    project = tomllib.loads(text("pyproject.toml"))["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    names = {normal(re.split(r"[^\w.-]", requirement)[0]) for group in groups for requirement in group}
    assert {"gmpy2", "pytest", "ruff"} <= names
    assert names - set(pins(text("constraints.txt"))) - {"rheo-proof"} == set()


def test_documentation_builds_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert (tmp_path / "site" / "index.html").is_file()


# Sizes and words


def too_long(name: str, source: str) -> bool:
    """A module may have 400 lines, a drafting or verifying method 120."""
    most = LONGEST_METHOD if name.startswith(METHOD_FOLDERS) else LONGEST_MODULE
    return len(source.splitlines()) > most


def test_modules_are_short_and_those_of_a_scheme_shorter() -> None:
    named = dict(modules())
    assert all(any(name.startswith(folder) for name in named) for folder in METHOD_FOLDERS)
    assert [name for name, source in named.items() if too_long(name, source)] == []


@pytest.mark.parametrize(("name", "most"), [(f"{folder}x.py", 120) for folder in METHOD_FOLDERS] + [("x.py", 400)])
def test_a_long_module_is_found(name: str, most: int) -> None:
    assert not too_long(name, "x = 1\n" * most)
    assert too_long(name, "x = 1\n" * (most + 1))


def places(source: str) -> list[str]:
    """Package hosts and paths of one machine that a text mentions."""
    return [host for host in HOSTS if host in source.lower()] + MACHINE_PATH.findall(source)


def test_no_file_names_a_package_host_or_a_path_of_one_machine() -> None:
    assert {name: found for name in tracked() if (found := places(text(name)))} == {}


@pytest.mark.parametrize(
    "words", [("see files.", "pythonhosted", ".org/x"), ("in /", "root", "/x"), ('"/', 'home/me"')]
)
def test_a_host_and_a_machine_path_are_found(words: tuple[str, ...]) -> None:
    assert places("".join(words))


# Lints


EQUALITIES = {"allclose", "array_equal", "array_equiv", "equal", "equals", "is_close", "isclose"}


def called(node: ast.Call) -> str:
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def dropped(source: str) -> list[int]:
    """Lines where a comparison, or the answer of an equality helper, is computed and thrown away."""

    def is_verdict(value: ast.expr) -> bool:
        if isinstance(value, ast.Call):
            return called(value) in EQUALITIES
        negated = isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not)
        return negated or isinstance(value, ast.Compare | ast.BoolOp)

    statements = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Expr))
    return [node.lineno for node in statements if is_verdict(node.value)]


def floats(source: str) -> list[int]:
    """Lines with a float literal, a call of `float`, `float` as an argument, or a quotient of literals."""

    def is_float(node: ast.expr) -> bool:
        match node:
            case ast.Constant(value=float() | complex()):
                return True
            case ast.Call(func=ast.Name(id="float" | "complex")):
                return True
            case ast.Call(args=args) if called(node) not in {"isinstance", "issubclass"}:
                return any(isinstance(arg, ast.Name) and arg.id == "float" for arg in args)
            case ast.BinOp(left=ast.Constant(), op=ast.Div(), right=ast.Constant()):
                return True
        return False

    expressions = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.expr))
    return [node.lineno for node in expressions if is_float(node)]


def test_no_verdict_is_dropped() -> None:
    assert {name: lines for name, source in modules() if (lines := dropped(source))} == {}


def test_the_exact_part_has_no_float() -> None:
    exact = [(name, source) for name, source in modules() if name.startswith(EXACT_FOLDERS)]
    assert {name.split("/")[1] for name, _ in exact} >= {"exact", "schemes"}
    assert {name: lines for name, source in exact if (lines := floats(source))} == {}


@pytest.mark.parametrize(
    "source",
    ["a == b", "a < b < c", "not a", "a and b", "np.allclose(a, b)", "torch.equal(a, b)", "law.equals(m)"],
)
def test_a_dropped_verdict_is_found(source: str) -> None:
    assert dropped(source)
    assert not dropped(f"assert {source}")


@pytest.mark.parametrize(
    "source",
    ["x = 0.5", "x = 1e-9", "float(x)", "list(map(float, xs))", "x = 1 / 3", "def f(a=.5): ...", "2j"],
)
def test_a_float_is_found(source: str) -> None:
    assert floats(source)


@pytest.mark.parametrize("source", ["x = 1", "isinstance(x, float)", "x = Q(1) / 3", "x = Q(1, 3)", "'0.5'"])
def test_a_rational_is_no_float(source: str) -> None:
    assert floats(source) == []
