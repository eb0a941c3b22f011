"""What is told of the comparison of one pair: its strands, their sweeps and their paths."""

from __future__ import annotations

import time
from collections.abc import Callable

from ..planning.plan import Plan
from ..tiles.contract import Engine
from ..tiles.special_lines import RestartPoints
from ..tiles.sweep import Swept
from ..tiles.tile import Hit
from .forecast import PathForecast, SweepForecast, band_path_work, path_work
from .problem import Problem
from .progress import Rest, RunProgress, Stage
from .traceback_state import Path

#: Seconds between two forecasts of the work that is left.
BETWEEN = 0.05
#: A band takes so many times what the cost model says, because scores of global comparisons need
#: wider lanes, and each of its tiles takes the host as long as so many cells, at most so many times
#: its own.  Of 2 CPU cores.
BANDS_SLOWER, BAND_TILE, MOST_SLOWER_TILE = 1.3, 6e7, 4.0


def predicted_speed(plan: Plan, m: int, n: int) -> float | None:
    """Cells a second of a sweep of m x n cells, by the times of the device's profile; None without
    them."""
    if f"{plan.engine}/{plan.lanes}" not in plan.machine.times.by_subject:
        return None
    return m * n / plan.cost.matrix(plan, m, n, plan.tile_shape(m, n))


class PairProgress:
    """The progress of one comparison of ``cells`` cells a strand, and of a path to each end if
    ``path_cells``, what it counts as, is not 0."""

    @classmethod
    def of(
        cls, run: RunProgress | None, engine: Engine, plan: Plan, shape: tuple[int, int],
        want_path: bool, strands: int,
    ) -> PairProgress | None:  # fmt: skip
        """For strands of this shape; None where nobody watches."""
        if run is None:
            return None
        run.begin_anew()
        work = path_work(engine, plan, *shape) if want_path else 0
        return cls(run, shape[0] * shape[1], work, strands, predicted_speed(plan, *shape))

    def __init__(
        self,
        run: RunProgress,
        cells: int,
        path_cells: int,
        strands: int,
        speed: float | None = None,
    ) -> None:
        self.run, self.cells, self.path_cells, self.strands = run, cells, path_cells, strands
        self.speed = speed
        #: The work of the strands that are done.
        self.work = 0.0

    def strand(self, index: int) -> StrandProgress:
        """The progress of strand number ``index``, from 0."""
        return StrandProgress(self, index)


