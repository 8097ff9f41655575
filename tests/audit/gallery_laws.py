"""Faults of drafts, of sampling parameters and of acceptance rules."""

from __future__ import annotations

import math
from fractions import Fraction

from tests.audit import brute
from tests.audit.brute import Law, one_hot, table
from tests.audit.fault import HALF, NEAR, P0, Q0, Q1, Fault, decimals, law, pairs, row, toy
from tests.audit.plays import Prefix, Toy, by_depth, chain, fixed, step
from tests.audit.strangers import drafts, parameters, rules

THIRDS = row("1/2", "1/3", "1/6")
CHAINED = row("7/20", "1/4", "1/5", "1/20", "1/20", "1/20", "1/20")
BLOCK_P = (row("2/5", "2/5", "1/5"), row("1/10", "3/10", "3/5"))
BLOCK_Q = (row("1/2", "3/10", "1/5"), row("7/10", "1/5", "1/10"))


def beam_rows(prefix: Prefix) -> list[Fraction]:
    return row("11/20", "9/20") if not prefix else row("9/10", "1/10") if prefix[0] == 1 else HALF


def softmax(values: list[float]) -> list[Fraction]:
    total = math.fsum(math.exp(value) for value in values)
    exact = [Fraction(math.exp(value) / total) for value in values]
    return [w / sum(exact) for w in exact]


def softened_residual() -> Law:
    rest = softmax([0.3, 0.0, 0.0])
    return brute.token(P0, Q0, rest=rest)


def first_tokens(strings: Law) -> Law:
    found: Law = {}
    for tokens, weight in strings.items():
        found[tokens[:1]] = found.get(tokens[:1], Fraction(0)) + weight
    return found


def shown(strings: Law) -> Law:
    found: Law = {}
    for tokens, weight in strings.items():
        key = "1" if tokens[0] else "".join(map(str, tokens))
        found[key] = found.get(key, Fraction(0)) + weight
    return found


SHARP = brute.scaled([Fraction(math.exp(0.06)), Fraction(1)])
BANNED = law("5/8", "3/8", "0")

DRAFTS = (
    Fault(
        "R01",
        "drafts are the argmax, the ratio reads the softmax",
        drafts.greedy_drafts_dense_q,
        drafts.sampled_drafts_dense_q,
        toy(P0, Q1),
        step("numpy"),
        table(P0),
        law("5/6", "0", "1/6"),
        Fraction(1, 3),
        lambda: brute.token(P0, Q1, one_hot(0, 3)),
    ),
    Fault(
        "R01",
        "the same with a perfect draft: everything is accepted, and it is the argmax",
        drafts.greedy_drafts_dense_q,
        drafts.sampled_drafts_dense_q,
        toy(NEAR, NEAR),
        step("numpy"),
        table(NEAR),
        law("1", "0"),
        Fraction(49, 100),
        lambda: brute.token(NEAR, NEAR, one_hot(0, 2)),
    ),
    Fault(
        "R02",
        "a faster assistant drafts greedily, the verifier still reads its softmax",
        drafts.assistant_made_greedy,
        drafts.assistant_that_samples,
        toy(P0, Q1),
        step("ids", logits=0.0),
        table(P0),
        law("5/6", "0", "1/6"),
        Fraction(1, 3),
        lambda: brute.token(P0, Q1, one_hot(0, 3)),
    ),
    Fault(
        "R03",
        "drafts are drawn after top-k, the logits before it are returned",
        drafts.raw_logits_returned,
        drafts.processed_logits_returned,
        toy(P0, row("2/5", "3/10", "3/10")),
        step("ids", logits=0.0),
        table(P0),
        law("4/7", "3/7", "0"),
        Fraction(1, 5),
        lambda: brute.token(P0, row("2/5", "3/10", "3/10"), row("4/7", "3/7", "0")),
    ),
    Fault(
        "R06",
        "the best beam is verified as if its tokens had been sampled",
        drafts.best_beam_dense_q,
        drafts.best_beam_one_hot_q,
        Toy(beam_rows, beam_rows, 2),
        step("torch"),
        law("11/20", "9/20"),
        law("0", "1"),
        Fraction(11, 20),
        lambda: brute.token(beam_rows(()), beam_rows(()), one_hot(1, 2)),
    ),
    Fault(
        "R09",
        "drafts come from logits rounded to bfloat16, q from those before",
        drafts.drafts_from_rounded_logits,
        drafts.drafts_from_the_logits_verified,
        toy(SHARP, SHARP),
        step("torch", logits=20.06 - math.log(SHARP[0])),
        decimals(0.515, 0.485),
        law("1/2", "1/2"),
        Fraction(15, 1000),
        lambda: brute.token(SHARP, SHARP, HALF),
        exact=False,
    ),
)

