"""What users call: ``align_top``."""

from __future__ import annotations

import time
from collections.abc import Mapping
from math import ceil, isfinite
from numbers import Real
from typing import Any

from .api import OUTPUTS, make_engine
from .drivers.problem import FreeEnds, Problem
from .drivers.top import find_top
from .engines.sweep import Progress
from .errors import InputError, InternalError
from .plan import Plan
from .precision import check_range
from .results import Alignment, Stats, runs_from_moves, unscale
from .scoring import Scoring, cached_scoring
from .sequences import as_sequence
from .tile import View


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
    progress: Progress | None = None,
    output: str = "path",
) -> list[Alignment]:
    """The best local alignments of query ``a`` with target ``b`` that share no aligned pair.

    The first is that of ``align``.  Each further one is the best local alignment in which no
    letter of ``a`` stands opposite a letter of ``b`` that it stands opposite in an earlier one
    (Waterman & Eggert 1987, J Mol Biol 197, 723-728); so repeats, domains and copies in another
    order come one by one, and not the first alignment's neighbours in many variants.  Exactly: the
    i-th result is the canonical best local alignment of the matrix in which the diagonal steps of
    all earlier ones are blocked.

    Parameters
    ----------
    a, b, sub_score, gap_cost, wildcard, device, plan
        As for ``align``; a gap of k letters costs ``open + k * extend``.
    k : int
        How many alignments at most, 1 or more.
    min_score : number above 0
        The least score of a result, in units of ``sub_score``.
    progress : callable, optional
        Called as ``progress(done, total)`` in cells of the first sweep, and with ``done == total``
        while parts of the matrix are computed again; an exception raised there ends the run.
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
    started = time.perf_counter()
    if isinstance(k, bool) or not hasattr(k, "__index__") or k < 1:
        raise InputError(f"k must be a whole number of at least 1, not {k!r}")
    if isinstance(min_score, bool) or not isinstance(min_score, Real):
        raise InputError(f"min_score must be a number above 0, not {min_score!r}")
    if not (isfinite(min_score) and min_score > 0):
        raise InputError(f"min_score must be a number above 0, not {min_score!r}")
    if not isinstance(output, str) or output not in OUTPUTS:
        raise InputError(f"output must be 'score', 'ends' or 'path', not {output!r}")
    if progress is not None and not callable(progress):
        raise InputError(f"progress must be a function or None, not {progress!r}")
    scoring: Scoring = cached_scoring(sub_score, gap_cost, wildcard)
    query, target = as_sequence(a, "query"), as_sequence(b, "target")
    check_range(scoring, len(query), len(target), "local")
    codes = scoring.encode_query(query.letters), scoring.encode_target(target.letters)
    problem = Problem(View(codes[0]), View(codes[1]), scoring, "local", FreeEnds())
    engine, chosen = make_engine(device, plan)

    results = []
    least, paths = ceil(min_score * scoring.scale), output == "path"
    for one in find_top(engine, problem, chosen, int(k), least, last_path=paths, progress=progress):
        end, path = one.end, one.path
        found: dict[str, Any] = {}
        if output != "score":
            found |= {"query_end": end.row, "target_end": end.column}
        if paths and path is not None:
            letters = query.letters[path.row : end.row], target.letters[path.column : end.column]
            runs = runs_from_moves(path.forward(), *letters, scoring)
            found |= {"query_start": path.row, "target_start": path.column, "runs": runs}
        now = time.perf_counter()
        stats = Stats(one.cells, one.launches, now - started, engine.peak_bytes)
        started = now
        score = unscale(end.score, scoring)
        result = Alignment(
            score, "local", query, target, scoring, plan=chosen, stats=stats, **found
        )
        if paths and result.rescore() != score:
            raise InternalError(
                f"path {len(results) + 1} scores {result.rescore()}, not {score}; please report "
                f"this with both sequences, {sub_score=}, {gap_cost=} and {chosen}"
            )
        results.append(result)
    return results
