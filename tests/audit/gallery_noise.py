"""Faults of residuals, of coins, of batches and of ends; lossy rules; rules that are doubted without reason."""

from __future__ import annotations

from fractions import Fraction

from tests.audit import brute
from tests.audit.brute import Law, one_hot, table
from tests.audit.fault import HALF, NEAR, P0, Q0, Q1, Fault, law, pairs, row, toy
from tests.audit.plays import Prefix, Toy, batch, by_depth, chain, fixed, step, top_list
from tests.audit.strangers import batches, coins, ends, lossy, residuals, slower

NAN = float("nan")
THIRTIES = row("1/10", "3/5", "3/10")
SIDES = row("9/10", "1/10")
ENDING = row("3/4", "1/4")
TIED = [Fraction(1, 2) - Fraction(1, 2**40), Fraction(1, 2) + Fraction(1, 2**40)]

RESIDUALS = (
    Fault(
        "R23",
        "after a rejection the token is drawn from the target",
        residuals.resample_from_target,
        residuals.resample_from_residual,
        toy(P0, Q0),
        chain(),
        table(P0),
        law("7/20", "39/100", "13/50"),
        Fraction(3, 20),
        lambda: brute.token(P0, Q0, rest=P0),
    ),
    Fault(
        "R23",
        "the same on lists",
        residuals.target_after_rejection,
        residuals.residual_after_rejection,
        toy(P0, Q0),
        chain("list"),
        table(P0),
        law("7/20", "39/100", "13/50"),
        Fraction(3, 20),
        lambda: brute.token(P0, Q0, rest=P0),
    ),
    Fault(
        "R25",
        "a row of NaN: every comparison is false, the empty residual's argmax is 0",
        residuals.nan_falls_to_index_zero,
        residuals.nan_is_refused,
        Toy(by_depth(row("1/5", "1/2", "3/10")), by_depth([NAN] * 3), 1, by_depth(one_hot(1, 3))),
        chain("numpy"),
        law("1/5", "1/2", "3/10"),
        law("1", "0", "0"),
        Fraction(4, 5),
        lambda: brute.token(P0, Q0, one_hot(1, 3), accept=lambda x: Fraction(0), rest=one_hot(0, 3)),
        "contract broken",
    ),
)

COINS = (
    Fault(
        "R26",
        "the coin of the last test draws the residual's token, too",
        coins.last_coin_reused,
        coins.own_coin_for_the_last_draw,
        toy(P0, P0),
        fixed(0, coins=1),
        table(P0),
        law("1/2", "1/10", "2/5"),
        Fraction(1, 5),
        lambda: brute.last_coin(P0, 0),
        "contract broken",
    ),
    Fault(
        "R28",
        "the noise of the draft is the noise of the recovered token",
        coins.same_seed_for_draft_and_recovery,
        coins.one_generator_for_draft_and_recovery,
        toy(THIRTIES, row("1/2", "1/4", "1/4")),
        step("torch", length=False),
        table(THIRTIES),
        law("1/10", "63/100", "27/100"),
        Fraction(3, 100),
        lambda: brute.clocks(THIRTIES, row("1/2", "1/4", "1/4")),
        "contract broken",
    ),
    Fault(
        "R29",
        "draft sampler and coin start from the same seed",
        coins.same_seed_for_draft_and_coin,
        coins.different_streams_for_draft_and_coin,
        toy(row("3/4", "1/4"), HALF),
        step("list", length=False),
        law("3/4", "1/4"),
        law("1", "0"),
        Fraction(1, 4),
        lambda: brute.twin_seeds(row("3/4", "1/4"), HALF),
        "contract broken",
    ),
    Fault(
        "R29",
        "the same, the likely token second",
        coins.same_seed_for_draft_and_coin,
        coins.different_streams_for_draft_and_coin,
        toy(row("1/4", "3/4"), HALF),
        step("list", length=False),
        law("1/4", "3/4"),
        law("1/2", "1/2"),
        Fraction(1, 4),
        lambda: brute.twin_seeds(row("1/4", "3/4"), HALF),
        "contract broken",
    ),
    Fault(
        "R29",
        "the same, three tokens",
        coins.same_seed_for_draft_and_coin,
        coins.different_streams_for_draft_and_coin,
        toy(Q0, P0),
        step("list", length=False),
        table(Q0),
        law("2/5", "3/10", "3/10"),
        Fraction(1, 5),
        lambda: brute.twin_seeds(Q0, P0),
        "contract broken",
    ),
    Fault(
        "R30",
        "one uniform for all positions",
        coins.one_coin_for_all_positions,
        coins.a_coin_for_each_position,
        toy(HALF, HALF, 2),
        fixed(0, 0),
        pairs(HALF, HALF),
        {(0, 0): Fraction(1, 2), (1, 0): Fraction(1, 4), (1, 1): Fraction(1, 4)},
        Fraction(1, 4),
        lambda: brute.one_coin((HALF, HALF), (0, 0)),
        "contract broken",
        first=2,
    ),
)

