"""Runs that are interrupted and go on: the result is that of an uninterrupted run."""

from __future__ import annotations

import errno
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from saving import (
    MODES,
    REFERENCE,
    Enough,
    interrupted,
    key,
    message,
    pair,
    rows,
    stop_at,
    tight,
)

import pysw_cl
from pysw_cl import sealed
from pysw_cl.drivers import pace
from pysw_cl.drivers.traceback import grid_places, most_pieces
from pysw_cl.errors import CheckpointError, InputError, PlanError, Stopped

#: Room for about 20 rows of the pairs here.
SIZE = 30_000


@pytest.fixture(autouse=True)
def small() -> Any:
    with tight():
        yield


def options(**more: Any) -> dict[str, Any]:
    return {"plan": REFERENCE, "disk_size": SIZE, **more}


# Going on


@pytest.mark.parametrize("gap_cost", [(3, 2), 2], ids=str)
@pytest.mark.parametrize(("mode", "free_ends"), MODES, ids=str)
def test_interrupted_anywhere(tmp_path: Path, mode: str, free_ends: Any, gap_cost: Any) -> None:
    """Ended again and again, each time a little later, with other tiles each time."""
    a, b = pair(220)
    how = {"mode": mode, "free_ends": free_ends, "gap_cost": gap_cost}
    for output in ("path", "score"):
        expected = pysw_cl.align(a, b, output=output, plan={"engine": "reference"}, **how)
        folder = tmp_path / output
        interrupted(folder, 9, a, b, output=output, **options(**how))
        for calls in range(10, 1000, 19):
            plan = {"engine": "reference", "tile_cells": 500 * calls, "walk_cells": 50 * calls}
            try:
                found = pysw_cl.resume(folder, plan=plan, progress=stop_at(calls))
            except Enough:
                continue
            break
        assert key(found) == key(expected), how
        assert found.mode == mode and found.query.letters.tobytes().decode() == a
        assert key(pysw_cl.resume(folder)) == key(expected)
        again = pysw_cl.align(a, b, output=output, checkpoint=folder, **options(**how))
        assert key(again) == key(expected)


def test_an_uninterrupted_run_with_a_checkpoint(tmp_path: Path) -> None:
    a, b = pair()
    for prune in (True, False):
        folder = tmp_path / str(prune)
        expected = pysw_cl.align(a, b, prune=prune, plan=REFERENCE)
        found = pysw_cl.align(a, b, prune=prune, checkpoint=folder, **options())
        assert key(found) == key(expected)
        assert (found.stats.pruned > 0) == prune
        covered = found.stats.total_cells + found.stats.pruned
        assert covered >= len(a) * len(b)
        assert len(rows(folder)) > 10
        stored = pysw_cl.resume(folder)
        assert stored.stats == found.stats and stored.plan == found.plan
        assert not list(folder.glob("*.part"))


def test_scores_and_cells_of_a_resumed_run(tmp_path: Path) -> None:
    """Without pruning every cell is computed once, whichever run does it."""
    a, b = pair()
    how = options(output="score", prune=False)
    interrupted(tmp_path, 18, a, b, **how)
    kept = len(rows(tmp_path))
    assert kept > 2
    seen: list[tuple[int, int]] = []
    found = pysw_cl.resume(tmp_path, progress=lambda *tick: seen.append(tick))
    assert found.stats.total_cells == len(a) * len(b) == seen[-1][0] == seen[-1][1]
    assert seen[0][0] > 0 and seen[0][0] % len(b) == 0  # rows of the first run
    assert seen == sorted(seen)


def test_progress_counts_the_path(tmp_path: Path) -> None:
    a, b = pair()
    cells = len(a) * len(b)
    for folder in (None, tmp_path):
        seen: list[tuple[int, int]] = []
        how = {} if folder is None else {"checkpoint": folder, "disk_size": SIZE}
        pysw_cl.align(a, b, plan=REFERENCE, progress=lambda *t, s=seen: s.append(t), **how)
        assert seen[0][0] == 0 and seen[-1][0] == seen[-1][1] > cells
        dones = [done for done, _ in seen]
        assert dones == sorted(dones)
        assert cells in dones and dones[-2] < dones[-1]


