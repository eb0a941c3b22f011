"""`prepare` leaves nothing to build for later processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import pysw_cl
from pysw_cl.api.prepare import KINDS
from pysw_cl.errors import InputError
from pysw_cl.opencl.device import get_runtime

USE = """
import pysw_cl
letters = "ACGTTGCAACGATTACA"
for length in (100, 700, 1000, 3000, 12000):
    a = (letters * (length // len(letters) + 1))[:length]
    b = a[: length // 2] + "GGT" + a[length // 2 + 5 :]
    for output in ("score", "ends", "path"):
        pysw_cl.align(a, b, output=output, device="cpu")
"""


def process(code: str, cache: Path) -> subprocess.CompletedProcess[str]:
    env = dict(os.environ, POCL_CACHE_DIR=str(cache), XDG_CACHE_HOME=str(cache))
    env["PYTHONPATH"] = os.pathsep.join([str(Path(pysw_cl.__file__).parent.parent)])
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)


def test_a_fresh_process_builds_nothing(tmp_path: Path) -> None:
    if "Portable Computing Language" not in get_runtime("cpu").info.platform:
        pytest.skip("PoCL's cache is a folder of files that can be counted")
    done = process('import pysw_cl; print(pysw_cl.prepare("cpu", kinds=["dna"]))', tmp_path)
    assert done.returncode == 0, done.stderr
    built = {str(file): file.stat().st_mtime_ns for file in tmp_path.rglob("*.built")}
    assert 0 < len(built) == int(done.stdout)
    done = process(USE, tmp_path)
    assert done.returncode == 0, done.stderr
    assert {str(file): file.stat().st_mtime_ns for file in tmp_path.rglob("*.built")} == built


def test_progress_and_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[int, int]] = []
    jobs: list[object] = []

    def done(device: object) -> None:
        jobs.append(device)

    monkeypatch.setitem(KINDS, "dna", lambda runtime: iter([done] * 3))
    monkeypatch.setitem(KINDS, "many", lambda runtime: iter([done]))
    pysw_cl.prepare(kinds=["dna", "many", "dna"], progress=lambda *now: told.append(now))
    assert told == [(k, 4) for k in range(5)]
    assert jobs == [get_runtime("auto")] * 4
    pysw_cl.prepare(kinds="many")
    assert len(jobs) == 5


@pytest.mark.parametrize(
    ("kinds", "message"), [(["rna"], "'rna' is not one of dna, protein"), ([], "none is given")]
)
def test_what_cannot_be_prepared(kinds: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        pysw_cl.prepare(kinds=kinds)


def test_every_kind_has_jobs() -> None:
    assert all(list(jobs(get_runtime("auto"))) for jobs in KINDS.values())
