"""One run: the strands of a job, from its letters or from a checkpoint, to its results.

Every path is scored again from its letters and its moves alone.  If that is not the score that the
sweep found, a kernel, a driver or a device is wrong.  The comparison then runs a second time, with
as little as possible in common with the first (`checked`), and a warning says what to report."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial, reduce
from heapq import merge
from itertools import islice
from math import prod
from typing import TypeVar

from ..errors import InternalError, PyswError, RecomputedWarning, warn
from ..results.alignment import Alignment
from ..results.stats import Stats
from ..tiles.contract import Engine
from .align_pair import StrandStore, search
from .job import Found, Job, alignment_of, path_of
from .options import TopOptions
from .problem import Path
from .progress import PATH, SAVED_PATH, PairProgress, RunProgress, TopProgress
from .resources import AlignResources
from .waterman_eggert import find_top

Result = TypeVar("Result")


def run(
    jobs: list[Job],
    engines: Callable[[], Engine],
    resources: AlignResources,
    progress: RunProgress,
    saved: Callable[[Job], StrandStore] | None = None,
    started: float | None = None,
) -> Alignment:
    """The result of a job, given as that of one strand or of both (`Job.strands`): of the best
    strand, plus among equals.

    The second one is only searched for a better score (`Job.beat`), which prunes most of it.
    ``engines`` gives the engine, always the same; it is not called if all of a checkpoint is
    finished, of which ``saved`` gives the part of a strand.  ``started``: when the call began, by
    `time.perf_counter`; a checkpoint counts its own time.  Raises InternalError for a path that
    fails its check in two computations."""
    since = time.perf_counter() if started is None else started
    done = list[tuple[Job, Found]]()
    pair: PairProgress | None = None
    result: Alignment | None = None
    for k, this in enumerate(jobs):
        if done:  # of equal scores plus is the better
            this = replace(this, beat=done[0][1].end.score - int(not this.frame.minus))
        part = None if saved is None else saved(this)
        found = None if part is None else part.known()
        if found is None:
            engine, shape = engines(), this.frame.shape
            path = (PATH if part is None else SAVED_PATH) * (this.output == "path")
            pair = pair or PairProgress(progress, engine.plan, shape, path, len(jobs))
            compute = partial(_found, this, resources, pair.strand(k), part)
            computed, wrong = checked(compute, engine, prod(shape))
            found, result = computed
            found.stats.recomputed += wrong is not None
            if part is not None:
                part.save(found)
            if wrong is not None:
                warn(wrong, RecomputedWarning)
        done.append((this, found))
    this, found = done[0]
    total = found.stats
    for that, other in done[1:]:
        total = total.plus(other.stats)
        if that.better(other.end):
            this, found, other = that, other, found
        if found.second_best is not None:  # the other strand lies outside
            found = found._replace(second_best=max(found.second_best, other.end.score))
    if started is not None:
        total.seconds = time.perf_counter() - started
    total.spans = [s._replace(begin=s.begin - since, end=s.end - since) for s in total.spans]
    if result is not None and len(jobs) == 1:
        return result
    return alignment_of(this, found._replace(stats=total))


def _found(
    job: Job,
    resources: AlignResources,
    progress: PairProgress,
    part: StrandStore | None,
    engine: Engine,
    anew: bool,
) -> tuple[Found, Alignment]:
    """What a strand has, and as a result.  Raises InternalError as `alignment_of` does."""
    before = Counter(engine.kernel_seconds if resources.kernel_times else {})
    engine.spans, engine.stage = [] if resources.timeline else None, "sweep"
    if anew and part is not None:
        part.begin_anew(progress)
    found = search(engine, job, resources, progress, None if anew else part)
    found.stats.device_bytes, found.stats.spans = engine.peak_bytes, engine.spans or []
    engine.failures.move_to(found.stats)
    if resources.kernel_times:
        found.stats.kernel_seconds = dict(Counter(engine.kernel_seconds) - before)
    return found, alignment_of(job, found)


def checked(
    compute: Callable[[Engine, bool], Result], engine: Engine, cells: int
) -> tuple[Result, str | None]:
    """The result of ``compute(engine, anew)`` for a comparison of ``cells`` cells, and the text of
    a `RecomputedWarning` or None, which the caller gives when the result is safe.  After an
    `InternalError` it is computed ``anew`` by `Engine.another`.  If that fails, too, its error also
    names the first one."""
    try:
        return compute(engine, False), None
    except InternalError as error:
        if (other := engine.another(cells)) is None:
            raise
        first = str(error)  # not the error itself: its frames hold the first run's memory
    try:
        result = compute(other, True)
    except InternalError as error:
        raise InternalError(f"{error}; and before, by {engine.plan}: {first}") from None
    except PyswError as error:
        error.args = (f"{error} (while it was computed again by {other.plan}, because {first})",)
        raise
    return result, f"{first} -- it was computed again by {other.plan}, and that passed the check"


def run_top(
    job: Job, engine: Engine, options: TopOptions, progress: RunProgress, started: float
) -> list[Alignment]:
    """The best alignments of a job that share no aligned pair, by decreasing score, plus before
    minus.  ``started``, and what it raises: as for `run`."""
    cells, pending = prod(job.frame.shape), list[Stats]()  # the costs of what is searched

    def noted(strand: Job, given: tuple[Found, Path | None]) -> tuple[Job, Found, Path | None]:
        pending.append(given[0].stats)
        return strand, *given

    def compute(engine: Engine, anew: bool) -> list[Alignment]:
        results, begun, before, strands = [], started, Counter[str](), job.strands(False)
        tell = TopProgress(progress, cells, options.k, len(strands))
        pending.clear()
        with ExitStack() as stack:
            lists = []
            for strand in strands:
                listed = closing(find_top(engine, strand, options.k, options.least, tell))
                lists.append(map(partial(noted, strand), stack.enter_context(listed)))
            every = merge(*lists, key=lambda own: -own[1].end.score)
            for this, one, path in islice(every, min(options.k, 2 * cells)):
                tell.found += 1
                if path is not None and this.output == "path":
                    one = one._replace(path=path_of(this, one.end, path, engine.plan))
                now, stats = time.perf_counter(), reduce(Stats.plus, pending, Stats())
                pending.clear()
                stats.seconds, stats.device_bytes = now - begun, engine.peak_bytes
                engine.failures.move_to(stats)
                measured = Counter(engine.kernel_seconds)
                stats.kernel_seconds = dict(measured - before)
                begun, before = now, measured
                results.append(alignment_of(this, one._replace(stats=stats)))
        tell.finished()
        return results

    results, wrong = checked(compute, engine, cells)
    if wrong is not None:
        for result in results[:1]:
            result.stats.recomputed += 1
        warn(wrong, RecomputedWarning)
    return results
