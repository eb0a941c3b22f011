"""scikit-bio's `pair_align`: what is computed here, and what goes to scikit-bio; its own names
routed here.

The states of its paths are this package's moves: 0 aligns two letters, 1 is a gap in the first
sequence and 2 one in the second."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, wraps
from typing import Any

import numpy as np
from skbio import alignment
from skbio.alignment import PairAlignPath, _pair

from ..api.align import align_with
from ..drivers.options import AlignOptions
from ..drivers.problem import FreeEnds, Path, Problem
from ..drivers.resources import AlignResources
from ..engines.registry import engine_for
from ..errors import RangeError
from ..results.cigar import Ints, Moves, merged, run_lengths
from ..sequences.view import View
from .encoding import DELEGATED, Coded, ErrorsOfOurs, NotOurs, encoded

#: scikit-bio's own functions.
ORIGINAL: dict[str, Any] = {
    name: getattr(alignment, name) for name in ("pair_align", "pair_align_nucl", "pair_align_prot")
}
#: The device of the block of `use` that this thread or task is in, in a list; None outside.
_device: ContextVar[Any] = ContextVar("pysw_cl.skbio device", default=None)
#: The device of `install`, if it was called.
_everywhere: list[Any] = []
#: A score of this package's integers, and the path if it is wanted and there is one.
Found = tuple[int, PairAlignPath | None]


def pair_align(
    seq1: Any,
    seq2: Any,
    /,
    mode: str = "global",
    sub_score: Any = (1.0, -1.0),
    gap_cost: Any = 2.0,
    free_ends: Any = True,
    trim_ends: bool = False,
    max_paths: int | None = 1,
    atol: float = 1e-5,
    keep_matrices: bool = False,
    *,
    device: Any = "auto",
) -> _pair.PairAlignResult:
    """scikit-bio's `pair_align`: the same arguments and the same result.

    ``device``: as for `pysw_cl.align`.  A gap of k letters costs ``open + k * extend``.  Raises
    InputError (a ValueError, and a TypeError where scikit-bio raises one) for what scikit-bio
    refuses, and DeviceError."""
    given = (mode, sub_score, gap_cost, free_ends, trim_ends, max_paths, atol, keep_matrices)
    try:
        if keep_matrices:
            raise NotOurs("keep_matrices")
        if max_paths is None or max_paths not in (0, 1):
            raise NotOurs("max_paths")
        with ErrorsOfOurs():
            local = _pair._prep_mode(mode)
            ends = _pair._prep_free_ends(local, free_ends, trim_ends)
            coded = encoded((seq1, seq2), sub_score, gap_cost, atol)
        found, path = _aligned(coded, local, ends, bool(max_paths), device)
        score = found / coded.unit
        none = local and abs(score) <= coded.tolerance
        return result_of(score, None if none else path, bool(max_paths))
    except NotOurs as reason:
        DELEGATED[str(reason)] += 1
    with ErrorsOfOurs():
        return ORIGINAL["pair_align"](seq1, seq2, *given)


def pair_align_nucl(seq1: Any, seq2: Any, /, **kwargs: Any) -> _pair.PairAlignResult:
    """`pair_align` with scikit-bio's defaults for nucleotides: (2, -3), and gaps (5, 2)."""
    return pair_align(seq1, seq2, **{"sub_score": (2.0, -3.0), "gap_cost": (5.0, 2.0), **kwargs})


def pair_align_prot(seq1: Any, seq2: Any, /, **kwargs: Any) -> _pair.PairAlignResult:
    """`pair_align` with scikit-bio's defaults for proteins: BLOSUM62, and gaps (11, 1)."""
    return pair_align(seq1, seq2, **{"sub_score": "BLOSUM62", "gap_cost": (11.0, 1.0), **kwargs})


def result_of(score: float, path: PairAlignPath | None, wanted: bool) -> _pair.PairAlignResult:
    """scikit-bio's result, whose paths are None if none is wanted, and empty if there is none."""
    return _pair.PairAlignResult(score, ([] if path is None else [path]) if wanted else None)


def _aligned(coded: Coded, local: bool, ends: Any, path: bool, device: Any) -> Found:
    """The alignment of two sequences; ``ends``: scikit-bio's flags."""
    scoring, mode = coded.scoring, "local" if local else "global"
    free = (False,) * 4 if local else (ends[0] > 0, ends[1] > 0, ends[2] > 0, ends[3] > 0)
    sizes = [len(one) for one in coded.ranks]
    try:
        scoring.bounds.check_range(sizes[0], sizes[1], mode)
    except RangeError:
        raise NotOurs("totals") from None
    query, target = coded.letters(0), coded.letters(1)
    codes = View(scoring.query_encoding[query]), View(scoring.target_encoding[target])
    problem = Problem.of(*codes, scoring, mode, FreeEnds(*free))
    if (small := _small(problem, ends, path, device)) is not None:
        return small
    options, resources = _options(scoring, mode, free, path), AlignResources(device=device)
    found = align_with(query, target, options, resources, quiet=True)
    if found.runs is None:
        return int(found.score), None
    span: Any = found.query_start, found.query_end, found.target_start, found.target_end
    return int(found.score), pair_path(*merged(found.runs)[:2], span, sizes, ends)


