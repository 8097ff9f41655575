"""`rheo-prove audit`: the exact verdict on somebody else's verifier, unchanged."""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import os
import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click
from rich.progress import Progress

from rheo_proof.cli.options import COUNT, check_targets, names_of, refuse_empty, spelled
from rheo_proof.exact.errors import InputError
from rheo_proof.report.console import plain_console
from rheo_proof.report.json_file import write_json, write_text

if TYPE_CHECKING:
    from rheo_proof.audit.verdict import Verdict

FLAGS = {
    **{name: f"--{name}" for name in ("adapter", "arrays", "returns", "drafter", "tolerance", "timeout", "calls")},
    **{name: f"--{name}" for name in ("mode", "eps", "json", "save", "map")},
    "roles": "--map",
    "dtypes": "--dtype",
    "tables": "--table",
    "declared": "--declare",
    "max_runs": "--max-runs",
    "allow_in_place": "--allow-in-place",
    "allow_nan": "--allow-nan",
}
"""What `--set` does not set, and what does."""

ROLE = re.compile(r"\s*(?P<parameter>\w+)\s*=\s*(?P<role>\w+\s*(\[[^\]]*\])?)\s*(,|$)")


@click.command("audit")
@click.argument("function")
@click.option("--adapter", default="chain", show_default=True, metavar="NAME", help="What kind of function it is.")
@click.option("--arrays", metavar="KIND", help="What it is handed: torch, numpy or list.  [default: the adapter's]")
@click.option("--map", "roles", multiple=True, metavar="P=ROLE,...", help="What its parameters are; repeatable.")
@click.option("--returns", metavar="WHAT", help="What it returns.  [default: the adapter's]")
@click.option(
    "--dtype", "dtypes", multiple=True, metavar="TYPE", help="Floats; repeatable. [default: float32, float64]"
)
@click.option(
    "--table", "tables", multiple=True, metavar="NAME", help="Table of the battery; repeatable. [default: all]"
)
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="Another option of the adapter; repeatable."
)
@click.option("--drafter", metavar="FUNCTION", help="Who draws the draft, module:function.  [default: the audit]")
@click.option("--declare", "declared", metavar="WORDS", help="What is lossy on purpose; 'mix W' for (1-W) p + W q.")
@click.option("--tolerance", metavar="TV", help="A total variation that counts as right.  [default: roundings only]")
@click.option("--allow-in-place", is_flag=True, help="The function may write into its arguments.")
@click.option("--allow-nan", is_flag=True, help="The function may give an answer to rows of nan.")
@click.option("--max-runs", type=COUNT, help="Give up on a case after so many runs.  [default: 10000]")
@click.option("--calls", type=int, help="Ordinary calls on each of three tables, to compare.  [default: 400]")
@click.option("--timeout", type=COUNT, metavar="SECONDS", help="Give up after so many seconds.")
@click.option(
    "--mode",
    type=click.Choice(["auto", "exact", "piecewise", "sampled"]),
    default="auto",
    show_default=True,
    help="How laws are found; see docs/audit-fallback.md.",
)
@click.option("--eps", metavar="TV", help="What modes piecewise and sampled must not miss.  [default: 0.0118, 1/20]")
@click.option("--json", "json_path", metavar="FILE", help="Write everything as JSON, too.")
@click.option("--save", "save_path", metavar="FILE", help="Write the counterexample as a script.")
@click.pass_context
def audit_command(context: click.Context, /, **options: Any) -> None:
    """Audit a verifier: package.module:function, or file.py:function.

    The function is run unchanged, once for every branch of its random numbers, on a battery of small tables. Exit
    status 0: its output has the target's law; 1: it has not, or its contract is broken; 2: unusable input; 3: it does
    something that cannot be enumerated, or a limit was reached, or draws were tested and do not refute it.
    """
    refuse_empty(
        options, "adapter", "arrays", "returns", "drafter", "declared", "tolerance", "eps", "json_path", "save_path"
    )
    check_targets({**options, "model": None}, "json_path", "save_path")
    verdict = audited(options)
    from rheo_proof.report.audit import as_json, show_audit

    out = plain_console()
    if options["save_path"]:
        save(verdict, options, out.print)
    show_audit(out, verdict)
    if options["json_path"]:
        write_json(options["json_path"], as_json(verdict))
    context.exit(verdict.status)