MATCHED = (toy(SIDES, HALF), toy(SIDES[::-1], HALF))
LOPSIDED = Toy(by_depth(HALF), by_depth(row("4/5", "1/5"), row("1/5", "4/5")), 2)

BATCHES = (
    Fault(
        "R33",
        "the target's rows come in another order than the drafts",
        batches.drafts_in_another_order,
        batches.drafts_in_the_same_order,
        MATCHED[0],
        batch(*MATCHED),
        table(SIDES),
        table(SIDES[::-1]),
        Fraction(4, 5),
        lambda: brute.token(SIDES[::-1], HALF),
    ),
    Fault(
        "R33",
        "the draft's rows of two depths are exchanged",
        batches.draft_rows_of_exchanged_depths,
        batches.draft_rows_of_their_depths,
        LOPSIDED,
        batch(LOPSIDED, LOPSIDED),
        table(HALF),
        law("7/8", "1/8"),
        Fraction(3, 8),
        lambda: brute.token(HALF, row("1/5", "4/5"), row("4/5", "1/5")),
    ),
    Fault(
        "R34",
        "the placeholder -1 is read as a token",
        batches.padded_drafts_read,
        batches.padded_drafts_cut,
        toy(P0, P0, 0),
        fixed(),
        table(P0),
        {(0,): Fraction(1, 2), (1,): Fraction(3, 10), (-1,): Fraction(1, 5)},
        Fraction(1, 5),
        lambda: {(-1 if x == (2,) else x[0],): w for x, w in brute.one_hot_rule(P0, one_hot(2, 3)).items()},
        "contract broken",
    ),
)


def behind_the_end(tokens: Prefix) -> str:
    return "text behind the end" if 1 in tokens[:-1] else "none"


def ended(tokens: Prefix) -> str:
    return "ends within 4" if 1 in tokens else "goes on"


def either(chance: Fraction, yes: str, no: str) -> Law:
    return brute.law(lambda pick: yes if brute.coin(pick, chance) else no)


ENDS = (
    Fault(
        "R35a",
        "the end of sequence is looked for in the last token alone",
        ends.stop_tested_on_the_last_token,
        ends.stop_tested_on_every_token,
        toy(HALF, HALF, 2),
        fixed(1, 0, kind="list", more=(1,)),
        {"none": Fraction(1)},
        {"none": Fraction(1, 2), "text behind the end": Fraction(1, 2)},
        Fraction(1, 2),
        lambda: either(HALF[1], "text behind the end", "none"),
        "contract broken",
        first=0,
        read=behind_the_end,
    ),
    Fault(
        "R35b",
        "the end of sequence is masked on the draft's rows",
        ends.end_masked_on_draft_rows,
        ends.end_masked_on_no_row,
        toy(ENDING, ENDING, 3),
        fixed(0, 0, 0, kind="list", more=(1,)),
        {"ends within 4": Fraction(175, 256), "goes on": Fraction(81, 256)},
        {"ends within 4": Fraction(1, 4), "goes on": Fraction(3, 4)},
        Fraction(111, 256),
        lambda: either(ENDING[1], "ends within 4", "goes on"),
        first=0,
        read=ended,
    ),
)

MIX = row("7/20", "3/10", "7/20")

