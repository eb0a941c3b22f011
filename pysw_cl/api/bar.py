"""The progress bar: a progress callback that draws with tqdm, on a terminal or in a notebook."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TextIO

from ..drivers.progress import Progress, RunProgress, Stage
from ..opencl.builds import Build, listening

#: The stage in which kernels are built, and the seconds after which it is shown: what was built
#: before is read from disk in less.
BUILDING, BUILD_SECONDS = "building kernels", 1.0
#: A speed is that of so many seconds, or of this share of the run where that is more.
SECONDS, SHARE = 3.0, 0.2


def duration(seconds: float) -> str:
    """A time span as ``m:ss`` or ``h:mm:ss``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def told(progress: Progress | bool | None) -> AbstractContextManager[RunProgress]:
    """What tells of a run: the caller's callback; for True a bar, which ends with the run.  It
    tells of builds in this thread, too."""
    if progress is None or progress is False:
        return contextlib.nullcontext(RunProgress(None))
    return _told(progress)


@contextmanager
def _told(progress: Progress | bool) -> Iterator[RunProgress]:
    with contextlib.ExitStack() as stack:
        if isinstance(progress, bool):
            progress = stack.enter_context(contextlib.closing(ProgressBar(leave=True)))
        run = RunProgress(progress)
        thread = threading.get_ident()

        def listen(build: Build, ended: bool) -> None:
            if not (ended or build.kept) and threading.get_ident() == thread:
                run.waiting(Stage(BUILDING, build.number, build.expected))

        if run.staged:
            stack.enter_context(listening(listen))
        yield run


class Speed:
    """The speed of the last seconds, of work that is reported now and then."""

    def __init__(self) -> None:
        #: (time, work) of the last reports.
        self._told: deque[tuple[float, float]] = deque()
        #: When the first report came, and the last one, though nothing was done.
        self._begun, self._reported = math.inf, 0.0
        #: Work a second, as it was predicted; None: it was not.
        self.predicted: float | None = None

    def told(self, work: float, now: float) -> None:
        """So much ``work`` is done at ``now``."""
        self._begun, self._reported = min(now, self._begun), now
        if not self._told or work > self._told[-1][1]:
            self._told.append((now, work))
        first = now - max(SECONDS, SHARE * (now - self._begun))
        while len(self._told) > 2 and self._told[1][0] <= first:
            self._told.popleft()

    def at(self, now: float) -> float | None:
        """Work a second; None while nothing tells it.  It falls if there is no report for long."""
        if len(self._told) < 2:
            return None
        (first, before), (last, work) = self._told[0], self._told[-1]
        return (work - before) / max(1e-9, last - first, now - last)

    def seconds(self, left: float, now: float) -> float | None:
        """Seconds until ``left``, the work that was left at the last report, is done."""
        speed = self.at(now) or (self.predicted if self._told else None)
        return max(0.0, left / speed - (now - self._told[-1][0])) if speed else None

    def ahead(self, now: float) -> float:
        """Work that is probably done since the last report, less than came with that report."""
        speed = self.at(now)
        if not speed:
            return 0.0
        return min(speed * (now - self._reported), 0.9 * (self._told[-1][1] - self._told[-2][1]))


