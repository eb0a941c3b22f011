"""The progress bar: a progress callback that draws with tqdm, on a terminal or in a notebook."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TextIO

from ..drivers.progress import Progress, RunProgress, Stage
from ..opencl.builds import Build, listening
from .time_left import TimeLeft

#: The line; without a share; and of what is neither score nor path.
FORMAT = "{what}{percentage:5.1f}%|{bar}|{rest}"
WITHOUT_SHARE = "{what}{rest}"
#: The stage in which kernels are built, and the seconds after which it is shown: what was built
#: before is read from disk in less.
BUILDING, BUILD_SECONDS = "building kernels", 1.0


def duration(seconds: float) -> str:
    """A time span as ``m:ss`` or ``h:mm:ss``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def told(progress: Progress | bool | None) -> AbstractContextManager[RunProgress | None]:
    """What tells of a run: the caller's callback; for True a bar, which ends with the run.  It
    tells of builds in this thread, too."""
    if progress is None or progress is False:
        return nullcontext()
    return _in_bar() if progress is True else _with_builds(progress)


@contextmanager
def _in_bar() -> Iterator[RunProgress]:
    with contextlib.closing(ProgressBar(leave=True)) as bar, _with_builds(bar) as run:
        yield run


@contextmanager
def _with_builds(callback: Progress) -> Iterator[RunProgress]:
    run, thread = RunProgress(callback), threading.get_ident()

    def listen(build: Build, ended: bool) -> None:
        if not (ended or build.kept) and threading.get_ident() == thread:
            run.waiting(BUILDING, build.number, build.expected)

    if not run.staged:
        yield run
        return
    with listening(listen):
        yield run


