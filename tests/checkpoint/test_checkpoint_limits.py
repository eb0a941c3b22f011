"""What checkpoints refuse, disks that are full or cannot be written, runs that are to stop."""

from __future__ import annotations

import errno
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from helpers import fault, tune
from saving import (
    REFERENCE,
    Enough,
    call_format,
    interrupted,
    key,
    message,
    options,
    pair,
    rows,
)

import pysw_cl
from pysw_cl.checkpoint import container
from pysw_cl.checkpoint.store import Store
from pysw_cl.errors import CheckpointError, InputError, PlanError, Stopped
from pysw_cl.planning.parameters import SavingTuning, TracebackTuning
from pysw_cl.planning.path_grid import grid_places, most_pieces
from pysw_cl.scoring.matrices import load_matrix

pytestmark = pytest.mark.usefixtures("small")


# What is refused


def test_a_folder_of_another_job_or_of_none(tmp_path: Path) -> None:
    a, b = pair(100)
    folder = tmp_path / "job"
    interrupted(folder, 3, a, b, **options())
    for other, word in [
        ({"output": "score"}, "output"),
        ({"gap_cost": 3}, "scoring"),
        ({"mode": "global"}, "mode"),
    ]:
        said = message(
            lambda other=other: pysw_cl.align(a, b, checkpoint=folder, **options(**other)),
            CheckpointError,
        )
        assert "another job" in said and word in said and str(folder) in said
    said = message(lambda: pysw_cl.align(a, a, checkpoint=folder, **options()), CheckpointError)
    assert "target" in said and "query" not in said
    said = message(
        lambda: pysw_cl.align(a, b[:-1], checkpoint=folder, **options()), CheckpointError
    )
    assert "its target differs" in said  # and no word of a range, which nobody gave
    (tmp_path / "mine.txt").write_text("mine")
    said = message(lambda: pysw_cl.align(a, b, checkpoint=tmp_path, **options()), CheckpointError)
    assert "mine.txt" in said or "job" in said
    for nowhere in (tmp_path, tmp_path / "missing"):
        said = message(lambda nowhere=nowhere: pysw_cl.resume(nowhere), CheckpointError)
        assert "no checkpoint" in said and str(nowhere) in said


@pytest.mark.parametrize("number", [1, 7])
def test_another_format(tmp_path: Path, number: int) -> None:
    a, b = pair(100)
    interrupted(tmp_path, 3, a, b, **options())
    call_format(tmp_path, number)
    for call in (
        lambda: pysw_cl.resume(tmp_path),
        lambda: pysw_cl.align(a, b, checkpoint=tmp_path, **options()),
    ):
        assert f"format {number}" in message(call, CheckpointError)


