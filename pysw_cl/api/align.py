"""What users call for one pair: ``align`` and ``resume``."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from functools import cache
from typing import Any

from ..checkpoint.run import saved_strands
from ..checkpoint.store import Store, StoredResources
from ..cluster.blocks import Here
from ..cluster.pair import cluster_strands
from ..cluster.workers import Workers, workers_of
from ..drivers.align_pair import StrandStore
from ..drivers.job import Found, Job, alignment_of, make_frames, path_of
from ..drivers.options import AlignOptions, Output, RangeOptions, Resources
from ..drivers.problem import Mode, Path
from ..drivers.progress import Progress
from ..drivers.resources import AlignResources, ResumeResources
from ..drivers.run import run
from ..engines.registry import Kind, attempts, by_time, engine_for
from ..errors import DeviceError, DeviceMemoryError, InputError, InternalError
from ..planning.plan import Plan
from ..results.alignment import Alignment
from ..results.formats.files import temporary_folder
from ..results.stats import Stats
from ..scoring.positions import PositionMatrix
from ..scoring.scoring import made_of
from ..sequences.kmers import likely_minus
from ..sequences.sequence import as_sequence
from ..sequences.view import Strand
from ..tiles.contract import Engine
from ..tiles.tile import Costs
from .advice import advise_pair
from .bar import told

#: The most programs that an output is expected to need: three of a path.
PROGRAMS = {"score": 1, "ends": 1, "path": 3}


def align(
    a: Any,
    b: Any,
    *,
    mode: Mode = "local",
    free_ends: bool | tuple[bool, ...] = False,
    sub_score: Any = (1, -3),
    gap_cost: Any = None,
    output: Output = "path",
    wildcard: str | None = None,
    iupac: str = "mismatch",
    unknown: str = "error",
    allow_odd_scoring: bool = False,
    second_best: bool = False,
    strand: Strand = "plus",
    left_align: bool = False,
    query_range: tuple[int, int] | None = None,
    target_range: tuple[int, int] | None = None,
    prune: bool = True,
    max_cost: Any = "auto",
    device: Any = "auto",
    plan: Plan | Mapping[str, Any] | None = None,
    progress: Progress | bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    disk_size: int | None = None,
    stop_after: float | None = None,
    kernel_times: bool = False,
    timeline: bool = False,
    cluster: Any = None,
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
    sub_score : (match, mismatch), name of a matrix, path, matrix, or (array, letters)
        A path is that of a file with a matrix in NCBI's format; a matrix is a scikit-bio
        SubstitutionMatrix or one of Biopython's ``substitution_matrices``.
        With (match, mismatch) the letters are nucleotides; see ``iupac``.
        A protein matrix without the letters U, O or J scores U as C, O as X, and J between I and L
        (BLOSUM62: as NCBI does), and a warning counts them.
    gap_cost : number, or (open, extend), optional
        A gap of k letters costs ``k * number``, or ``open + k * extend``; not negative.  Default:
        what is usual for a named matrix, such as (11, 1) for BLOSUM62 (docs/api.md has them all);
        (3, 2) without one.
    output : "score", "ends" or "path"
        How much is computed: the best score; also where it ends; also the path.
    wildcard : str, optional
        One letter that scores 0 against everything and matches nothing, itself included; so do
        the letters that are scored as it is (O with "X", U with "C" or "T", what is ``unknown``).
    iupac : "mismatch" or "match"
        With (match, mismatch): ambiguity letters of IUPAC match nothing, not even themselves; or
        two letters match if a base is among those that both stand for, so R, which is A or G,
        matches all but C, T, U and Y.  The ``wildcard`` matches nothing in any case.
    unknown : "error" or a letter
        What is done with a letter outside the alphabet: it is an error, or it is taken as this
        letter, such as "X" for proteins and "N" for nucleotides.
    allow_odd_scoring : bool
        Take scorings that are errors otherwise: local ones without a positive score or with a
        mismatch above 0, and global ones with a mismatch above the match.
    second_best : bool
        Also find the highest score of an end that lies outside the best alignment's rectangle, its
        query letters x its target letters (``Alignment.second_best``); of strand "both" the other
        strand lies outside.  Nothing is pruned then.  With output "path", for local comparisons and
        global ones with a free end at the query's or the target's end; not with ``checkpoint``.
    strand : "plus", "minus" or "both"
        Align the query as it is, its reverse complement, or whichever of them scores more (plus
        when they score the same); nucleotides only.  Coordinates stay those of the letters as given
        (`Alignment`); with free ends, start and end are those of what is aligned.  Of "both" the
        one that is likely to be better is searched first, which saves time and changes no result.
    left_align : bool
        Move every gap of the path to the left, along the target, as far as the score stays the
        same, as minimap2 and VCF have them; see `Alignment.left_aligned`.
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
    device : str or pyopencl Device, Context or CommandQueue, or a list of them
        "auto", "cpu", "gpu", or "platform:device" as indices or parts of names.  "auto" goes to the
        device that is likely to be done first, which it learns from earlier calls, too.  "all", a
        list or "0:0,0:1": GPUs compute large matrices together, or CPUs that are alike.  A list of
        a GPU and a CPU: both compute matrices that take the GPU many seconds.
    plan : Plan or mapping, optional
        Overrides of the plan's fields, such as ``{"B": 4, "T": 16, "alpha": 8}``.
    progress : callable or True, optional
        Called as ``progress(done, total)`` in cells; an exception raised there ends the run.
        The first call comes before any work, with what an earlier run has done (0 without one).
        ``total`` is the same in all calls, and the last call has ``done == total``.  Pruned cells
        count as done.  A path adds about what it takes, in cells that take as long to sweep.  If
        the callable has a parameter called ``stage``, it also gets that argument, a `Stage`: which
        stage it is ("score", "path", ...), and the work done and left that tells the time left.
        True draws a bar with tqdm, on standard error or in a notebook.
    checkpoint : path, optional
        A folder, made if need be, in which the run saves rows of cells (or the tiles of a band, see
        ``max_cost``) as it goes, and its result in the end.  A folder in which a run of the same
        job was interrupted is taken up there.
    disk_size : int, optional
        Bytes that the folder may take.  Default: 10 GiB, half of what is free on its disk, or what
        128 rows need, whichever is least.
    stop_after : float, optional
        Seconds after which the run ends at the next row with Stopped.
    kernel_times : bool
        Measure what each kernel takes on the device: ``stats.kernel_seconds``.  It stays empty if
        ``device`` is a CommandQueue without profiling, because that is the queue that is used.
    timeline : bool
        Note what each device computes when: ``stats.spans``, which `Alignment.plot_timeline` draws.
    cluster : str, Dask client or cluster, or Executor, optional
        Workers that compute the pair (docs/cluster.md): those of the Dask scheduler at an address
        such as "tcp://host:8786", or of a `concurrent.futures.Executor`.  They share the folder
        ``checkpoint`` with this process; without one, a temporary folder of this host.

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
    ClusterError
        If no scheduler answers, or the workers cannot compute it.
    Stopped
        After ``stop_after`` seconds; :func:`resume` goes on."""
    given = locals()
    return align_with(a, b, made_of(AlignOptions, given), made_of(AlignResources, given))


