"""Gaps as far to the left as the score allows, as minimap2 and the normal form of VCF have them.

A gap goes to the first place behind the gap before it where the path scores the same.  It does not
go where it would cost something else: next to a gap of its kind if gaps have an opening, and to the
start of a path where it would cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..scoring.scoring import Scoring
from ..sequences.alphabet import Letters
from ..sequences.view import View
from .cigar import DIAGONAL, OP_TO_MOVE, TARGET, Runs, joined, merged, on_diagonal, piece_runs

Ints = NDArray[np.int64]
#: Columns that are looked at in one step; a gap does not pass more at once that score less.
AT_ONCE = 1 << 20
#: What stands before each of several paths, like a gap of no letters, and does not move.
WALL = 3
_OPS = np.frombuffer(b"=DI=", np.uint8)


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

    Path k has the runs ``bounds[k]`` to ``bounds[k + 1]``; the letters of all paths are joined."""
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
    places = np.array(
        [(lengths * (moves != k)).cumsum()[gaps] - size * (kind != k) for k in (1, 2)]
    )
    active = np.flatnonzero(kind != WALL)
    while len(active):
        room = np.minimum(before[active] - least[active], AT_ONCE).clip(0)
        now = active[: max(1, np.searchsorted(room.cumsum(), AT_ONCE, "right"))]
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
    pieces = (OP_TO_MOVE[ops] for ops in made.pieces())
    by_letters = partial(piece_runs, scoring)
    found = joined(on_diagonal(pieces, View(query), View(target), by_letters))
    ends = found.lengths.cumsum()
    cuts = np.union1d(ends, starts[starts > 0])
    made = Runs(found.ops[np.searchsorted(ends, cuts)], np.diff(cuts, prepend=0))
    return made, np.searchsorted(cuts, starts, "right")
