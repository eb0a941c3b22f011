"""The arguments of the wavefront kernels: one definition for the host and for the kernels.

Each group of arguments gives their names and their types in kernels.  :func:`macros` makes the
kernels' parameter lists and the fields of their structures from them.  The host has
the values in a dictionary by these names."""

from __future__ import annotations

from collections.abc import Mapping

from ..common import INTS, SCORES, argument_macros

#: Types of buffers: letters, numbers that are written, and numbers that other groups write, too.
_BYTES, _WRITTEN, _SHARED = (
    "__global const uchar *restrict",
    "__global int *",
    "volatile __global int *",
)

#: What the sweep of a strip takes over from its tile.  A launch of many tiles has a descriptor for
#: each of them (`TileWord`), and some of these only there.
SWEPT = {
    # The codes: of the query with its padding; of the target as 32-bit lanes, and as narrow lanes
    # read it.
    "query": "__global const code_t *restrict",
    "target": _BYTES,
    "letters": _BYTES,
    # The left edge's H (of the corner, then of the rows) and E^ (of the rows).
    "left_h": INTS,
    "left_x": INTS,
    # The right edge's H and E^ are written here, if `right` is 1.
    "right_h": _WRITTEN,
    "right_x": _WRITTEN,
    # Rows, columns and strips of the tile; of many tiles the strips of the highest one.
    "m": "int",
    "n": "int",
    "strips": "int",
    # The code of padding.
    "target_pad": "int",
    # On a boundary of 8 bytes both are read by one instruction, which a kernel that needs all
    # registers shows (3% on NVIDIA): so an even number of ints stands before them.
    "gap_open": "int",
    "gap_extend": "int",
    # The most columns of a block.
    "chunk": "int",
    # Bounds of a block's scores: see `pysw_cl.scoring.precision.Bounds`.
    "highest": "int",
    "depth": "int",
    "limit8": "int",
    # Rows of the whole matrix below the tile and columns to its right, for pruning.
    "rows_after": "int",
    "columns_after": "int",
    # The collected cells (their number, then score, row and column of each), and the most of them.
    "hits": _WRITTEN,
    "capacity": "int",
    # The special columns, sorted, and their number.  Their cells are written to `crossed`: for all
    # rows of all strips H, then as many E^, of each.
    "columns": INTS,
    "column_count": "int",
    "crossed": _WRITTEN,
}
#: What else a tile is.
TILE = {
    "right": "int",
    # Lines of `stride` H, then `stride` F^.  Strip s reads line lines[s] and writes line
    # lines[s + 1].  Lines 0 and 1 take turns, so a strip's input stays unmodified until no group
    # sweeps it again; a special row has a line of its own (`Grid.bus_lines`).  Of many tiles: the
    # edges of all of them.
    "bus": _WRITTEN,
    "lines": INTS,
    "stride": "int",
    # Rows of a lane.
    "alpha": "int",
    # In the last strip: the lane that has the tile's last row, and which of its rows that is.
    "outlet_lane": "int",
    "outlet_row": "int",
    # Scratch memory for the deferred argmax.
    "argmax_scratch": _WRITTEN,
}
#: What a launch has beside its tile.
LAUNCH = {
    # Per group (two-phase: per strip mod B; shared strips: per strip in flight, and per group) the
    # lanes between two blocks, which are the vertical bus.
    "state": _WRITTEN,
    # Per group the portion of the bus of a block, as narrow lanes have it, and the query profile.
    "stages": _WRITTEN,
    "profiles": "__global char *",
    # Per group what it did: see `RecordWord`.
    "record": _WRITTEN,
    # The best score that any group has found; where cells are collected, the least score of these.
    # Of many tiles: for each, the least score at its last corner that matters.
    "shared_best": _SHARED,
    # The code of padding.
    "query_pad": "int",
}
#: More arguments of a form: ticketed, ...
TICKETED = {
    # The next free ticket.
    "ticket": _SHARED,
    # Of each strip the columns that it has published, PROGRESS_STRIDE words apart.
    "progress": _SHARED,
    # progress_above[progress_above_at]: how many columns of the row above the tile are done;
    # another launch may be computing it.
    "progress_above": _SHARED,
    "progress_above_at": "int",
    # Moves are written here.
    "moves": _WRITTEN,
}
#: ... or two-phase: each launch sets them.
TWO_PHASE = {
    # The external diagonal, the first of its blocks in the launch, the blocks of a strip, and
    # 0 for the short phase or 1 for the long one.
    "diagonal": "int",
    "first_block": "int",
    "blocks": "int",
    "phase": "int",
}
#: More arguments with forbidden pairs.
FORBIDDEN = {
    # The (step, row of the strip) of each pair, sorted by strip; those of strip s begin at
    # forbidden_places[s] (`Grid.forbidden_steps`).
    "forbidden": INTS,
    "forbidden_places": INTS,
    # The score of a forbidden pair.
    "forbidden_score": "int",
}
#: More arguments of a launch of many tiles: their descriptors (`TileWord`), and how many they are.
MANY = {
    "tiles": "__global const long *restrict",
    "tile_count": "int",
    # Is the first of equal cells the one in the first column (of sections)?
    "by_column": "int",
}

FORMS = {"ticketed": TICKETED, "two-phase": TWO_PHASE}
#: What a launch of many tiles does not give: the descriptors have it, or it is not there.
NOT_GIVEN = dict.fromkeys(("left_h", "left_x", "right_h", "right_x", "crossed", "hits", "moves"))
NOT_GIVEN |= dict.fromkeys(("m", "n", "stride", "right", "rows_after", "columns_after"), 0)
NOT_GIVEN |= dict.fromkeys(("capacity", "column_count", "by_column"), 0)


def arguments_of(form: str, score: str, forbidden: bool, many: bool) -> dict[str, str]:
    """The kernel's arguments with their types, in order."""
    parts = [SWEPT, TILE, LAUNCH, FORMS[form], SCORES[score]]
    parts += [FORBIDDEN] * forbidden + [MANY] * many
    return {name: kind for part in parts for name, kind in part.items()}


def macros(arguments: Mapping[str, str]) -> tuple[str, ...]:
    """What kernels make of the ``arguments``, items of `KernelSpec.files`: their list
    (WAVEFRONT_ARGS, WAVEFRONT_NAMES), fields of `tile_t` and `sweep_t`, how a sweep takes them."""

    def fields(names: Mapping[str, str]) -> str:
        return " ".join(f"{kind.replace('restrict', '')} {name};" for name, kind in names.items())

    tile = {name: kind for name, kind in (SWEPT | TILE | FORBIDDEN).items() if name in arguments}
    return (
        *argument_macros("WAVEFRONT", arguments),
        f"SWEPT_FIELDS={fields(SWEPT)}",
        f"SWEPT_FROM_TILE={' '.join(f'sw.{name} = t->{name};' for name in SWEPT)}",
        f"TILE_FIELDS={fields(tile)}",
        f"TILE_VALUES={', '.join(tile)}",
    )
