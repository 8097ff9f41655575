"""Latents: uniform variables of which only as much is known as the audited code has asked.

A latent U is uniform on (0, 1). Comparisons with numbers narrow it to an interval. Used as a clock, E = -log U or
E = -log(1 - U), it joins a group of clocks whose joint region is a union of cones (`cones.py`). A latent is one or the
other: a clock that has been compared with other clocks has no interval any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rheo_proof.audit import cones
from rheo_proof.audit.errors import refuse
from rheo_proof.audit.sites import Site, user_site
from rheo_proof.exact.number import ONE, ZERO, Q

if TYPE_CHECKING:
    from rheo_proof.audit.draws import Draws

MOST_CONES = 2000


class Tally:
    """How many random variables a run drew, used, used more than once, and used in both phases."""

    def __init__(self) -> None:
        self.drawn = 0
        self.used = 0
        self.twice: list[Site] = []
        self.shared: list[Site] = []


class Variable:
    """What is counted of every random variable: where it was drawn, and in which phases it was looked at."""

    __slots__ = ("looks", "name", "phases", "run", "site")

    def __init__(self, run: Draws, name: str) -> None:
        self.run = run
        self.name = name
        self.site = user_site()
        self.looks = 0
        self.phases: set[str] = set()
        run.variables.append(self)

    def looked_at(self) -> None:
        """The code has asked a question about it."""
        self.looks += 1
        self.phases.add(self.run.phase)


class Latent(Variable):
    """A uniform variable on (0, 1), or, pinned, one of its ends. `python`: it stands for a float of Python's own."""

    __slots__ = ("closed", "group", "high", "low", "may_pin", "pinned", "python")

    def __init__(self, run: Draws, name: str, may_pin: bool, closed: bool = False) -> None:
        super().__init__(run, name)
        self.low = ZERO
        self.high = ONE
        self.group: Group | None = None
        self.may_pin = may_pin
        self.closed = closed
        self.pinned: Q | None = None
        self.python = False

    @property
    def fresh(self) -> bool:
        """Whether nothing is known of it yet."""
        return self.low == ZERO and self.high == ONE and self.group is None

    def below(self, threshold: Q) -> bool:
        """Whether U < threshold, decided now."""
        if self.group is not None:
            # A group of one clock, about which no comparison has said anything, is still a uniform.
            if not self.group.fresh:
                refuse(
                    "comparison of noise with a number",
                    "the noise was compared with other noise before; thresholds on clocks are not enumerated",
                )
            self.group = None
        if threshold <= self.low:
            return False
        if threshold >= self.high:
            return True
        share = (threshold - self.low) / (self.high - self.low)
        if self.run.choose((share, ONE - share), f"{self.name} < {threshold}", self.site) == 0:
            self.high = threshold
            return True
        self.low = threshold
        return False

    def at_an_end(self) -> Q | None:
        """In a search of boundary cases: the end that this uniform is pinned to, if it is."""
        if self.pinned is None and self.may_pin and self.run.boundary and self.run.pinned is None and self.fresh:
            ends: tuple[Q, ...] = (ZERO, ONE) if self.closed else (ZERO,)
            which = self.run.fork(len(ends) + 1, f"{self.name} at an end")
            self.may_pin = False
            if which:
                self.pinned = ends[which - 1]
                self.run.pinned = self
        return self.pinned


class Group:
    """Clocks whose values have been compared with each other, and the region in which they can still be.

    All members are used as -log U (`complement` False) or as -log(1 - U), each by its own flag.
    """

    def __init__(self, members: list[Latent], complements: list[bool], region: list[cones.Cone]) -> None:
        self.members = members
        self.complements = complements
        self.region = region
        for member in members:
            member.group = self

    def position(self, latent: Latent) -> int:
        """The coordinate of a member."""
        return next(i for i, member in enumerate(self.members) if member is latent)

    @property
    def fresh(self) -> bool:
        """Whether no comparison has narrowed it."""
        return len(self.members) == 1

    def mass(self, region: Sequence[cones.Cone]) -> Q:
        """The probability of a region."""
        return sum(map(cones.probability, region), ZERO)

    def narrow(self, region: list[cones.Cone]) -> None:
        """Keep a part of the region."""
        if len(region) > MOST_CONES:
            refuse("race of exponential clocks", f"more than {MOST_CONES} regions of noise")
        self.region = region


def clock_group(latent: Latent, complement: bool) -> Group:
    """The group of a latent that is used as a clock. Refuses one that thresholds have narrowed."""
    if latent.group is None:
        if not latent.fresh or latent.pinned is not None:
            refuse("race of noise", "the same random number was compared with a threshold before")
        latent.group = Group([latent], [complement], [cones.orthant(1)])
    if latent.group.complements[latent.group.position(latent)] != complement:
        refuse("race of noise", "one random number is used as u and as 1 - u")
    return latent.group


def merged(latents: Sequence[Latent], complements: Sequence[bool]) -> Group:
    """One group that holds all of these clocks."""
    groups: list[Group] = []
    for latent, complement in zip(latents, complements, strict=True):
        group = clock_group(latent, complement)
        if all(group is not other for other in groups):
            groups.append(group)
    first = groups[0]
    for other in groups[1:]:
        first = Group(
            first.members + other.members,
            first.complements + other.complements,
            cones.product(first.region, other.region),
        )
    return first
