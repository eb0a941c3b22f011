"""What the caller of a run is told of its progress: cells done and in all, and the stage.

The total is fixed before the work begins.  A run takes steps, one after the other.  Each gets its
part of what is left of the total, by the work that is foreseen of it and of those that follow.  So
the share never falls and comes to 1, whatever was foreseen."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from math import log

from ..planning.plan import Plan
from ..tiles.tile import Hit
from .problem import Path

#: Called as ``progress(done, total)``, with a `Stage` if it has a parameter ``stage``.
Progress = Callable[..., None]
#: Called with what is done of a step, and how much all of it is.
Tell = Callable[[float, float], None]
#: A path's share of the work of its sweep; of one that is saved; in a diagonal band.
PATH, SAVED_PATH, BAND_PATH = 0.25, 0.45, 0.7
#: The path of alignment k takes this share of a sweep's work, divided by k, and so many cells.
FURTHER, FURTHER_CELLS = 0.1, 1e8


@dataclass(frozen=True)
class Stage:
    """What a run does now: what a progress callback gets as ``stage``.

    ``work_done`` and ``work_left`` are None while the run waits for kernels that are built."""

    #: "score", "path", "alignment", "pairs" or "building kernels".
    name: str
    #: Which one of how many: the stage, the alignment, or the pairs that are done.
    number: int = 1
    of: int = 1
    #: Cells done by this run so far, and cells that are left.
    work_done: float | None = None
    work_left: float | None = None
    #: Cells a second, as the model of the run time predicts it; None: it does not.
    predicted_speed: float | None = None

    def __str__(self) -> str:
        if self.name == "pairs":
            return f"{self.number:,} of {self.of:,} pairs"
        return f"{self.name} {self.number:,} of {self.of:,}" if self.of > 1 else self.name


def untold(done: float, of: float) -> None:
    """A `Tell` that tells nobody."""


class RunProgress:
    """Tells the callback of a run (None: there is none) what is done."""

    def __init__(self, callback: Progress | None) -> None:
        self._callback, self.staged = callback, False
        if callback is not None:
            with suppress(TypeError, ValueError):  # of a function in C
                self.staged = "stage" in inspect.signature(callback).parameters
        #: Is what is done counted, for the callback or for somebody else?
        self.watched = callback is not None
        #: Cells in all, those that are done, and those that earlier runs did.
        self.total = self.done = self._before = 0
        #: Cells a second, as predicted.
        self.speed: float | None = None
        #: Called before each report; an exception that it raises ends the run.
        self.check: Callable[[], None] = lambda: None
        #: Is nothing told now, because what earlier runs did is read?  And what is told then.
        self.muted, self._last = False, Stage("")

    def begin(self, total: float) -> None:
        """The run has so many cells.  If all is computed again, the total stays."""
        self.total = self.total or round(total)

    def tell(self, done: float, stage: Stage) -> None:
        self.done, self._last = max(self.done, min(round(done), self.total)), stage
        if self.muted:
            self._before = self.done
            return
        self.check()
        done, left = self.done - self._before, self.total - self.done
        self.report(replace(stage, work_done=done, work_left=left, predicted_speed=self.speed))

    def unmute(self) -> None:
        """From now on all is told, beginning with what was not."""
        if self.muted:
            self.muted = False
            self.tell(self.done, self._last)

    def report(self, stage: Stage) -> None:
        """Call the callback, also while the run waits for something."""
        if self._callback is not None:
            self._callback(self.done, self.total, **{"stage": stage} if self.staged else {})

    def step(
        self, name: str, number: int, of: int, work: float, later: float = 0.0, begun: float = 0.0
    ) -> Tell:
        """The next step, of this stage, takes ``work``, and those that follow ``later``.  Call what
        this gives with what is done of the step.  ``begun``: the share that an earlier run did."""
        if not self.watched:
            return untold
        first, stage = self.done, Stage(name, number, of)
        part = (self.total - first) * work / max(1e-9, work + later)
        self._before += round(part * begun)

        def tell(done: float, of: float) -> None:
            self.tell(first + part * (done / max(1, of)), stage)

        tell(begun, 1)
        return tell


def _along(tell: Tell, end: Hit) -> Callable[[Path], None]:
    """What tells of a path to ``end`` that is traced back: call it with the path so far."""
    letters = end.row + end.column
    return lambda path: tell(letters - path.row - path.column, letters)


class PairProgress:
    """The progress of a comparison, strand by strand: sweeps, then the path.  ``shape``: rows and
    columns of a strand's matrix.  ``path``: the share of a path in the work of its sweep, or 0."""

    def __init__(
        self, run: RunProgress, plan: Plan, shape: tuple[int, int], path: float, strands: int = 1
    ) -> None:
        self.run, self._cells, self._share = run, float(shape[0] * shape[1]), path
        self._stages, self._strands, self._strand = 1 + (path > 0), strands, 0
        #: Work of the path, and of all that a strand has, as foreseen with the last sweep.
        self._path = self._all = 0.0
        if run.staged and f"{plan.engine}/{plan.lanes}" in plan.machine.by_subject:
            run.speed = self._cells / plan.matrix_cost(*shape, plan.tile_shape(*shape))
        run.begin(strands * self._cells * (1 + path))

    def strand(self, index: int) -> PairProgress:
        """The strand number ``index``, from 0, is next."""
        self._strand = index
        if index and not self.run.done:  # an earlier run did those before it
            self._step(1, index, self._strands - index, 1.0)
        return self

    def sweep(
        self, share: float = 1.0, more: float = 0.0, path: float | None = None, begun: float = 0.0
    ) -> Tell:
        """A sweep is next that takes this share of the whole matrix's work; sweeps of ``more`` may
        follow, and a path of the share ``path`` of them (None: as usual); ``begun``: see `step`."""
        work, follow = share * self._cells, more * self._cells
        share = self._share if path is None else path * (self._stages - 1)
        self._path = share * (work + follow)
        self._all = work + follow + self._path
        return self._step(1, work, self._all * (self._strands - self._strand) - work, begun)

    def trace(self, end: Hit, begun: Path) -> Callable[[Path], None]:
        """Call what this gives with the path to ``end`` so far; ``begun`` is there already."""
        letters = end.row + end.column
        share = (letters - begun.row - begun.column) / max(1, letters)
        later = self._all * (self._strands - self._strand - 1)
        return _along(self._step(2, self._path, later, share), end)

    def finished(self) -> None:
        if self._strand + 1 == self._strands:
            self._step(self._stages, 1.0)(1, 1)

    def _step(self, stage: int, work: float, later: float = 0.0, begun: float = 0.0) -> Tell:
        number, of = self._strand * self._stages + stage, self._stages * self._strands
        return self.run.step("score" if stage == 1 else "path", number, of, work, later, begun)


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

    def sweep(self, first: bool) -> Tell:
        """The next strand is swept, or tiles are again, for the next alignment."""
        further = FURTHER * self._cells / (self.found + 1) + self._least
        return self._step(self._cells if first else further)

    def trace(self, end: Hit) -> Callable[[Path], None]:
        """The path to ``end`` is traced next: call what this gives with the path so far."""
        return _along(self.sweep(False), end)

    def finished(self) -> None:
        """There are no more."""
        self._left = 0.0
        self._step(1.0)(1, 1)

    def _step(self, work: float) -> Tell:
        self._left, number = max(0.0, self._left - work), min(self.found + 1, self._count)
        return self._run.step("alignment", number, self._count, work, self._left)