class ProgressBar:
    """A progress callback that draws a bar.

    It shows the stage, the share, and the speed and the time left by the last seconds; with
    `expect`, the pairs that are done of all.  Nothing is drawn before ``delay`` seconds have
    passed, so a short run leaves no trace; after that the line is drawn again every ``interval``
    seconds at most, and every ``ticks`` seconds at least (None: only when something is reported).

    ``stream``: where (None: standard error, or the notebook).  ``leave``: does the line stay at the
    end?  All methods may be called from any thread.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        *,
        leave: bool = False,
        delay: float = 0.5,
        interval: float = 0.1,
        ticks: float | None = 0.5,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream, self._leave, self._interval, self._clock = stream, leave, interval, clock
        self._lock, self._started = threading.RLock(), clock()
        self._next, self._ticks = self._started + delay, ticks
        self._bar: Any = None
        self._ticker: threading.Thread | None = None
        self._shown, self._ended, self._closed = False, False, threading.Event()
        #: What the run waits for, since when, from when on that is shown, and all time waited.
        self._waiting: tuple[str, float, float] | None = None
        self._waited = 0.0
        ProgressBar.expect(self)

    def expect(self, pairs: int | None = None, cells: int | None = None) -> None:
        """The runs that follow are parts of one: so many pairs, and so many cells (None: nobody
        knows).  `begin` is called before each of them."""
        with self._lock:
            self._pairs, self._cells, self._label = pairs, cells, ""
            #: Pairs and cells of the runs that are done, and pairs with the part of the run now.
            self._pairs_before, self._cells_before, self._found = 0, 0, 0.0
            #: The run now: cells done and in all, and its stage.
            self._now: tuple[int, int, Stage] | None = None
            #: The share of all runs that is done, and that is drawn; its speed, of pairs, of cells.
            self._share = self._drawn = 0.0
            self._speeds = Speed(), Speed(), Speed()

    def begin(self, label: str = "") -> None:
        """The next run starts now; ``label`` stands before its bar.  A run of `align_many` has as
        many pairs as it says, any other is one pair."""
        with self._lock:
            if self._now is not None:
                _, total, stage = self._now
                self._pairs_before += stage.of if stage.name == "pairs" else 1
                self._cells_before += total
            self._go_on(self._clock())
            self._label, self._now = label, None
            if self._pairs is None:
                self._share = self._drawn = 0.0
                self._speeds = Speed(), *self._speeds[1:]

    def wait(self, what: str) -> None:
        """Something else happens now, such as ``reading human.fa``; until the next report."""
        with self._lock:
            now, builds = self._clock(), what.startswith(BUILDING)
            if builds and self._waiting is not None and self._waiting[0].startswith(BUILDING):
                self._waiting = what, *self._waiting[1:]
            else:
                self._go_on(now)
                self._waiting = what, now, now + BUILD_SECONDS * builds
            self._draw_if_due(now)

    def _go_on(self, now: float) -> None:
        """The run waits no more."""
        if self._waiting is not None:
            self._waited, self._waiting = self._waited + now - self._waiting[1], None

    def __call__(self, done: int, total: int, stage: Stage) -> None:
        """``done`` of ``total`` cells of the run are done."""
        work, left = stage.work_done, stage.work_left
        if work is None or left is None:
            once = f"{BUILDING} for this device, once: {stage.number} of at most {stage.of}"
            self.wait(once if stage.name == BUILDING else str(stage))
            return
        with self._lock:
            now, self._now = self._clock(), (done, total, stage)
            self._go_on(now)
            part = stage.number if stage.name == "pairs" else done / max(1, total)
            self._found = self._pairs_before + part
            if self._cells is not None and stage.name == "pairs":
                share = (self._cells_before + done) / max(1, self._cells)
            elif self._pairs is not None:
                share = self._found / max(1, self._pairs)
            else:
                share = done / max(1, total)
            self._share = max(self._share, min(1.0, share))
            works = self._share, self._found, self._cells_before + work
            for speed, each in zip(self._speeds, works, strict=True):
                speed.told(each, now - self._waited)
            if stage.predicted_speed and self._pairs is None and left:
                self._speeds[0].predicted = stage.predicted_speed * (1 - self._share) / left
            self._draw_if_due(now)

    @contextmanager
    def hidden(self, seconds: float = 0.0) -> Iterator[None]:
        """A context in which the line is wiped, to write something else to the same terminal.  It
        is drawn again, but not before so many seconds after it."""
        with self._lock:
            was, self._shown = self._shown, False
            if was:
                self._bar.clear()
            try:
                yield
            finally:
                now = self._clock()
                self._next = max(self._next, now + seconds)
                if was and not seconds:
                    self._draw(now)

    def close(self) -> None:
        """Wipe the line, or leave it, and draw no more."""
        with self._lock:
            if self._bar is not None:
                if self._leave:
                    self._ended = True
                    self._draw(self._clock())
                self._bar.leave = self._leave
                self._bar.close()
                self._bar, self._shown = None, False
            self._closed.set()

    # what is shown

    def _texts(self, now: float) -> tuple[str, str] | None:
        """What stands before the share, and after the bar; None: nothing is known."""
        if self._waiting is not None and now >= self._waiting[2]:
            return f"{self._waiting[0]} ", f" {duration(now - self._waiting[1])}"
        if self._now is None:
            return None
        stage, parts, own = self._now[2], [], now - self._waited
        is_pairs, speeds = stage.name == "pairs", [speed.at(own) for speed in self._speeds]
        if is_pairs or self._pairs is not None or self._pairs_before:
            found, whole = int(self._found), self._pairs or (stage.of if is_pairs else None)
            parts.append(f"{found:,} of {whole:,} pairs" if whole else f"{found:,} pairs")
            if rate := speeds[1]:
                parts.append(f"{rate:,.0f} pairs/s" if rate >= 10 else f"{rate:.2g} pairs/s")
        if speeds[2] and not stage.in_seconds:
            parts.append(f"{speeds[2] / 1e9:.2f} GCUPS")
        left = None if self._ended else self._speeds[0].seconds(1 - self._share, own)
        parts.append(duration(now - self._started) if left is None else f"{duration(left)} left")
        return self._label if is_pairs else f"{self._label}{stage}: ", " " + ", ".join(parts)

    def _draw_if_due(self, now: float) -> None:
        if now >= self._next:
            self._draw(now)
        if self._ticker is None and self._ticks is not None and not self._closed.is_set():
            self._ticker = threading.Thread(target=self._tick, name="pysw_cl bar", daemon=True)
            self._ticker.start()

    def _draw(self, now: float) -> None:
        texts = None if self._closed.is_set() else self._texts(now)
        if texts is None:
            return
        self._next = now + self._interval
        bar = self._bar = _new_bar(self._stream) if self._bar is None else self._bar
        known = self._now is not None and (self._pairs is not None or not self._pairs_before)
        what, rest = (text.replace("{", "{{").replace("}", "}}") for text in texts)
        bar.bar_format = f"{what}{{percentage:5.1f}}%|{{bar}}|{rest}" if known else what + rest
        share = self._share
        if not self._ended and self._waiting is None:  # reports come in steps
            share += min(self._speeds[0].ahead(now - self._waited), 0.95 * (1 - share))
        bar.n = self._drawn = max(self._drawn, share)
        bar.refresh()
        self._shown = True

    def _tick(self) -> None:
        """Draw now and then, though nothing is reported."""
        while not self._closed.wait(self._ticks):
            with self._lock, contextlib.suppress(OSError, ValueError):
                now = self._clock()
                if now >= self._next:
                    self._draw(now)


def _new_bar(stream: TextIO | None) -> Any:
    """A bar of tqdm's, without its thread.  It has no size where a terminal says that it has 0 rows
    or columns (``script`` and ``docker exec -t`` make such ones), of which tqdm makes -1, and shows
    nothing."""
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
