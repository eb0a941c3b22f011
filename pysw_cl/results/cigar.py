"""Paths as runs of equal operations, the pairs of letters that they align, and moves as runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import InternalError
from ..scoring.scoring import Scoring
from ..sequences.alphabet import Letters
from ..sequences.parallel import in_threads
from ..sequences.view import View

Moves = NDArray[np.uint8]
Ints = NDArray[np.int64]
Found = TypeVar("Found")
#: Columns of a path that are processed at once, so that temporary arrays stay in a core's caches.
PIECE = 1 << 17

#: The moves of a path, which consume a letter of each, of the target, of the query; two that match.
DIAGONAL, TARGET, QUERY, _MATCHING = 0, 1, 2, 3

_INSERTION, _DELETION = b"ID"
_MOVE_TO_OP = np.frombuffer(b"XDI=", np.uint8)
#: Where it is not known whether letters match.
_UNKNOWN_TO_OP = np.frombuffer(b"MDI", np.uint8)
OP_TO_MOVE = np.zeros(256, np.uint8)
OP_TO_MOVE[_DELETION] = TARGET
OP_TO_MOVE[_INSERTION] = QUERY


@dataclass(frozen=True, eq=False)
class Runs:
    """A path as runs of equal operations: ``ops`` (uint8, ASCII of '=', 'X', 'I', 'D', as in SAM;
    'M' where nobody knows what matches) and ``lengths`` (int64).  'I' consumes query, 'D' target,
    the others a letter of both.  Iterating gives (op, length) pairs."""

    ops: NDArray[np.uint8]
    lengths: Ints

    @classmethod
    def of_cigar(cls, cigar: str) -> Runs:
        """The runs of an extended CIGAR, as `cigar` gives it."""
        ops = cigar.encode("ascii").translate(None, b"0123456789")
        lengths = np.array(re.split("[^0-9]", cigar)[:-1], np.int64)
        return cls(np.frombuffer(ops, np.uint8), lengths)

    def __len__(self) -> int:
        return len(self.ops)

    def __iter__(self) -> Iterator[tuple[str, int]]:
        return zip(self.ops.tobytes().decode("ascii"), self.lengths.tolist(), strict=True)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Runs):
            return NotImplemented
        return np.array_equal(self.ops, other.ops) and np.array_equal(self.lengths, other.lengths)

    @property
    def cigar(self) -> str:
        """The runs as a CIGAR string."""
        return "".join(f"{length}{op}" for op, length in self)

    def count(self, ops: str) -> int:
        """How many columns of the alignment are one of ``ops``."""
        return sum(int(self.lengths @ (self.ops == op)) for op in set(ops.encode("ascii")))

    def in_gaps(self) -> tuple[int, int, int]:
        """The number of gaps, and of the letters of the query and of the target opposite one."""
        gaps = int(np.count_nonzero((self.ops == _INSERTION) | (self.ops == _DELETION)))
        return gaps, self.count("I"), self.count("D")

    def merged(self) -> Runs:
        """The same path; neighbours with the same operation are one run."""
        first = np.flatnonzero(np.diff(self.ops, prepend=0))
        return Runs(self.ops[first], np.add.reduceat(self.lengths, first))

    def cut(self, start: int, stop: int, ends: Ints | None = None) -> Runs:
        """The runs of the columns ``[start, stop)``.  ``ends``: of all runs, if they are known."""
        ends = self.lengths.cumsum() if ends is None else ends
        first = int(ends.searchsorted(start, "right"))
        some = slice(first, int(ends.searchsorted(stop)) + 1 if stop > start else first)
        lengths = np.minimum(ends[some], stop)
        lengths[1:] -= lengths[:-1].copy()
        lengths[:1] -= start
        return Runs(self.ops[some], lengths)

    def columns(self) -> NDArray[np.uint8]:
        """One operation (ASCII) for every column of the alignment."""
        return np.repeat(self.ops, self.lengths)


def merged(runs: Runs, bounds: Ints | None = None) -> tuple[Moves, Ints, Ints]:
    """The moves of the runs and their lengths; neighbours with the same move are one.  ``bounds``,
    also of what is returned: the first run of each path (default: of one), then their number."""
    moves = OP_TO_MOVE[runs.ops]
    bounds = np.array([0, len(moves)]) if bounds is None else bounds
    first = np.ones(len(moves), np.bool_)
    first[1:] = moves[1:] != moves[:-1]
    first[bounds[bounds < len(moves)]] = True
    starts = np.flatnonzero(first)
    lengths = np.add.reduceat(runs.lengths, starts) if len(starts) else runs.lengths
    return moves[starts], lengths, np.searchsorted(starts, bounds)


def run_lengths(moves: Moves) -> tuple[Moves, Ints]:
    """The runs of equal moves: the move of each, and how many they are."""
    first = np.ones(len(moves), np.bool_)
    first[1:] = moves[1:] != moves[:-1]
    starts = first.nonzero()[0]
    return moves[starts], np.diff(starts, append=len(moves))


def piece_runs(scoring: Scoring, moves: Moves, query_on: Letters, target_on: Letters) -> Runs:
    """The runs of some moves, one at least; of the diagonal ones these are the letters."""
    equal, kinds, ops = scoring.equal(query_on, target_on), moves.copy(), _UNKNOWN_TO_OP
    if equal is not None:
        kinds[moves == DIAGONAL], ops = equal * np.uint8(_MATCHING), _MOVE_TO_OP
    kinds, lengths = run_lengths(kinds)
    return Runs(ops[kinds], lengths)


def joined(parts: Iterable[Runs]) -> Runs:
    """The runs of a path from those of its pieces."""
    ops, lengths = [np.zeros(0, np.uint8)], [np.zeros(0, np.int64)]
    count, longer = 0, list[tuple[int, int]]()
    for part in parts:
        again = int(count > 0 and len(part) > 0 and ops[-1][-1] == part.ops[0])
        if again:
            longer.append((count - 1, int(part.lengths[0])))
        if len(part) > again:
            ops.append(part.ops[again:])
            lengths.append(part.lengths[again:])
            count += len(part) - again
    found = Runs(np.concatenate(ops), np.concatenate(lengths))
    for at, more in longer:
        found.lengths[at] += more
    return found


def consumed(moves: Moves) -> tuple[int, int]:
    """How many letters of the query and of the target a piece of a path consumes."""
    if moves.max(initial=0) > QUERY:
        raise InternalError(f"a path has a move {int(moves.max())}")
    target, query = np.count_nonzero(moves == TARGET), np.count_nonzero(moves == QUERY)
    return len(moves) - int(target), len(moves) - int(query)


def check_region(letters: tuple[int, int], region: tuple[int, int]) -> None:
    """Raise InternalError unless a path consumes as many ``letters`` as its ``region`` has."""
    if letters != region:
        raise InternalError(
            f"a path consumes {letters[0]} x {letters[1]} letters of a region of "
            f"{region[0]} x {region[1]}"
        )


def opposite(moves: Moves, query: View, target: View) -> tuple[Letters, Letters]:
    """The letters of the diagonal moves of a piece, which consumes this query and target."""
    diagonal = moves == DIAGONAL
    query_on = query.read(0, len(query))[diagonal[moves != TARGET]]
    return query_on, target.read(0, len(target))[diagonal[moves != QUERY]]


def on_diagonal(
    runs: Runs, query: View, target: View, work: Callable[[Moves, Letters, Letters], Found]
) -> Iterator[Found]:
    """Call ``work`` for every piece of a path, with its moves and the letters of its diagonal
    moves, pair by pair.  Threads work on some pieces at once; results come in order."""
    row = column = 0

    def pieces() -> Iterator[tuple[Moves, View, View]]:
        nonlocal row, column
        ends = runs.lengths.cumsum()
        total = int(runs.lengths.sum())
        for start in range(0, total, PIECE):
            some = runs.cut(start, min(start + PIECE, total), ends)
            moves, (i, j) = OP_TO_MOVE[some.columns()], (row, column)
            rows, columns = consumed(moves)
            row, column = row + rows, column + columns
            if row <= len(query) and column <= len(target):
                yield moves, query.slice(i, row), target.slice(j, column)

    yield from in_threads(lambda one: work(one[0], *opposite(*one)), pieces())
    check_region((row, column), (len(query), len(target)))
