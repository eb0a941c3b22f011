"""Checkpoints of global comparisons in a band: its tiles are kept, and the result is the same."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import tune
from saving import TINY, Enough, interrupted, key, message, related, stop_at, turned

import pysw_cl
from pysw_cl.cli import main as cli
from pysw_cl.errors import Stopped
from pysw_cl.planning.parameters import BandTuning

pytestmark = pytest.mark.usefixtures("small")


def options(**more: Any) -> dict[str, Any]:
    return {"mode": "global", "plan": TINY, **more}


def kinds(folder: Path) -> set[str]:
    return {path.name.partition("-")[0] for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("free_ends", [False, True, (True, False, False, True)], ids=str)
@pytest.mark.parametrize("max_cost", ["auto", 90, 1])
def test_interrupted_anywhere(
    tmp_path: Path, free_ends: Any, max_cost: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ended again and again: no tile is computed twice, and nothing but the band."""
    tune(monkeypatch, {"band.most_beside_pruning": BandTuning().most_covered})
    a, b = related()
    for output in ("path", "score"):
        how = options(free_ends=free_ends, max_cost=max_cost, output=output)
        expected = pysw_cl.align(a, b, **how)
        folder = tmp_path / output
        interrupted(folder, 3, a, b, **how)
        assert "band" in kinds(folder)
        starts: list[int] = []
        for calls in range(4, 1000, 7):
            seen: list[int] = []
            stop = stop_at(calls)

            def watch(done: int, total: int, stop: Any = stop, seen: Any = seen) -> None:
                seen.append(done)
                stop(done, total)

            try:
                found = pysw_cl.resume(folder, progress=watch)
                break
            except Enough:
                starts.append(seen[0])
        assert key(found) == key(expected)
        if "whole" not in kinds(folder):
            assert expected.stats.pruned
            assert starts == sorted(starts) and (len(starts) < 2 or starts[-1] > starts[0])
            if output == "score":
                assert found.stats.cells == expected.stats.cells
            assert found.stats.pruned == expected.stats.pruned
            assert "rows" not in kinds(folder)
        else:  # a promise that does not hold, and then all cells
            assert max_cost == 1 and free_ends
        assert key(pysw_cl.resume(folder)) == key(expected)
        (folder / "result").unlink()
        assert key(pysw_cl.resume(folder)) == key(expected)


def test_an_uninterrupted_run_is_a_plain_one(tmp_path: Path) -> None:
    a, b = related()
    expected = pysw_cl.align(a, b, **options())
    seen: list[tuple[int, int]] = []
    found = pysw_cl.align(
        a, b, checkpoint=tmp_path, progress=lambda *t: seen.append(t), **options()
    )
    assert key(found) == key(expected)
    assert found.stats.cells == expected.stats.cells
    assert found.stats.launches == expected.stats.launches
    assert found.tiles is not None
    assert expected.tiles is not None
    assert np.array_equal(found.tiles.pruned, expected.tiles.pruned)
    assert seen[0][0] == 0 and seen[-1][0] == seen[-1][1] > len(a) * len(b)
    assert len({total for _, total in seen}) == 1
    assert seen == sorted(seen)


def test_all_cells_where_they_are_asked_for(tmp_path: Path) -> None:
    """Without a band, with one that does not pay, and with one that has no room."""
    a, b = related()
    expected = pysw_cl.align(a, b, **options())
    unlike = b[:100]
    for name, texts, more in (
        ("none", (a, b), {"max_cost": None}),
        ("no pruning", (a, b), {"prune": False}),
        ("unlike", (a, unlike), {}),
        ("no room", (a, b), {"disk_size": 14_000}),
    ):
        folder = tmp_path / name
        how = options(**more)
        wanted = expected if texts[1] == b else pysw_cl.align(*texts, **options())
        interrupted(folder, 60, *texts, **how)
        found = pysw_cl.resume(folder)
        assert key(found) == key(wanted)
        assert "rows" in kinds(folder) and "band" not in kinds(folder)
        assert ("whole" in kinds(folder)) == (name in ("unlike", "no room"))


