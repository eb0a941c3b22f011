"""What processors do for others meanwhile: times that are measured beside it are too long."""

from __future__ import annotations

import os
import time
from pathlib import Path

#: Others' share of the processors below which times are as on an idle machine.
IDLE = 0.05


class OtherWork:
    """Looks from now on at what other processes do on the processors that this one may use."""

    def __init__(self, stat: str = "/proc/stat") -> None:
        self._stat, self._began, self._before = Path(stat), time.monotonic(), 0.0
        self._before = self._seconds()

    def share(self) -> float:
        """The share of these processors' time that others had so far; 0 where the system does not
        say it (Linux does) or it does not matter."""
        processors = max(1, len(self._processors()))
        passed = max(1e-9, processors * (time.monotonic() - self._began))
        share = min(0.95, (self._seconds() - self._before) / passed)
        return share if share > IDLE else 0.0

    @staticmethod
    def _processors() -> set[str]:
        allowed = getattr(os, "sched_getaffinity", lambda process: ())
        return {f"cpu{number}" for number in allowed(0)}

    def _seconds(self) -> float:
        """Seconds of these processors' work for others, since the machine was started."""
        try:
            lines = [line.split() for line in self._stat.read_text().splitlines()]
        except OSError:
            return 0.0
        known = self._processors()
        # user, nice, system, idle, waiting for a disk, two kinds of interrupts, other machines
        busy = (map(int, one[1:4] + one[6:9]) for one in lines if one and one[0] in known)
        return sum(map(sum, busy)) / os.sysconf("SC_CLK_TCK") - time.process_time()
