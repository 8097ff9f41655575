"""A process in the two languages of probabilistic model checkers: PRISM's commands, and DRN, Storm's list of states.

Both are plain text with exact fractions, the same for the same process every time. PRISM text (prismmodelchecker.org)
is read by PRISM, Storm and others, DRN (stormchecker.org) by Storm, which reads it much faster if states are many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rheo_proof.exact.number import Q
from rheo_proof.theorems.process import Process

WIDEST = 2**63 - 1
"""Storm reads a whole number in PRISM text as 64 bits; a longer one has to be written as a decimal, and stays exact."""


def prism(process: Process, title: Sequence[str] = ()) -> str:
    """The process in the PRISM language: one module, one variable `s`, one command for each choice of a state.

    >>> from rheo_proof.theorems.process import one
    >>> third, ends = Q(1, 3), (one((1, Q(1))), one((2, Q(1))))
    >>> coin = Process((one((1, third), (2, 1 - third)), *ends), ("a", "b", "c"), {"out_0": (1,)})
    >>> print(prism(coin), end="")
    dtmc
    <BLANKLINE>
    module step
      s : [0..2] init 0;
    <BLANKLINE>
      // a
      [] s=0 -> 1/3 : (s'=1) + 2/3 : (s'=2);
      // b
      [] s=1 -> 1 : (s'=1);
      // c
      [] s=2 -> 1 : (s'=2);
    endmodule
    <BLANKLINE>
    label "out_0" = s=1;
    """
    lines = [*_comments(title), process.kind, "", "module step"]
    lines += [f"  s : [0..{len(process.choices) - 1}] init 0;", ""]
    for state, choices in enumerate(process.choices):
        lines.append(f"  // {process.words[state]}")
        for words, row in choices:
            ways = " + ".join(f"{_prism_number(mass)} : (s'={target})" for target, mass in row)
            lines.append(f"  [] s={state} -> {ways};{f' // {words}' if words else ''}")
    lines += ["endmodule", ""]
    for label, where in process.labels.items():
        lines.append(f'label "{label}" = {" | ".join(map(_between, _runs(where))) or "false"};')
    return "\n".join(lines) + "\n"


def _comments(title: Sequence[str]) -> list[str]:
    plain = [" ".join(line.split()).encode("ascii", "backslashreplace").decode() for line in title]
    return [*(f"// {line}" for line in plain), ""] if plain else []


def _prism_number(mass: Q) -> str:
    above, below = int(mass.numerator), int(mass.denominator)
    if below == 1:
        return str(above)
    point = ".0" if below > WIDEST else ""
    return f"{above}{point}/{below}{point}"


def _runs(where: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Ascending numbers as ranges, each with its first and its last.

    >>> list(_runs((1, 2, 3, 7)))
    [(1, 3), (7, 7)]
    """
    first = last = None
    for state in where:
        if last is not None and first is not None and state > last + 1:
            yield first, last
            first = None
        first = state if first is None else first
        last = state
    if first is not None and last is not None:
        yield first, last


def _between(run: tuple[int, int]) -> str:
    first, last = run
    return f"s={first}" if first == last else f"(s>={first} & s<={last})"


def drn(process: Process, title: Sequence[str] = (), value_type: str = "rational") -> str:
    """The process in DRN: every state with its labels, its choices and their probabilities.

    `value_type` "parametric" says that the numbers are rational functions, constant ones: some of Storm's algorithms,
    such as its bisimulation, take these where they do not take rationals.

    >>> from rheo_proof.theorems.process import one
    >>> print(drn(Process((one((0, Q(1))),), ("the end",), {"out_0": (0,)})), end="")
    @type: DTMC
    @value_type: rational
    @parameters
    <BLANKLINE>
    @reward_models
    <BLANKLINE>
    @nr_states
    1
    @nr_choices
    1
    @model
    // the end
    state 0 init out_0
        action 0
            0 : 1
    """
    names: list[list[str]] = [["init"] if state == 0 else [] for state in range(len(process.choices))]
    for label, where in process.labels.items():
        for state in where:
            names[state].append(label)
    lines = [*_comments(title), f"@type: {process.kind.upper()}"]
    lines += [f"@value_type: {value_type}", "@parameters", "", "@reward_models", ""]
    lines += ["@nr_states", str(len(process.choices))]
    lines += ["@nr_choices", str(sum(map(len, process.choices))), "@model"]
    for state, choices in enumerate(process.choices):
        lines.append(f"// {process.words[state]}")  # within a state Storm takes no comments
        lines += [f"//   action {action}: {choice.words}" for action, choice in enumerate(choices) if choice.words]
        lines.append(" ".join(["state", str(state), *names[state]]))
        for action, choice in enumerate(choices):
            lines += [f"    action {action}", *(f"        {target} : {mass}" for target, mass in choice.row)]
    return "\n".join(lines) + "\n"


FORMATS: dict[str, Callable[[Process, Sequence[str]], str]] = {"prism": prism, "drn": drn}
"""The languages by the name that `--format` takes."""
