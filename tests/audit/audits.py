"""How the default sweep is asked about each stranger: adapter, roles, tables, declarations."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from rheo_proof.audit.adapters import Step
from rheo_proof.audit.cases import Case, Request
from rheo_proof.audit.inputs import prompt
from rheo_proof.exact.law import Law, normalised, point
from rheo_proof.exact.model import Prefix, ToyModel
from rheo_proof.exact.number import ZERO, Q

# Targets that the functions make of the rows they are given


def at_least_half_of_the_best(p: Law) -> Law:
    return normalised([w if 2 * w >= max(p) else ZERO for w in p])


def without_token_2(p: Law) -> Law:
    return normalised([ZERO if x == 2 else w for x, w in enumerate(p)])


def joint_top_k_top_p(p: Law) -> Law:
    """Top-k 4 and top-p 0.82, both looking at p: a token stays while the mass before it is below 0.82."""
    order = sorted(range(len(p)), key=lambda x: -p[x])
    before = {x: sum((p[y] for y in order[:place]), ZERO) for place, x in enumerate(order)}
    stays = {x for x in order[:4] if before[x] < Q(41, 50)}
    return normalised([w if x in stays else ZERO for x, w in enumerate(p)])


def best_token(p: Law) -> Law:
    return point(list(p).index(max(p)), len(p))


@dataclass(frozen=True)
class Penalised(Step):
    """Whole steps whose target halves the weight of a token for each time that it occurs before, in the prompt too."""

    def cases(self, dtypes: Iterable[str] = ("float64",), tables: Iterable[str] | None = None) -> tuple[Case, ...]:
        return super().cases(dtypes, tables)

    def target(self, case: Case, request: Request) -> ToyModel:
        plain, before = super().target(case, request), prompt(case)

        def row(prefix: Prefix) -> Law:
            history = before + prefix
            return normalised([w / 2 ** history.count(x) for x, w in enumerate(plain.target(prefix))])

        return ToyModel(plain.vocab, plain.depth, row, plain.draft, plain.name)


# What is asked


@dataclass(frozen=True)
class Asked:
    """Arguments of `audit`. `tables` None is the whole battery."""

    adapter: Any = "chain"
    options: dict[str, Any] = field(default_factory=dict)
    tables: tuple[str, ...] | None = None
    declared: str | None = None

    def arguments(self) -> dict[str, Any]:
        return {"adapter": self.adapter, "tables": self.tables, "declared": self.declared, **self.options}


def asked(adapter: Any = "chain", *tables: str, declared: str | None = None, **options: Any) -> Asked:
    return Asked(adapter, options, tables or None, declared)


STEP_ARRAYS = {"returns": "tokens"}
ASSISTED = {
    "returns": "tokens",
    "values": "logits",
    "roles": {"input_ids": "input_ids[1,S]", "assistant": "draft_model", "model": "target_model", "n": "K"},
}
SIBLINGS = {"returns": "tokens", "roles": {"candidates": "draft_tokens", "p": "target_probs[K+1,V]"}}
LISTED = {**SIBLINGS, "method": "fixed"}
COINS = {"candidates": "draft_tokens", "coins": "uniforms", "coin_for_final": "uniforms[]"}
SMALL_TREE = {
    "method": "fixed",
    "roles": {"tokens": "draft_tokens", "coins": "uniforms[N+1]", "coin_for_final": "uniforms[]"},
}
LISTS = {"arrays": "list", "roles": {"candidates": "draft_tokens", "rows": "target_probs"}}
IDS = {"roles": {"ids": "draft_tokens"}}
SEEDED = {"returns": "tokens", "roles": {"ids": "input_ids"}}
THREE = ("tenths", "thirds", "R17")
PENALISED = Penalised(
    returns="tokens", roles={"ids": "input_ids"}, constants={"guess": (0, 0)}, name="step with penalties"
)

HOW: dict[str, Asked] = {
    **dict.fromkeys(
        ("greedy_drafts_dense_q", "sampled_drafts_dense_q"), asked("step", arrays="numpy", returns="tokens")
    ),
    **dict.fromkeys(
        ("assistant_made_greedy", "assistant_that_samples", "raw_logits_returned", "processed_logits_returned"),
        asked("step", **ASSISTED),
    ),
    **dict.fromkeys(("best_beam_dense_q", "best_beam_one_hot_q"), asked("step", returns="tokens")),
    **dict.fromkeys(
        ("drafts_from_rounded_logits", "drafts_from_the_logits_verified"),
        asked("step", returns="tokens", values="logits", order=("input_ids", "draft_model", "target_model", "K")),
    ),
    **dict.fromkeys(
        ("temperature_forgotten", "temperature_applied"), asked(returns="padded", temperature=Fraction(1, 2))
    ),
    **dict.fromkeys(
        ("temperature_of_padding", "temperature_of_padding_replaced"),
        asked(returns="padded", constants={"temperature": -1.0}),
    ),
    **dict.fromkeys(("softmax_of_probabilities", "softmax_of_logarithms"), asked(returns="padded")),
    **dict.fromkeys(
        ("filter_on_the_bonus_row_only", "filter_on_every_row"),
        asked(arrays="numpy", target_process=at_least_half_of_the_best),
    ),
    **dict.fromkeys(
        ("ban_dropped", "ban_kept"), asked("chain", *THREE, arrays="numpy", target_process=without_token_2)
    ),
    **dict.fromkeys(
        ("filters_one_after_the_other", "filters_together"),
        asked("chain", "R14", "wide", target_process=joint_top_k_top_p),
    ),
    **dict.fromkeys(
        ("only_the_last_token_is_counted", "the_last_token_is_counted_twice", "all_tokens_are_counted"),
        asked(PENALISED),
    ),
    **dict.fromkeys(("everything_accepted", "score_over_best_score", "inverted_ratio", "ratio"), asked(arrays="list")),
    **dict.fromkeys(("ngram_prefix_products", "ngram_block_rule"), asked(**IDS)),
    **dict.fromkeys(("target_after_rejection", "residual_after_rejection"), asked(arrays="list")),
    **dict.fromkeys(("nan_falls_to_index_zero", "nan_is_refused"), asked(arrays="numpy")),
    **dict.fromkeys(("last_coin_reused", "own_coin_for_the_last_draw"), asked(roles=COINS)),
    **dict.fromkeys(
        ("one_coin_for_all_positions", "a_coin_for_each_position"), asked(roles={"candidates": "draft_tokens"})
    ),
    **dict.fromkeys(
        ("same_seed_for_draft_and_recovery", "one_generator_for_draft_and_recovery"), asked("step", **SEEDED)
    ),
    **dict.fromkeys(
        ("same_seed_for_draft_and_coin", "different_streams_for_draft_and_coin"),
        asked("step", arrays="list", **SEEDED),
    ),
    **dict.fromkeys(
        (
            "drafts_in_another_order",
            "drafts_in_the_same_order",
            "draft_rows_of_exchanged_depths",
            "draft_rows_of_their_depths",
        ),
        asked(batched=True, returns="padded"),
    ),
    **dict.fromkeys(("padded_drafts_read", "padded_drafts_cut"), asked(**IDS)),
    **dict.fromkeys(
        (
            "stop_tested_on_the_last_token",
            "stop_tested_on_every_token",
            "end_masked_on_draft_rows",
            "end_masked_on_no_row",
        ),
        asked("chain", "R35", arrays="list", roles={"draft": "draft_tokens", "rows": "target_probs", "eos": "eos"}),
    ),
    **dict.fromkeys(
        ("relaxed", "single_threshold"),
        asked(roles={"candidates": "draft_tokens"}, declared="thresholds of 1/2 and 1/4"),
    ),
    "plausible_is_enough": asked(**LISTS, declared="p of at least 1/4 is enough"),
    "nothing_is_enough": asked(**LISTS),
    "sample_then_compare": asked(arrays="list", roles={"rows": "target_probs"}),
    "argmax_then_compare": asked(arrays="list", roles={"rows": "target_probs"}),
    "strict": asked(roles={"candidates": "draft_tokens"}),
    "blended": asked(declared="mix 1/2"),
    "guesses_checked_greedily": asked(
        roles={"guesses": "draft_tokens"}, declared="n-gram guesses are checked greedily"
    ),
    "guesses_checked_by_sampling": asked(roles={"guesses": "draft_tokens"}),
    "fixed_siblings_one_hot": asked("siblings", **LISTED),
    "fixed_siblings_dense_q": asked("siblings", **LISTED),
    **dict.fromkeys(("own_sample_must_match", "best_token_must_match", "missing_q_is_one_hot"), asked(**IDS)),
    **dict.fromkeys(("greedy_on_the_rows_given", "greedy_on_rounded_rows"), asked(**IDS, target_process=best_token)),
    "vectorised": asked(returns="padded"),
    "loops": asked(returns="length,token"),
    "numpy_chain": asked(arrays="numpy"),
    "pure_python": asked(arrays="list"),
    "exponential_race": asked(returns="padded"),
    "length_and_law": asked(arrays="numpy", returns="length,vector"),
    "with_replacement": asked("siblings", **SIBLINGS),
    "without_replacement": asked("siblings", **SIBLINGS, method="distinct"),
    "with_replacement_on_distinct": asked("siblings", **SIBLINGS, method="distinct"),
    "tree_one_coin": asked("tree", **SMALL_TREE),
    "tree_coin_without_running_sum": asked("tree", **SMALL_TREE),
    "tree_one_coin_and_its_leftover": asked(
        "tree", method="fixed", roles={"tokens": "draft_tokens", "coins": "uniforms[N+1]"}
    ),
    "evaluate_paths": asked("eagle", roles={"logits": "path_logits"}),
}


def how(function: Callable[..., Any]) -> Asked:
    """The question for a stranger; a chain with torch tensors unless said otherwise."""
    return HOW.get(function.__name__, asked())


SMALL: dict[str, tuple[str, ...]] = {
    "R16": ("R16",),
    "R17a": ("R17",),
    "R17b": ("R17",),
    "R20a": ("R20",),
    "R20b": ("R20",),
    "R20c": ("R20-given",),
    "R25": ("nan draft", "R17"),
    "R33": ("R33", "R33-depths"),
    "R34": ("R01",),
    "R35a": ("R35",),
    "R35b": ("R35",),
    "R43": ("tenths",),
    "R45": ("R45", "R45-near"),
}
"""The tables on which a section shows; those named after it unless said otherwise."""


def small(section: str) -> tuple[str, ...]:
    return SMALL.get(section, (section,))
