"""What processors do for others meanwhile: times that are measured beside it are too long."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

#: Others' share of the processors below which times are as on an idle machine, and the highest.
IDLE, MOST = 0.05, 0.95
STAT = Path("/proc/stat")


def others() -> Callable[[], float]:
    """What tells the share of this process's processors that others had from now until it is
    called; 0 for little, and where the system does not say it (Linux does)."""
    if not (hasattr(os, "sched_getaffinity") and STAT.exists()):
        return lambda: 0.0
    own = {f"cpu{number}" for number in os.sched_getaffinity(0)}

    def seconds() -> float:
        lines = [line.split() for line in STAT.read_text().splitlines()]
        # user, nice, system; after idle and waiting interrupts of two kinds, and other machines
        busy = sum(sum(map(int, one[1:4] + one[6:9])) for one in lines if one[0] in own)
        return busy / os.sysconf("SC_CLK_TCK") - time.process_time()

    began, before = time.monotonic(), seconds()

    def share() -> float:
        passed = max(1e-9, len(own) * (time.monotonic() - began))
        found = min(MOST, (seconds() - before) / passed)
        return found if found > IDLE else 0.0

    return share
