"""One pair on the workers of a cluster, as its client sees it.

The client cuts the matrix into blocks and submits those whose edges are there (docs/cluster.md).
All that was computed is in the folder of the checkpoint, so a worker, the scheduler or the client
may be lost: whoever goes on finds the blocks that are done."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain, pairwise, product
from pathlib import Path
from typing import Any, NamedTuple

from ..checkpoint.container import to_write
from ..checkpoint.run import SavedStrand, result_of, saved_strands
from ..checkpoint.store import Store, StoredResources
from ..drivers.align_pair import Search, Swept
from ..drivers.band_doubling import Banded
from ..drivers.job import Job
from ..drivers.problem import FoundPath, Problem
from ..drivers.resources import AlignResources
from ..errors import ClusterError, DeviceError, RecomputedWarning, warn
from ..planning.facts import DeviceFacts
from ..planning.geometry import cuts
from ..planning.model.cluster import Cluster
from ..planning.model.several import ways_left
from ..planning.plan import Plan
from ..planning.program import Given, Seen
from ..tiles.contract import Engine
from ..tiles.edges import DeviceEdge, Edge, Source
from ..tiles.executors import next_tile
from ..tiles.graph import SweepState, TileRow
from ..tiles.slabs import BestCells, Slab, Slabs
from ..tiles.tile import Area, Hit, Span, TileJob, TileResult
from .blocks import Block, computed, facts_of, forget, receive, sent_back, traced
from .files import Corner, Cuts, FileEdge, Level, Place
from .survey import surveyed
from .workers import LOOK, TRIES, Workers, lost

#: Special lines of a side, about.
LINES = 16
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
    #: The workers that failed, and the blocks whose files are there.
    avoid: list[str] = field(default_factory=list)
    there: set[Corner] = field(default_factory=set)

    @property
    def shared(self) -> bool:
        return self.outline().shared

    def place(self, of: Search) -> Place:
        store = self.run.store
        folder, job = store.whole or store.folder, of.job
        folders = str(folder.absolute()), str(store.folder.absolute())
        about = *folders, job.key, job.frame.minus, job.beat
        return Place(*about, self.device, self.plan, self.shared)

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
        rows, columns = (dict.fromkeys(places, Nowhere()) for places in lines)
        edges = replace(problem.edges, rows=rows, columns=columns)
        best, slabs = BestCells(m, n, problem.floor, want, limits), Slabs(m, edges, (m, n))
        state = SweepState(problem, edges, best, slabs, None, of.progress.sweep())
        slab = Slab(0, m, edges.columns)
        try:
            with self._advice():
                self.send(of)
                every = state.rows(slab, where.rows, lambda *_: where.columns)
                OnWorkers(self, of, problem, where)(every)
        finally:
            if not self.shared:
                with suppress(Exception):  # the first error tells more
                    self.workers.everywhere(forget, of.job.key)
        state.finish(slab)
        of.stats.add_cost(state.result)
        of.stats.pruned, tiles = state.result.pruned_cells, state.result.tile_map((m, n))
        return Swept(problem.best_end(state.result.hits), tiles, None, state.result)

    def path(self, of: Search, end: Hit) -> FoundPath | None:
        place, where, tries = self.place(of), self._cuts(of), 0
        if not self.shared:  # the edges are here
            return traced(replace(place, shared=True), where, self.there, end)
        with self._advice():
            while True:
                one = self.workers.submit(
                    traced, place, where, self.there, end, name="path", avoid=self.avoid
                )
                try:
                    while not self.workers.wait([one]):
                        pass
                    return one.result()
                except Exception as error:
                    tries += 1
                    self.check(error, tries)
                finally:
                    one.cancel()

    @contextmanager
    def _advice(self) -> Iterator[None]:
        """Say how to go on if the cluster fails."""
        how = self.run.store.how if self.kept else "with a checkpoint it could go on from here"
        try:
            yield
        except ClusterError as error:
            raise ClusterError(f"{error}; {how}") from error

    def given(self, of: Search) -> Given:
        """What decides how long workers take for a block."""
        scoring, local = of.job.scoring, of.problem.is_local
        one = self.outline()
        return Given(one.plan, scoring, local, one.facts, Seen(scoring.source.few))

    def check(self, error: BaseException, tries: int) -> None:
        """Raise the error of a task unless another worker may do it."""
        where = getattr(error, "worker", "")
        failed = bool(where) or isinstance(error, DeviceError)
        if where and where not in self.avoid:
            self.avoid.append(where)
            warn(f"worker {where} failed, others go on: {error}", RecomputedWarning)
        if isinstance(error, BrokenExecutor):
            raise ClusterError(str(error)) from error
        if not failed and not lost(error):
            raise error
        if tries >= TRIES:
            raise ClusterError(f"workers fail again and again: {error}") from error

    def _cuts(self, of: Search) -> Cuts:
        """Where the matrix is cut: as an earlier run did."""
        store, (m, n), plan = self.run.store, of.problem.shape, of.engine.plan
        if (kept := store.arrays("blocks")) is not None:
            return Cuts(**kept[1]["cuts"])
        rows, columns = Cluster(max(2, self.workers.count())).cuts(self.given(of), m, n)
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


class Begun(NamedTuple):
    """A block that is computed, and since when."""

    row: TileRow
    area: Area
    job: TileJob
    since: float = 0.0

    def now(self) -> Begun:
        return self._replace(since=time.monotonic())


class OnWorkers:
    """Computes the tiles of a sweep as blocks at workers: those whose edges are there, not many
    more than workers compute at once, so that each is pruned by the best score known by then."""

    def __init__(self, strand: ClusterStrand, of: Search, problem: Problem, where: Cuts) -> None:
        self._strand, self._of, self._level = strand, of, Level(problem)
        self._workers, self._place = strand.workers, strand.place(of)
        #: By the first row and column of each block, cells that are computed one after the other
        #: from there on; of those that are ready the one with most is next.
        rows, columns = pairwise(where.rows), pairwise(where.columns)
        widths = [end - start for start, end in columns]
        ways = ways_left([[(end - start) * width for width in widths] for start, end in rows])
        every = zip(product(where.rows[:-1], where.columns[:-1]), chain(*ways), strict=True)
        self._ways = {place: int(cells) for place, cells in every}
        #: The files of blocks that earlier runs have computed.
        self._files = {*Path(self._place.part).glob("tile-*")}
        #: How often each block failed, and the longest that one took, in seconds.
        self._tries, self._longest = Counter[Area](), 0.0
        #: How often one after the other had not been sent the job.
        self._unsent = 0

    def __call__(self, rows: Iterator[TileRow]) -> None:
        left, again, running = (
            dict[TileRow, list[Area]](),
            list[Begun](),
            dict[Future[Any], Begun](),
        )
        try:
            while True:
                busy, most = {one.row for one in [*running.values(), *again]}, self._workers.count()
                begun = None
                if len(running) <= most + most // 4:
                    begun = again.pop() if again else self._next(rows, left, busy)
                if begun is not None:
                    path = self._place.path(begun.area)
                    # (a file is not looked for before it is there, or a host may not see it soon)
                    known = facts_of(self._place, begun.area) if path in self._files else None
                    if known is None:
                        running[self._submit(begun)] = begun.now()
                    else:
                        self._take(begun, known)
                elif not running:
                    return
                elif (slow := self._slow(running, most)) is not None:
                    running[self._submit(slow)] = slow.now()
                else:
                    for done in self._workers.wait(running):
                        begun = running.pop(done, None)
                        if begun is None:  # its block was done at the same time elsewhere
                            continue
                        same = [k for k, one in running.items() if one.area == begun.area]
                        facts = self._result(done, begun.area)
                        if facts is not None:
                            self._longest = max(self._longest, time.monotonic() - begun.since)
                            self._take(begun, facts)
                            for other in same:  # it is late
                                del running[other]
                                other.cancel()
                            self._stop_if_late()
                        elif not same:
                            again.append(begun)
        finally:
            for one in running:
                one.cancel()

    def _next(
        self, rows: Iterator[TileRow], left: dict[TileRow, list[Area]], busy: set[TileRow]
    ) -> Begun | None:
        found = next_tile(rows, left, busy, self._hurry)
        return None if found is None else Begun(*found)

    def _slow(self, running: dict[Future[Any], Begun], most: int) -> Begun | None:
        """A block that takes much longer than any before, while workers are idle."""
        areas = Counter(one.area for one in running.values())
        oldest = min(running.values(), key=lambda one: one.since)
        late = time.monotonic() - oldest.since > SLOW * max(LOOK, self._longest)
        return oldest if late and len(running) < most and areas[oldest.area] == 1 else None

    def _submit(self, begun: Begun) -> Future[Any]:
        area, job = begun.area, begun.job
        top = self._stored(job.above) if area.row else None
        left = self._stored(job.left) if area.column else None
        edges = job.best, job.threshold, job.after, job.bottom, job.right, job.rows, job.columns
        block = Block(self._place, area, job.corner, top, left, *edges)
        name, first = f"tile-{area.row}-{area.column}", self._hurry(area)
        task: Any = computed if self._strand.shared else sent_back
        return self._workers.submit(
            task, block, name=name, priority=first, avoid=self._strand.avoid
        )

    def _hurry(self, area: Area) -> int:
        return self._ways[area[::2]]

    def _stored(self, edge: Edge) -> Source:
        if not isinstance(edge, FileEdge):
            return self._level
        return edge if self._strand.shared else edge.packed()

    def _result(self, done: Future[Any], area: Area) -> dict[str, Any] | None:
        """What a task gives; None: its worker failed, and another one does it."""
        try:
            found: Any = done.result()
            if self._strand.shared:
                return dict(found)
            if found is None:  # a worker that came later
                self._unsent += 1
                if self._unsent > TRIES + self._workers.count():
                    raise ClusterError("workers cannot write what they are sent of the job")
                self._strand.send(self._of)
                return None
            self._unsent, (facts, content) = 0, found
            path = self._place.path(area)
            with to_write(path):
                path.with_name(path.name + ".part").write_bytes(content)
                path.with_name(path.name + ".part").replace(path)
            return dict(facts)
        except BaseException as error:
            self._tries[area] += 1
            self._strand.check(error, self._tries[area])
            self._of.engine.failures.retried += 1
            return None

    def _take(self, begun: Begun, facts: dict[str, Any]) -> None:
        area, engine = begun.area, self._of.engine
        self._strand.there.add(area[::2])
        path = self._place.path(area)
        edges = {
            name: FileEdge(path, name, cells, facts["highest"][name])
            for name, cells in sized(area, facts["highest"]).items()
        }
        engine.peak_bytes = max(engine.peak_bytes, facts["device_bytes"])
        if engine.spans is not None and begun.since:
            now = time.perf_counter()
            began = now - (facts["ended"] - facts["begun"])
            engine.spans.append(Span(facts["worker"], began, now, "sweep", area))
        result: TileResult = result_of({**facts, "edges": edges}, edges)
        begun.row.take(area, result)

    def _stop_if_late(self) -> None:
        """Not for blocks of earlier runs: each run does some more."""
        run = self._strand.run
        if run.late():
            raise run.stopped(f"a part of the blocks{run.store.what} is")


def sized(area: Area, names: dict[str, int]) -> dict[str, int]:
    """The cells of the edges of a block, by their names."""
    rows, columns = area.shape
    return {name: columns if name.split()[0] in ("bottom", "row") else rows for name in names}
