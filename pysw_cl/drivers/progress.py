"""What the caller of a run is told of its progress: cells done and in all, and the stage.

The share that is told never falls.  The total is fixed before the work begins: the cells of the
matrix, and for a path about what it takes, in cells that take as long to sweep.  Where the truth
turns out to be more or less, the difference is spread over what is left.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass

from ..planning.plan import Plan
from .forecast import TopForecast
from .problem import Problem

#: Called as ``progress(done, total)``, or with a third argument `Stage` where it has a parameter
#: called ``stage``.
Progress = Callable[..., None]


@dataclass(frozen=True)
class Stage:
    """What a run does now: what a progress callback gets as ``stage``.

    ``work_done`` and ``work_left`` are in cells that take as long to sweep.  Unlike cells done and
    in all they leave out what is pruned, so that they tell the time left.  Both are None while the
    run waits for something else, such as kernels that are built.
    """

    #: "score", "path", "alignment", "pairs", "reading" or "building kernels".
    name: str
    #: Which one of how many: the stage, the alignment, or the pairs that are done.
    number: int = 1
    of: int = 1
    #: Work done by this run so far.
    work_done: float | None = None
    #: Work that is left, as foreseen now.
    work_left: float | None = None
    #: Work a second, as the model of the run time predicts it; None: it does not.
    predicted_speed: float | None = None
    #: Is the work in seconds, as that of a tuning, and not in cells?
    in_seconds: bool = False

    def __str__(self) -> str:
        if self.name == "pairs":
            return f"{self.number:,} of {self.of:,} pairs"
        return f"{self.name} {self.number:,} of {self.of:,}" if self.of > 1 else self.name


def takes_stage(callback: Progress) -> bool:
    """Has this progress callback a parameter called ``stage``?"""
    try:
        return "stage" in inspect.signature(callback).parameters
    except (TypeError, ValueError):
        return False


class RunProgress:
    """The callback of a run.  It is called as ``callback(done, total)``, or, if it has a parameter
    called ``stage``, as ``callback(done, total, stage=Stage(...))``."""

    @classmethod
    def of(cls, callback: Progress | None) -> RunProgress | None:
        """For this callback; None for none."""
        return None if callback is None else cls(callback)

    def __init__(self, callback: Progress) -> None:
        self._callback = callback
        #: Does anybody want to know what is left?
        self.staged = takes_stage(callback)
        #: The share told last, as done of total, and the share at which the work began anew.
        self._done, self._total, self._base = 0, 1, 0.0

    def tell(self, done: int, total: int, stage: Stage) -> None:
        """Report ``done`` of ``total`` cells."""
        if self._base:
            done = round(total * self._base + (1 - self._base) * done)
        if done * self._total < self._done * total:
            done = -(-self._done * total // self._total)
        self._done, self._total = done, total
        if self.staged:
            self._callback(done, total, stage=stage)
        else:
            self._callback(done, total)

    def begin_anew(self) -> None:
        """All is computed again; what was told so far stays told."""
        if self._done < self._total:
            self._base = self._done / self._total

    def waiting(self, name: str, number: int = 1, of: int = 1) -> None:
        """Say that the run waits for something, such as the build number ``number`` of ``of``."""
        if self.staged:
            self._callback(self._done, self._total, stage=Stage(name, number, of))


class Rest:
    """A share that rises to 1 with the work done, however often what is left is foreseen anew."""

    def __init__(self) -> None:
        self.share, self._done = 0.0, 0.0

    def to(self, done: float, left: float) -> float:
        """The share when ``done`` is done and ``left`` is left."""
        new = done - self._done
        if new > 0:
            self.share += (1 - self.share) * new / (new + max(0.0, left))
            self._done = done
        return self.share


class TopProgress:
    """The progress of a search for ``count`` alignments: a sweep of all cells of each strand, and
    for each alignment its path, and the tiles that are computed again without its pairs."""

    @classmethod
    def of(
        cls, run: RunProgress | None, plan: Plan, problem: Problem, count: int, strands: int = 1
    ) -> TopProgress | None:
        """For the search in so many strands of one size; None where nobody watches."""
        return None if run is None else cls(run, plan, problem, count, strands)

    def __init__(
        self, run: RunProgress, plan: Plan, problem: Problem, count: int, strands: int
    ) -> None:
        run.begin_anew()
        self._run, self._count = run, count
        #: Cells of a strand's matrix.
        self.cells = len(problem.query) * len(problem.target)
        self._forecast = TopForecast(plan, problem)
        self._all = strands * self.cells
        self._total = self._all + count * int(self._forecast.work(0)) + self.cells // 8
        self._rest = Rest()
        #: Of each strand: cells of its first sweep that are done, and the scores of the alignments
        #: to come, as foreseen.
        self.swept, self.scores = [0] * strands, [[0] for _ in range(strands)]
        #: Alignments found, and work beside the first sweeps, in all and for the next alignment.
        self._found, self._work, self._this = 0, 0.0, 0.0

    def strand(self, index: int) -> TopStrand:
        """What the search in strand number ``index``, from 0, tells."""
        return TopStrand(self, index)

    def work(self, cells: float) -> None:
        """So many cells were computed after the first sweep, or as much was done."""
        self._work += cells
        self._this += cells
        self.tell()

    def found(self) -> None:
        """The next of the best alignments is known."""
        self._found += 1
        self._work += self._forecast.each
        self._this = 0.0
        self.tell()

    def finished(self) -> None:
        """There are no more."""
        self._run.tell(self._total, self._total, self._stage(0.0))

    def _stage(self, left: float) -> Stage:
        number = min(self._found + 1, self._count)
        return Stage("alignment", number, self._count, sum(self.swept) + self._work, left)

    def tell(self) -> None:
        """Report what is done."""
        swept = sum(self.swept)
        left, more = float(self._all - swept), self._count - self._found
        if more > 0:
            scores = sorted((score for some in self.scores for score in some), reverse=True)
            works = [self._forecast.work(score) for score in scores[:more]]
            this = max(works[0] - self._this, works[0] / 8)
            left += this + sum(works[1:]) + (more - len(works)) * works[-1]
        done = int(self._rest.to(swept + self._work, left) * self._total)
        self._run.tell(done, self._total, self._stage(left))


class TopStrand:
    """What a search for further alignments tells of one strand."""

    def __init__(self, whole: TopProgress, index: int) -> None:
        self._whole, self._index = whole, index

    def __call__(self, done: int, total: int) -> None:
        """``done`` cells of the first sweep are computed."""
        swept = self._whole.swept
        swept[self._index] = max(swept[self._index], min(done, self._whole.cells))
        self._whole.tell()

    def expect(self, scores: list[int]) -> None:
        """The alignments to come will probably have these scores, and others low ones."""
        self._whole.scores[self._index] = [*scores, 0] if len(scores) < 2 else scores

    def work(self, cells: float) -> None:
        """See `TopProgress.work`."""
        self._whole.work(cells)


class PairsProgress:
    """The progress of many pairs of ``total`` cells together.  ``sweeps``: each pair is swept so
    many times, and ``total`` counts all of them."""

    def __init__(self, run: RunProgress | None, pairs: int, total: int, sweeps: int = 1) -> None:
        self._run, self._pairs, self._total, self._sweeps = run, pairs, total, sweeps
        self._done = self._found = 0

    def __call__(self, cells: int, pairs: int) -> None:
        """So many more cells and pairs are done."""
        self._done += cells
        self._found += pairs
        if self._run is not None:
            left, found = float(self._total - self._done), self._found // self._sweeps
            stage = Stage("pairs", found, self._pairs, float(self._done), left)
            self._run.tell(min(self._done, self._total), self._total, stage)
