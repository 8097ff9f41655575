"""Batched simulation: the strings of `decode_step`, one by one, and a fault in any part of it is noticed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rheo_reference import Config, Processing, Tapes, batch_flow, batch_tables, batch_tree, batch_verify, decode_step
from rheo_reference import batch as batch_module
from rheo_reference.batch import Models, Strings, simulate
from rheo_reference.batch_flow import added, inverse_cdfs
from rheo_reference.batch_tables import Cdfs
from rheo_reference.laws import Prefix
from rheo_reference.tape import inverse_cdf

from rheo_proof.exact.model import ToyModel
from rheo_proof.schemes.scheme import Parameters
from tests import strategies
from tests.tape.test_reference_models import CONTEXT, RULES, config_of, instances, rows_of

SEEDS = st.integers(0, 1 << 32)
BELOW_1 = float(np.nextafter(1, 0))
FEW, MANY = 16, 3000


def drawn_tapes(seed: int, config: Config, batch: int) -> Tapes:
    """Half of them from a generator; the others coarse, with 0 and the largest float below 1 among them."""
    rng = np.random.default_rng(seed)
    tapes = Tapes.fill(rng, config, batch)
    for uniforms in (tapes.draft_u, tapes.coin_u, tapes.token_u):
        coarse = rng.choice([0.0, BELOW_1, 0.25, *np.arange(16) / 16], size=uniforms.shape)
        uniforms[::2] = coarse[::2]
    return tapes


def by_steps(models: Models, config: Config, tapes: Tapes) -> list[Prefix]:
    """What the decoder itself makes of the tapes."""
    vocab = models.target.shape[1]

    def rows(table: Any) -> Callable[[Sequence[Prefix]], Any]:
        def row(prefix: Prefix) -> int:
            number = 0
            for token in prefix:
                number = number * vocab + 1 + token
            return number

        return lambda prefixes: table[[row(prefix) for prefix in prefixes]]

    target, draft = rows(models.target), rows(models.draft)
    return [decode_step(target, draft, (), config, tapes[i]).tokens for i in range(len(tapes))]


def assert_same(models: Models, config: Config, tapes: Tapes) -> None:
    assert list(simulate(models, config, tapes)) == by_steps(models, config, tapes)


def float_models(rng: np.random.Generator, vocab: int, depth: int) -> Models:
    """Laws of floats: any, sharp, with zeros, one-hot, with tiny tails, uniform, and p = q here and there."""

    def law() -> Any:
        kind = rng.integers(6)
        weights = rng.exponential(size=vocab) ** (1 + 3 * (kind == 1))
        if kind == 2:
            weights *= rng.random(vocab) < 0.5
        if kind == 3:
            weights *= np.where(rng.random(vocab) < 0.7, 10.0 ** -rng.integers(3, 300, size=vocab), 1)
        if kind == 4:
            weights = np.ones(vocab)
        if kind == 5 or not weights.any():
            weights = np.eye(vocab)[rng.integers(vocab)]
        return weights / weights.sum()

    inner = sum(vocab**length for length in range(depth))
    target, draft = ([law() for _ in range(inner + part)] for part in (vocab**depth, 0))
    share = rng.random() / 2
    for i in range(inner):
        if rng.random() < share:
            target[i] = draft[i]
    return Models(np.array(target), np.array(draft))


@st.composite
def configs(draw: st.DrawFn, slots: int, depth: int, nodes: int, rules: Sequence[str] = RULES) -> Config:
    K, verify = draw(st.integers(1, slots)), draw(st.sampled_from(rules))
    scales = st.sampled_from([1.0, 0.5, 0.3, 1 / 7])
    return Config(
        slots=K,
        head=draw(st.integers(0, K)),
        depth=depth,
        beam=draw(st.sampled_from([None, 1, 2, 3, 20])),
        nodes=draw(st.integers(1, nodes) | st.just(1000)),
        sparse=draw(st.sampled_from([None, None, 1, 2, 3])),
        proxy="paper" if verify == "rrsw" else draw(st.sampled_from(["paper", "tail"])),
        proxy_scale=draw(scales),
        fill_scale=draw(scales),
        verify=verify,
        target=None,
        draft=None,
    )


# The same strings


@given(instances(), SEEDS)
def test_dyadic_models(instance: tuple[ToyModel, Parameters], seed: int) -> None:
    model, parameters = instance
    config = config_of(parameters)
    models = Models.of(rows_of(model.target), rows_of(model.draft), model.vocab, config.depth, CONTEXT)
    assert_same(models, config, drawn_tapes(seed, config, FEW))


@st.composite
def thirds(draw: st.DrawFn) -> tuple[Models, Config]:
    """Models of the prover of which no float is exact: thirds, sevenths, near-ties."""
    vocab, depth = draw(st.sampled_from([3, 2, 4, 1])), draw(st.sampled_from([2, 1, 3]))
    model = draw(strategies.models(vocab, depth))
    models = Models.of(rows_of(model.target, ()), rows_of(model.draft, ()), vocab, depth)
    return models, draw(configs(4, depth, 8))


@given(thirds(), SEEDS)
def test_rational_models(drawn: tuple[Models, Config], seed: int) -> None:
    models, config = drawn
    assert_same(models, config, drawn_tapes(seed, config, FEW))


@given(
    st.data(), SEEDS, st.sampled_from([(5, 3, 4, 12), (3, 4, 3, 12), (2, 5, 3, 9), (13, 2, 12, 30), (30, 1, 20, 20)])
)
def test_float_models(data: st.DataObject, seed: int, sizes: tuple[int, int, int, int]) -> None:
    """Up to 30 tokens: from eight summands on, NumPy adds in another order."""
    vocab, depth, slots, nodes = sizes
    models = float_models(np.random.default_rng(seed), vocab, depth)
    config = data.draw(configs(slots, depth, nodes))
    assert_same(models, config, drawn_tapes(seed, config, FEW))


@pytest.mark.parametrize("verify", RULES)
@pytest.mark.parametrize("head", range(4))
def test_the_stated_size(verify: str, head: int) -> None:
    models = float_models(np.random.default_rng(head), 5, 3)
    config = Config(slots=3, head=head, depth=3, nodes=8, sparse=None, verify=verify, target=None, draft=None)
    assert_same(models, config, drawn_tapes(head, config, 400))


@pytest.mark.parametrize("verify", RULES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_models_of_logits(verify: str, dtype: str) -> None:
    rng = np.random.default_rng(5)
    models = Models(rng.normal(size=(1 + 4 + 16, 4)).astype(dtype), rng.normal(size=(1 + 4, 4)).astype(dtype))
    how = Processing(temperature=0.7, top_k=3, top_p=0.9, min_p=0.05)
    for target in (how, Processing(temperature=0)):
        config = Config(slots=3, depth=2, nodes=6, verify=verify, target=target, draft=how, dtype=dtype)
        assert_same(models, config, drawn_tapes(5, config, 100))


def test_chunks_are_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    models = float_models(np.random.default_rng(1), 4, 3)
    config = Config(slots=3, depth=2, nodes=6, sparse=None, target=None, draft=None)
    deeper = Tapes.fill(np.random.default_rng(1), Config(depth=3, beam=5), 50)
    whole = simulate(models, config, deeper)
    monkeypatch.setattr(batch_module, "CHUNK", 7)
    parts = simulate(models, config, deeper)
    assert (whole.tokens == parts.tokens).all()
    assert list(parts) == by_steps(models, config, deeper)


def test_strings_are_padded() -> None:
    models = float_models(np.random.default_rng(1), 3, 2)
    config = Config(slots=2, depth=2, nodes=3, sparse=None, target=None, draft=None)
    strings = simulate(models, config, Tapes.fill(np.random.default_rng(1), config, 60))
    assert strings.tokens.shape == (60, 3)
    assert len(strings) == 60
    assert set(strings.lengths) == {1, 2, 3}
    assert ((strings.tokens == -1) == (np.arange(3) >= strings.lengths[:, None])).all()
    assert [len(string) for string in strings] == list(strings.lengths)
    empty = simulate(models, config, Tapes.fill(np.random.default_rng(1), config, 0))
    assert isinstance(empty, Strings)
    assert empty.tokens.shape == (0, 3)


# Parts


@given(SEEDS, st.integers(1, 20))
def test_draws_are_those_of_a_tape(seed: int, vocab: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.exponential(size=(8, vocab)) * (rng.random((8, vocab)) < 0.6)
    rows[~rows.any(axis=1), 0] = 1.0
    u = rng.choice([0.0, BELOW_1, 0.5, *rng.random(5)], size=40)
    row = rng.integers(8, size=40)
    expected = [inverse_cdf(rows[i], float(v)) for i, v in zip(row, u, strict=True)]
    assert list(Cdfs(rows).draw(row, u)) == expected
    assert list(inverse_cdfs(np.ascontiguousarray(rows[row].T), u)) == expected


@given(SEEDS, st.integers(1, 40))
def test_sums_are_those_of_the_decoder(seed: int, terms: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.exponential(size=(terms, 12)) * 10.0 ** rng.integers(-9, 9, size=(terms, 12))
    masks = rng.random((terms, 12)) < rng.random()
    sums = added(list(zip(values, masks, strict=True)))
    assert list(sums) == [values[:, i][masks[:, i]].sum() for i in range(12)]


def broken(target: int = 21, draft: int = 5, vocab: int = 4) -> Models:
    return Models(np.full((target, 4), 0.25), np.full((draft, vocab), 1 / vocab))


@pytest.mark.parametrize(
    ("models", "message"),
    [
        (broken(target=20), r"the target table has 20 rows, expected 21"),
        (broken(draft=4), r"the draft table has 4 rows, expected 5"),
        (broken(vocab=3), r"tables of shapes \(21, 4\) and \(5, 3\)"),
        (Models(np.full((21, 4), 0.3), np.full((5, 4), 0.25)), r"target model after prefix \(\): .* sum to 1.2"),
    ],
)
def test_tables_that_do_not_fit(models: Models, message: str) -> None:
    config = Config(slots=2, depth=2, nodes=3, sparse=None, target=None, draft=None)
    with pytest.raises(ValueError, match=message):
        simulate(models, config, Tapes.fill(np.random.default_rng(0), config, 3))


def test_tapes_that_do_not_fit() -> None:
    config = Config(slots=2, depth=2, nodes=3, sparse=None, target=None, draft=None)
    short = Tapes.fill(np.random.default_rng(0), Config(slots=2, depth=1), 3)
    with pytest.raises(ValueError, match="a tape for depth 1"):
        simulate(broken(), config, short)


# Twins: a fault in any part is noticed


def scaled(function: Callable[..., Any], by: float) -> Callable[..., Any]:
    return lambda *arguments: function(*arguments) * by


ranked = batch_tree.ranked


def ties_to_the_younger(values: Any) -> Any:
    return len(values) - 1 - ranked(values[::-1])


FAULTS: dict[str, tuple[tuple[str, ...], Any, str, Any]] = {
    "ranks ignore values": (RULES, batch_tree, "ranked", lambda values: ranked(values * 0)),
    "ties go to the younger": (RULES, batch_tree, "ranked", ties_to_the_younger),
    "coins too small": (("rheo", "rrsw"), batch_tables, "acceptance", scaled(batch_tables.acceptance, 0.9)),
    "no residual": (("rheo", "rrsw"), batch_tables, "residual", lambda r, mass, tail: r),
    "heads untested": (("rrsw",), batch_verify.Rrsw, "heads", lambda self, prefix: np.zeros(0, dtype=np.int64)),
    "heads left in": (("rrsw",), batch_verify.Rrsw, "running", batch_verify.Rheo.running),
    "draws too low": (RULES, Cdfs, "draw", lambda self, row, u, draw=Cdfs.draw: draw(self, row, u * 0.9)),
    "sums too large": (("flow",), batch_flow, "added", scaled(added, 1.1)),
    "weights from below": (("flow",), batch_flow, "inverse_cdfs", lambda weights, u: inverse_cdfs(weights, u * 0.9)),
}


@pytest.mark.parametrize(
    ("fault", "verify"), [(fault, rule) for fault, (rules, *_) in FAULTS.items() for rule in rules]
)
def test_a_fault_is_noticed(fault: str, verify: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On laws of sixteenths, some with ties; the same tapes without the fault agree."""
    rng = np.random.default_rng(3)
    rows = np.array([[8, 4, 2, 2], [4, 4, 4, 4], [6, 6, 3, 1], [5, 5, 5, 1]]) / 16
    models = Models(*(rng.permuted(rows[rng.integers(4, size=n)], axis=1) for n in (21, 5)))
    config = Config(slots=3, depth=2, nodes=5, sparse=None, verify=verify, target=None, draft=None)
    tapes = drawn_tapes(3, config, MANY)
    right = simulate(models, config, tapes)
    some = Tapes(tapes.draft_u[:200], tapes.coin_u[:200], tapes.token_u[:200])
    assert list(right)[:200] == by_steps(models, config, some)
    _, where, name, wrong = FAULTS[fault]
    monkeypatch.setattr(where, name, wrong)
    assert (simulate(models, config, tapes).tokens != right.tokens).any()