def align_with(
    a: Any, b: Any, options: AlignOptions, resources: AlignResources, quiet: bool = False
) -> Alignment:
    """`align`, with options that are checked; ``quiet``: without a warning about the input."""
    options = options.of_query(a)
    started = time.perf_counter()
    resources.band_cost(options.mode)  # refused before there is any work or folder
    job = job_of(a, b, options, quiet)
    if resources.checkpoint is not None or resources.cluster is not None:
        name = "checkpoint" if resources.cluster is None else "cluster"
        if job.scoring.by_position:
            raise InputError(f"{name} cannot go with a position matrix, which it does not save")
        if job.second_best:
            raise InputError(f"second_best cannot go with {name}: what it needs is not saved")
        stored = StoredResources.of(resources, job.mode, options.left_align)
        engines = cache(lambda: make_engine(resources, _device(job, resources)))
        with ExitStack() as stack:
            workers = stack.enter_context(workers_of(resources.cluster))
            if workers is None:
                engines()  # before a folder is made
            folder = resources.checkpoint or stack.enter_context(temporary_folder())
            store = stack.enter_context(Store.begin(folder, job, stored))
            return _saved_run(store, resources, engines, workers)
    usual = resources.prune and resources.max_cost == "auto" and not resources.kernel_times
    devices: Iterable[AbstractContextManager[Any]] = (nullcontext(resources.device),)
    if resources.plan is None:  # else the plan is of this device
        devices = attempts(resources.device, _kind(job), usual)
    for attempt in devices:
        with attempt as device, told(resources.progress, PROGRAMS[job.output]) as progress:
            engine = make_engine(resources, device)
            guessed = engine.plan.tuning.sweep.guessed_cells
            jobs = job.strands(job.both and likely_minus(job.frame, guessed))
            found = run(jobs, lambda: engine, resources, progress, started=started)  # noqa: B023
            return on_the_left(found, options.left_align)
    raise InternalError("no device was tried")


