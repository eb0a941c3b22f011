"""The paths of many pairs in arrays, without a Python object for each; and gaps as far to the left
as the score allows, as minimap2 and the normal form of VCF have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..scoring.scoring import Scoring
from ..sequences.alphabet import Letters
from ..sequences.view import View
from .cigar import DIAGONAL, TARGET, Ints, Runs, joined, merged, on_diagonal, piece_runs

Words = NDArray[np.uint32]
#: BAM's operations (SAM specification, 4.2), and the code of each.
BAM_OPS = np.frombuffer(b"MIDNSHP=X", np.uint8)
_BAM_CODES = np.zeros(256, np.uint32)
_BAM_CODES[BAM_OPS] = np.arange(len(BAM_OPS))
#: The longest run that a word holds.
LONGEST_RUN = (1 << 28) - 1
#: Rows of a table that are filled at once, so that they stay in a core's caches for all columns.
AT_ONCE = 1 << 13
#: Words of paths for which there is room before they come, beside as many as there are.
MORE = 1 << 22
#: Columns that `move_left` looks at in one step; a gap does not pass more at once that score less.
COLUMNS_AT_ONCE = 1 << 20
#: What stands before each of several paths, like a gap of no letters, and does not move.
WALL = 3
_OPS = np.frombuffer(b"=DI=", np.uint8)


def words_of(runs: Runs) -> Words:
    """Runs as BAM has them (`PairPaths.runs`).  One above `LONGEST_RUN` is several words."""
    lengths, ops = runs.lengths, runs.ops
    if lengths.max(initial=0) > LONGEST_RUN:
        pieces = np.maximum(1, -(-lengths // LONGEST_RUN))
        rest, ops = lengths - (pieces - 1) * LONGEST_RUN, np.repeat(ops, pieces)
        lengths = np.full(len(ops), LONGEST_RUN)
        lengths[pieces.cumsum() - 1] = rest
    return (lengths.astype(np.uint32) << np.uint32(4)) | _BAM_CODES[ops]


def runs_of(words: Words) -> Runs:
    """The inverse of `words_of`."""
    return Runs(BAM_OPS[words & 15], (words >> 4).astype(np.int64))


class PathWords:
    """The paths of ``count`` pairs as words of BAM, as they arrive in any order."""

    def __init__(self, count: int) -> None:
        self._words, self._used = np.empty(0, np.uint32), 0
        #: Where the words of each pair begin, and how many they are, behind a 0.
        self._starts, self._lengths = np.zeros(count, np.int64), np.zeros(count + 1, np.int64)
        self._added = 0  # pairs

    def add(self, pairs: Ints | slice, words: Words, lengths: NDArray[Any]) -> None:
        """The paths of ``pairs`` in turn, ``lengths[i]`` words of pair i, which are copied, unless
        they are in the `room` that was given last.  They take the place of earlier ones."""
        self._starts[pairs] = lengths.cumsum(dtype=np.int64) - lengths + self._used
        self._lengths[1:][pairs] = lengths
        self._added += len(lengths)
        if words.base is not self._words or not len(words):
            self.room(len(words))[:] = words
        self._used += len(words)

    def room(self, count: int) -> Words:
        """Where the next ``count`` words may be written, before they are added."""
        end = self._used + count
        if end > len(self._words):
            share = max(self._added, 1) / max(len(self._starts), 1)
            grown = np.empty(max(end, min(int(1.1 * end / share), 2 * end + MORE)), np.uint32)
            grown[: self._used] = self._words[: self._used]
            self._words = grown
        return self._words[self._used : end]

    def put(self, pair: int, runs: Runs) -> None:
        words = words_of(runs)
        self.add(slice(pair, pair + 1), words, np.array([len(words)]))

    def joined(self) -> tuple[Words, Ints]:
        """All paths in order, and where each begins, then the end.  None is added after that."""
        offsets, lengths = self._lengths, self._lengths[1:].copy()
        np.cumsum(offsets, out=offsets)
        before = (self._starts - offsets[:-1]) * (lengths > 0)  # words of others
        if not before.any():
            return self._words[: offsets[-1]], offsets
        return self._words[np.arange(offsets[-1]) + np.repeat(before, lengths)], offsets


def text_of(words: Words, offsets: Ints) -> tuple[NDArray[np.uint8], Ints]:
    """The CIGARs of paths in turn (ASCII), and where each begins, then where the last ends."""
    lengths, ops = (words >> np.uint32(4)).astype(np.int64), BAM_OPS[words & np.uint32(15)]
    if lengths.max(initial=0) == LONGEST_RUN:  # it may go on in the next word
        begins = np.ones(len(words) + 1, np.bool_)
        begins[1:-1] = (lengths[:-1] != LONGEST_RUN) | (ops[1:] != ops[:-1])
        begins[offsets] = True
        first = np.flatnonzero(begins[:-1])
        lengths, ops = np.add.reduceat(lengths, first), ops[first]
        offsets = np.searchsorted(first, offsets)
    sizes = np.full(len(ops), 2)
    for k in range(1, len(str(int(lengths.max(initial=1))))):
        sizes += lengths >= 10**k
    ends = np.append(0, sizes.cumsum())
    text = np.empty(int(ends[-1]), np.uint8)
    text[ends[1:] - 1] = ops
    places = ends[1:] - 2
    while len(places):  # the last digits of all lengths, then those before
        text[places] = lengths % 10 + ord("0")
        more = lengths >= 10
        places, lengths = places[more] - 1, lengths[more] // 10
    return text, ends[offsets]


class PairPaths:
    """What `align_paths` finds: a row for each pair, in order, and the paths in arrays.

    ``len(paths)`` is the number of pairs; ``paths["score"]`` is a column, and ``paths["cigar"]``
    that of the CIGARs.  `rows`, and `cigar`, are made when they are first read."""

    def __init__(self, columns: Mapping[str, NDArray[Any]], runs: Words, offsets: Ints) -> None:
        self._columns = dict(columns)
        #: The runs of all paths in turn, as BAM has them (SAM specification, 4.2): the length times
        #: 16, plus the operation, 1 for I, 2 for D, 7 for = and 8 for X.
        self.runs = runs
        #: Where the runs of each path begin in `runs`, then where the last ones end.
        self.offsets = offsets

    #: Rows are read from `rows`, columns by their names.
    __iter__ = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        return f"<PairPaths of {len(self):,} pairs>"

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name == "cigar":
            return self.cigar
        if name not in self._columns:
            names = ", ".join([*self._columns, "cigar"])
            raise KeyError(f"there is no column {name!r}, but {names}")
        return as_wide(self._columns[name])

    @cached_property
    def rows(self) -> NDArray[Any]:
        """A structured array: the fields of `align_many`'s "path" without the CIGAR."""
        return as_table(self._columns)

    @cached_property
    def cigar(self) -> NDArray[np.object_]:
        """The CIGARs (str), SAM's extended ones."""
        text, offsets = text_of(self.runs, self.offsets)
        found, letters = np.empty(len(self), object), text.tobytes().decode("ascii")
        found[:] = [letters[a:b] for a, b in pairwise(offsets.tolist())]
        return found

    def table(self) -> NDArray[Any]:
        """The array that `align_many` gives with output "path"."""
        names, columns = [*self._columns], self._columns | {"cigar": self.cigar}
        names.insert(names.index("columns") + 1, "cigar")
        return as_table({name: columns[name] for name in names})


