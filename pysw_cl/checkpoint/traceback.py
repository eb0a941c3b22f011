"""A traceback that a later process can continue, and the time of a job over several runs."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ..drivers.problem import Path
from ..errors import Stopped
from ..tiles.tile import Hit
from .store import Store

#: What is saved of a path beside its moves.
PLACE = ("row", "column", "state", "ended", "cells", "launches", "again")


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
    """The traceback from ``end``, saved in parts that are at least ``least_seconds`` apart.

    ``begun``: the path of earlier runs, if they came that far.
    """

    def __init__(self, clock: Clock, end: Hit, least_seconds: float) -> None:
        self._clock, self._end, self._least_seconds = clock, end, least_seconds
        self._saved_at = time.monotonic()
        self.begun: Path | None = None
        self._files = 0
        cells: list[Any] = []
        while (saved := clock.store.arrays(self._name())) is not None:
            arrays, facts = saved
            if facts["end"] != [end.score, end.row, end.column]:
                break
            cells += [arrays["moves"]] if "moves" in arrays else []
            self.begun = Path(moves=list(cells), **{name: facts[name] for name in PLACE})
            clock.before = max(clock.before, facts["seconds"])
            self._files += 1
        self._moves = len(cells)

    def after(self, path: Path) -> None:
        """Save the new moves, if the last ones were saved some time ago or the run has to stop."""
        clock, stop = self._clock, self._clock.late()
        if not stop and time.monotonic() - self._saved_at < self._least_seconds:
            return
        self._saved_at = time.monotonic()
        moves, end = np.concatenate(path.moves[self._moves :]), self._end
        facts = {name: getattr(path, name) for name in PLACE}
        facts |= {"end": [end.score, end.row, end.column], "seconds": clock.seconds()}
        clock.store.save_arrays(self._name(), {"moves": moves}, facts)
        self._moves, self._files = len(path.moves), self._files + 1
        if stop:
            raise clock.stopped(f"all cells{clock.store.what} and a part of the path are")

    def _name(self) -> str:
        return f"walk-{self._files:06}"
