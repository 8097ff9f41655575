"""The figures of a run on the console."""

from __future__ import annotations

from rheo_gpu.llm.statistics import PARTS, Totals
from rich import box
from rich.console import Console
from rich.table import Table


class Plain(Console):
    """A console that leaves a closed pipe to the entry point."""

    def on_broken_pipe(self) -> None:
        """Pass it on."""
        raise BrokenPipeError


def show(method: str, depth: int, totals: Totals, alone: Totals | None) -> None:
    """Tokens a step, acceptance by level, where the time went, and the speed beside decoding without a draft."""
    out = Plain(highlight=False, markup=False)
    if not out.is_terminal:
        out = Plain(highlight=False, markup=False, width=140)
    out.print()
    out.print(
        f"{method}: {totals.tokens} tokens in {totals.steps} steps; a step emits {totals.tokens_per_step:.2f} tokens "
        "(before the text is cut at its end)",
        soft_wrap=True,
    )
    if totals.lengths.keys() - {0}:
        out.print(_levels(totals, depth))
    out.print(_times(method, totals, alone))
    if alone is not None:
        out.print(
            f"{totals.speed:.1f} tokens/s, autoregressive {alone.speed:.1f}: {totals.speed / alone.speed:.2f} times as "
            f"fast, on {alone.tokens} tokens each, without the prefill",
            soft_wrap=True,
        )
    else:
        out.print(f"{totals.speed:.1f} tokens/s, without the prefill", soft_wrap=True)


def _levels(totals: Totals, depth: int) -> Table:
    table = _table("level", "walks that came here", "went on with a draft token", "share")
    for level, (walks, accepted) in enumerate(totals.acceptance(depth), start=1):
        if walks:
            table.add_row(str(level), str(walks), str(accepted), f"{accepted / walks:.2f}")
    return table


def _times(method: str, totals: Totals, alone: Totals | None) -> Table:
    """Milliseconds a step by part, and the prefill in whole."""
    columns = [(method, totals)] + ([("autoregressive", alone)] if alone is not None else [])
    table = _table("milliseconds a step", *(name for name, _ in columns))
    for part in PARTS[1:]:
        table.add_row(part, *(f"{1e3 * each.seconds[part] / max(each.steps, 1):.2f}" for _, each in columns))
    table.add_row("together", *(f"{1e3 * each.decoding / max(each.steps, 1):.2f}" for _, each in columns))
    table.add_row("prefill, once", *(f"{1e3 * each.seconds['prefill']:.2f}" for _, each in columns))
    return table


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for i, column in enumerate(columns):
        table.add_column(column, justify="right" if i else "left")
    return table
