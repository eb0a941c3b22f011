"""Predicted device memory, against what was allocated, and on devices that are not here."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers import device_has
from pipelining import chains
from speculating import PLANS, constants
from tuned import tuned

import pysw_cl
from pysw_cl.engines.registry import plan_on
from pysw_cl.engines.rowscan.plan import RowscanPlan, default_rowscan
from pysw_cl.engines.wavefront.descriptors import RecordWord, TileWord
from pysw_cl.opencl.device import get_runtime
from pysw_cl.planning import execution, memory, sizes
from pysw_cl.planning.facts import DeviceFacts
from pysw_cl.planning.memory import Memory, device_memory, too_large
from pysw_cl.planning.model.times import GENERIC
from pysw_cl.planning.plan import Plan
from pysw_cl.planning.program import Given, Seen
from pysw_cl.scoring.scoring import make_scoring

DNA, PROTEIN = (np.frombuffer(text, np.uint8) for text in (b"ACGT", b"ARNDCQEGHILKMFPSTWYV"))
SCORING = make_scoring((1, -3), (3, 2))
#: Sections of small tiles.
SECTIONS = {
    "sections.least_cells": 1,
    "sections.least_columns": 100,
    "sections.least_aspect": 0,
    "sections.rounds": 4,
    "sections.most_cost": 1000,
    "sections.most_cost_beside_pruning": 1000,
    "sections.most_refused": 1,
    "sections.first_overlap": 64,
}
#: Small strips, for which other tests build kernels, too.
STRIPS = {"lanes": "vector", "T": 4, "alpha": 2, "B": 3, "chunk": 5}
#: An H200, and its plan.
H200 = DeviceFacts(
    memory=150_000_000_000,
    largest=37_500_000_000,
    units=132,
    schedulers=4,
    byte_permute=True,
    speculative=True,
)
PACKED = Plan(
    lanes="packed",
    B=12 * 132,
    alpha=25,
    chunk=128,
    tile_cells=1 << 46,
    traceback_tile_cells=1 << 28,
)


def _letters(m: int, n: int, related: bool, letters: Any = DNA) -> tuple[Any, Any]:
    rng = np.random.default_rng(m + n)
    b = letters[rng.integers(0, len(letters), max(m, n))]
    a = b[:m] if related else letters[rng.integers(0, len(letters), m)]
    return a.copy(), b[:n].copy()


def _foreseen(
    plan: Plan,
    m: int,
    n: int,
    device: DeviceFacts = H200,
    output: str = "score",
    free_ends: tuple[bool, ...] = (False,) * 4,
    **how: Any,
) -> Memory:
    how = {"scoring": SCORING, "seen": Seen(few=True), **how}
    local = how.pop("mode", "local") == "local"
    setting = Given(plan, local=local, device=device, paths=int(output == "path"), **how)
    return device_memory(setting, m, n, free_ends)


def _share(
    m: int, n: int, plan: Any = None, letters: Any = DNA, related: bool = True, **how: Any
) -> float:
    """Predicted over allocated bytes of a comparison."""
    a, b = _letters(m, n, related, letters)
    scores: dict[str, Any] = {}
    if letters is PROTEIN:
        scores = {"sub_score": "BLOSUM62", "gap_cost": (10, 1)}
    if how.get("mode") == "global":
        how["max_cost"] = None
    how.setdefault("output", "score")
    found = pysw_cl.align(a, b, plan=plan, device="auto", **scores, **how)
    how.pop("max_cost", None)
    runtime = get_runtime("auto")
    if plan is None:
        how |= {"holds": True, "row_scan": default_rowscan(runtime)}
    facts = runtime.facts
    memory = _foreseen(plan_on(runtime, plan), m, n, facts, scoring=found.scoring, **how)
    return memory.total / found.stats.device_bytes


@pytest.mark.parametrize("mode", ["local", "global"])
@pytest.mark.parametrize("size", [(200, 300), (3000, 4000), (30, 100_000), (40_000, 50)])
def test_scores(size: tuple[int, int], mode: str) -> None:
    assert _share(*size, mode=mode) == 1


def test_free_ends_and_proteins() -> None:
    for free in [(True,) * 4, (True, False, False, False), (False, True, False, False)]:
        assert _share(900, 800, STRIPS, mode="global", free_ends=free, output="ends") == 1
    assert (
        _share(900, 1100, letters=PROTEIN) == _share(900, 1100, None, PROTEIN, mode="global") == 1
    )
    assert _share(2000, 1900, letters=PROTEIN) == 1


@pytest.mark.parametrize(
    "plan", [STRIPS, {"form": "two-phase", **STRIPS}, {"tile_cells": 1 << 17}, {"B": 5, **STRIPS}]
)
def test_plans(plan: dict[str, Any]) -> None:
    for mode in ("local", "global"):
        assert _share(1500, 1100, plan, mode=mode) == 1


@pytest.mark.parametrize("share", [0.0, 10.0])
def test_sections(share: float) -> None:
    """Those whose overlap is checked, and those that need no check."""
    plan = {**SECTIONS, "sections.most_share": share, "sections.most_overlap": 10}
    assert _share(90, 6000, plan, related=False) == 1
    assert _share(300, 6000, {**plan, **STRIPS}, related=False) == 1
    free = (True, True, False, False)
    assert _share(90, 6000, plan, related=False, mode="global", free_ends=free) == 1


@pytest.mark.parametrize("form", ["ticketed", "three-launch"])
def test_row_scan(form: str) -> None:
    for mode, letters in [("local", DNA), ("global", PROTEIN)]:
        plan = {"engine": "rowscan", "form": form}
        assert _share(100, 3000, plan, letters, mode=mode) == 1
    assert _share(100, 3000, {**plan, "tile_cells": 1 << 16}) == 1


def test_the_reference_takes_none() -> None:
    plan = plan_on(get_runtime("auto"), {"engine": "reference"})
    assert _foreseen(plan, 100, 100) == Memory()


@pytest.mark.parametrize("mode", ["local", "global"])
def test_paths(mode: str) -> None:
    assert _share(400, 500, mode=mode, output="path") == 1
    for side, plan in [
        (4096, None),
        (5000, {"alpha": 8}),  # strips whose rows let the grid cut it near the middle
        (9000, {"tile_cells": 1 << 24}),
        (9000, {"form": "two-phase"}),
    ]:
        assert _share(side, side, plan, mode=mode, output="path") == pytest.approx(1, abs=0.01)


def test_paths_through_finer_grids() -> None:
    """A grid cell's moves do not fit; how it is cut depends on where the path enters it."""
    plan = {"traceback_tile_cells": 1 << 20}
    assert 1 <= _share(9000, 9000, plan, output="path") < 1.15  # along the diagonal
    assert _share(3000, 9000, {"traceback_tile_cells": 1 << 18}, output="path") >= 1


