"""Strips that change hands under Oclgrind's race detector, where that is installed: it knows no
flags, so what lies between the write of a flag and its reader is reported, and only that."""

from __future__ import annotations

import re

from interpreting import interpreted, needs_oclgrind

#: Groups leave their strips as often as they can.
RUN = """
import numpy as np, pysw_cl
from pysw_cl.planning.program import Program
usual = Program.defines.func
restless = {"SHORT_WAIT": 1, "BLOCKS_READY": 1, "BLOCKS_A_VISIT": 0}
Program.defines = property(lambda self: usual(self) | restless)
rng = np.random.default_rng(3)
def letters(n): return np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, n)].tobytes()
whole = letters(150)
pairs = [(letters(140), letters(90), "local", "ends"),
         (whole, whole[:70] + whole[80:], "global", "path")]
for lanes in ("vector", "vector32"):
    for a, b, mode, output in pairs:
        plan = {"lanes": lanes, "form": "ticketed", "T": 4, "alpha": 4, "B": 2, "chunk": 16}
        found = pysw_cl.align(a, b, mode=mode, output=output, plan=plan)
        wanted = pysw_cl.align(a, b, mode=mode, output=output, plan={"engine": "reference"})
        assert found == wanted, (lanes, mode, found, wanted)
print("all alike")
"""
#: Parts of the lines that groups may run at the same time as far as Oclgrind sees.
FLAGS = (
    "PROGRESS_HELD",
    "PROGRESS_STEP",
    "own[-PROGRESS_WORDS]",
    "PROGRESS_DONE",
    "*known",
    "atomic_max(known",
    "*sw->progress_own = to",
    "now = *sw->progress_above",
    "*shared_best",
    "atomic_max(shared_best",
    "(source not available)",  # of an atomic function
)
#: Written before a strip's report, read after it.
BUS = (
    "bus_load(",
    "lanes_store_last(",
    "*p = u.i[lane];",  # lanes_store_lane()
    "(h + k - from)",
    "(x + k - from)",
    "h[k - from] =",
    "x[k - from] =",
    "(h + k)",
    "(p + k)",
    "s.f[k] = (el)(x[k]",
    "low = h[k]",
    "low = p[k]",
    "sw->out.h[k] = level",
    "sw->out.x[k] = level",
)
#: Written before a strip is given up, read once it is taken.
STATE = ("lanes_load(", "lanes_store(", "lanes_save(", "lanes_saved(", "state[")


@needs_oclgrind
def test_groups_meet_at_flags_alone() -> None:
    reported = set(re.findall(r"At line \d+[^\n]*\n\s*([^\n]*)", interpreted(RUN)))
    assert reported
    known = (*FLAGS, *BUS, *STATE)
    assert [line for line in reported if not any(part in line for part in known)] == []
