"""`pysw-cl cluster check`, and align and resume with --cluster, on a cluster of two processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pysw_cl.cli.main import main
from pysw_cl.cluster import check, survey
from pysw_cl.cluster.workers import workers_of

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def calm(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine with a small disk is no fault."""
    monkeypatch.setattr(check, "LITTLE", 0)
    monkeypatch.setattr(check, "SLOWER", 1e6)


def test_check(
    local_cluster: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], calm: None
) -> None:
    address = local_cluster.scheduler_address
    code = main(["cluster", "check", address, "--folder", str(tmp_path)])
    out, err = capsys.readouterr()
    assert (code, err) == (0, ""), out
    title, *rows = out.splitlines()
    assert title.split() == "worker version device memory free disk GCUPS clock threads".split()
    assert len(rows) == 2
    for row in rows:
        assert row.startswith("tcp://127.0.0.1:")
        assert " GiB " in row and row.endswith(" s  1")
    assert list(tmp_path.iterdir()) == []
    code = main(["cluster", "check", address, "--device", "no such"])
    out, _ = capsys.readouterr()
    assert code == 1
    assert out.count("cannot compute this: device='no such' matches no usable device") == 2


def test_align_and_resume(
    local_cluster: Any,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    random = np.random.default_rng(1)
    letters = random.choice(list("ACGT"), 9000)
    other = np.where(random.random(9000) < 0.1, "A", letters)
    files = tmp_path / "a.fa", tmp_path / "b.fa"
    for path, sequence in zip(files, (letters, other), strict=True):
        path.write_text(f">{path.stem}\n{''.join(sequence)}\n")
    pair = list(map(str, files))
    assert main(["align", *pair]) == 0
    wanted = capsys.readouterr().out
    monkeypatch.chdir(tmp_path)  # workers are elsewhere
    on = "--cluster", local_cluster.scheduler_address
    assert main(["align", *on, "--checkpoint", "job", *pair]) == 0
    assert capsys.readouterr() == (wanted, "")
    assert list((tmp_path / "job").glob("tile-*"))
    (tmp_path / "job" / "result").unlink()
    assert main(["resume", "job", *on]) == 0
    assert capsys.readouterr() == (wanted, "")


def test_one_that_does_not_see_the_folder(local_cluster: Any, tmp_path: Path) -> None:
    with workers_of(local_cluster) as workers:
        for other in (None, "another job", "a job"):
            if other is not None:
                (tmp_path / "job.json").write_text(other)
            asked = str(tmp_path), "auto", None, "a job"
            for said in survey.all_say(workers, *asked).values():
                assert (said.shared, said.disk > 0) == (other == "a job",) * 2


def test_what_workers_raise(local_cluster: Any) -> None:
    with workers_of(local_cluster) as workers:
        for said in survey.all_say(workers, "too", "few").values():
            assert said.version == "unknown"
            assert "survey() missing 2 required" in said.fault


def test_ctrl_c_leaves_no_temporary_folder(local_cluster: Any, tmp_path: Path) -> None:
    """The process ends at once, and takes with it what it has written for its workers."""
    letters = "".join(np.random.default_rng(2).choice(list("ACGT"), 400_000))
    (tmp_path / "a.fa").write_text(f">a\n{letters}\n")
    (tmp_path / "b.fa").write_text(f">b\n{letters[::-1]}\n")
    held = tmp_path / "held"
    held.mkdir()
    command = "-m pysw_cl align a.fa b.fa --output score --cluster".split()
    child = subprocess.Popen(
        [sys.executable, *command, local_cluster.scheduler_address],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(held), "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + 30
    while not list(held.glob("*/blocks")) and time.monotonic() < until:
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=30)
    assert (child.returncode, err) == (130, "pysw-cl: interrupted\n")
    assert list(held.iterdir()) == []
