"""Packed lanes under Oclgrind, which lacks shuffles: values go through local memory there, and
every access is checked."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: Compares with the reference what lanes in lock step compute: scores by codes and by a matrix,
#: paths, pruned and masked blocks, padding rows.
RUN = """
import numpy as np, pysw_cl
rng = np.random.default_rng(3)
def letters(n): return np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, n)].tobytes()
whole = letters(90)
pairs = [(letters(40), letters(51)), (whole, whole[:30] + whole[38:] + letters(20))]
for lanes in ("packed", "warp32"):
    for form in ("ticketed", "two-phase"):
        for (a, b), mode, output in zip(pairs * 2, ("local", "local", "global", "global"),
                                        ("ends", "path", "path", "ends")):
            plan = {"lanes": lanes, "form": form, "T": 16, "alpha": 3, "B": 2, "chunk": 32}
            if form == "two-phase":
                plan["B"] = 1
            found = pysw_cl.align(a, b, mode=mode, output=output, plan=plan)
            wanted = pysw_cl.align(a, b, mode=mode, output=output, plan={"engine": "reference"})
            assert found == wanted, (lanes, form, mode, output, found, wanted)
print("all alike")
"""


@pytest.mark.skipif(shutil.which("oclgrind") is None, reason="Oclgrind is not installed")
def test_packed_lanes_without_shuffles() -> None:
    command = ["oclgrind", "--data-races", sys.executable, "-c", RUN]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=500)
    said = done.stdout + done.stderr
    assert "all alike" in said, said[-3000:]
    assert not re.search(r"Invalid (read|write)|divergence|race at local", said), said[:3000]
