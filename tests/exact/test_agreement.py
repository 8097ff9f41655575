"""A run's own check: replay on small models notices a scheme that fools the class enumerator."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from rheo_proof.exact.chance import Chance, Token, Var
from rheo_proof.exact.errors import SoundnessError
from rheo_proof.exact.number import Q
from rheo_proof.schemes.drafting.expansion import Expansion
from rheo_proof.schemes.drafting.rheo import Rheo
from rheo_proof.schemes.scheme import Named, Parameters, Scheme
from rheo_proof.theorems.agreement import replay_agrees
from rheo_proof.theorems.instances import Entry, Source, prove
from rheo_proof.theorems.zoo import EVERY


@dataclass(frozen=True)
class Peeking(Rheo):
    """Values the sampled slot by q(X), except where it can tell that somebody is enumerating."""

    def sampled_factor(self, at: Expansion, token: Token, chance: Chance) -> Q:
        return at.proxy if isinstance(token, Var) else at.q[token]


@dataclass(frozen=True)
class Lookup(Rheo):
    """Looks the token up by its hash, which finds no latent one."""

    def sampled_factor(self, at: Expansion, token: Token, chance: Chance) -> Q:
        return dict(enumerate(at.q)).get(token, at.proxy)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Condition(Rheo):
    """Uses the token as a condition."""

    def sampled_factor(self, at: Expansion, token: Token, chance: Chance) -> Q:
        return at.proxy if token else at.proxy / 3


def named(method: type[Rheo]) -> Named:
    return Named("cheat", "a cheat", lambda p: p, lambda p: Scheme(p.drafting(method), p.verifying()), True)


@pytest.mark.parametrize("name", EVERY)
def test_replay_finishes_on_small_models_of_every_named_scheme(name: str) -> None:
    assert replay_agrees(Entry.of(name, Parameters(slots=2, head=1, nodes=3))) == 2


@pytest.mark.parametrize("method", [Peeking, Lookup])
def test_a_scheme_that_tells_latent_tokens_apart_is_noticed(
    method: type[Rheo], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(EVERY, "cheat", named(method))
    entry = Entry.of("cheat", Parameters(slots=2, head=0, depth=1, nodes=1))
    (fooled,) = prove(Source("random", 0, 3, 1), [entry])
    assert fooled.verdict == "lossless"
    with pytest.raises(SoundnessError, match="the two enumerators find different laws"):
        replay_agrees(entry)


def test_a_latent_token_as_a_condition_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EVERY, "cheat", named(Condition))
    with pytest.raises(TypeError, match="used as a condition"):
        prove(Source("random", 0, 3, 1), [Entry.of("cheat", Parameters(slots=2, head=0, depth=1, nodes=1))])
