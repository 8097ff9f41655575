"""Who may import whom, read from the imports themselves.

A file obeys every rule whose `where` is the file or a folder above it, so a rule for a folder that does not
exist yet waits for it.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("rheo_proof", "reference/rheo_reference", "gpu/rheo_gpu", "gpu/rheo_decode")
OURS = {PurePosixPath(source).name for source in SOURCES}
READINGS = ("OnePath", "Replay", "Sample", "Tape")


class Rule(NamedTuple):
    """`ours`: modules and packages of ours that may be imported. `others`: third parties; None allows all."""

    where: str
    ours: tuple[str, ...] = ()
    others: tuple[str, ...] | None = ()
    late: bool = False  # any third party may be imported inside a function
    never: tuple[str, ...] = ()
    spares: str | tuple[str, ...] | None = None


# What a drafting or verifying method may know: randomness, laws, models, trees. Not who answers its requests.
METHOD = Rule(
    "",
    (
        "rheo_proof.exact.chance",
        "rheo_proof.exact.errors",
        "rheo_proof.exact.law",
        "rheo_proof.exact.model",
        "rheo_proof.exact.number",
        "rheo_proof.exact.program",
        "rheo_proof.schemes.tree",
    ),
    never=tuple(f"rheo_proof.exact.chance.{reading}" for reading in READINGS),
)

# The auditor judges strangers. It may know exact numbers and models, and the optimum of one level; no scheme of ours.
AUDITOR = ("rheo_proof.audit", "rheo_proof.exact", "rheo_proof.theorems.transport", "rheo_proof.__version__")
LAYERS = ("rheo_proof/audit/torch_", "rheo_proof/audit/numpy_")
SAMPLED = "rheo_proof/audit/sampled.py"
AUDIT_OF_A_TEST = ("rheo_proof.audit", "rheo_proof.exact.errors", "rheo_proof.report.audit")


# All of rheo_gpu but its language models.
DECODER = ("Config", "Layer", "Processing", "Step", "Tape", "Trees", "Verified", "decode_step", "draft_trees", "verify")
DECODER_FILES = ("config", "decode", "flow", "laws", "slots", "tape", "tree")
MODULES_OF_THE_DECODER = tuple(f"rheo_gpu.{name}" for name in (*DECODER, *DECODER_FILES))


def method(folder: str) -> Rule:
    return METHOD._replace(where=f"rheo_proof/schemes/{folder}", ours=(*METHOD.ours, f"rheo_proof.schemes.{folder}"))


RULES = (
    Rule("rheo_proof/exact", ("rheo_proof.exact",), ("gmpy2",)),
    Rule("rheo_proof/schemes", ("rheo_proof.exact", "rheo_proof.schemes")),
    method("drafting"),
    method("verifying"),
    Rule(
        "rheo_proof/theorems",
        ("rheo_proof.exact", "rheo_proof.schemes", "rheo_proof.theorems"),
        ("gmpy2", "sympy", "checker"),
        late=True,
    ),
    Rule("rheo_proof/theorems/checker.py"),
    # `checker` is the file beside it, when the two are copied elsewhere.
    Rule("rheo_proof/theorems/policy_checker.py", ("rheo_proof.theorems.checker",), ("checker",)),
    Rule("rheo_proof/stats", ("rheo_proof.exact", "rheo_proof.schemes", "rheo_proof.stats"), ("numpy", "scipy")),
    Rule("rheo_proof/stats/ledger.py"),
    # Torch and NumPy are loaded by files that are named after them, which an audit loads where it needs them.
    Rule("rheo_proof/audit", AUDITOR, ("gmpy2",), late=True, spares=(*LAYERS, SAMPLED)),
    Rule(SAMPLED, (*AUDITOR, "rheo_proof.stats"), late=True),
    Rule(
        "rheo_proof/pytest_plugin.py",
        ("rheo_proof.stats.ledger", "rheo_proof.stats.seeds", *AUDIT_OF_A_TEST),
        ("pytest",),
    ),
    Rule("rheo_proof", ("rheo_proof",), None, spares="rheo_proof/cli/crosscheck"),
    Rule("reference/rheo_reference", ("rheo_reference",), ("numpy",)),
    # An engine takes the decoder without the language models; the command is loaded before torch is.
    Rule("gpu/rheo_gpu", MODULES_OF_THE_DECODER, ("torch",), spares="gpu/rheo_gpu/llm/"),
    Rule("gpu/rheo_gpu/llm", ("rheo_gpu",), ("torch", "transformers", "safetensors")),
    Rule("gpu/rheo_decode", ("rheo_gpu", "rheo_decode"), ("click", "rich", "torch", "transformers")),
    Rule("gpu/rheo_decode/command.py", ("rheo_decode",), ("click",)),
    Rule("gpu/rheo_decode/__main__.py", ("rheo_decode.command",)),
)


class Import(NamedTuple):
    module: str
    name: str  # what is taken from the module; empty for a plain import
    line: int
    late: bool  # inside a function

    def __str__(self) -> str:
        return f"line {self.line}: {self.module}" + (f" ({self.name})" if self.name else "")


def imports(node: ast.AST, package: str, late: bool = False) -> Iterator[Import]:
    """All imports below a node, relative ones resolved, `import_module("x")` and `__import__("x")` too."""
    match node:
        case ast.Import(names=names):
            yield from (Import(alias.name, "", node.lineno, late) for alias in names)
        case ast.ImportFrom(module=module, names=names, level=level):
            parts = package.split(".")[: 1 - level or None] if level else []
            source = ".".join([*parts, module] if module else parts)
            yield from (Import(source, alias.name, node.lineno, late) for alias in names)
        case ast.Call(
            func=ast.Name(id="__import__" | "import_module") | ast.Attribute(attr="import_module"),
            args=[ast.Constant(value=str(module)), *_],
        ):
            yield Import(module, "", node.lineno, late)
    late = late or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    for child in ast.iter_child_nodes(node):
        yield from imports(child, package, late)


def allowed(found: Import, rule: Rule) -> bool:
    top = found.module.partition(".")[0]
    if top in OURS:
        names = {found.module, f"{found.module}.{found.name}"}
        within = any(f"{name}.".startswith(f"{ours}.") for name in names for ours in rule.ours)
        return within and not names & set(rule.never)
    if top in sys.stdlib_module_names or rule.others is None or top in rule.others:
        return True
    return rule.late and found.late


def applies(rule: Rule, path: str) -> bool:
    spared = rule.spares is not None and path.startswith(rule.spares)
    return f"{path}/".startswith(f"{rule.where}/") and not spared


def violations(path: str, source: str) -> list[str]:
    """The imports of a file that break a rule, one line each."""
    package = path.removeprefix("reference/").removeprefix("gpu/").rpartition("/")[0].replace("/", ".")
    found = list(imports(ast.parse(source), package))
    rules = [rule for rule in RULES if applies(rule, path)]
    return [f"{path} {one} breaks {rule.where}" for rule in rules for one in found if not allowed(one, rule)]


def source_files() -> list[str]:
    return sorted(p.relative_to(ROOT).as_posix() for source in SOURCES for p in (ROOT / source).rglob("*.py"))


def test_every_import_obeys_the_rules() -> None:
    files = source_files()
    cores = ("rheo_proof/exact/law.py", "rheo_proof/exact/chance.py", "rheo_proof/schemes/tree.py")
    for core in (*cores, "rheo_proof/theorems/checker.py"):
        assert core in files
    for folder in ("exact", "schemes/drafting", "schemes/verifying"):
        assert any(file.startswith(f"rheo_proof/{folder}/") for file in files), folder
    assert [line for file in files for line in violations(file, (ROOT / file).read_text("utf-8"))] == []


OFFENDERS = [
    ("rheo_proof/exact/law.py", "import numpy"),
    ("rheo_proof/exact/law.py", "def f():\n    import numpy.linalg"),
    ("rheo_proof/exact/law.py", "from importlib import import_module\nimport_module('torch')"),
    ("rheo_proof/exact/law.py", "import rheo_proof.schemes.tree"),
    ("rheo_proof/exact/law.py", "from rheo_proof import schemes"),
    ("rheo_proof/exact/law.py", "from ..schemes.tree import Tree"),
    ("rheo_proof/exact/law.py", "from .. import schemes"),
    ("rheo_proof/exact/law.py", "if TYPE_CHECKING:\n    from rheo_proof.schemes.tree import Tree"),
    ("rheo_proof/exact/law.py", "from tests.oracle import step_law"),
    ("rheo_proof/schemes/scheme.py", "from rheo_proof.theorems.policies import adversary"),
    ("rheo_proof/schemes/scheme.py", "import gmpy2"),
    ("rheo_proof/schemes/drafting/rheo.py", "from rheo_proof.exact.replay import paths"),
    ("rheo_proof/schemes/drafting/rheo.py", "from rheo_proof.exact import classes"),
    ("rheo_proof/schemes/drafting/rheo.py", "from rheo_proof.exact.chance import Replay"),
    ("rheo_proof/schemes/drafting/rheo.py", "from rheo_proof.schemes.verifying.rheo import verify"),
    ("rheo_proof/schemes/verifying/rheo.py", "from rheo_proof.schemes.drafting.rheo import draft"),
    ("rheo_proof/schemes/verifying/rheo.py", "from rheo_proof.schemes.scheme import Scheme"),
    ("rheo_proof/theorems/transport.py", "import numpy as np"),
    ("rheo_proof/theorems/transport.py", "import torch"),
    ("rheo_proof/theorems/transport.py", "class C:\n    import networkx"),
    ("rheo_proof/theorems/transport.py", "def f():\n    import rheo_reference"),
    ("rheo_proof/theorems/checker.py", "from rheo_proof.exact.law import Law"),
    ("rheo_proof/theorems/checker.py", "def f():\n    import sympy"),
    ("rheo_proof/theorems/checker.py", "from rheo_proof.theorems import certificate"),
    ("rheo_proof/theorems/checker.py", "from . import certificate"),
    ("rheo_proof/theorems/checker.py", "import gmpy2"),
    ("rheo_proof/theorems/checker.py", "import checker"),
    ("rheo_proof/theorems/policy_checker.py", "from rheo_proof.theorems.policies import Policies"),
    ("rheo_proof/theorems/policy_checker.py", "from rheo_proof.exact.law import Law"),
    ("rheo_proof/exact/law.py", "from rheo_proof.stats.plan import plan_draws"),
    ("rheo_proof/schemes/faults.py", "def f():\n    from rheo_proof.stats import fixtures"),
    ("rheo_proof/theorems/instances.py", "from rheo_proof.stats.plan import plan_draws"),
    ("rheo_proof/stats/plan.py", "from rheo_proof.theorems.instances import prove"),
    ("rheo_proof/stats/plan.py", "from rheo_proof.report.console import table"),
    ("rheo_proof/stats/plan.py", "def f():\n    import statsmodels"),
    ("rheo_proof/stats/ledger.py", "import numpy"),
    ("rheo_proof/pytest_plugin.py", "from rheo_proof.stats.plan import plan_draws"),
    ("rheo_proof/audit/modes.py", "def f():\n    from rheo_proof.stats.plan import plan_draws"),
    ("rheo_proof/audit/sampled.py", "import numpy"),
    ("rheo_proof/exact/law.py", "from rheo_proof.audit import audit"),
    ("rheo_proof/schemes/faults.py", "from rheo_proof.audit.cases import Case"),
    ("rheo_proof/theorems/instances.py", "def f():\n    from rheo_proof.audit import audit"),
    ("rheo_proof/stats/plan.py", "from rheo_proof.audit import audit"),
    ("rheo_proof/audit/judging.py", "import torch"),
    ("rheo_proof/audit/cases.py", "import numpy as np"),
    ("rheo_proof/audit/judging.py", "from rheo_proof.schemes.faults import FAULTS"),
    ("rheo_proof/audit/saving.py", "def f():\n    from rheo_proof.report.audit import repeat"),
    ("rheo_proof/audit/torch_run.py", "import rheo_gpu"),
    ("rheo_proof/report/console.py", "def f():\n    from rheo_gpu import decode"),
    ("reference/rheo_reference/decode.py", "from rheo_proof.exact.law import Law"),
    ("reference/rheo_reference/decode.py", "import torch"),
    ("gpu/rheo_gpu/decode.py", "import rheo_reference"),
    ("gpu/rheo_gpu/decode.py", "from rheo_proof import exact"),
    ("gpu/rheo_gpu/decode.py", "import transformers"),
    ("gpu/rheo_gpu/decode.py", "from .llm.target import Target"),
    ("gpu/rheo_gpu/decode.py", "from rheo_gpu import llm"),
    ("gpu/rheo_gpu/llm/target.py", "from rheo_proof.exact.law import Law"),
    ("gpu/rheo_gpu/llm/target.py", "import numpy"),
    ("gpu/rheo_gpu/llm/target.py", "import click"),
    ("gpu/rheo_decode/session.py", "from rheo_proof.report.console import table"),
    ("gpu/rheo_decode/command.py", "import torch"),
    ("gpu/rheo_decode/command.py", "from rheo_gpu.llm.errors import Unusable"),
]


@pytest.mark.parametrize(("path", "source"), OFFENDERS)
def test_an_offending_import_is_flagged(path: str, source: str) -> None:
    assert violations(path, source)


WELCOME = [
    ("rheo_proof/exact/law.py", "from __future__ import annotations\nimport os.path\nfrom gmpy2 import mpq"),
    (
        "rheo_proof/exact/law.py",
        "from rheo_proof.exact import number\nfrom .number import Q\nfrom . import errors",
    ),
    ("rheo_proof/schemes/drafting/chain.py", "from rheo_proof.exact.chance import Chance"),
    ("rheo_proof/schemes/drafting/chain.py", "from rheo_proof.exact import law"),
    ("rheo_proof/schemes/drafting/chain.py", "from rheo_proof.schemes.drafting.rheo import slots"),
    ("rheo_proof/theorems/regions.py", "import sympy\nfrom rheo_proof.schemes import scheme"),
    ("rheo_proof/theorems/transport.py", "def f():\n    import ot, networkx"),
    (
        "rheo_proof/theorems/policy_checker.py",
        "from rheo_proof.theorems.checker import Model\nfrom checker import Model",
    ),
    ("rheo_proof/theorems/checker.py", "import json\nfrom fractions import Fraction"),
    ("rheo_proof/stats/fixtures.py", "import numpy, scipy.stats\nfrom rheo_proof.schemes.faults import FAULTS"),
    ("rheo_proof/pytest_plugin.py", "import pytest\nfrom rheo_proof.stats import ledger"),
    ("rheo_proof/pytest_plugin.py", "def f():\n    from rheo_proof.audit import audit"),
    ("rheo_proof/audit/torch_run.py", "import torch\nfrom rheo_proof.audit.scalars import Scalar"),
    ("rheo_proof/audit/session.py", "def f():\n    import torch"),
    ("rheo_proof/cli/audit.py", "from rheo_proof.audit.auditing import audit"),
    ("rheo_proof/audit/sampled.py", "from rheo_proof.stats.asserts import assert_law_equal"),
    ("rheo_proof/cli/crosscheck.py", "import rheo_reference, rheo_gpu, rheo_proof.exact.law"),
    ("reference/rheo_reference/decode.py", "import numpy as np\nfrom .tree import grow"),
    ("gpu/rheo_gpu/decode.py", "import torch.nn.functional\nfrom rheo_gpu.tree import grow"),
    ("gpu/rheo_gpu/decode.py", "from .verify import Verified\nfrom rheo_gpu import Config"),
    (
        "gpu/rheo_gpu/llm/target.py",
        "import torch, transformers\nfrom rheo_gpu import verify\nfrom .cache import x",
    ),
    ("gpu/rheo_decode/session.py", "import torch, click, rich\nfrom rheo_gpu.llm.generate import generate"),
    ("gpu/rheo_decode/command.py", "def f():\n    from rheo_decode.session import run"),
]


@pytest.mark.parametrize(("path", "source"), WELCOME)
def test_a_proper_import_is_not_flagged(path: str, source: str) -> None:
    assert violations(path, source) == []


LOADED = """
import sys
import {module}
assert "rheo_proof" in sys.modules
print(" ".join(sorted({{name.partition(".")[0] for name in sys.modules}} & {{"numpy", "torch", "scipy"}})))
print("rheo_proof.audit.auditing" in sys.modules)
"""


@pytest.mark.parametrize(
    ("module", "auditor"),
    [("rheo_proof.audit", True), ("rheo_proof.pytest_plugin", False), ("rheo_proof.cli.audit", False)],
)
def test_the_auditor_is_loaded_without_numpy_and_torch_and_only_where_it_is_used(module: str, auditor: bool) -> None:
    run = subprocess.run(
        [sys.executable, "-c", LOADED.format(module=module)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert run.stdout.split("\n")[:2] == ["", str(auditor)]
