"""Pictures of comparisons, by matplotlib, which is loaded here and nowhere else."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from rheo_proof.exact.errors import InputError

FORMATS = (".svg", ".png")
COLOURS = {"lossless": "#4477aa", "lossless here": "#aa3377", "lossy by design": "#ccbb44", "biased": "#ee6677"}
"""Distinct for colour-blind readers, too; the legend names them."""


class Bar(NamedTuple):
    """A scheme with its expected tokens and the bound on them."""

    name: str
    verdict: str
    tokens: Fraction
    bound: Fraction | None


def check_plot(path: str) -> None:
    """Raise `InputError` now if matplotlib is missing or the file is neither SVG nor PNG."""
    if Path(path).suffix.lower() not in FORMATS:
        raise InputError(f"{path}: a plot is written to a file that ends in .svg or .png")
    _pyplot()


def draw_bars(path: str, bars: Sequence[Bar], title: str) -> None:
    """Expected tokens of each scheme as a bar, the bound of its drafting as a mark."""
    plt = _pyplot()
    figure, axes = plt.subplots(figsize=(8, 1.2 + 0.2 * len(bars)), layout="constrained")
    places = [len(bars) - position for position in range(len(bars))]
    tokens = [round(float(bar.tokens), 6) for bar in bars]
    axes.barh(places, tokens, color=[COLOURS[bar.verdict] for bar in bars], height=0.7)
    marks = [(round(float(bar.bound), 6), place) for bar, place in zip(bars, places, strict=True) if bar.bound]
    for x, y in marks:
        axes.plot([x, x], [y - 0.45, y + 0.45], color="black", linewidth=1.5)
    axes.set_yticks(places, [bar.name for bar in bars], fontsize=8)
    axes.set_ylim(0.3, len(bars) + 0.7)
    axes.set_xlim(left=1)
    axes.set_xlabel("expected tokens of a step, E[tau] + 1")
    axes.set_title(title, fontsize=10)
    kinds = [kind for kind in COLOURS if any(bar.verdict == kind for bar in bars)]
    handles = [plt.Rectangle((0, 0), 1, 1, color=COLOURS[kind]) for kind in kinds]
    labels = list(kinds)
    if marks:
        handles.append(plt.Line2D([], [], color="black", linewidth=1.5))
        labels.append("bound of its own trees")
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize=8, frameon=False)
    _write(figure, path)


def draw_curves(
    path: str, xs: Sequence[str], curves: Mapping[str, Sequence[Fraction | None]], labels: Sequence[str]
) -> None:
    """Curves over the same points; `labels` are title, x and y."""
    plt = _pyplot()
    figure, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
    styles = ("-", "--", ":", "-.")
    for number, (name, values) in enumerate(curves.items()):
        points = [(x, round(float(value), 6)) for x, value in enumerate(values) if value is not None]
        axes.plot(
            [x for x, _ in points],
            [y for _, y in points],
            label=name,
            color=f"C{number % 10}",
            linestyle=styles[number % 4],
            marker="os^vD"[number % 5],
            markersize=4,
            linewidth=1.2,
        )
    title, x_label, y_label = labels
    axes.set_xticks(range(len(xs)), xs)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.set_title(title, fontsize=10)
    figure.legend(loc="outside right center", fontsize=8, frameon=False)
    _write(figure, path)


def _pyplot() -> Any:
    """pyplot without a window; text stays text in an SVG, and equal pictures are equal files."""
    os.environ.setdefault("MPLBACKEND", "Agg")
    try:
        import matplotlib
    except ImportError:
        raise InputError("needs matplotlib; pip install 'rheo-proof[plot]'") from None
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "rheo-proof", "font.family": "DejaVu Sans"})
    return plt


def _write(figure: Any, path: str) -> None:
    suffix = Path(path).suffix.lower()
    try:
        figure.savefig(path, format=suffix[1:], dpi=150, metadata={"Date": None} if suffix == ".svg" else None)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        _pyplot().close(figure)
