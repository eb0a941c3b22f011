"""The map of tiles of runs with a checkpoint, resumed ones, too: that of a plain run."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from saving import (
    Enough,
    interrupted,
    key,
    options,
    pair,
    rows,
    stop_at,
    tight,
    turned,
)
from tuned import tuned

import pysw_cl
from pysw_cl.checkpoint.container import SealedFile
from pysw_cl.drivers.problem import FreeEnds, Problem
from pysw_cl.engines import reference
from pysw_cl.scoring.scoring import make_scoring
from pysw_cl.tiles.slabs import MOST, TileMap
from pysw_cl.tiles.tile import Area

SMALL = {"engine": "reference", "tile_cells": 900, "traceback_tile_cells": 1000}


def same(one: TileMap | None, other: TileMap | None) -> bool:
    assert one is not None
    assert other is not None
    return (
        np.array_equal(one.rows, other.rows)
        and np.array_equal(one.columns, other.columns)
        and np.array_equal(one.scores, other.scores, equal_nan=True)
        and np.allclose(one.pruned, other.pruned, rtol=0, atol=1e-12)
    )


def pruned_cells(tiles: TileMap | None) -> float:
    assert tiles is not None
    return float((tiles.pruned * np.outer(np.diff(tiles.rows), np.diff(tiles.columns))).sum())


def local_h(a: str, b: str) -> np.ndarray:
    """H of all cells."""
    scoring = make_scoring()
    codes = (np.frombuffer(text.encode(), np.uint8) for text in (a, b))
    query, target = next(codes), next(codes)
    codes = scoring.encode(query, "query"), scoring.encode(target, "target")
    problem = Problem.of(*codes, scoring, "local", FreeEnds())
    zeros = (np.zeros(len(side), np.int64) for side in (b, a))
    top, left = ((h, h - scoring.gap_open) for h in zeros)
    matrices = reference.fill(problem.query, problem.target, scoring, 0, 0, top, left)
    return matrices.h[1:, 1:]


@pytest.mark.parametrize("strand", ["plus", "minus", "both"])
@pytest.mark.parametrize("mode", ["local", "global"])
def test_one_band_has_the_map_of_a_plain_run(tmp_path: Path, mode: str, strand: str) -> None:
    """Same tiles, same picture, also from the folder of a finished run."""
    a, b = pair(250)
    how: dict[str, Any] = {
        "mode": mode, "strand": strand, "output": "score", "plan": SMALL, "max_cost": None,
        "sub_score": (1, -2.5), "query_range": (10, 240),
    }  # fmt: skip
    plain = pysw_cl.align(turned(a), b, **how)
    del how["max_cost"]
    with (
        tuned({"saving.most_rows": 1, "saving.fill_times": 1 << 30}),
    ):
        found = pysw_cl.align(turned(a), b, checkpoint=tmp_path, **how)
    assert found.tiles is not None
    cuts = found.tiles.rows, found.tiles.columns
    assert all(len(cut) > 5 if mode == "local" else len(cut) == 2 for cut in cuts)
    assert same(found.tiles, plain.tiles)
    assert same(pysw_cl.resume(tmp_path).tiles, plain.tiles)
    assert found.stats.pruned == plain.stats.pruned


@pytest.mark.parametrize("output", ["path", "score"])
@pytest.mark.parametrize("calls", [150, 400, 650])
def test_a_resumed_run_has_the_whole_map(tmp_path: Path, output: str, calls: int) -> None:
    """Every tile has the highest score in it, whichever run computed it."""
    a, b = pair(250)
    plan = {**SMALL, "tile_cells": 64}
    with tight():
        how = options(output=output, plan=plan, prune=False, disk_size=60_000)
        interrupted(tmp_path, calls, a, b, **how)
        before = len(rows(tmp_path))
        with pytest.raises(Enough):
            pysw_cl.resume(tmp_path, progress=stop_at(200))
        assert len(rows(tmp_path)) > before > 0
        found = pysw_cl.resume(tmp_path)
    tiles, h, bands = found.tiles, local_h(a, b), {}
    for path in rows(tmp_path):
        facts = SealedFile(path).facts
        part = bands[facts["start"]] = TileMap.of_facts(facts["tiles"])
        tops = np.maximum.reduceat(h[facts["start"] : facts["end"]], part.rows[:-1], axis=0)
        assert np.array_equal(part.scores, np.maximum.reduceat(tops, part.columns[:-1], axis=1))
    assert same(tiles, TileMap.joined(h.shape, bands))
    assert tiles is not None
    assert len(tiles.rows) > 20 < len(tiles.columns)
    tops = np.maximum.reduceat(h.max(axis=1), tiles.rows[:-1])
    assert np.array_equal(tiles.scores.max(axis=1), tops)
    assert not tiles.pruned.any()
    assert same(pysw_cl.resume(tmp_path).tiles, tiles)


@pytest.mark.parametrize("strand", ["plus", "both"])
@pytest.mark.parametrize("output", ["path", "score"])
def test_what_was_pruned_is_in_the_map(tmp_path: Path, output: str, strand: str) -> None:
    a, b = pair(300)
    with tight():
        interrupted(tmp_path, 60, a, b, **options(output=output, plan=SMALL, strand=strand))
        found = pysw_cl.resume(tmp_path)
    assert found.tiles is not None
    assert np.nanmax(found.tiles.scores) == found.score
    if strand == "plus":
        assert pruned_cells(found.tiles) == pytest.approx(found.stats.pruned)
    assert 0 < pruned_cells(found.tiles) <= found.stats.pruned
    row = int(np.searchsorted(found.tiles.rows, found.query_end or 0)) - 1
    if output == "path":
        assert np.nanmax(found.tiles.scores[row]) == found.score


@pytest.mark.parametrize("output", ["path", "score"])
def test_a_lost_band(tmp_path: Path, output: str) -> None:
    """A path computes it again; a score does without, and knows nothing of it."""
    a, b = pair(250)
    with tight():
        how = options(output=output, plan=SMALL, prune=False)
        whole = pysw_cl.align(a, b, checkpoint=tmp_path / "whole", **how)
        interrupted(tmp_path / "job", 60, a, b, **how)
        lost = rows(tmp_path / "job")[1]
        lost.unlink()
        found = pysw_cl.resume(tmp_path / "job")
    assert key(found) == key(whole)
    assert found.tiles is not None
    empty = np.isnan(found.tiles.scores).all(axis=1)
    if output == "path":
        assert not empty.any()
    else:
        start, end = (int(part) for part in lost.name.split("-")[1:])
        assert [start, end] == found.tiles.rows[np.flatnonzero(empty)[0] :][:2].tolist()
        assert empty.sum() == 1


@pytest.mark.parametrize("count", [3, MOST, 150])
def test_maps_of_bands_are_joined(count: int) -> None:
    """As one map of all, also where there are more columns than a map has."""
    rng = np.random.default_rng(count)
    cuts = [np.cumsum(rng.integers(1, 9, k + 1)) for k in (20, count)]
    row_cuts, column_cuts = ([0, *cut[1:].tolist()] for cut in cuts)
    shape = row_cuts[-1], column_cuts[-1]
    tops: dict[Area, int] = {}
    skipped: dict[Area, float] = {}
    for row, row_end in pairwise(row_cuts):
        for column, column_end in pairwise(column_cuts):
            area = Area(row, row_end, column, column_end)
            kind = rng.integers(0, 3)
            if kind == 0:
                skipped[area] = 1.0
            else:
                tops[area] = int(rng.integers(0, 1000))
            if kind == 1:
                skipped[area] = int(rng.integers(0, area.cells)) / area.cells
    bands = {}
    for start, stop in ((0, 1), (1, 8), (8, 20)):
        first, last = row_cuts[start], row_cuts[stop]

        def inside(areas: Any, first: int = first, last: int = last) -> Any:
            return {area: areas[area] for area in areas if first <= area.row < last}

        size = last - first, shape[1]
        band = TileMap.of(size, inside(tops), inside(skipped), first)
        again = TileMap.of_facts(json.loads(json.dumps(band.facts())))
        assert same(again, band)
        bands[first] = again
    assert same(TileMap.joined(shape, bands), TileMap.of(shape, tops, skipped))


def test_pictures_of_resumed_runs(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from pysw_cl.results.plot import draw

    a, b = pair(250)
    with tight():
        interrupted(tmp_path, 60, a, b, **options(plan=SMALL))
        found = pysw_cl.resume(tmp_path)
    for result in (found, pysw_cl.resume(tmp_path)):
        figure = draw(result)
        assert len(figure.axes) == 2  # a colour bar
        assert "pruned" in figure.axes[0].get_legend_handles_labels()[1][0]
        result.plot(tmp_path / "picture.png")
        assert (tmp_path / "picture.png").stat().st_size > 10_000
        (tmp_path / "picture.png").unlink()
