"""What users call: ``best_ends``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..drivers.best_ends import best_ends as find_ends
from ..drivers.job import Job
from ..drivers.options import EndsOptions, Resources, made_of
from ..drivers.problem import FreeEnds
from ..drivers.progress import PairProgress, Progress
from ..engines.registry import row_of
from ..errors import InputError, shown
from ..opencl.builds import expecting
from ..planning.plan import Plan
from ..sequences.coordinates import Strand
from ..tiles.tile import Cells
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

    Raises
    ------
    InputError
        For sequences, scorings, options and plans that cannot be used (its subclasses say which).
    DeviceError
        If there is no usable device, or it fails or runs out of memory.
    """
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
    job = job_of(a, b, options, "local", FreeEnds())
    if not quiet:
        advise_pair(job.frame, options.scoring, "local")
    engine = make_engine(resources)
    k, separation = int(options.k), int(options.min_separation)
    jobs, found = job.strands(False), []
    with told(resources.progress) as run, expecting(1):
        pair = PairProgress(run, engine.plan, job.frame.shape, False, len(jobs))
        for number, one in enumerate(jobs):
            tell = pair.strand(number).sweep()
            cells = find_ends(engine, one.problem, k, separation, options.least, tell)
            found.append(_in_sequences(cells, one, options.strand != "plus"))
    every = np.concatenate(found)
    if len(jobs) == 1:
        return every
    return every[np.argsort(-every["score"], kind="stable")[:k]]


def _in_sequences(cells: Cells, job: Job, stranded: bool) -> NDArray[Any]:
    """Cells of a job of one strand as a table; ``stranded``: with the strand."""
    frame, scale = job.frame, job.scoring.scale
    kind: list[Any] = [("score", np.int64 if scale == 1 else np.float64)]
    kind += [("query_end", np.int64), ("target_end", np.int64)]
    found = np.zeros(len(cells), kind + [("strand", "U5")] * stranded)
    found["score"] = cells[:, 0] if scale == 1 else cells[:, 0] / scale
    found["query_end"] = frame.rows(None, cells[:, 1])[0 if frame.minus else 1]
    found["target_end"] = frame.column + cells[:, 2]
    if stranded:
        found["strand"] = frame.strand
    return found
