"""What the tests of narrow lanes share: tiles with edges of all kinds, and which width did what."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from aligning import needs_lanes
from contract_engines import assert_tile, frozen
from helpers import make_scoring, match_scoring, random_pair

from pysw_cl.engines.plans import make_plan
from pysw_cl.engines.reference import ReferenceEngine, fill
from pysw_cl.engines.wavefront.engine import WavefrontEngine
from pysw_cl.opencl.device import get_runtime
from pysw_cl.scoring.precision import UNREACHABLE
from pysw_cl.scoring.scoring import Scoring
from pysw_cl.tiles.edges import Edge
from pysw_cl.tiles.tile import TileJob, TileResult

REFERENCE = ReferenceEngine()
#: Strips of 8 rows in portions of 7 columns; every other plan costs another build of its kernels.
SMALL: dict[str, Any] = {"lanes": "vector", "T": 4, "alpha": 2, "chunk": 7, "form": "ticketed"}
#: Rows of equal cells cost nothing, so (5, -4) with gaps of 3 + 2 k has room for H up to this.
DNA = match_scoring(5, -4, 3, 2)


def engine_of(**plan: Any) -> WavefrontEngine:
    """The engine of a plan, SMALL but for what is given; skips what the device does not run."""
    return _engine(tuple(sorted({**SMALL, "B": 3, **plan}.items())))


@cache
def _engine(plan: tuple[tuple[str, Any], ...]) -> WavefrontEngine:
    wishes = dict(plan)
    needs_lanes(wishes["lanes"])
    runtime = get_runtime("auto")
    return WavefrontEngine(runtime, make_plan(runtime, wishes))


def by_width(cells: dict[str, int]) -> dict[int, int]:
    """Cells by the width that did them: {8: ..., 16: ..., 32: ...}, 0 where none did."""
    found = {8: 0, 16: 0, 32: 0}
    for kind, count in cells.items():
        found[int(kind.rpartition("/")[2])] += count
    return found


def check_tile(engine: WavefrontEngine, job: TileJob) -> dict[int, int]:
    """Edges, best cells and highest score are the reference's; gives the cells by width."""
    found = engine.tile(job)
    assert_tile(found, REFERENCE.tile(job), job.scoring.gap_open)
    widths = by_width(found.cells)
    assert sum(widths.values()) == len(job.query) * len(job.target)
    return widths


def portions(n: int, T: int, chunk: int, strip: int) -> Iterator[tuple[int, int]]:
    """The steps that a ticketed strip does at a time: lanes enter, work, leave; T - 1 steps before
    the strip above does."""
    start, chunk = 0, min(chunk, n + T)
    while start < n + T:
        stop = start + chunk - (start + strip * (T - 1)) % chunk
        stop = min(stop, T if start < T else n if start < n else n + T, n + T)
        yield start, stop
        start = stop


