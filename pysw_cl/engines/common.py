"""What the engines of a device share: scores that go in, edges and best cells that come out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import IntFlag
from functools import cache
from typing import Any

import numpy as np

from ..errors import InternalError
from ..opencl.buffers import Buffers
from ..opencl.program import BoundKernel, KernelSpec
from ..scoring.precision import UNREACHABLE_BELOW
from ..tiles.edges import Edge, Ints
from ..tiles.tile import Hits, TileJob

#: The type in kernels of a buffer of numbers that a launch only reads.
INTS = "__global const int *restrict"
#: The arguments of each score file of cl/score, with their types.
SCORES: Mapping[str, Mapping[str, str]] = {
    "match": {"match": "int", "mismatch": "int", "lift": "int"},
    "matrix": {"matrix": INTS, "wide": "int", "lift": "int"},
    "permute4": {"words": INTS, "lift": "int"},
}


class FreeEnd(IntFlag):
    """Ends whose gaps cost nothing, as kernels take them (cl/base.clh has the same ones); those of
    the query consume target, and the other way round."""

    LEAD_QUERY = 1
    TRAIL_QUERY = 2
    LEAD_TARGET = 4
    TRAIL_TARGET = 8

    @classmethod
    def of(cls, flags: Iterable[bool]) -> int:
        """The bits of four booleans, in the order above."""
        return sum(bool(flag) << place for place, flag in enumerate(flags))


def named(arguments: Mapping[str, str]) -> tuple[str, ...]:
    """Arguments with their types, as `KernelSpec.arguments` has them."""
    return tuple(f"{name}:int" if kind == "int" else name for name, kind in arguments.items())


def argument_macros(prefix: str, arguments: Mapping[str, str]) -> tuple[str, str]:
    """The macros that declare and that name arguments, as items of `KernelSpec.files`."""
    declared = ", ".join(f"{kind} {name}" for name, kind in arguments.items())
    return f"{prefix}_ARGS={declared}", f"{prefix}_NAMES={', '.join(arguments)}"


def scored_files(header: str, score: str) -> tuple[str, ...]:
    """What precedes kernels with 32-bit lanes and scores, as items of `KernelSpec.files`."""
    fixed = "base.clh", "names.clh", "platform.clh", "WIDTH=32", header
    scores = *argument_macros("SCORE", SCORES[score]), f"score/{score}.clh"
    return *fixed, *scores, "recurrence.clh"


@cache
def scored_spec(
    name: str, file: str, arguments: str, header: str, score: str, scored: bool = True
) -> KernelSpec:
    """A kernel of a ``file``, lanes and a score file, whose arguments it takes if ``scored``."""
    files = *scored_files(header, score), file
    return KernelSpec(name, files, (*arguments.split(), *named(SCORES[score] if scored else {})))


def bind(
    kernel: BoundKernel, buffers: Buffers, values: Mapping[str, Any], later: Collection[str] = ()
) -> None:
    """Set a kernel's arguments to ``values``, which may have others, too; None becomes a buffer of
    four bytes.  ``later``: those that each launch sets.  Raises InternalError if one is missing."""
    names = kernel.spec.places
    missing = names.keys() - values.keys() - set(later)
    if missing:
        raise InternalError(f"kernel arguments without a value: {', '.join(sorted(missing))}")
    given = {name: values[name] for name in names if name in values}
    unused = [name for name, value in given.items() if value is None]
    if unused:
        given |= dict.fromkeys(unused, buffers.empty(4))
    kernel.bind(**given)


def least_of(job: TileJob) -> int:
    """The least score of a cell that is looked for: above the floor, or reachable."""
    lowest = UNREACHABLE_BELOW if job.floor is None else 1
    return lowest if job.threshold is None else max(lowest, min(job.threshold, 2**31 - 1))


def edge_of(job: TileJob, h: Ints, x: Ints) -> Edge:
    edge = Edge(h, x)
    return edge.restored() if job.floor is None else edge


def hits_of(cells: Ints, count: int) -> Hits:
    """The first of the device's (score, row, column), which count from 0, as hits."""
    return Hits(cells[:, :3] + np.array([0, 1, 1], np.int32), count)


def room_for_cells(buffers: Buffers, capacity: int) -> Any:
    """A buffer in which so many cells can be collected: how many there are, and then the cells."""
    room = buffers.empty(4 * (1 + 3 * capacity))
    buffers.write(room, np.zeros(1, np.int32))
    return room


def collected_cells(buffers: Buffers, hits: Any, capacity: int) -> tuple[int, Ints]:
    """How many cells there were to collect, and those that were: score, row, column."""
    found = int(buffers.read(hits, 1)[0])
    return found, buffers.read(hits, 3 * min(found, capacity), 1).reshape(-1, 3)