LOSSY = (
    Fault(
        "R39",
        "relaxed: accepted with p / (1/2)",
        lossy.relaxed,
        lossy.strict,
        toy(P0, P0),
        fixed(1),
        table(P0),
        law("2/7", "3/5", "4/35"),
        Fraction(3, 10),
        lambda: brute.token(P0, P0, one_hot(1, 3), accept=lambda x: 2 * P0[x], rest=lambda x: brute.removed(P0, x)),
        "lossy by design",
    ),
    Fault(
        "R39",
        "accepted whenever p is at least 1/4",
        lossy.single_threshold,
        lossy.strict,
        toy(P0, P0),
        fixed(1),
        table(P0),
        law("0", "1", "0"),
        Fraction(7, 10),
        lambda: brute.token(P0, P0, one_hot(1, 3), accept=lambda x: Fraction(P0[x] >= Fraction(1, 4))),
        "lossy by design",
    ),
    Fault(
        "R39",
        "the same without torch",
        lossy.plausible_is_enough,
        lossy.nothing_is_enough,
        toy(P0, P0),
        fixed(1, kind="list"),
        table(P0),
        law("0", "1", "0"),
        Fraction(7, 10),
        lambda: brute.token(P0, P0, one_hot(1, 3), accept=lambda x: Fraction(P0[x] >= Fraction(1, 4))),
        "lossy by design",
    ),
    Fault(
        "R40",
        "a mix of draft and target is the reference",
        lossy.blended,
        lossy.ratio_rule,
        toy(P0, Q0),
        chain(),
        table(P0),
        table(MIX),
        Fraction(3, 20),
        lambda: brute.token(MIX, Q0),
        "lossy by design",
    ),
    Fault(
        "R40",
        "guesses are checked greedily, only the last token is sampled",
        lossy.guesses_checked_greedily,
        lossy.guesses_checked_by_sampling,
        toy(P0, P0),
        fixed(0),
        table(P0),
        law("1", "0", "0"),
        Fraction(1, 2),
        lambda: brute.law(lambda pick: (0,)),
        "lossy by design",
    ),
)

OTHER = row("1/10", "7/10", "1/5")

# Here it is the twin that is doubted without reason: it is lossless.
SLOWER = (
    Fault(
        "R41",
        "a fixed list of siblings, verified as if drawn from q (one-hot q would be exact)",
        slower.fixed_siblings_dense_q,
        slower.fixed_siblings_one_hot,
        toy(NEAR, NEAR),
        top_list(0),
        table(NEAR),
        law("1", "0"),
        Fraction(49, 100),
        lambda: brute.siblings(NEAR, NEAR, (0,), dense=True),
    ),
    Fault(
        "R42",
        "a draft is accepted if it is the target's argmax (its own sample would be exact)",
        slower.best_token_must_match,
        slower.own_sample_must_match,
        toy(P0, Q1),
        chain(),
        table(P0),
        law("1", "0", "0"),
        Fraction(1, 2),
        lambda: brute.token(P0, Q1, accept=lambda x: Fraction(x == 0), rest=one_hot(0, 3)),
    ),
    Fault(
        "R42",
        "the same on lists",
        slower.argmax_then_compare,
        slower.sample_then_compare,
        toy(P0, Q1),
        chain("list"),
        table(P0),
        law("1", "0", "0"),
        Fraction(1, 2),
        lambda: brute.token(P0, Q1, accept=lambda x: Fraction(x == 0), rest=one_hot(0, 3)),
    ),
    Fault(
        "R43",
        "q is missing, and a row of the step before is read (one-hot q would be exact)",
        slower.stale_row_of_q,
        slower.missing_q_is_one_hot,
        Toy(by_depth(P0), by_depth(Q0, OTHER), 2),
        chain(),
        table(P0),
        law("13/35", "9/70", "1/2"),
        Fraction(3, 10),
        lambda: brute.token(P0, OTHER, Q0),
    ),
    Fault(
        "R45",
        "greedy on rows that were rounded on the way (greedy on the rows given is exact)",
        slower.greedy_on_rounded_rows,
        slower.greedy_on_the_rows_given,
        toy(TIED, TIED),
        fixed(1),
        law("0", "1"),
        law("1", "0"),
        Fraction(1),
        lambda: table(one_hot(0, 2)),
    ),
)
