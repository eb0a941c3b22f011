"""A checkpoint as a run sees it: what earlier runs have of each strand, and where it is saved."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from ..drivers.align_pair import Search, StrandStore, Swept
from ..drivers.band_doubling import Banded
from ..drivers.job import Found, Job
from ..drivers.problem import FoundPath, Path
from ..drivers.progress import PairProgress
from ..drivers.resources import AlignResources
from ..engines.registry import plan_of_facts
from ..errors import CheckpointError, Stopped
from ..planning.plan import Plan
from ..results.cigar import Runs
from ..results.stats import Stats
from ..tiles.slabs import TileMap
from ..tiles.tile import Hit
from .band import DiskFull, SavingEngine
from .container import writing
from .interval import SavedRun
from .store import Store
from .sweep import SavedSweep

#: What is saved of a path beside its moves.
PLACE = ("row", "column", "state", "ended", "cells", "launches", "again")


def saved_strands(store: Store, resources: AlignResources) -> Callable[[Job], SavedStrand]:
    """What gives the part of a checkpoint that is of a strand, for a run that begins now.  Of two
    strands each has its own, and the files of the second name the score to beat (`Job.beat`)."""
    after = resources.stop_after
    stop_at = None if after is None else time.monotonic() + after

    def strand(job: Job) -> SavedStrand:
        part = store.part(job) if store.job.both else store
        return SavedStrand(SavedRun(part, stop_at, resources.disk_size))

    return strand


@dataclass(frozen=True)
class SavedStrand(StrandStore):
    run: SavedRun

    def known(self) -> Found | None:
        kept = self.run.store.arrays("result")
        if kept is None:
            return None
        (arrays, facts), path = kept, None
        if facts["start"] is not None:
            none = np.zeros(0, np.uint8)
            lengths = arrays.get("lengths", none).view("<i8").astype(np.int64)
            row, column = facts["start"]
            path = FoundPath(row, column, Runs(arrays.get("ops", none), lengths))
        tiles = None if facts["tiles"] is None else TileMap.of_facts(facts["tiles"])
        end, plan, stats = Hit(*facts["end"]), plan_of_facts(facts["plan"]), Stats(**facts["stats"])
        self._tidy()
        return Found(end, path, plan, stats, tiles)

    def _tidy(self) -> None:
        if self.run.store.whole is not None:  # one of two
            with suppress(CheckpointError):  # a finished one can be read where nothing is written
                self.run.store.drop("rows", "walk", "band", "tile")

    def begin_anew(self, progress: PairProgress) -> None:
        progress.run.check, progress.run.watched = self._stop_if_late, True

    def save(self, found: Found) -> None:
        found.stats.seconds = self.run.seconds()
        arrays, start = dict[str, NDArray[np.uint8]](), None
        if found.path is not None:
            runs, start = found.path.runs, [found.path.row, found.path.column]
            arrays = {"ops": runs.ops, "lengths": runs.lengths.astype("<i8").view(np.uint8)}
        stats = asdict(found.stats)
        del stats["kernel_seconds"], stats["spans"]  # measurements of one run
        facts = {
            "end": [found.end.score, found.end.row, found.end.column],
            "start": start,
            "plan": found.plan.facts(),
            "stats": stats,
            "tiles": None if found.tiles is None else found.tiles.facts(),
        }
        self.run.store.save_arrays("result", arrays, facts)
        self._tidy()

    def banded(self, of: Search, assumed: int | None) -> Banded:
        store, told = self.run.store, of.progress.run
        if store.has("whole") or store.has("rows-*"):
            return Banded()
        told.muted = told.watched = True  # while saved tiles are read; it is said how much was done
        told.check = lambda: None
        try:
            with writing() as writer:
                saving = SavingEngine(of.engine, self.run, writer, assumed, told)
                found = of.banded(saving, assumed)
                saving.seal()
        except DiskFull:
            found = Banded()
        told.muted = False
        if found.end is not None:
            return found
        store.save_arrays("whole", {}, {})  # so a later run does not try it
        store.drop("band")
        return Banded()

    def sweep(self, of: Search) -> Swept:
        return SavedSweep(of, self.run).swept()

    def traceback(self, end: Hit, plan: Plan) -> Path:
        return SavedTraceback(self.run, end, plan.tuning.saving.least_seconds).path

    def _stop_if_late(self) -> None:
        """End a computation that is not saved, which can stop at any time."""
        if self.run.late():
            how = self.run.store.how
            raise Stopped(f"stopped as asked, while a path was computed again; {how}")


class SavedTraceback:
    """The traceback from ``end``, saved in parts.  ``path``: as far as earlier runs came."""

    def __init__(self, run: SavedRun, end: Hit, least_seconds: float) -> None:
        self._run, self._end, self._least_seconds = run, end, least_seconds
        self._saved_at = time.monotonic()
        self.path, self._files = Path(end.row, end.column), 0
        while (saved := run.store.arrays(self._name())) is not None:
            arrays, facts = saved
            if facts["end"] != [end.score, end.row, end.column]:
                break
            self.path.moves += [arrays["moves"]] if "moves" in arrays else []
            vars(self.path).update({name: facts[name] for name in PLACE if name in facts})
            run.before = max(run.before, facts["seconds"])
            self._files += 1
        self._moves, self.path.after = len(self.path.moves), self.after

    def after(self, path: Path) -> None:
        """Save the new moves, if the last ones were saved some time ago or the run has to stop."""
        run, stop = self._run, self._run.late()
        if not stop and time.monotonic() - self._saved_at < self._least_seconds:
            return
        self._saved_at = time.monotonic()
        moves, end = np.concatenate(path.moves[self._moves :]), self._end
        facts = {name: getattr(path, name) for name in PLACE}
        facts |= {"end": [end.score, end.row, end.column], "seconds": run.seconds()}
        run.store.save_arrays(self._name(), {"moves": moves}, facts)
        self._moves, self._files = len(path.moves), self._files + 1
        if stop:
            raise run.stopped(f"all cells{run.store.what} and a part of the path are")

    def _name(self) -> str:
        return f"walk-{self._files:06}"
