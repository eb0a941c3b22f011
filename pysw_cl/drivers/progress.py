"""What the caller of a run is told of its progress: cells done and in all, and the stage.

The total is fixed before the work begins.  A run takes steps, one after the other.  Each gets its
part of what is left of the total, by the work that is foreseen of it and of those that follow.  So
the share never falls and comes to 1, whatever was foreseen.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import log

from ..planning.plan import Plan
from ..tiles.tile import Hit
from .path import Path

#: Called as ``progress(done, total)``, or with a third argument `Stage` where it has a parameter
#: called ``stage``.
Progress = Callable[..., None]
#: Called with what is done of a step, and how much all of it is.
Tell = Callable[[float, float], None]
#: A path takes about this share of the work of its sweep; in a diagonal band, this one.
PATH, BAND_PATH = 0.25, 0.7
#: The path of alignment k takes this share of a sweep's work, divided by k, and so many cells.
FURTHER, FURTHER_CELLS = 0.1, 1e8


@dataclass(frozen=True)
class Stage:
    """What a run does now: what a progress callback gets as ``stage``.

    ``work_done`` and ``work_left`` are None while the run waits for something else, such as kernels
    that are built.
    """

    #: "score", "path", "alignment", "pairs", "reading" or "building kernels".
    name: str
    #: Which one of how many: the stage, the alignment, or the pairs that are done.
    number: int = 1
    of: int = 1
    #: Cells done by this run so far.
    work_done: float | None = None
    #: Cells that are left.
    work_left: float | None = None
    #: Cells a second, as the model of the run time predicts it; None: it does not.
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
    """Tells the callback of a run (None: there is none) what is done."""

    def __init__(self, callback: Progress | None) -> None:
        self._callback = callback
        self.staged = callback is not None and takes_stage(callback)
        #: Cells in all, those that are done, and those that earlier runs did.
        self.total = self.done = self._before = 0
        #: Cells a second, as predicted.
        self.speed: float | None = None
        #: Does the run itself ask for the share that is done?
        self.asked = False
        #: Called before each report; an exception that it raises ends the run.
        self.check: Callable[[], None] | None = None
        #: Is nothing told now, because what earlier runs did is read?  And what is told then.
        self.muted, self._last = False, Stage("")

    @property
    def watched(self) -> bool:
        """Is there anybody to tell, or who asks?"""
        return self._callback is not None or self.check is not None or self.asked

    def begin(self, total: float) -> None:
        """The run has so many cells.  If all is computed again, the total stays."""
        self.total = self.total or round(total)

    def tell(self, done: float, stage: Stage) -> None:
        """So many cells are done."""
        self.done, self._last = max(self.done, min(round(done), self.total)), stage
        if self.muted:
            self._before = self.done
            return
        if self.check is not None:
            self.check()
        if self.staged and stage.work_left is None:
            done, left = self.done - self._before, self.total - self.done
            stage = replace(stage, work_done=done, work_left=left, predicted_speed=self.speed)
        self._call(stage)

    def unmute(self) -> None:
        """From now on all is told, beginning with what was not."""
        if self.muted:
            self.muted = False
            self.tell(self.done, self._last)

    def waiting(self, stage: Stage) -> None:
        """Say that the run waits for something."""
        if self.staged:
            self._call(stage)

    def _call(self, stage: Stage) -> None:
        if self._callback is not None:
            self._callback(self.done, self.total, **{"stage": stage} if self.staged else {})

    def step(self, stage: Stage, work: float, later: float = 0.0, begun: float = 0.0) -> Tell:
        """The next step takes ``work``, and those that follow ``later``.  Call what this gives with
        what is done of the step.  ``begun``: the share of it that an earlier run did."""
        if not self.watched:
            return _nobody
        first = self.done
        part = (self.total - first) * work / max(1e-9, work + later)
        self._before += round(part * begun)

        def to(done: float, of: float) -> None:
            self.tell(first + part * (done / max(1, of)), stage)

        to(begun, 1)
        return to


def _nobody(done: float, of: float) -> None:
    """Tells nobody."""


def along(tell: Tell, end: Hit) -> Callable[[Path], None]:
    """What tells of a path to ``end`` that is traced back: call it with the path so far."""
    letters = end.row + end.column
    return lambda path: tell(letters - path.row - path.column, letters)


class PairProgress:
    """The progress of a comparison, strand by strand: sweeps, then the path.  ``shape``: rows and
    columns of a strand's matrix."""

    def __init__(
        self, run: RunProgress, plan: Plan, shape: tuple[int, int], path: bool, strands: int = 1
    ) -> None:
        self.run, self._cells = run, float(shape[0] * shape[1])
        self._strands, self._stages = strands, 1 + path
        #: The number of this strand, and how many follow.
        self._index, self._more = 0, strands - 1
        #: Work of the path, and of all that a strand has, as foreseen with the last sweep.
        self._path = self._all = 0.0
        if run.staged and f"{plan.engine}/{plan.lanes}" in plan.machine.times.by_subject:
            run.speed = self._cells / plan.cost.matrix(plan, *shape, plan.tile_shape(*shape))
        run.begin(strands * self._cells * (1 + PATH * path))

    def strand(self, index: int) -> PairProgress:
        """The strand number ``index``, from 0, is next."""
        self._index, self._more = index, self._strands - index - 1
        if index and not self.run.done:  # an earlier run did those before it
            self.run.step(self._stage(1), index, self._more + 1, begun=1.0)
        return self

    def sweep(self, begun: float = 0.0) -> Tell:
        """The whole matrix is swept next; ``begun``: the share that an earlier run did."""
        return self._sweep(self._cells, 0.0, PATH, begun)

    def band(self, share: float, sure: bool) -> Tell:
        """A diagonal band is swept next, which takes this share of the whole matrix's work.
        ``sure``: is it the last one?  Else one of twice its width may follow."""
        work = share * self._cells
        return self._sweep(work, 0.0 if sure else 2 * work, BAND_PATH)

    def _sweep(self, work: float, more: float, path: float, begun: float = 0.0) -> Tell:
        if not self.run.watched:
            return _nobody
        self._path = path * (work + more) * (self._stages - 1)
        self._all = work + more + self._path
        later = self._all * (1 + self._more) - work
        return self.run.step(self._stage(1), work, later, begun)

    def trace(self, end: Hit, begun: Path | None = None) -> Callable[[Path], None]:
        """The path to ``end`` is traced next: see `along`.  ``begun``: that of an earlier run."""
        share = 1 - (begun.row + begun.column) / (end.row + end.column) if begun else 0.0
        later = self._all * self._more
        return along(self.run.step(self._stage(2), self._path, later, share), end)

    def finished(self) -> None:
        """The strand is done."""
        if not self._more and self.run.watched:
            self.run.tell(self.run.total, self._stage(self._stages))

    def _stage(self, number: int) -> Stage:
        name = "score" if number == 1 else "path"
        return Stage(name, self._index * self._stages + number, self._stages * self._strands)


