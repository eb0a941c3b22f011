"""What a worker computes: a block of the matrix, or the path; its result is a file in the folder of
the checkpoint, which all workers and the client see.

A block is a tile of the client's sweep that the worker sweeps by itself, with all that its devices
can do.  Its edges are pieces of its file, from which those below and to its right read them.  The
file appears by a rename, so it is complete or absent.  A block that is there is not computed
again, and one that two workers compute is right whichever file stays.  A worker that does not see
the folder is sent the letters and the edges with each block, and sends back the file."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path as FilePath
from tempfile import TemporaryDirectory
from typing import Any

from ..checkpoint import container
from ..checkpoint.run import result_facts
from ..checkpoint.store import Store
from ..drivers.job import Job
from ..drivers.problem import FoundPath, Path, PathReader, Problem
from ..drivers.traceback import trace_back
from ..engines.registry import engine_for
from ..errors import CheckpointError, ClusterError
from ..planning.model.several import for_tiles
from ..sequences.view import View
from ..tiles.contract import Engine
from ..tiles.edges import Border, Edge, Edges, Ints, Source
from ..tiles.graph import Rectangle
from ..tiles.special_lines import RestartGrid
from ..tiles.sweep import sweep
from ..tiles.tile import Area, Bound, Hit, Limits, TileJob, TileResult, Want
from .survey import own_device
from .workers import LOOK, worker

_own = threading.local()
#: A row and a column behind every cell.
FAR = 1 << 40
#: The first row and the first column of a block.
Corner = tuple[int, int]
#: Seconds until a file is seen at the latest that another host has written (NFS: `acdirmax`).
SEEN = 60.0


@dataclass(frozen=True)
class FileEdge(Source):
    """An edge in the file of a block, which is read when it is asked for; taken for an `Edge`."""

    path: FilePath
    name: str
    cells: int = 0
    #: The highest H.
    highest: int = 0
    small = True

    def __len__(self) -> int:
        return self.cells

    def read(self, start: int, stop: int) -> Edge:
        with self._opened() as file:
            return container.stored_edge(self.name, [(0, file)]).read(start, stop)

    @property
    def h(self) -> Ints:
        return self.read(0, self.cells).h

    def packed(self) -> Source:
        """The same, in memory, compressed, so that it can be sent."""
        with self._opened() as file:
            held = ((p, partial(bytes, file.read(p))) for p in file.named(self.name))
            return container.Joined(
                (p.start, container.PackedEdge(p.cells, content)) for p, content in held
            )

    @contextmanager
    def _opened(self) -> Iterator[container.SealedFile]:
        """Its file, once it is seen here, where another host wrote it; a damaged one is removed, so
        that another run computes it again."""
        until = time.monotonic() + SEEN
        while not self.path.exists() and time.monotonic() < until:
            time.sleep(LOOK / 20)
        try:
            yield container.SealedFile(self.path)
        except container.DamagedFile as error:
            if not isinstance(error.__cause__, OSError):
                self.path.unlink(missing_ok=True)
            raise


@dataclass(frozen=True)
class Place:
    """A strand of the job in a checkpoint, as a worker finds it."""

    #: The folder of the checkpoint, and that of the strand's part.
    folder: str
    part: str
    #: The key of the strand's job: other jobs may have the folder later, or had it before.
    job: str
    minus: bool
    beat: int | None
    #: What the worker computes on, as for `align`: the device, and the plan.
    device: Any = "auto"
    plan: Any = None

    def path(self, area: Area) -> FilePath:
        """The file of a block."""
        return FilePath(self.part) / f"tile-{area.row:012}-{area.column:012}"


@dataclass(frozen=True)
class Cuts:
    """Where the matrix is cut into blocks, and the special rows and columns inside these."""

    rows: list[int]
    columns: list[int]
    inner_rows: list[int]
    inner_columns: list[int]

    def grid(self, place: Place, problem: Problem, there: Collection[Corner]) -> RestartGrid:
        """The special rows and columns in the files of the blocks that are ``there``, by their
        first rows and columns; others were skipped."""
        skipped = problem.level(max(problem.shape))

        def piece(row: int, column: int, name: str) -> Source:
            path = place.path(Area(row, 0, column, 0))
            return FileEdge(path, name) if (row, column) in there else skipped

        rows, columns = dict[int, Source](), dict[int, Source]()
        for row in [*self.inner_rows, *self.rows[1:-1]]:
            first = self.rows[bisect_left(self.rows, row) - 1]
            name = "bottom" if row in self.rows else f"row {row - first}"
            rows[row] = container.Joined((c, piece(first, c, name)) for c in self.columns[:-1])
        for column in [*self.inner_columns, *self.columns[1:-1]]:
            first = self.columns[bisect_left(self.columns, column) - 1]
            name = "right" if column in self.columns else f"column {column - first}"
            columns[column] = container.Joined((r, piece(r, first, name)) for r in self.rows[:-1])
        return RestartGrid(problem.edges, rows, columns)


@dataclass(frozen=True)
class Block:
    """A block that may be computed: a ``tile`` whose edges are read where that is done, from the
    whole `Border` of the matrix or from its own cells; and so are its letters, if it has none."""

    place: Place
    area: Area
    tile: TileJob

    def rectangle(self) -> Rectangle:
        """Its letters, those of the tile or in the folder."""
        place, tile = self.place, self.tile
        if len(tile.query):
            return Rectangle(View(tile.query), View(tile.target), tile.scoring, tile.floor)
        _, problem = _job_at(place.folder, place.job, place.minus, place.beat)
        return problem.inside(self.area)

    def edges(self) -> tuple[Edge, Edge]:
        """The cells above it, and those to its left."""

        def cells(of: Source, start: int, end: int) -> Edge:
            return of.read(start, end) if isinstance(of, Border) else of.read(0, end - start)

        row, row_end, column, column_end = self.area
        return cells(self.tile.above, column, column_end), cells(self.tile.left, row, row_end)


@lru_cache(2)
def _job_at(folder: str, key: str, minus: bool, beat: int | None) -> tuple[Job, Problem]:
    if not (FilePath(folder) / "job.json").exists():
        raise ClusterError(f"{worker()} does not see {folder}")
    job = Store.read(folder)
    one = replace(job.strands(False)[minus] if job.both else job, beat=beat)
    if one.key != key:
        raise CheckpointError(f"{folder} is now the checkpoint of another job")
    return one, one.problem


def engine_at(place: Place) -> Engine:
    """This thread's engine.  Only the last one is kept, which has memory of its device."""
    made: dict[Any, Engine] = vars(_own).setdefault("engines", {})
    key = place.device, tuple(sorted((place.plan or {}).items()))
    if key not in made:
        made.clear()
        made[key] = engine = engine_for(own_device(place.device), place.plan or None)
        engine.plan = for_tiles(engine.plan)
    return made[key]


