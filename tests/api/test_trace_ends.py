"""``trace_ends`` against the canonical paths in the reference's matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tracing_ends import check, drawn, letters, matrices_of, path_by_definition, some_ends

import pysw_cl
from pysw_cl.drivers import ends as driver
from pysw_cl.errors import InputError
from pysw_cl.scoring.scoring import make_scoring

ENGINES = ("reference", "wavefront", "rowscan")


#: First boxes that are too small for most paths.
SMALL = {"boxes.sides": 1, "boxes.more": 0, "boxes.alone": 0}


def check_all(seed: int, cases: int, most: int, **options: Any) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(cases):
        a, b, scores = drawn(rng)
        ends, highest, cells = some_ends(rng, a, b, scores, most)
        for known in (None, highest):
            found = pysw_cl.trace_ends(a, b, ends, highest=known, **scores, **options)
            for end, one in zip(ends, found, strict=True):
                check(a, b, one, end, cells)


@pytest.mark.filterwarnings("ignore::pysw_cl.errors.InputWarning")
@pytest.mark.parametrize("engine", ENGINES)
def test_any_cell(engine: str) -> None:
    check_all(1, 12, 40, engine=engine)


@pytest.mark.filterwarnings("ignore::pysw_cl.errors.InputWarning")
@pytest.mark.parametrize("engine", ENGINES)
def test_boxes_that_grow(engine: str) -> None:
    """Until nothing outside can be as good, whether the highest score is known or not."""
    check_all(2, 12, 40, engine=engine, plan=SMALL)


@pytest.mark.filterwarnings("ignore::pysw_cl.errors.InputWarning")
@pytest.mark.parametrize("lanes", ["vector32", "scalar32"])
def test_other_lanes(lanes: str) -> None:
    check_all(3, 8, 40, plan={"lanes": lanes, **SMALL})


@pytest.mark.filterwarnings("ignore::pysw_cl.errors.InputWarning")
@pytest.mark.parametrize("engine", ["wavefront", "reference"])
def test_boxes_by_tiles_and_by_sweeps(engine: str) -> None:
    """As large boxes are computed, with special rows and columns."""
    plan: dict[str, Any] = {
        "traceback_tile_cells": 1 << 10,
        "traceback.least_side": 16,
        "pairs.alone_cells": 0,
    }
    plan |= SMALL
    check_all(4, 8, 6, engine=engine, plan=plan)


@pytest.mark.filterwarnings("ignore::pysw_cl.errors.InputWarning")
def test_several_batches() -> None:
    """One group of lanes in each."""
    check_all(5, 3, 200, plan={"pairs.cpu_moves": 1, "pairs.gpu_moves": 1, **SMALL})


@pytest.mark.parametrize("separation", [0, 10])
def test_two_hundred_ends(separation: int) -> None:
    a, b = letters(1, 200), letters(2, 20_000)
    ends = pysw_cl.best_ends(a, b, k=200, min_separation=separation)
    cells = matrices_of(a, b, make_scoring((1, -3), (3, 2)))
    found = pysw_cl.trace_ends(a, b, ends)
    assert len(found) == 200 and found[0] == pysw_cl.align(a, b)
    assert found == pysw_cl.trace_ends(a, b, ends, highest=ends["score"][0])
    for end, one in zip(ends.tolist(), found, strict=True):
        check(a, b, one, end, cells)


def test_it_is_what_align_finds_in_the_part_before_the_end() -> None:
    """An end beside a better one, a score of 1, and an end in the last row or column."""
    a, b = "TTACGTACGTTT", "GGACGTACGTGGACGTGG"
    ends = [(8, 10, 10), (7, 9, 9), (1, 3, 3), (4, 10, 16), (5, 6, 10), (1, 12, 6)]
    for (score, row, column), one in zip(ends, pysw_cl.trace_ends(a, b, ends), strict=True):
        best = pysw_cl.align(a[:row], b[:column])
        assert one.score == score == one.rescore()
        if (best.query_end, best.target_end) == (row, column):
            assert one.cigar == best.cigar and one.query_start == best.query_start


def test_a_path_beyond_a_stretch_that_scores_less_than_nothing() -> None:
    """The end lies in a better alignment's wake: the last part of its path scores below 0."""
    a = letters(3, 100)
    b = a[:80] + b"".join(bytes([letter]) for letter in letters(4, 40))
    cells = matrices_of(a, b, make_scoring((1, -3), (3, 2)))
    places = np.argwhere(cells.h > 0)
    late = [tuple(place) for place in places.tolist() if min(place) > 82]
    starts = [path_by_definition(cells, *place)[0] for place in late]
    assert min(starts) < 40  # paths of all of the first alignment
    ends = [(int(cells.h[place]), *place) for place in late]
    for end, one in zip(ends, pysw_cl.trace_ends(a, b, ends), strict=True):
        check(a, b, one, end, cells)


@pytest.mark.parametrize("length", [3000, pytest.param(20_000, marks=pytest.mark.long)])
def test_long_alignments(length: int) -> None:
    """Identical sequences: boxes as large as the matrix, in memory that is bounded."""
    a = letters(1, length)
    ends = pysw_cl.best_ends(a, a, k=3)
    for k, one in enumerate(pysw_cl.trace_ends(a, a, ends, highest=length)):
        assert (one.query_start, one.target_start, one.cigar) == (0, 0, f"{length - k}=")