class ProgressBar:
    """A progress callback that draws a bar.

    It shows the stage, the share, and the speed and the time left (`TimeLeft`) by the last seconds;
    with `expect`, the pairs that are done of all.  Nothing is drawn before ``delay`` seconds have
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
        self._lock = threading.RLock()
        self._started = clock()
        self._next = self._started + delay
        self._bar: Any = None
        self._shown, self._closed = False, threading.Event()
        self._ticks = ticks
        self._ticker: threading.Thread | None = None
        self._label = ""
        #: Pairs and cells of all runs together (None: not known), and of those that are done.
        self._pairs: int | None = None
        self._cells: int | None = None
        self._pairs_before, self._cells_before = 0, 0
        #: The run now: cells done and in all, and its stage; what it waits for, and since when.
        self._now: tuple[int, int, Stage] | None = None
        self._waiting: tuple[str, float] | None = None
        self._share = 0.0
        self._left = TimeLeft()
        self._pairs_left = TimeLeft()
        self._ended = False

    def expect(self, pairs: int | None = None, cells: int | None = None) -> None:
        """The runs that follow are parts of one: so many pairs, and so many cells (None: nobody
        knows).  `begin` is called before each of them."""
        with self._lock:
            self._pairs, self._cells = pairs, cells
            self._pairs_before = self._cells_before = 0
            self._left, self._pairs_left = TimeLeft(), TimeLeft()
            self._now, self._share = None, 0.0

    def begin(self, label: str = "") -> None:
        """The next run starts now; ``label`` stands before its bar.  A run of `align_many` has as
        many pairs as it says, any other is one pair."""
        with self._lock:
            if self._now is not None:
                _, total, stage = self._now
                self._pairs_before += stage.of if stage.name == "pairs" else 1
                self._cells_before += total
            self._label, self._now, self._waiting = label, None, None
            if self._pairs is None:
                self._left, self._share = TimeLeft(), 0.0

    def wait(self, what: str) -> None:
        """Something else happens now, such as ``reading human.fa``; until the next report."""
        with self._lock:
            now = self._clock()
            self._left.waiting(now)
            self._pairs_left.waiting(now)
            was = self._waiting
            builds = was is not None and what.startswith(BUILDING) and was[0].startswith(BUILDING)
            self._waiting = what, was[1] if was is not None and builds else now
            self._draw_if_due(now)

    def __call__(self, done: int, total: int, stage: Stage) -> None:
        """``done`` of ``total`` cells of the run are done."""
        if stage.work_done is None or stage.work_left is None:
            once = stage.name == BUILDING
            what = f"{BUILDING} for this device, once: {stage.number} of at most {stage.of}"
            self.wait(what if once else str(stage))
            return
        with self._lock:
            now = self._clock()
            self._now, self._waiting = (done, total, stage), None
            self._left.predicted = stage.predicted_speed
            self._left.told(self._cells_before + stage.work_done, now)
            if self._many:
                self._pairs_left.told(self._pairs_done, now)
            self._share = max(self._share, self._share_now())
            self._draw_if_due(now)

    @contextmanager
    def hidden(self, seconds: float = 0.0) -> Iterator[None]:
        """A context in which the line is wiped, to write something else to the same terminal.  It
        is drawn again, but not before so many seconds after it."""
        with self._lock:
            if self._bar is not None and self._shown:
                self._bar.clear()
            was, self._shown = self._shown, False
            try:
                yield
            finally:
                now = self._clock()
                self._next = max(self._next, now + seconds)
                if was and not seconds:
                    self._draw(now)

    def clear(self) -> None:
        """Wipe the line, until it is drawn again."""
        with self.hidden(self._interval):
            pass

    def close(self) -> None:
        """Wipe the line, or leave it, and draw no more."""
        with self._lock:
            if self._bar is not None and self._leave:
                self._ended = True
                self._draw(self._clock())
            self._closed.set()
            if self._bar is not None:
                self._bar.leave = self._leave
                self._bar.close()
                self._bar, self._shown = None, False

    # what is shown

    @property
    def _many(self) -> bool:
        """Are there many pairs?"""
        is_pairs = self._now is not None and self._now[2].name == "pairs"
        return self._pairs is not None or self._pairs_before > 0 or is_pairs

    @property
    def _pairs_done(self) -> float:
        """The pairs done, with the part of the one that is computed."""
        if self._now is None:
            return self._pairs_before
        done, total, stage = self._now
        part = stage.number if stage.name == "pairs" else done / max(1, total)
        return self._pairs_before + part

    def _by_cells(self) -> bool:
        """Do cells, and not pairs, tell how much is done?"""
        if self._now is None:
            return False
        if self._pairs is None and self._cells is None:
            return True
        return self._cells is not None and self._now[2].name == "pairs"

    def _share_now(self) -> float:
        assert self._now is not None
        done, total, _ = self._now
        if self._by_cells():
            before, whole = self._cells_before, self._cells
            if whole is None:
                before, whole = 0, total
            return min(1.0, (before + done) / max(1, whole))
        return min(1.0, self._pairs_done / max(1, self._pairs or 1))

    def _to_do(self) -> tuple[TimeLeft, float]:
        """The work that was left at the last report, and what knows the time that it takes."""
        assert self._now is not None
        if not self._by_cells():
            return self._pairs_left, max(0.0, (self._pairs or 0) - self._pairs_done)
        done, _, stage = self._now
        if self._cells is not None:
            return self._left, float(max(0, self._cells - self._cells_before - done))
        return self._left, float(stage.work_left or 0)

    def _texts(self, now: float) -> tuple[str, str]:
        """What stands before the share, and after the bar."""
        if self._waits(now):
            assert self._waiting is not None
            what, since = self._waiting
            return f"{what} ", f" {duration(now - since)}"
        assert self._now is not None
        stage, parts = self._now[2], []
        what = f"{self._label}{stage}: " if stage.name != "pairs" else self._label
        if self._many:
            found = int(self._pairs_done)
            whole = self._pairs or (stage.of if stage.name == "pairs" else None)
            parts.append(f"{found:,} of {whole:,} pairs" if whole else f"{found:,} pairs")
            rate = self._pairs_left.speed(now)
            if rate:
                parts.append(f"{rate:,.0f} pairs/s" if rate >= 10 else f"{rate:.2g} pairs/s")
        times, work = self._to_do()
        speed, left = self._left.speed(now), times.seconds(work, now)
        if speed and not stage.in_seconds:
            parts.append(f"{speed / 1e9:.2f} GCUPS")
        if self._ended or left is None:
            parts.append(duration(now - self._started))
        else:
            parts.append(f"{duration(left)} left")
        return what, " " + ", ".join(parts) if parts else ""

    def _draw_if_due(self, now: float) -> None:
        if now >= self._next:
            self._draw(now)
        if self._ticker is None and self._ticks is not None and not self._closed.is_set():
            self._ticker = threading.Thread(target=self._tick, name="pysw_cl bar", daemon=True)
            self._ticker.start()

    def _waits(self, now: float) -> bool:
        """Is it shown that the run waits for something?"""
        if self._waiting is None:
            return False
        what, since = self._waiting
        return not what.startswith(BUILDING) or now - since >= BUILD_SECONDS

    def _draw(self, now: float) -> None:
        if self._closed.is_set() or (self._now is None and not self._waits(now)):
            return
        self._next = now + self._interval
        if self._bar is None:
            self._bar = _new_bar(self._stream)
        bar = self._bar
        known = self._now is not None and (self._pairs is not None or not self._pairs_before)
        bar.what, bar.rest = self._texts(now)
        bar.bar_format = FORMAT if known else WITHOUT_SHARE
        if self._now is not None and not self._ended:  # reports come in steps
            (times, left), share = self._to_do(), self._share_now()
            share += (1 - share) * min(0.95, times.ahead(now) / max(1e-9, left))
            self._share = max(self._share, share)
        bar.n = self._share
        bar.refresh()
        self._shown = True

    def _tick(self) -> None:
        """Draw now and then, though nothing is reported."""
        assert self._ticks is not None
        while not self._closed.wait(self._ticks):
            with self._lock, contextlib.suppress(OSError, ValueError):
                now = self._clock()
                if now >= self._next:
                    self._draw(now)


def _new_bar(stream: TextIO | None) -> Any:
    """A bar of tqdm's that shows the attributes ``what`` and ``rest``, too."""
    if stream is None:
        from tqdm.auto import tqdm
    else:
        from tqdm.std import tqdm

    class Bar(tqdm):  # type: ignore[misc]
        """See `_new_bar`."""

        monitor_interval = 0
        what, rest = "", ""

        @property
        def format_dict(self) -> dict[str, Any]:
            """What the format may name."""
            facts = {**super().format_dict, "what": self.what, "rest": self.rest}
            self.fit()
            return {**facts, "ncols": self.ncols, "nrows": self.nrows}

        def fit(self) -> None:
            """Have no size where a terminal says that it has 0 rows or columns (``script`` and
            ``docker exec -t`` make such ones), of which tqdm makes -1, and shows nothing."""
            for name in ("ncols", "nrows"):
                size = getattr(self, name)
                if isinstance(size, int) and size < 1:
                    setattr(self, name, None)

    bar = Bar(total=1.0, file=stream, dynamic_ncols=True, leave=False, mininterval=0, delay=1e-9)
    bar.fit()
    return bar
