"""The time that a run has left: from the speed of its last seconds, and, before that is known, from
the predicted one."""

from __future__ import annotations

from collections import deque
from itertools import pairwise

#: The speed is that of so many seconds, or of this share of the run where that is more.
SECONDS, SHARE = 3.0, 0.2
#: What the first report takes is no speed, since kernels may be built before it.  Those that follow
#: tell the speed as soon as they have taken this share of its time, and so many seconds.
LATER_SHARE, LATER_SECONDS = 0.05, 0.25


class TimeLeft:
    """The time that is left of work that is reported now and then.

    All times are in seconds, by one clock.  Work is in any unit.
    """

    def __init__(self) -> None:
        #: (time, work) of reports; time that the run waited is left out.
        self._told: deque[tuple[float, float]] = deque()
        self._begun: float | None = None
        self._reported = 0.0
        #: Work a second, as it was predicted; None: it was not.
        self.predicted: float | None = None
        self._waited, self._waiting_since = 0.0, 0.0
        self._waiting = False

    def told(self, work: float, now: float) -> None:
        """So much ``work`` is done at ``now``."""
        self._reported = now = self._own(now)
        self._waiting = False
        if self._begun is None:
            self._begun = now
        if self._told and work <= self._told[-1][1]:
            return
        self._told.append((now, work))
        since = now - self._window(now)
        while len(self._told) > 3 and self._told[1][0] <= since:
            self._told.popleft()

    def waiting(self, now: float) -> None:
        """The run waits for something that says nothing of its speed, until the next report."""
        if not self._waiting:
            self._waiting, self._waiting_since = True, now

    def speed(self, now: float) -> float | None:
        """Work a second; None while nothing tells it."""
        told = list(self._told)
        if len(told) < 2:
            return None
        if told[0][0] == self._begun and len(told) > 2:
            first, later = told[1][0] - told[0][0], told[-1][0] - told[1][0]
            if later >= max(LATER_SECONDS, LATER_SHARE * first):
                told = told[1:]
        (since, before), (last, work) = told[0], told[-1]
        late = max(0.0, self._own(now) - last - self._gap())
        return (work - before) / max(1e-9, last + late - since)

    def seconds(self, left: float, now: float) -> float | None:
        """Seconds until ``left``, the work that was left at the last report, is done."""
        speed = self.speed(now)
        if not speed and self.predicted and self._told:
            return max(0.0, left / self.predicted - (self._own(now) - self._told[-1][0]))
        if not speed:
            return None
        return max(0.0, left / speed - min(self._own(now) - self._told[-1][0], self._gap()))

    def ahead(self, now: float) -> float:
        """Work that is probably done since the last report: by the speed, and less than came with
        that report."""
        told, speed = self._told, self.speed(now)
        if self._waiting or not speed or len(told) < 2:
            return 0.0
        return min(speed * (self._own(now) - self._reported), 0.9 * (told[-1][1] - told[-2][1]))

    def _own(self, now: float) -> float:
        """``now`` without the time that the run waited."""
        if self._waiting:
            self._waited += now - self._waiting_since
            self._waiting_since = now
        return now - self._waited

    def _window(self, now: float) -> float:
        return max(SECONDS, SHARE * (now - (self._begun or 0.0)))

    def _gap(self) -> float:
        """The longest time between two of the last reports."""
        times = [time for time, _ in self._told]
        return max([0.5, *(b - a for a, b in pairwise(times))])