PARAMETERS = (
    Fault(
        "R10",
        "the temperature reaches the draft only",
        parameters.temperature_forgotten,
        parameters.temperature_applied,
        toy(THIRDS, Q0),
        chain(log=True, padded=True),
        law("9/14", "2/7", "1/14"),
        law("1/2", "1/3", "1/6"),
        Fraction(1, 7),
        lambda: brute.token(THIRDS, Q0),
    ),
    Fault(
        "R11",
        "min-p is applied to the bonus row only",
        parameters.filter_on_the_bonus_row_only,
        parameters.filter_on_every_row,
        toy(P0, Q0),
        chain("numpy"),
        BANNED,
        table(P0),
        Fraction(1, 5),
        lambda: brute.token(P0, Q0),
    ),
    Fault(
        "R12",
        "of the tokens of a step only the last one counts for the penalty",
        parameters.only_the_last_token_is_counted,
        parameters.all_tokens_are_counted,
        Toy(by_depth(HALF), by_depth(HALF), 0, context=(0, 0)),
        lambda function, toy, dice: step("torch", length=False, draft=False)(
            lambda ids, model: function(ids, model, ()), toy, dice
        ),
        law("1/5", "4/5"),
        law("1/3", "2/3"),
        Fraction(2, 15),
        lambda: table(brute.scaled([Fraction(1, 2), Fraction(1)])),
    ),
    Fault(
        "R12",
        "the last token counts twice for the penalty",
        parameters.the_last_token_is_counted_twice,
        parameters.all_tokens_are_counted,
        Toy(by_depth(HALF), by_depth(HALF), 0, context=(0, 0)),
        lambda function, toy, dice: step("torch", length=False, draft=False)(
            lambda ids, model: function(ids, model, ()), toy, dice
        ),
        law("1/5", "4/5"),
        law("1/9", "8/9"),
        Fraction(4, 45),
        lambda: table(brute.scaled([Fraction(1, 8), Fraction(1)])),
    ),
    Fault(
        "R13",
        "banned words are dropped without notice",
        parameters.ban_dropped,
        parameters.ban_kept,
        toy(P0, Q0),
        chain("numpy"),
        BANNED,
        table(P0),
        Fraction(1, 5),
        lambda: brute.token(P0, Q0),
    ),
    Fault(
        "R14",
        "top-k is renormalised before top-p looks",
        parameters.filters_one_after_the_other,
        parameters.filters_together,
        toy(CHAINED, [Fraction(1, 7)] * 7),
        chain(),
        law("7/17", "5/17", "4/17", "1/17"),
        law("7/16", "5/16", "1/4", "0"),
        Fraction(1, 17),
        lambda: brute.token(row("7/16", "5/16", "1/4", "0", "0", "0", "0"), [Fraction(1, 7)] * 7),
    ),
    Fault(
        "R15",
        "target rows at draft positions are decided by argmax, only the bonus is sampled",
        parameters.target_rows_by_argmax,
        parameters.target_rows_sampled,
        toy(P0, one_hot(0, 3)),
        chain(),
        table(P0),
        law("1", "0", "0"),
        Fraction(1, 2),
        lambda: brute.token(P0, P0, one_hot(0, 3), accept=lambda x: Fraction(x == 0), rest=one_hot(0, 3)),
    ),
    Fault(
        "R16",
        "-1, which stands for no temperature, is used as one",
        parameters.temperature_of_padding,
        parameters.temperature_of_padding_replaced,
        toy(THIRDS, Q0),
        chain(log=True, padded=True),
        table(THIRDS),
        law("2/11", "3/11", "6/11"),
        Fraction(25, 66),
        lambda: brute.token(row("2/11", "3/11", "6/11"), Q0),
    ),
    Fault(
        "R16",
        "rows that are laws already pass through another softmax",
        parameters.softmax_of_probabilities,
        parameters.softmax_of_logarithms,
        toy(one_hot(0, 3), Q0),
        chain(padded=True),
        law("1", "0", "0"),
        decimals(0.576, 0.212, 0.212),
        Fraction(424, 1000),
        lambda: brute.token(softmax([1.0, 0.0, 0.0]), Q0),
        exact=False,
    ),
)

