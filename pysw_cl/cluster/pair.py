"""One pair on the workers of a cluster, as its client sees it.

The client cuts the matrix into blocks and submits those whose edges are there (docs/cluster.md).
All that was computed is in the folder of the checkpoint, so a worker, the scheduler or the client
may be lost: whoever goes on finds the blocks that are done."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import chain, product
from pathlib import Path
from typing import Any

import numpy as np

from ..checkpoint.container import to_write
from ..checkpoint.run import SavedStrand, result_of, saved_strands
from ..checkpoint.store import Store, StoredResources
from ..drivers.align_pair import Search, Swept
from ..drivers.band_doubling import Banded
from ..drivers.job import Job
from ..drivers.problem import FoundPath
from ..drivers.resources import AlignResources
from ..errors import ClusterError
from ..planning.facts import DeviceFacts
from ..planning.geometry import cuts, lengths
from ..planning.model.several import Cluster, ways_left
from ..planning.plan import Plan
from ..planning.program import Given, Seen
from ..tiles.contract import Engine
from ..tiles.edges import DeviceEdge, Edge
from ..tiles.graph import SweepState, TileRow, next_tile
from ..tiles.slabs import BestCells, Slab, Slabs
from ..tiles.tile import Area, Hit, Span, TileJob
from .blocks import Block, Corner, Cuts, FileEdge, Place, computed, facts_of, sent_back, traced
from .survey import surveyed
from .workers import LOOK, Task, Workers

#: Special lines of a side, about.
LINES = 16
#: The letters of a block, where its worker reads them itself.
NO_CODES = np.zeros(0, np.uint8)
#: How many times as long as any other a block takes that is begun once more.
SLOW = 3


class Nowhere:
    """A sink for what is in files already."""

    def write(self, start: int, edge: Edge | DeviceEdge) -> None:
        pass


class Outline(Engine):
    """Stands for the engines of workers, whose ``plan`` it has; it computes nothing.  ``shared``:
    do they see the folder of the checkpoint?  ``facts``: what a worker's device is."""

    captures_inside = True

    def __init__(self, plan: Plan, facts: DeviceFacts, shared: bool) -> None:
        self.plan, self.facts, self.shared = plan, facts, shared


