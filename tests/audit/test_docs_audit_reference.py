"""docs/audit-reference.md lists the names that the code reads, and each of them works as it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rheo_proof.audit.adapters import NAMES, READY, Step
from rheo_proof.audit.adapters.options import OPTIONS, VERIFYING, options_of
from rheo_proof.audit.contract import TOPICS
from rheo_proof.audit.reading import PARTS
from rheo_proof.audit.reference import ABOUT_PARTS, ABOUT_ROLES, lines
from rheo_proof.audit.roles import AXES, SCALARS, Role
from rheo_proof.audit.tables import BATTERY, table
from rheo_proof.audit.toys import TOYS
from rheo_proof.cli.audit import FLAGS, audit_command

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "audit-reference.md").read_text("utf-8")


def names(heading: str) -> list[str]:
    """The names in the first column of the table below a heading."""
    part = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `([^`]+)` \|", part, re.MULTILINE)


def test_the_page_is_what_its_command_prints() -> None:
    assert "python -m rheo_proof.audit.reference" in PAGE
    assert PAGE.endswith("\n".join(lines()) + "\n")
    assert "(audit-reference.md)" in (ROOT / "docs" / "audit.md").read_text("utf-8")
    assert "audit-reference.md" in (ROOT / "mkdocs.yml").read_text("utf-8")


def test_no_role_part_table_or_finding_is_missing() -> None:
    assert names("Roles") == [*AXES, *SCALARS] == list(ABOUT_ROLES)
    assert names("What comes back") == list(PARTS) == list(ABOUT_PARTS)
    assert set(names("Tables")) == {each.name for each in (*BATTERY, *TOYS.values())}
    assert re.findall(r"^\* `(.*)`$", PAGE, re.MULTILINE) == list(TOPICS)
    assert names("Adapters") == list(NAMES) == list(OPTIONS)
    assert all(Role.read(role).kind == role for role in names("Roles"))
    assert all(table(name).name == name for name in names("Tables"))


@pytest.mark.parametrize("adapter", NAMES)
def test_the_options_are_those_that_the_adapter_has(adapter: str) -> None:
    made = READY[adapter]()
    listed = names("Options of every adapter") + names(
        f"Options of {'`step`' if adapter == 'step' else 'all adapters but `step`'}"
    )
    own = [name for name in OPTIONS[adapter] if name not in VERIFYING and not isinstance(made, Step)]
    assert list(OPTIONS[adapter]) == [*listed, *own]
    assert set(own) <= set(names("Options of `siblings`, `tree` and `eagle`"))
    taken = set(vars(made)) - {"name", "drafting"}
    assert taken == {*OPTIONS[adapter], "names"} - set(own) - ({"names"} if isinstance(made, Step) else set())
    unset = {name: getattr(made, name) for name in taken if getattr(made, name) is not None}
    assert options_of(adapter, unset) == unset, "usual values are allowed"


def test_every_flag_of_the_page_is_an_option_of_the_command() -> None:
    there = {flag for parameter in audit_command.params for flag in parameter.opts}
    assert set(FLAGS.values()) - {"--json", "--save", "--map"} <= there
    assert set(re.findall(r"^\|.*\| `(--(?!set)[\w-]+)` \|", PAGE, re.MULTILINE)) == {
        "--arrays", "--map", "--returns", "--drafter"
    }  # fmt: skip
