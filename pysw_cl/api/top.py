"""What users call: ``align_top``."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from typing import Any

from ..drivers.job import Job, alignment_of, path_of
from ..drivers.options import Resources, TopOptions
from ..drivers.problem import FreeEnds
from ..drivers.progress import Progress, RunProgress, TopProgress
from ..drivers.recompute import checked
from ..drivers.waterman_eggert import find_top
from ..errors import RecomputedWarning
from ..planning.plan import Plan
from ..results.alignment import Alignment, Stats
from ..scoring.precision import check_range
from ..sequences.coordinates import make_frames
from ..sequences.sequence import as_sequence
from ..tiles.contract import Engine
from .align import make_engine
from .bar import told


def align_top(
    a: Any,
    b: Any,
    *,
    k: int = 10,
    sub_score: Any = (1, -3),
    gap_cost: Any = (3, 2),
    wildcard: str | None = None,
    min_score: float = 1,
    device: Any = "auto",
    plan: Plan | Mapping[str, Any] | None = None,
    progress: Progress | bool | None = None,
    output: str = "path",
    kernel_times: bool = False,
) -> list[Alignment]:
    """The best local alignments of query ``a`` with target ``b`` that share no aligned pair.

    The first is that of ``align``.  Each further one is the best local alignment in which no
    letter of ``a`` stands opposite a letter of ``b`` that it stands opposite in an earlier one
    (Waterman & Eggert 1987, J Mol Biol 197, 723-728); so repeats, domains and copies in another
    order come one by one, and not the first alignment's neighbours in many variants.  Exactly: the
    i-th result is the canonical best local alignment of the matrix in which the diagonal steps of
    all earlier ones are forbidden.

    Parameters
    ----------
    a, b, sub_score, gap_cost, wildcard, device, plan, kernel_times
        As for ``align``; a gap of k letters costs ``open + k * extend``.
    k : int
        How many alignments at most, 1 or more.
    min_score : number above 0
        The least score of a result, in units of ``sub_score``.
    progress : callable or True, optional
        As for ``align``.  Beside the cells of the first sweep, ``total`` has about what the
        alignments take; if there are fewer than ``k``, the last call is a leap.  The stage is
        "alignment", with the number of the one that is searched.
    output : "path", "ends" or "score"
        What a result has.  All paths but the last are computed in any case.

    Returns
    -------
    list of Alignment
        At most ``k``, by decreasing score; empty if nothing scores ``min_score``.  The ``stats`` of
        each are what it took after the one before.

    Raises
    ------
    InputError
        For sequences, scorings, options and plans that cannot be used (its subclasses say which).
    DeviceError
        If there is no usable device, or it fails or runs out of memory.
    """
    options = TopOptions(
        k=k,
        sub_score=sub_score,
        gap_cost=gap_cost,
        wildcard=wildcard,
        min_score=min_score,
        output=output,
    )
    resources = Resources(device=device, plan=plan, progress=progress, kernel_times=kernel_times)
    return align_top_with(a, b, options, resources)


def align_top_with(a: Any, b: Any, options: TopOptions, resources: Resources) -> list[Alignment]:
    """`align_top`, with options that are checked."""
    started = time.perf_counter()
    scoring = options.scoring
    query, target = as_sequence(a, "query", False), as_sequence(b, "target", False)
    frame = make_frames(query, target, None, None, "plus", scoring)[0]
    check_range(scoring, *frame.shape, "local")
    job = Job(query, target, scoring, "local", FreeEnds().flags, options.output, frame)
    most, least = int(options.k), options.least
    with told(resources.progress) as progress:
        return _find(job, resources, most, least, progress, started)


def _find(
    job: Job,
    resources: Resources,
    most: int,
    least: int,
    progress: RunProgress | None,
    started: float,
) -> list[Alignment]:
    """Up to ``most`` alignments of at least ``least``; ``started``: when the call began."""
    paths = job.output == "path"
    rows, columns = job.frame.shape

    def compute(engine: Engine, plan: Plan) -> list[Alignment]:
        results, begun, before = [], started, Stats()
        tell = TopProgress.of(progress, plan, job.problem, most)
        strand = tell.strand(0) if tell else None
        for one in find_top(
            engine, job.problem, plan, most, least, last_path=paths, progress=strand
        ):
            if tell is not None:
                tell.found()
            path = path_of(job, one.end, one.path, plan) if paths and one.path is not None else None
            now = time.perf_counter()
            stats = Stats(one.cells, one.launches, now - begun, engine.peak_bytes)
            measured = Stats(kernel_seconds=engine.kernel_seconds)
            stats.kernel_seconds = measured.kernels_since(before)
            begun, before = now, measured
            results.append(alignment_of(job, one.end, path, plan, stats))
        if tell is not None:
            tell.finished()
        return results

    engine, plan = make_engine(resources)
    results, wrong = checked(compute, engine, plan, rows * columns)
    if wrong is not None:
        for result in results[:1]:
            result.stats.recomputed += 1
        warnings.warn(wrong, RecomputedWarning, stacklevel=4)
    return results
