"""A traceback that a later process can continue, and the time of a job over several runs."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ..drivers.path import Path
from ..drivers.problem import Problem
from ..drivers.progress import PairProgress
from ..drivers.traceback import trace_back
from ..errors import Stopped
from ..tiles.contract import Engine
from ..tiles.special_lines import RestartPoints
from ..tiles.tile import Hit
from .store import Store


class Clock:
    """The time of a job, and when this run has to stop (``stop_at``, by time.monotonic).

    ``before``: seconds of earlier runs.
    """

    def __init__(self, store: Store, stop_at: float | None) -> None:
        self.store, self.stop_at = store, stop_at
        self.started, self.before = time.monotonic(), 0.0

    def seconds(self) -> float:
        """The seconds of the job so far, earlier runs included."""
        return self.before + time.monotonic() - self.started

    def late(self) -> bool:
        """Is it time to stop?"""
        return self.stop_at is not None and time.monotonic() >= self.stop_at

    def stopped(self, what: str) -> Stopped:
        """The exception to raise then; its message says that ``what`` is done."""
        return Stopped(f"stopped as asked; {what} done; {self.store.how}")


class SavedTraceback:
    """The traceback from ``end``, saved in parts; it begins with the parts of earlier runs."""

    def __init__(self, clock: Clock, end: Hit, progress: PairProgress) -> None:
        self.clock, self.store, self.end, self._progress = clock, clock.store, end, progress
        self._saved_at, self._least_seconds = time.monotonic(), 0.0
        self.begun: Path | None = None
        self.files = 0
        cells: list[Any] = []
        while (saved := self.store.arrays(self._name())) is not None:
            arrays, facts = saved
            if facts["end"] != [end.score, end.row, end.column]:
                break
            cells += [arrays["moves"]] if "moves" in arrays else []
            self.begun = Path(facts["row"], facts["column"], list(cells))
            self.begun.state, self.begun.ended = facts["state"], facts["ended"]
            self.begun.cells, self.begun.launches = facts["cells"], facts["launches"]
            clock.before = max(clock.before, facts["seconds"])
            self.files += 1
        self.moves = len(cells)

    def path(self, engine: Engine, problem: Problem, grid: RestartPoints) -> Path:
        """The canonical path: continues the traceback to the start of the alignment."""
        self._least_seconds = engine.plan.tuning.saving.least_seconds
        return trace_back(
            engine,
            problem,
            grid,
            self.end,
            self._progress.trace(self.end, self.begun),
            self.begun,
            self._after,
        )

    def _after(self, path: Path) -> None:
        """Save the new moves, if the last ones were saved some time ago or the run has to stop."""
        clock, stop = self.clock, self.clock.late()
        if not stop and time.monotonic() - self._saved_at < self._least_seconds:
            return
        self._saved_at = time.monotonic()
        moves = np.concatenate(path.moves[self.moves :])
        facts = {name: getattr(path, name) for name in ("row", "column", "state", "ended")}
        end = [self.end.score, self.end.row, self.end.column]
        cost = {"cells": path.cells, "launches": path.launches, "seconds": clock.seconds()}
        self.store.save_arrays(self._name(), {"moves": moves}, {"end": end, **facts, **cost})
        self.moves, self.files = len(path.moves), self.files + 1
        if stop:
            raise clock.stopped(f"all cells{self.store.what} and a part of the path are")

    def _name(self) -> str:
        return f"walk-{self.files:06}"
