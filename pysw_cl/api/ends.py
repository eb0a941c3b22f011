"""What users call for the ends of local alignments: ``best_ends`` and ``trace_ends``."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..drivers import ends as driver
from ..drivers.job import Found, Job, alignment_of
from ..drivers.options import FIELDS, UNREACHED, EndsOptions, Resources, TraceOptions
from ..drivers.progress import PairProgress, Progress, Stage
from ..drivers.run import checked
from ..engines.registry import row_of
from ..errors import (
    InputError,
    InternalError,
    PyswError,
    RecomputedWarning,
    choice,
    items,
    shown,
    warn,
)
from ..planning.plan import Plan
from ..results.alignment import Alignment
from ..results.pair_paths import as_table
from ..results.stats import Stats
from ..scoring.scoring import made_of
from ..sequences.lent import refuse_masked
from ..sequences.view import COMPARED, Strand
from ..tiles.contract import Engine
from ..tiles.tile import Hit
from .align import PROGRAMS, job_of, make_engine
from .bar import told

#: The ``engine`` that leaves the choice to the package.
AUTO = "auto"


def best_ends(
    a: Any,
    b: Any,
    *,
    k: int = 200,
    min_separation: int = 0,
    apart_in: str = "either",
    ends: str = "cells",
    sub_score: Any = (1, -3),
    gap_cost: Any = None,
    wildcard: str | None = None,
    iupac: str = "mismatch",
    unknown: str = "error",
    allow_odd_scoring: bool = False,
    min_score: float = 1,
    query_range: tuple[int, int] | None = None,
    target_range: tuple[int, int] | None = None,
    engine: str = AUTO,
    device: Any = "auto",
    plan: Plan | Mapping[str, Any] | None = None,
    progress: Progress | bool | None = None,
    strand: Strand = "plus",
) -> NDArray[Any]:
    """The places where the best local alignments of query ``a`` with target ``b`` end.

    These are the ``k`` cells of the matrix with the highest scores, exactly, whether their
    alignments share letters or not.  Ends of one alignment and its neighbours lie side by side;
    ``min_separation`` keeps one of them, and `align_top` finds alignments that share no aligned
    pair.  It is kernel 1 of the SSCA#1 benchmark (Bader et al.
    2006; Khajeh-Saeed, Poole & Perot 2010, J Comput Phys 229, 4247-4258).

    Parameters
    ----------
    a, b, sub_score, gap_cost, wildcard, iupac, unknown, allow_odd_scoring, query_range,
    target_range, device, plan
        As for ``align``; a gap of k letters costs ``open + k * extend``.
    k : int
        How many ends at most, 1 or more.
    min_separation : int
        s above 0: the best end is kept; each further one is kept if its query end or its target
        end is at least s letters from that of every end that is kept.
    apart_in : "either" or "both"
        "both": it is kept if its query end and its target end are.
    ends : "cells" or "matches"
        Which cells are ends.  "matches": only those whose alignment ends with a pair of letters
        that scores above 0, where the next pair does not, or a sequence ends.
    min_score : number above 0
        The least score of an end, in units of ``sub_score``.
    engine : "auto", "wavefront", "rowscan" or "reference"
        What computes the matrix; none changes the result.  "auto": that of ``align``.
    progress : callable or True, optional
        As for ``align``, of sweeps of the whole matrix, mostly one.
    strand : "plus", "minus" or "both"
        As for ``align_top``: each strand has a matrix, and ends of its own.

    Returns
    -------
    structured array
        At most ``k`` rows with ``score``, ``query_end`` and ``target_end`` (0-based, exclusive, in
        the whole sequences as given), by falling score, then by query end, then by target end.
        Unless ``strand`` is "plus" there is a ``strand``, too, and of equal scores plus comes
        first.  On the minus strand an alignment ends where the query that it has begins: that place
        is ``query_end``, and the last one comes first.

    Raises as ``align``."""
    given = locals()
    options = made_of(EndsOptions, {**given, "output": "ends"})
    resources = made_of(Resources, {**given, "plan": with_engine(engine, plan)})
    return best_ends_with(a, b, options, resources)


def with_engine(engine: Any, plan: Any) -> Any:
    """The wishes for a plan with those for an engine."""
    if not isinstance(engine, str):
        raise InputError(f"engine must be the name of an engine or 'auto', not {shown(engine)}")
    if engine == AUTO:
        return plan
    row_of({"engine": engine})  # raises for an unknown name
    if isinstance(plan, Plan) or (plan is not None and plan.get("engine", engine) != engine):
        raise InputError("give the engine or a plan that names one, not both")
    return {**(plan or {}), "engine": engine}


def best_ends_with(
    a: Any, b: Any, options: EndsOptions, resources: Resources, quiet: bool = False
) -> NDArray[Any]:
    """`best_ends`, with options that are checked; ``quiet``: without a warning about the input."""
    options = options.of_query(a)
    job = job_of(a, b, options, quiet)
    engine = make_engine(resources)
    jobs, found = job.strands(False), []
    with told(resources.progress, 1) as run:
        pair = PairProgress(run, engine.plan, job.frame.shape, False, len(jobs))
        for number, one in enumerate(jobs):
            cells = driver.best_ends(engine, one.problem, options, pair.strand(number).sweep())
            frame, scale, (score, row, column) = one.frame, one.scoring.scale, cells.T
            columns = {
                "score": score if scale == 1 else score / scale,
                "query_end": frame.rows(None, row)[0 if frame.minus else 1],
                "target_end": frame.column + column,
            }
            if options.strand != "plus":
                columns["strand"] = np.full(len(cells), frame.strand, "U5")
            found.append(as_table(columns))
    every = np.concatenate(found)  # of one strand they are sorted already
    return every[np.argsort(-every["score"], kind="stable")[: options.k]]


def trace_ends(
    a: Any,
    b: Any,
    ends: Any,
    *,
    highest: float | None = None,
    sub_score: Any = (1, -3),
    gap_cost: Any = None,
    wildcard: str | None = None,
    iupac: str = "mismatch",
    unknown: str = "error",
    allow_odd_scoring: bool = False,
    query_range: tuple[int, int] | None = None,
    target_range: tuple[int, int] | None = None,
    engine: str = AUTO,
    device: Any = "auto",
    plan: Plan | Mapping[str, Any] | None = None,
    progress: Progress | bool | None = None,
    kernel_times: bool = False,
    strand: Strand = "plus",
) -> list[Alignment]:
    """The local alignments of query ``a`` with target ``b`` that end at given places.

    Each is the best alignment that ends there, by its canonical path: what `align` finds if that
    place is the best end.  It is kernel 2 of the SSCA#1 benchmark (Bader et al. 2006;
    Khajeh-Saeed & Perot 2011, GPU Computing Gems, chapter 13).

    Parameters
    ----------
    ends : structured array, or rows of (score, query_end, target_end)
        What `best_ends` returns for the same arguments, or some of its rows, in any order; a row
        may come several times.  Ends are 0-based and exclusive, in the whole sequences as given.
    highest : number, optional
        The highest score of all, which is that of the first row that `best_ends` returns.  No
        result needs it, but with it less of the matrix is computed.  A path may be another one of
        the same score if some alignment scores more.
    a, b, sub_score, gap_cost, wildcard, iupac, unknown, allow_odd_scoring, query_range,
    target_range
        As for ``best_ends``; a gap of k letters costs ``open + k * extend``.
    engine, device, plan, kernel_times
        As for ``best_ends`` and ``align``; none changes a result.
    progress : callable or True, optional
        As for ``align``, with ends in the place of cells.
    strand : "plus", "minus" or "both"
        As for ``best_ends``; for "both" ``ends`` have a field ``strand``.

    Returns
    -------
    list of Alignment
        One for each row of ``ends``, in that order.  ``stats`` of the first are what all of them
        took; those of the others are empty.

    Raises as ``align``, and InputError if the score of an end is not the best score of an alignment
    that ends there."""
    given = locals()
    options = made_of(TraceOptions, given)
    resources = made_of(Resources, {**given, "plan": with_engine(engine, plan)})
    return trace_ends_with(a, b, ends, options, resources)


def trace_ends_with(
    a: Any, b: Any, ends: Any, options: TraceOptions, resources: Resources, known: bool = False
) -> list[Alignment]:
    """`trace_ends`, with options that are checked.  ``known``: did `best_ends` find the ends?"""
    if options.strand == "both":
        return _of_strands(a, b, ends, options, resources, known)
    started = time.perf_counter()
    options = options.of_query(a)
    job = job_of(a, b, options)
    hits = _hits(ends, job, options.highest)
    places = {(hit.row, hit.column): hit for hit in hits}
    different = list(places.values())
    most = None if options.highest is None else round(options.highest * job.scoring.scale)

    def tell(count: int) -> None:
        run.tell(count, Stage("alignment", min(count + 1, len(different)), len(different)))

    def compute(engine: Engine, anew: bool) -> list[Alignment]:
        run.begin(len(different))
        found = driver.trace_ends(engine, job, different, most, tell)
        stats = Stats(found.cells, found.launches, again=found.again)
        stats.device_bytes, stats.kernel_seconds = engine.peak_bytes, engine.kernel_seconds
        paths = dict(zip(places, found.paths, strict=True))
        results: list[Alignment] = []
        for number, hit in enumerate(hits):
            path = paths[hit.row, hit.column]
            assert path is not None and path.score is not None
            if path.score != hit.score:
                raise _wrong(number, hit, path.score, job, known)
            cost = Stats() if results else stats
            results.append(alignment_of(job, Found(hit, path, engine.plan, cost, None)))
        stats.seconds = time.perf_counter() - started
        return results

    with told(resources.progress, PROGRAMS["path"]) as run:
        engine = make_engine(resources)
        if not hits:
            return []
        results, wrong = checked(compute, engine, prod(job.frame.shape))
    if wrong is not None:
        results[0].stats.recomputed += 1
        warn(wrong, RecomputedWarning)
    return results


def _of_strands(
    a: Any, b: Any, ends: Any, options: TraceOptions, resources: Resources, known: bool
) -> list[Alignment]:
    """`trace_ends` of both strands, one after the other."""
    if "strand" not in (getattr(getattr(ends, "dtype", None), "names", None) or ()):
        raise InputError("with strand='both' ends say their strand, as those of best_ends do")
    strands, found, total = np.atleast_1d(ends["strand"]), {}, Stats()
    for number in np.flatnonzero(~np.isin(strands, COMPARED["both"])).tolist():
        choice(strands.tolist()[number], f"the strand of end {number}", COMPARED["both"])
    for strand in COMPARED["both"]:
        own = a, b, np.atleast_1d(ends)[strands == strand], replace(options, strand=strand)
        paths = trace_ends_with(*own, resources, known)
        if paths:
            total.add(paths[0].stats)
            paths[0] = replace(paths[0], stats=Stats())
        found[strand] = iter(paths)
    every = [next(found[one]) for one in strands.tolist()]
    every[:1] = [replace(one, stats=total) for one in every[:1]]
    return every


def _hits(ends: Any, job: Job, highest: float | None) -> list[Hit]:
    """The ends as cells of the frame, with scores in the scoring's own integers."""
    rows, frame, limit = _rows(ends), job.frame, np.inf if highest is None else highest
    first, last = np.array([frame.row, frame.column]), np.array([frame.row_end, frame.column_end])
    scores, places = rows[:, 0] * job.scoring.scale, rows[:, 1:]
    whole = (scores % 1 == 0) & (places % 1 == 0).all(axis=1)
    before = np.array([int(frame.minus), 0])  # on the minus strand query ends are where it begins
    inside = ((places > first - before) & (places <= last - before)).all(axis=1)
    possible = (scores > 0) & (rows[:, 0] <= limit) & (scores < UNREACHED)
    for good, words in (
        (whole, "ends are whole numbers, and their scores those of the scoring"),
        (inside, f"an end is between {frame.row + 1 - before[0]:,} and "
         f"{frame.row_end - before[0]:,} in the query and "
         f"between {frame.column + 1:,} and {frame.column_end:,} in the target"),
        (possible, "a score is above 0, and not above the highest one"),
    ):  # fmt: skip
        if not good.all():
            number = int(np.flatnonzero(~good)[0])
            score, row, column = (f"{value:,.15g}" for value in rows[number].tolist())
            has = f"the score {score}, query end {row} and target end {column}"
            raise InputError(f"end {number} has {has}: {words}")
    places = np.abs(places - (frame.row_end if frame.minus else frame.row, frame.column))
    return [Hit(*cell) for cell in np.column_stack([scores, places]).astype(np.int64).tolist()]