class Here(Executor):
    """Computes each task in the thread that submits it, before it submits another one."""

    _max_workers = 0

    def submit(self, task: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        done = Future[Any]()
        try:
            done.set_result(task(*given, **named))
        except Exception as error:
            done.set_exception(error)
        return done

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let go of the engine, the letters, and their memory."""
        vars(_own).clear()
        _job_at.cache_clear()


def facts_of(place: Place, area: Area) -> dict[str, Any] | None:
    """What the file of a block says of it; None if it is missing, damaged or of another job."""
    try:
        facts = container.SealedFile(place.path(area)).facts
    except container.DamagedFile:
        return None
    return facts if facts["job"] == place.job and facts["area"] == list(area) else None


def sent_back(block: Block) -> tuple[dict[str, Any], bytes]:
    """Compute a block where the client's folder is not seen: the facts, and the file."""
    with TemporaryDirectory(prefix="pysw_cl-") as folder:
        place = replace(block.place, part=folder)
        facts = computed(replace(block, place=place))
        return facts, place.path(block.area).read_bytes()


def computed(block: Block) -> dict[str, Any]:
    """Compute a block, unless its file is there; gives the facts in it."""
    place, area, tile, rectangle = block.place, block.area, block.tile, block.rectangle()
    if (known := facts_of(place, area)) is not None:
        return known
    started, (m, n), engine = time.time(), area.shape, engine_at(place)
    want, limits = Want("all" if tile.best else "none", 1, tile.threshold), Limits()
    if tile.after is not None:
        least = 0 if tile.threshold is None else tile.threshold
        limits = Limits(Bound(least, FAR, FAR, tile.scoring.highest), beyond=tile.after)
    with container.writing() as writer:
        # its own name until it is complete: another worker may compute the same block
        part = f".{worker()}-{threading.get_ident()}.part"
        file = container.EdgeWriter(writer, place.path(area), part)
        edges = Edges(
            tile.corner,
            *block.edges(),
            container.EdgeSink(file, "bottom") if tile.bottom else None,
            container.EdgeSink(file, "right") if tile.right else None,
            {row: container.EdgeSink(file, f"row {row}") for row in tile.rows},
            {column: container.EdgeSink(file, f"column {column}") for column in tile.columns},
        )
        found = sweep(engine, rectangle, edges, want, limits, shape=engine.plan.tile_shape(m, n))
        result = TileResult(None, None, found.hits, max(found.tops.values(), default=None))
        result.add_cost(found)
        result.pruned = found.pruned_cells
        who = {"worker": worker(), "begun": started, "ended": time.time()}
        facts = {"job": place.job, "area": list(area), **result_facts(result)[0], **who}
        facts |= {"highest": file.highest, "device_bytes": engine.peak_bytes}
        file.seal(facts)
    return facts


def traced(place: Place, cuts: Cuts, there: Collection[Corner], end: Hit) -> FoundPath:
    """The path to ``end``, through the blocks that are there (`Cuts.grid`)."""
    job, problem = _job_at(place.folder, place.job, place.minus, place.beat)
    engine, grid = engine_at(place), cuts.grid(place, problem, there)
    reader = PathReader(end, job.frame, job.scoring, engine.plan.tuning.traceback.read_moves)
    path = Path(end.row, end.column, meanwhile=reader.read_meanwhile)
    return reader.found(trace_back(engine, problem, grid, end, path))
