"""Results on the console: a table for each scheme, one model in full, counterexamples, and what was covered."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction

from rich import box
from rich.console import Console
from rich.table import Table

from rheo_proof.exact.model import ToyModel, key
from rheo_proof.exact.number import NUMBER_TYPE
from rheo_proof.schemes.scheme import READABLE, Parameters
from rheo_proof.theorems.counterexample import Counterexample
from rheo_proof.theorems.instances import Result
from rheo_proof.theorems.zoo import EVERY

LONG = 18
"""In a table, fractions with more characters than this are shown as a decimal only; JSON has all of them."""

SHORT = 8
"""The two ends of a range are shown as fractions up to this many characters each."""


class Plain(Console):
    """A console that leaves a closed pipe to the entry point; rich would exit with status 1, which means refuted."""

    def on_broken_pipe(self) -> None:
        """Pass it on."""
        raise BrokenPipeError


def plain_console(stderr: bool = False) -> Console:
    """A console; in a pipe it is wide and plain."""
    plain = Plain(stderr=stderr, highlight=False, markup=False)
    return plain if plain.is_terminal else Plain(stderr=stderr, highlight=False, markup=False, width=140)


def decimal(value: Fraction) -> str:
    """Four decimals, rounded, without going through a float.

    >>> decimal(Fraction(2, 3)), decimal(Fraction(1, 2))
    ('0.6667', '0.5000')
    """
    scaled = round(value * 10000)
    return str(Decimal(scaled).scaleb(-4).quantize(Decimal("0.0001")))


def number(value: Fraction, longest: int = 60) -> str:
    """A fraction with its decimal beside it; a whole number alone; a longer fraction as `~` and its decimal.

    >>> number(Fraction(137, 60)), number(Fraction(0))
    ('137/60 (2.2833)', '0')
    """
    text = str(value)
    if value.denominator == 1:
        return text
    return f"{text} ({decimal(value)})" if len(text) <= longest else f"~ {decimal(value)}"


def table(*columns: str, title: str = "") -> Table:
    """A table in the one style that is used; the first column is text, the others are numbers."""
    made = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", pad_edge=False)
    for position, column in enumerate(columns):
        made.add_column(column, justify="right" if position else "left", overflow="fold")
    return made


def show_results(console: Console, results: Sequence[Result]) -> None:
    """One table for each scheme and rule, a row for each m."""
    groups: dict[tuple[str, str], dict[int, list[Result]]] = {}
    for result in results:
        p = result.entry.parameters
        groups.setdefault((result.entry.name, p.verify), {}).setdefault(p.head, []).append(result)
    for (name, verify), rows in groups.items():
        named = EVERY[name]
        title = f"{name}: {named.line}" + ("" if name == verify else f" [verify {verify}]")
        shown = table(
            "m",
            "models",
            "lossless",
            "lossy" if named.lossy else "biased",
            "largest TV",
            "mean tokens",
            "range",
            "classes",
            "drafts",
            "time",
        )
        shown.title = title
        for m, row in rows.items():
            shown.add_row(str(m) if "head" in named.reads else "-", *_row(row))
        console.print(shown)


def _row(row: Sequence[Result]) -> list[str]:
    decided = [result for result in row if result.tv is not None]
    tokens = [result.expected_tokens for result in row if result.expected_tokens is not None]
    verdicts = [result.verdict for result in row]
    return [
        str(len(row)),
        str(verdicts.count("lossless")),
        str(verdicts.count("biased") + verdicts.count("lossy by design")),
        number(max(result.tv or Fraction(0) for result in decided), LONG) if decided else "undecided",
        _mean(tokens),
        _range(tokens),
        f"{sum(result.classes for result in row):,}",
        f"{sum(result.assignments for result in row):,}",
        f"{sum(result.seconds for result in row):.2f} s",
    ]


def _mean(values: Sequence[Fraction]) -> str:
    return number(sum(values, Fraction(0)) / len(values), LONG) if values else "-"


def _range(values: Sequence[Fraction]) -> str:
    """Smallest and largest value, as fractions when both are short."""
    if not values:
        return "-"
    ends = list(dict.fromkeys((min(values), max(values))))
    short = max(len(str(value)) for value in ends) <= SHORT
    return " to ".join(number(value) if short else f"~ {decimal(value)}" for value in ends)


def show_law(console: Console, result: Result, most: int) -> None:
    """One model in full: the likeliest emitted strings with their probabilities."""
    assert result.expected_tokens is not None
    head = f", m = {result.entry.parameters.head}" if "head" in result.entry.named.reads else ""
    console.print(
        f"One model in full: {_source(result)}, {result.entry.name}{head}, "
        f"expected tokens {number(result.expected_tokens)}",
        style="bold",
    )
    rates = ", ".join(f"{level}: {number(rate)}" for level, rate in enumerate(result.acceptance, 1))
    console.print(f"Accepted draft tokens, Pr[at least l]: {rates}")
    shown = table("emitted string", "probability")
    for tokens, mass in result.likely[:most]:
        shown.add_row(key(tokens), number(mass, LONG))
    console.print(shown)
    if result.strings > most:
        console.print(f"... and {result.strings - most} more strings; --json writes all of them.")


def _source(result: Result) -> str:
    source = result.source
    return source.name or f"{source.family} {source.seed}"


def show_counterexample(console: Console, found: Counterexample) -> None:
    """The smallest model found, its laws, the first wrong string, the exact distance."""
    p = found.parameters
    console.print(f"Smallest counterexample found to {found.name}", style="bold red")
    reads = EVERY[found.name].reads
    head = f", m = {p.head}" if "head" in reads else ""
    rule = f", verify {p.verify}" if "verify" in reads else ""
    console.print(f"V = {found.model.vocab}, {describe(p, reads)}{head}{rule}")
    shown = table("prefix", "target p", "draft q")
    for prefix, target, draft in laws(found.model, p.depth):
        shown.add_row(prefix, target, draft)
    console.print(shown)
    wrong = found.wrong
    console.print(
        f"The output starts with {key(wrong.string)} with probability {number(wrong.actual)}; "
        f"the target gives {number(wrong.expected)}."
    )
    console.print(f"Total variation distance of the completed output: {number(found.tv)}")


def laws(model: ToyModel, depth: int) -> Iterable[tuple[str, str, str]]:
    """Prefix, target law and draft law, for every prefix that target or draft can produce."""
    for u in model.reachable(depth):
        draft = " ".join(map(str, model.draft(u))) if len(u) < depth else ""
        yield key(u) or "(root)", " ".join(map(str, model.target(u))), draft


def describe(p: Parameters, reads: Collection[str] = READABLE) -> str:
    """The parameters that hold for a whole table, as far as a scheme reads them.

    >>> describe(Parameters(slots=2), {"depth", "slots"})
    'D = 3, K = 2'
    """
    sizes = {"depth": f"D = {p.depth}", "slots": f"K = {p.slots}", "beam": f"B = {p.beam or p.slots}"}
    parts = [text for name, text in {**sizes, "nodes": f"N = {p.nodes}"}.items() if name in reads]
    if p.sparse is not None:
        parts.append(f"S = {p.sparse}")
    if p.proxy != "paper":
        parts.append(f"proxy {p.proxy} x {p.proxy_scale}")
    if p.fill_scale != 1:
        parts.append(f"fill x {p.fill_scale}")
    return ", ".join(parts)


def show_coverage(console: Console, results: Sequence[Result], agreed: int, notes: Sequence[str]) -> None:
    """The closing lines: what has been decided, for what, and what not."""
    sizes: dict[str, list[str]] = {}
    for result in results:
        held_by = sizes.setdefault(describe(result.entry.parameters, result.entry.named.reads), [])
        held_by.append(result.entry.name)
    held = "; ".join(
        text if len(sizes) == 1 else f"{text} ({', '.join(dict.fromkeys(names))})" for text, names in sizes.items()
    )
    sources = dict.fromkeys(result.source for result in results)
    families = ", ".join(dict.fromkeys(source.name or source.family for source in sources))
    first = results[0]
    kinds = ("lossless", "biased", "lossy by design", "undecided")
    count = {v: sum(result.verdict == v for result in results) for v in kinds}
    lossy = f"{count['lossy by design']} lossy by design, " if count["lossy by design"] else ""
    console.print(
        f"Decided: {count['lossless']} lossless, {count['biased']} biased, {lossy}{count['undecided']} undecided, "
        f"of {len(results)} (scheme, m, model)."
    )
    whys = list(dict.fromkeys(result.why for result in results if result.why))
    for why in whys:
        console.print(f"Undecided because: {why}.")
    show_remedy(console, whys)
    plural = "model" if len(sources) == 1 else "models"
    console.print(
        f"Covered: statement 'instance' for {len(sources)} {plural} ({families}), V = {first.source.vocab}, "
        f"{held}{_heads(results)}; exact rationals ({NUMBER_TYPE})."
    )
    if agreed:
        console.print(
            f"Checked: replay, which shares no enumeration code, finds the same laws on {agreed} small models."
        )
    for note in notes:
        console.print(f"Note: {note}.")
    console.print(
        "Not covered: other models and sizes, other tree policies; floating point, random generators and kernels of "
        "an implementation."
    )


def _heads(results: Sequence[Result]) -> str:
    """The values of m, and whose they are if some schemes have none."""
    having = [result for result in results if "head" in result.entry.named.reads]
    if not having:
        return ""
    heads = ", ".join(map(str, sorted({result.entry.parameters.head for result in having})))
    names = ", ".join(dict.fromkeys(result.entry.name for result in having))
    return f", m = {heads}" + (f" ({names})" if len(having) < len(results) else "")


def show_remedy(console: Console, whys: Iterable[str]) -> None:
    """What would decide what was not, in one line; nothing if no limit was met."""
    met = {why.rpartition(" ")[2] for why in whys}
    options = [option for word, option in (("classes", "--max-classes"), ("time", "--timeout")) if word in met]
    if options:
        console.print(f"To decide more: a larger {' or '.join(options)}; or a smaller --vocab, --depth or --slots.")
