"""Pairs on several devices in turn have the results of one (tests/relaying.py)."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from aligning import needs_lanes

PROGRAM = Path(__file__).resolve().parents[1] / "relaying.py"


@pytest.mark.parametrize("seed", [1, 2])
def test_random_pairs(seed: int) -> None:
    needs_lanes("vector")
    given = [sys.executable, str(PROGRAM), "6", str(seed)]
    threads = {"POCL_MAX_PTHREAD_COUNT": "64"}  # groups that wait leave some to copy
    done = subprocess.run(
        given, env=os.environ | threads, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[-3000:]
    counts = "cases", "relays", "tiles", "sweeps in parts", "faults", "paths joined"
    told = re.fullmatch(", ".join(rf"(\d+) {one}" for one in counts) + "\n", done.stdout)
    assert told is not None and int(told[2]) > 2 and int(told[3]) > 10 and int(told[5]) > 1
