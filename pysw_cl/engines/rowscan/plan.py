"""The plan of the row scan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ...opencl.device import Runtime
from ...planning.facts import DeviceFacts
from ...planning.geometry import TileShape, lengths
from ...planning.lane_sets import LANE_SETS
from ...planning.model.times import Count, Wave
from ...planning.parameters import tunable
from ...planning.plan import FORMS, StriplessPlan
from ...scoring.scoring import Scoring
from ..plans import default_plan, profiled

#: What a gap loses in a segment at most: numbers stay in 32 bits.
MOST_DECAY = 1 << 28
#: Words of a group's record: score, row, column, top.
RECORD_WORDS = 4
#: The most groups that tell words of a column apart.
MOST_GROUPS = 4000
THREE_LAUNCH = "three-launch"
#: Its lanes: work-items.
ITEMS = "scalar32"
#: Columns that a work-item may have, which it reads at once, and those that it has by default.
ITEM_COLUMNS, ITEMS_ALPHA = (1, 2, 4, 8, 16), 8
#: Columns of a lane of a warp: they are kept in registers.
WARP_ALPHA = 16
#: Work-items of a group; fewer where a device's groups are smaller.
ITEMS_T = 256


@dataclass(frozen=True, repr=False)
class RowscanPlan(StriplessPlan):
    """The plan of the row scan, with the fields of `Plan` in other meanings.

    ``B``: segments swept at once, each by a work-group.  ``T``: lanes of a segment.  ``alpha``:
    columns of a lane.  ``chunk`` has no meaning.  ``form``: "ticketed", "two-phase" for one group
    that waits for no other, or "three-launch" for three launches a row, where a group has T
    work-items of alpha columns, and B has no meaning either."""

    engine: str = "rowscan"
    lanes: str = "vector32"
    T: int = 16
    alpha: int = tunable(
        128,
        1,
        1024,
        "a longer lane has fewer scans, but all lanes are in a CPU's cache, or a GPU's registers",
    )

    forms: ClassVar[tuple[str, ...]] = (*FORMS, THREE_LAUNCH)

    def in_form(self, form: Any, device: DeviceFacts | None) -> RowscanPlan:
        if form != THREE_LAUNCH:
            return self
        most = 1024 if device is None else device.most_items
        T = max(one for one in LANE_SETS[ITEMS].T if one <= min(most, ITEMS_T))
        return replace(self, lanes=ITEMS, T=T, alpha=ITEMS_ALPHA)

    def wrong_on(self, device: DeviceFacts | None) -> Iterator[str]:
        yield from super().wrong_on(device)
        items, three = self.lanes == ITEMS, self.form == THREE_LAUNCH
        if three and not items:
            yield f"the form {THREE_LAUNCH} has {ITEMS} lanes, not {self.lanes}"
        if three and self.alpha not in ITEM_COLUMNS:
            yield f"the form {THREE_LAUNCH} has alpha in {ITEM_COLUMNS}, not {self.alpha}"
        if device is not None and items and not three and self.T in device.refused_row_items:
            refused, why = f"T={self.T} on {device.name}", device.why["refused_row_items"]
            yield f"the row scan with {ITEMS} lanes does not run {refused}: {why}"

    @property
    def segment(self) -> int:
        return self.T * self.alpha

    def groups_of(self, columns: int) -> int:
        """Groups that sweep so many columns: one where groups may not wait for each other."""
        most = min(self.B, -(-columns // self.segment), MOST_GROUPS)
        return most if self.form == "ticketed" else 1

    def tile_shape(self, m: int, n: int) -> tuple[int, int]:
        """As wide as possible, since what follows a tile to the right waits for all of it."""
        longest = self.tuning.sweep.longest_side
        columns = min(n, longest)
        rows = max(1, min(m, longest, self.tile_cells // columns))
        return rows, max(columns, min(n, self.tile_cells // m)) if rows == m else columns

    @property
    def groups(self) -> tuple[int, ...]:
        """See `Plan`: as many as share a scheduler with as many others, where that was measured.
        In a short query few rows wait for each other, so few groups are sooner done."""
        if self.B_fixed or self.form != FORMS[0]:
            return (self.B,)
        machine = self.machine
        shares = machine.pace(f"{self.engine}/{self.lanes}").measured
        return tuple(B for B in machine.groups(self.B) if B == self.B or machine.share(B) in shares)

    def wave(self, m: int, n: int, alpha: Count, B: Count, chunk: Count) -> Wave:
        """See `Plan`: a segment of a row is what a strip is to the wavefront, and a row what a
        column is.  Waiting for the segment to its left, less than a row, is a time of its own."""
        return self.machine.wave(-(-n // (self.T * alpha)), B, m, 0)

    def for_tile(self, scoring: Scoring, rows: int, columns: int) -> RowscanPlan:
        """This plan with lanes so short that a gap through a segment stays in range, and that every
        group has one (not where the time from segment to segment counts); and with the groups that
        are soonest done.  With three launches as it is."""
        if self.form == THREE_LAUNCH:
            return self
        alpha, fills = self.alpha, not self.alpha_fixed and not self.lane_set.of_warps
        while alpha > 1 and (
            self.T * alpha * scoring.gap_extend > MOST_DECAY
            or (fills and self.T * alpha * self.B > 2 * columns)
        ):
            alpha = max(1, alpha // 8)  # few values, since each is another build of the kernel
        return self.soonest((alpha,), rows, columns)

    def buffers(self, tile: TileShape, scoring: Scoring) -> dict[str, int]:
        """See `StriplessPlan`: of its largest part if it has special rows or columns."""
        m = max(lengths((0, *tile.rows, tile.m)))
        n = max(lengths((0, *tile.columns, tile.n)))
        if (m, n) != tile.size:
            tile = replace(tile, m=m, n=n, bottom=True, right=True, level=False)
        plan, (table, _) = self.for_tile(scoring, m, n), scoring.source.sizes(scoring.source.file)
        own = plan.lines(tile) if self.form == THREE_LAUNCH else plan.segments(tile)
        own |= {"query": scoring.source.code.itemsize * m, "hits": 4}
        return own | {"table": table} if table else own

    def segments(self, tile: TileShape) -> dict[str, int]:
        """The buffers of one launch that computes a tile."""
        m, n = tile.size
        return {
            "target": n,
            "columns": 16 * m,
            **dict.fromkeys(("bottom_h", "bottom_x"), 4 * n if tile.bottom else 4),
            **dict.fromkeys(("top_h", "top_x"), 4 if tile.level else 4 * n),
            "record": 4 * RECORD_WORDS * self.groups_of(n),
            "ticket": 4,
        }

    def lines(self, tile: TileShape) -> dict[str, int]:
        """The buffers of three launches a row."""
        groups = -(-tile.n // self.segment)
        columns, items = groups * self.segment, groups * self.T
        edges, best = ("left_h", "left_x", "right_h", "right_x"), ("score", "row", "column")
        return {
            "target": columns,
            **dict.fromkeys(("h", "f", "bare"), 4 * columns),
            **dict.fromkeys(edges, 4 * tile.m),
            **dict.fromkeys((f"best_{name}" for name in best), 4 * items if tile.best else 4),
            "local_e": 4 * items,
            "totals": 4 * -(-groups // self.segment) * self.segment,
            "filled": 4,
        }


def default_rowscan(runtime: Runtime) -> RowscanPlan:
    """The plan of a device: its 32-bit lanes."""
    usual = default_plan(runtime)
    taken = ("device", "form", "B", "tile_cells", "traceback_tile_cells", "machine")
    plan = RowscanPlan(**{name: getattr(usual, name) for name in taken})
    if usual.lane_set.per_item is None:
        return profiled(plan, runtime)
    wide = usual.without_narrow()
    return profiled(replace(plan, lanes=wide.lanes, T=wide.T, alpha=WARP_ALPHA), runtime)
