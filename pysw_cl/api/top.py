"""What users call: ``align_top``."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from typing import Any

from ..drivers.job import Job, alignment_of, path_of
from ..drivers.options import Output, Resources, TopOptions
from ..drivers.problem import FreeEnds
from ..drivers.progress import Progress, RunProgress, TopProgress
from ..drivers.recompute import checked
from ..drivers.waterman_eggert import FoundAlignment, find_top
from ..errors import RecomputedWarning
from ..opencl.builds import expecting
from ..planning.plan import Plan
from ..results.alignment import Alignment, Stats
from ..sequences.coordinates import Strand
from ..tiles.contract import Engine
from .advice import advise_pair
from .align import job_of, make_engine, programs
from .bar import told


def align_top(
    a: Any,
    b: Any,
    *,
    k: int = 10,
    sub_score: Any = (1, -3),
    gap_cost: Any = None,
    wildcard: str | None = None,
    unknown: str = "error",
    allow_odd_scoring: bool = False,
    min_score: float = 1,
    device: Any = "auto",
    plan: Plan | Mapping[str, Any] | None = None,
    progress: Progress | bool | None = None,
    output: Output = "path",
    kernel_times: bool = False,
    strand: Strand = "plus",
    left_align: bool = False,
    query_range: tuple[int, int] | None = None,
    target_range: tuple[int, int] | None = None,
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
    a, b, sub_score, gap_cost, wildcard, unknown, allow_odd_scoring, device, plan, kernel_times
        As for ``align``; a gap of k letters costs ``open + k * extend``.
    query_range, target_range
        As for ``align``.
    k : int
        How many alignments at most, 1 or more.
    min_score : number above 0
        The least score of a result, in units of ``sub_score``.
    progress : callable or True, optional
        As for ``align``.  Beside the cells of the first sweep, ``total`` has about what the
        alignments take; if there are fewer than ``k``, the last call is a leap.  The stage is
        "alignment", with the number of the one that is searched.
    strand : "plus", "minus" or "both"
        Align the query as it is, its reverse complement, or both.  Each strand has a matrix of its
        own, so a pair is two letters and the strand on which they stand opposite each other: an
        alignment on one strand forbids nothing on the other.  The alignments of "both" are the
        best of the two lists, by decreasing score, plus before minus among equals.
    left_align : bool
        As for ``align``, when all are found, so two results may share pairs beside a gap then.
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
        unknown=unknown,
        allow_odd_scoring=allow_odd_scoring,
        min_score=min_score,
        output=output,
        strand=strand,
        left_align=left_align,
        query_range=query_range,
        target_range=target_range,
    )
    resources = Resources(device=device, plan=plan, progress=progress, kernel_times=kernel_times)
    return align_top_with(a, b, options, resources)


def align_top_with(
    a: Any, b: Any, options: TopOptions, resources: Resources, quiet: bool = False
) -> list[Alignment]:
    """`align_top`, with options that are checked; ``quiet``: without a warning about the input."""
    started = time.perf_counter()
    job = job_of(a, b, options, "local", FreeEnds())
    if not quiet:
        advise_pair(job.frame, options.scoring, "local")
    with told(resources.progress) as progress, expecting(programs("path")):
        return _find(job, options, resources, progress, started)


def _find(
    job: Job,
    options: TopOptions,
    resources: Resources,
    progress: RunProgress,
    started: float,
) -> list[Alignment]:
    """The alignments of a job; ``started``: when the call began."""
    rows, columns = job.frame.shape

    def compute(engine: Engine) -> list[Alignment]:
        results, begun, before, plan = [], started, Stats(), engine.plan
        strands = len(job.strands(False))
        tell = TopProgress(progress, rows * columns, int(options.k), strands)
        for this, one, stats in _merged(engine, plan, job, options, tell):
            tell.found += 1
            traced = one.path if options.output == "path" else None
            path = None if traced is None else path_of(this, one.end, traced, plan)
            now = time.perf_counter()
            stats.seconds, stats.device_bytes = now - begun, engine.peak_bytes
            measured = Stats(kernel_seconds=engine.kernel_seconds)
            stats.kernel_seconds = measured.kernels_since(before)
            begun, before = now, measured
            results.append(alignment_of(this, one.end, path, plan, stats))
        tell.finished()
        return results

    results, wrong = checked(compute, make_engine(resources), rows * columns)
    if wrong is not None:
        for result in results[:1]:
            result.stats.recomputed += 1
        warnings.warn(wrong, RecomputedWarning, stacklevel=4)
    if options.left_align and job.output == "path":
        return [one.left_aligned() for one in results]
    return results


def _merged(
    engine: Engine, plan: Plan, job: Job, options: TopOptions, tell: TopProgress
) -> Iterator[tuple[Job, FoundAlignment, Stats]]:
    """The best alignments of the job's strands, plus first among equals: the strand as a job, the
    alignment, and the cells and launches since the one before."""
    jobs, most = job.strands(False), int(options.k)
    with ExitStack() as stack:
        lists = []
        for one in jobs:
            found = find_top(
                engine,
                one.problem,
                plan,
                most,
                options.least,
                last_path=options.output == "path",
                progress=tell,
            )
            lists.append(stack.enter_context(closing(found)))
        stats = Stats()
        heads = [_next(one, stats) for one in lists]
        for number in range(1, most + 1):
            left = [k for k, head in enumerate(heads) if head is not None]
            if not left:
                return
            strand = max(left, key=lambda k: _score(heads[k]))  # the first of equals
            best = heads[strand]
            assert best is not None
            yield jobs[strand], best, stats
            stats = Stats()
            if number < most:
                heads[strand] = _next(lists[strand], stats)


def _score(found: FoundAlignment | None) -> int:
    return 0 if found is None else found.end.score


def _next(found: Iterator[FoundAlignment], stats: Stats) -> FoundAlignment | None:
    """The next alignment of a strand, whose cost is added; None after the last."""
    one = next(found, None)
    if one is not None:
        stats.add_cells(one.cells)
        stats.launches += one.launches
    return one
