"""Runs that are interrupted and go on: the result is that of an uninterrupted run."""

from __future__ import annotations

import random
import shutil
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from saving import (
    MODES,
    REFERENCE,
    SIZE,
    interrupted,
    key,
    message,
    options,
    pair,
    resumed_again_and_again,
    rows,
)

import pysw_cl
from pysw_cl.checkpoint import sweep
from pysw_cl.errors import CheckpointError, Stopped

pytestmark = pytest.mark.usefixtures("small")


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
        found = resumed_again_and_again(folder, range(10, 1000, 19))
        assert key(found) == key(expected), how
        assert found.mode == mode and found.query.letters.tobytes().decode() == a
        assert key(pysw_cl.resume(folder)) == key(expected)
        again = pysw_cl.align(a, b, output=output, checkpoint=folder, **options(**how))
        assert key(again) == key(expected)


def test_an_uninterrupted_run_with_a_checkpoint(tmp_path: Path) -> None:
    a, b = pair()
    how = options(plan={**REFERENCE, "tile_cells": 900})  # several tiles a band, some pruned
    for prune in (True, False):
        folder = tmp_path / str(prune)
        expected = pysw_cl.align(a, b, prune=prune, plan=REFERENCE)
        found = pysw_cl.align(a, b, prune=prune, checkpoint=folder, **how)
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
        "device": {"lanes": "scalar32", "B": 3, "T": 2, "alpha": 2, "tile_cells": 5000},
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
        interrupted(folder, 24 if output == "path" else 16, a, b, output=output, **options())
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
    interrupted(tmp_path, 24, a, b, **options())
    damage(tmp_path / name)
    said = message(lambda: pysw_cl.resume(tmp_path), CheckpointError)
    assert name in said and str(tmp_path) in said
    seen: list[int] = []
    found = pysw_cl.align(
        a, b, checkpoint=tmp_path, progress=lambda done, _: seen.append(done), **options()
    )
    assert seen[0] > 0
    assert key(found) == key(pysw_cl.align(a, b, plan=REFERENCE))


def test_a_file_under_the_name_of_another(tmp_path: Path) -> None:
    """It is sound, and is taken for a damaged one."""
    a, b = pair()
    there = tmp_path / "there"
    interrupted(there, 30, a, b, **options())
    expected = key(pysw_cl.align(a, b, checkpoint=tmp_path / "done", **options()))
    shutil.copy(tmp_path / "done" / "result", there)
    names = ["query", "target", "result"]
    names += [sorted(there.glob("*-*"))[k].name for k in (0, 1, -1)]
    others = names[1:] + names[:1] + names[2:] + names[:2]
    for k, (name, other) in enumerate(zip(2 * names, others, strict=True)):
        folder = tmp_path / str(k)
        shutil.copytree(there, folder)
        (folder / "result").unlink()
        (folder / name).write_bytes((there / other).read_bytes())
        if name in ("query", "target"):
            said = message(lambda folder=folder: pysw_cl.resume(folder), CheckpointError)
            assert str(folder / name) in said
        else:
            assert key(pysw_cl.resume(folder)) == expected


def test_rows_of_another_job_are_not_used(tmp_path: Path) -> None:
    a, b = pair()
    interrupted(tmp_path / "one", 24, a, b, **options())
    interrupted(tmp_path / "two", 5, b, a, **options())
    for path in rows(tmp_path / "one"):
        path.rename(tmp_path / "two" / path.name)
    expected = pysw_cl.align(b, a, plan=REFERENCE)
    assert key(pysw_cl.resume(tmp_path / "two")) == key(expected)


def test_a_path_goes_on_by_a_plan_with_other_special_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are computed again where those of the first plan lack its columns."""
    drawn, asked = random.Random(1), count()
    a, b = ("".join(drawn.choice("ACGT") for _ in range(n)) for n in (1317, 226))
    often = {"saving.least_seconds": 0, "saving.least_times": 0, "saving.least_times_beside": 0}
    plan: dict[str, Any] = {**often, "tile_cells": 5000}
    columns = {"held.path_cells": 0, "traceback.least_side": 16}
    run = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(sweep.SavedRun, "late", lambda self: next(asked) > 0)
        with pytest.raises(Stopped, match="a part of the path"):
            pysw_cl.align(a, b, plan={**plan, **columns}, checkpoint=run)
    found = pysw_cl.resume(run, plan={**plan, "engine": "reference"})
    assert key(found) == key(pysw_cl.align(a, b, plan=REFERENCE))
