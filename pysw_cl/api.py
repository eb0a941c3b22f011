"""What users call: ``align``."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from .drivers.problem import MODES, FreeEnds, Problem
from .drivers.score import find_end
from .drivers.traceback import Path, grid_places, walk_back
from .engines.base import Engine
from .engines.reference import ReferenceEngine
from .engines.sweep import Progress, SavedGrid, tile_shape
from .errors import InputError, InternalError
from .frame import Frame, make_frames
from .plan import Plan, make_plan
from .precision import check_range
from .progress import part_of
from .results import Alignment, Stats, runs_from_moves, unscale
from .scoring import Scoring, cached_scoring
from .sequences import as_sequence
from .tile import Hit
from .tile_map import TileMap

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
    strand: str = "plus",
    query_range: tuple[int, int] | None = None,
    target_range: tuple[int, int] | None = None,
    prune: bool = True,
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
    strand : "plus", "minus" or "both"
        Align the query as it is, its reverse complement, or whichever of them scores more (plus
        when they score the same); nucleotides only.  Coordinates stay those of the letters as given
        (`Alignment`); with free ends, start and end are those of what is aligned.
    query_range, target_range : (start, end), optional
        Compare only this part of a sequence, 0-based and half-open, as if the rest were not there;
        results still count in the whole sequence.
    prune : bool
        Skip tiles through which no best path can run (local mode); never changes a result.
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
    free = FreeEnds.of(free_ends)
    scoring = cached_scoring(sub_score, gap_cost, wildcard)
    query, target = as_sequence(a, "query", False), as_sequence(b, "target", False)
    frames = make_frames(query, target, query_range, target_range, strand, scoring)
    check_range(scoring, *frames[0].shape, mode)
    engine, chosen = make_engine(device, plan)

    stats = Stats()
    frame, end, path, tiles = _best_frame(
        engine, chosen, frames, scoring, mode, free, output == "path", prune, progress, stats
    )
    start = None if path is None else (path.row, path.column)
    found: dict[str, Any] = dict(
        frame.found(start, None if output == "score" else (end.row, end.column))
    )
    found |= {"strand": frame.strand, "tiles": frame.map(tiles, scoring.scale)}
    if path is not None:
        letters = frame.region(path.row, end.row, path.column, end.column)
        found["runs"] = runs_from_moves(path.forward(), *letters, scoring)
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


def _best_frame(
    engine: Engine,
    plan: Plan,
    frames: list[Frame],
    scoring: Scoring,
    mode: str,
    free: FreeEnds,
    want_path: bool,
    prune: bool,
    progress: Progress | None,
    stats: Stats,
) -> tuple[Frame, Hit, Path | None, TileMap]:
    """The first frame with the best score, the best end in it, and the path where wanted.  A later
    frame is searched only for what beats the ones before, which prunes most of it."""
    found: tuple[Frame, Hit, Path | None, TileMap] | None = None
    for k, frame in enumerate(frames):
        problem = Problem(*frame.codes(scoring), scoring, mode, free)
        beat = None if found is None else found[1].score
        share = part_of(progress, k, len(frames))
        end, path, tiles = _search(engine, plan, problem, want_path, prune, beat, share, stats)
        if beat is None or end.score > beat:
            found = frame, end, path, tiles
    assert found is not None
    return found


def _search(
    engine: Engine,
    plan: Plan,
    problem: Problem,
    want_path: bool,
    prune: bool,
    beat: int | None,
    progress: Progress | None,
    stats: Stats,
) -> tuple[Hit, Path | None, TileMap]:
    """The best end, and the path to it where wanted and where it beats a score.  A score alone
    keeps no special rows."""
    m, n = len(problem.query), len(problem.target)
    shape, grid, edges = tile_shape(m, n, plan.tile_cells), None, problem.edges
    if want_path:
        quantum = engine.row_quantum
        grid = SavedGrid.over(edges, grid_places(m, quantum), grid_places(n, 1))
        edges = grid.saving()
    end, swept = find_end(
        engine, problem, edges=edges, shape=shape, prune=prune, beat=beat, progress=progress
    )
    stats.add_cells(swept.cells)
    stats.launches += swept.launches
    stats.pruned += sum(area.cells for area in swept.pruned)
    tiles = TileMap.of((m, n), swept.tops, swept.pruned)
    if grid is None or (beat is not None and end.score <= beat):
        return end, None, tiles

    def between() -> None:
        if progress is not None:
            progress(m * n, m * n)

    path = walk_back(engine, problem, grid, end, plan.walk_cells, between)
    stats.add_cells(path.cells)
    stats.launches += path.launches
    return end, path, tiles
