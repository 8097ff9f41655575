"""One assertion that is being carried out: its name, its random numbers, its spending, its verdict."""

from __future__ import annotations

from dataclasses import dataclass

from rheo_proof.exact.errors import InputError
from rheo_proof.stats.cells import Counts, Target
from rheo_proof.stats.ledger import current, test_name
from rheo_proof.stats.sampling import Sampler, Stream, batch_sizes, draw
from rheo_proof.stats.seeds import root_seed, stream
from rheo_proof.stats.verdict import Verdict


@dataclass(frozen=True)
class Check:
    """`number`: how many assertions of this name came before; `levels`: what is promised, in words.

    `test`: the id of the test that runs, None outside pytest; it is the name of an assertion without one of its own.
    `seeded`: the sampler takes a seed in place of a generator.
    """

    name: str
    number: int
    test: str | None
    target: Target
    alpha: float
    levels: str
    seeded: bool

    @classmethod
    def begin(cls, name: str | None, target: Target, alpha: float, levels: str, seeded: bool) -> Check:
        """Settle the name: the one given, a string, or else the id of the test that runs. Raises `InputError`."""
        if name is not None and not isinstance(name, str):
            raise InputError(f"name: {name!r} is not a string")
        running = test_name()
        settled = name or running or "unnamed"
        return cls(settled, current().occurrence(settled), running, target, alpha, levels, seeded)

    def spend(self) -> None:
        """Take alpha from the budget of the run."""
        current().spend(self.alpha)

    def stream(self, stage: int) -> Stream:
        """The random numbers of a stage, independent of those of every other."""
        return Stream(stream(self.name, self.number, stage), self.seeded)

    def drawn(self, sampler: Sampler, n: int, stage: int) -> Counts:
        """n draws of a stage."""
        source = self.stream(stage)
        sizes = batch_sizes(n, len(self.target.all_cells), growing=False)
        batches = [draw(sampler, source.next(), size, self.target) for size in sizes]
        return sum(batches[1:], batches[0])

    def verdict(
        self, method: str, counts: Counts, planned: int, log_p: float, looks: int = 1, stages: int = 1
    ) -> Verdict:
        """The verdict. Raises `LawMismatch` if the check failed."""
        return Verdict(
            self.name,
            method,
            self.target,
            counts,
            planned,
            self.levels,
            log_p,
            self.alpha,
            looks,
            root_seed(),
            self.test,
            stages,
        ).enforce()
