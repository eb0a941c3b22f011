"""The picture of a search: a bar for each hit where it lies in the query, coloured by its score."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from writing import AMINO, PLAN, named, random_text

import pysw_cl
from pysw_cl.errors import InputError
from pysw_cl.results import search_plot
from pysw_cl.results.search_plot import MOST, MOST_QUERIES

figure = pytest.importorskip("matplotlib.figure")
PLACES = (0, 60), (10, 55), (30, 60), (5, 20)


def hits_of(name: str = "q$1", count: int = 4) -> pysw_cl.Hits:
    """Hits of pieces of a query."""
    query = named(name, random_text(np.random.default_rng(2), AMINO, 60, 61))
    found = []
    for k in range(count):
        start, end = PLACES[k % 4]
        target = named(f"s{k}", str(query[start:end]))
        r = pysw_cl.align(query, target, sub_score="BLOSUM62", plan=PLAN)
        found.append(pysw_cl.Hit(**vars(r), number=k))
    return pysw_cl.Hits(query, found)


def axes_of(hits: Any) -> Any:
    axes = figure.Figure().add_subplot()
    assert hits.plot(ax=axes) is axes
    return axes


def test_bars_lie_where_the_hits_do() -> None:
    hits = hits_of()
    axes = axes_of(hits)
    bars = [(bar.get_x(), bar.get_x() + bar.get_width(), bar.get_y()) for bar in axes.patches]
    assert [(start, end) for start, end, _ in bars] == list(PLACES)
    assert [y for *_, y in bars] == sorted({y for *_, y in bars})
    assert [label.get_text() for label in axes.get_yticklabels()] == ["s0", "s1", "s2", "s3"]
    assert axes.get_title() == r"q\$1: 60 letters, 4 of 4 hits"
    assert axes.get_xlim() == (0, 60) and axes.yaxis_inverted()
    colours = [bar.get_facecolor() for bar in axes.patches]
    assert len(set(colours)) == 4
    (bar,) = (one for one in axes.figure.axes if one is not axes)
    assert (bar.get_ylabel(), bar.get_ylim()[1]) == ("score", hits[0].score)


def test_hits_of_one_subject_share_a_line() -> None:
    hits = hits_of()
    more = [replace(hits[2], number=0), replace(hits[3], number=1)]
    axes = axes_of(pysw_cl.Hits(hits.query, [*hits[:2], *more]))
    assert [round(bar.get_y() + 0.4) for bar in axes.patches] == [0, 1, 0, 1]


def test_many_hits_and_none() -> None:
    axes = axes_of(hits_of(count=MOST + 5))
    assert len(axes.patches) == MOST
    assert axes.get_title().endswith(f", {MOST} of {MOST + 5} hits")
    axes = axes_of(pysw_cl.Hits(named("none", "MKV")))
    assert not axes.patches and axes.get_title() == "none: 3 letters, 0 of 0 hits"


@pytest.mark.parametrize("end", ["png", "svg", "pdf"])
def test_files(tmp_path: Path, end: str) -> None:
    """The first queries are below each other."""
    path = tmp_path / f"x.{end}"
    names = [f"query{k}" for k in range(MOST_QUERIES + 2)]
    assert search_plot.plot([hits_of(name) for name in names], path) is None
    assert path.stat().st_size > 1000
    if end == "svg":
        text = path.read_text()
        assert [f"<!-- {name}: 60 letters, 4 of 4 hits -->" in text for name in names] == (
            [True] * MOST_QUERIES + [False] * 2
        )


def test_it_needs_paths(tmp_path: Path) -> None:
    r = pysw_cl.align("MKV", "MKV", sub_score="BLOSUM62", output="ends", plan=PLAN)
    hits = pysw_cl.Hits(r.query, [pysw_cl.Hit(**vars(r), number=0)])
    with pytest.raises(InputError, match="align with output='path'"):
        hits.plot(tmp_path / "x.png")
    assert not list(tmp_path.iterdir())
    with pytest.raises(InputError, match="ax must be axes"):
        hits.plot(ax=3)
