"""A search in a band that survives its process.

Which tiles it computes follows from the job and the plan, and a tile from those before it.  So a
run that goes on makes the same search again, with an engine that knows the tiles that earlier runs
kept (their edges, best cells and costs); reading one takes far less than computing it.  Tiles of
another plan are of no use; they are computed anew.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from .._version import __version__
from ..drivers.band_doubling import assumed_score, find_end_banded
from ..drivers.progress import rising
from ..drivers.traceback_state import Path
from ..planning.plan import Plan
from ..results.alignment import Stats
from ..tiles.codec import result_facts, result_of
from ..tiles.contract import Engine
from ..tiles.edges import Edge
from ..tiles.sweep import Progress
from ..tiles.tile import Hit, TileJob, TileResult
from ..tiles.tile_map import TileMap
from . import interval
from .container import DamagedFile, SealedFile
from .edges import SlabWriter, StoredEdge, Writer, writing
from .store import Store
from .traceback import Clock, SavedTraceback


class FoundInBand(NamedTuple):
    """The best end, the path to it where it matters, what it cost, and what was done where."""

    end: Hit
    path: Path | None
    stats: Stats
    tiles: TileMap


class _NoRoom(Exception):
    """The folder cannot hold the band's tiles."""


def search_band(
    engine: Engine,
    store: Store,
    plan: Plan,
    max_cost: Any,
    *,
    progress: Progress | None,
    disk_size: int | None,
    stop_at: float | None,
) -> FoundInBand | None:
    """What a global comparison finds in a band, as :func:`find_end_banded` does; None where no band
    pays or the folder cannot hold it, which the folder remembers."""
    if store.has("whole") or store.has("rows-*"):
        return None
    problem, clock = store.job.problem, Clock(store, stop_at)
    want_path = store.job.output == "path"
    m, n = len(problem.query), len(problem.target)
    tell: Progress = progress or (lambda done, total: None)
    assumed = assumed_score(problem, max_cost)
    config = _config(engine, plan, assumed, want_path)
    saving = plan.tuning.saving
    room = interval.disk_budget(saving, disk_size, store.used(), store.free())
    banded = None
    try:
        with writing() as writer:
            kept = _KeptTiles(engine, _TileFiles(clock, config, writer, room), (m * n, tell))
            told = rising(kept.progress)
            banded = find_end_banded(
                kept,
                problem,
                plan,
                plan.cost,
                assumed=assumed,
                save=want_path,
                progress=told,
            )
            kept.files.seal()
    except _NoRoom:
        pass
    if banded is None or banded.end is None:
        store.save_arrays("whole", {}, {})
        store.drop("band")
        return None
    stats = Stats(pruned=banded.sweeps[-1].pruned_cells)
    for swept in banded.sweeps:
        stats.add_cells(swept.cells)
        stats.launches += swept.launches
    path = None
    if banded.grid is not None and store.job.better(banded.end):
        trace = SavedTraceback(clock, banded.end, 0, lambda done: tell(m * n, m * n))
        path = trace.path(engine, problem, banded.grid, plan.traceback_tile_cells)
        stats.add_cells(path.cells)
        stats.launches += path.launches
    tell(m * n, m * n)
    stats.seconds, stats.device_bytes = clock.seconds(), engine.peak_bytes
    last = banded.sweeps[-1]
    tiles = TileMap.of((m, n), last.tops, last.pruned, last.thinned)
    return FoundInBand(banded.end, path, stats, tiles)


def _config(engine: Engine, plan: Plan, assumed: int | None, save: bool) -> dict[str, Any]:
    """All that decides, for a job, which tiles there are."""
    return {
        "version": __version__,
        "row_quantum": engine.row_quantum,
        "plan": [plan.engine, plan.lanes, plan.B, plan.T, plan.alpha, plan.alpha_fixed, plan.chunk],
        "tile_cells": plan.tile_cells,
        "assumed": assumed,
        "save": save,
    }


