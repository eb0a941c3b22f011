"""Several alignments of one pair that share no aligned pair."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ..drivers.options import Output, Resources, TopOptions
from ..drivers.progress import Progress
from ..drivers.run import run_top
from ..planning.plan import Plan
from ..results.alignment import Alignment
from ..scoring.scoring import made_of
from ..sequences.view import Strand
from .align import PROGRAMS, job_of, make_engine, on_the_left
from .bar import told


def align_top(
    a: Any,
    b: Any,
    *,
    k: int = 10,
    sub_score: Any = (1, -3),
    gap_cost: Any = None,
    wildcard: str | None = None,
    iupac: str = "mismatch",
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
    a, b, sub_score, gap_cost, wildcard, iupac, unknown, allow_odd_scoring, query_range,
    target_range, device, plan, kernel_times
        As for ``align``; a gap of k letters costs ``open + k * extend``.
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

    Raises as ``align``."""
    given = locals()
    return align_top_with(a, b, made_of(TopOptions, given), made_of(Resources, given))


def align_top_with(
    a: Any, b: Any, options: TopOptions, resources: Resources, quiet: bool = False
) -> list[Alignment]:
    """`align_top`, with options that are checked; ``quiet``: without a warning about the input."""
    started = time.perf_counter()
    options = options.of_query(a)
    job = job_of(a, b, options, quiet)
    with told(resources.progress, PROGRAMS["path"]) as progress:
        results = run_top(job, make_engine(resources), options, progress, started)
    return [on_the_left(one, options.left_align) for one in results]
