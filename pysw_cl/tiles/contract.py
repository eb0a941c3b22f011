"""The tile contract: what every engine does, and what some engines can do beyond it.

An engine is one class with one method, :meth:`Engine.tile`.  Anything else is a capability: a
driver asks for it, and has another way where the engine lacks it.

Work whose device fails is done by others, or by the device itself once more (`persistently`)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import BuildError, DeviceError, DeviceMemoryError, RecomputedWarning, warn
from ..planning.geometry import TileRows
from ..planning.plan import Plan
from ..scoring.scoring import Scoring
from ..sequences.view import View
from .edges import DeviceEdge
from .graph import Rectangle, TileRow
from .tile import Area, Costs, Hit, Span, TileJob, TileResult, Traced

T = TypeVar("T")
#: Computes all tiles of some rows (`pysw_cl.engines.several.share_tiles`).
Executor = Callable[[Iterator[TileRow]], None]
#: See `Engine.pair_paths`.
PairPaths = Callable[
    [Sequence[Rectangle], Sequence[int]], tuple[list[tuple[Hit, Traced] | None], Costs]
]

#: `Part.offset` where nothing is known of where a path leaves the tile.
ANYWHERE = 1 << 30
#: What is never released, because a driver would wait for a kernel that hangs.
HANGING: list[object] = []


class LostError(DeviceError):
    """A device that computes nothing any more, or whose memory cannot be read."""


@dataclass
class Failures:
    """What happened to an engine's devices."""

    #: The names of those that failed and were left out.
    failed: list[str] = field(default_factory=list)
    #: How often one that failed did its work again.
    retried: int = 0

    def move_to(self, stats: Any) -> None:
        """Tell a run's `Stats` what is counted so far, which is not counted again."""
        stats.failed, stats.retried = self.failed, self.retried
        self.failed, self.retried = [], 0


class Engine:
    """Computes tiles exactly.

    A subclass has :meth:`tile`; the rest has defaults.  ``plan``: the plan that it runs; tiles
    waste no work if their height is a multiple of its strips'.  ``peak_bytes``: the most device
    memory that one tile took so far.  ``captures_inside``: special rows and columns are captured
    inside a tile; otherwise a sweep cuts its tiles there."""

    plan: Plan = Plan()
    peak_bytes: int = 0
    captures_inside: bool = False
    watch: Any = None
    #: Devices that compute the tiles of its pipelines in turn, or those of its `executor`.
    devices: int = 1
    #: The engine of a slower device that takes a part of large matrices.
    helper: Engine | None = None
    #: What these computed when (None: that is not noted), what they do now, and their names.
    spans: list[Span] | None = None
    stage: str = "sweep"
    names: Sequence[str] = ()

    def tile(self, job: TileJob) -> TileResult:
        """Compute one tile."""
        raise NotImplementedError

    def noted(self, compute: Callable[[], T], area: Area | None = None) -> T:
        """What ``compute()`` gives, noted as a span; ``area``: as there."""
        begin = time.perf_counter()
        found = compute()
        self.note(area, 0, begin, time.perf_counter())
        return found

    def note(self, area: Area | None, device: int, begin: float, end: float) -> None:
        """Note a span of the device with this number."""
        if self.spans is not None:
            name = self.names[device] if self.names else self.plan.device or self.plan.engine
            area = area if self.stage == "sweep" else None  # of sweeps for a path
            self.spans.append(Span(name, begin, end, self.stage, area))

    @property
    def tracers(self) -> Sequence[Engine]:
        """Engines of its devices that trace parts of a path at once, the first device's first."""
        return ()

    def leave_out(self, error: DeviceError) -> str | None:
        """Go on without the device that failed: its name; None: there is no other."""
        return None

    @cached_property
    def failures(self) -> Failures:
        return Failures()

    # The capabilities; None: the engine lacks it, or had better not use it with its plan.

    def pipeline(self, job: TileJob, rows_below: int) -> Any:
        """Tiles below each other, each begun while those above it are still computed
        (`pysw_cl.engines.wavefront.pipeline.RunningPipeline`).  It begins with ``job``, which has a
        top edge, ``rows_below`` rows above the last one."""
        return None

    def piped_rows(
        self, whole: Rectangle, rows: int, pieces: int = 1, pruned: bool = False
    ) -> TileRows | None:
        """The rows of the tiles of a pipeline that computes so many ``rows`` of a matrix, in about
        so many ``pieces`` on several devices.  ``pruned``: does the best score exclude cells?"""
        return None

    def in_boxes(self, whole: Rectangle) -> bool:
        """Is a path here best found in boxes before its end, after a sweep without lines?"""
        return False

    def compresses(self, scoring: Scoring, rows: int, columns: int, lines: int) -> bool:
        """Can the device hold and compress ``lines`` special rows and columns of such a tile?"""
        return False

    def compressed(self, cells: DeviceEdge) -> Any:
        """The same cells, compressed on the device; None where that is not possible
        (`pysw_cl.engines.wavefront.compressed_edge.CompressedEdge`)."""
        return None

    def hold(self, whole: Rectangle, free_ends: tuple[bool, bool, bool, bool], paths: int) -> Any:
        """A small matrix in which ``paths`` paths are wanted, or there already (0: a score), with
        the free ends of a global comparison in scikit-bio's order (`engines.held.HeldMatrix`)."""
        return None

    def expect_path(self, whole: Rectangle, steps: tuple[int, int]) -> None:
        """Get ready for a path through a matrix whose special lines are so far apart."""

    def beside(self, whole: Rectangle) -> Sequence[Beside]:
        """Parts of a local matrix that its devices sweep at once (`pysw_cl.tiles.beside`); none:
        its tiles are computed by all of them."""
        return ()

    def executor(self, whole: Rectangle) -> Executor | None:
        """What computes the tiles of a matrix at once, on several devices."""
        return None

    @property
    def box_paths(self) -> Any:
        """Paths in many boxes, in few launches (`pysw_cl.engines.batch.boxes.Boxes`)."""
        return None

    def tile_batch(
        self, query: View, target: View, scoring: Scoring, floor: int | None, rows: int
    ) -> Any:
        """Many tiles in one launch, in the part of a matrix of so many rows that ``query`` and
        ``target`` span (`pysw_cl.engines.wavefront.tile_batch.WavefrontTileBatch`)."""
        return None

    @property
    def pair_paths(self) -> PairPaths | None:
        """Computes several local pairs of one scoring together, which reach known scores above 0:
        the best end of each and the path to it (None: it does not), and what all cost."""
        return None

    @property
    def for_moves(self) -> Engine:
        """The engine that computes tiles with stored moves (``TileJob.store_moves``)."""
        return self

    @property
    def kernel_seconds(self) -> dict[str, float]:
        """Seconds on the device by kernel, of all that it computed; empty unless it measures, as
        ``watch`` does (`pysw_cl.opencl.device.stopwatch`)."""
        return {} if self.watch is None else self.watch()

    def another(self, cells: int) -> Engine | None:
        """Another kind of engine, to compute a result again that failed its check; or None."""
        return None


