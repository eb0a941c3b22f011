"""How a pair batch is computed, as a value that the batch engine runs: many pairs, or boxes of a
matrix, at once, one in each lane."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .facts import DeviceFacts
from .lane_sets import WIDE, PairLanes

Ints = NDArray[np.int32]

#: The kernel's WANT for each output: the score; where the path ends; its matches and columns,
#: counted forward; a traceback over stored moves, without ("traceback") or with a CIGAR; or the
#: ends of local paths, and how many rows and columns before them these begin at most ("starts").
WANTS = {"score": 0, "ends": 1, "counts": 2, "traceback": 1, "cigar": 1, "starts": 1}
#: Numbers for each pair: of the sweep, of the traceback.
RESULTS, TRACED = 6, 6
#: The longest sequence of a batch whose row and column numbers have 16 bits in narrow lanes.
LONGEST = 32_000
#: Codes of usual substitution matrices at most: tables of them are small.
FEW_LETTERS = 32
#: Scratch memory takes at most this part of the largest allocation.
SCRATCH_PART = 4
#: Rows of `levels` in cl/batch/batch.cl, which boxes have.
LEVELS = 4


class Groups:
    """The pairs of a batch, as many in each group as a work-group has lanes."""

    def __init__(self, pairs: Ints, lanes: int, columns: int) -> None:
        """``pairs``: as `BatchEngine.start` takes them; ``columns``: of a panel."""
        starts = np.arange(0, len(pairs), lanes)
        self.pairs, self.count, self.lanes, self.columns = len(pairs), len(starts), lanes, columns
        #: The longest query of each group, and the most panels.
        self.rows: Ints = np.maximum.reduceat(pairs[:, 1], starts)
        self.panels: Ints = -(-np.maximum.reduceat(pairs[:, 3], starts) // columns)

    @classmethod
    def alike(cls, pairs: int, m: int, n: int, lanes: int, columns: int) -> Groups:
        """So many pairs, each of ``m`` query letters and ``n`` target letters at most."""
        longest = np.array([0, m, 0, n], np.int32)
        made = cls(np.broadcast_to(longest, (-(-pairs // lanes), 4)), 1, columns)
        made.pairs, made.lanes = pairs, lanes
        return made

    @property
    def longest(self) -> tuple[int, int]:
        """Query letters and target letters, in whole panels, of the longest ones."""
        return int(self.rows.max()), int(self.panels.max()) * self.columns

    @cached_property
    def sides(self) -> NDArray[np.int64]:
        """Rows and columns of each group (n x 2)."""
        return np.stack([self.rows, self.panels * self.columns], 1).astype(np.int64)

    @cached_property
    def cells(self) -> NDArray[np.int64]:
        """Cells that each group's lanes compute: as many as its longest query and target have."""
        return self.rows.astype(np.int64) * self.panels * (self.columns * self.lanes)

    def cuts(self, most: int) -> list[int]:
        """The first pair of each batch, of ``most`` cells or one group, and the number of all."""
        *firsts, _ = filled(self.cells, most)
        return [*(group * self.lanes for group in firsts), self.pairs]

    @cached_property
    def places(self) -> Ints:
        """For each group (n x 4) the row where its moves begin, its query length, the word where
        its runs begin, and the words of each lane."""
        (m, n), at = self.sides.T, np.zeros((self.count, 4), np.int32)
        at[:, 1], at[:, 3] = m, most_runs(m, n)
        at[1:, 0] = np.cumsum(self.panels[:-1] * m[:-1])
        at[1:, 2] = np.cumsum(self.lanes * at[:-1, 3].astype(np.int64))
        return at

    @property
    def moves_bytes(self) -> int:
        return int(self.cells.sum()) // 2

    def run_ends(self) -> NDArray[np.int64]:
        """Where the words of the runs of each pair end."""
        group, lane = np.divmod(np.arange(self.pairs), self.lanes)
        ends: NDArray[np.int64] = self.places[group, 2] + (lane + 1) * self.places[group, 3]
        return ends

    @property
    def run_words(self) -> int:
        """The words of all runs, those of lanes without a pair included."""
        return int(self.places[-1, 2]) + self.lanes * int(self.places[-1, 3])