class TopProgress:
    """The progress of a search for ``count`` alignments: a sweep of ``cells`` of each strand, then
    for each alignment its path, and what is computed again without its pairs."""

    def __init__(self, run: RunProgress, cells: int, count: int, strands: int) -> None:
        self._run, self._cells, self._count = run, cells, count
        #: Alignments that are found, which the caller counts.
        self.found = 0
        self._least = min(FURTHER_CELLS, cells / 4)
        paths = FURTHER * cells * (1 + log(count)) + count * self._least
        self._left = strands * cells + 2 * paths
        run.begin(self._left)

    def _step(self, work: float) -> Tell:
        self._left = max(0.0, self._left - work)
        stage = Stage("alignment", min(self.found + 1, self._count), self._count)
        return self._run.step(stage, work, self._left)

    def sweep(self) -> Tell:
        """The next strand is swept for the first time."""
        return self._step(self._cells)

    def again(self) -> Tell:
        """Tiles are computed again for the next alignment."""
        return self._step(FURTHER * self._cells / (self.found + 1) + self._least)

    def trace(self, end: Hit) -> Callable[[Path], None]:
        """The path to ``end`` is traced next: see `along`."""
        return along(self.again(), end)

    def finished(self) -> None:
        """There are no more."""
        self._left = 0.0
        self._step(1.0)(1, 1)