RULES = (
    Fault(
        "R17a",
        "the count of matches never stops: everything is accepted",
        rules.matches_never_stop,
        rules.matches_stop,
        toy(P0, Q0),
        chain(),
        table(P0),
        table(Q0),
        Fraction(3, 10),
        lambda: brute.token(P0, Q0, accept=lambda x: Fraction(1)),
    ),
    Fault(
        "R17b",
        "the residual passes through softmax instead of being divided by its sum",
        rules.residual_by_softmax,
        rules.residual_by_division,
        toy(P0, Q0),
        chain(),
        table(P0),
        decimals(0.321, 0.390, 0.290),
        Fraction(179, 1000),
        softened_residual,
        exact=False,
    ),
    Fault(
        "R18",
        "acceptance divides the target's score by its best score",
        rules.score_over_best_score,
        rules.ratio,
        toy(P0, Q0),
        chain("list"),
        table(P0),
        law("31/50", "9/50", "1/5"),
        Fraction(3, 25),
        lambda: brute.token(P0, Q0, accept=lambda x: P0[x] / max(P0)),
    ),
    Fault(
        "R18",
        "the ratio is upside down",
        rules.inverted_ratio,
        rules.ratio,
        toy(P0, Q0),
        chain("list"),
        table(P0),
        law("1/5", "3/10", "1/2"),
        Fraction(3, 10),
        lambda: brute.token(P0, Q0, accept=lambda x: Q0[x] / P0[x]),
    ),
    Fault(
        "R19",
        "the coins are a buffer of zeros that nobody fills",
        rules.coins_are_zero,
        rules.coins_are_filled,
        toy(P0, Q0),
        chain(),
        table(P0),
        table(Q0),
        Fraction(3, 10),
        lambda: brute.token(P0, Q0, accept=lambda x: Fraction(1)),
    ),
    Fault(
        "R20a",
        "block acceptance, but the residual is that of a token",
        rules.block_rule_with_token_residual,
        rules.block_rule,
        Toy(by_depth(*BLOCK_P), by_depth(*BLOCK_Q), 2),
        chain(),
        pairs(*BLOCK_P),
        pairs(*BLOCK_P) | {(0, 1): Fraction(27, 200), (0, 2): Fraction(9, 40)},
        Fraction(3, 200),
        lambda: brute.block(BLOCK_P, BLOCK_Q, "block", "token"),
        first=2,
    ),
    Fault(
        "R20b",
        "products of ratios as thresholds, the last that passes, a token's residual",
        rules.prefix_products_with_token_residual,
        rules.block_rule,
        Toy(by_depth(*BLOCK_P), by_depth(*BLOCK_Q), 2),
        chain(),
        table(BLOCK_P[0]),
        law("219/500", "181/500", "1/5"),
        Fraction(19, 500),
        lambda: first_tokens(brute.block(BLOCK_P, BLOCK_Q, "products", "token")),
    ),
    Fault(
        "R20c",
        "the same with n-gram drafts",
        rules.ngram_prefix_products,
        rules.ngram_block_rule,
        toy(HALF, HALF, 2),
        fixed(0, 0),
        {"00": Fraction(1, 4), "01": Fraction(1, 4), "1": Fraction(1, 2)},
        {"00": Fraction(1, 4), "01": Fraction(3, 8), "1": Fraction(3, 8)},
        Fraction(1, 8),
        lambda: shown(brute.block((HALF, HALF), (one_hot(0, 2),) * 2, "products", "token")),
        first=2,
        read=lambda tokens: "1" if tokens[0] else "".join(map(str, tokens)),
    ),
    Fault(
        "R21",
        "typical acceptance with greedy recovery, greedy drafts",
        rules.typical_acceptance,
        rules.residual_by_division,
        toy(P0, one_hot(0, 3)),
        chain(),
        table(P0),
        law("1", "0", "0"),
        Fraction(1, 2),
        lambda: brute.token(P0, Q0, one_hot(0, 3), accept=lambda x: Fraction(P0[x] > Fraction(9, 100))),
    ),
    Fault(
        "R21",
        "typical acceptance, sampled drafts",
        rules.typical_acceptance,
        rules.residual_by_division,
        toy(P0, Q0),
        chain(),
        table(P0),
        table(Q0),
        Fraction(3, 10),
        lambda: brute.token(P0, Q0, accept=lambda x: Fraction(P0[x] > Fraction(9, 100))),
    ),
)
