"""What a worker computes: a block of the matrix, or the path; its result is a file in the folder of
the checkpoint, which all workers and the client see.

A block is a tile of the client's sweep that the worker sweeps by itself, with all that its devices
can do.  Its edges are pieces of its file, from which those below and to its right read them.  The
file appears by a rename, so it is complete or absent.  A block that is there is not computed
again, and one that two workers compute is right whichever file stays."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Collection
from concurrent.futures import Executor, Future
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from multiprocessing.util import Finalize
from pathlib import Path as FilePath
from tempfile import mkdtemp
from typing import Any

from ..checkpoint.container import (
    DamagedFile,
    EdgeSink,
    EdgeWriter,
    SealedFile,
    writing,
)
from ..checkpoint.run import result_facts
from ..checkpoint.store import Store
from ..drivers.job import Job
from ..drivers.problem import FoundPath, Path, PathReader, Problem
from ..drivers.traceback import trace_back
from ..engines.registry import engine_for
from ..errors import CheckpointError, ClusterError
from ..planning.model.cluster import for_tiles
from ..scoring.precision import UNREACHABLE_BELOW
from ..tiles.contract import Engine
from ..tiles.edges import Edges, Sink, Source
from ..tiles.graph import Rectangle
from ..tiles.sweep import sweep
from ..tiles.tile import Area, Bound, Hit, Limits, TileResult, Want
from .devices import own_device
from .files import Corner, Cuts, Place
from .workers import worker

_own, _receiving = threading.local(), threading.Lock()
#: A row and a column behind every cell.
FAR = 1 << 40


@dataclass(frozen=True)
class Block:
    """A block that may be computed; fields as in `pysw_cl.tiles.tile.TileJob`.  An edge that is
    None lies on the border of the matrix; those of tiles that were skipped are a `Level`."""

    place: Place
    area: Area
    corner: int
    top: Source | None
    left: Source | None
    best: bool
    threshold: int | None
    after: tuple[int, int] | None
    bottom: bool
    right: bool
    rows: tuple[int, ...]
    columns: tuple[int, ...]


@lru_cache(2)
def _job_at(folder: str, key: str, minus: bool, beat: int | None) -> tuple[Job, Problem]:
    if not (FilePath(folder) / "job.json").exists():
        raise ClusterError(f"{worker()} does not see {folder}")
    job = Store.read(folder)
    one = job.strands(False)[minus] if job.both else job
    one = replace(one, beat=beat)
    if one.key != key:
        raise CheckpointError(f"{folder} is now the checkpoint of another job")
    return one, one.problem


def engine_at(place: Place) -> Engine:
    """This thread's engine.  Only the last one is kept, which has memory of its device."""
    made: dict[Any, Engine] = vars(_own).setdefault("engines", {})
    wishes = place.plan or None
    key = place.device, tuple(sorted((wishes or {}).items()))
    if key not in made:
        made.clear()
        made[key] = engine = engine_for(own_device(place.device), wishes)
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
        facts = SealedFile(place.path(area)).facts
    except DamagedFile:
        return None
    return facts if facts["job"] == place.job and facts["area"] == list(area) else None


def here(place: Place) -> Place:
    """The place as this worker has it."""
    own = place.folder if place.shared else str(own_folder(place.job))
    return place if place.shared else replace(place, folder=own, part=own, shared=True)


def own_folder(key: str) -> FilePath:
    """The folder of this process for what is sent to it of a job."""
    return _own_folders(os.getpid()) / key[:16]


@lru_cache(1)
def _own_folders(process: int) -> FilePath:
    folder = mkdtemp(prefix="pysw_cl-")
    Finalize(None, shutil.rmtree, (folder, True), exitpriority=0)  # in child processes, too
    return FilePath(folder)


def receive(key: str, files: dict[str, bytes]) -> None:
    """Write the files of a job where this worker has them."""
    with _receiving:
        folder = own_folder(key)
        if not folder.exists():
            part = FilePath(mkdtemp(dir=folder.parent))
            for name, content in files.items():
                (part / name).write_bytes(content)
            part.rename(folder)