def audited(options: dict[str, Any]) -> Verdict:
    """Load the function and audit it; what it prints is dropped. Raises `InputError`."""
    from rheo_proof.audit.auditing import MOST_RUNS, audit
    from rheo_proof.audit.naming import load

    more: dict[str, Any] = {name: options[name] for name in ("arrays", "returns") if options[name] is not None}
    if options["roles"]:
        more["roles"] = roles_of(options["roles"])
    more |= settings_of(options["settings"])
    if options["dtypes"]:
        more["dtypes"] = names_of(options["dtypes"], "--dtype", "float32,float64")
    if options["tables"]:
        more["tables"] = names_of(options["tables"], "--table", "dyadic,zeros")
    err = plain_console(stderr=True)
    with Progress(console=err, transient=True, disable=not err.is_terminal) as progress:
        task = progress.add_task("auditing", total=None)

        def told(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)

        with contextlib.redirect_stdout(io.StringIO()):
            function = load(options["function"])
            if options["drafter"]:
                more["drafter"] = load(options["drafter"], "--drafter")
            keep_sources(options, {"the audited function": function, "the drafter": more.get("drafter")})
            return audit(
                function,
                options["adapter"],
                declared=options["declared"],
                tolerance=options["tolerance"],
                max_runs=options["max_runs"] or MOST_RUNS,
                timeout=options["timeout"],
                allow_in_place=options["allow_in_place"],
                allow_nan=options["allow_nan"],
                calls=options["calls"],
                told=told,
                mode=options["mode"],
                eps=options["eps"],
                **more,
            )


def keep_sources(options: dict[str, Any], functions: dict[str, Any]) -> None:
    """Raise `InputError` if a file that is to be written holds one of the functions, or what they were named by."""
    named = {"the audited function": options["function"], "the drafter": options["drafter"] or ""}
    for option in ("save_path", "json_path"):
        for what, function in functions.items():
            if options[option] and any(map(same_file(options[option]), files_of(function, named[what]))):
                raise InputError(f"{spelled(option)} {options[option]}: is the file of {what}; name another file")


def files_of(function: Any, written: str) -> set[str]:
    """The files of a function, of the module that it was named by, and of what it wraps or belongs to."""
    where = written.rpartition(":")[0]
    found = {where} if where.endswith(".py") else {getattr(sys.modules.get(where), "__file__", None)}
    for each in (function, inspect.unwrap(function) if callable(function) else None, type(function)):
        module = sys.modules.get(getattr(each, "__module__", None) or "")
        code = getattr(each, "__code__", None)
        found |= {getattr(module, "__file__", None), getattr(code, "co_filename", None)}
    return {file for file in found if file and os.path.isfile(file)}


def same_file(path: str) -> Callable[[str], bool]:
    """Whether a file is the one at a path, by whatever name or link."""
    return lambda file: os.path.exists(path) and os.path.samefile(path, file)


def roles_of(parts: tuple[str, ...]) -> dict[str, str]:
    """Parameters and their roles. Raises `InputError`.

    >>> roles_of(("tokens=draft_tokens,p=target_probs[B,K,V]", "u=uniforms"))
    {'tokens': 'draft_tokens', 'p': 'target_probs[B,K,V]', 'u': 'uniforms'}
    """
    roles: dict[str, str] = {}
    for part in parts:
        position = 0
        while position < len(part):
            found = ROLE.match(part, position)
            if found is None:
                raise InputError(f"--map is {part!r}, expected parameter=role,..., such as p=target_probs,u=uniforms")
            roles[found["parameter"]] = found["role"].strip()
            position = found.end()
    return roles


def settings_of(parts: tuple[str, ...]) -> dict[str, Any]:
    """Options of an adapter; a value is a Python literal, or else a word. Raises `InputError`.

    >>> settings_of(("batched=True", "method=distinct", "parents=(-1, -1, 0)"))
    {'batched': True, 'method': 'distinct', 'parents': (-1, -1, 0)}
    """
    settings: dict[str, Any] = {}
    for part in parts:
        name, equals, written = part.partition("=")
        if not equals or not name.strip().isidentifier() or not written.strip():
            raise InputError(f"--set is {part!r}, expected name=value, such as batched=True")
        if name.strip() in FLAGS:
            raise InputError(f"--set is {part!r}, but {name.strip()} has an option of its own, {FLAGS[name.strip()]}")
        if name.strip() in ("function", "told"):
            raise InputError(f"--set is {part!r}, but no adapter has an option {name.strip()!r}")
        if name.strip() in settings:
            raise InputError(f"--set gives {name.strip()} twice; give it once")
        try:
            settings[name.strip()] = ast.literal_eval(written.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            settings[name.strip()] = written.strip()
    return settings


def save(verdict: Verdict, options: dict[str, Any], say: Any) -> None:
    """Write the script, or say that there is nothing to write."""
    from rheo_proof.audit.saving import case_of, script

    if case_of(verdict) is None:
        say(f"Note: there is no counterexample, so {options['save_path']} was not written.", soft_wrap=True)
        return
    sources = {"drafter": anywhere(options["drafter"])} if options["drafter"] else {}
    write_text(options["save_path"], script(verdict, anywhere(options["function"]), sources))


def anywhere(written: str) -> str:
    """What names a function from every folder: a file by its whole path."""
    where, _, name = written.rpartition(":")
    return f"{os.path.abspath(where)}:{name}" if where.endswith(".py") else written
