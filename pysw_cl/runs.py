"""Paths as runs of equal operations, and the letters that stand opposite each other in them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .alphabet import PIECE, Letters
from .errors import InternalError
from .scoring import Scoring
from .tile import View

Moves = NDArray[np.uint8]
Found = TypeVar("Found")
#: Pieces of a path that are looked at side by side.
AT_ONCE = min(8, os.cpu_count() or 1)

#: The moves of a path: a letter of each, one that consumes target, one that consumes query.
DIAGONAL, TARGET, QUERY = 0, 1, 2

_MATCH, _MISMATCH, _INSERTION, _DELETION = b"=XID"
_MOVE_TO_OP = np.array([_MISMATCH, _DELETION, _INSERTION], np.uint8)
OP_TO_MOVE = np.zeros(256, np.uint8)
OP_TO_MOVE[_DELETION] = TARGET
OP_TO_MOVE[_INSERTION] = QUERY


@dataclass(frozen=True, eq=False)
class Runs:
    """A path as runs of equal operations: ``ops`` (uint8, ASCII of '=', 'X', 'I', 'D') and
    ``lengths`` (int64).

    '=' and 'X' consume a letter of both sequences, 'I' consumes query, 'D' consumes target, as in
    SAM.  Iterating gives (op, length) pairs.
    """

    ops: NDArray[np.uint8]
    lengths: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.ops)

    def __iter__(self) -> Iterator[tuple[str, int]]:
        return zip(self.ops.tobytes().decode("ascii"), self.lengths.tolist(), strict=True)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Runs):
            return NotImplemented
        return np.array_equal(self.ops, other.ops) and np.array_equal(self.lengths, other.lengths)

    __hash__ = None  # type: ignore[assignment]

    @property
    def cigar(self) -> str:
        """The runs as a CIGAR string."""
        return "".join(f"{length}{op}" for op, length in self)

    def count(self, ops: str) -> int:
        """How many columns of the alignment have one of ``ops``."""
        return int(self.lengths[np.isin(self.ops, list(ops.encode("ascii")))].sum())

    def gaps(self) -> int:
        """How many gaps there are, whatever their lengths."""
        return int(np.isin(self.ops, [_INSERTION, _DELETION]).sum())

    def columns(self) -> NDArray[np.uint8]:
        """One operation (ASCII) for every column of the alignment."""
        return np.repeat(self.ops, self.lengths)

    def pieces(self) -> Iterator[NDArray[np.uint8]]:
        """What `columns` gives, a piece of at most `PIECE` columns at a time."""
        ends = self.lengths.cumsum()
        for start in range(0, int(self.lengths.sum()), PIECE):
            stop = min(start + PIECE, int(ends[-1]))
            first, last = np.searchsorted(ends, start, "right"), np.searchsorted(ends, stop)
            lengths = np.minimum(ends[first : last + 1], stop)
            lengths[1:] -= lengths[:-1].copy()
            lengths[0] -= start
            yield np.repeat(self.ops[first : last + 1], lengths)


def runs_from_moves(
    moves: Moves, query: Letters | View, target: Letters | View, scoring: Scoring
) -> Runs:
    """The runs of a path.

    ``moves`` (uint8, first move first): 0 diagonal, 1 consumes target, 2 consumes query.
    ``query`` and ``target`` are the letters (uint8, or views of them) that the path consumes, no
    more.  Letters
    match where ``scoring.match_tables()`` says so.  Raises InternalError if the path does not
    consume exactly these letters.
    """
    query_ids, target_ids = scoring.match_tables()
    ops: list[NDArray[np.uint8]] = []
    lengths: list[NDArray[np.int64]] = []

    def runs(part: Moves, query_on: Letters, target_on: Letters) -> tuple[Any, Any]:
        columns = _MOVE_TO_OP[part]
        equal = query_ids[query_on] == target_ids[target_on]
        columns[part == DIAGONAL] = np.where(equal, np.uint8(_MATCH), np.uint8(_MISMATCH))
        starts = np.flatnonzero(np.concatenate(([True], columns[1:] != columns[:-1])))
        return columns[starts], np.diff(starts, append=len(columns)).astype(np.int64)

    pieces = (moves[start : start + PIECE] for start in range(0, len(moves), PIECE))
    sides = [side if isinstance(side, View) else View(side) for side in (query, target)]
    for found, counts in on_diagonal(pieces, sides[0], sides[1], runs):
        if ops and ops[-1][-1] == found[0]:  # a run goes on from the piece before
            counts[0] += lengths[-1][-1]
            ops[-1], lengths[-1] = ops[-1][:-1], lengths[-1][:-1]
        ops.append(found)
        lengths.append(counts)
    if not ops:
        return Runs(np.zeros(0, np.uint8), np.zeros(0, np.int64))
    return Runs(np.concatenate(ops), np.concatenate(lengths))


def on_diagonal(
    pieces: Iterable[Moves],
    query: View,
    target: View,
    work: Callable[[Moves, Letters, Letters], Found],
) -> Iterator[Found]:
    """What ``work`` makes of every piece of the moves and the letters that stand opposite each
    other in it, pair by pair; some pieces at once."""
    row = column = 0

    def places() -> Iterator[tuple[Moves, int, int]]:
        nonlocal row, column
        for moves in pieces:
            if moves.max() > QUERY:
                raise InternalError(f"a path has a move {int(moves.max())}")
            start = row, column
            row += len(moves) - int(np.count_nonzero(moves == TARGET))
            column += len(moves) - int(np.count_nonzero(moves == QUERY))
            if row <= len(query) and column <= len(target):
                yield moves, *start

    def one(place: tuple[Moves, int, int]) -> Found:
        moves, row, column = place
        diagonal = moves == DIAGONAL
        query_moves, target_moves = diagonal[moves != TARGET], diagonal[moves != QUERY]
        query_part = query.read(row, row + len(query_moves))
        target_part = target.read(column, column + len(target_moves))
        return work(moves, query_part[query_moves], target_part[target_moves])

    listed = places()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        while some := list(islice(listed, AT_ONCE)):
            yield from pool.map(one, some) if len(some) > 1 else map(one, some)
    if (row, column) != (len(query), len(target)):
        raise InternalError(
            f"a path consumes {row} x {column} letters of a region of {len(query)} x {len(target)}"
        )
