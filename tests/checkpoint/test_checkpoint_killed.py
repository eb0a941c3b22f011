"""Checkpoints from outside: processes that are killed, Ctrl-C, and the command line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from helpers import HERE, IMPORTS
from saving import REFERENCE, key, pair, rows, tight

import pysw_cl
from pysw_cl.cli import main as cli

ENV = dict(os.environ, PYTHONPATH=IMPORTS)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forked processes")
@pytest.mark.parametrize("moments", [12, pytest.param(100, marks=pytest.mark.long)])
def test_killed_at_random_moments(tmp_path: Path, moments: int) -> None:
    command = [sys.executable, str(HERE / "killed_runs.py"), str(tmp_path), str(moments), "1"]
    done = subprocess.run(command, env=ENV, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    *wrong, killed = done.stdout.splitlines()
    assert not wrong
    sweeping, tracing, between, banded = map(int, killed.split()[1:])
    assert sweeping + tracing >= moments // 4 and tracing >= moments // 25
    assert between >= moments // 25 and banded >= moments // 25


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Two FASTA files of one record each."""
    names = []
    for name, letters in zip("ab", pair(), strict=True):
        path = tmp_path / f"{name}.fa"
        path.write_text(f">{name}\n{letters}\n")
        names.append(str(path))
    return names


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = cli.main(argv)
    out, err = capsys.readouterr()
    return code, out, err


PLAN = ("--plan", ",".join(f"{name}={value}" for name, value in REFERENCE.items()))


def test_stop_and_resume(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, files: list[str]
) -> None:
    folder = str(tmp_path / "job")
    code, expected, _ = run(capsys, "align", *files, *PLAN)
    saving = ("--checkpoint", folder, "--disk-size", "30K")
    with tight():
        code, out, err = run(capsys, "align", *files, *PLAN, *saving, "--stop-after", "0.000001s")
        assert (code, out) == (3, "")
        assert err.startswith("pysw-cl: stopped as asked;") and f"resume {folder}" in err
        code, out, err = run(capsys, "resume", folder, "--stop-after", "0.000001")
        assert (code, out) == (3, "")
        assert run(capsys, "resume", folder) == (0, expected, "")
    assert run(capsys, "resume", folder) == (0, expected, "")
    code, out, err = run(capsys, "resume", folder, "--outfmt", "pair")
    assert code == 0 and out.startswith("#")
    assert run(capsys, "align", *files, *PLAN, *saving) == (0, expected, "")


def test_wrong_usage(capsys: pytest.CaptureFixture[str], tmp_path: Path, files: list[str]) -> None:
    folder = str(tmp_path / "job")
    for wrong in (
        ["--stop-after", "2h"],
        ["--disk-size", "1G"],
        ["--checkpoint", folder, "--disk-size", "lots"],
        ["--checkpoint", folder, "--disk-size", "0"],
        ["--checkpoint", folder, "--stop-after", "soon"],
    ):
        code, out, err = run(capsys, "align", *files, *wrong)
        assert (code, out) == (2, "") and err.startswith("pysw-cl align: ")
    code, out, err = run(capsys, "resume", folder)
    assert (code, out) == (1, "") and "no checkpoint" in err


def test_sizes_and_times() -> None:
    from pysw_cl.api.amounts import seconds, size

    assert [size(text) for text in ("10", "1.5k", "3MB", "10G", "1T")] == [
        10,
        1536,
        3 << 20,
        10 << 30,
        1 << 40,
    ]
    assert [seconds(text) for text in ("7", "30s", "90m", "2h", "1.5D")] == [
        7,
        30,
        5400,
        7200,
        129600,
    ]


def test_ctrl_c(tmp_path: Path, files: list[str]) -> None:
    """The first signal ends the run, says how to go on, and leaves a sound checkpoint."""
    folder = tmp_path / "job"
    code = (
        "import sys; from saving import tight; from pysw_cl.cli.main import main\n"
        "with tight(): sys.exit(main(sys.argv[1:]))"
    )
    plan = "engine=reference,tile_cells=20,traceback_tile_cells=1000"  # some seconds
    saving = ["--checkpoint", str(folder), "--disk-size", "30K", "--plan", plan]
    command = [sys.executable, "-c", code, "align", *files, *saving]
    process = subprocess.Popen(command, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until = time.monotonic() + 60
    while len(rows(folder)) < 3 and time.monotonic() < until:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    assert err.decode() == f"pysw-cl: interrupted; continue with: pysw-cl resume {folder}\n"
    assert not list(folder.glob("*.part"))
    seen: list[Any] = []
    with tight():
        found = pysw_cl.resume(folder, progress=lambda *tick: seen.append(tick))
    assert seen[0][0] > 0
    assert key(found) == key(pysw_cl.align(*pair(), plan=REFERENCE))
