"""The progress bar: a progress callback that draws with tqdm, on a terminal or in a notebook."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from ..drivers.progress import Progress, RunProgress, Stage
from ..opencl.builds import Build, expecting, listening

#: Seconds before a bar is drawn first, and from then on between two drawings; and those after which
#: it is shown that kernels are built: what was built before is read from disk in less.
DELAY, TICK, BUILD_SECONDS = 0.5, 0.2, 1.0
#: A speed is that of so many seconds, or of this share of the run where that is more; of its stage
#: alone once that has taken so long.
SECONDS, SHARE, LEAST = 3.0, 0.2, 1.0


@contextmanager
def told(progress: Progress | bool | None, programs: int = 0) -> Iterator[RunProgress]:
    """Tells a callback of a run and of builds in this thread, where the call needs at most so many
    ``programs`` (0: that is not known); for True it is a bar."""
    if progress is None or progress is False:  # small pairs are soon done
        with expecting(programs):
            yield RunProgress(None)
        return
    with expecting(programs), contextlib.ExitStack() as stack:
        if progress is True:
            progress = stack.enter_context(contextlib.closing(ProgressBar(leave=True)))
        run = RunProgress(progress)

        def listen(build: Build) -> None:
            if not build.kept:
                run.report(Stage("building kernels", build.number, build.expected))

        if run.staged:
            stack.enter_context(listening(listen))
        yield run


class ProgressBar:
    """A progress callback that draws a bar, now and then, from a thread of its own.

    It shows the stage, the share, and the speed and the time left by the last seconds; with
    `expect`, the pairs that are done of all.  A short run leaves no trace.

    ``stream``: where (None: standard error, or the notebook).  ``leave``: does the line stay at the
    end?  All methods may be called from any thread."""

    def __init__(self, stream: TextIO | None = None, *, leave: bool = False) -> None:
        self._stream, self._leave, self._lock = stream, leave, threading.RLock()
        self._started = self._not_before = monotonic()
        self._bar: Any = None
        self._shown, self._closed = False, threading.Event()
        #: What is said of a build that the run waits for, and since when; all time waited.
        self._building: tuple[str, float] | None = None
        self._waited = 0.0
        ProgressBar.expect(self)
        threading.Thread(target=self._run, name="pysw_cl bar", daemon=True).start()

    def expect(self, pairs: int | None = None, cells: int | None = None) -> None:
        """The runs that follow are parts of one, of so many pairs and cells (None: unknown)."""
        with self._lock:
            self._pairs, self._cells = pairs, cells
            #: Pairs and cells of the runs that are done; cells and stage of the run now.
            self._pairs_before = self._cells_before = 0
            self._now: tuple[int, Stage] | None = None
            #: The share that is done, and that is drawn; its speed as it is predicted; the time at
            #: which the stage began, without waiting.
            self._share = self._drawn = self._predicted = self._stage_began = 0.0
            #: The reports of the last seconds: time without waiting, share, pairs and cells.
            self._reports: deque[NDArray[np.float64]] = deque()

    def begin(self) -> None:
        """The next run starts now.  One of `align_many` has the pairs that it says, others one."""
        with self._lock:
            if self._now is not None:
                total, stage = self._now
                self._pairs_before += stage.of if stage.name == "pairs" else 1
                self._cells_before += total
                self._now = None

    def __call__(self, done: int, total: int, stage: Stage) -> None:
        """``done`` of ``total`` cells of the run are done."""
        with self._lock:
            now, pairs = monotonic() - self._started, stage.name == "pairs"
            if stage.work_done is None:
                text = f"{stage.name} for this device, once: {stage.number} of at most {stage.of} "
                self._building = text, self._building[1] if self._building else now
                return
            if self._building is not None:
                self._waited, self._building = self._waited + now - self._building[1], None
            share = done / max(1, total)
            found = self._pairs_before + (stage.number if pairs else share)
            if self._cells is not None and pairs:
                share = (self._cells_before + done) / max(1, self._cells)
            elif self._pairs is not None:
                share = found / max(1, self._pairs)
            if self._now is None or self._now[1].name != stage.name:
                self._stage_began = now - self._waited
            self._share, self._now = max(self._share, min(1.0, share)), (total, stage)
            if stage.predicted_speed and stage.work_left:
                self._predicted = stage.predicted_speed * (1 - self._share) / stage.work_left
            own, reports = now - self._waited, self._reports
            report = np.array([own, self._share, found, self._cells_before + stage.work_done])
            if not reports or (report > reports[-1])[1:].any():
                reports.append(report)
            seconds = min(max(SECONDS, SHARE * own), max(LEAST, own - self._stage_began))
            while len(reports) > 2 and reports[1][0] <= own - seconds:
                reports.popleft()

    @contextmanager
    def hidden(self, seconds: float = 0.0) -> Iterator[None]:
        """Wipe the line for a while.  It is drawn again, but not before so many seconds."""
        with self._lock:
            was, self._shown = self._shown, False
            if was:
                self._bar.clear()
            try:
                yield
            finally:
                self._not_before = monotonic() + seconds
                if was and not seconds:
                    self._draw()

    def close(self) -> None:
        """Wipe the line, or leave it, and draw no more."""
        with self._lock:
            self._closed.set()
            if self._bar is not None:
                if self._leave:
                    self._draw()
                self._bar.leave = self._leave
                self._bar.close()
                self._bar, self._shown = None, False

    def _run(self) -> None:
        self._closed.wait(DELAY)
        while not self._closed.is_set():
            with self._lock, contextlib.suppress(OSError, ValueError):
                if monotonic() >= self._not_before and not self._closed.is_set():
                    self._draw()
            self._closed.wait(TICK)

    def _draw(self) -> None:
        """Draw the line, if anything is known."""
        now, run = monotonic() - self._started, self._now
        known = run is not None and (self._pairs is not None or not self._pairs_before)
        if self._building is not None and now >= self._building[1] + BUILD_SECONDS:
            what, rest = self._building[0], f" {duration(now - self._building[1])}"
        elif run is not None:
            what = "" if run[1].name == "pairs" else f"{run[1]}: "
            rest = " " + ", ".join(self._parts(now, run[1], known))
        else:
            return
        bar = self._bar = _new_bar(self._stream) if self._bar is None else self._bar
        bar.bar_format = f"{what}{{percentage:5.1f}}%|{{bar}}|{rest}" if known else what + rest
        bar.n = self._drawn
        bar.refresh()
        self._shown = True

    def _parts(self, now: float, stage: Stage, known: bool) -> Iterator[str]:
        """What stands after the bar.  ``known``: is it known how much there is in all?"""
        last, is_pairs = self._reports[-1], stage.name == "pairs"
        risen, since = last - self._reports[0], now - self._waited - last[0]
        rise, rate, speed = risen[1:] / max(1e-9, risen[0], since)  # it falls without a report
        share = self._share
        if rise > 0 and not self._closed.is_set():  # reports come in steps
            share += min(rise * since, 0.9 * (last[1] - self._reports[-2][1]), 0.95 * (1 - share))
        self._drawn = max(self._drawn, share)
        if is_pairs or self._pairs is not None or self._pairs_before:
            whole = self._pairs or (stage.of if is_pairs else None)
            yield f"{int(last[2]):,}{f' of {whole:,}' if whole else ''} pairs"
            if rate:
                yield f"{rate:,.0f} pairs/s" if rate >= 10 else f"{rate:.2g} pairs/s"
        if speed >= 1e7:
            yield f"{speed / 1e9:.2f} GCUPS"
        rise = rise if rise > 0 else self._predicted
        if known and rise and not self._closed.is_set():
            yield f"{duration(max(0.0, (1 - self._share) / rise - since))} left"
        else:
            yield duration(now)


def duration(seconds: float) -> str:
    """A time span as ``m:ss`` or ``h:mm:ss``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _new_bar(stream: TextIO | None) -> Any:
    """A bar of tqdm's, without its thread.  Of a terminal that says that it has 0 rows or columns
    (as of ``script`` and ``docker exec -t``) tqdm alone makes -1, and shows nothing."""
    if stream is None:
        from tqdm.auto import tqdm
    else:
        from tqdm.std import tqdm

    kind = type("Bar", (tqdm,), {"monitor_interval": 0})
    bar = kind(total=1.0, file=stream, dynamic_ncols=True, leave=False, mininterval=0, delay=1e-9)
    if sizes := bar.dynamic_ncols:
        bar.dynamic_ncols = lambda file: [size if (size or 0) > 0 else None for size in sizes(file)]
        bar.ncols, bar.nrows = bar.dynamic_ncols(bar.fp)
    return bar
