"""A checkpoint as a run sees it: what earlier runs have of each strand, and where it is saved.

Of a search in a diagonal band it has tiles.  The job and the plan decide which are computed, and
each depends only on those before it.  So a later run repeats the same search, and its engine reads
the tiles that earlier runs saved with the same plan."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._version import __version__
from ..drivers.align_pair import Search, StrandStore, Swept
from ..drivers.band_doubling import Banded
from ..drivers.job import Found, Job
from ..drivers.problem import FoundPath, Path
from ..drivers.progress import PairProgress
from ..drivers.resources import AlignResources
from ..engines.registry import plan_of_facts
from ..errors import CheckpointError, InternalError, Stopped
from ..planning.plan import Plan
from ..results.cigar import Runs
from ..results.stats import Stats
from ..tiles.contract import Engine
from ..tiles.edges import DeviceEdge, Edge
from ..tiles.slabs import TileMap
from ..tiles.tile import Hit, Hits, TileJob, TileResult
from .container import DamagedFile, EdgeWriter, SealedFile, Writer, stored_edge, writing
from .store import Store
from .sweep import SavedRun, SavedSweep, reserved

#: What is saved of a path beside its moves.
PLACE = ("row", "column", "state", "ended", "cells", "launches", "again")
#: Fields of the plan that decide which tiles are computed.
PLAN = "engine lanes B T alpha alpha_fixed chunk".split()
#: Fields of the result of a tile that are numbers.
NUMBERS = ("top", "cells", "launches", "again", "pruned")


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
        if (kept := self.run.store.arrays("result")) is None:
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
        if any(any(store.folder.glob(pattern)) for pattern in ("whole", "rows-*")):
            return Banded()
        told.muted = told.watched = True  # while saved tiles are read; it is said how much was done
        told.check = lambda: None
        try:
            with writing() as writer:
                saving = SavingEngine(of, self.run, writer, assumed)
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


class DiskFull(Exception):
    """The folder may not take as many bytes as the tiles need."""


class SavingEngine(Engine):
    """An engine that saves tiles in files ``band-NUMBER``, and reads those that are there.

    Tiles have the numbers 0, 1, ... in the order in which the search asks for them.  Files of
    another configuration are removed.  Raises `DiskFull` if the folder may not take more.
    ``assumed``: the score with which the search begins.  Its progress is told from the first tile
    on that is computed."""

    def __init__(self, of: Search, run: SavedRun, writer: Writer, assumed: int | None) -> None:
        engine, plan = of.engine, of.engine.plan
        self._engine, self.plan, tuning = engine, plan, plan.tuning.saving
        self.captures_inside, self.spans = engine.captures_inside, engine.spans
        self._run, self._writer, self._progress = run, writer, of.progress.run
        self._store = run.store
        #: What decides, beside the job, which tiles are computed and what they hold.
        self._config: dict[str, Any] = {
            "version": __version__,
            "row_quantum": plan.strip_rows,
            "plan": [getattr(plan, name) for name in PLAN],
            "tile_cells": plan.tile_cells,
            "assumed": assumed,
            "save": run.store.job.output == "path",
        }
        size, used = run.space(tuning)
        #: Bytes that new files may take.
        self._budget = size - used - reserved(tuning)
        #: The numbers of the next tile and of the next file.
        self._tile = self._next = 0
        #: The saved tiles by number: the file of each, and what it says of the tile.
        self._saved: dict[int, tuple[SealedFile, dict[str, Any]]] = {}
        #: The file that is being written, and what it will say of its tiles.
        self._file: EdgeWriter | None = None
        self._facts: list[dict[str, Any]] = []
        self._sealed: list[EdgeWriter] = []
        self._sealed_at = time.monotonic()
        for file in self._store.sealed("band-*"):
            if file.facts["config"] != self._config:
                self._store.drop("band")
                self._saved = {}
                break
            run.before = max(run.before, file.facts["seconds"])
            self._next = max(self._next, 1 + int(file.path.name.partition("-")[2]))
            self._saved |= {facts["number"]: (file, facts) for facts in file.facts["tiles"]}

    def seal(self) -> None:
        """Complete the current file, so that a later run can read its tiles."""
        if self._file is None:
            return
        facts = {"job": self._store.job.key, "config": self._config, "tiles": self._facts}
        self._file.seal({**facts, "seconds": self._run.seconds()})
        self._sealed.append(self._file)
        self._file, self._facts, self._sealed_at = None, [], time.monotonic()
        if sum(file.bytes for file in self._sealed) > self._budget:
            raise DiskFull

    def tile(self, job: TileJob) -> TileResult:
        """Read the tile from the checkpoint, or compute and save it."""
        number, self._tile = self._tile, self._tile + 1
        identity = [*job.size, job.corner, int(job.above.h[-1]), int(job.left.h[-1])]
        if (result := self._read(number, identity)) is not None:
            return result
        self._progress.unmute()
        result = self._engine.tile(job)
        if self._file is None:
            self._file = EdgeWriter(self._writer, self._store.folder / f"band-{self._next:06}")
            self._next += 1
        facts, edges = result_facts(result)
        for side, edge in edges.items():
            self._file.put(f"{number} {side}", 0, edge)
        self._facts.append({"number": number, "what": identity, **facts})
        late, age = self._run.late(), time.monotonic() - self._sealed_at
        if late or age >= self.plan.tuning.saving.least_seconds:
            self.seal()
        if late:
            self._writer.flush()
            done = f"{100 * self._progress.done / max(1, self._progress.total):.1f}% of the cells"
            raise self._run.stopped(f"about {done}{self._store.what} are")
        return result

    def _read(self, number: int, identity: list[int]) -> TileResult | None:
        """A saved tile; None if there is none with this identity, or it is damaged."""
        if number not in self._saved or self._saved[number][1]["what"] != identity:
            return None
        file, facts = self._saved[number]
        edges: dict[str, Edge] = {}
        with suppress(DamagedFile):
            for side, length in facts["edges"].items():
                edges[side] = stored_edge(f"{number} {side}", [(0, file)]).read(0, length)
            return result_of(facts, edges)
        return None


def result_facts(result: TileResult) -> tuple[dict[str, Any], dict[str, Edge]]:
    """The result of a tile as JSON can hold it, and its edges: "bottom", "right", and "row 5" and
    "column 7" for special row 5 and special column 7.  Raises InternalError for stored moves."""
    if result.moves is not None:
        raise InternalError("the moves of a tile stay with the engine that stored them")
    edges: dict[str, Edge | DeviceEdge | None] = {"bottom": result.bottom, "right": result.right}
    edges |= {f"row {row}": cells for row, cells in result.rows.items()}
    edges |= {f"column {column}": cells for column, cells in result.columns.items()}
    there = {name: edge.read(0, len(edge)) for name, edge in edges.items() if edge is not None}
    lengths = {name: len(edge) for name, edge in there.items()}
    plain = {name: getattr(result, name) for name in NUMBERS}
    return {"edges": lengths, "hits": result.hits.cells.tolist(), **plain}, there


def result_of(facts: Mapping[str, Any], edges: Mapping[str, Edge]) -> TileResult:
    def inner(kind: str) -> dict[int, Edge]:
        return {int(k[len(kind) :]): edges[k] for k in edges if k.startswith(kind)}

    hits = Hits(np.array(facts["hits"], np.int64).reshape(-1, 3))
    more: dict[str, Any] = {name: facts[name] for name in NUMBERS if name in facts}
    more |= {"rows": inner("row "), "columns": inner("column ")}
    return TileResult(edges.get("bottom"), edges.get("right"), hits, **more)
