"""The torch decoder in the cross-check: the NumPy decoder's decisions, the prover's faulty laws, the command."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheo_proof.cli.crosscheck.cells import cells
from rheo_proof.cli.crosscheck.inject import injected
from rheo_proof.cli.crosscheck.inject_torch import TORCH_INJECTIONS
from rheo_proof.cli.crosscheck.numpy_backend import numpy_decoder
from rheo_proof.cli.crosscheck.search import Decoder, Tape
from rheo_proof.cli.crosscheck.torch_backend import decisions, need_torch, torch_decoder
from rheo_proof.exact.errors import InputError
from rheo_proof.exact.families import dyadic_model
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.schemes.faults import FAULTS
from rheo_proof.schemes.scheme import Parameters
from tests.cli.program import Run, prove, prove_here
from tests.tape.test_crosscheck import law_of_prover
from tests.tape.test_reference_models import instances, random_uniforms


def tapes(rng: random.Random, parameters: Parameters, count: int) -> list[Tape]:
    """Tapes that fall on break points all the time, and others that never do. Flow divides: it gets none of the first.

    Every other tape has no number at some of its sites.
    """
    beam = parameters.beam or parameters.slots
    made: list[Tape] = []
    for i in range(count):
        uniforms = random_uniforms(rng, parameters.depth, beam, fine=parameters.verify == "flow" or i % 4 == 0)
        sites = {site: float(u) for site, u in uniforms.exact().uniforms.items()}
        made.append(
            {site: u for site, u in sites.items() if i % 2 or parameters.verify == "flow" or rng.random() < 0.8}
        )
    return made


@given(instances(), st.integers(0, 1 << 32))
def test_torch_and_numpy_agree_decision_by_decision(instance: tuple[ToyModel, Parameters], seed: int) -> None:
    model, parameters = instance
    batch = tapes(random.Random(seed), parameters, 12)
    assert torch_decoder(model, parameters)(batch) == numpy_decoder(model, parameters)(batch)


def test_a_decision_read_off_wrongly_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    parameters, model = Parameters(3, 2, 2, None, 4, verify="rrsw"), dyadic_model(0, 4, 2)
    batch = tapes(random.Random(0), parameters, 64)
    expected = numpy_decoder(model, parameters)(batch)
    assert {site[0] for _, made in expected for site, _ in made} == {"draft", "coin", "token"}
    assert {x for _, made in expected for site, x in made if site[0] == "coin" and not site[2]} == {0, 1, 2}
    decoder = torch_decoder(model, parameters)
    assert decoder(batch) == expected

    def first_for_none(step: Any, config: Any) -> Any:
        used, decided = decisions(step, config)
        head = decided[:, config.depth * config.width]
        head[head == config.head] = 0
        return used, decided

    monkeypatch.setattr("rheo_proof.cli.crosscheck.torch_backend.decisions", first_for_none)
    assert decoder(batch) != expected


def test_the_answer_to_a_tape_does_not_depend_on_the_batch_it_is_in(monkeypatch: pytest.MonkeyPatch) -> None:
    parameters, model = Parameters(2, 1, 2, None, 4, verify="flow"), dyadic_model(1, 3, 2)
    batch = tapes(random.Random(1), parameters, 20)
    decoder = torch_decoder(model, parameters)
    together = decoder(batch)
    assert [decoder([tape])[0] for tape in batch] == together
    monkeypatch.setattr("rheo_proof.cli.crosscheck.torch_backend.BATCH", 7)
    assert decoder(batch) == together
    assert decoder([]) == []


TREE_FAULTS = (
    "own-probability",
    "tail-probability",
    "low-proxy",
    "tie-by-token",
    "drop-unlikely",
    "verify-full-q",
    "draw-full-q",
)
"""Faults of the tree, whatever rule verifies it."""

UNLIKE = {("draw-full-q", "flow")}
"""A child of a node whose mass is lost gets mass again if its token has probability 0 in the law that is reported. The
prover leaves it out with its parent; the decoder, in which that cannot happen, does not look."""


def faulty_cases() -> list[tuple[str, str]]:
    rules = ("rheo", "rrsw", "match", "flow")
    every = [(fault, rule) for fault in TREE_FAULTS for rule in rules if (fault, rule) not in UNLIKE]
    own = ("skip-residual", "residual-of-q", "stale-bonus", "bonus-from-draft", "flow-depth-first", "flow-layers")
    return every + [(fault, FAULTS[fault].fix(Parameters()).verify) for fault in own]


@pytest.mark.parametrize(("fault", "rule"), faulty_cases())
def test_a_faulty_decoder_has_the_faulty_law_under_every_rule_and_decides_where_the_prover_does(
    fault: str, rule: str
) -> None:
    for vocab, base in ((2, Parameters(2, 1, 2, None, 3)), (2, Parameters(1, 0, 2, None, 2)), (3, Parameters(2, 0, 1))):
        parameters, model = replace(base, verify=rule), dyadic_model(1, vocab, base.depth, parts=8)
        faulty = FAULTS[fault].build(FAULTS[fault].fix(parameters))
        with injected(fault, TORCH_INJECTIONS):
            found = cells(torch_decoder(model, parameters), faulty, model)
        assert found.law == law_of_prover(fault, parameters, model)
        assert found.surprises == []


LATTICE = {"draft": 4, "coin": 12, "token": 12}
"""Equal parts of a uniform. Where all laws are in quarters and m = 0, no break point falls inside a part."""


def law_on_a_lattice(decoder: Decoder) -> dict[Prefix, Fraction]:
    """The law of a decoder whose uniforms may decide more than once: it runs in the middle of every part.

    The first coin comes first, whether it is read at the root or not: `second-token` may read it later.
    """
    law: dict[Prefix, Fraction] = {}
    first, parts = ("coin", 0, 1), LATTICE["coin"]
    waiting = [({first: (i + 0.5) / parts}, Fraction(1, parts)) for i in range(parts)]
    while waiting:
        taken = waiting[-4096:]
        del waiting[-4096:]
        for (fixed, volume), (string, made) in zip(taken, decoder([fixed for fixed, _ in taken]), strict=True):
            site = next((site for site, _ in made if site not in fixed), None)
            if site is None:
                law[string] = law.get(string, Fraction(0)) + volume
                continue
            parts = LATTICE[site[0]]
            waiting += [({**fixed, site: (i + 0.5) / parts}, volume / parts) for i in range(parts)]
    return law


SHARED: dict[str, Sequence[tuple[int, Parameters]]] = {
    "shared-coin": ((3, Parameters(1, 0, 1, None, 1)), (3, Parameters(2, 0, 1, None, 2))),
    "second-token": ((2, Parameters(1, 0, 2, None, 2)),),
    "resort-siblings": (
        (3, Parameters(2, 0, 1, None, 2, verify="rrsw")),
        (3, Parameters(3, 0, 1, None, 3, verify="rrsw")),
    ),
    "ratio-on-top-k": (
        (3, Parameters(1, 1, 1, None, 1, verify="rrsw")),
        (3, Parameters(2, 1, 1, None, 2, verify="rrsw")),
    ),
}
"""Faults that make one uniform decide twice or one coin test other children, with sizes and rules that show them."""


@pytest.mark.parametrize("fault", SHARED)
def test_a_fault_that_shares_a_uniform_has_the_law_of_the_prover_on_a_lattice(fault: str) -> None:
    for vocab, parameters in SHARED[fault]:
        models = (dyadic_model(seed, vocab, parameters.depth, parts=8) for seed in range(1000))
        right, wrong, model = next(
            (right, wrong, model)
            for model in models
            if (right := law_of_prover(None, parameters, model)) != (wrong := law_of_prover(fault, parameters, model))
        )
        decoder = torch_decoder(model, parameters)
        assert law_on_a_lattice(decoder) == right
        with injected(fault, TORCH_INJECTIONS):
            assert law_on_a_lattice(decoder) == wrong


# The command


def crosscheck(*arguments: str) -> Run:
    return prove_here("crosscheck", "--backend", "torch", *arguments)


def test_the_command_runs_the_torch_decoder_in_a_process_of_its_own(tmp_path: Path) -> None:
    done = prove(tmp_path, "crosscheck", "--backend", "torch", "--vocab", "3", "--depth", "1", "--instances", "1")
    assert (done.status, done.err) == (0, "")
    assert "torch decoder against the exact law" in done.words
    assert "EQUAL" in done.words


def test_the_report_names_the_device() -> None:
    done = crosscheck("--device", "cpu", "--vocab", "2", "--depth", "1", "--instances", "1", "--verify", "flow")
    assert done.status == 0
    assert "torch (cpu) decoder" in done.words


def test_the_command_exits_1_with_an_injected_fault_and_shows_where() -> None:
    done = crosscheck(
        "--vocab", "3", "--depth", "1", "--instances", "1", "--verify", "rheo", "--inject", "skip-residual"
    )
    assert done.status == 1
    assert "DIFFERENT" in done.words
    assert "First difference" in done.words


def test_an_injected_fault_that_does_not_show_is_no_pass() -> None:
    done = crosscheck("--vocab", "2", "--depth", "1", "--instances", "1", "--verify", "flow", "--inject", "flow-layers")
    assert done.status == 3
    assert "NOT SHOWN" in done.words


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--device", "nowhere"), "torch cannot use the device 'nowhere'"),
        (("--device", "meta"), "torch cannot use the device 'meta'"),
        (("--inject", "typo"), "no fault 'typo'"),
    ],
)
def test_a_device_that_is_none_and_an_unknown_fault_are_refused_in_one_line(
    arguments: tuple[str, ...], message: str
) -> None:
    done = crosscheck(*arguments)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"rheo-prove: {message}")
    assert done.err.count("\n") == 1


def test_a_device_that_is_not_there_is_refused_in_one_line(tmp_path: Path) -> None:
    done = prove(tmp_path, "crosscheck", "--backend", "torch", "--device", "cuda", CUDA_VISIBLE_DEVICES="")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("rheo-prove: torch cannot use the device 'cuda'")
    assert done.err.count("\n") == 1


def test_torch_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InputError, match=r"the torch decoder needs torch; pip install 'rheo-proof\[torch\]'"):
        need_torch()
