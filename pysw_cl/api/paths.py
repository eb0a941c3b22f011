"""What users call for the paths of many pairs as arrays: ``align_paths``."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from ..drivers.options import ManyOptions, Resources, made_of
from ..drivers.prepared import Batch, check_pairs
from ..drivers.problem import Mode
from ..drivers.progress import Progress
from ..errors import RecomputedWarning
from ..planning.plan import Plan
from ..results.pair_paths import PairPaths
from ..sequences.coordinates import Strand
from .advice import advise_tally
from .bar import told
from .many import PairAligner, of_alphabet, of_first, paths_of
from .reaching import teller


def align_paths(
    pairs: Iterable[Any],
    *,
    mode: Mode = "local",
    free_ends: bool | tuple[bool, ...] = False,
    sub_score: Any = (1, -3),
    gap_cost: Any = None,
    wildcard: str | None = None,
    unknown: str = "error",
    allow_odd_scoring: bool = False,
    device: Any = "auto",
    plan: Plan | Mapping[str, Any] | None = None,
    progress: Progress | bool | None = None,
    strand: Strand = "plus",
    left_align: bool = False,
) -> PairPaths:
    """What `align_many` finds with output "path", as arrays: no Python object is made for a pair.

    Parameters
    ----------
    pairs, mode, free_ends, sub_score, gap_cost, wildcard, unknown, allow_odd_scoring, device,
    plan, progress, strand, left_align
        As for `align_many`; ``pairs`` is read to its end before the work starts.

    Returns
    -------
    PairPaths
        ``paths["score"]`` is a column; ``runs`` and ``offsets`` are the paths as BAM has them;
        ``rows`` is the structured array without the CIGARs, ``cigar`` an array of str, and
        ``table()`` the array of `align_many`, made when they are read.

    A gap of k letters costs ``open + k * extend``.

    Raises
    ------
    InputError, DeviceError
        As `align_many`.
    """
    given = locals()
    options = made_of(ManyOptions, {**given, "output": "path"})
    resources = made_of(Resources, given)
    check_pairs(pairs)
    pairs, options = of_first(pairs, options)
    listed = of_alphabet(
        pairs if isinstance(pairs, list | tuple | Batch) else list(pairs), options.scoring
    )
    with (
        PairAligner(options, resources) as aligner,
        told(progress) as run,
        aligner.counting(listed) as tallied,
    ):
        found, stats, wrong = aligner.found(listed, teller(run, listed, aligner.sweeps))
    advise_tally(tallied(), mode, stats.total_cells, 3)
    if wrong:
        warnings.warn(wrong, RecomputedWarning, stacklevel=2)
    return paths_of(listed, found, options)