@pytest.mark.parametrize(
    "letters", [("A", "A"), ("AAAA", "CC"), ("A", "CGATTACA"), ("GATTACA", "T")]
)
@pytest.mark.parametrize(("mode", "free_ends"), MODES, ids=str)
def test_the_smallest_jobs(
    tmp_path: Path, letters: tuple[str, str], mode: str, free_ends: Any
) -> None:
    how = {"mode": mode, "free_ends": free_ends}
    expected = pysw_cl.align(*letters, plan=REFERENCE, **how)
    found = pysw_cl.align(*letters, checkpoint=tmp_path, plan=REFERENCE, **how)
    assert key(found) == key(expected) == key(pysw_cl.resume(tmp_path))
    (tmp_path / "result").unlink()
    assert key(pysw_cl.resume(tmp_path)) == key(expected)


def test_names_and_scores_with_halves_come_back(tmp_path: Path) -> None:
    a, b = pair(120)
    query = pysw_cl.Sequence("q", "the query", np.frombuffer(a.encode(), np.uint8))
    how = {"sub_score": "BLOSUM62", "gap_cost": (9.5, 0.5), "wildcard": "X"}
    expected = pysw_cl.align(query, b, plan=REFERENCE, **how)
    interrupted(tmp_path, 5, query, b, **options(**how))
    found = pysw_cl.resume(tmp_path)
    assert key(found) == key(expected) and isinstance(found.score, float)
    assert (found.query.name, found.query.description) == ("q", "the query")
    assert str(found) == str(expected).replace(str(expected.stats), str(found.stats))


@pytest.mark.parametrize("first", ["reference", "device"])
@pytest.mark.parametrize("mode", ["local", "global"])
def test_on_another_device(tmp_path: Path, first: str, mode: str) -> None:
    """Begun with one engine, device, B, T and alpha, gone on with others."""
    a, b = pair(400)
    plans = {
        "reference": REFERENCE,
        "device": {"lanes": "scalar32", "B": 3, "T": 4, "alpha": 2, "tile_cells": 5000},
    }
    expected = pysw_cl.align(a, b, mode=mode, plan={"engine": "reference"})
    interrupted(tmp_path, 30, a, b, mode=mode, disk_size=60_000, plan=plans[first])
    plan = plans["device" if first == "reference" else "reference"]
    done = [0]
    found = pysw_cl.resume(tmp_path, plan=plan, progress=lambda *tick: done.append(tick[0]))
    assert done[1] > 0
    assert key(found) == key(expected)
    assert len({kind.partition("/")[0] for kind in found.stats.cells}) == 2


# Damage


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 16
    path.write_bytes(data)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


DAMAGES = [flip, cut, Path.unlink]


@pytest.mark.parametrize("output", ["path", "ends"])
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_damaged_rows(tmp_path: Path, damage: Any, output: str) -> None:
    """The last row, an earlier one, or several: what is lost is computed again."""
    a, b = pair()
    expected = pysw_cl.align(a, b, output=output, plan={"engine": "reference"})
    for number, which in enumerate([[-1], [-1, -2], [0], [3], [2, 3, -1], range(100)]):
        folder = tmp_path / str(number)
        interrupted(folder, 60 if output == "path" else 16, a, b, output=output, **options())
        bands = rows(folder)
        assert len(bands) > 3
        lost = {bands[k] for k in which if k < len(bands)}
        for path in lost:
            damage(path)
        seen: list[int] = []
        found = pysw_cl.resume(folder, progress=lambda done, total, s=seen: s.append(done))
        assert key(found) == key(expected)
        kept = [path for path in bands if path not in lost]
        assert (seen[0] > 0) == bool(kept)
        if kept and output == "ends":  # the last sound row, whatever came before
            assert seen[0] == int(kept[-1].name.split("-")[2]) * len(b)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("name", ["result", "walk-000000", "walk-000001"])
def test_damaged_path_or_result(tmp_path: Path, damage: Any, name: str) -> None:
    a, b = pair()
    expected = pysw_cl.align(a, b, checkpoint=tmp_path, **options())
    damage(tmp_path / name)
    if name != "result":
        (tmp_path / "result").unlink()
    assert key(pysw_cl.resume(tmp_path)) == key(expected)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("name", ["job.json", "query", "target"])
def test_damaged_job(tmp_path: Path, damage: Any, name: str) -> None:
    """A resume cannot go on; the same call again can, with the rows that are there."""
    a, b = pair()
    interrupted(tmp_path, 60, a, b, **options())
    damage(tmp_path / name)
    said = message(lambda: pysw_cl.resume(tmp_path), CheckpointError)
    assert name in said and str(tmp_path) in said
    seen: list[int] = []
    found = pysw_cl.align(
        a, b, checkpoint=tmp_path, progress=lambda done, _: seen.append(done), **options()
    )
    assert seen[0] > 0
    assert key(found) == key(pysw_cl.align(a, b, plan=REFERENCE))


