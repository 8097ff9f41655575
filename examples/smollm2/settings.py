"""What is compared: trees, the rules that verify them, and sizes. One tree of the most nodes is cut to all sizes."""

from __future__ import annotations

from dataclasses import dataclass

from rheo_gpu import Config

SLOTS, DEPTH, SPARSE = 10, 7, 128
NODES = (8, 16, 30, 60)
TEMPERATURES = {"main": (1.0,), "full": (1.0, 0.8, 0.6)}
DRAFT_TEMPERATURES = (0.6, 0.8, 1.0, 1.25, 1.5)


@dataclass(frozen=True)
class Draft:
    """A way to draft a tree, and the rules that verify it. `temperature` is that of the draft law; `head` is m."""

    name: str
    temperature: float
    rules: tuple[str, ...]
    slots: int = SLOTS
    head: int = 1
    sparse: int | None = SPARSE
    proxy: str = "paper"
    proxy_scale: float = 1.0
    fill_scale: float = 1.0

    @property
    def config(self) -> Config:
        """The sizes; the rule is chosen later."""
        return Config(
            slots=self.slots,
            head=self.head,
            depth=DEPTH,
            nodes=max(self.nodes),
            sparse=self.sparse,
            proxy=self.proxy,
            proxy_scale=self.proxy_scale,
            fill_scale=self.fill_scale,
        )

    @property
    def nodes(self) -> tuple[int, ...]:
        """The sizes N; a chain has as many nodes as it is deep."""
        return (DEPTH,) if self.slots == 1 else NODES


def drafts(grid: str, temperature: float) -> list[Draft]:
    """The trees that are compared at a temperature of the target. Names that two temperatures share mean the same."""
    own = temperature
    every = [
        Draft("top-K raw", 1.0, ("match",), head=SLOTS),
        *([] if own == 1 else [Draft("top-K processed", own, ("match",), head=SLOTS)]),
        Draft("m=0", own, ("rheo", "flow"), head=0),
        *(Draft(f"m={m}", own, ("rheo", "rrsw", "flow"), head=m) for m in (1, 2, 3)),
        Draft("chain", own, ("rheo", "flow"), slots=1, head=0),
    ]
    if grid == "main":
        return every
    both = ("rheo", "flow")
    for fill, fills in ((1.0, ""), (0.5, " fill 1/2")):
        for proxy, scale, name in (
            ("paper", 1.0, ""),
            ("tail", 1.0, " tail 1"),
            ("tail", 0.5, " tail 1/2"),
            ("tail", 0.25, " tail 1/4"),
        ):
            if name or fills:
                every.append(Draft("m=1" + name + fills, own, both, proxy=proxy, proxy_scale=scale, fill_scale=fill))
    every += [Draft(f"m=1 draft at {t:g}", t, both) for t in DRAFT_TEMPERATURES if t != own]
    every += [Draft(f"m=1 sparse {s or 'full'}", own, ("rheo",), sparse=s) for s in (32, None)]
    return every


def settings(grid: str, temperature: float) -> list[str]:
    """The names `tree|rule|N` in the order of all results."""
    return [f"{d.name}|{rule}|{n}" for d in drafts(grid, temperature) for rule in d.rules for n in d.nodes]
