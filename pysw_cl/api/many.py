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
from ..drivers.batch_results import FIELDS, Found
from ..drivers.batch_singles import OneByOne
from ..drivers.problem import MODES, FreeEnds
from ..errors import InputError, RecomputedWarning
from ..planning.plan import Plan, make_plan
from ..results.alignment import Stats
from ..scoring.scoring import make_scoring
from ..tiles.sweep import Progress
from .align import align


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
    progress: Progress | None = None,
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
    return align_many_stats(
        pairs,
        mode=mode,
        free_ends=free_ends,
        sub_score=sub_score,
        gap_cost=gap_cost,
        output=output,
        wildcard=wildcard,
        device=device,
        plan=plan,
        progress=progress,
    )[0]


def align_many_stats(
    pairs: Iterable[Any],
    *,
    output: str = "score",
    device: Any = "auto",
    plan: Plan | Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    mode: str = "local",
    free_ends: Any = False,
    sub_score: Any = (1, -3),
    gap_cost: Any = (3, 2),
    wildcard: str | None = None,
) -> tuple[NDArray[Any], Stats]:
    """`align_many` with what the run cost."""
    started = time.perf_counter()
    if not isinstance(mode, str) or mode not in MODES:
        raise InputError(f"mode must be 'local' or 'global', not {mode!r}")
    if not isinstance(output, str) or output not in FIELDS:
        raise InputError(f"output must be one of {', '.join(map(repr, FIELDS))}, not {output!r}")
    if progress is not None and not callable(progress):
        raise InputError(f"progress must be a function or None, not {progress!r}")
    free = FreeEnds.of(free_ends)
    scoring = make_scoring(sub_score, gap_cost, wildcard)
    if isinstance(pairs, str | bytes | bytearray) or not isinstance(pairs, Iterable):
        kind = type(pairs).__name__
        raise InputError(f"pairs must be an iterable of (query, target), not {kind}")
    listed: Sequence[Any] = pairs if isinstance(pairs, list | tuple) else list(pairs)
    one = OneByOne(
        listed,
        scoring,
        mode,
        output,
        align,
        {
            "mode": mode,
            "free_ends": free_ends,
            "sub_score": sub_score,
            "gap_cost": gap_cost,
            "wildcard": wildcard,
            "device": device,
            "plan": plan,
        },
    )
    tell = _teller(progress, listed)
    engine = plan.get("engine") if isinstance(plan, Mapping) else getattr(plan, "engine", None)
    if engine == "reference":
        found = one.all(tell)
    else:
        found = _in_batches(listed, one, free, device, plan, tell)
    stats = found.stats
    stats.add_cells(one.stats.cells)
    stats.launches += one.stats.launches
    stats.recomputed += one.stats.recomputed
    stats.device_bytes = max(stats.device_bytes, one.stats.device_bytes)
    stats.seconds = time.perf_counter() - started
    score = np.float64 if scoring.scale != 1 else np.int64
    kinds = {"score": score, "cigar": object}
    names = FIELDS[output]
    table = np.empty(len(listed), [(name, kinds.get(name, np.int64)) for name in names])
    for name in names:
        table[name] = found.cigars if name == "cigar" else found.values[name]
    if scoring.scale != 1:
        table["score"] /= scoring.scale
    if found.wrong:
        text = f"{found.wrong[0]}; please report this with both sequences and all arguments"
        more = f" ({len(found.wrong) - 1} more pairs)" if len(found.wrong) > 1 else ""
        text += f"{more} -- computed again alone, which passed the check"
        warnings.warn(text, RecomputedWarning, stacklevel=3)
    return table, stats


def _in_batches(
    pairs: Sequence[Any],
    one: OneByOne,
    free: FreeEnds,
    device: Any,
    plan: Plan | Mapping[str, Any] | None,
    tell: Callable[[int], None],
) -> Found:
    from ..engines.batch.engine import BatchEngine
    from ..opencl.device import get_runtime

    runtime = get_runtime(device)
    lanes = make_plan(runtime, plan).lanes
    scoring = one.scoring.clamped()
    bits = (free.lead_query, free.trail_query, free.lead_target, free.trail_target)
    ends = sum(1 << k for k, is_free in enumerate(bits) if is_free)
    engine = BatchEngine(runtime, lanes, scoring, one.mode == "local", ends)
    try:
        return BatchDriver(engine, scoring, one, tell).run(pairs, one.output)
    finally:
        engine.close()


def _teller(progress: Progress | None, pairs: Sequence[Any]) -> Callable[[int], None]:
    """Called with cells done, tells ``progress`` how many are done of how many."""
    if progress is None:
        return lambda cells: None
    halves = as_halves(pairs)
    total = done = 0
    if all(hasattr(half, "__len__") for half in halves):  # others are errors, found later
        total = int(lengths_of(halves).prod(axis=1).sum())

    def tell(cells: int) -> None:
        nonlocal done
        done += cells
        progress(done, total)

    return tell
