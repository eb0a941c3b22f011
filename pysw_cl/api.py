"""What users call: ``align``."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from .drivers.banded import assumed_score, check_max_cost, find_end_banded, rising
from .drivers.problem import MODES, FreeEnds, Problem
from .drivers.score import find_end
from .drivers.traceback import Path, Restarts, grid_places, walk_back
from .engines.base import Engine
from .engines.reference import ReferenceEngine
from .engines.sweep import Progress, SavedGrid, SweepResult, tile_shape
from .errors import InputError, InternalError
from .plan import Plan, make_plan
from .precision import check_range
from .results import Alignment, Stats, runs_from_moves, unscale
from .scoring import cached_scoring
from .sequences import as_sequence
from .tile import Hit, View

OUTPUTS = ("score", "ends", "path")


def align(
    a: Any,
    b: Any,
    *,
    mode: str = "local",
    free_ends: bool | tuple[bool, ...] = False,
    sub_score: Any = (1, -3),
    gap_cost: Any = (3, 2),
    output: str = "path",
    wildcard: str | None = None,
    prune: bool = True,
    max_cost: Any = "auto",
    device: Any = "auto",
    plan: Plan | Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Alignment:
    """Align query ``a`` with target ``b`` exactly.

    Parameters
    ----------
    a, b : str, bytes, uint8 array of ASCII letters, scikit-bio sequence or Sequence
        Case is folded.  ``a`` is the query (rows), ``b`` the target (columns).
    mode : "local" or "global"
        Smith-Waterman (1981) or Needleman-Wunsch (1970), with Gotoh's (1982) affine gaps.
    free_ends : bool, or 2 or 4 of them
        With "global": which terminal gaps cost nothing, as in scikit-bio's ``pair_align``: all;
        (of the query, of the target); or (leading, trailing of the query, leading, trailing of the
        target).  A gap of the query consumes target letters.
    sub_score : (match, mismatch), matrix name, scikit-bio SubstitutionMatrix, or (array, letters)
        With (match, mismatch) the letters are nucleotides; IUPAC ambiguity letters never match.
    gap_cost : number, or (open, extend)
        A gap of k letters costs ``k * number``, or ``open + k * extend``; not negative.
    output : "score", "ends" or "path"
        How much is computed: the best score; also where it ends; also the path.
    wildcard : str, optional
        One letter that scores 0 against everything.
    prune : bool
        Skip cells through which no best path can run; never changes a result.
    max_cost : "auto", number or None
        With "global": compute only a band around the diagonal, proven to hold every best path.
        "auto" widens it until the score proves itself, where that pays (not with ``prune=False``);
        a number starts with the band for scores down to min(m, n) * (highest substitution score)
        less ``max_cost``, and goes on like "auto" if the score is lower; None computes all cells.
        Never changes a result.  Source: Ukkonen (1985), Fickett (1984).
    device : str or pyopencl Device, Context or CommandQueue
        "auto", "cpu", "gpu", or "platform:device" as indices or parts of names.
    plan : Plan or mapping, optional
        Overrides of the plan's fields, such as ``{"B": 4, "T": 16, "alpha": 8}``.
    progress : callable, optional
        Called as ``progress(done, total)`` in cells; an exception raised there ends the run.

    Returns
    -------
    Alignment
        Coordinates are 0-based and half-open.  Ties are decided as docs/algorithm.md says, alike
        on every device.

    Raises
    ------
    InputError
        For sequences, scorings, options and plans that cannot be used (its subclasses say which).
    DeviceError
        If there is no usable device, or it fails or runs out of memory.
    """
    started = time.perf_counter()
    if not isinstance(mode, str) or mode not in MODES:
        raise InputError(f"mode must be 'local' or 'global', not {mode!r}")
    if not isinstance(output, str) or output not in OUTPUTS:
        raise InputError(f"output must be 'score', 'ends' or 'path', not {output!r}")
    if prune not in (True, False):
        raise InputError(f"prune must be True or False, not {prune!r}")
    if progress is not None and not callable(progress):
        raise InputError(f"progress must be a function or None, not {progress!r}")
    check_max_cost(max_cost, mode)
    free = FreeEnds.of(free_ends)
    scoring = cached_scoring(sub_score, gap_cost, wildcard)
    query, target = as_sequence(a, "query"), as_sequence(b, "target")
    check_range(scoring, len(query), len(target), mode)
    codes = scoring.encode_query(query.letters), scoring.encode_target(target.letters)
    problem = Problem(View(codes[0]), View(codes[1]), scoring, mode, free)
    engine, chosen = make_engine(device, plan)

    stats = Stats()
    cost = None if mode == "local" or (max_cost == "auto" and not prune) else max_cost
    end, path = _search(engine, chosen, problem, output == "path", prune, cost, progress, stats)
    found: dict[str, Any] = {}
    if output != "score":
        found |= {"query_end": end.row, "target_end": end.column}
    if path is not None:
        letters = query.letters[path.row : end.row], target.letters[path.column : end.column]
        runs = runs_from_moves(path.forward(), *letters, scoring)
        found |= {"query_start": path.row, "target_start": path.column, "runs": runs}
    stats.seconds = time.perf_counter() - started
    stats.device_bytes = engine.peak_bytes
    score = unscale(end.score, scoring)
    result = Alignment(score, mode, query, target, scoring, plan=chosen, stats=stats, **found)
    if path is not None and result.rescore() != score:
        raise InternalError(
            f"the path scores {result.rescore()}, not {score}; please report this with both "
            f"sequences, {mode=}, {free_ends=}, {sub_score=}, {gap_cost=} and {chosen}"
        )
    return result


def make_engine(device: Any, plan: Plan | Mapping[str, Any] | None) -> tuple[Engine, Plan]:
    """The engine that a plan asks for, on a device."""
    given = plan.get("engine") if isinstance(plan, Mapping) else getattr(plan, "engine", None)
    if given == "reference":
        return ReferenceEngine(), make_plan(None, plan)
    from .engines.wavefront import WavefrontEngine
    from .opencl.device import get_runtime

    runtime = get_runtime(device)
    chosen = make_plan(runtime, plan)
    return WavefrontEngine(runtime, chosen), chosen


def _search(
    engine: Engine,
    plan: Plan,
    problem: Problem,
    want_path: bool,
    prune: bool,
    max_cost: Any,
    progress: Progress | None,
    stats: Stats,
) -> tuple[Hit, Path | None]:
    """The best end, and the path to it where wanted.  A score alone keeps no special rows."""
    m, n = len(problem.query), len(problem.target)
    end: Hit | None = None
    restarts: Restarts | None = None
    if max_cost is not None:
        progress = rising(progress) if progress is not None else None
        assumed = assumed_score(problem, max_cost)
        banded = find_end_banded(
            engine, problem, plan, assumed=assumed, save=want_path, progress=progress
        )
        end, restarts = banded.end, banded.grid
        for swept in banded.sweeps:
            _count(stats, swept)
    if end is None:
        shape, edges = tile_shape(m, n, plan.tile_cells), problem.edges
        if want_path:
            quantum = engine.row_quantum
            restarts = grid = SavedGrid.over(edges, grid_places(m, quantum), grid_places(n, 1))
            edges = grid.saving()
        end, swept = find_end(
            engine, problem, edges=edges, shape=shape, prune=prune, progress=progress
        )
        _count(stats, swept)
    if restarts is None:
        return end, None

    def between() -> None:
        if progress is not None:
            progress(m * n, m * n)

    path = walk_back(engine, problem, restarts, end, plan.walk_cells, between)
    stats.add_cells(path.cells)
    stats.launches += path.launches
    return end, path


def _count(stats: Stats, swept: SweepResult) -> None:
    """Add what a sweep cost; what was skipped is that of the last one."""
    stats.add_cells(swept.cells)
    stats.launches += swept.launches
    stats.pruned = sum(area.cells for area in swept.pruned)