def test_rows_of_another_job_are_not_used(tmp_path: Path) -> None:
    a, b = pair()
    interrupted(tmp_path / "one", 60, a, b, **options())
    interrupted(tmp_path / "two", 5, b, a, **options())
    for path in rows(tmp_path / "one"):
        path.rename(tmp_path / "two" / path.name)
    expected = pysw_cl.align(b, a, plan=REFERENCE)
    assert key(pysw_cl.resume(tmp_path / "two")) == key(expected)


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
    (tmp_path / "mine.txt").write_text("mine")
    said = message(lambda: pysw_cl.align(a, b, checkpoint=tmp_path, **options()), CheckpointError)
    assert "mine.txt" in said or "job" in said
    for nowhere in (tmp_path, tmp_path / "missing"):
        said = message(lambda nowhere=nowhere: pysw_cl.resume(nowhere), CheckpointError)
        assert "no checkpoint" in said and str(nowhere) in said


def test_a_newer_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pysw_cl import checkpoint

    a, b = pair(100)
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "FORMAT", 7)
        interrupted(tmp_path, 3, a, b, **options())
    for call in (
        lambda: pysw_cl.resume(tmp_path),
        lambda: pysw_cl.align(a, b, checkpoint=tmp_path, **options()),
    ):
        assert "format 7" in message(call, CheckpointError)


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
    real, count = sealed.SealedWriter.put, [0]

    class Full:
        def __init__(self, file: Any) -> None:
            self.file = file

        def write(self, data: bytes) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        def __getattr__(self, name: str) -> Any:
            return getattr(self.file, name)

    def put(self: sealed.SealedWriter, *args: Any) -> None:
        count[0] += 1
        if count[0] > after:
            self._file = Full(self._file)  # type: ignore[assignment]
        real(self, *args)

    with monkeypatch.context() as patch:
        patch.setattr(sealed.SealedWriter, "put", put)
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
        with pytest.raises(CheckpointError, match=f"cannot write {folder}"):
            pysw_cl.align(a, b, checkpoint=folder, **options())
    real = Path.open

    def read_only(self: Path, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        if "w" in mode:
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(self, mode, *args, **kwargs)

    monkeypatch.setattr(Path, "open", read_only)
    with pytest.raises(CheckpointError, match=r"cannot write .*Permission denied"):
        pysw_cl.align(a, b, checkpoint=tmp_path / "new", **options())


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
    monkeypatch.setattr(pace, "LEAST_SECONDS", 2.0)
    pysw_cl.align(a, b, output="score", checkpoint=tmp_path, plan=REFERENCE)
    bands = [path.name.split("-")[1:] for path in rows(tmp_path)]
    heights = [int(end) - int(start) for start, end in bands]
    assert heights[0] == -(-600 // pace.MOST_ROWS) and sum(heights) == 600
    for before, height in pairwise(heights):
        assert before < height <= 2 * pace.MOST_GROWTH * before or height == heights[-1]


# Stopping


@pytest.mark.parametrize("output", ["path", "score"])
def test_stop_after(tmp_path: Path, output: str) -> None:
    a, b = pair()
    expected = pysw_cl.align(a, b, output=output, plan={"engine": "reference"})
    with pytest.raises(Stopped, match=r"stopped as asked.*% of the cells.*pysw-cl resume"):
        pysw_cl.align(a, b, output=output, checkpoint=tmp_path, stop_after=0, **options())
    assert len(rows(tmp_path)) == 1
    stops, walking = 0, False
    while True:
        try:
            found = pysw_cl.resume(tmp_path, stop_after=0)
            break
        except Stopped as stop:
            stops += 1
            walking |= "part of the path" in str(stop)
    assert stops > 3 and walking == (output == "path")
    assert key(found) == key(expected)


# Memory without a checkpoint


def test_a_grid_in_memory_is_bounded() -> None:
    """Grids of three levels, 8 bytes a cell, one row more and four codes a letter."""
    for m in (1, 10**4, 10**6, 10**7, 10**8, 3 * 10**8):
        for n in (1, 10**6, 3 * 10**8):
            sides, total = (m, n), 8 * n + 4 * (m + n)
            for _ in range(3):
                most = most_pieces(*sides)
                pieces = [len(grid_places(side, 1600, most)) - 1 for side in sides]
                total += 8 * ((pieces[0] - 1) * sides[1] + (pieces[1] - 1) * sides[0])
                sides = tuple(-(-side // k) for side, k in zip(sides, pieces, strict=True))  # type: ignore[assignment]
            assert total <= 100 * (m + n) + 500_000_000, (m, n, total)