def ladder(job: TileJob, T: int, alpha: int, chunk: int) -> dict[int, int]:
    """Columns of strips that a ticketed walk should do in each width, from the full matrices and
    the rules of docs/algorithm.md; for whole strips."""
    scoring, local = job.scoring, job.floor is not None
    bounds = scoring.bounds
    sides = [(e.h.astype(np.int64), e.x.astype(np.int64)) for e in (job.top, job.left)]
    h = fill(job.query, job.target, scoring, job.floor, job.corner, *sides).h
    m, n = len(job.query), len(job.target)
    columns = {8: 0, 16: 0, 32: 0}
    for strip in range(0, m, T * alpha):
        lanes = [
            (lane, slice(strip + lane * alpha, strip + lane * alpha + alpha + 1))
            for lane in range(T)
        ]
        for start, stop in portions(n, T, chunk, strip // (T * alpha)):
            state = [h[rows, min(max(start - lane, 0), n)] for lane, rows in lanes]
            incoming = np.concatenate([*state, h[strip, start + 1 : stop + 1]])
            inside = [
                h[rows.start + 1 : rows.stop, max(start - lane, 0) + 1 : max(stop - lane, 0) + 1]
                for lane, rows in lanes
            ]
            top = max((part.max() for part in inside if part.size), default=0)
            low, high = int(incoming.min()), int(incoming.max())
            width = stop - start
            gained = high + min(T * alpha, width) * bounds.highest
            lost = low - scoring.gap_open - width * scoring.gap_extend
            least = (max(0, lost) if local else lost) - bounds.depth
            if local and job.best and max(high, top) <= bounds.limit8:
                columns[8] += width
            else:
                columns[16 if gained - least <= 65535 else 32] += width
    return columns


def made_job(
    query: Any,
    target: Any,
    scoring: Scoring,
    local: bool,
    top: Any,
    left: Any,
    corner: int | None = None,
    **more: Any,
) -> TileJob:
    """A tile from codes and from H along its edges (a number or an array), X at its lowest."""
    query, target = (np.array(codes, np.uint8) for codes in (query, target))
    h = [
        np.broadcast_to(np.array(part, np.int32), len(codes)).copy()
        for part, codes in ((top, target), (left, query))
    ]
    edges = [frozen(Edge(part, part - np.int32(scoring.gap_open))) for part in h]
    corner = int(h[0][0]) if corner is None else corner
    return TileJob(query, target, scoring, 0 if local else None, corner, *edges, **more)


def odd_scoring(rng: np.random.Generator, simple: bool) -> Scoring:
    """Scores and gap costs from nothing to very much: compare and select, or a matrix."""
    gap_open = int(rng.choice([0, 0, 1, 3, 11, 60, 200, 5000]))
    gap_extend = int(rng.choice([0, 1, 1, 2, 7, 50, 1000, 20000], p=[0.15] * 6 + [0.05] * 2))
    if simple:
        match = int(rng.choice([1, 2, 5, 5, 31, 100, 127, 3000, 0, -3, -300]))
        mismatch = int(rng.choice([0, -1, -4, -90, -30000]))
        return match_scoring(match, mismatch, gap_open, gap_extend)
    size = int(rng.choice([4, 20, 24]))
    low, high = ((-6, 12), (-128, 128), (-9, 1), (-300, 300), (-20000, 128))[rng.integers(5)]
    matrix = rng.integers(low, high, (size, size))
    if rng.random() < 0.5:
        np.fill_diagonal(matrix, max(0, high - 1))
    return make_scoring(matrix, gap_open, gap_extend)


def odd_edge(rng: np.random.Generator, length: int, scoring: Scoring, local: bool) -> Edge:
    """An edge of any kind: flat, a walk, a slope, with a jump, unreachable in part."""
    bounds = scoring.bounds
    bases = [0, 1, 127, max(0, bounds.limit8), max(0, bounds.limit8 + 1), 255, 32767, 65535, 10**6]
    if not local:
        bases += [-300, -32768, -65535, -100_000, -900_000_000, 400_000_000]
    base = int(rng.choice(bases))
    step = int(rng.choice([0, 1, 5, bounds.highest + scoring.gap_extend]))
    h = base + np.cumsum(rng.integers(-step, step + 1, length))
    if rng.random() < 0.3:
        h = base + np.arange(length) * int(rng.choice([-step, step, -scoring.gap_extend]))
    if rng.random() < 0.3:
        jump = int(rng.choice([-70000, -65535, -300, -20, 20, 300, 65535, 70000]))
        h[rng.integers(length) :] += jump
    x = h - rng.integers(0, scoring.gap_open + 1, length)
    if local:
        low = np.maximum(h, 0)
        return frozen(Edge(low.astype(np.int32), (low - (h - x)).astype(np.int32)))
    if rng.random() < 0.15:
        lost = np.arange(length) >= rng.integers(length + 1)
        lost = lost if rng.random() < 0.5 else ~lost
        h, x = (np.where(lost, UNREACHABLE, part) for part in (h, x))
    return frozen(Edge(h.astype(np.int32), x.astype(np.int32)))


def odd_job(
    rng: np.random.Generator, local: bool, simple: bool, most: int = 70, **more: Any
) -> TileJob:
    """A tile of up to ``most`` rows and columns with an odd scoring and odd edges.  The corner
    is a neighbour of both edges: a gap leads from it to one of them, as in every matrix."""
    scoring = odd_scoring(rng, simple)
    m, n = (int(v) for v in rng.integers(1, most + 1, 2))
    query, target = random_pair(rng, min(scoring.matrix.shape), m, n)
    top, left = (odd_edge(rng, k, scoring, local) for k in (n, m))
    if rng.random() < 0.5:  # what a matrix has: edges that meet
        gap = (
            np.int32(int(top.h[0]) - int(left.h[0]))
            if min(top.h[0], left.h[0]) > UNREACHABLE
            else 0
        )
        h = left.h + gap
        if h.min() > (-1 if local else UNREACHABLE):
            left = frozen(Edge(h, left.x + gap))
    corner = int(max(top.h[0], left.h[0]))
    return TileJob(query, target, scoring, 0 if local else None, corner, top, left, **more)


def told(job: TileJob, result: TileResult | None = None) -> str:
    """A job in words, for a failure."""
    scoring = job.scoring
    return (
        f"query={job.query.tolist()} target={job.target.tolist()} local={job.floor is not None} "
        f"gaps={scoring.gap_open},{scoring.gap_extend} matrix={scoring.matrix.tolist()} "
        f"corner={job.corner} top={job.top.h.tolist()}/{job.top.x.tolist()} "
        f"left={job.left.h.tolist()}/{job.left.x.tolist()} best={job.best} {result}"
    )