class StrandProgress:
    """The progress of one strand: its sweeps, then its path."""

    def __init__(self, pair: PairProgress, index: int) -> None:
        self.cells, self.path_cells = pair.cells, pair.path_cells
        #: The work of a path from corner to corner, as foreseen.
        self.path_work = float(pair.path_cells)
        self._pair, self._index = pair, index
        self._stages = 2 if pair.path_cells else 1
        self._first = index * (pair.cells + pair.path_cells)
        self._total = pair.strands * (pair.cells + pair.path_cells)
        self._later = float(pair.cells) * (pair.strands - index - 1)
        #: What the sweeps have left; None: nobody asks.
        self._forecast: SweepForecast | None = None
        #: The share of the cells that bands took before the whole matrix is swept.
        self._bands = 0.0
        #: Work of this strand that is done but for the forecast's, and when the work left was
        #: foreseen last.
        self._work = 0.0
        self._told_at, self._left, self._left_at = -1.0, 0.0, 0.0
        #: Is nothing told now?
        self.muted = False
        self._last: tuple[int, Callable[[], float]] | None = None

    # sweeps of the whole matrix

    def sweeping(
        self,
        problem: Problem,
        prunes: bool,
        known: int = 0,
        best: Hit | None = None,
    ) -> None:
        """The whole matrix is swept now; see `SweepForecast`."""
        if self._pair.run.staged:
            self._end_sweep()
            self._forecast = SweepForecast(problem, prunes, known, best)

    def _end_sweep(self) -> None:
        """What the last sweep of the whole matrix did, if any, is done."""
        if self._forecast is not None:
            self._work += self._forecast.work
            self._forecast = None

    @property
    def watch(self) -> Callable[[Swept], None] | None:
        """What a sweep from the first row on is watched by."""
        return None if self._forecast is None else self._forecast.add

    def watch_from(self, first_row: int) -> Callable[[Swept], None] | None:
        """What a sweep from this row on is watched by."""
        forecast = self._forecast
        if forecast is None:
            return None
        forecast.restart()
        return lambda swept: forecast.add(swept, first_row)

    def swept(self, done: int, total: int = 0) -> None:
        """``done`` cells of the matrix are computed or skipped."""

        def left() -> float:
            forecast = self._forecast
            if forecast is None:
                return 0.0
            self._later = forecast.again() * (self._pair.strands - self._index - 1)
            return forecast.left(done) + self.path_work * forecast.path_share

        after_bands = round(self.cells * self._bands + (1 - self._bands) * done)
        self._tell(after_bands, left)

    # sweeps of bands

    def bands(self, plan: Plan, shape: tuple[int, int]) -> BandProgress:
        """Diagonal bands are swept now."""
        return BandProgress(self, plan, shape)

    @property
    def band_share(self) -> float:
        """The share of the bands' work that is done."""
        return self._bands

    def band(self, share: float, work: float, left: float) -> None:
        """This share of the bands is done, ``work`` so far; with the path ``left`` is left."""
        self._work, self._bands = work, share
        self._tell(round(self.cells * share), lambda: left)

    # the path

    def tracing(
        self, engine: Engine, plan: Plan, problem: Problem, grid: RestartPoints, end: Hit
    ) -> Callable[[Path], None]:
        """The path to ``end`` is traced now; call what this gives with the path so far."""
        expected, rest = PathForecast(engine, plan, problem, grid, end), Rest()
        whole = expected.left(end.row, end.column)
        self._end_sweep()
        before = self._work

        def between(path: Path) -> None:
            left = expected.left(path.row, path.column)
            share = rest.to(whole - left, left)
            self._work = before + whole - left
            self._tell(self.cells + int(share * self.path_cells), lambda: left, 2)

        return between

    def finished(self) -> None:
        """The strand is done."""
        self._end_sweep()
        self._tell(self.cells + self.path_cells, lambda: 0.0, self._stages)
        self._pair.work += self._work

    def unmute(self) -> None:
        """From now on all is told, beginning with what was not."""
        self.muted = False
        if self._last is not None:
            self._tell(*self._last)

    def _tell(self, done: int, left: Callable[[], float], number: int = 1) -> None:
        """Report ``done`` cells of this strand; ``left()``: the work that it has left."""
        if self.muted:
            self._last = done, left
            return
        pair, work = self._pair, None
        stage_number, stages = self._index * self._stages + number, self._stages * pair.strands
        name = "path" if number == 2 else "score"
        if pair.run.staged:
            work = pair.work + self._work + (self._forecast.work if self._forecast else 0.0)
            rest = self._foreseen(work, left, number == 2 or done >= self.cells)
            stage = Stage(name, stage_number, stages, work, rest, pair.speed)
        else:
            stage = Stage(name, stage_number, stages)
        pair.run.tell(self._first + done, self._total, stage)

    def _foreseen(self, work: float, left: Callable[[], float], now_too: bool) -> float:
        """The work left: foreseen now and then, and between that what it was less what is done."""
        now = time.monotonic()
        if now_too or now - self._told_at >= BETWEEN:
            self._left, self._left_at, self._told_at = left() + self._later, work, now
        return max(0.0, self._left - (work - self._left_at))


def unwatched(cells: int) -> StrandProgress:
    """The progress of a strand that nobody watches."""
    return PairProgress(RunProgress(lambda done, total: None), cells, 0, 1).strand(0)


class BandProgress:
    """The progress of the sweeps of diagonal bands.  How many there will be is not known."""

    def __init__(self, strand: StrandProgress, plan: Plan, shape: tuple[int, int]) -> None:
        self._strand, self._plan, self._shape = strand, plan, shape
        self._rest, self._before = Rest(), 0.0
        #: The work of the band, of a cell of it, and what is done of it; that of later bands and of
        #: the path.
        self._band, self._each, self._computed = 0.0, 1.0, 0.0
        self._more, self._path = 0.0, 0.0

    def begin(self, cells: int, work: float, tiles: int, sure: bool) -> None:
        """A band of ``cells`` cells in so many tiles is swept now, which by the cost model take as
        long as ``work`` cells of the whole matrix.  ``sure``: it is the last band."""
        work = BANDS_SLOWER * work + min(BAND_TILE * tiles, MOST_SLOWER_TILE * cells)
        self._before += self._computed
        self._band, self._each, self._computed = work, work / max(1, cells), 0.0
        # a band that proves nothing is followed by one of twice its width
        self._more = 0.0 if sure else min(2 * work, self._strand.cells / 2)
        if self._strand.path_cells:
            self._path = band_path_work(self._plan, *self._shape, cells)
        self._strand.band(self._rest.share, self._before, work + self._more + self._path)

    def watch(self, swept: Swept) -> None:
        """A tile of the band is done."""
        self._computed = swept.computed * self._each

    def swept(self, done: int, total: int) -> None:
        """The sweep has come to this share of the matrix."""
        part = done / total
        left = self._band * (1 - part)
        if part > 0.05:
            left = min(left, self._computed * (1 - part) / part)
        left += self._more
        share = self._rest.to(self._before + self._computed, left)
        self._strand.band(share, self._before + self._computed, left + self._path)

    def proven(self) -> None:
        """The band proves its score."""
        self._strand.band(1.0, self._before + self._computed, self._path)