def test_stop_after(tmp_path: Path) -> None:
    a, b = related()
    expected = pysw_cl.align(a, b, **options())
    said = message(
        lambda: pysw_cl.align(a, b, checkpoint=tmp_path, stop_after=0, **options()), Stopped
    )
    assert "% of the cells are done" in said and f"pysw-cl resume {tmp_path}" in said
    stops, found = 0, None
    while found is None:
        try:
            found = pysw_cl.resume(tmp_path, stop_after=0)
        except Stopped as stop:
            stops += 1
            said = str(stop)
    assert "a part of the path" in said and stops > 5
    assert key(found) == key(expected)


def damaged(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 16
    path.write_bytes(data)


@pytest.mark.parametrize("damage", [damaged, Path.unlink], ids=lambda damage: damage.__name__)
def test_damaged_tiles(tmp_path: Path, damage: Any) -> None:
    """Those are computed again, and others are not."""
    a, b = related()
    expected = pysw_cl.align(a, b, **options())
    for number, which in enumerate([[0], [-1], [2, 3], range(100)]):
        folder = tmp_path / str(number)
        interrupted(folder, 12, a, b, **options())
        files = sorted(folder.glob("band-*"))
        assert len(files) > 5
        for k in which:
            if k < len(files):
                damage(files[k])
        assert key(pysw_cl.resume(folder)) == key(expected)


@pytest.mark.parametrize("engine", ["reference", "device"])
def test_with_another_plan(tmp_path: Path, engine: str) -> None:
    a, b = related()
    plans = [TINY, {"lanes": "scalar32", "B": 1, "T": 2, "alpha": 2, "tile_cells": 900}]
    first, second = plans if engine == "reference" else plans[::-1]
    expected = pysw_cl.align(a, b, **options())
    interrupted(tmp_path, 4, a, b, **{**options(), "plan": first})
    found = pysw_cl.resume(tmp_path, plan=second)
    assert key(found) == key(expected)


@pytest.mark.parametrize("turn", [False, True])
def test_both_strands(tmp_path: Path, turn: bool) -> None:
    a, b = related()
    a = turned(a) if turn else a
    expected = pysw_cl.align(a, b, strand="both", **options())
    for calls in (4, 40, 90):
        folder = tmp_path / str(calls)
        interrupted(folder, calls, a, b, **options(strand="both"))
        assert key(pysw_cl.resume(folder)) == key(expected)
        assert not {"band", "rows"} & kinds(folder)


def test_in_the_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = []
    for name, letters in zip("ab", related(), strict=True):
        (tmp_path / f"{name}.fa").write_text(f">{name}\n{letters}\n")
        files.append(str(tmp_path / f"{name}.fa"))
    plan = ",".join(f"{name}={value}" for name, value in TINY.items())
    command = ["align", *files, "--mode", "global", "--max-cost", "120", "--plan", plan]
    assert cli.main(command) == 0
    expected = capsys.readouterr().out
    folder = tmp_path / "job"
    assert cli.main([*command, "--checkpoint", str(folder), "--stop-after", "0.000001s"]) == 3
    assert "band" in kinds(folder)
    assert cli.main(["resume", str(folder)]) == 0
    assert capsys.readouterr().out == expected
    assert "rows" not in kinds(folder)


def test_what_is_said_to_be_done_never_falls(tmp_path: Path) -> None:
    """With and without a callback, over several bands."""
    a, b = related()
    for k, progress in enumerate([None, lambda done, total: None]):
        shares, folder = [0.0], tmp_path / str(k)
        for _ in range(6):
            with pytest.raises(Stopped) as stopped:
                pysw_cl.align(a, b, checkpoint=folder, stop_after=0, progress=progress, **options())
            said = re.search(r"about ([\d.]+)% of the cells", str(stopped.value))
            if said is None:
                break
            shares.append(float(said[1]))
        assert shares == sorted(shares) and shares[-1] > 0
