"""Time lines: what is noted of a call, and how it is drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spans

import pysw_cl
from pysw_cl.errors import FormatError, InputError
from pysw_cl.results import plot
from pysw_cl.results.plot import draw_timeline, joined
from pysw_cl.results.stats import Stats
from pysw_cl.tiles.tile import Area, Span

TILES: dict[str, Any] = {"tile_cells": 1 << 10, "traceback_tile_cells": 1 << 10}


def texts(length: int = 400) -> tuple[str, str]:
    rng = np.random.default_rng(3)
    a = "".join(rng.choice([*"ACGT"], length))
    return a, a[: length // 2] + "TTGACCA" + a[length // 2 :]


def made(*times: tuple[str, float, float, str]) -> Stats:
    tile = Area(0, 1, 0, 1)
    listed = [Span(*one, None if one[3] == "path" else tile) for one in times]
    return Stats(seconds=10.0, spans=listed)


@pytest.mark.parametrize("how", [
    {}, {"plan": TILES}, {"plan": TILES, "prune": False, "strand": "both"},
    {"mode": "global"}, {"mode": "global", "max_cost": None, "plan": TILES},
    {"plan": {"engine": "reference"}}, {"plan": {"engine": "rowscan"}}, {"output": "score"},
    {"mode": "global", "plan": TILES, "output": "ends"},
])  # fmt: skip
def test_what_is_noted(how: dict[str, Any]) -> None:
    found = pysw_cl.align(*texts(), timeline=True, **how)
    strands = 1 + (how.get("strand") == "both")
    banded = how.get("mode") == "global" and "max_cost" not in how
    devices = spans.check(found, None if banded else strands)
    assert devices == {found.plan.device or "reference"}
    tiles = how.get("plan") == TILES
    assert len(found.stats.spans) > (10 if tiles else 0)
    if tiles and "output" not in how:
        assert {one.what for one in found.stats.spans} == {"sweep", "path"}
    assert pysw_cl.align(*texts(), **how).stats.spans == []


def test_a_checkpoint_has_those_of_the_last_run(tmp_path: Path) -> None:
    how: dict[str, Any] = {"checkpoint": tmp_path, "plan": TILES}
    found = pysw_cl.align(*texts(), timeline=True, **how)
    spans.check(found)
    again = pysw_cl.align(*texts(), timeline=True, **how)
    assert again.score == found.score and again.stats.spans == []
    with pytest.raises(InputError, match="no time line"):
        again.plot_timeline(tmp_path / "x.png")


def test_joined() -> None:
    some = made(("a", 3, 4, "sweep"), ("a", 0, 2, "sweep"), ("a", 1, 1.5, "path"),
                ("a", 4.5, 5, "path")).spans  # fmt: skip
    assert joined(some) == [(0, 2), (3, 1), (4.5, 0.5)]
    assert joined(some, 0.5) == [(0, 2), (3, 2)]
    assert joined([]) == []


def test_what_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    stats = made(
        ("b, 10 of 12", 1, 3, "sweep"), ("b, 2 of 12", 0, 4, "sweep"), ("b, 2 of 12", 6, 8, "path")
    )
    axes = draw_timeline(stats).axes[0]
    assert [one.get_text() for one in axes.get_yticklabels()] == ["b, 2 of 12", "b, 10 of 12"]
    assert [one.get_text() for one in axes.texts] == ["60.0% busy", "20.0% busy"]
    assert axes.get_xlim() == (0, 10) and axes.yaxis_inverted()
    assert [one.get_text() for one in axes.get_legend().get_texts()] == ["sweep", "path"]
    bars = [[path.get_extents().intervalx.tolist() for path in one.get_paths()]
            for one in axes.collections]  # fmt: skip
    assert bars == [[[0, 4]], [[6, 8]], [[1, 3]], []]
    colours = [tuple(one.get_facecolor()[0]) for one in axes.collections[:3]]
    assert colours[0] == colours[2] != colours[1]
    found = pysw_cl.align(*texts(), timeline=True)
    assert found.plot_timeline(tmp_path / "x.svg") is None
    assert "% busy" in (tmp_path / "x.svg").read_text()


def test_pictures_that_cannot_be_written(tmp_path: Path) -> None:
    """Are refused before as when they are written."""
    pytest.importorskip("matplotlib")
    found = pysw_cl.align(*texts(), timeline=True)
    for path, kind, said in (
        ("x.doc", InputError, r"x\.doc: no picture of this format"),
        ("missing/x.png", FormatError, "cannot be written: No such file"),
    ):
        for write in (plot.check, found.plot_timeline):
            with pytest.raises(kind, match=said):
                write(tmp_path / path)
    for path in ("x", "x.PNG", "x.pdf"):
        plot.check(tmp_path / path)
