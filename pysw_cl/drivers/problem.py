"""The comparison of one strand: its borders, where its best end may be, its paths, their runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, InternalError, choice, is_flag, shown
from ..results.cigar import (
    QUERY,
    TARGET,
    Moves,
    Runs,
    check_region,
    consumed,
    joined,
    opposite,
    piece_runs,
)
from ..scoring.scoring import Scoring
from ..sequences import parallel
from ..sequences.view import Frame, View
from ..tiles.contract import HeldFound
from ..tiles.edges import Border, Edges
from ..tiles.graph import Rectangle
from ..tiles.tile import Area, Bound, Costs, Hit, Limits, Traced, Want

Mode = Literal["local", "global"]
MODES: tuple[Mode, ...] = get_args(Mode)
#: Moves of a path that is complete are read in so many times larger pieces than before.
LARGER = 8
#: The ``free_ends`` of other tools' modes in Python and in the shell, and a remark.
_FREE_MODES = {
    "semiglobal": ("True", "1", ", or with the ends that are free"),
    "overlap": ("True", "1", ""),
    "glocal": ("(True, False)", "1,0", ", which fits the query into the target"),
}


def check_mode(mode: object, name: str = "mode") -> str:
    """The mode; the InputError for a semi-global one names its ``free_ends``."""
    try:
        return choice(mode, name, MODES)
    except InputError as error:
        if (ends := free_ends_of(mode)) is None:
            raise
        raise InputError(f"{error}; use mode='global' with free_ends={ends[0]}{ends[2]}") from None


def free_ends_of(mode: object) -> tuple[str, str, str] | None:
    """What `_FREE_MODES` says of a mode; None for what is no such mode."""
    key = mode.lower().replace("-", "").replace("_", "") if isinstance(mode, str) else ""
    return _FREE_MODES.get(key)


class FreeEnds(NamedTuple):
    """Which terminal gaps cost nothing, in scikit-bio's order: leading and trailing gaps of the
    query, which consume target; leading and trailing gaps of the target, which consume query."""

    lead_query: bool = False
    trail_query: bool = False
    lead_target: bool = False
    trail_target: bool = False

    @classmethod
    def of(cls, value: object) -> FreeEnds:
        """From one boolean (all four ends), two (query, target) or four.  Raises InputError."""
        listed = value.tolist() if isinstance(value, np.ndarray) else value
        flags = list(listed) if isinstance(listed, (tuple, list)) else [listed]
        if len(flags) not in (1, 2, 4) or not all(map(is_flag, flags)):
            raise InputError(f"free_ends takes one, two or four booleans, not {shown(value)}")
        return cls(*(bool(flag) for flag in flags for _ in range(4 // len(flags))))


NO_FREE_ENDS = FreeEnds()


@dataclass(frozen=True)
class Problem(Rectangle):
    """The codes of a query against those of a target, and how a path may begin and end."""

    free: FreeEnds = NO_FREE_ENDS

    @classmethod
    def of(cls, query: View, target: View, scoring: Scoring, mode: str, free: FreeEnds) -> Problem:
        return cls(query, target, scoring, 0 if mode == "local" else None, free=free)

    @property
    def is_local(self) -> bool:
        return self.floor is not None

    @cached_property
    def edges(self) -> Edges:
        local, gaps = self.is_local, (self.scoring.gap_open, self.scoring.gap_extend)
        top = Border(local or self.free.lead_query, *gaps)
        return Edges(0, top, Border(local or self.free.lead_target, *gaps))

    @cached_property
    def want(self) -> Want:
        """Where the best end may be."""
        if self.is_local:
            return Want("all")
        rows, columns = self.free.trail_query, self.free.trail_target
        if rows and columns:
            return Want("border")
        return Want("last_row" if rows else "last_column" if columns else "corner")

    def aim(
        self, prune: bool, beat: int | None = None, least: int | None = None
    ) -> tuple[Want, Limits]:
        """Where a sweep looks for the best end, and what it may skip.  ``beat``: only an end above
        this score matters; a local comparison without one may give any.  ``least``: a score that
        some global path has.  With ``prune``, cells that cannot reach either are skipped."""
        (m, n), want, highest = self.shape, self.want, self.scoring.highest
        if not self.is_local:
            if not prune or least is None:
                return want, Limits()
            return replace(want, threshold=least), Limits(Bound(least, m + 1, n + 1, highest))
        bound = Bound(0, m, n, highest)  # the empty alignment, behind every positive score
        if beat is not None and beat > 0:  # as if found before this matrix's first cell
            bound, want = Bound(beat, 0, 0, highest), replace(want, threshold=beat + 1)
        return want, Limits(bound if prune else None)

    def best_end(self, hits: Iterable[Hit]) -> Hit:
        """The best of ``hits`` and of the ends that are known without a sweep: the empty local
        alignment, and border cells.  Of equal ends it is the first in row-major order."""
        (m, n), where, candidates = self.shape, self.want.where, list(hits)
        if self.is_local:
            candidates.append(Hit(0, 0, 0))
        if where in ("last_row", "border"):
            candidates.append(Hit(self.edges.left.h_at(m - 1), m, 0))
        if where in ("last_column", "border"):
            candidates.append(Hit(self.edges.top.h_at(n - 1), 0, n))
        return min(candidates)


@dataclass
class Path(Costs):
    """A path, traced backward."""

    #: Where it starts so far (half-open): the path aligns letters from here on.
    row: int
    column: int
    #: Its moves, the last one first.
    moves: list[NDArray[np.uint8]] = field(default_factory=list)
    #: 0 at H, else the gap that it is in.
    state: int = 0
    #: Has a local path come to its start?
    ended: bool = False
    #: From about this cell on another device traces it: what lies in front is not computed ahead.
    until: tuple[int, int] = (0, 0)
    #: Called with the path before each tile; an exception that it raises ends the traceback.
    between: Callable[[Path], None] = lambda path: None
    #: Called with the path after each grid cell, and after each launch that it was traced through.
    after: Callable[[Path], None] = lambda path: None
    #: Called with the path after launches while the device computes the next ones.
    meanwhile: Callable[[Path], None] = lambda path: None

    def inside(self, area: Area) -> bool:
        """Does the traceback go on in this area?"""
        return self.row > area.row and self.column > area.column and not self.ended

    def forward(self) -> NDArray[np.uint8]:
        """All moves, the first one first."""
        return np.concatenate([np.zeros(0, np.uint8), *self.moves])[::-1]

    def follow(self, traced: Traced, row: int = 0, column: int = 0) -> None:
        """Add the part in a tile that begins after so many rows and columns."""
        self.moves.append(traced.moves)
        self.row, self.column = row + traced.row, column + traced.column
        self.state, self.ended = traced.state, traced.ended

    def finish(self, problem: Problem) -> None:
        """Add the gap along a border that leads to the start of a global path."""
        free = problem.free
        if self.row and self.column and not self.ended:
            raise InternalError(f"the path stopped at ({self.row}, {self.column})")
        if self.ended or problem.is_local:
            return
        if self.row and not free.lead_target:
            self.moves.append(np.full(self.row, QUERY, np.uint8))
            self.row = 0
        if self.column and not free.lead_query:
            self.moves.append(np.full(self.column, TARGET, np.uint8))
            self.column = 0

    @classmethod
    def of_held(cls, found: HeldFound, problem: Problem) -> Path | None:
        """The path that was found in a matrix that is held; None if none was wanted."""
        if found.path is None:
            return None
        path = cls(found.path.row, found.path.column)
        path.follow(found.path)
        path.add_cost(found)
        path.finish(problem)
        return path


class FoundPath(NamedTuple):
    """A path: the row and column where it starts, its runs, and their score (None: unknown)."""

    row: int
    column: int
    runs: Runs
    score: int | None = None


class Reading(NamedTuple):
    """What was read of a path: its runs, and the sum of the substitution scores of its pairs."""

    runs: Runs
    pairs: int


class PathReader:
    """Computes runs and the score of the path to ``end`` from its moves, the letters of ``frame``
    and the scoring alone, with no score that a tile computed.

    Reading the moves of a long path takes the host about as long as a part of the traceback takes
    the device, so a thread reads those that are there while the device computes the next ones."""

    def __init__(self, end: Hit, frame: Frame, scoring: Scoring, at_once: int) -> None:
        self._end, self._frame, self._scoring = end, frame, scoring
        self._at_once = at_once
        #: How many arrays of moves were taken from the path, and where these begin.
        self._taken, self._place = 0, (end.row, end.column)
        self._thread = ThreadPoolExecutor(1)  # more would keep the one that launches from its work
        #: What the pieces give that were begun, the last one of the path first.
        self._begun: list[Future[Reading]] = []

    def to(self, end: Hit) -> PathReader:
        """A reader of the path to another cell."""
        return PathReader(end, self._frame, self._scoring, self._at_once)

    def read_meanwhile(self, path: Path) -> None:
        pieces = self._take(path, self._at_once)
        self._begun += [self._thread.submit(self._read, piece) for piece in pieces]

    def leave_out(self, path: Path, read: Reading) -> None:
        """The moves that came since the last call were ``read`` by others."""
        self._begun.append(self._thread.submit(lambda: read))
        self._taken, self._place = len(path.moves), (path.row, path.column)

    def read(self, path: Path) -> Reading:
        """The path, whose traceback is complete.  Raises InternalError if the moves do not consume
        the letters between its start and its end."""
        # no device waits: with larger pieces threads take Python's lock from each other less often
        rest = list(parallel.in_threads(self._read, self._take(path, LARGER * self._at_once)))
        with self._thread:
            read = [*(piece.result() for piece in self._begun), *rest]
        runs = joined(piece.runs for piece in reversed(read))
        return Reading(runs, sum(piece.pairs for piece in read))

    def found(self, path: Path) -> FoundPath:
        """The runs and the score of the path, as `read`."""
        runs, pairs = self.read(path)
        total, (gaps, query, target) = int(runs.lengths.sum()), runs.in_gaps()
        letters = total - target, total - query
        check_region(letters, (self._end.row - path.row, self._end.column - path.column))
        cost = gaps * self._scoring.gap_open + (query + target) * self._scoring.gap_extend
        return FoundPath(path.row, path.column, runs, pairs - cost)

    def _take(self, path: Path, at_once: int) -> Iterator[tuple[Moves, View, View]]:
        """The pieces that came since the last call, backward, and the letters of each."""
        new = path.moves[self._taken :]
        self._taken += len(new)
        moves = np.concatenate([np.zeros(0, np.uint8), *new])
        row, column = place = self._place
        for start in range(0, len(moves), at_once):
            piece = moves[start : start + at_once]
            rows, columns = consumed(piece)
            row, column = row - rows, column - columns
            if row >= path.row and column >= path.column:
                yield piece, *self._frame.region(row, row + rows, column, column + columns)
        region = place[0] - path.row, place[1] - path.column
        check_region((place[0] - row, place[1] - column), region)
        self._place = row, column

    def _read(self, piece: tuple[Moves, View, View]) -> Reading:
        moves = np.ascontiguousarray(piece[0][::-1])
        pairs = opposite(moves, *piece[1:])
        scores = self._scoring.pair_scores(*pairs)
        return Reading(piece_runs(self._scoring, moves, *pairs), int(scores.sum(dtype=np.int64)))