def align_together_with(
    pairs: list[Any], options: AlignOptions, resources: AlignResources, known: list[int]
) -> list[Alignment | None]:
    """The local alignments of pairs that reach the scores ``known``, above 0, in few launches; None
    where one is better aligned alone (`align_with`)."""
    engine, results = make_engine(resources), list[Alignment | None](None for _ in pairs)
    compute = engine.pair_paths
    if compute is None:
        return results
    jobs = [job_of(query, target, options) for query, target in pairs]
    try:
        paths, cost = compute([job.problem for job in jobs], known)
    except DeviceMemoryError:
        return results
    for k, (job, one) in enumerate(zip(jobs, paths, strict=True)):
        if one is None:
            continue
        end, traced = one
        path, stats = Path(end.row, end.column), Stats()
        path.follow(traced)
        stats.add_cost(cost)  # what all cost is counted once
        cost = Costs()
        found = Found(end, path_of(job, end, path, engine.plan), engine.plan, stats, None)
        with suppress(InternalError):  # another way may find it
            results[k] = on_the_left(alignment_of(job, found), options.left_align)
    return results


def _saved_run(
    store: Store, resources: AlignResources, engines: Callable[[], Engine], workers: Workers | None
) -> Alignment:
    """The result of a job that is saved as it goes on."""
    jobs = store.job.strands(store.minus_first)
    saved: Callable[[Job], StrandStore] = saved_strands(store, resources)
    with ExitStack() as stack:
        if workers is None and any(store.folder.rglob("blocks")):  # a cluster began it
            workers = Workers(stack.enter_context(Here()))
        if workers is not None:
            engines, saved = cluster_strands(store, resources, workers)
        progress = stack.enter_context(told(resources.progress, PROGRAMS[store.job.output]))
        try:
            found = run(jobs, engines, resources, progress, saved)
        except DeviceError as error:
            error.args = (f"{error}; {store.how}",)
            raise
        return on_the_left(found, store.resources.left_align)


def on_the_left(found: Alignment, left_align: bool) -> Alignment:
    return found.left_aligned() if left_align and found.runs is not None else found


def resume(
    checkpoint: str | os.PathLike[str],
    *,
    device: Any = None,
    plan: Plan | Mapping[str, Any] | None = None,
    disk_size: int | None = None,
    stop_after: float | None = None,
    progress: Progress | bool | None = None,
    kernel_times: bool = False,
    cluster: Any = None,
) -> Alignment:
    """Go on with a run that saved to the folder ``checkpoint``, from its last sound row.

    The result is that of an uninterrupted run, to the last letter, on any device and with any
    plan; that of a finished run is read.  ``device``, ``plan`` and ``disk_size`` default to what
    the run began with (a plan only where the device does, too); the other arguments are those of
    :func:`align`.

    Raises CheckpointError if the folder holds no checkpoint, is in use or cannot be written, and
    otherwise what :func:`align` raises."""
    given = made_of(ResumeResources, locals())
    with Store.open(given.checkpoint) as store:
        resources, job = store.resources.resumed(given), store.job
        engines = cache(lambda: make_engine(resources, _device(job, resources)))
        with workers_of(resources.cluster) as workers:
            return _saved_run(store, resources, engines, workers)


def make_engine(resources: Resources, device: Any = None) -> Engine:
    """The engine that a plan asks for, on a ``device`` (default: theirs)."""
    given = resources.device if device is None else device
    return engine_for(given, resources.plan, resources.kernel_times)


def _device(job: Job, resources: Resources) -> Any:
    """The device of a job: where there is no plan it may depend on the job."""
    if resources.plan is not None:
        return resources.device
    return by_time(resources.device, _kind(job))[0][0]


def _kind(job: Job) -> Kind:
    """What decides how long a job takes."""
    return Kind(*job.frame.shape, job.scoring, job.mode, job.output, job.free_ends, job.both)


def job_of(a: Any, b: Any, options: RangeOptions, quiet: bool = True) -> Job:
    """What is to be computed for two sequences.  Unless ``quiet``, odd ones give a warning."""
    ranges, scoring = (options.query_range, options.target_range), options.scoring
    a = a.sequence if isinstance(a, PositionMatrix) else a
    query = as_sequence(a, "query", False, scoring.alphabet)
    target = as_sequence(b, "target", False, scoring.alphabet)
    frames = make_frames(query, target, ranges, options.strand, scoring)
    scoring.bounds.check_range(*frames[0].shape, options.mode)
    if not quiet:
        advise_pair(frames[0], scoring, options.mode)
    asked, both = (options.mode, options.free, options.output), len(frames) > 1
    return Job(query, target, scoring, *asked, frames[0], both, second_best=options.second_best)
