"""Bytes of the parts of device memory: engines allocate by these, and predictions add them up."""

from __future__ import annotations

from typing import Any

from .facts import DeviceFacts
from .lane_sets import LaneSet

#: 32-bit words of a group's record (`pysw_cl.engines.wavefront.descriptors.RecordWord`).
RECORD_WORDS = 14
#: Bytes of local memory that a work-group of any GPU may have, 32-bit words that a kernel needs
#: beside what each warp has there, and letters of the target that a warp has at least.
LOCAL_BYTES, LOCAL_WORDS, STAGED_LETTERS = 48 << 10, 64, 512
#: Bytes of a cell of a matrix that is held whole: H, E, F and its mark.
HELD_CELL_BYTES = 13
#: Lanes of a strip, and steps of a block, of a matrix that is held whole.
HELD_LANES, HELD_BLOCK = 16, 16
#: Cells of a group of a compressed edge, and numbers before them (compressed_edge.cl).
GROUP_CELLS, EDGE_HEAD = 16, 16
#: Groups that may be raw: LEAST_RAW, or one of GROUPS_A_RAW if that is more.
LEAST_RAW, GROUPS_A_RAW = 64, 32
#: Bytes of a compressed cell, including the memory for raw groups.
COMPRESSED_CELL_BYTES = 3.5
#: Strips in flight for each work-group that shares them, so that a slow one holds up none.
STRIPS_A_GROUP = 8
#: 32-bit words of what each strip tells others then: a cache line, so that waits cost less.
PROGRESS_WORDS = 16


def bus_bytes(columns: int, T: int, lines: int) -> int:
    """Bytes of lines of the horizontal bus: H and F^ of n cells, and of T more at both ends."""
    return 8 * (columns + 2 * T) * lines


def state_bytes(
    T: int, alpha: int, strip_groups: int, copied: bool, deferred: bool, striped: bool = False
) -> int:
    """Bytes of the lanes of ``strip_groups`` groups between two blocks
    (cl/wavefront/strip_state.clh).  ``copied``: narrow lanes are copied there at the start of a
    block; ``deferred``: narrow lanes may defer column passes; ``striped``: narrow lanes are all at
    the same column, defer none, and have room for the edges of a block in 32 bits."""
    rows = 3 * alpha + 5 + copied * (alpha + 1)
    if striped:
        rows += 4 * alpha + 1
    elif deferred:
        rows += 2 * alpha + 4 - -8 // T
    return 4 * strip_groups * rows * T


def profile_bytes(T: int, letters: int, alpha: int, striped: bool) -> int:
    """Bytes of one group's query profile; ``letters``: columns of the substitution matrix;
    ``striped``: are all lanes at the same column?"""
    return (alpha if striped else 16) * T * letters


def moves_bytes(m: Any, n: Any, T: int, alpha: int) -> Any:
    """Bytes of the moves of a tile, or of many (arrays of m and n).  In each column a lane stores a
    32-bit word for each 8 rows or part of them.  Strips are whole and have T more columns."""
    return 4 * -(-alpha // 8) * T * (n + T) * -(-m // (T * alpha))


def warps_of(lanes: LaneSet, device: DeviceFacts, B: int, shared: int | None = None) -> int:
    """Warps of a work-group of the ticketed form, if B strips are swept at once: the same number on
    each of the schedulers of a compute unit.  1 if groups are no warps or single ones, or if the
    device's work-groups are to be single warps (no schedulers).  ``shared``: the most warps that
    share a query profile in local memory, as those that sweep sections can."""
    schedulers = device.schedulers
    if not lanes.of_warps or not schedulers or (lanes.local_profile and not shared):
        return 1
    warps = schedulers * -(-B // (schedulers * device.units))
    return max(1, min(warps, shared or warps)) if lanes.local_profile else warps


def sharing_warps(lanes: LaneSet, letters: int, T: int, alpha: int, chunk: int) -> int:
    """How many warps can share a query profile of so many ``letters`` at most: as many as usual, if
    local memory holds that and a block's bus, letters and cells of each (cl/lanes/warp32.clh)."""
    words = 1 << max(0, (alpha - 1) // 4).bit_length()  # of an entry: 1, 2 or 4
    staged = chunk if chunk >= STAGED_LETTERS else STAGED_LETTERS
    stage = chunk + (staged + T) // 2 + 4 + 2 * (alpha + 3)
    room = LOCAL_BYTES // 4 - letters * T * words - LOCAL_WORDS
    return min(lanes.defaults.groups, max(1, room // stage))


def held_numbers(m: int, n: int) -> int:
    """Cells of a matrix that is held whole, padding included."""
    strips, blocks = -(-m // HELD_LANES), -(-(n + HELD_LANES - 1) // HELD_BLOCK)
    return strips * blocks * HELD_BLOCK * HELD_LANES


def compressed_words(length: int) -> tuple[int, int, int, int]:
    """How a compressed edge of so many cells lies in memory: its groups, how many may be raw, where
    the 16 bits of H begin, and its size, in 32-bit words."""
    groups = max(1, -(-length // GROUP_CELLS))
    raw = max(LEAST_RAW, -(-groups // GROUPS_A_RAW))
    shorts = EDGE_HEAD + -(-groups // 4) * 4
    return groups, raw, shorts, shorts + 3 * groups * GROUP_CELLS // 4 + 2 * raw * GROUP_CELLS


def pooled_bytes(size: int, most: int) -> int:
    """Bytes of the buffer of a pool for a request of ``size`` bytes; ``most``: of any buffer."""
    return min(1 << max(10, (size - 1).bit_length()), most)