def forget(key: str) -> None:
    """Remove the files of a job, at once: late tasks may still write to the folder."""
    folder = own_folder(key)
    with suppress(OSError), _receiving:
        gone = folder.rename(f"{folder}-{time.monotonic_ns()}")
        shutil.rmtree(gone, ignore_errors=True)
        folder.parent.rmdir()  # of the last job
        _own_folders.cache_clear()


def sent_back(block: Block) -> tuple[dict[str, Any], bytes] | None:
    """Compute a block where the client's folder is not seen: the facts, and the file.  None: this
    worker was not sent the job yet."""
    place = here(block.place)
    if not FilePath(place.folder).exists():
        return None
    facts, path = computed(replace(block, place=place)), place.path(block.area)
    content = path.read_bytes()
    path.unlink()
    return facts, content


def computed(block: Block) -> dict[str, Any]:
    """Compute a block, unless its file is there; gives the facts in it."""
    place, area = block.place, block.area
    _, problem = _job_at(place.folder, place.job, place.minus, place.beat)
    known = facts_of(place, area)
    if known is not None:
        return known
    started, (m, n), engine = time.time(), area.shape, engine_at(place)
    borders = problem.edges
    top = borders.top.read(*area[2:]) if block.top is None else block.top.read(0, n)
    left = borders.left.read(*area[:2]) if block.left is None else block.left.read(0, m)
    own = Rectangle(problem.query, problem.target, problem.scoring, problem.floor).inside(area)
    want, limits = Want("all" if block.best else "none", 1, block.threshold), Limits()
    if block.after is not None:
        least = 0 if block.threshold is None else block.threshold
        bound = Bound(least, FAR, FAR, problem.scoring.highest)
        limits = Limits(bound, beyond=block.after)
    with writing() as writer:
        # its own name until it is complete: another worker may compute the same block
        of = {"job": place.job, "area": area}
        file = EdgeWriter(writer, place.path(area), of, part=_unique())
        noted = dict[str, _Noted]()

        def sink(name: str) -> Sink:
            noted[name] = _Noted(EdgeSink(file, name))
            return noted[name]

        edges = Edges(
            block.corner,
            top,
            left,
            sink("bottom") if block.bottom else None,
            sink("right") if block.right else None,
            {row: sink(f"row {row}") for row in block.rows},
            {column: sink(f"column {column}") for column in block.columns},
        )
        found = sweep(engine, own, edges, want, limits, shape=engine.plan.tile_shape(m, n))
        result = TileResult(None, None, found.hits, max(found.tops.values(), default=None))
        result.add_cost(found)
        result.pruned = found.pruned_cells
        facts, _ = result_facts(result)
        highest = {name: one.highest for name, one in noted.items()}
        who = {"worker": worker(), "begun": started, "ended": time.time()}
        facts |= {"highest": highest, "device_bytes": engine.peak_bytes, **who}
        file.seal(facts)
    return {"job": place.job, "area": list(area), **facts}


class _Noted:
    """A sink that knows the highest H that went through it."""

    def __init__(self, sink: EdgeSink) -> None:
        self._sink, self.highest = sink, UNREACHABLE_BELOW

    def write(self, start: int, edge: Any) -> None:
        here = edge.read(0, len(edge))
        self.highest = max(self.highest, here.highest)
        self._sink.write(start, here)


def _unique() -> str:
    return f".{worker()}-{threading.get_ident()}.part"


def traced(place: Place, cuts: Cuts, there: Collection[Corner], end: Hit) -> FoundPath:
    """The path to ``end``, through the blocks that are there (`Cuts.grid`)."""
    job, problem = _job_at(place.folder, place.job, place.minus, place.beat)
    engine, grid = engine_at(place), cuts.grid(place, problem, there)
    reader = PathReader(end, job.frame, job.scoring, engine.plan.tuning.traceback.read_moves)
    path = Path(end.row, end.column, meanwhile=reader.read_meanwhile)
    return reader.found(trace_back(engine, problem, grid, end, path))
