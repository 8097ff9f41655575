"""The gallery: every fault of other people's verifiers that the auditor must find, and how it reads in code."""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction

from tests.audit.brute import Law
from tests.audit.fault import Fault
from tests.audit.gallery_laws import DRAFTS, PARAMETERS, RULES
from tests.audit.gallery_noise import BATCHES, COINS, ENDS, LOSSY, RESIDUALS, SLOWER

GALLERY: tuple[Fault, ...] = (
    *DRAFTS,
    *PARAMETERS,
    *RULES,
    *RESIDUALS,
    *COINS,
    *BATCHES,
    *ENDS,
    *LOSSY,
    *SLOWER,
)

HEADINGS: dict[str, str] = {
    "drafts": "The draft token was not drawn from the q in the ratio",
    "parameters": "Sampling parameters on one side, or on some rows",
    "rules": "The acceptance rule",
    "residuals": "Residual and recovered token",
    "coins": "One random number used twice",
    "batches": "Rows of another request, another depth, or of padding",
    "ends": "End of sequence",
    "lossy": "Lossy on purpose",
    "slower": "Look-alikes of rules that are exact",
}

CODE: dict[str, str] = {
    "greedy_drafts_dense_q": "x = q.argmax(); u < p[x] / q[x]",
    "assistant_made_greedy": "generate(do_sample=False), then q = logits.softmax(-1)",
    "raw_logits_returned": "draw from top_k(logits), return logits",
    "best_beam_dense_q": "x = beam_search(q); u < p[x] / q[x]",
    "drafts_from_rounded_logits": "multinomial(logits.bfloat16().softmax(-1)), then q = logits.float().softmax(-1)",
    "temperature_forgotten": "p = target_logits.softmax(-1)",
    "temperature_of_padding": "p = (target_logits / -1).softmax(-1)",
    "softmax_of_probabilities": "p = target_probs.softmax(-1)",
    "filter_on_the_bonus_row_only": "p[-1] = min_p(p[-1])",
    "ban_dropped": "def verify(..., bad_words): # never read",
    "filters_one_after_the_other": "p = renormalise(top_k(p)); p = top_p(p)",
    "target_rows_by_argmax": "ok = draft == p.argmax(-1)",
    "only_the_last_token_is_counted": "counts = bincount(ids[-1:])",
    "the_last_token_is_counted_twice": "counts = bincount(ids + ids[-1:])",
    "matches_never_stop": "n = (~((~ok).cumsum(-1)) < 1).sum()",
    "residual_by_softmax": "relu(p - q).softmax(-1)",
    "score_over_best_score": "u < p[x] / p.max()",
    "inverted_ratio": "u < q[x] / p[x]",
    "coins_are_zero": "u = torch.zeros(k) # to be filled",
    "block_rule_with_token_residual": "block thresholds, then relu(p - q)",
    "prefix_products_with_token_residual": "u[i] < w[i], last i; then relu(p - q)",
    "ngram_prefix_products": "u[i] < p[x].cumprod(0)[i], last i",
    "typical_acceptance": "p[x] > min(0.09, 0.3 * exp(-entropy)); then p.argmax()",
    "resample_from_target": "multinomial(p) after a rejection",
    "target_after_rejection": "random.choices(range(V), p[i])",
    "nan_falls_to_index_zero": "u < p[x] / nan; where(p > nan, ...).argmax()",
    "last_coin_reused": "if coin >= p[x]: searchsorted(cdf, coin)",
    "same_seed_for_draft_and_recovery": "two generators with manual_seed(seed)",
    "same_seed_for_draft_and_coin": "Random(seed) to draft, Random(seed) to verify",
    "one_coin_for_all_positions": "coins = torch.rand(1).expand(k)",
    "drafts_in_another_order": "verify(draft, q, p[order])",
    "draft_rows_of_exchanged_depths": "verify(draft, q.flip(1), p)",
    "padded_drafts_read": "x = -1; u < p[x]",
    "stop_tested_on_the_last_token": "stop = out[-1] == eos",
    "end_masked_on_draft_rows": "p[:-1, eos] = 0",
    "relaxed": "u < p[x] / 0.5",
    "single_threshold": "u < p[x] or p[x] >= 0.25",
    "blended": "p = lerp(p, q, 0.5)",
    "guesses_checked_greedily": "ok = guess == p.argmax(-1), sample the last token",
    "plausible_is_enough": "if rows[i][x] >= 0.25 or random.random() < rows[i][x]",
    "argmax_then_compare": "row.index(max(row)) == x",
    "fixed_siblings_dense_q": "top-k siblings, u < p[x] / q[x]",
    "best_token_must_match": "ok = draft == p.argmax(-1)",
    "stale_row_of_q": "q = cache[step - 1]",
    "greedy_on_rounded_rows": "p.half().argmax(-1)",
}


def shown(law: Law, outcomes: list[Hashable]) -> str:
    """Probabilities in the order of the outcomes, named where they are no single tokens."""
    plain = all(isinstance(x, tuple) and len(x) == 1 and x[0] >= 0 for x in outcomes)
    parts = [
        number(law.get(x, Fraction(0))) if plain else f"{named(x)}: {number(law.get(x, Fraction(0)))}" for x in outcomes
    ]
    return ", ".join(parts)


def number(mass: Fraction) -> str:
    """A fraction, or three decimals where that is all that is known."""
    return str(mass) if mass.denominator < 10_000 else f"{float(mass):.3f}"


def named(outcome: Hashable) -> str:
    """A string of tokens."""
    return "".join(map(str, outcome)) if isinstance(outcome, tuple) else str(outcome)


def table() -> str:
    """The gallery as Markdown, one table for each family."""
    lines: list[str] = []
    for family, heading in HEADINGS.items():
        lines += [
            f"## {heading}",
            "",
            "| fault | in code | expected | actual | distance | verdict |",
            "| --- " * 6 + "|",
        ]
        for fault in (fault for fault in GALLERY if fault.family == family):
            outcomes = sorted(fault.expected.keys() | fault.actual.keys(), key=str)
            outcomes = [x for x in outcomes if fault.expected.get(x) != fault.actual.get(x)] or outcomes
            if all(isinstance(x, tuple) and len(x) == 1 for x in outcomes):
                outcomes = sorted(fault.expected.keys() | fault.actual.keys())
            cells = [
                fault.about,
                f"`{CODE[fault.name]}`".replace("|", "\\|"),
                shown(fault.expected, outcomes),
                shown(fault.actual, outcomes),
                number(fault.tv),
                fault.verdict,
            ]
            lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
