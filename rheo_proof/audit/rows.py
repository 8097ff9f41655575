"""Tables written down: rows as integer weights, and how a handful of them is spread over all prefixes.

A function that reads the wrong row must give another law than one that reads the right one, so every request, depth and
prefix gets its own pair of rows: a pool of pairs is gone through again and again, with the tokens renamed each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations, product

from rheo_proof.audit.cases import Pairs, Values
from rheo_proof.exact.model import Prefix

NAN = float("nan")


def weighed(text: str) -> Values:
    """A row from integer weights; `nan` makes a row of nan.

    >>> [str(x) for x in weighed("5 3 2")]
    ['1/2', '3/10', '1/5']
    """
    words = text.split()
    if "nan" in words:
        return (NAN,) * len(words)
    total = sum(map(int, words))
    return tuple(Fraction(int(word), total) for word in words)


def paired(text: str) -> tuple[Values, Values]:
    """Target and draft row, written `5 3 2 / 2 3 5`."""
    p, _, q = text.partition("/")
    return weighed(p), weighed(q)


def same(text: str) -> str:
    """Pairs of equal rows, `5 3 2 / 5 3 2`, from the rows of a pool that stand left of the stroke."""
    return "; ".join(f"{p} / {p}" for p in (pair.partition("/")[0].strip() for pair in text.split(";")))


def renamed(row: Values, names: Sequence[int]) -> Values:
    """The row after token x has become `names[x]`.

    >>> renamed((Fraction(1), Fraction(2), Fraction(3)), (1, 2, 0))
    (Fraction(3, 1), Fraction(1, 1), Fraction(2, 1))
    """
    moved = dict(zip(names, row, strict=True))
    return tuple(moved[x] for x in range(len(row)))


def namings(vocab: int) -> list[tuple[int, ...]]:
    """All renamings of the tokens: first the rotations, each of which changes a row with two equal entries."""
    rotations = [tuple((x + turn) % vocab for x in range(vocab)) for turn in range(vocab)]
    return rotations + [names for names in permutations(range(vocab)) if names not in rotations]


def prefixes(vocab: int, depth: int) -> list[Prefix]:
    """All prefixes of length 0..depth, shorter ones first."""
    return [u for length in range(depth + 1) for u in product(range(vocab), repeat=length)]


def spread(pool: str, vocab: int, length: int, start: int = 0) -> dict[Prefix, tuple[Values, Values]]:
    """A pair of rows for each prefix of length 0..K, from position `start` of the endless list of renamed pairs.

    >>> rows = spread("5 3 2 / 2 3 5; 6 3 1 / 1 6 3", 3, 1)
    >>> [[str(x) for x in rows[u][0]] for u in ((), (0,), (1,))]
    [['1/2', '3/10', '1/5'], ['3/5', '3/10', '1/10'], ['1/5', '1/2', '3/10']]
    """
    pairs = [paired(text) for text in pool.split(";")]
    names = namings(vocab)
    rows: dict[Prefix, tuple[Values, Values]] = {}
    for number, prefix in enumerate(prefixes(vocab, length), start):
        p, q = pairs[number % len(pairs)]
        naming = names[number // len(pairs) % len(names)]
        rows[prefix] = renamed(p, naming), renamed(q, naming)
    return rows


def rejecting(vocab: int, length: int, at: int) -> Pairs:
    """Rows of a request that never branches either: its drafts are certain, accepted before position `at`, and rejected
    there, since the target is certain of another token."""
    rows: dict[Prefix, tuple[Values, Values]] = {}
    for number, prefix in enumerate(prefixes(vocab, length)):
        drafted, wanted = number % vocab, (number + (len(prefix) == at)) % vocab
        q, p = (tuple(Fraction(int(x == token)) for x in range(vocab)) for token in (drafted, wanted))
        rows[prefix] = p, q
    return rows


def quiet(pool: str, vocab: int, length: int, start: int) -> Pairs:
    """Rows of a request that never branches: p = q, and after K tokens a target with one token only."""
    rows = spread(same(pool), vocab, length, start)
    for number, prefix in enumerate(rows):
        if len(prefix) == length:
            token = number % vocab
            certain = tuple(Fraction(int(x == token)) for x in range(vocab))
            rows[prefix] = certain, rows[prefix][1]
    return rows
