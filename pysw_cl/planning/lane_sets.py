"""Lane sets: what a plan's ``lanes`` stand for, as data.  A new one is a header and a row here.

Nothing asks for a lane set's name: what one does otherwise than another is a field.  Headers are
files under cl/, or files elsewhere by their whole path.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Instead(NamedTuple):
    """The lanes that do what narrow ones do not: kept moves, blocked pairs, large numbers."""

    #: Their lane set.
    lanes: str
    #: How many of them a strip has at most.
    T: int
    #: Rows that one of them has at most.
    alpha: int


@dataclass(frozen=True)
class Column:
    """What a column of a lane takes, in units of a row, to choose alpha by."""

    #: Rows that a column takes beside its own where a strip waits for its own steps only.
    latency: float = 3
    #: Strips that take turns on one scheduler of the device when all B are at work; 0: none do.
    turns: int = 0
    #: What a row of one of those strips takes of the scheduler.
    turn: float = 1

    def rows(self, alpha: int, busy: int, B: int) -> float:
        """Rows that a column of ``alpha`` takes where ``busy`` of B strips are at work."""
        alone: float = alpha + self.latency
        if not self.turns:
            return alone
        return max(alone, (alpha + 1) * self.turn * -(-self.turns * busy // B))


@dataclass(frozen=True)
class Moves:
    """What a tile whose moves are kept takes, where it has so few strips that each has a scheduler
    to itself (docs/algorithm.md, Plans)."""

    #: Clocks of a step.
    step: int
    #: Clocks of each row of it.
    row: int
    #: Clocks of going from one block to the next: state through memory, a fence, a look above.
    block: int
    #: Values of alpha that are tried beside the most: few, each is another build of the kernel.
    alphas: tuple[int, ...]

    def clocks(self, alpha: int, chunk: int) -> int:
        """Clocks of a step of lanes of ``alpha`` rows, in blocks of ``chunk`` columns."""
        return self.step + self.row * alpha + self.block // chunk


@dataclass(frozen=True)
class NarrowScores:
    """The kinds of scores that narrow lanes make (score files of cl/score)."""

    #: "match": different letters at most, where codes are bits of a lane; None: any number.
    codes: int | None = None
    #: "match": what a match may gain over a mismatch at most; None: what fits a lane.
    gain: int | None = None
    #: "matrix": rows of a lane that a profile of bytes has room for; 0: there is no profile.
    profile_rows: int = 0
    #: "permute4": four target letters as the bytes of a word, where the device permutes bytes.
    permute4: bool = False

    def compare(self, letters: int, match: int, mismatch: int) -> bool:
        """May so many letters be scored by compare and select?"""
        few = self.codes is None or letters <= self.codes
        if self.gain is None:
            return few
        return few and match >= -self.gain and 0 <= match - mismatch <= self.gain


@dataclass(frozen=True)
class Defaults:
    """The plan of a device with a lane set where nothing is asked for."""

    #: Rows of a lane; the most that a tile may have where it has what suits its size.
    alpha: int
    #: Work-groups in flight for each compute unit.
    groups: int
    #: Columns of a block.
    chunk: int
    #: Lanes of a strip, or fewer where the device has smaller groups; of warps: those of one.
    T: int = 64
    #: Cells of a tile at most.
    tile_cells: int = 1 << 33
    #: Cells of a tile with stored moves at most; one group sweeps all of it in two phases.
    moves_cells: int = 1 << 24
    #: The same where many groups sweep it (the ticketed form): its time goes with its side then.
    ticketed_moves_cells: int = 1 << 24


@dataclass(frozen=True)
class PairLanes:
    """The lanes in which many pairs are computed, one pair in each (engines/batch)."""

    #: What cells are counted under: "batch/vector/8".
    name: str
    #: The header.
    header: str
    #: Widths that there are, in bits.
    widths: tuple[int, ...]
    #: Work-items of a group; 1: it is one thread, which has all lanes of a vector.
    items: int
    #: Pairs of a group; None: as many as a vector of 512 bits has elements.
    pairs: int | None
    #: Groups for each compute unit; groups that follow paths, for each of these.
    groups: int
    path_groups: int
    #: Do narrow lanes have a profile of a matrix whose scores are bytes?
    profile: bool


VECTORS = PairLanes("vector", "batch/vector.clh", (8, 16, 32), 1, None, 1, 4, True)
VECTORS32 = PairLanes("vector", "batch/vector.clh", (32,), 1, None, 1, 4, True)
WORK_ITEMS = PairLanes("scalar", "batch/scalar.clh", (32,), 64, 64, 32, 64, False)


@dataclass(frozen=True)
class LaneSet:
    """What a lane set is and does.  Defaults are those of 32-bit lanes that do nothing special."""

    #: Header of the 32-bit lanes.
    wide: str
    #: What their cells are counted under where there are no narrow ones: "wavefront/vector/32".
    family: str
    #: How many lanes a strip may have.
    T: tuple[int, ...]
    #: Lanes of a work-item; None: one work-item has all of a strip.
    per_item: int | None
    #: The plan where nothing is asked for.
    defaults: Defaults
    #: What many pairs are computed in.
    pairs: PairLanes

    #: Are a strip's work-items those of a warp, which hand each other values without memory?  Then
    #: T follows from the warp's width, and a work-group may be several warps, a strip each.
    of_warps: bool = False
    #: Columns a turn of the main loop (UNROLL); None: what suits the device's compiler.
    unroll: int | None = 2
    #: May blocks be pruned?  Not where lanes meet at barriers: some compilers lose track of those
    #: that are passed on a condition.
    prunes: bool = True
    #: Is CHUNK a define, because a block's part of the bus is in local memory?
    chunk_defined: bool = False
    #: What a column takes; and where few strips keep moves, if alpha is chosen for those.
    column: Column = Column()
    moves: Moves | None = None

    #: Header of the narrow lanes; None: there are none, and what follows does not matter.
    narrow: str | None = None
    #: Their widths in bits.
    widths: tuple[int, ...] = ()
    #: Kinds of scores that they make.
    scores: NarrowScores = NarrowScores()
    #: Do they read the target backwards, from a copy with T columns of padding at both ends?
    backwards: bool = False
    #: May their numbers be skewed: rise by the extension a row and a column (SKEWED_SCORES)?
    skews: bool = False
    #: Values of alpha that a tile may have beside the most, for B of at least the first number.
    #: Few where a build takes seconds.
    alphas: tuple[tuple[int, tuple[int, ...]], ...] = ()
    #: Columns of a block at most while there are no more strips than groups: strips follow sooner.
    early_chunk: int | None = None
    #: What does what they do not.
    instead: Instead | None = None

    def group(self, T: int) -> int:
        """Work-items of a work-group."""
        return 1 if self.per_item is None else T // self.per_item

    def tried(self, B: int, most: int) -> tuple[int, ...]:
        """Values of alpha that a tile may be computed with, of which ``most`` is one."""
        values = [alphas for least, alphas in self.alphas if least <= B][-1:]
        return (*(alpha for alphas in values for alpha in alphas if alpha < most), most)


_CPU = Defaults(alpha=16, groups=1, chunk=256)
#: 12 warps share a multiprocessor.  Many strips walk a tile with moves where they are ticketed.
_WARPS = Defaults(alpha=25, groups=12, chunk=128, tile_cells=1 << 46, ticketed_moves_cells=1 << 28)
_WORK_ITEMS = Defaults(alpha=8, groups=8, chunk=512, T=128, tile_cells=1 << 38)

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
        alphas=((1, (4, 8, 16)), (8, (4, 8, 12, 14, 16))),
        instead=Instead("vector32", 16, 16),
    ),
    "vector32": LaneSet(
        wide="lanes/vector32.clh",
        family="vector",
        T=(1, 2, 4, 8, 16),
        per_item=None,
        defaults=Defaults(alpha=16, groups=1, chunk=256, T=16),
        pairs=VECTORS32,
    ),
    "packed": LaneSet(
        wide="lanes/warp32.clh",
        family="packed",
        T=(16, 32, 64, 128),
        per_item=2,
        defaults=_WARPS,
        pairs=WORK_ITEMS,
        of_warps=True,
        chunk_defined=True,
        # an H200: the latency of a step, or what all warps of a scheduler take of it in turn
        column=Column(latency=6.5, turns=3, turn=0.68),
        narrow="narrow/packed.clh",
        widths=(16,),
        scores=NarrowScores(codes=6, gain=1 << 12, permute4=True),
        skews=True,
        alphas=((1, tuple(range(2, 65))),),
        early_chunk=64,
        instead=Instead("warp32", 128, 8),
    ),
    "warp32": LaneSet(
        wide="lanes/warp32.clh",
        family="warp",
        T=(16, 32, 64, 128),
        per_item=2,
        defaults=_WARPS,
        pairs=WORK_ITEMS,
        of_warps=True,
        chunk_defined=True,
        moves=Moves(step=150, row=30, block=2000, alphas=(4,)),  # an H200
    ),
    "scalar32": LaneSet(
        wide="lanes/scalar32.clh",
        family="scalar",
        T=tuple(2**k for k in range(11)),
        per_item=1,
        defaults=_WORK_ITEMS,
        pairs=WORK_ITEMS,
        unroll=None,
        prunes=False,
    ),
}
