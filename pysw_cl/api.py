"""What users call: ``align`` and ``resume``."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import asdict, astuple
from typing import Any

from .checkpoint import Job, Store
from .drivers.banded import check_max_cost
from .drivers.pair import search
from .drivers.problem import MODES, FreeEnds, Problem
from .drivers.saving import SavedRun
from .drivers.traceback import Path
from .engines.base import Engine
from .engines.reference import ReferenceEngine
from .engines.sweep import Progress
from .errors import InputError, InternalError
from .frame import Frame, make_frames
from .likely_strand import likely_minus
from .plan import Plan, make_plan
from .precision import check_range
from .progress import part_of
from .results import Alignment, Stats, runs_from_moves, unscale
from .saved_result import FoundPath, save_result, saved_result
from .scoring import cached_scoring
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
    max_cost: Any = "auto",
    device: Any = "auto",
    plan: Plan | Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    disk_size: int | None = None,
    stop_after: float | None = None,
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
        (`Alignment`); with free ends, start and end are those of what is aligned.  Of "both" the
        one that is likely to be better is searched first, which saves time and changes no result.
    query_range, target_range : (start, end), optional
        Compare only this part of a sequence, 0-based and half-open, as if the rest were not there;
        results still count in the whole sequence.
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
        The first call comes before any work, with what an earlier run has done (0 without one).
        A path adds to ``total`` about what it computes again; pruned cells count as done.
    checkpoint : path, optional
        A folder, made if need be, in which the run saves rows of cells as it goes, and its result
        in the end.  A folder in which a run of the same job was interrupted is taken up there.
    disk_size : int, optional
        Bytes that the folder may take.  Default: 10 GiB, half of what is free on its disk, or what
        128 rows need, whichever is least.
    stop_after : float, optional
        Seconds after which the run ends at the next row with Stopped.

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
    CheckpointError
        If the folder belongs to another job, is in use, or cannot be written.
    Stopped
        After ``stop_after`` seconds; :func:`resume` goes on.
    """
    started = time.perf_counter()
    if not isinstance(mode, str) or mode not in MODES:
        raise InputError(f"mode must be 'local' or 'global', not {mode!r}")
    if not isinstance(output, str) or output not in OUTPUTS:
        raise InputError(f"output must be 'score', 'ends' or 'path', not {output!r}")
    if prune not in (True, False):
        raise InputError(f"prune must be True or False, not {prune!r}")
    _check_options(progress, disk_size, stop_after)
    check_max_cost(max_cost, mode)
    free = FreeEnds.of(free_ends)
    scoring = cached_scoring(sub_score, gap_cost, wildcard)
    query, target = as_sequence(a, "query", False), as_sequence(b, "target", False)
    frames = make_frames(query, target, query_range, target_range, strand, scoring)
    check_range(scoring, *frames[0].shape, mode)
    jobs = [Job(query, target, scoring, mode, astuple(free), output, frame) for frame in frames]
    if checkpoint is not None:
        if len(jobs) > 1:
            raise InputError(
                "a checkpoint is of one strand; run strand='plus' and strand='minus' with a folder "
                "each, and take the better score"
            )
        make_engine(device, plan)  # what is wrong with them is said before a folder is made
        wishes = {"prune": bool(prune), "device": device, "plan": plan, "disk_size": disk_size}
        with Store.begin(checkpoint, jobs[0], _lasting(wishes)) as store:
            limits = {"disk_size": disk_size, "stop_after": stop_after}
            return _run_saved(store, device, plan, bool(prune), progress, **limits)
    if disk_size is not None or stop_after is not None:
        raise InputError("disk_size and stop_after go with checkpoint")
    engine, chosen = make_engine(device, plan)
    stats = Stats()
    cost = None if mode == "local" or (max_cost == "auto" and not prune) else max_cost
    how = {"prune": bool(prune), "max_cost": cost, "progress": progress, "stats": stats}
    job, end, path, tiles = _best_strand(engine, chosen, jobs, how)
    found = None if path is None else path_of(job, end, path)
    stats.seconds = time.perf_counter() - started
    stats.device_bytes = engine.peak_bytes
    return alignment_of(job, end, found, chosen, stats, tiles)


def resume(
    checkpoint: str | os.PathLike[str],
    *,
    device: Any = None,
    plan: Plan | Mapping[str, Any] | None = None,
    disk_size: int | None = None,
    stop_after: float | None = None,
    progress: Progress | None = None,
) -> Alignment:
    """Go on with a run that saved to the folder ``checkpoint``, from its last sound row.

    The result is that of an uninterrupted run, to the last letter, on any device and with any
    plan; that of a finished run is read.  ``device``, ``plan`` and ``disk_size`` default to what
    the run began with (a plan only where the device does, too); the other arguments are those of
    :func:`align`.

    Raises CheckpointError if the folder holds no checkpoint, is in use or cannot be written, and
    otherwise what :func:`align` raises.
    """
    _check_options(progress, disk_size, stop_after)
    with Store.open(checkpoint) as store:
        wishes = store.wishes
        if plan is None and device is None:
            plan = wishes["plan"]
        how = {"disk_size": disk_size or wishes["disk_size"], "stop_after": stop_after}
        device = wishes["device"] if device is None else device
        return _run_saved(store, device, plan, wishes["prune"], progress, **how)


