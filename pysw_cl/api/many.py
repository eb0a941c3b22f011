"""What users call for many pairs: ``align_many`` and ``align_paths``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, ExitStack, closing
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..drivers.options import ManyOptions, ManyOutput, Resources
from ..drivers.prepared import Batch, check_pairs
from ..drivers.problem import Mode
from ..drivers.progress import Progress
from ..planning.plan import Plan
from ..results.pair_paths import PairPaths
from ..results.stats import Stats
from ..scoring.scoring import made_of
from ..sequences.view import Strand
from .advice import Tally, advise_tally, tally_of
from .pair_aligner import PairAligner, of_alphabet, paths_of
from .parts import PartLimits, align_lists, aligned_elsewhere

#: How many pairs of an iterator are read before they are aligned.
LIMITS = PartLimits(pairs=1 << 17, cells=None)


def align_many(
    pairs: Iterable[Any],
    *,
    mode: Mode = "local",
    free_ends: bool | tuple[bool, ...] = False,
    sub_score: Any = (1, -3),
    gap_cost: Any = None,
    output: ManyOutput = "score",
    wildcard: str | None = None,
    iupac: str = "mismatch",
    unknown: str = "error",
    allow_odd_scoring: bool = False,
    second_best: bool = False,
    device: Any = "auto",
    plan: Plan | Mapping[str, Any] | None = None,
    progress: Progress | bool | None = None,
    strand: Strand = "plus",
    left_align: bool = False,
    min_score: float | None = None,
    cluster: Any = None,
) -> NDArray[Any]:
    """Align every query with its target exactly: what `align` finds, for many pairs at once.

    Parameters
    ----------
    pairs : iterable of (query, target)
        Sequences as `align` takes them, of any lengths.  Plain str (or plain bytes) throughout is
        the fast way; a `Batch`, which is prepared once, is faster.  What is no list or tuple is
        read in parts of 131,072 pairs or 67 million letters, or so, which are aligned and
        forgotten; with ``progress`` it is read to its end first.
    output : "score", "ends", "matches" or "path"
        How much is found out about each pair; see below.
    mode, free_ends, sub_score, gap_cost, wildcard, iupac, unknown, allow_odd_scoring
        As for `align`.
    device, plan, progress
        As for `align`.  Of the plan, ``engine`` and ``lanes`` matter here ("vector": a pair in each
        lane of a CPU's vectors, "vector32": with 32 bits only, others: a pair a work-item); all of
        it counts for the pairs that are aligned alone, because they are much larger than the rest.
    second_best : bool
        As for `align`; rows of "path" have ``second_best`` as their last field but ``strand``.
    strand : "plus", "minus" or "both"
        As for `align`: each query is aligned as it is, as its reverse complement, or as whichever
        of them scores more, plus among equals; nucleotides only.  Rows have more fields then.
    left_align : bool
        As for `align`; it matters for output "path".
    min_score : number, optional
        Only rows of pairs that score at least this, in units of ``sub_score``, with the number of
        the pair as the first field ``pair``.  Only their paths are sought, where that saves time.
    cluster : str, Dask client or cluster, or Executor, optional
        As for `align`: pairs go to its workers in parts, whose results come back in order, some of
        them at once.  ``device`` and ``plan`` are those of each worker.

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
        (str, SAM's extended CIGAR); the others are int64.  ``matches`` counts the matches of the
        canonical path and ``columns`` its columns, gaps included: their quotient is the identity.
        Coordinates are 0-based and half-open.  Ties are decided as in `align`.

        With ``strand`` "minus" or "both" all rows also have ``strand`` ("plus" or "minus"), and
        those of "ends" and "matches" ``query_start``.  Coordinates are those of the letters as
        given, so on the minus strand a path ends at ``query_start``.  In rows of "ends" the
        other one of ``query_start`` and ``query_end`` is not known, and -1.

        With ``min_score`` there is a row for each pair that reaches it, which begins with ``pair``
        (int64): the pair's number, counted from 0.

    A gap of k letters costs ``open + k * extend``.  Raises as `align`; the message begins with the
    number of the pair, counted from 0.

    The method (one pair in each vector lane) is that of Rognes (2011, BMC Bioinformatics 12:221),
    with both sequences different in every lane; matches and columns are carried along with scores.
    """
    given = locals()
    return align_many_with(pairs, made_of(ManyOptions, given), made_of(Resources, given))[0]


def align_many_with(
    pairs: Iterable[Any],
    options: ManyOptions,
    resources: Resources,
    aligners: AbstractContextManager[PairAligner] | None = None,
) -> tuple[NDArray[Any], Stats]:
    """`align_many` and its cost, with options that are checked, by a new aligner or one given."""
    pairs, options = of_first(pairs, options, bool(resources.progress))  # told of all cells
    if resources.cluster is None and isinstance(pairs, list | tuple | Batch):
        with aligners or PairAligner(options, resources) as aligner:
            return aligner.align(pairs, resources.progress, advise=True)
    tally, stats, tables = Tally(options.scoring), Stats(), list[NDArray[Any]]()
    with ExitStack() as stack:
        parts: Any
        if resources.cluster is not None:
            parts = aligned_elsewhere(pairs, options, resources, LIMITS)
        else:
            aligner = stack.enter_context(aligners or PairAligner(options, resources))
            parts = align_lists(aligner, pairs, LIMITS)
        for part in stack.enter_context(closing(parts)):
            tally_of(chain.from_iterable(part.pairs), tally)
            tables.append(part.rows)
            stats.add(part.stats)
    advise_tally(tally, options.mode, stats.total_cells)
    return np.concatenate(tables), stats


def align_paths(
    pairs: Iterable[Any],
    *,
    mode: Mode = "local",
    free_ends: bool | tuple[bool, ...] = False,
    sub_score: Any = (1, -3),
    gap_cost: Any = None,
    wildcard: str | None = None,
    iupac: str = "mismatch",
    unknown: str = "error",
    allow_odd_scoring: bool = False,
    device: Any = "auto",
    plan: Plan | Mapping[str, Any] | None = None,
    progress: Progress | bool | None = None,
    strand: Strand = "plus",
    left_align: bool = False,
) -> PairPaths:
    """What `align_many` finds with output "path", as arrays: no Python object is made for a pair.

    The arguments are those of `align_many`; ``pairs`` is read to its end before the work starts.
    A gap of k letters costs ``open + k * extend``.  Raises as `align_many`.

    ``paths["score"]`` is a column; ``runs`` and ``offsets`` are the paths as BAM has them; ``rows``
    is the structured array without the CIGARs, ``cigar`` an array of str, and ``table()`` the array
    of `align_many`, made when they are read."""
    given = locals()
    every, options = of_first(pairs, made_of(ManyOptions, {**given, "output": "path"}), True)
    listed = of_alphabet(every, options.scoring)
    with PairAligner(options, made_of(Resources, given)) as aligner:
        found = aligner.found(listed, progress, advise=True)
    return paths_of(listed, found, options)


def of_first(pairs: Any, options: ManyOptions, listed: bool) -> tuple[Any, ManyOptions]:
    """The pairs, all ``listed`` or as they come, and the options for queries like the first one."""
    check_pairs(pairs)
    first: Any = pairs[:1] if isinstance(pairs, list | tuple) else ()
    if not isinstance(pairs, list | tuple | Batch):
        pairs = iter(pairs)
        first = list(islice(pairs, 1))
        pairs = chain(first, pairs)
        pairs = list(pairs) if listed or not first else pairs
    known = first and isinstance(first[0], list | tuple) and first[0]
    return pairs, options.of_query(known[0]) if known else options