def test_a_folder_in_use(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    a, b = pair(100)

    def second(done: int, total: int) -> None:
        assert "in use" in message(lambda: pysw_cl.resume(tmp_path), CheckpointError)
        raise Enough

    with pytest.raises(Enough):
        pysw_cl.align(a, b, checkpoint=tmp_path, progress=second, **options())
    pysw_cl.resume(tmp_path)


def test_wrong_arguments(tmp_path: Path) -> None:
    a, b = pair(100)
    for wrong in ({"disk_size": 0}, {"disk_size": 1.5}, {"stop_after": -1}, {"stop_after": "2h"}):
        name = next(iter(wrong))
        with pytest.raises(InputError, match=name):
            pysw_cl.align(a, b, checkpoint=tmp_path / "x", **wrong)
        with pytest.raises(InputError, match=name):
            pysw_cl.resume(tmp_path / "x", **wrong)
    with pytest.raises(InputError, match="go with checkpoint"):
        pysw_cl.align(a, b, stop_after=5)
    with pytest.raises(PlanError):
        pysw_cl.align(a, b, checkpoint=tmp_path / "x", plan={"engine": "none"})
    assert not (tmp_path / "x").exists()
    with pytest.raises(InputError, match="too little for one row"):
        pysw_cl.align(a, b, checkpoint=tmp_path / "y", plan=REFERENCE, disk_size=500)


# Disks


@pytest.mark.parametrize(
    ("output", "after"),
    [*(("path", k) for k in (1, 5, 30, 60, 100)), *(("score", k) for k in (0, 1, 9))],
)
def test_disk_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int, output: str
) -> None:
    """Said clearly, and what was saved before is used when there is room again."""
    a, b = pair()
    real, count = container.SealedWriter.put, [0]

    class Full:
        def __init__(self, file: Any) -> None:
            self.file = file

        def write(self, data: bytes) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        def __getattr__(self, name: str) -> Any:
            return getattr(self.file, name)

    def put(self: container.SealedWriter, *args: Any) -> None:
        count[0] += 1
        if count[0] > after:
            self._pieces._file = Full(self._pieces._file)  # type: ignore[assignment]
        real(self, *args)

    with monkeypatch.context() as patch:
        patch.setattr(container.SealedWriter, "put", put)
        with pytest.raises(CheckpointError, match=r"(?s)cannot write.*No space left.*resume"):
            pysw_cl.align(a, b, output=output, checkpoint=tmp_path, **options())
    assert not list(tmp_path.glob("*.part"))
    kept = len(rows(tmp_path))
    assert (kept > 0) == (after > 10 if output == "path" else after > 1)
    seen: list[int] = []
    found = pysw_cl.align(
        a,
        b,
        output=output,
        checkpoint=tmp_path,
        progress=lambda done, _: seen.append(done),
        **options(),
    )
    assert (seen[0] > 0) == (kept > 0)
    assert key(found) == key(pysw_cl.align(a, b, output=output, plan=REFERENCE))


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = pair(100)
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(CheckpointError, match=f"cannot write {folder}.*; give a folder"):
            pysw_cl.align(a, b, checkpoint=folder, **options())

    def writes(path: Path, mode: str = "r", *_: Any, **__: Any) -> bool:
        return "w" in mode

    denied = PermissionError(errno.EACCES, "Permission denied")
    fault(monkeypatch, Path, "open", denied, when=writes)
    with pytest.raises(CheckpointError, match=r"cannot write .*Permission denied; give"):
        pysw_cl.align(a, b, checkpoint=tmp_path / "new", **options())


@pytest.mark.parametrize("strand", ["plus", "both"])
def test_a_finished_run_where_nothing_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strand: str
) -> None:
    a, b = pair(100)
    how = options(checkpoint=tmp_path / "done", strand=strand)
    expected = key(pysw_cl.align(a, b, **how))
    interrupted(tmp_path / "begun", 5, a, b, **options())
    (tmp_path / "done" / "rows-000000000000-000000000009.part").touch()
    for locked in (True, False):
        if not locked:
            (tmp_path / "done" / "lock").unlink()
        with monkeypatch.context() as patch:
            denied = OSError(errno.EROFS, os.strerror(errno.EROFS))
            writes = lambda path, mode="r", *_, **__: "w" in mode  # noqa: E731
            fault(patch, Path, "open", denied, when=writes)
            for name in ("unlink", "replace", "mkdir"):
                fault(patch, Path, name, denied, when=lambda path, *_, **__: not path.is_dir())
            assert key(pysw_cl.resume(tmp_path / "done")) == expected
            assert key(pysw_cl.align(a, b, **how)) == expected
            with pytest.raises(CheckpointError, match=r"cannot write .*make the folder writable"):
                pysw_cl.resume(tmp_path / "begun")


