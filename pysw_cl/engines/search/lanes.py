"""Which lane sweeps which subjects of a search, and in which order."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
#: A group's lanes take more than one subject each where one each would leave so much of it idle.
MOST_IDLE = 0.04


@dataclass(frozen=True, eq=False)
class Streams:
    """The subjects of each lane, group after group: lane k of all has those at ``bounds[k]`` to
    ``bounds[k + 1]`` of ``order``."""

    order: Ints
    bounds: Ints
    #: The letters that each group's lanes sweep.
    letters: NDArray[np.int64]

    @classmethod
    def of(cls, numbers: Any, lengths: Any, lanes: int, chained: bool) -> Streams:
        """The streams of subjects with these ``numbers`` and ``lengths``, longest first.

        Each lane of a group has the next subject.  ``chained``: where their lengths differ too
        much, lanes go on with the longest subjects that fit, until the first one is swept."""
        order, counts, letters = deque[int](), deque[int](), list[int]()
        start, count, sizes = 0, len(lengths), lengths.tolist()
        sums = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        while start < count:
            stop, longest = min(start + lanes, count), sizes[start]
            own = int(sums[stop] - sums[start])
            if not chained or own >= (1 - MOST_IDLE) * longest * (stop - start):
                counts.extend([1] * (stop - start) + [0] * (lanes - stop + start))
            else:
                first = stop = start
                for _ in range(lanes):
                    room, first = longest, stop
                    while stop < count and sizes[stop] <= room:
                        room -= sizes[stop]
                        stop += 1
                    counts.append(stop - first)
            order.extend(range(start, stop))
            letters.append(longest * lanes)
            start = stop
        bounds = np.concatenate([[0], np.cumsum(np.array(counts, np.int32))]).astype(np.int32)
        taken = np.asarray(numbers, np.int32)[np.array(order, np.int64)]
        return cls(taken, bounds, np.array(letters, np.int64))

    def cuts(self, most: int) -> list[int]:
        """The first group of each launch, and the number of all; a launch sweeps about ``most``
        letters."""
        ends = np.cumsum(self.letters)
        launch = (ends - 1) // max(1, most)
        firsts = np.flatnonzero(np.diff(launch, prepend=-1))
        return [*firsts.tolist(), len(ends)]
