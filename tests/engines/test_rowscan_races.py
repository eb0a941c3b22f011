"""Every form of the row scan under Oclgrind's race detector, where that is installed.

Oclgrind (Price & McIntosh-Smith 2015, IWOCL) interprets kernels, so tiles are tiny."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import IMPORTS

PLACES = ("usr/lib*", "usr/lib/*", "usr/local/lib*", "opt/oclgrind/lib*")
LIBRARIES = [
    found
    for place in PLACES
    for found in sorted(Path("/").glob(f"{place}/oclgrind/liboclgrind-rt-icd.so"))
]
needs_oclgrind = pytest.mark.skipif(not LIBRARIES, reason="Oclgrind is not installed")

#: Tiles of every kind by a plan (sys.argv[1]), compared with the reference.
TILES = """
import json, sys
import numpy as np
from contract_engines import assert_tile, random_job
from helpers import random_scoring
from pysw_cl.engines.reference import ReferenceEngine
from pysw_cl.engines.registry import engine_for
from pysw_cl.opencl.device import get_runtime

assert "Oclgrind" in get_runtime("auto").info.platform
plan, count = json.loads(sys.argv[1]), int(sys.argv[2])
engine, rng = engine_for("auto", plan), np.random.default_rng(1)
for k in range(4):
    scoring = random_scoring(rng, 4 if k % 2 else 7, linear=False)
    for m, n in ((6, 45), (3, 7)):
        job = random_job(rng, m, n, scoring, k < 2, best=True, count=count)
        assert_tile(engine.tile(job), ReferenceEngine().tile(job), scoring.gap_open)
print("compared")
"""
THREE = '{"engine": "rowscan", "form": "three-launch", "T": %d, "alpha": %d}'
FUSED = '{"engine": "rowscan", "lanes": "scalar32", "T": 4, "alpha": 2, "chunk": %d}'


@needs_oclgrind
@pytest.mark.parametrize(
    ("plan", "count"),
    [
        (THREE % (4, 2), 1),
        (THREE % (4, 2), 5),
        (THREE % (1, 4), 1),
        (THREE % (8, 1), 5),
        (FUSED % 1, 1),
        (FUSED % 4, 1),
    ],
)
def test_no_races(plan: str, count: int, tmp_path: Path) -> None:
    """Cells of the fused form are not collected here: whether the list is full is looked up with a
    plain load while others count, which may say so late (hits_add in cl/platform.clh)."""
    (tmp_path / "oclgrind.icd").write_text(str(LIBRARIES[0]))
    environment = {
        **os.environ,
        "OCL_ICD_VENDORS": str(tmp_path),
        "OCLGRIND_DATA_RACES": "1",
        "PYOPENCL_NO_CACHE": "1",
        "PYTHONPATH": IMPORTS,
    }
    environment.pop("PYSW_CL_DEVICE", None)
    done = subprocess.run(
        [sys.executable, "-c", TILES, plan, str(count)],
        env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert "compared" in done.stdout, done.stderr[-2000:]
    assert "race" not in done.stdout + done.stderr
