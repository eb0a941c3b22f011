"""A search in a diagonal band that a later process can continue.

The job and the plan decide which tiles are computed, and each tile depends only on those before
it.  So a later run repeats the same search, and its engine reads the tiles that earlier runs saved
with the same plan."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from .._version import __version__
from ..drivers.progress import RunProgress
from ..errors import InternalError
from ..tiles.contract import Engine
from ..tiles.edges import DeviceEdge, Edge
from ..tiles.tile import Hits, TileJob, TileResult
from .container import DamagedFile, EdgeWriter, SealedFile, StoredEdge, Writer
from .interval import SavedRun, reserved

#: Fields of the plan that decide which tiles are computed.
PLAN = "engine lanes B T alpha alpha_fixed chunk".split()
#: Fields of the result of a tile that are numbers.
NUMBERS = ("top", "cells", "launches", "again", "pruned")


class DiskFull(Exception):
    """The folder may not take as many bytes as the tiles need."""


class SavingEngine(Engine):
    """An engine that saves tiles in files ``band-NUMBER``, and reads those that are there.

    Tiles have the numbers 0, 1, ... in the order in which the search asks for them.  Files of
    another configuration are removed.  Raises `DiskFull` if the folder may not take more.
    ``assumed``: the score with which the search begins.  ``progress`` is told from the first tile
    on that is computed."""

    def __init__(
        self,
        engine: Engine,
        run: SavedRun,
        writer: Writer,
        assumed: int | None,
        progress: RunProgress,
    ) -> None:
        self._engine, self.plan = engine, engine.plan
        self.captures_inside, self.spans = engine.captures_inside, engine.spans
        self._run, self._writer, self._progress = run, writer, progress
        self._store, plan, tuning = run.store, engine.plan, engine.plan.tuning.saving
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
        #: The files that this run has sealed.
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
        seconds = self._run.seconds()
        self._file.seal({"config": self._config, "tiles": self._facts, "seconds": seconds})
        self._sealed.append(self._file)
        self._file, self._facts, self._sealed_at = None, [], time.monotonic()
        if sum(file.bytes for file in self._sealed) > self._budget:
            raise DiskFull

    def tile(self, job: TileJob) -> TileResult:
        """Read the tile from the checkpoint, or compute and save it."""
        number, self._tile = self._tile, self._tile + 1
        identity = [*job.size, job.corner, int(job.above.h[-1]), int(job.left.h[-1])]
        result = self._read(number, identity)
        if result is not None:
            return result
        self._progress.unmute()
        result = self._engine.tile(job)
        if self._file is None:
            self._file = self._store.edges(self._writer, f"band-{self._next:06}")
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
        try:
            for side, length in facts["edges"].items():
                edges[side] = StoredEdge(f"{number} {side}", [(0, file)]).read(0, length)
        except DamagedFile:
            return None
        return result_of(facts, edges)


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
        return {int(k[len(kind) :]): edges[k] for k in facts["edges"] if k.startswith(kind)}

    hits = Hits(np.array(facts["hits"], np.int64).reshape(-1, 3))
    more: dict[str, Any] = {name: facts[name] for name in NUMBERS if name in facts}
    more |= {"rows": inner("row "), "columns": inner("column ")}
    return TileResult(edges.get("bottom"), edges.get("right"), hits, **more)