class _TileFiles:
    """The tiles of a band on disk, by their numbers, and those on their way there.  Tiles of
    another ``config`` are dropped.  ``room``: bytes that new ones may take."""

    def __init__(self, clock: Clock, config: dict[str, Any], writer: Writer, room: int) -> None:
        self.clock, self.store, self.writer = clock, clock.store, writer
        self._config, self._room = config, room
        self._there: dict[int, tuple[SealedFile, dict[str, Any]]] = {}
        self._file: SlabWriter | None = None
        self._facts: list[dict[str, Any]] = []
        self._written: list[SlabWriter] = []
        self._saved_at, self._next = time.monotonic(), 0
        for file in self.store.sealed("band"):
            if file.facts["config"] != config:
                self.store.drop("band")
                self._there = {}
                break
            clock.before = max(clock.before, file.facts["seconds"])
            self._next = max(self._next, 1 + int(file.path.name.partition("-")[2]))
            self._there |= {facts["number"]: (file, facts) for facts in file.facts["tiles"]}

    @property
    def age(self) -> float:
        """Seconds since tiles were sealed."""
        return time.monotonic() - self._saved_at

    def seal(self) -> None:
        """All tiles so far are to be there for another run."""
        if self._file is None:
            return
        seconds = self.clock.seconds()
        self._file.seal({"config": self._config, "tiles": self._facts, "seconds": seconds})
        self._written.append(self._file)
        self._file, self._facts, self._saved_at = None, [], time.monotonic()
        if sum(file.bytes for file in self._written) > self._room:
            raise _NoRoom

    def keep(self, number: int, what: list[int], result: TileResult) -> None:
        """Put a tile into the file that is sealed next."""
        if self._file is None:
            path = self.store.folder / f"band-{self._next:06}"
            self._file = SlabWriter(self.writer, path, {"job": self.store.job.key})
            self._next += 1
        facts, edges = result_facts(result)
        for side, edge in edges.items():
            self._file.put(f"{number} {side}", 0, edge)
        self._facts.append({"number": number, "what": what, **facts})

    def kept(self, number: int, what: list[int]) -> TileResult | None:
        """The tile that is there, if it is the same one and undamaged."""
        if number not in self._there or self._there[number][1]["what"] != what:
            return None
        file, facts = self._there[number]
        edges: dict[str, Edge] = {}
        try:
            for side, length in facts["edges"].items():
                pieces = [(0, file, piece) for piece in file.named(f"{number} {side}")]
                edges[side] = StoredEdge(pieces).read(0, length)
        except DamagedFile:
            return None
        return result_of(facts, edges)


class _KeptTiles(Engine):
    """An engine that keeps its tiles in a checkpoint, numbered as they are asked for, and gives
    those that are there."""

    def __init__(self, engine: Engine, files: _TileFiles, whole: tuple[int, Progress]) -> None:
        self.engine, self.files = engine, files
        self.name, self.plan, self.row_quantum = engine.name, engine.plan, engine.row_quantum
        self.captures_inside, self.peak_bytes = engine.captures_inside, engine.peak_bytes
        self._told, self._tell = (0, whole[0]), whole[1]
        self._asked, self._computing = 0, False

    @property
    def for_moves(self) -> Engine:
        """The engine's: tiles of the path are kept as moves."""
        return self.engine.for_moves

    def strip_rows(self, rows: int, columns: int) -> int:
        """As the engine's."""
        return self.engine.strip_rows(rows, columns)

    def moves_bytes(self, rows: int, columns: int) -> int:
        """As the engine's."""
        return self.engine.moves_bytes(rows, columns)

    def progress(self, done: int, total: int) -> None:
        """Tells what is done from the first tile on that was not there."""
        self._told = done, total
        if self._computing:
            self._tell(done, total)

    def tile(self, job: TileJob) -> TileResult:
        """The tile from the checkpoint, or computed and on its way there."""
        number, self._asked = self._asked, self._asked + 1
        what = [*job.size, job.corner, int(job.above.h[-1]), int(job.left.h[-1])]
        files, clock = self.files, self.files.clock
        result = files.kept(number, what)
        if result is not None:
            return result
        if not self._computing:
            self._computing = True
            self._tell(*self._told)
        result = self.engine.tile(job)
        self.peak_bytes = self.engine.peak_bytes
        files.keep(number, what, result)
        late = clock.late()
        if late or files.age >= self.plan.tuning.saving.least_seconds:
            files.seal()
        if late:
            files.writer.flush()
            done = f"{100 * self._told[0] / self._told[1]:.1f}% of the cells"
            raise clock.stopped(f"about {done}{files.store.what} are")
        return result