def filled(sizes: NDArray[np.int64], most: int, count: int = 1 << 62) -> list[int]:
    """The first of each batch of things of these sizes, ``most`` in all or one, and at most so many
    by ``count``; then the number of all."""
    firsts, ends = [0], np.append(0, sizes.cumsum())
    while (first := firsts[-1]) < len(sizes):
        fits = int(np.searchsorted(ends, ends[first] + most, "right")) - 1
        firsts.append(max(first + 1, min(first + count, fits)))
    return firsts


def most_runs(m: Any, n: Any) -> Any:
    """The most runs of a path of m query letters and n target letters: each but those of target
    letters takes a query letter, and no two of these follow each other."""
    return np.minimum(m + n, 2 * np.minimum(m, n) + 1)


@dataclass(frozen=True, eq=False)
class InLanes:
    """One pair, or one box of a matrix, in each lane."""

    #: The lanes, and bits of one.
    lanes: PairLanes
    width: int
    #: The score file of cl/batch, and the most codes of a substitution matrix.
    score: str
    letters: int
    #: What is found: see `WANTS`.
    output: str
    local: bool
    groups: Groups
    device: DeviceFacts
    #: Are the highest ends of their rows and columns kept?  Are they boxes of a matrix?
    tops: bool
    boxes: bool

    @property
    def stores_moves(self) -> bool:
        """Are there moves, and runs?"""
        return self.boxes or self.output in ("traceback", "cigar")

    @cached_property
    def top_lines(self) -> int:
        """Rows and columns of all groups, whose highest ends are kept; 0: they are not."""
        return int(self.groups.sides.sum()) if self.tops else 0

    @property
    def defines(self) -> dict[str, int]:
        """The macros of its kernel (explained in cl/batch/base.clh)."""
        found = {
            "WANT": 0 if self.boxes else WANTS[self.output],
            "LOCAL": int(self.local),
            "STORE_MOVES": int(self.stores_moves),
            "R": self.lanes.columns(self.width),
            "WIDTH": self.width,
            "LONG": int(self.width < WIDE and max(self.groups.longest) > LONGEST),
        }
        asked = {"STARTS": self.output == "starts", "TOPS": self.top_lines, "BOXES": self.boxes}
        if self.letters != FEW_LETTERS:
            found["LETTERS"] = self.letters
        return found | {name: 1 for name, wanted in asked.items() if wanted}

    @cached_property
    def scratch_size(self) -> int:
        """Bytes of a work-group's scratch memory: see `scratch_of` in cl/batch/scratch.clh."""
        lanes, (most_m, most_n) = self.lanes.pairs(self.width), self.groups.longest
        columns, item = self.lanes.columns(self.width), self.width // 8
        index = 4  # bytes of a row or column number, at most
        panel = columns * lanes * item
        profiles = {"profile": lanes * (self.letters + 1) * 8, "lookup": panel, "positions": panel}
        rows = most_m * lanes * item * (6 if self.output == "counts" else 2)
        size = rows + 2 * lanes * index + profiles.get(self.score, 0) + (most_m + most_n) * lanes
        size += (most_m + columns) * lanes if self.output == "starts" else 0
        size = -(-size // 128) * 128
        return size + LEVELS * lanes * item if self.boxes else size

    @cached_property
    def workers(self) -> int:
        """Work-groups that are launched; each computes one group after the other."""
        scratch = self.device.largest // SCRATCH_PART // self.scratch_size
        return max(1, min(self.lanes.groups * self.device.units, self.groups.count, scratch))

    @cached_property
    def buffers(self) -> dict[str, int]:
        """Bytes of all that it allocates but the letters, which may stay from batch to batch."""
        count, groups, lanes = self.groups.pairs, self.groups, self.lanes.pairs(self.width)
        found = {
            "scratch": self.workers * self.scratch_size,
            "pairs": 16 * count,
            "results": 4 * RESULTS * count,
            "moves": groups.moves_bytes if self.stores_moves else 4,
        }
        if self.lanes.items == 1:
            found["counter"] = 4
        if self.top_lines:
            found["tops"] = self.top_lines * lanes * self.width // 8
            found["tops_at"] = 16 * groups.count
        if not self.stores_moves or self.boxes:
            return found
        words = groups.run_words if self.output == "cigar" else 0
        runs = max(4, 4 * words)
        found |= {"places": 16 * groups.count, "traced": 4 * TRACED * count, "runs": runs}
        if words and self.lanes.items > 1:  # the device packs them
            found |= {"offsets": 4 * (count + 1), "packed": 4 * words}
        return found
