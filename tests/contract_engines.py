"""What the suites of the tile contract share: every engine, tiles, and what must come out."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pytest
from aligning import needs_lanes
from helpers import random_pair

from pysw_cl.engines.reference import Matrices, fill
from pysw_cl.engines.registry import engine_for
from pysw_cl.opencl.device import get_runtime
from pysw_cl.planning import parameters
from pysw_cl.planning.lane_sets import LANE_SETS
from pysw_cl.scoring.precision import UNREACHABLE
from pysw_cl.scoring.scoring import Scoring
from pysw_cl.sequences.view import Codes, Pairs, View
from pysw_cl.tiles.contract import Engine
from pysw_cl.tiles.edges import Edge, EdgeArray, Edges, Source
from pysw_cl.tiles.graph import Rectangle
from pysw_cl.tiles.slabs import SweepResult
from pysw_cl.tiles.sweep import sweep
from pysw_cl.tiles.tile import Hit, Limits, TileJob, TileResult, Want

_SMALL = {"T": 4, "alpha": 2, "chunk": 7}
_NARROW = {"lanes": "vector", **_SMALL}
_VECTOR, _SCALAR = {"lanes": "vector32", **_SMALL}, {"lanes": "scalar32", **_SMALL}
#: Groups of two: those of four, which row scans and tests of races have, take a CPU's compiler
#: three times as long.
_PAIR = {**_SCALAR, "T": 2}
#: Plans of the wavefront engine; those of one T and alpha share their kernels.
PLANS: dict[str, dict[str, Any]] = {
    "default": {},
    "narrow-ticketed": {**_NARROW, "form": "ticketed", "B": 3},
    "narrow-wider": {**_NARROW, "form": "ticketed", "B": 2, "T": 16, "alpha": 3, "chunk": 40},
    "narrow-two-phase": {**_NARROW, "form": "two-phase", "B": 2},
    "ticketed": {**_VECTOR, "form": "ticketed", "B": 3},
    "one-lane": {**_VECTOR, "form": "ticketed", "B": 2, "T": 1, "alpha": 3, "chunk": 1},
    **{f"two-phase-{B}": {**_VECTOR, "form": "two-phase", "B": B} for B in (1, 2, 3, 4, 5)},
    "scalar-ticketed": {**_PAIR, "form": "ticketed", "B": 3},
    "scalar-two-phase": {**_PAIR, "form": "two-phase", "B": 2},
}
#: Sections of tiles of any size, which overlap so little that many are refused.
_IN_SECTIONS = {
    "form": "ticketed",
    "B": 3,
    "sections.least_cells": 1,
    "sections.least_columns": 1,
    "sections.least_aspect": 0,
    "sections.rounds": 2,
    "sections.first_overlap": 2,
    "sections.most_overlap": 1000,
    "sections.most_refused": 1,
    "sections.most_cost": 1000,
    "sections.most_cost_beside_pruning": 1000,
}
#: Sections that overlap by as much as is proven to be enough.
_PROVEN = {**_IN_SECTIONS, "sections.most_share": 1000}
#: What makes each engine that the contract is checked for: a row each.
ENGINES: dict[str, dict[str, Any]] = {
    "reference": {"engine": "reference"},
    **PLANS,
    "sections": {**_NARROW, **_IN_SECTIONS},
    "sections-proven": {**_NARROW, **_PROVEN},
    "sections-vector": {**_VECTOR, **_IN_SECTIONS},
    "rowscan": {"engine": "rowscan"},
    "rowscan-short": {"engine": "rowscan", "lanes": "vector32", "T": 4, "alpha": 3, "chunk": 2},
    "rowscan-one": {"engine": "rowscan", "lanes": "vector32", "T": 1, "alpha": 2, "B": 3},
    "rowscan-three": {"engine": "rowscan", "form": "three-launch", **_SCALAR},
    "rowscan-scalar": {"engine": "rowscan", "lanes": "scalar32", "T": 4, "alpha": 2, "B": 3},
}
#: What cells are counted under: a lane set without its width.
FAMILIES = {
    name: {one.family, LANE_SETS[one.instead[0] if one.instead else name].family}
    for name, one in LANE_SETS.items()
}

every_engine = pytest.mark.parametrize("name", list(ENGINES))


def make_engine(name: str) -> Engine:
    """The engine of one of ENGINES, on the device that "auto" means; skips what it cannot run."""
    lanes = ENGINES[name].get("lanes")
    if lanes is not None:
        needs_lanes(lanes)
    return _engine(name, parameters.usual)


@cache
def _engine(name: str, tuning: parameters.Tuning) -> Engine:
    return engine_for("auto", ENGINES[name])


def counted(name: str, cells: dict[str, int]) -> int:
    """How many cells an engine says it computed, all of them under its own lane set."""
    lanes = ENGINES[name].get("lanes", get_runtime("auto").info.lanes)
    engine = ENGINES[name].get("engine", "wavefront")
    families = tuple(f"{engine}/{family}/" for family in FAMILIES[lanes])
    if name == "reference":
        families = ("reference/numpy/",)
    assert all(kind.startswith(families) for kind in cells), cells
    return sum(cells.values())


def frozen(edge: Edge) -> Edge:
    """The edge, read-only: an engine that writes into what it was given fails."""
    edge.h.setflags(write=False)
    edge.x.setflags(write=False)
    return edge


def random_edge(
    rng: np.random.Generator, length: int, opening: int, local: bool, base: int
) -> Edge:
    """Any H near ``base`` (not below 0 where local), any X within [H - gap_open, H]."""
    h = base + np.cumsum(rng.integers(-4, 5, length))
    if local:
        h = np.maximum(h, 0)
    x = h - rng.integers(0, opening + 1, length)
    return frozen(Edge(h.astype(np.int32), x.astype(np.int32)))


def random_job(
    rng: np.random.Generator,
    m: int,
    n: int,
    scoring: Scoring,
    local: bool,
    base: int = 0,
    **more: Any,
) -> TileJob:
    """A tile somewhere inside a matrix, with edges that hold anything that they may."""
    query, target = random_pair(rng, min(scoring.matrix.shape), m, n)
    opening = scoring.gap_open
    corner = max(0, base) if local else base
    top, left = (random_edge(rng, k, opening, local, base) for k in (n, m))
    return TileJob(query, target, scoring, 0 if local else None, corner, top, left, **more)


def assert_edge(found: Edge | None, wanted: Edge | None, opening: int) -> None:
    """Equal to the last cell, and a well-formed edge."""
    if wanted is None or found is None:
        assert found is wanted
        return
    found, wanted = (edge.read(0, len(edge)) for edge in (found, wanted))
    assert found.h.dtype == found.x.dtype == np.int32
    np.testing.assert_array_equal(found.h, wanted.h)
    np.testing.assert_array_equal(found.x, wanted.x)
    within = (found.x <= found.h) & (found.x >= found.h.astype(np.int64) - opening)
    lost = (found.h == UNREACHABLE) & (found.x == UNREACHABLE)
    assert (within | lost).all()


def assert_tile(found: TileResult, wanted: TileResult, opening: int) -> None:
    """Same edges and hits."""
    assert_edge(found.right, wanted.right, opening)
    assert_edge(found.bottom, wanted.bottom, opening)
    assert found.hits == wanted.hits
    assert found.top == wanted.top
    assert [hit.score for hit in found.hits] == [hit.score for hit in wanted.hits]


def full_matrices(
    query: Codes, target: Codes, scoring: Scoring, floor: int | None, edges: Edges
) -> Matrices:
    """H, E and F of the whole rectangle, from the definition."""
    top, left = edges.top.read(0, len(target)), edges.left.read(0, len(query))
    sides = [(e.h.astype(np.int64), e.x.astype(np.int64)) for e in (top, left)]
    return fill(query, target, scoring, floor, edges.corner, *sides)


def row_of(full: Matrices, row: int) -> Edge:
    """The edge along a row of the whole rectangle."""
    x = full.opened(full.f, row, slice(1, None))
    return Edge(full.h[row, 1:].astype(np.int32), x.astype(np.int32))


def column_of(full: Matrices, column: int) -> Edge:
    """The edge along a column of the whole rectangle."""
    x = full.opened(full.e, slice(1, None), column)
    return Edge(full.h[1:, column].astype(np.int32), x.astype(np.int32))


def run_sweep(
    name: str,
    query: Codes | View,
    target: Codes | View,
    scoring: Scoring,
    floor: int | None,
    corner: int,
    top: Source,
    left: Source,
    want: Want | None = None,
    limits: Limits | None = None,
    **more: Any,
) -> tuple[SweepResult, Edge, Edge]:
    """A sweep that keeps its bottom and right edge.  ``executor``: what computes its tiles."""
    q, t = (part if isinstance(part, View) else View(part) for part in (query, target))
    bottom, right = EdgeArray(len(t)), EdgeArray(len(q))
    sinks = {key: more.pop(key) for key in ("rows", "columns") if key in more}
    edges = Edges(corner, top, left, bottom, right, **sinks)
    engine, executor = make_engine(name), more.pop("executor", None)
    if executor is not None:
        engine = copy(engine)
        engine.executor, engine.devices = lambda _: executor, 0  # type: ignore[method-assign]
    result = sweep(engine, Rectangle(q, t, scoring, floor), edges, want, limits, **more)
    return result, bottom.read(0, len(t)), right.read(0, len(q))


def places(hits: list[Hit] | tuple[Hit, ...]) -> list[tuple[int, int, int]]:
    """Hits as plain numbers: score, row, column."""
    return [(hit.score, hit.row, hit.column) for hit in hits]


def random_pairs(rng: np.random.Generator, m: int, n: int) -> Pairs:
    """Some pairs of a tile, sorted, one at least: a run along a diagonal and single ones; not the
    first of all, whose diagonal neighbour may have no way around it here."""
    start = rng.integers(0, (m, n))
    run = start + np.arange(min(m - start[0], n - start[1]))[:, None]
    single = rng.integers(0, (m, n), (int(rng.integers(1, 2 + m * n // 8)), 2))
    pairs = np.unique(np.concatenate([run, single, [[m - 1, n - 1]]]), axis=0)
    return np.ascontiguousarray(pairs[pairs.any(axis=1)].T)


@dataclass
class Stairs:
    """A corridor that starts in the same column for several rows of tiles, then jumps, and that
    gets narrower again."""

    n: int
    asked: list[tuple[int, int, int, int]] = field(default_factory=list)
    seen: list[tuple[int, int, Edge]] = field(default_factory=list)

    def columns(self, row: int, row_end: int) -> tuple[int, int]:
        first = max(0, (row - 30) // 20 * 20)
        last = min(self.n, row_end + (25 if row < 60 else 9))
        self.asked.append((row, row_end, first, last))
        return first, last

    def passed(self, row: int, column: int, edge: Edge) -> bool:
        self.seen.append((row, column, Edge(edge.h.copy(), edge.x.copy())))
        return True
