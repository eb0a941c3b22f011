"""Lane sets: what a plan's ``lanes`` stand for, as data.

A new one is a header (a file under cl/, or the absolute path of another one) and a row here.  No
code tests a lane set's name: each difference between them is a field."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

#: Rows of a strip at most whose query profile is in local memory: a letter takes so many bytes.
LOCAL_ROWS = 1024
#: Bits of lanes of whole numbers; the last hold any score.
WIDTHS = (8, 16, 32)
WIDE = WIDTHS[-1]
#: Bits of lanes that add in half precision and take integer maxima (cl/wavefront/mixed.clh).
MIXED = 11


@dataclass(frozen=True)
class NarrowScores:
    """The kinds of substitution scores that narrow lanes compute (score files of cl/score)."""

    #: "match": distinct letters at most, because codes are bits of a lane.
    codes: float = inf
    #: "match": match - mismatch at most; else what fits a lane.
    gain: float = inf
    #: "matrix": rows of a lane at most for a query profile of bytes; 0: there is no profile.
    profile_rows: int = 0
    #: "matrix": letters of the target at most, padding included.
    profile_letters: float = inf
    #: "permute4": are the scores of four target letters looked up by permuting bytes?
    permute4: bool = False

    def compare(self, letters: int, match: int, mismatch: int) -> bool:
        """Can this many ``letters`` be scored by compare and select?"""
        fits = self.gain == inf or (match >= -self.gain and 0 <= match - mismatch <= self.gain)
        return letters <= self.codes and fits


@dataclass(frozen=True)
class Defaults:
    """The default plan of a device with this lane set."""

    #: Rows of a lane; the most, if alpha is chosen for each tile.
    alpha: int
    #: Work-groups in flight for each compute unit.
    groups: int
    chunk: int
    #: Lanes of a strip, fewer on a device with smaller work-groups.  Lanes of warps ignore it.
    T: int = 64
    #: Cells of a tile at most; where a work-group is a thread, for each of the device's units.
    tile_cells: int = 1 << 34
    #: Cells of a tile with stored moves at most, in the ticketed form.
    moves_cells: int = 1 << 24
    #: Strips of sections for each work-group (planning/sections.py): several on a CPU, where
    #: another process may use a core; 0: as many as cost least.
    sections: int = 0


#: Target columns of a panel of a pair batch, and the bits of the vectors that hold its lanes.
COLUMNS, VECTOR_BITS = 8, 512


@dataclass(frozen=True)
class PairLanes:
    """The lanes of pair batches, one pair in each (engines/batch)."""

    #: The name in the counts of cells ("batch/vector/8"), the header, and widths in bits.
    name: str
    header: str
    widths: tuple[int, ...]
    #: Work-items of a group; 1: one thread, which has all lanes of a vector.
    items: int
    #: Groups for each compute unit, and traceback groups for each of those.
    groups: int
    path_groups: int
    #: The score file of matrices whose scores fit a byte, in narrow lanes; None: there is none.
    bytes: str | None
    #: The header of narrow lanes; None: `header` has all widths.
    narrow: str | None = None
    #: Target columns of a panel in narrow lanes; the profile of `batch/profile.clh` is made for 8.
    narrow_columns: int = COLUMNS

    def columns(self, width: int) -> int:
        return COLUMNS if width == WIDE else self.narrow_columns

    def pairs(self, width: int) -> int:
        """Pairs of a group, one in each lane."""
        return (self.items * WIDE if self.items > 1 else VECTOR_BITS) // width


VECTORS = PairLanes("vector", "batch/vector.clh", WIDTHS, 1, 1, 4, "profile")
WORK_ITEMS = PairLanes("scalar", "batch/scalar.clh", (WIDE,), 64, 32, 64, None)
PACKED_ITEMS = PairLanes(
    "packed", "batch/scalar.clh", (16, 32), 64, 32, 64, "table", "batch/packed.clh", 16
)


@dataclass(frozen=True)
class LaneSet:
    """A row of the table `LANE_SETS`.  Defaults are those of plain 32-bit lanes."""

    #: Header of the 32-bit lanes, and the name in the counts of their cells: "wavefront/vector/32".
    wide: str
    family: str
    #: The allowed numbers of lanes of a strip.
    T: tuple[int, ...]
    #: Lanes of a work-item; None: one work-item has all of a strip.
    per_item: int | None
    #: The default plan, and the lanes of pair batches.
    defaults: Defaults
    pairs: PairLanes

    #: Is a strip one warp, whose work-items exchange values without memory?  T follows from its
    #: width then, a work-group may be several warps with a strip each, and CHUNK is a define,
    #: because a block's part of the bus is in local memory.
    of_warps: bool = False
    #: Columns of an iteration of the main loop (UNROLL); None: what suits the device's compiler.
    unroll: int | None = 2
    #: May blocks be pruned?  Some compilers are wrong about a barrier under a condition.
    prunes: bool = True
    #: Values of alpha beside the plan's for moves, if their times are known; each is a build.
    moves_alphas: tuple[int, ...] = ()

    #: The lanes for tiles whose scores are looked up in a query profile; None: these lanes.
    profiled: str | None = None
    #: The lanes for large local tiles, if the device's times say that they are sooner done.
    mixed: str | None = None
    #: Is the query profile of a strip, one for each work-group, in local memory?
    local_profile: bool = False
    #: Warps that share a profile in neighbouring sections, for each strip of a scheduler.
    shared_sections: int = 1

    #: Header of the narrow lanes; None: there are none, and no field below is used.
    narrow: str | None = None
    #: Their widths in bits, the least first, and what substitution scores they compute.
    widths: tuple[int, ...] = ()
    scores: NarrowScores = NarrowScores()
    #: Do they read the target backwards, from a copy with T columns of padding at both ends?
    backwards: bool = False
    #: Rows of a lane with which all lanes are at the same column (cl/wavefront/striped.clh) where
    #: `pysw_cl.planning.program.striped` allows it.  One build does for all of them.
    striped_alphas: tuple[int, ...] = ()
    #: Rows of a lane at a lag where scores are compared and selected, if one build does for all.
    tall_alphas: tuple[int, ...] = ()
    #: May their scores be skewed (SKEWED_SCORES)?
    skews: bool = False
    #: (least B, values of alpha beside the plan's); few if a build takes seconds.
    alphas: tuple[tuple[int, tuple[int, ...]], ...] = ()
    #: The alpha of tiles too small for another build (engine.small_cells); None: any.
    small_alpha: int | None = None
    #: Columns of a block at most if each strip has a group: the next strip starts sooner.
    early_chunk: int | None = None
    #: The lanes for what they cannot do, the most of a strip and the most rows of each.
    instead: tuple[str, int, int] | None = None

    def shares_strips(self, form: str, apart: bool = False) -> bool:
        """Are more strips than groups in flight (SHARED_STRIPS)?  Yes where a group is a thread of
        a CPU, but not in launches of many tiles or with stored moves (``apart``)."""
        return self.per_item is None and form == "ticketed" and not apart

    def profile_rows(self, T: int) -> int:
        """Rows of a lane at most, of a strip with so many lanes, for a query profile."""
        rows = self.scores.profile_rows
        return min(rows, LOCAL_ROWS // T) if self.local_profile else rows

    def group(self, T: int) -> int:
        """Work-items of a work-group, or of one of its warps."""
        return 1 if self.per_item is None else T // self.per_item


_CPU = Defaults(alpha=16, groups=1, chunk=256, sections=4)
#: 12 warps share a multiprocessor.
_WARPS = Defaults(alpha=25, groups=12, chunk=128, tile_cells=1 << 46, moves_cells=1 << 28)
#: Two lanes a work-item of a warp, in 32 bits.
_WARP = LaneSet(
    wide="lanes/warp32.clh",
    family="warp",
    T=(16, 32, 64, 128),
    per_item=2,
    defaults=_WARPS,
    pairs=WORK_ITEMS,
    of_warps=True,
)
#: The same, and in 16 bits.
_PACKED = replace(
    _WARP,
    family="packed",
    pairs=PACKED_ITEMS,
    narrow="narrow/packed.clh",
    widths=(16,),
    scores=NarrowScores(codes=6, gain=1 << 12, permute4=True),
    skews=True,
    alphas=((1, tuple(range(2, 65))),),
    profiled="packed_profile",
    instead=("warp32", 128, 8),
)

LANE_SETS = {
    "vector": LaneSet(
        wide="lanes/vector32.clh",
        family="vector",
        T=(4, 8, 16, 32, 64),
        per_item=None,
        defaults=_CPU,
        pairs=VECTORS,
        unroll=1,
        narrow="narrow/vector.clh",
        widths=(8, 16),
        scores=NarrowScores(profile_rows=16),
        backwards=True,
        striped_alphas=tuple(range(20, 129, 4)),
        tall_alphas=tuple(range(4, 65, 4)),
        alphas=((1, (4, 8, 16)), (8, (4, 8, 12, 14, 16))),
        small_alpha=8,
        instead=("vector32", 16, 16),
    ),
    "vector32": LaneSet(
        wide="lanes/vector32.clh",
        family="vector",
        T=(1, 2, 4, 8, 16),
        per_item=None,
        defaults=replace(_CPU, T=16),
        pairs=replace(VECTORS, widths=(WIDE,)),
        unroll=1,
    ),
    "packed": replace(_PACKED, early_chunk=64, mixed="mixed"),
    "mixed": replace(
        _PACKED,
        defaults=replace(_WARPS, alpha=28),
        widths=(MIXED, 16),
        alphas=((1, tuple(range(12, 28))),),
    ),
    "packed_profile": replace(
        _PACKED,
        defaults=replace(_WARPS, alpha=16, groups=8),
        local_profile=True,
        shared_sections=4,
        scores=NarrowScores(codes=0, profile_rows=16, profile_letters=40),
        early_chunk=64,
        profiled=None,
    ),
    "warp32": replace(_WARP, moves_alphas=(4,)),
    "scalar32": LaneSet(
        wide="lanes/scalar32.clh",
        family="scalar",
        T=tuple(2**k for k in range(11)),
        per_item=1,
        defaults=Defaults(alpha=8, groups=8, chunk=512, T=128, tile_cells=1 << 38),
        pairs=WORK_ITEMS,
        unroll=None,
        prunes=False,
    ),
}