def _rows(ends: Any) -> Any:
    """The ends as an array of three columns."""
    refuse_masked(ends, "array of ends", InputError)
    names, wanted = getattr(getattr(ends, "dtype", None), "names", None), FIELDS["ends"]
    if names is not None:
        missing = [name for name in wanted if name not in names]
        if missing:
            raise InputError(f"ends have no {', '.join(missing)}; they have {', '.join(names)}")
        return np.stack([np.atleast_1d(ends[name]).astype(np.float64) for name in wanted], axis=1)
    with suppress(TypeError, ValueError, OverflowError):
        rows = np.array([tuple(end) for end in items(ends, "ends")], np.float64)
        if rows.size == 0:
            return rows.reshape(0, 3)
        if rows.ndim == 2 and rows.shape[1] == 3 and np.isfinite(rows).all():
            return rows
    what = "rows of (score, query_end, target_end), as best_ends returns them"
    raise InputError(f"ends are {what}, not {shown(ends)}")


def _wrong(number: int, hit: Hit, score: int, job: Job, known: bool) -> PyswError:
    """The error of an end whose score is another one."""
    said, is_ = job.scoring.unscaled(hit.score), job.scoring.unscaled(score)
    frame = job.frame
    row, column = frame.rows(None, hit.row)[0 if frame.minus else 1], frame.column + hit.column
    text = (
        f"end {number}, at query end {row:,} and target end {column:,}, is said to score {said}, "
        f"but the best alignment that ends there scores {is_}"
    )
    if known:
        return InternalError(f"{text}; please report this with both sequences and all arguments")
    more = "give ends that best_ends found, with the same sequences, ranges and scoring"
    return InputError(f"{text}; {more}")
