"""`rheo-prove crosscheck`: a decoder's law, cell by cell, against the prover's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any, TypeAlias

import click
from rich.progress import Progress

from rheo_proof.cli.crosscheck.cells import Cells, cells
from rheo_proof.cli.crosscheck.inject import INJECTIONS, Injections, injected
from rheo_proof.cli.crosscheck.inject_torch import TORCH_INJECTIONS
from rheo_proof.cli.crosscheck.numpy_backend import need_numpy, numpy_decoder
from rheo_proof.cli.crosscheck.search import Decoder
from rheo_proof.cli.crosscheck.torch_backend import need_torch, torch_decoder
from rheo_proof.exact.errors import InputError
from rheo_proof.exact.families import dyadic_model
from rheo_proof.exact.model import Prefix, ToyModel, key
from rheo_proof.report.console import describe, number, plain_console, table
from rheo_proof.schemes.laws import law_by_classes
from rheo_proof.schemes.scheme import Parameters, plain

RULES = ("rheo", "rrsw", "match", "flow")

MakeDecoder: TypeAlias = Callable[[ToyModel, Parameters], Decoder]


@dataclass(frozen=True)
class Comparison:
    """One model and scheme: the decoder's cells, and the first string whose probability differs from the prover's."""

    parameters: Parameters
    model: ToyModel
    found: Cells
    differs: tuple[Prefix, Fraction, Fraction] | None


def compare(parameters: Parameters, model: ToyModel, decoder: MakeDecoder = numpy_decoder) -> Comparison:
    """Run a decoder on every cell of its tape and compare its law with the class enumerator's.

    Raises `LimitReached` when there are too many cells.
    """
    scheme = plain(parameters)
    found = cells(decoder(model, parameters), scheme, model)
    exact = dict(law_by_classes(scheme, model).strings(model.vocab))
    strings = sorted(set(exact) | set(found.law), key=lambda s: (len(s), s))
    zero = Fraction(0)
    wrong = [(s, exact.get(s, zero), found.law.get(s, zero)) for s in strings]
    return Comparison(parameters, model, found, next((w for w in wrong if w[1] != w[2]), None))


def planned(base: Parameters, heads: Sequence[int], rules: Sequence[str], proxies: Sequence[str]) -> list[Parameters]:
    """Every combination that a decoder accepts; RRSw with the tail proxy is refused by all of them."""
    wanted = heads or range(base.slots + 1)
    every = product(rules or RULES, proxies or ("paper", "tail"), wanted)
    made = [replace(base, verify=rule, proxy=proxy, head=m) for rule, proxy, m in every]
    made = [p for p in made if (p.verify, p.proxy) != ("rrsw", "tail") and (p.proxy == "paper" or p.head < p.slots)]
    for p in made:
        p.drafting()
    return list(dict.fromkeys(made))


def chosen(backend: str, device: str | None) -> tuple[MakeDecoder, Injections]:
    """The decoder of a backend, and the faults it has a place for. Raises `InputError` where it cannot run."""
    if backend == "torch":
        need_torch(device or "cpu")
        return partial(torch_decoder, device=device or "cpu"), TORCH_INJECTIONS
    if device is not None:
        raise InputError(f"--device is for the torch decoder, not for {backend}")
    need_numpy()
    return numpy_decoder, INJECTIONS


@click.command()
@click.option("--backend", type=click.Choice(["numpy", "torch"]), default="numpy", show_default=True, help="Decoder.")
@click.option("--device", help="Where the torch decoder runs: cpu, cuda, ..  [default: cpu]")
@click.option("--vocab", type=click.IntRange(1), default=4, show_default=True, help="Vocabulary V.")
@click.option("--depth", type=click.IntRange(1), default=2, show_default=True, help="Layers D.")
@click.option("--slots", type=click.IntRange(1), default=2, show_default=True, help="Slots K.")
@click.option("--head", "heads", type=int, multiple=True, help="Head slots m; repeatable.  [default: 0 to K]")
@click.option("--beam", type=click.IntRange(1), help="Beam B.  [default: K]")
@click.option("--nodes", type=click.IntRange(1), default=4, show_default=True, help="Kept nodes N.")
@click.option("--verify", type=click.Choice(RULES), multiple=True, help="Rule; repeatable.  [default: all]")
@click.option("--proxy", type=click.Choice(["paper", "tail"]), multiple=True, help="Proxy.  [default: both]")
@click.option("--instances", type=click.IntRange(1), default=2, show_default=True, help="Models.")
@click.option("--seed", type=int, default=0, show_default=True, help="First seed.")
@click.option("--inject", metavar="FAULT", help=f"Put a fault into the decoder: {', '.join(INJECTIONS)}.")
@click.pass_context
def crosscheck(context: click.Context, /, **options: Any) -> None:
    """Compare a decoder with the exact law, without statistics.

    The decoder runs once in every cell of its tape of uniforms; the volumes of the cells, added up by emitted string,
    must be the prover's law. Models have dyadic probabilities, so that the decoder sees the same numbers.
    """
    decoder, injections = chosen(options["backend"], options["device"])
    base = Parameters(options["slots"], 0, options["depth"], options["beam"], options["nodes"])
    schemes = planned(base, options["heads"], options["verify"], options["proxy"])
    if not schemes:
        raise InputError(
            "nothing to compare: decoders refuse rrsw with the tail proxy, and with m = K there is no proxy"
        )
    seeds = range(options["seed"], options["seed"] + options["instances"])
    models = [dyadic_model(seed, options["vocab"], options["depth"]) for seed in seeds]
    done: list[Comparison] = []
    err = plain_console(stderr=True)
    with (
        injected(options["inject"], injections) if options["inject"] else nullcontext(),
        Progress(console=err, transient=True, disable=not err.is_terminal) as progress,
    ):
        task = progress.add_task("cells", total=len(schemes) * len(models))
        for parameters, model in product(schemes, models):
            done.append(compare(parameters, model, decoder))
            progress.advance(task)
    for line in report(done, _name(options["backend"], options["device"]), options["vocab"]):
        plain_console().print(line)
    different = any(c.differs or c.found.surprises for c in done)
    if options["inject"] and not different:
        plain_console().print(f"NOT SHOWN: the injected fault {options['inject']} makes no difference to these laws.")
    context.exit(1 if different else 3 if options["inject"] else 0)


def _name(backend: str, device: str | None) -> str:
    return backend if device is None else f"{backend} ({device})"


def report(done: Sequence[Comparison], backend: str, vocab: int) -> Iterator[Any]:
    """A table by rule and proxy, the first difference, and what was covered."""
    shown = table("rule, proxy", "laws compared", "equal", "cells", title=f"{backend} decoder against the exact law")
    groups: dict[tuple[str, str], list[Comparison]] = {}
    for c in done:
        groups.setdefault((c.parameters.verify, c.parameters.proxy), []).append(c)
    for (verify, proxy), row in groups.items():
        equal = sum(c.differs is None and not c.found.surprises for c in row)
        shown.add_row(f"{verify}, {proxy}", str(len(row)), str(equal), f"{sum(c.found.cells for c in row):,}")
    yield shown
    wrong = next((c for c in done if c.differs), None)
    if wrong is not None and wrong.differs is not None:
        string, expected, actual = wrong.differs
        p = wrong.parameters
        yield f"First difference: {wrong.model.name}, {describe(p)}, m = {p.head}, verify {p.verify}: {key(string)}"
        yield f"has probability {number(expected)} by the prover and {number(actual)} by the decoder."
    surprise = next((s for c in done for s in c.found.surprises), None)
    if surprise is not None:
        yield f"First decision that differs: {surprise}"
    heads = ", ".join(map(str, sorted({c.parameters.head for c in done})))
    models = len(dict.fromkeys(c.model.name for c in done))
    sizes = describe(replace(done[0].parameters, proxy="paper"))
    yield f"Covered: {models} dyadic models, V = {vocab}, {sizes}, m = {heads}; every cell of the tape."
    yield "Not covered: other models and sizes; a decision that is not monotone in its uniform; rounding."
    yield (
        "DIFFERENT." if wrong is not None or surprise is not None else "EQUAL: every law is the prover's, as rationals."
    )