@dataclass(frozen=True)
class ClusterStrand(SavedStrand):
    """A strand whose blocks and path are computed by workers."""

    workers: Workers
    #: What workers compute on, as for `align`; and what stands for it, once it is needed.
    device: str
    plan: dict[str, Any] | None
    outline: Callable[[], Outline]
    #: Is the checkpoint kept, for a later run?
    kept: bool
    #: The blocks whose files are there.
    there: set[Corner] = field(default_factory=set)

    def place(self, of: Search) -> Place:
        store, job = self.run.store, of.job
        whole, part = (str(one.absolute()) for one in (store.whole or store.folder, store.folder))
        return Place(whole, part, job.key, job.frame.minus, job.beat, self.device, self.plan)

    def banded(self, of: Search, assumed: int | None) -> Banded:
        return Banded()

    def sweep(self, of: Search) -> Swept:
        problem, where, (m, n) = of.problem, self._cuts(of), of.problem.shape
        want, limits = problem.aim(of.prune, of.job.beat)
        lines = [*where.inner_rows, *where.rows[1:-1]], [*where.inner_columns, *where.columns[1:-1]]
        rows, columns = (dict.fromkeys(places, Nowhere()) for places in lines)
        edges = replace(problem.edges, rows=rows, columns=columns)
        best, slabs = BestCells(m, n, problem.floor, want, limits), Slabs(m, edges, (m, n))
        state = SweepState(problem, edges, best, slabs, None, of.progress.sweep())
        slab = Slab(0, m, edges.columns)
        with self._advice():
            OnWorkers(self, of, where)(state.rows(slab, where.rows, lambda *_: where.columns))
        state.finish(slab)
        of.stats.add_cost(state.result)
        of.stats.pruned, tiles = state.result.pruned_cells, state.result.tile_map((m, n))
        return Swept(problem.best_end(state.result.hits), tiles, None, state.result)

    def path(self, of: Search, end: Hit) -> FoundPath | None:
        given = self.place(of), self._cuts(of), self.there, end
        if not self.outline().shared:  # the edges are here
            return traced(*given)
        with self._advice():
            task = Task(self.workers, lambda _: self.workers.submit(traced, *given, name="path"))
            try:
                return task.result()
            finally:
                task.cancel()

    @contextmanager
    def _advice(self) -> Iterator[None]:
        """Say how to go on if the cluster fails."""
        how = self.run.store.how if self.kept else "with a checkpoint it could go on from here"
        try:
            yield
        except ClusterError as error:
            raise ClusterError(f"{error}; {how}") from error

    def _cuts(self, of: Search) -> Cuts:
        """Where the matrix is cut: as an earlier run did."""
        store, (m, n), plan = self.run.store, of.problem.shape, of.engine.plan
        if (kept := store.arrays("blocks")) is not None:
            return Cuts(**kept[1]["cuts"])
        scoring, facts = of.job.scoring, self.outline().facts
        given = Given(plan, scoring, of.problem.is_local, facts, Seen(scoring.source.few))
        rows, columns = Cluster(max(2, self.workers.count())).cuts(given, m, n)
        inner: list[list[int]] = []
        for side, places, quantum in ((m, rows, plan.strip_rows), (n, columns, 2)):
            step = max(plan.tuning.traceback.least_side, -(-side // LINES))
            every = cuts(side, step, quantum, places) if of.job.output == "path" else places
            inner.append(sorted({*every} - {*places}))
        found = Cuts(rows, columns, *inner)
        store.drop("tile")  # of cuts that are damaged
        store.save_arrays("blocks", {}, {"cuts": vars(found)})
        return found


def cluster_strands(
    store: Store, resources: AlignResources, workers: Workers
) -> tuple[Callable[[], Outline], Callable[[Job], ClusterStrand]]:
    """What gives what stands for the engine of a run on ``workers``, and the part of a checkpoint
    that is of a strand.  The first raises ClusterError for workers that cannot compute it."""
    how, saved = StoredResources.of(resources, store.job.mode), saved_strands(store, resources)

    @cache
    def outline() -> Outline:
        told = [*surveyed(workers, str(store.folder.absolute()), how.device, how.plan).values()]
        return Outline(told[0].plan, told[0].facts, all(one.shared for one in told))

    def strand(job: Job) -> ClusterStrand:
        kept = resources.checkpoint is not None
        return ClusterStrand(saved(job).run, workers, how.device, how.plan, outline, kept)

    return outline, strand


class OnWorkers:
    """Computes the tiles of a sweep as blocks at workers: those whose edges are there, not many
    more than workers compute at once, so that each is pruned by the best score known by then."""

    def __init__(self, strand: ClusterStrand, of: Search, where: Cuts) -> None:
        self._strand, self._of, self._shared = strand, of, strand.outline().shared
        self._workers, self._place = strand.workers, strand.place(of)
        #: By the first row and column of each block, cells that are computed one after the other
        #: from there on; of those that are ready the one with most is next.
        heights, widths = lengths(where.rows), lengths(where.columns)
        ways = ways_left([[height * width for width in widths] for height in heights])
        every = zip(product(where.rows[:-1], where.columns[:-1]), chain(*ways), strict=True)
        self._ways = {place: int(cells) for place, cells in every}
        #: The files of blocks that earlier runs have computed.
        self._files = {*Path(self._place.part).glob("tile-*")}
        #: The longest that a block took, in seconds.
        self._longest = 0.0

    def __call__(self, rows: Iterator[TileRow]) -> None:
        left, running = dict[TileRow, list[Area]](), dict[Task[Any], tuple[TileRow, Area]]()
        try:
            while True:
                found, most = None, self._workers.count()
                if len(running) <= most + most // 4:
                    busy = {row for row, _ in running.values()}
                    found = next_tile(rows, left, busy, self._hurry)
                if found is not None:
                    row, area, job = found
                    # (a file is not looked for before it is there, or a host may not see it soon)
                    is_there = self._place.path(area) in self._files
                    if is_there and (known := facts_of(self._place, area)) is not None:
                        self._take(row, area, known)
                    else:
                        task = Task(self._workers, partial(self._submit, area, job))
                        running[task] = row, area
                elif not running:
                    return
                else:
                    self._hasten(running, most)
                    self._workers.wait([future for one in running for future in one.running])
                    for one in [one for one in running if one.done()]:
                        self._computed(*running.pop(one), one)
        finally:
            for one in running:
                one.cancel()

    def _hasten(self, running: Collection[Task[Any]], most: int) -> None:
        """Begin a block that takes much longer than any before once more, if workers are idle."""
        oldest = min(running, key=lambda task: task.since)
        late = time.monotonic() - oldest.since > SLOW * max(LOOK, self._longest)
        if late and sum(len(one.running) for one in running) < most and len(oldest.running) == 1:
            oldest.begin_once_more()

    def _submit(self, area: Area, tile: TileJob, lacked: int) -> Future[Any]:
        borders = self._of.problem.edges
        top: Any = tile.above if area.row else borders.top
        left: Any = tile.left if area.column else borders.left
        if self._shared:
            tile = replace(tile, query=NO_CODES, target=NO_CODES)
        else:  # a worker reads the cells of another block from what it is sent
            top, left = (one.packed() if isinstance(one, FileEdge) else one for one in (top, left))
        block = Block(self._place, area, replace(tile, top=top, left=left))
        name, first = f"tile-{area.row}-{area.column}", self._hurry(area)
        task: Any = computed if self._shared else sent_back
        return self._workers.submit(task, block, name=name, priority=first)

    def _hurry(self, area: Area) -> int:
        return self._ways[area[::2]]

    def _computed(self, row: TileRow, area: Area, task: Task[Any]) -> None:
        facts, engine = task.result(), self._of.engine
        self._longest = max(self._longest, time.monotonic() - task.since)
        engine.failures.retried += task.failed
        if not self._shared:
            facts, content = facts
            path = self._place.path(area)
            with to_write(path):
                path.with_name(path.name + ".part").write_bytes(content)
                path.with_name(path.name + ".part").replace(path)
        if engine.spans is not None:
            now = time.perf_counter()
            began = now - (facts["ended"] - facts["begun"])
            engine.spans.append(Span(facts["worker"], began, now, "sweep", area))
        self._take(row, area, facts)
        # not for blocks of earlier runs: each run does some more
        run = self._strand.run
        if run.late():
            raise run.stopped(f"a part of the blocks{run.store.what} is")

    def _take(self, row: TileRow, area: Area, facts: dict[str, Any]) -> None:
        engine, path = self._of.engine, self._place.path(area)
        self._strand.there.add(area[::2])
        edges, (rows, columns) = dict[str, Any](), area.shape
        for name, highest in facts["highest"].items():
            cells = columns if name.split()[0] in ("bottom", "row") else rows
            edges[name] = FileEdge(path, name, cells, highest)
        engine.peak_bytes = max(engine.peak_bytes, facts["device_bytes"])
        row.take(area, result_of(facts, edges))
