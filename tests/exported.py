"""A reader of exported texts, written from the two languages alone: it imports nothing of the package.

It knows as much of them as the export uses, and computes what a model checker would: the law of the labels of end
states, and for a decision process the least and the largest probability of each.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache
from typing import NamedTuple

Row = dict[int, Fraction]
ZERO, ONE = Fraction(0), Fraction(1)


class Read(NamedTuple):
    """The rows of each state, and the states of each label."""

    kind: str
    rows: list[list[Row]]
    labels: dict[str, set[int]]

    def reach(self, label: str) -> tuple[Fraction, Fraction]:
        """The least and the largest probability to get to a state with this label."""
        goal = self.labels[label]

        @cache
        def value(state: int) -> tuple[Fraction, Fraction]:
            if state in goal:
                return ONE, ONE
            ways = []
            for row in self.rows[state]:
                if row == {state: ONE}:
                    ways.append((ZERO, ZERO))
                    continue
                parts = [(mass, value(target)) for target, mass in row.items()]
                ways.append((sum((m * v[0] for m, v in parts), ZERO), sum((m * v[1] for m, v in parts), ZERO)))
            return min(low for low, _ in ways), max(high for _, high in ways)

        return value(0)

    def outputs(self) -> dict[tuple[int, ...], tuple[Fraction, Fraction]]:
        """For every string that is a label `out_...`: the least and the largest probability."""
        names = [name for name in self.labels if name.startswith("out_")]
        return {tuple(map(int, name.split("_")[1:])): self.reach(name) for name in names}

    def law(self) -> dict[tuple[int, ...], Fraction]:
        """The law of the outputs of a chain."""
        assert self.kind == "dtmc"
        found = self.outputs()
        assert all(low == high for low, high in found.values())
        return {string: low for string, (low, _) in found.items()}


def number(text: str) -> Fraction:
    above, _, below = text.partition("/")
    return Fraction(above) / Fraction(below or "1")


def read_prism(text: str) -> Read:
    lines = [line.partition("//")[0].strip() for line in text.splitlines()]
    lines = [line for line in lines if line]
    kind, module, variable = lines[:3]
    last = re.fullmatch(r"s : \[0\.\.(\d+)\] init 0;", variable)
    assert (kind in ("dtmc", "mdp"), module) == (True, "module step")
    assert last is not None
    rows: list[list[Row]] = [[] for _ in range(int(last[1]) + 1)]
    end = lines.index("endmodule")
    for line in lines[3:end]:
        command = re.fullmatch(r"\[\] s=(\d+) -> (.+);", line)
        assert command is not None, line
        row: Row = {}
        for way in command[2].split(" + "):
            update = re.fullmatch(r"([\d./]+) : \(s'=(\d+)\)", way)
            assert update is not None, way
            assert int(update[2]) not in row
            row[int(update[2])] = number(update[1])
        rows[int(command[1])].append(row)
    labels: dict[str, set[int]] = {}
    for line in lines[end + 1 :]:
        label = re.fullmatch(r'label "(\w+)" = (.+);', line)
        assert label is not None, line
        assert label[1] not in labels
        labels[label[1]] = set()
        for part in label[2].split(" | "):
            between = re.fullmatch(r"s=(\d+)|\(s>=(\d+) & s<=(\d+)\)", part)
            assert between is not None, part
            one, first, final = between.groups()
            labels[label[1]] |= {int(one)} if one else set(range(int(first), int(final) + 1))
    return Read(kind, rows, labels)


def read_drn(text: str) -> Read:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("//")]
    head, body = lines[: lines.index("@model")], lines[lines.index("@model") + 1 :]
    assert head[1:4] == ["@value_type: rational", "@parameters", "@reward_models"]
    kind = head[0].removeprefix("@type: ").lower()
    rows: list[list[Row]] = []
    labels: dict[str, set[int]] = {}
    for line in body:
        words = line.split()
        if words[0] == "state":
            assert int(words[1]) == len(rows)
            for label in words[2:]:
                labels.setdefault(label, set()).add(len(rows))
            rows.append([])
        elif words[0] == "action":
            assert int(words[1]) == len(rows[-1])
            rows[-1].append({})
        else:
            target, colon, mass = words
            assert colon == ":"
            assert int(target) not in rows[-1][-1]
            rows[-1][-1][int(target)] = number(mass)
    assert head[-4:] == ["@nr_states", str(len(rows)), "@nr_choices", str(sum(map(len, rows)))]
    assert labels.pop("init") == {0}
    return Read(kind, rows, labels)


READERS = {"prism": read_prism, "drn": read_drn}
