"""What users call for many pairs: ``align_many``."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..drivers.batch import BatchDriver
from ..drivers.batch_layout import as_halves, lengths_of
from ..drivers.batch_results import FIELDS, PairResults
from ..drivers.batch_singles import OneByOne
from ..drivers.options import ManyOptions, Resources
from ..drivers.progress import PairsProgress, Progress, RunProgress
from ..engines.registry import row_of
from ..errors import InputError, RecomputedWarning
from ..planning.plan import Plan, make_plan
from ..results.alignment import Stats
from .align import align_with
from .bar import told


def align_many(
    pairs: Iterable[Any],
    *,
    mode: str = "local",
    free_ends: bool | tuple[bool, ...] = False,
    sub_score: Any = (1, -3),
    gap_cost: Any = (3, 2),
    output: str = "score",
    wildcard: str | None = None,
    device: Any = "auto",
    plan: Plan | Mapping[str, Any] | None = None,
    progress: Progress | bool | None = None,
) -> NDArray[Any]:
    """Align every query with its target exactly: what `align` finds for each pair, for many pairs
    at once.

    Parameters
    ----------
    pairs : iterable of (query, target)
        Sequences as `align` takes them, of any lengths; it is read to its end before the work
        starts.  Plain str (or plain bytes) throughout is the fast way.
    output : "score", "ends", "matches" or "path"
        How much is found out about each pair; see below.
    mode, free_ends, sub_score, gap_cost, wildcard, device, plan, progress
        As for `align`.  Of the plan, ``engine`` and ``lanes`` matter here ("vector": a pair in each
        lane of a CPU's vectors, "vector32": with 32 bits only, others: a pair a work-item); all of
        it counts for the pairs that are aligned alone, because they are much larger than the rest.

    Returns
    -------
    structured array, one row for each pair, in order
        =========  ==================================================================
        output     fields
        =========  ==================================================================
        "score"    ``score``
        "ends"     ``score``, ``query_end``, ``target_end``
        "matches"  ``score``, ``query_end``, ``target_end``, ``matches``, ``columns``
        "path"     ``score``, ``query_start``, ``query_end``, ``target_start``,
                   ``target_end``, ``matches``, ``columns``, ``cigar``
        =========  ==================================================================

        ``score`` is int64, or float64 where scores or gap costs have halves; ``cigar`` is an object
        (str, SAM's extended CIGAR); the others are int64.  ``matches`` counts equal letters of the
        canonical path and ``columns`` its columns, gaps included: their quotient is the identity.
        Coordinates are 0-based and half-open.  Ties are decided as in `align`.

    A gap of k letters costs ``open + k * extend``.

    Raises
    ------
    InputError, DeviceError
        As `align`; the message begins with the number of the pair, counted from 0.

    The method (one pair in each vector lane) is that of Rognes (2011, BMC Bioinformatics 12:221),
    with both sequences different in every lane; matches and columns are carried forward with the
    scores.
    """
    options = ManyOptions(
        mode=mode,
        free_ends=free_ends,
        sub_score=sub_score,
        gap_cost=gap_cost,
        output=output,
        wildcard=wildcard,
    )
    return align_many_with(pairs, options, Resources(device=device, plan=plan, progress=progress))[
        0
    ]


def align_many_stats(
    pairs: Iterable[Any],
    *,
    device: Any = "auto",
    plan: Plan | Mapping[str, Any] | None = None,
    progress: Progress | bool | None = None,
    kernel_times: bool = False,
    **asked: Any,
) -> tuple[NDArray[Any], Stats]:
    """`align_many` with what the run cost; ``kernel_times``: as for `align`; ``asked``: the fields
    of `ManyOptions`."""
    resources = Resources(device=device, plan=plan, progress=progress, kernel_times=kernel_times)
    return align_many_with(pairs, ManyOptions(**asked), resources)


def align_many_with(
    pairs: Iterable[Any], options: ManyOptions, resources: Resources
) -> tuple[NDArray[Any], Stats]:
    """`align_many` with what the run cost, with options that are checked."""
    started = time.perf_counter()
    if isinstance(pairs, str | bytes | bytearray) or not isinstance(pairs, Iterable):
        kind = type(pairs).__name__
        raise InputError(f"pairs must be an iterable of (query, target), not {kind}")
    listed: Sequence[Any] = pairs if isinstance(pairs, list | tuple) else list(pairs)
    one = OneByOne(listed, options, resources, align_with)
    batches = row_of(resources.plan).batches
    with told(resources.progress) as progress:
        tell = _teller(progress, listed)
        found = _in_batches(one, options, resources, tell) if batches else one.all(tell)
    stats = found.stats
    stats.add_cells(one.stats.cells)
    stats.launches += one.stats.launches
    stats.recomputed += one.stats.recomputed
    stats.device_bytes = max(stats.device_bytes, one.stats.device_bytes)
    if not batches:  # else those of pairs that were aligned alone are among the others
        stats.kernel_seconds = one.stats.kernel_seconds
    stats.seconds = time.perf_counter() - started
    if found.wrong:
        text = f"{found.wrong[0]}; please report this with both sequences and all arguments"
        more = f" ({len(found.wrong) - 1} more pairs)" if len(found.wrong) > 1 else ""
        text += f"{more} -- computed again alone, which passed the check"
        warnings.warn(text, RecomputedWarning, stacklevel=3)
    return _table(found, len(listed), options), stats


def _table(found: PairResults, count: int, options: ManyOptions) -> NDArray[Any]:
    """A row for each of ``count`` pairs, with the fields that are asked for."""
    scale, names = options.scoring.scale, FIELDS[options.output]
    kinds = {"score": np.int64 if scale == 1 else np.float64, "cigar": object}
    table = np.empty(count, [(name, kinds.get(name, np.int64)) for name in names])
    for name in names:
        table[name] = found.cigars if name == "cigar" else found.values[name]
    if scale != 1:
        table["score"] /= scale
    return table


def _in_batches(
    one: OneByOne, options: ManyOptions, resources: Resources, tell: Callable[[int, int], None]
) -> PairResults:
    from ..engines.batch.engine import BatchEngine
    from ..opencl.device import get_runtime
    from ..opencl.kernel_times import Stopwatch

    runtime = get_runtime(resources.device)
    if resources.kernel_times:
        runtime = runtime.timed()
    watch = Stopwatch(runtime.times)
    chosen = make_plan(runtime, resources.plan)
    scoring = options.scoring.clamped()
    ends = sum(1 << k for k, is_free in enumerate(options.free.flags) if is_free)
    engine = BatchEngine(runtime, chosen.lanes, scoring, options.mode == "local", ends)
    try:
        driver = BatchDriver(engine, scoring, one, tell, chosen.tuning.pairs)
        found = driver.run(one.pairs, options.output)
        found.stats.kernel_seconds = watch.seconds
        return found
    finally:
        engine.close()


def _teller(progress: RunProgress | None, pairs: Sequence[Any]) -> Callable[[int, int], None]:
    """Called with more cells and pairs that are done, tells ``progress``."""
    if progress is None:
        return lambda cells, count: None
    halves = as_halves(pairs)
    total = 0
    if all(hasattr(half, "__len__") for half in halves):  # others are errors, found later
        total = int(lengths_of(halves).prod(axis=1).sum())
    tell = PairsProgress(progress, len(pairs), total)
    tell(0, 0)
    return tell