def test_a_disk_with_little_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody gave a disk_size, so none is blamed."""
    a, b = pair(100)
    monkeypatch.setattr(Store, "free", lambda self: 500)
    how = {"checkpoint": tmp_path, "plan": REFERENCE}
    said = message(lambda: pysw_cl.align(a, b, **how), CheckpointError)
    assert str(tmp_path) in said and "half of what is free" in said and "free space" in said
    least = int(said.split()[-1].replace(",", ""))
    assert pysw_cl.align(a, b, **how, disk_size=least).score > 0


def test_rows_fill_the_disk_size(tmp_path: Path) -> None:
    a, b = pair(600)
    counts = []
    for size in (20_000, 80_000):
        folder = tmp_path / str(size)
        pysw_cl.align(a, b, output="score", checkpoint=folder, plan=REFERENCE, disk_size=size)
        counts.append(len(rows(folder)))
        assert sum(path.stat().st_size for path in folder.iterdir()) <= size
    assert counts[0] >= 3 and counts[1] > 3 * counts[0]


def test_rows_as_far_apart_as_saving_is_cheap(tmp_path: Path, monkeypatch: Any) -> None:
    """Bands last some time, but grow step by step, because pruning may have made one fast."""
    a, b = pair(600)
    tune(monkeypatch, {"saving.least_seconds": 2.0})
    pysw_cl.align(a, b, output="score", checkpoint=tmp_path, plan=REFERENCE)
    bands = [path.name.split("-")[1:] for path in rows(tmp_path)]
    heights = [int(end) - int(start) for start, end in bands]
    assert heights[0] == -(-600 // SavingTuning().most_rows) and sum(heights) == 600
    for before, height in pairwise(heights):
        assert before < height <= 2 * SavingTuning().most_growth * before or height == heights[-1]


# Stopping


@pytest.mark.parametrize("output", ["path", "score"])
def test_stop_after(tmp_path: Path, output: str) -> None:
    a, b = pair()
    expected = pysw_cl.align(a, b, output=output, plan={"engine": "reference"})
    with pytest.raises(Stopped, match=r"stopped as asked.*% of the cells.*pysw-cl resume"):
        pysw_cl.align(a, b, output=output, checkpoint=tmp_path, stop_after=0, **options())
    assert len(rows(tmp_path)) == 1
    stops, tracing = 0, False
    while True:
        try:
            found = pysw_cl.resume(tmp_path, stop_after=0)
            break
        except Stopped as stop:
            stops += 1
            tracing |= "part of the path" in str(stop)
    assert stops > 3 and tracing == (output == "path")
    assert key(found) == key(expected)


# Memory without a checkpoint


def test_a_grid_in_memory_is_bounded() -> None:
    """Grids of three levels, 8 bytes a cell, one row more and four codes a letter."""
    for m in (1, 10**4, 10**6, 10**7, 10**8, 3 * 10**8):
        for n in (1, 10**6, 3 * 10**8):
            sides, total = (m, n), 8 * n + 4 * (m + n)
            for _ in range(3):
                tuning = TracebackTuning()
                most = most_pieces(tuning, *sides)
                pieces = [len(grid_places(tuning, side, 1600, most)) - 1 for side in sides]
                total += 8 * ((pieces[0] - 1) * sides[1] + (pieces[1] - 1) * sides[0])
                sides = tuple(-(-side // k) for side, k in zip(sides, pieces, strict=True))  # type: ignore[assignment]
            assert total <= 100 * (m + n) + 500_000_000, (m, n, total)


def test_a_scoring_is_the_same_however_it_was_given(tmp_path: Path) -> None:
    """By an alias, by its numbers, with a default spelled out; a resumed run says how it was."""
    a, b = pair(100)
    matrix, letters = load_matrix("NUC.4.4")
    folder = tmp_path / "job"
    how = options(sub_score="NUC.4.4", wildcard="N")
    own = options(sub_score=(matrix, letters), wildcard="N", gap_cost=(12, 4))
    interrupted(folder, 3, a, b, **own)
    interrupted(folder, 1, a, b, **how)
    for same in ({"sub_score": "dnafull", "gap_cost": (12, 4)}, {"gap_cost": None}):
        interrupted(folder, 1, a, b, **{**how, **same})
    found = pysw_cl.resume(folder)
    assert found.scoring.name == "NUC.4.4"
    assert "matrix NUC.4.4, N against anything 0; a gap of length k costs 12 + k * 4" in str(found)
    assert key(found) == key(pysw_cl.align(a, b, sub_score="NUC.4.4", wildcard="N"))
