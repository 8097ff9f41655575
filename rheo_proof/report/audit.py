"""An audit on the console, in one screen of plain text for a failing test, and as JSON."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

from rich.console import Console

from rheo_proof.audit.calls import unseen
from rheo_proof.audit.judging import GUARD, Judged
from rheo_proof.audit.lines import Departure
from rheo_proof.audit.verdict import BIASED, BROKEN, LOSSLESS, LOSSY, SLOWER, Verdict
from rheo_proof.audit.words import decimal, shown, string
from rheo_proof.exact.errors import InputError
from rheo_proof.exact.model import key
from rheo_proof.exact.number import NUMBER_TYPE, to_fraction
from rheo_proof.report.console import plain_console, table

MOST_STRINGS = 8
MOST_UNDECIDED = 3
MOST_NAMES = 6


def show_audit(console: Console, verdict: Verdict) -> None:
    """Everything: the counterexample, what was found, the speed, the counts, what was covered, the verdict."""
    if verdict.sampled is not None:
        for line in sampled_lines(verdict):
            console.print(line, soft_wrap=True)
        console.print(closing(verdict), soft_wrap=True)
        return
    if verdict.worst is not None:
        show_worst(console, verdict.worst, verdict.departure, verdict)
    for finding in verdict.findings:
        label = "Remark" if finding.remark else "Found"
        on = f" [{finding.case}{others(finding.others)}]" if finding.case else ""
        console.print(near(f"{label}: {finding.topic}: {finding.text}{on}."), soft_wrap=True)
    for line in undecided_lines(verdict):
        console.print(near(line), soft_wrap=True)
    for line in [*speed_lines(verdict), *counts(verdict), *coverage(verdict)]:
        console.print(line, soft_wrap=True)
    console.print(closing(verdict), soft_wrap=True)


def show_worst(console: Console, judged: Judged, departure: Departure | None, verdict: Verdict) -> None:
    """The smallest case whose law departs: its rows, the law it has and ought to have, the line."""
    console.print(f"Smallest counterexample: {where(judged)}", style="bold red")
    rows = table("prefix", "target p", "draft q")
    for prefix in judged.model.reachable(judged.model.depth):
        q = law_shown(judged.model.draft(prefix)) if len(prefix) < judged.model.depth else ""
        rows.add_row(key(prefix) or "(root)", law_shown(judged.model.target(prefix)), q)
        if rows.row_count > MOST_STRINGS:
            rows.add_row("...", "", "")
            break
    console.print(rows)
    emitted = table("emitted string", "probability")
    ranked = sorted(judged.law.items(), key=lambda item: (-item[1], item[0]))
    for tokens, mass in ranked[:MOST_STRINGS]:
        emitted.add_row(string(tokens), shown(to_fraction(mass)))
    for text, mass in judged.failures.items():
        emitted.add_row(f"({text})", shown(to_fraction(mass)))
    console.print(emitted)
    if len(ranked) > MOST_STRINGS:
        console.print(f"... and {len(ranked) - MOST_STRINGS} more strings; --json writes all of them.")
    for line in wrong_lines(judged, departure, verdict):
        console.print(line, soft_wrap=True)


def law_shown(law: Any) -> str:
    """A row in a table; fractions of floats that are no short fractions as decimals."""
    texts = [str(share) for share in law]
    return " ".join(t if len(t) <= 7 else "~" + decimal(to_fraction(x)) for t, x in zip(texts, law, strict=True))


def where(judged: Judged) -> str:
    """The case, in words."""
    case, request = judged.case, judged.request
    batch = f", request {request.index} of {case.batch}" if case.batch > 1 else ""
    after = f", after {string(request.context)}" if request.context else ""
    return f"{case.name}{batch}{after}, V = {case.vocab}, K = {case.length} ({case.table.about})"


def wrong_lines(judged: Judged, departure: Departure | None, verdict: Verdict) -> Iterator[str]:
    """The counterexample in two or three sentences."""
    meant = "the declared target" if verdict.declared and verdict.declared.weight is not None else "the target"
    if judged.wrong is not None:
        wrong = judged.wrong
        yield (
            f"The completed output starts with {string(wrong.string)} with probability {shown(wrong.actual)}; {meant} "
            f"gives {shown(wrong.expected)}."
        )
    yield f"Total variation distance of the completed output: {shown(judged.distance)}."
    if departure is None:
        yield "First line where the law departs: not found."
        return
    after = f"after {string(departure.context)}" if departure.context else "at the first position"
    what = (
        f"{departure.what}, token {departure.token} {after}: probability {shown(departure.actual)}, expected "
        f"{shown(departure.expected)}"
    )
    if departure.site is None:
        yield f"Where it departs: {what}; line not found."
    else:
        yield near(f"Where it departs: {departure.site}: {departure.source}")
        yield f"  ({what})"


def near(text: str) -> str:
    """A text with paths from here."""
    return text.replace(os.path.join(os.getcwd(), ""), "")


def speed_lines(verdict: Verdict) -> Iterator[str]:
    """Accepted draft tokens beside the ratio rule and the optimum."""
    speed = verdict.speed
    if speed is None:
        return
    best = "optimum unknown" if speed.optimum is None else f"{decimal(speed.optimum)} at the optimum"
    yield (
        f"Accepted draft tokens, mean over {several(speed.cases, 'law')}: {decimal(speed.accepted)}; "
        f"{decimal(speed.ratio)} by the ratio rule, {best}."
    )
    if speed.worst is not None:
        yield (
            f"Furthest behind on {speed.worst.case.name}: {shown(speed.worst.accepted)} accepted, "
            f"{shown(to_fraction(speed.worst.baseline.ratio))} by the ratio rule."
        )


def undecided_lines(verdict: Verdict) -> Iterator[str]:
    """Why cases were not decided, each reason once."""
    cases: dict[str, list[str]] = {}
    for one in verdict.undecided:
        cases.setdefault(one.why, []).append(one.case)
    for why, names in list(cases.items())[:MOST_UNDECIDED]:
        yield f"Not decided: {why} [{names[0]}{others(len(set(names)) - 1)}]."
    if len(cases) > MOST_UNDECIDED:
        yield f"... and {len(cases) - MOST_UNDECIDED} other reasons; --json writes all of them."
    if verdict.hint:
        yield f"What cannot be enumerated: {verdict.hint} (--mode)."


def sampled_lines(verdict: Verdict) -> Iterator[str]:
    """What draws said of each table, and at which error rates."""
    if verdict.sampled is None:
        return
    for one in verdict.sampled.tables:
        yield ("Refuted: " if one.refuted else "Not refuted: ") + f"{one.line()}."
    for one in verdict.sampled.refuted:
        yield f"Departs most on {one.name}: {one.departure()}."
    yield (
        f"{verdict.runs:,} draws in {verdict.seconds:.2f} s of {verdict.function} with adapter {verdict.adapter}; "
        f"nothing was intercepted."
    )


def counts(verdict: Verdict) -> Iterator[str]:
    """Runs, and random variables."""
    c = verdict.counted
    yield (
        f"{verdict.runs:,} runs in {verdict.seconds:.2f} s. Random variables of a run, at most: {c.drawn} drawn, "
        f"{c.used} used, {c.unused} unused, {c.used_twice} looked at more than once, {c.shared} shared by draft and "
        "verifier."
    )
    if verdict.called:
        against = "contradict" if any(each.contradicted for each in verdict.undecided) else "do not contradict"
        power = f"; in {verdict.calls} calls an answer shows whose probability is off by {unseen(verdict.calls):.2f}"
        yield f"{verdict.called:,} ordinary calls {against} the laws that were enumerated{power}."


def coverage(verdict: Verdict) -> Iterator[str]:
    """What was covered and what was not."""
    cases = list(dict.fromkeys(judged.case.name for judged in verdict.judged))
    tables = list(dict.fromkeys(judged.case.table.name for judged in verdict.judged))
    dtypes = list(dict.fromkeys(judged.case.dtype for judged in verdict.judged))
    sizes = sorted({(judged.case.vocab, judged.case.length) for judged in verdict.judged})
    refused = f", {verdict.refusals} with rows of nan" if verdict.refusals else ""
    named = ", ".join(tables) if len(tables) <= MOST_NAMES else f"{len(tables)} tables"
    if cases:
        yield (
            f"Covered: {verdict.function} with adapter {verdict.adapter}, {several(len(verdict.judged), 'law')} on "
            f"{several(len(cases), 'case')} ({named}; {', '.join(dtypes)}){refused}; V, K = "
            f"{'; '.join(f'{v}, {k}' for v, k in sizes)}; exact rationals of the floats used ({NUMBER_TYPE})."
        )
    else:
        yield f"Covered: {verdict.function} with adapter {verdict.adapter}, no law{refused}."
    batch = max((judged.case.batch for judged in verdict.judged), default=1)
    alone = "requests of one call taken together; " if batch > 1 else "several requests in one call; "
    yield (
        f"Not covered: {alone}other tables, sizes and shapes; the random generator itself, taken to be uniform and "
        "independent; kernels of other devices; several steps in a row; the model's own rows."
    )


def several(number: int, what: str) -> str:
    """A number of things.

    >>> several(1, "law"), several(2, "law")
    ('1 law', '2 laws')
    """
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def others(number: int) -> str:
    """How many more cases show something."""
    return f" and {several(number, 'other case')}" if number else ""


def rounding(verdict: Verdict) -> str:
    """How exact `lossless` is."""
    total = len(verdict.judged)
    if verdict.exact == total:
        return "exactly"
    largest = max(judged.distance for judged in verdict.judged)
    allowed = max(judged.allowed for judged in verdict.judged)
    some = f"exactly on {verdict.exact} of {total} laws, " if verdict.exact else ""
    if verdict.guarded:
        names = ", ".join(dict.fromkeys(judged.case.name for judged in verdict.guarded[:3]))
        return (
            f"{some}up to a numeric guard or a lower precision inside the function: TV at most {decimal(largest)}, "
            f"more than roundings explain (on {names}) and less than {decimal(to_fraction(GUARD))}"
        )
    if verdict.tolerance and any(judged.distance > judged.allowed - verdict.tolerance for judged in verdict.judged):
        return f"{some}up to the tolerance asked for: TV at most {decimal(largest)}"
    return f"{some}up to rounding: TV at most {decimal(largest)}, bound {decimal(allowed)}"


def closing(verdict: Verdict) -> str:
    """The last line: the verdict, with what it rests on where that is not the enumeration of everything."""
    if verdict.sampled is not None:
        headline = verdict.sampled.headline
        return f"{headline[0].upper()}{headline[1:]}: {verdict.basis}."
    if verdict.basis:
        return f"{decided(verdict)} {verdict.basis[0].upper()}{verdict.basis[1:]}."
    return decided(verdict)


def decided(verdict: Verdict) -> str:
    """The verdict alone."""
    open_cases = len({one.case for one in verdict.undecided})
    rest = f" ({open_cases} cases were not decided)" if open_cases else ""
    tv = f"TV up to {decimal(verdict.distance)}"
    if verdict.kind == LOSSLESS:
        words = f" although declared as {verdict.declared.text!r}" if verdict.declared else ""
        return f"LOSSLESS, {rounding(verdict)}{words}."
    if verdict.kind == SLOWER:
        return f"LOSSLESS BUT SLOWER THAN THE RATIO RULE, {rounding(verdict)}."
    if verdict.kind == BIASED:
        meant = " for the declared target, too" if verdict.declared else ""
        return f"BIASED{meant}: {tv}{rest}."
    if verdict.kind == LOSSY:
        assert verdict.declared is not None
        if verdict.declared.weight is not None:
            return (
                f"LOSSY BY DESIGN: {verdict.declared.text}: follows the declared target, {rounding(verdict)}; TV from "
                f"the target itself up to {shown(verdict.lost)}{rest}."
            )
        return f"LOSSY BY DESIGN: {verdict.declared.text}: {tv}{rest}."
    if verdict.kind == BROKEN:
        topics = list(dict.fromkeys(f.topic for f in verdict.findings if not f.remark))
        right = "; the law itself is right" if verdict.judged else "; no law is known"
        law = f"; {tv}" if verdict.worst is not None else right
        return f"CONTRACT BROKEN: {'; '.join(topics)}{law}{rest}."
    if not verdict.undecided:
        return "NOT ENUMERABLE: these tables have no law."
    cases = {one.case for one in verdict.undecided} | {judged.case.name for judged in verdict.judged}
    return f"NOT ENUMERABLE: {open_cases} of {several(len(cases), 'case')}."


def as_text(verdict: Verdict) -> str:
    """The same as plain text, for a failing test: the verdict first."""
    out = io.StringIO()
    console = Console(file=out, width=100, highlight=False, markup=False, color_system=None)
    show_audit(console, verdict)
    lines = out.getvalue().splitlines()
    return "\n".join([lines[-1], "", *(line.rstrip() for line in lines[:-1])])


def repeat(again: Callable[[], Verdict]) -> int:
    """What a saved counterexample prints, and its exit status: that of the command."""
    try:
        verdict = again()
    except InputError as error:
        print(f"{sys.argv[0]}: {error}", file=sys.stderr)
        return 2
    show_audit(plain_console(), verdict)
    return verdict.status


def as_json(verdict: Verdict) -> dict[str, Any]:
    """Everything, fractions as strings."""
    return {
        "verdict": verdict.kind,
        "closing": closing(verdict),
        "mode": verdict.mode,
        "basis": verdict.basis,
        "hint": verdict.hint,
        "sampled": verdict.sampled and verdict.sampled.as_plain(),
        "function": verdict.function,
        "adapter": verdict.adapter,
        "declared": verdict.declared.text if verdict.declared else None,
        "tolerance": str(verdict.tolerance),
        "distance": str(verdict.distance),
        "lost": str(verdict.lost),
        "exact": verdict.exact,
        "laws": [law_as_json(judged) for judged in verdict.judged],
        "worst": None if verdict.worst is None else verdict.judged.index(verdict.worst),
        "departure": departure_as_json(verdict.departure),
        "findings": [
            {
                "topic": f.topic,
                "text": f.text,
                "case": f.case,
                "others": f.others,
                "cause": f.cause,
                "remark": f.remark,
            }
            for f in verdict.findings
        ],
        "undecided": [{"case": one.case, "why": one.why} for one in verdict.undecided],
        "runs": verdict.runs,
        "calls": verdict.called,
        "random_variables": vars(verdict.counted),
        "seconds": round(verdict.seconds, 6),
    }


def law_as_json(judged: Judged) -> dict[str, Any]:
    """One law with its case."""
    wrong = judged.wrong
    return {
        "case": judged.case.name,
        "request": judged.request.index,
        "variant": judged.request.variant,
        "context": key(judged.request.context),
        "law": {key(tokens): str(mass) for tokens, mass in judged.law.items()},
        "failures": {text: str(mass) for text, mass in judged.failures.items()},
        "distance": str(judged.distance),
        "lost": str(judged.lost),
        "allowed": str(judged.allowed),
        "counterexample": wrong
        and {"string": key(wrong.string), "expected": str(wrong.expected), "actual": str(wrong.actual)},
        "accepted": str(judged.accepted),
        "ratio_rule": str(judged.baseline.ratio),
        "optimum": None if judged.baseline.optimum is None else str(judged.baseline.optimum),
        "runs": judged.runs,
    }


def departure_as_json(departure: Departure | None) -> dict[str, Any] | None:
    """The line, and what is off there."""
    if departure is None:
        return None
    site = departure.site
    return {
        "what": departure.what,
        "context": key(departure.context),
        "token": departure.token,
        "expected": str(departure.expected),
        "actual": str(departure.actual),
        "file": site and site.file,
        "line": site and site.line,
        "source": departure.source,
    }
