"""One pair on the workers of a cluster, as its client sees it.

The client cuts the matrix into blocks and submits those whose edges are there (docs/cluster.md).
All that was computed is in the folder of the checkpoint, so a worker, the scheduler or the client
may be lost: whoever goes on finds the blocks that are done."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Future
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from ..checkpoint.band import result_of
from ..checkpoint.container import to_write
from ..checkpoint.interval import SavedRun
from ..checkpoint.run import SavedStrand
from ..checkpoint.store import Store, StoredResources
from ..drivers.align_pair import Search, Swept
from ..drivers.band_doubling import Banded
from ..drivers.job import Job
from ..drivers.options import AlignResources
from ..drivers.problem import FoundPath
from ..errors import ClusterError, DeviceError
from ..planning.geometry import cuts
from ..tiles.contract import Engine
from ..tiles.edges import DeviceEdge, Edge, Source
from ..tiles.executors import next_tile
from ..tiles.graph import SweepState, TileRow
from ..tiles.slabs import BestCells, Slab, Slabs
from ..tiles.tile import Area, Hit, TileJob, TileResult
from .blocks import (
    Block,
    Cuts,
    FileEdge,
    Level,
    Place,
    computed,
    facts_of,
    receive,
    sent_back,
    traced,
)
from .survey import surveyed
from .workers import TRIES, Workers, lost

#: Blocks of a side at least for each worker, and special lines of a side about.
PIECES, LINES = 3, 16
#: Workers whose devices fail at the same block until that is an error.
DEVICES = 3


class Nowhere:
    """A sink for what is in files already."""

    def write(self, start: int, edge: Edge | DeviceEdge) -> None:
        pass


class Outline(Engine):
    """Stands for the engines of workers, whose ``plan`` it has; it computes nothing."""

    captures_inside = True


@dataclass(frozen=True)
class ClusterStrand(SavedStrand):
    """A strand whose blocks and path are computed by workers."""

    workers: Workers
    #: What workers compute on, as for `align`.
    device: str
    plan: dict[str, Any] | None
    #: Do they see the folder of the checkpoint?
    shared: bool

    def place(self, of: Search) -> Place:
        store = self.run.store
        minus, folder = of.job.frame.minus, store.whole or store.folder
        sent = "" if self.shared else of.job.key
        folders = str(folder), str(store.folder)
        return Place(*folders, minus, of.job.beat, self.device, self.plan, sent)

    def send(self, of: Search) -> None:
        """Send the job to all workers, if they do not see its folder."""
        if not self.shared:
            folder = self.run.store.whole or self.run.store.folder
            files = {name: (folder / name).read_bytes() for name in ("job.json", "query", "target")}
            self.workers.everywhere(receive, of.job.key, files)

    def banded(self, of: Search, assumed: int | None) -> Banded:
        return Banded()

    def sweep(self, of: Search) -> Swept:
        problem, where, (m, n) = of.problem, self._cuts(of), of.problem.shape
        want, limits = problem.aim(of.prune, of.job.beat)
        lines = [*where.inner_rows, *where.rows[1:-1]], [*where.inner_columns, *where.columns[1:-1]]
        sinks = (dict.fromkeys(places, Nowhere()) for places in lines)
        edges = replace(problem.edges, **dict(zip(("rows", "columns"), sinks, strict=True)))
        best, slabs = BestCells(m, n, problem.floor, want, limits), Slabs(m, edges, (m, n))
        state = SweepState(problem, edges, best, slabs, None, of.progress.sweep())
        slab = Slab(0, m, edges.columns)
        self.send(of)
        OnWorkers(self, of, problem)(state.rows(slab, where.rows, lambda *_: where.columns))
        state.finish(slab)
        of.stats.add_cost(state.result)
        of.stats.pruned, tiles = state.result.pruned_cells, state.result.tile_map((m, n))
        return Swept(problem.best_end(state.result.hits), tiles, None, state.result)

    def path(self, of: Search, end: Hit) -> FoundPath | None:
        place, where, tries = self.place(of), self._cuts(of), 0
        if not self.shared:  # the edges are here
            return traced(replace(place, sent=""), where, end)
        while True:
            one = self.workers.submit(traced, place, where, end, name="path")
            self.workers.wait([one])
            try:
                return one.result()
            except BaseException as error:
                tries += 1
                self.check(error, tries)

    def check(self, error: BaseException, tries: int) -> None:
        """Raise the error of a task unless another worker may do it."""
        how, failed = self.run.store.how, isinstance(error, DeviceError)
        if isinstance(error, BrokenExecutor):
            raise ClusterError(f"{error}; {how}") from error
        if not failed and not lost(error):
            raise error
        if tries >= (DEVICES if failed else TRIES):
            raise ClusterError(f"workers fail again and again: {error}; {how}") from error

    def _cuts(self, of: Search) -> Cuts:
        """Where the matrix is cut: as an earlier run did."""
        store, (m, n), plan = self.run.store, of.problem.shape, of.engine.plan
        if (kept := store.arrays("blocks")) is not None:
            return Cuts(**kept[1]["cuts"])
        pieces = PIECES * max(1, self.workers.count())
        rows, columns = (
            cuts(side, -(-side // pieces), q) for side, q in ((m, plan.strip_rows), (n, 2))
        )
        inner: list[list[int]] = []
        for side, places, quantum in ((m, rows, plan.strip_rows), (n, columns, 2)):
            step = max(plan.tuning.traceback.least_side, -(-side // LINES))
            every = cuts(side, step, quantum, places) if of.job.output == "path" else places
            inner.append(sorted({*every} - {*places}))
        found = Cuts(rows, columns, *inner)
        store.save_arrays("blocks", {}, {"cuts": vars(found)})
        return found


def cluster_strands(
    store: Store, resources: AlignResources, workers: Workers
) -> tuple[Engine, Callable[[Job], ClusterStrand]]:
    """What stands for the engine of a run on ``workers``, and what gives the part of a checkpoint
    that is of a strand.  Raises ClusterError for workers that cannot compute it."""
    how = StoredResources.of(resources, store.job.mode)
    told = surveyed(workers, str(store.folder), how.device, how.plan)
    shared = all(one.shared for one in told.values())
    engine, stop = Outline(), resources.stop_after
    engine.plan = next(iter(told.values())).plan
    stop_at = None if stop is None else time.monotonic() + stop

    def strand(job: Job) -> ClusterStrand:
        part = store.part(job) if store.job.both else store
        run = SavedRun(part, stop_at, resources.disk_size)
        return ClusterStrand(run, workers, how.device, how.plan, shared)

    return engine, strand


class OnWorkers:
    """Computes the tiles of a sweep as blocks at workers: those whose edges are there, upper rows
    first, not many more than the workers compute at once, so that each is pruned by the best score
    that is known when it begins."""

    def __init__(self, strand: ClusterStrand, of: Search, problem: Any) -> None:
        self._strand, self._of, self._level = strand, of, Level(problem)
        self._workers, self._place = strand.workers, strand.place(of)
        self._tries = Counter[Area]()

    def __call__(self, rows: Iterator[TileRow]) -> None:
        left, again = dict[TileRow, list[Area]](), list[tuple[TileRow, Area, TileJob]]()
        running = dict[Future[Any], tuple[TileRow, Area, TileJob]]()
        try:
            while True:
                busy = {row for row, *_ in [*running.values(), *again]}
                most = self._workers.count()
                found = None
                if len(running) <= most + most // 4:
                    found = again.pop() if again else next_tile(rows, left, busy)
                if found is not None:
                    row, area, job = found
                    known = facts_of(self._place, self._of.job.key, area)
                    if known is None:
                        running[self._submit(area, job)] = found
                    else:
                        self._take(row, area, known)
                elif not running:
                    return
                else:
                    for done in self._workers.wait(running):
                        row, area, job = running.pop(done)
                        facts = self._result(done, area)
                        if facts is None:
                            again.append((row, area, job))
                        else:
                            self._take(row, area, facts)
        finally:
            for one in running:
                one.cancel()

    def _submit(self, area: Area, job: TileJob) -> Future[Any]:
        top = self._stored(job.above) if area.row else None
        left = self._stored(job.left) if area.column else None
        edges = job.best, job.threshold, job.after, job.bottom, job.right, job.rows, job.columns
        block = Block(self._place, area, job.corner, top, left, *edges)
        name, first = f"tile-{area.row}-{area.column}", -(area.row + area.column)
        task: Any = computed if self._strand.shared else sent_back
        try:
            return self._workers.submit(task, block, name=name, priority=first)
        except BrokenExecutor as error:
            raise ClusterError(f"{error}; {self._strand.run.store.how}") from error

    def _stored(self, edge: Edge) -> Source:
        if not isinstance(edge, FileEdge):
            return self._level
        return edge if self._strand.shared else edge.packed()

    def _result(self, done: Future[Any], area: Area) -> dict[str, Any] | None:
        """What a task gives; None: its worker failed, and another one does it."""
        try:
            found = done.result()
            if self._strand.shared:
                return found
            if found is None:  # a worker that came later
                self._strand.send(self._of)
                return None
            facts, content = found
            path = self._place.path(area)
            with to_write(path):
                path.with_name(path.name + ".part").write_bytes(content)
                path.with_name(path.name + ".part").replace(path)
            return facts
        except BaseException as error:
            self._tries[area] += 1
            self._strand.check(error, self._tries[area])
            self._of.engine.failures.retried += 1
            return None

    def _take(self, row: TileRow, area: Area, facts: dict[str, Any]) -> None:
        path, engine = self._place.path(area), self._of.engine
        edges = {
            name: FileEdge(path, name, cells, facts["highest"][name])
            for name, cells in sized(area, facts["highest"]).items()
        }
        with suppress(KeyError):
            engine.peak_bytes = max(engine.peak_bytes, facts["device_bytes"])
        result: TileResult = result_of({**facts, "edges": edges}, edges)
        row.take(area, result)
        if self._strand.run.late():
            run = self._strand.run
            raise run.stopped(f"a part of the blocks{run.store.what} is")


def sized(area: Area, names: dict[str, int]) -> dict[str, int]:
    """The cells of the edges of a block, by their names."""
    rows, columns = area.shape
    return {name: columns if name.split()[0] in ("bottom", "row") else rows for name in names}