def left_out(engine: Engine, error: DeviceError) -> bool:
    """Does an engine go on without the device that failed?  Then a warning says so."""
    name = engine.leave_out(error)
    if name is not None:
        engine.failures.failed.append(name)
        warn(f"{name} failed, others go on: {error}", RecomputedWarning)
    return name is not None


def persistently(
    engine: Engine, work: Callable[[], T], place: Callable[[], object] = lambda: None
) -> T:
    """What ``work()`` gives.  After a DeviceError it is called again, to go on at ``place()``: on
    the engine's other devices, without the one that failed, or else once at each place on the same
    one.  The last error is raised.  (A program that cannot be built fails again, as does too large
    a request for memory.)"""
    failed_at = list[object]()
    while True:
        try:
            return work()
        except BuildError:
            raise
        except DeviceError as error:
            here = place()
            if not left_out(engine, error):
                if isinstance(error, DeviceMemoryError | LostError) or here in failed_at:
                    raise
                engine.failures.retried += 1
                warn(f"a device failed, and does its work again: {error}", RecomputedWarning)
            failed_at = [here]


@dataclass
class HeldFound(Costs):
    """The best end of a matrix that is held, the path to it, and what they cost."""

    #: The first best end in row-major order; a local one without a score is (0, 0).
    end: Hit
    #: The path up to a border of the matrix or to the start of a local one; None: not wanted.
    path: Traced | None


class BoxEnd(NamedTuple):
    """A cell where a path in a box ends: the number of the box; row and column, from 1, in it."""

    box: int
    row: int
    column: int


class BoxPath(NamedTuple):
    """A path in a box."""

    #: Rows and columns of the box before its start; 0: it came to the box's first row or column.
    row: int
    column: int
    #: What it scores by its letters.
    score: int
    #: Its runs, as BAM has them.
    words: NDArray[np.uint32]


class Beside(NamedTuple):
    """A part of the columns of a matrix, and who sweeps it."""

    engine: Engine
    #: Its last column; it begins so many columns before the end of the part to its left.
    end: int
    overlap: int
    #: So many of its rows are swept at once.
    rows: int


class Part(NamedTuple):
    """A tile of a batch."""

    #: Where it lies in the whole matrix.
    area: Area
    #: The number of the tile of another set that it lies in (-1: none).
    inside: int = -1
    #: The least H with which a path can leave it (None: unknown).
    known: int | None = None
    #: At most so many rows or columns before its last corner the path leaves it.
    offset: int = ANYWHERE
    #: The cell of the matrix at which a path probably comes to it (None: not known).
    start: tuple[int, int] | None = None