def _check_options(
    progress: Progress | None, disk_size: int | None, stop_after: float | None
) -> None:
    if progress is not None and not callable(progress):
        raise InputError(f"progress must be a function or None, not {progress!r}")
    whole = isinstance(disk_size, int) and not isinstance(disk_size, bool)
    if disk_size is not None and not (whole and disk_size > 0):
        raise InputError(f"disk_size must be a whole number of bytes or None, not {disk_size!r}")
    number = isinstance(stop_after, (int, float)) and not isinstance(stop_after, bool)
    if stop_after is not None and not (number and stop_after >= 0):
        raise InputError(f"stop_after must be a number of seconds or None, not {stop_after!r}")


def problem_of(job: Job) -> Problem:
    """The comparison that a job asks for."""
    free = FreeEnds(*job.free_ends)
    return Problem(*job.frame.codes(job.scoring), job.scoring, job.mode, free)


def _lasting(wishes: dict[str, Any]) -> dict[str, Any]:
    """What of a caller's wishes outlives the process: not a device object."""
    device, plan = wishes["device"], wishes["plan"]
    if isinstance(plan, Plan):
        plan = {name: v for name, v in asdict(plan).items() if name not in ("device", "fixed")}
    if isinstance(plan, Mapping):
        plan = {str(k): v if isinstance(v, str) else int(v) for k, v in plan.items()}
    return {**wishes, "device": device if isinstance(device, str) else "auto", "plan": plan}


def _run_saved(
    store: Store,
    device: Any,
    plan: Plan | Mapping[str, Any] | None,
    prune: bool,
    progress: Progress | None,
    **how: Any,
) -> Alignment:
    """Run a job with a checkpoint, or read its result if it is finished."""
    found = saved_result(store)
    if found is not None:
        return alignment_of(store.job, *found)
    engine, chosen = make_engine(device, plan)
    for name in ("tile_cells", "walk_cells", "busy_rows"):
        how[name] = getattr(chosen, name)
    run = SavedRun(engine, problem_of(store.job), store, prune=prune, progress=progress, **how)
    end = run.end()
    path = path_of(store.job, end, run.path(end)) if run.want_path else None
    stats = run.stats()
    result = alignment_of(store.job, end, path, chosen, stats)
    save_result(store, end, path, chosen, stats)
    return result


def path_of(job: Job, end: Hit, path: Path) -> FoundPath:
    """Where a path starts, and its runs."""
    letters = job.frame.region(path.row, end.row, path.column, end.column)
    return path.row, path.column, runs_from_moves(path.forward(), *letters, job.scoring)


def alignment_of(
    job: Job,
    end: Hit,
    path: FoundPath | None,
    plan: Plan,
    stats: Stats,
    tiles: TileMap | None = None,
) -> Alignment:
    """The result as users see it; a path is scored again."""
    start = None if path is None else path[:2]
    found: dict[str, Any] = dict(
        job.frame.found(start, None if job.output == "score" else (end.row, end.column))
    )
    found["strand"] = job.frame.strand
    if tiles is not None:
        found["tiles"] = job.frame.map(tiles, job.scoring.scale)
    if path is not None:
        found["runs"] = path[2]
    score = unscale(end.score, job.scoring)
    common = job.query, job.target, job.scoring
    result = Alignment(score, job.mode, *common, plan=plan, stats=stats, **found)
    if path is not None and result.rescore() != score:
        scoring = job.scoring
        raise InternalError(
            f"the path scores {result.rescore()}, not {score}; please report this with both "
            f"sequences, mode={job.mode!r}, free_ends={job.free_ends}, matrix of "
            f"{scoring.letters} {scoring.matrix.tolist()}, gap_open={scoring.gap_open}, "
            f"gap_extend={scoring.gap_extend} (of scale {scoring.scale}) and {plan}"
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


def _best_strand(
    engine: Engine, plan: Plan, jobs: list[Job], how: dict[str, Any]
) -> tuple[Job, Hit, Path | None, TileMap]:
    """The job with the best score, plus among equals, the best end in it, and the path where
    wanted.  The likely one of two is first; the other is searched only for what makes it the
    better one, which prunes most of it."""
    found: tuple[Job, Hit, Path | None, TileMap] | None = None
    if len(jobs) > 1 and likely_minus(jobs[0].frame):
        jobs = jobs[::-1]
    for k, job in enumerate(jobs):
        beat = None if found is None else score_to_beat(found[1], job.frame)
        part = how | {"progress": part_of(how["progress"], k, len(jobs))}
        end, path, tiles = search(
            engine, plan, problem_of(job), job.output == "path", beat=beat, **part
        )
        if beat is None or end.score > beat:
            found = job, end, path, tiles
    assert found is not None
    return found


def score_to_beat(other: Hit, frame: Frame) -> int:
    """The score above which a frame is better than the other strand with its best end: plus is
    when both score the same."""
    return other.score - int(not frame.minus)
