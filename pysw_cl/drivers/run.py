"""One run: the strands of a job, from its letters or from a checkpoint, to the result of the best.

`align` and `resume` go through it.  A path that fails its check is computed a second time.
"""

from __future__ import annotations

import time
import warnings
from functools import partial
from typing import Protocol

from ..errors import RecomputedWarning
from ..results.alignment import Alignment, Stats
from ..sequences.likely_strand import likely_minus
from ..tiles.contract import Engine
from .align_pair import Found, search
from .job import Job, alignment_of
from .options import AlignResources
from .progress import PairProgress, RunProgress
from .recompute import checked


class Saved(Protocol):
    """What earlier runs of a job have saved, and where this one saves."""

    @property
    def minus_first(self) -> bool:
        """Is the minus strand searched first?"""

    def strand(self, job: Job) -> SavedPart:
        """The part that is of a strand."""


class SavedPart(Protocol):
    """What is saved of a strand."""

    def known(self) -> Found | None:
        """The result, if it is finished."""

    def search(self, engine: Engine, progress: PairProgress, whole: bool) -> Found:
        """The result, which is saved when it is found.  ``whole``: it is computed from the
        beginning, because what was computed from the checkpoint failed its check, and counts as
        computed again."""


def run(
    job: Job,
    engine: Engine | None,
    resources: AlignResources,
    progress: RunProgress,
    saved: Saved | None = None,
    started: float | None = None,
) -> Alignment:
    """The result of a job: of its best strand, plus among equals.

    The likely strand is searched first, and the other one only for what makes it the better one
    (`Job.beat`), which prunes most of it.  ``saved``: a checkpoint of the job; if all of it is
    finished, no engine is needed.  ``started``: when the call began, by `time.perf_counter`.

    Raises InternalError for a path that does not score what was found, in two computations.
    """
    rows, columns = job.frame.shape
    compute = partial(_strands, job, resources, progress, saved, False)
    again = partial(_strands, job, resources, progress, saved, True)
    result, wrong = checked(compute, engine, rows * columns, again)
    if saved is None and engine is not None:
        stats, began = result.stats, time.perf_counter() if started is None else started
        stats.seconds = time.perf_counter() - began
    if wrong is not None:
        result.stats.recomputed += saved is None
        warnings.warn(wrong, RecomputedWarning, stacklevel=4)  # whoever called `align`
    return result


def _strands(
    job: Job,
    resources: AlignResources,
    progress: RunProgress,
    saved: Saved | None,
    whole: bool,
    engine: Engine | None,
) -> Alignment:
    """See `run`.  ``whole``: what is saved of unfinished strands does not count."""
    total: Stats | None = None
    others: list[int] = []
    best: tuple[Job, Found] | None = None
    pair: PairProgress | None = None
    jobs = job.strands(_minus_first(job, engine) if saved is None else saved.minus_first)
    for k, one in enumerate(jobs):
        this = one.beating(best and best[1].end)
        part = None if saved is None else saved.strand(this)
        found = None if part is None else part.known()
        if found is None:
            assert engine is not None
            path = job.output == "path"
            pair = pair or PairProgress(progress, engine.plan, job.frame.shape, path, len(jobs))
            if part is None:
                found = search(engine, this, resources, pair.strand(k))
            else:
                found = part.search(engine, pair.strand(k), whole)
        total = found.stats if total is None else total.plus(found.stats)
        if this.better(found.end):
            others += [] if best is None else [best[1].end.score]
            best = this, found
        else:
            others.append(found.end.score)
    assert best is not None and total is not None
    this, found = best
    if saved is None and engine is not None:
        total.device_bytes, total.kernel_seconds = engine.peak_bytes, engine.kernel_seconds
    second = None if found.second_best is None else max([found.second_best, *others])
    return alignment_of(this, *found._replace(stats=total, second_best=second))


def _minus_first(job: Job, engine: Engine | None) -> bool:
    """Is the minus strand the likely one?"""
    assert engine is not None
    return job.both and likely_minus(job.frame, engine.plan.tuning.sweep.guessed_cells)
