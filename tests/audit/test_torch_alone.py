"""torch without NumPy is enough, and what goes wrong when a run begins does not lock the next one."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from rheo_proof.audit import torch_run as running
from rheo_proof.audit.exploring import Raised, explore

PROGRAM = """
import sys, warnings
sys.modules["numpy"] = None
warnings.simplefilter("ignore")
import torch
from rheo_proof.audit import audit

def verify(draft_tokens, draft_probs, target_probs):
    for i, x in enumerate(draft_tokens.tolist()):
        if torch.rand(()) * draft_probs[i, x] >= target_probs[i, x]:
            left = (target_probs[i] - draft_probs[i]).relu()
            return torch.cat([draft_tokens[:i], torch.multinomial(left, 1)])
    return torch.cat([draft_tokens, torch.multinomial(target_probs[-1], 1)])

verdict = audit(verify, "chain", tables=["dyadic"], dtypes=["float32"], calls=20)
print(verdict.kind, verdict.undecided, verdict.called, sys.modules["numpy"])
"""


def test_torch_is_audited_where_there_is_no_numpy() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "lossless () 20 None", "")


def test_a_run_that_fails_at_its_beginning_leaves_room_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    def program(run: object) -> bool:
        with running.torch_run(run):  # type: ignore[arg-type]
            return bool(torch.rand(()) < 0.5)

    before = torch.get_rng_state()
    with monkeypatch.context() as broken:
        broken.setattr(running, "SEED", "no seed")
        assert {type(outcome) for outcome in explore(program).law} == {Raised}
    assert torch.equal(torch.get_rng_state(), before)
    assert set(explore(program).law) == {True, False}
