"""`rheo-prove audit`: the exact verdict on somebody else's verifier, unchanged."""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
from itertools import product
from typing import TYPE_CHECKING, Any

import click
from rich.progress import Progress

from rheo_proof.cli.options import COUNT, check_different, check_targets, names_of, refuse_empty, spelled
from rheo_proof.exact.errors import InputError
from rheo_proof.report.console import plain_console
from rheo_proof.report.json_file import write_json, write_text

if TYPE_CHECKING:
    from rheo_proof.audit.verdict import Verdict

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
    from rheo_proof.audit.naming import files_of, load

    more: dict[str, Any] = {name: options[name] for name in ("arrays", "returns") if options[name] is not None}
    if options["roles"]:
        more["roles"] = roles_of(options["roles"])
    more |= settable(options["adapter"], settings_of(options["settings"]))
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
            for target, named in product(("json_path", "save_path"), (function, more.get("drafter"))):
                if options[target] and named is not None:
                    for file in files_of(options["function" if named is function else "drafter"], named):
                        check_different((spelled(target), options[target]), ("the audited code", str(file)))
            return audit(
                function,
                options["adapter"],
                declared=options["declared"],
                tolerance=options["tolerance"],
                max_runs=options["max_runs"] or MOST_RUNS,
                timeout=options["timeout"],
                allow_in_place=options["allow_in_place"],
                calls=options["calls"],
                told=told,
                mode=options["mode"],
                eps=options["eps"],
                **more,
            )


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
        try:
            settings[name.strip()] = ast.literal_eval(written.strip())
        except (ValueError, SyntaxError):
            settings[name.strip()] = written.strip()
    return settings


def settable(adapter: str, settings: dict[str, Any]) -> dict[str, Any]:
    """The settings, if they are options of the adapter and have none of the command. Raises `InputError`."""
    from rheo_proof.audit.adapters import READY
    from rheo_proof.audit.adapters.settings import SETTINGS, options_of

    has = options_of(adapter)
    for name in settings if adapter in READY else ():
        if name not in has:
            known = SETTINGS.get(name)
            instead = f"; use {known.instead}" if known is not None and known.instead else f"; it has {', '.join(has)}"
            raise InputError(f"--set {name}: adapter {adapter} takes no such setting{instead}")
    return settings


def save(verdict: Verdict, options: dict[str, Any], say: Any) -> None:
    """Write the script, or say that there is nothing to write."""
    from rheo_proof.audit.saving import case_of, script

    if case_of(verdict) is None:
        say(f"Note: there is no counterexample, so {options['save_path']} was not written.", soft_wrap=True)
        return
    sources = {name: anywhere(options[name]) for name in ("function", "drafter") if options[name]}
    write_text(options["save_path"], script(verdict, sources.pop("function"), **sources))


def anywhere(written: str) -> str:
    """The name of a function as it can be loaded from any folder.

    >>> anywhere("/home/me/engine.py:verify"), anywhere("engine.rules:verify")
    ('/home/me/engine.py:verify', 'engine.rules:verify')
    """
    where, _, name = written.rpartition(":")
    return f"{os.path.abspath(where)}:{name}" if where.endswith(".py") else written