def as_wide(column: NDArray[Any]) -> NDArray[Any]:
    """The column, with 64 bits for each number."""
    return column.astype(np.int64) if column.dtype.kind == "i" else column


def as_table(columns: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """A structured array with these columns; whole numbers have 64 bits."""
    kinds = [(name, as_wide(column[:0]).dtype) for name, column in columns.items()]
    count = min(map(len, columns.values()))
    table = np.empty(count, kinds)
    for first in range(0, count, AT_ONCE):
        some = slice(first, first + AT_ONCE)
        for name, column in columns.items():
            table[name][some] = column[some]
    return table


def move_left(
    runs: Runs,
    bounds: Ints,
    query: Letters,
    target: Letters,
    scoring: Scoring,
    mode: str,
    free_ends: Sequence[bool],
) -> tuple[Runs, Ints]:
    """The runs of paths whose gaps have moved, the first run of each and the number of all.

    Path k has the runs ``bounds[k]`` to ``bounds[k + 1]``; the letters of all paths are joined.  A
    gap goes to the first place behind the gap before it where the path scores the same; not where
    it would cost something else: next to its kind if gaps have an opening, and to a free end."""
    moves, lengths, bounds = merged(runs, bounds)
    moves = np.insert(moves, bounds[:-1], WALL).astype(np.uint8)
    lengths = np.insert(lengths, bounds[:-1], 0).astype(np.int64)
    gaps = np.flatnonzero(moves != DIAGONAL)
    kind, size = moves[gaps], lengths[gaps]
    before = np.where(moves[gaps - 1] == DIAGONAL, lengths[gaps - 1], 0)
    before[0] = 0
    before = np.append(before, lengths[moves == DIAGONAL].sum() - before.sum())  # and behind all
    alike, first = np.append(False, kind[1:] == kind[:-1]), np.append(True, kind[:-1] == WALL)
    costs = np.array([0, not free_ends[0], not free_ends[2], 0], np.bool_) & (mode == "global")
    least = alike & (scoring.gap_open > 0) | first & ~costs[kind]  # so many pairs stay before it
    each = [(lengths * (moves != k)).cumsum()[gaps] - size * (kind != k) for k in (1, 2)]
    places = np.array(each)
    active = np.flatnonzero(kind != WALL)
    while len(active):
        room = np.minimum(before[active] - least[active], COLUMNS_AT_ONCE).clip(0)
        now = active[: max(1, np.searchsorted(room.cumsum(), COLUMNS_AT_ONCE, "right"))]
        left, room = active[len(now) :], room[: len(now)]
        which, starts = np.repeat(now, room), np.repeat(room.cumsum() - room, room)
        step = np.arange(1, len(which) + 1) - starts
        (i, j), deletes = places[:, which] - step, kind[which] == TARGET
        new = i + size[which] * ~deletes, j + size[which] * deletes
        gains = scoring.pair_scores(query[new[0]], target[new[1]]).astype(np.int64)
        gained = np.append(0, (gains - scoring.pair_scores(query[i], target[j])).cumsum())
        equal, went = gained[1:] == gained[starts], np.zeros_like(before)
        np.maximum.at(went, which[equal], step[equal])
        places -= went[:-1]
        before += np.append(0, went[:-1]) - went
        moved = np.flatnonzero(went)
        active = np.unique(np.concatenate([left, moved, moved + 1]))
        active = active[np.append(kind, WALL)[active] != WALL]
    sizes = np.append(np.stack([before[:-1], size], 1), before[-1])
    ops = np.append(np.stack([np.full_like(kind, _OPS[0]), _OPS[kind]], 1), _OPS[0])
    starts, made = sizes.cumsum()[1::2][kind == WALL], Runs(ops[sizes > 0], sizes[sizes > 0])
    starts = np.append(starts, sizes.sum())  # the columns before each path, and all
    if not scoring.gap_open and (alike & (kind != WALL) & (before[:-1] == 0)).any():
        bounds = np.searchsorted(made.lengths.cumsum(), starts, "right")  # two gaps are one now
        return move_left(made, bounds, query, target, scoring, mode, free_ends)
    found = joined(on_diagonal(made, View(query), View(target), partial(piece_runs, scoring)))
    ends = found.lengths.cumsum()
    cuts = np.union1d(ends, starts[starts > 0])
    made = Runs(found.ops[np.searchsorted(ends, cuts)], np.diff(cuts, prepend=0))
    return made, np.searchsorted(cuts, starts, "right")