def test_pipelines() -> None:
    """A chain of tiles takes memory for as many as it may have at once."""
    with chains() as seen, tuned({"sweep.longest_side": 64}):
        plan = {**STRIPS, "form": "ticketed", "pipeline.depth": 2}
        found = _share(2400, 900, plan, related=False)
        assert seen.tiles > 3 and found == 1


@pytest.mark.parametrize("most", [500_000_000, 300_000])
def test_paths_ahead(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Speculative tiles, with as much memory for a path as they want, and with little."""
    device_has(monkeypatch, speculative=True)
    constants(monkeypatch, first_cells=4)
    memory = {"traceback.path_bytes": most, "traceback.side_bytes": 10}
    plan = {"form": "ticketed", **memory, **PLANS["vector"], "T": 8, "alpha": 4}
    assert _share(6000, 6000, plan, output="path") == pytest.approx(1, abs=0.05)


def test_an_h200_by_hand() -> None:
    """A sweep of 5 x 5 Mb: the parts, each as its buffers are."""
    m = n = 5_000_000
    plan = PACKED.for_size(m, n)
    assert plan is not None
    padded = -(-m // plan.strip_rows) * plan.strip_rows
    bus = 8 * (n + 2 * plan.T) * 2
    edges_and_letters = bus + 8 * padded + padded + n
    found = _foreseen(PACKED, m, n)
    assert found.largest == bus
    assert edges_and_letters < found.total < edges_and_letters + (100 << 20)


def test_an_h200_chains_long_matrices() -> None:
    """Longer sides than a tile's: as many tiles as have a place, and a ring of lines."""
    n = 20_000_000
    slots = PACKED.tuning.pipeline.depth + PACKED.tuning.pipeline.more
    bus = 8 * n * (slots + 3)
    assert bus <= _foreseen(PACKED, n, n).largest < 1.01 * bus
    assert _foreseen(PACKED, 8_000_000, 8_000_000).largest < bus / 9


def test_an_h200_keeps_paths_in_their_memory() -> None:
    """500 MB and 100 bytes for each letter of both sequences."""
    for m in (100_000, 1_000_000, 5_000_000):
        found = _foreseen(PACKED, m, m, output="path", mode="global")
        score = _foreseen(PACKED, m, m, mode="global")
        assert score.total < found.total <= 500_000_000 + 200 * m


def test_an_h200_takes_the_row_scan_for_few_rows() -> None:
    rows_of_warps = {"hop": 1e-9, "column": 1e-9, "row": 1e-9}
    times = {"rowscan/warp32": rows_of_warps, "wavefront/packed": {"column": 1e-5, "row": 1e-6}}
    known = GENERIC.having(times).on(4 * 132)
    scan = RowscanPlan(lanes="warp32", T=64, alpha=16, B=PACKED.B, machine=known)
    plan, n = replace(PACKED, machine=known), 30_000_000
    how: dict[str, Any] = {"mode": "global"}  # of which there are no sections
    strips, rows = _foreseen(plan, 20, n, **how), _foreseen(plan, 20, n, row_scan=scan, **how)
    assert rows == _foreseen(scan, 20, n, **how) != strips


def test_a_job_that_does_not_fit_is_told_why() -> None:
    found = _foreseen(Plan(), 100_000, 100_000)
    total, largest = found.total, found.largest
    assert too_large(found, DeviceFacts(memory=total, largest=largest)) is None
    said = too_large(found, DeviceFacts(memory=total - 1, largest=largest))
    assert "MiB of device memory are needed" in str(said)
    said = too_large(found, DeviceFacts(memory=total, largest=largest - 1))
    assert "in one piece" in str(said)


def test_words_of_records_and_descriptors() -> None:
    assert max(RecordWord) + 2 == sizes.RECORD_WORDS  # the last word has 64 bits
    assert len(TileWord) == execution.TILE_WORDS


TILES = replace(PACKED, tile_cells=1 << 26, traceback_tile_cells=1 << 18)


@pytest.mark.parametrize("plan", [TILES, replace(TILES, form="two-phase", lanes="scalar32", B=3)])
@pytest.mark.parametrize("size", [(100_003, 50_000), (3_001, 150_007), (20_000, 20_000)])
def test_tiles_that_are_alike_count_once(
    plan: Plan, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some of the tiles stand for all."""
    small = replace(H200, memory=1 << 32, largest=1 << 28, speculative=False)

    def found() -> list[Memory]:
        how: list[Any] = [{}, {"output": "path"}, {"output": "path", "mode": "global"}]
        return [_foreseen(plan, *size, small, **one) for one in how]

    some = found()
    samples = memory._samples

    def every(spans: list[range], inner: tuple[int, ...]) -> Any:
        return samples(spans, tuple(place for span in spans for place in span) + inner)

    monkeypatch.setattr(memory, "_samples", every)
    assert found() == some


@pytest.mark.parametrize("plan", [Plan(), PACKED, Plan(form="two-phase"), TILES])
def test_memory_of_any_size_is_soon_there(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    tiles = []
    tile = memory._tile
    monkeypatch.setattr(memory, "_tile", lambda given, one: tiles.append(one) or tile(given, one))
    for size in ((10**12, 10**12), (10**12, 3), (3, 10**12), (10**9, 10**12)):
        for mode in ("local", "global"):
            tiles.clear()
            _foreseen(plan, *size, output="path", mode=mode)
            assert len(tiles) < 1000, size