@lru_cache(maxsize=64)
def _options(scoring: Any, mode: str, free: tuple[bool, ...], path: bool) -> AlignOptions:
    output = "path" if path else "score"
    return AlignOptions(mode=mode, free_ends=free, sub_score=scoring, output=output)


def _small(problem: Problem, ends: Any, path: bool, device: Any) -> Found | None:
    """`_aligned` for a small matrix, in one launch and without the layers for large ones.  None
    where that does not apply, and for a path that does not score what the sweep found."""
    matrix = engine_for(device, None).hold(problem, problem.free, int(path))
    if matrix is None:
        return None
    with matrix:
        found = matrix.next(path)
    end = found.end
    if not path:
        return end.score, None
    traced = Path.of_held(found, problem)
    assert traced is not None
    moves = traced.forward()
    span = traced.row, end.row, traced.column, end.column
    states, lengths = run_lengths(moves)
    rows, columns = problem.query.read(*span[:2]), problem.target.read(*span[2:])
    takes = moves != 1, moves != 2  # letters of the query, and of the target
    if [int(some.sum()) for some in takes] != [len(rows), len(columns)]:
        return None
    diagonal, scoring = moves == 0, problem.scoring
    pairs = scoring.matrix[rows[diagonal[takes[0]]], columns[diagonal[takes[1]]]]
    cost = np.count_nonzero(states) * scoring.gap_open
    cost += (len(moves) - len(pairs)) * scoring.gap_extend
    if int(pairs.sum(dtype=np.int64)) - cost != end.score:
        return None
    return end.score, pair_path(states, lengths, span, problem.shape, ends)


def pair_path(
    moves: Moves, lengths: Ints, span: Sequence[int], sizes: Sequence[int], ends: Sequence[int]
) -> PairAlignPath:
    """The path with these runs of moves.  ``span``: query start and end, target start and end.
    ``ends``: scikit-bio's flags for leading and trailing gaps of the first sequence, then of the
    second: 2 leaves free end gaps out, with 1 they are there.  A path without free ends has its end
    gaps already.  No gap of the path is beside an end gap of its kind: the best end is the first of
    equal ones, and a traceback ends at a border."""
    (i0, i1, j0, j1), (m, n) = span, sizes
    if j1 < n and i1 == m and ends[1] < 2:
        moves, lengths, j1 = np.append(moves, np.uint8(1)), np.append(lengths, n - j1), n
    elif i1 < m and j1 == n and ends[3] < 2:
        moves, lengths, i1 = np.append(moves, np.uint8(2)), np.append(lengths, m - i1), m
    if j0 and not i0 and ends[0] < 2:
        moves, lengths, j0 = np.append(np.uint8(1), moves), np.append(j0, lengths), 0
    elif i0 and not j0 and ends[2] < 2:
        moves, lengths, i0 = np.append(np.uint8(2), moves), np.append(i0, lengths), 0
    return PairAlignPath(lengths, moves, ranges=np.array([[i0, i1], [j0, j1]], np.intp))


def install(device: Any = "auto") -> None:
    """Route scikit-bio's `pair_align`, `pair_align_nucl` and `pair_align_prot` through this
    package, for code that cannot be edited, until `uninstall`.

    Names that were bound before (``from skbio.alignment import pair_align``) are not routed."""
    _put_dispatchers()
    _everywhere[:] = [device]


def uninstall() -> None:
    """Take back `install`; inside `use` calls are still routed."""
    _everywhere.clear()


@contextmanager
def use(device: Any = "auto") -> Iterator[None]:
    """`install` for a block of code, in this thread or task only; blocks may be nested."""
    _put_dispatchers()
    token = _device.set([device])
    try:
        yield
    finally:
        _device.reset(token)


def _put_dispatchers() -> None:
    for ours in (pair_align, pair_align_nucl, pair_align_prot):
        name = ours.__name__
        if getattr(alignment, name) is ORIGINAL[name]:
            dispatcher = _dispatcher(ours, ORIGINAL[name])
            setattr(alignment, name, dispatcher)
            setattr(_pair, name, dispatcher)


def _dispatcher(ours: Callable[..., Any], original: Callable[..., Any]) -> Any:
    @wraps(original)
    def route(*args: Any, **kwargs: Any) -> Any:
        chosen = _device.get() or _everywhere
        return ours(*args, **kwargs, device=chosen[0]) if chosen else original(*args, **kwargs)

    return route