def test_ranges() -> None:
    """Coordinates are those of the whole sequences; no path leaves the ranges."""
    a = letters(1, 300)
    b = a[:150] + letters(2, 20) + a[150:]
    ranges: dict[str, Any] = {"query_range": (100, 250), "target_range": (90, 290)}
    ends = pysw_cl.best_ends(a, b, k=20, min_separation=3, **ranges)
    parts = matrices_of(a[100:250], b[90:290], make_scoring((1, -3), (3, 2)))
    for (_, row, column), one in zip(
        ends.tolist(), pysw_cl.trace_ends(a, b, ends, **ranges), strict=True
    ):
        start_row, start_column, moves = path_by_definition(parts, row - 100, column - 90)
        assert (one.query_start, one.target_start) == (start_row + 100, start_column + 90)
        assert one.columns == len(moves) and one.rescore() == one.score


def test_order_duplicates_and_forms() -> None:
    """Any rows in any order and any number; arrays, tuples, one row, and none."""
    a, b = letters(1, 60), letters(2, 60)
    ends = pysw_cl.best_ends(a, b, k=5)
    once = pysw_cl.trace_ends(a, b, ends)
    order = [3, 0, 3, 4, 0]
    assert pysw_cl.trace_ends(a, b, ends[order]) == [once[k] for k in order]
    assert pysw_cl.trace_ends(a, b, ends.tolist()) == once
    assert pysw_cl.trace_ends(a, b, np.array(ends.tolist())) == once
    assert pysw_cl.trace_ends(a, b, ends[1]) == [once[1]]
    assert pysw_cl.trace_ends(a, b, []) == pysw_cl.trace_ends(a, b, ends[:0]) == []


def test_costs_are_those_of_the_first() -> None:
    a, b = letters(1, 60), letters(2, 60)
    found = pysw_cl.trace_ends(a, b, pysw_cl.best_ends(a, b, k=5), kernel_times=True)
    assert found[0].stats.total_cells > 0 and found[0].stats.launches > 0
    assert found[0].stats.kernel_seconds and not found[1].stats.kernel_seconds
    assert all(one.stats.total_cells == 0 for one in found[1:])


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        ([(8, 10, 10), (6, 9, 9)], "end 1, at query end 9 and target end 9, is said to score 6, "
         "but the best alignment that ends there scores 7"),
        ([(3, 1, 1)], "scores 0"),
        ([(8, 10, 99)], "end 0 has the score 8, query end 10 and target end 99: an end is between"),
        ([(8, 0, 10)], "an end is between 1 and 12"),
        ([(0, 1, 1)], "a score is above 0"),
        ([(8.5, 10, 10)], "end 0 has the score 8.5, .*whole numbers"),
        ([(8, 10)], "rows of"),
        ([8, 10, 10], "rows of"),
        (["abc"], "rows of"),
        ([(8, 10, float("nan"))], "rows of"),
        (5, "rows of"),
        (np.zeros(1, [("score", int), ("query_end", int)]), "have no target_end"),
    ],
)  # fmt: skip
def test_ends_that_are_none(ends: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        pysw_cl.trace_ends("TTACGTACGTTT", "GGACGTACGTGGACGTGG", ends)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"highest": 7}, "not above the highest"),
        ({"highest": "x"}, "highest must be"),
        ({"engine": "columns"}, "does not exist"),
    ],
)
def test_what_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        pysw_cl.trace_ends("TTACGTACGTTT", "GGACGTACGTGGACGTGG", [(8, 10, 10)], **given)


def test_progress() -> None:
    seen: list[tuple[int, int]] = []
    a, b = letters(1, 60), letters(2, 60)
    ends = pysw_cl.best_ends(a, b, k=7)
    pysw_cl.trace_ends(a, b, ends, progress=lambda done, total: seen.append((done, total)))
    assert seen[0] == (0, 7) and seen[-1] == (7, 7)


def test_groups_of_ends() -> None:
    """Neighbours share a box; others do not."""
    hits = [driver.Hit(9, 100 + k % 3, 100 + k // 3) for k in range(9)]
    hits += [driver.Hit(9, 100, 5000)]
    groups = driver._grouped(hits, [60] * 10, range(10))
    assert sorted(groups[0][1]) == list(range(9)) and groups[1][1] == [9]
    assert groups[0][0] == (40, 102, 40, 102)


def test_a_kernel_that_is_wrong_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ends that were found here, a path that scores something else is computed again."""
    from pysw_cl.api.ends import trace_ends_with
    from pysw_cl.drivers.options import Resources, TraceOptions
    from pysw_cl.engines.batch.boxes import BoxEngine
    from pysw_cl.errors import RecomputedWarning

    a, b = letters(1, 60), letters(2, 60)
    ends = pysw_cl.best_ends(a, b, k=5)
    right = pysw_cl.trace_ends(a, b, ends)
    true = BoxEngine.traced

    def wrong(*args: Any) -> Any:
        return [path._replace(score=path.score + 1) for path in true(*args)]

    monkeypatch.setattr(BoxEngine, "traced", wrong)
    with pytest.warns(RecomputedWarning, match="end 0"):
        again = trace_ends_with(a, b, ends, TraceOptions(), Resources(), known=True)
    assert again == right and again[0].stats.recomputed == 1
