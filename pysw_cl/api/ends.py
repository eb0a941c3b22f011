"""What users call: ``best_ends``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..drivers.best_ends import best_ends as find_ends
from ..drivers.options import EndsOptions, Resources
from ..drivers.pair_progress import PairProgress
from ..drivers.problem import FreeEnds
from ..drivers.progress import Progress
from ..engines.registry import row_of
from ..errors import InputError, shown
from ..opencl.builds import expecting
from ..planning.plan import Plan
from .advice import advise_pair
from .align import job_of, make_engine
from .bar import told

#: The ``engine`` that leaves the choice to the package.
AUTO = "auto"


def best_ends(
    a: Any,
    b: Any,
    *,
    k: int = 200,
    min_separation: int = 0,
    sub_score: Any = (1, -3),
    gap_cost: Any = None,
    wildcard: str | None = None,
    unknown: str = "error",
    allow_odd_scoring: bool = False,
    min_score: float = 1,
    query_range: tuple[int, int] | None = None,
    target_range: tuple[int, int] | None = None,
    engine: str = AUTO,
    device: Any = "auto",
    plan: Plan | Mapping[str, Any] | None = None,
    progress: Progress | bool | None = None,
) -> NDArray[Any]:
    """The places where the best local alignments of query ``a`` with target ``b`` end.

    These are the ``k`` cells of the matrix with the highest scores, exactly, whether their
    alignments share letters or not.  Ends of one alignment and its neighbours lie side by side;
    ``min_separation`` keeps one of them.  It is kernel 1 of the SSCA#1 benchmark (Bader et al.
    2006; Khajeh-Saeed, Poole & Perot 2010, J Comput Phys 229, 4247-4258).

    Parameters
    ----------
    a, b, sub_score, gap_cost, wildcard, unknown, allow_odd_scoring, device
        As for ``align``; a gap of k letters costs ``open + k * extend``.
    query_range, target_range
        As for ``align``.
    k : int
        How many ends at most, 1 or more.
    min_separation : int
        s above 0: the best end is kept; each further one is kept if its query end or its target
        end is at least s letters from that of every end that is kept.
    min_score : number above 0
        The least score of an end, in units of ``sub_score``.
    engine : "auto", "wavefront", "rowscan" or "reference"
        What computes the matrix; none changes the result.  "auto": that of ``align``.
    plan : Plan or mapping, optional
        As for ``align``.
    progress : callable or True, optional
        As for ``align``, of sweeps of the whole matrix, mostly one.

    Returns
    -------
    structured array
        At most ``k`` rows with ``score``, ``query_end`` and ``target_end`` (0-based, exclusive, in
        the whole sequences as given), by falling score, then by query end, then by target end.

    Raises
    ------
    InputError
        For sequences, scorings, options and plans that cannot be used (its subclasses say which).
    DeviceError
        If there is no usable device, or it fails or runs out of memory.
    """
    options = EndsOptions(
        k=k,
        min_separation=min_separation,
        sub_score=sub_score,
        gap_cost=gap_cost,
        wildcard=wildcard,
        unknown=unknown,
        allow_odd_scoring=allow_odd_scoring,
        min_score=min_score,
        output="ends",
        query_range=query_range,
        target_range=target_range,
    )
    resources = Resources(device=device, plan=with_engine(engine, plan), progress=progress)
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
    job = job_of(a, b, options, "local", FreeEnds())
    if not quiet:
        advise_pair(job.frame, options.scoring, "local")
    engine, plan = make_engine(resources)
    k, separation = int(options.k), int(options.min_separation)
    with told(resources.progress) as run, expecting(1):
        pair = PairProgress.of(run, engine, plan, job.frame.shape, False, 1)
        tell = None
        if pair is not None:
            strand = pair.strand(0)
            strand.sweeping(job.problem, False)
            tell = strand.swept
        cells, _ = find_ends(engine, job.problem, k, separation, options.least, tell)
    scoring, frame = options.scoring, job.frame
    kind = np.int64 if scoring.scale == 1 else np.float64
    found = np.zeros(
        len(cells), [("score", kind), ("query_end", np.int64), ("target_end", np.int64)]
    )
    found["score"] = cells[:, 0] if scoring.scale == 1 else cells[:, 0] / scoring.scale
    found["query_end"], found["target_end"] = frame.row + cells[:, 1], frame.column + cells[:, 2]
    return found
