"""Small models with names, on which the numbers of the documentation are computed."""

from __future__ import annotations

from rheo_proof.exact.law import Law
from rheo_proof.exact.model import Prefix, ToyModel

_EVEN = (Law.read(["1/2", "3/10", "1/5"]), Law.read(["3/10", "1/10", "3/5"]))
_ODD = {
    0: (Law.read(["1/4", "1/2", "1/4"]), Law.read(["1/2", "1/4", "1/4"])),
    1: (Law.read(["1/3", "1/3", "1/3"]), Law.read(["1/6", "1/3", "1/2"])),
    2: (Law.read(["3/5", "1/5", "1/5"]), Law.read(["1/5", "2/5", "2/5"])),
}


def toy(depth: int) -> ToyModel:
    """The model of the zoo, V = 3: one pair of laws at the root, another after each token, from there on the first.

    >>> model = toy(2)
    >>> model.target(()), model.draft((2,)), model.target((2, 0)) == model.target(())
    (Law(1/2, 3/10, 1/5), Law(1/5, 2/5, 2/5), True)
    """

    def pair(prefix: Prefix) -> tuple[Law, Law]:
        return _ODD[prefix[0]] if len(prefix) == 1 else _EVEN

    return ToyModel(3, depth, lambda u: pair(u)[0], lambda u: pair(u)[1], "toy")


def two_tokens(depth: int) -> ToyModel:
    """V = 2, every prefix with p = (1/3, 2/3) and q = (2/3, 1/3): the example of arXiv 2403.10444."""
    p, q = Law.read(["1/3", "2/3"]), Law.read(["2/3", "1/3"])
    return ToyModel(2, depth, lambda u: p, lambda u: q, "two tokens")
