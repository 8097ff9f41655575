"""The smallest tables on which the faults of public reports show, by number of the report.

Only rows are kept here, not the faults: several reports need the same rows. A row that is given for the root alone
holds after every prefix.
"""

from __future__ import annotations

from rheo_proof.audit.cases import Pairs, Table
from rheo_proof.audit.rows import paired
from rheo_proof.exact.model import Prefix


def _everywhere(text: str) -> Pairs:
    return {(): paired(text)}


def _by_prefix(**rows: str) -> Pairs:
    """Rows by prefix: `root`, or the tokens after a `t`, as in `t01`."""
    return {_prefix(name): paired(text) for name, text in rows.items()}


def _prefix(name: str) -> Prefix:
    return () if name == "root" else tuple(int(digit) for digit in name[1:])


def _toy(
    name: str, about: str, *rows: Pairs, length: int = 1, tags: str = "", eos: int | None = None, shift: float = 0.0
) -> Table:
    vocab = len(rows[0][()][0])
    named = frozenset({"toy", *tags.split()})
    return Table(name, about, vocab, length, rows, named, tuple(range(len(rows))), shift, eos)


_LIST: dict[str, Table] = {
    "R01 R02 R42": _toy("R01", "a draft that likes token 0 more than the target", _everywhere("5 3 2 / 6 3 1")),
    "R01-equal R41": _toy("R01-equal", "two tokens, nearly even, p = q", _everywhere("51 49 / 51 49"), tags="equal"),
    "R03": _toy("R03", "a draft with a tail", _everywhere("5 3 2 / 4 3 3")),
    "R06": _toy(
        "R06",
        "the likelier first token is not that of the likeliest string",
        _by_prefix(root="11 9 / 11 9", t0="1 1 / 1 1", t1="9 1 / 9 1"),
        length=2,
        tags="equal",
    ),
    "R09": _toy(
        "R09",
        "logits 20.06 and 20, which half precision takes for equal",
        _everywhere("1029991 970009 / 1029991 970009"),
        tags="equal",
        shift=20.723_597_1,
    ),
    "R10": _toy("R10", "1/2, 1/3 and 1/6 at temperature 1/2", _everywhere("9 4 1 / 1 1 1")),
    "R12": _toy(
        "R12",
        "each earlier occurrence halves a weight",
        _by_prefix(
            root="1 1 / 1 1",
            t0="1 2 / 1 2",
            t1="2 1 / 2 1",
            t00="1 4 / 1 4",
            t01="1 1 / 1 1",
            t10="1 1 / 1 1",
            t11="4 1 / 4 1",
        ),
        length=2,
        tags="equal",
    ),
    "R14": _toy("R14", "eight tokens, for truncations", _everywhere("35 25 20 5 4 4 4 3 / 30 20 20 10 5 5 5 5")),
    "R16": _toy("R16", "a target of 1/2, 1/3 and 1/6", _everywhere("3 2 1 / 1 1 1")),
    "R17 R11 R13 R18 R19 R23 R40 R43": _toy(
        "R17", "an everyday pair of rows, V = 3", _everywhere("5 3 2 / 2 3 5"), length=2
    ),
    "R20": _toy(
        "R20",
        "two positions whose residuals have two tokens",
        _by_prefix(root="4 4 2 / 5 3 2", t0="1 3 6 / 7 2 1", t1="1 3 6 / 7 2 1", t2="1 3 6 / 7 2 1"),
        length=2,
    ),
    "R20-given R30": _toy(
        "R20-given", "certain drafts, an even target", _everywhere("1 1 / 1 0"), length=2, tags="one-hot"
    ),
    "R26 R15 R21": _toy("R26", "a certain draft of the likeliest token", _everywhere("5 3 2 / 1 0 0"), tags="one-hot"),
    "R28": _toy("R28", "a target of tenths, a dyadic draft", _everywhere("1 6 3 / 2 1 1")),
    "R29": _toy("R29", "the target likes token 0", _everywhere("3 1 / 2 2")),
    "R29-other": _toy("R29-other", "the target likes token 1", _everywhere("1 3 / 2 2")),
    "R29-three": _toy("R29-three", "an everyday pair of rows, exchanged", _everywhere("2 3 5 / 5 3 2")),
    "R33": _toy(
        "R33",
        "two requests that want opposite things",
        _everywhere("9 1 / 1 1"),
        _everywhere("1 9 / 1 1"),
        tags="batch",
    ),
    "R33-depths": _toy(
        "R33-depths",
        "drafts that want opposite things at two depths",
        _by_prefix(root="1 1 / 4 1", t0="1 1 / 1 4", t1="1 1 / 1 4"),
        length=2,
    ),
    "R35": _toy(
        "R35",
        "an end of sequence inside the draft",
        _by_prefix(root="1 1 / 0 1", t1="1 1 / 1 0"),
        length=2,
        tags="eos",
        eos=1,
    ),
    "R39": _toy("R39", "a certain draft of the second token", _everywhere("5 3 2 / 0 1 0"), tags="one-hot"),
    "R45": _toy("R45", "two best tokens", _everywhere("2 2 1 / 1 1 2"), tags="ties"),
    "R45-near": _toy(
        "R45-near", "two tokens that half precision takes for equal", _everywhere("1048575 1048577 / 1 1")
    ),
}

TOYS: dict[str, Table] = {number: table for numbers, table in _LIST.items() for number in numbers.split()}
"""By number of the report; several numbers may name one table."""
