"""Global comparisons in a band: score, ends and path are those of the whole matrix."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from aligning import NO_FREE_ENDS, SMALL, align_case, case_of, ends, needs_lanes
from helpers import (
    ALL_FREE_ENDS,
    Case,
    FreeEnds,
    decode,
    make_scoring,
    match_scoring,
    mutated,
    random_pair,
    random_scoring,
    spy,
    tune,
)
from hypothesis import HealthCheck, given, settings, strategies as st
from whole_reference import border

import pysw_cl
from pysw_cl.cli import main as cli
from pysw_cl.drivers.band_bound import Band, BandScoreBound
from pysw_cl.drivers.problem import FreeEnds as Free, Problem
from pysw_cl.engines.reference import fill
from pysw_cl.errors import InputError
from pysw_cl.planning.parameters import BandTuning
from pysw_cl.scoring.precision import UNREACHABLE, UNREACHABLE_BELOW
from pysw_cl.sequences.view import View
from pysw_cl.tiles.edges import Edge

#: Tiles so small that a band pays for a pair of some dozens of letters.
TINY = {"engine": "reference", "tile_cells": 30, "traceback_tile_cells": 64}


def what_is(found: pysw_cl.Alignment) -> Any:
    return found.score, ends(found), found.cigar


def check(case: Case, free_ends: FreeEnds, plan: dict[str, Any], costs: tuple[Any, ...]) -> None:
    """Whatever ``max_cost`` is, the result is that of the whole matrix by the reference engine;
    "met" stands for the least that is enough, "missed" for less."""
    whole = align_case(case, "global", free_ends, plan={"engine": "reference"}, max_cost=None)
    assert whole.stats.pruned == 0
    best = min(len(case.query), len(case.target)) * case.scoring.highest
    for cost in costs:
        if cost in ("met", "missed"):
            cost = max(0, best - whole.score - (cost == "missed"))
        found = align_case(case, "global", free_ends, plan=plan, max_cost=cost)
        scoring = case.scoring
        assert what_is(found) == what_is(whole), (
            f"{cost=} {free_ends=} {plan=} {decode(case.query, scoring)} "
            f"{decode(case.target, scoring)} {scoring}"
        )
        assert found.rescore() == whole.score


def case_from(seed: int, longest: int) -> Case:
    """Mostly relatives of similar length, so that bands pay; large scores now and then."""
    rng = np.random.default_rng(seed)
    size = int(rng.choice([2, 3, 4, 4, 20]))
    m = int(rng.integers(1, longest + 1))
    n = (
        max(1, m + int(rng.integers(-10, 11)))
        if rng.random() < 0.7
        else int(rng.integers(1, 2 * m))
    )
    query, target = random_pair(rng, size, m, n)
    kind = rng.random()
    if kind < 0.5:
        target = mutated(rng, query, n, size)
    elif kind < 0.6:
        target = query
    scoring = random_scoring(rng, size)
    if rng.random() < 0.3:
        scale, shift = int(rng.choice([1, 1000])), int(rng.integers(-9, 10))
        matrix = scoring.matrix * scale + shift
        scoring = make_scoring(matrix, scale * scoring.gap_open, scale * scoring.gap_extend)
    return Case(query, target, scoring)


FREE_ENDS = st.one_of(st.just(NO_FREE_ENDS), st.sampled_from(ALL_FREE_ENDS))


def examples(count: int) -> Any:
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large]
    return settings(max_examples=count, deadline=None, suppress_health_check=checks)


@examples(20)
@given(
    seed=st.integers(0, 2**32 - 1),
    free_ends=FREE_ENDS,
    tile=st.sampled_from([9, 30, 60, 300]),
    trace=st.sampled_from([16, 64, 1 << 22]),
)
def test_result_is_that_of_the_whole_matrix(
    seed: int, free_ends: FreeEnds, tile: int, trace: int
) -> None:
    plan = {"engine": "reference", "tile_cells": tile, "traceback_tile_cells": trace}
    check(case_from(seed, 90), free_ends, plan, ("auto", 0, "missed", "met"))


@pytest.mark.long
@examples(1500)
@given(
    seed=st.integers(0, 2**32 - 1),
    free_ends=FREE_ENDS,
    tile=st.sampled_from([9, 30, 60, 300]),
    trace=st.sampled_from([16, 64, 1 << 22]),
)
def test_result_is_that_of_the_whole_matrix_often(
    seed: int, free_ends: FreeEnds, tile: int, trace: int
) -> None:
    plan = {"engine": "reference", "tile_cells": tile, "traceback_tile_cells": trace}
    check(case_from(seed, 200), free_ends, plan, ("auto", 0, "missed", "met"))


@pytest.mark.parametrize("kernels", [SMALL[0], SMALL[3]], ids=str)
@examples(12)
@given(
    seed=st.integers(0, 2**32 - 1),
    free_ends=FREE_ENDS,
    tile=st.sampled_from([200, 600, 5000]),
)
def test_kernels(kernels: Any, seed: int, free_ends: FreeEnds, tile: int) -> None:
    needs_lanes(kernels)
    plan = kernels.plan(tile_cells=tile, traceback_tile_cells=600)
    check(case_from(seed, 200), free_ends, plan, ("auto", "met"))


@pytest.mark.parametrize("opening", [0, 1])
def test_all_short_pairs_of_two_letters(opening: int) -> None:
    """Every query and target of up to 4 letters, where nearly everything is a tie."""
    texts = ["".join(t) for length in (1, 3, 4) for t in product("AC", repeat=length)]
    scoring = match_scoring(1, -1, opening, 1, "AC")
    plan = {"engine": "reference", "tile_cells": 1, "traceback_tile_cells": 1}
    for query, target in list(product(texts, texts))[opening::7]:
        check(case_of(query, target, scoring), NO_FREE_ENDS, plan, ("met",))


@pytest.mark.parametrize("gaps", [(0, 0), (0, 1), (2, 0), (2, 1)])
@pytest.mark.parametrize("highest", [-3, -2, 0, 1, 5])
def test_scores_of_any_sign(highest: int, gaps: tuple[int, int]) -> None:
    """A pair of letters may gain nothing, or less than two gap letters."""
    rng = np.random.default_rng(highest + 10)
    matrix = np.minimum(rng.integers(-6, 6, (4, 4)), highest)
    np.fill_diagonal(matrix, highest)
    scoring = make_scoring(matrix, *gaps)
    for length in (1, 30, 70):
        query, target = random_pair(rng, 4, length, length + 2)
        check(Case(query, target, scoring), NO_FREE_ENDS, TINY, ("auto", "met", 10))
        check(Case(target, query, scoring), NO_FREE_ENDS, TINY, ("auto", "met", 10))


def problem_of(case: Case, free: FreeEnds = NO_FREE_ENDS) -> Problem:
    return Problem.of(View(case.query), View(case.target), case.scoring, "global", Free(*free))


def best_through(case: Case, free: FreeEnds) -> Any:
    """For each cell (border included) the best score of a whole path through it, by sweeps from
    both ends that meet in H, or inside a gap of one or the other sequence."""
    scoring, opening = case.scoring, case.scoring.gap_open

    def side(query: Any, target: Any, scoring: Any, top: bool, left: bool) -> Any:
        borders = border(len(target), top, scoring), border(len(query), left, scoring)
        found = fill(query, target, scoring, None, 0, *borders)
        h, e, f = found.h, found.e.copy(), found.f.copy()
        f[:, 0], e[0, :] = h[:, 0], h[0, :]  # an upper bound of what a border's own gap has
        return h, np.maximum(e, h - opening), np.maximum(f, h - opening)

    h, e, f = side(case.query, case.target, scoring, free[0], free[2])
    back = side(case.query[::-1], case.target[::-1], scoring, free[1], free[3])
    h2, e2, f2 = (matrix[::-1, ::-1] for matrix in back)
    return np.maximum(h + h2, np.maximum(e + e2, f + f2) + opening * (opening > 0))


@pytest.mark.parametrize("seed", range(60))
def test_no_path_outside_a_band_beats_its_bound(seed: int) -> None:
    case = case_from(seed, 40)
    free = ALL_FREE_ENDS[seed % 16] if seed % 2 else NO_FREE_ENDS
    reach, through = BandScoreBound(problem_of(case, free)), best_through(case, free)
    m, n = len(case.query), len(case.target)
    number = np.arange(n + 1) - np.arange(m + 1)[:, None]
    for k in range(min(m, n)):
        band = Band(reach, k, None, None)
        outside = (number < band.low) | (number > band.high)
        inner = outside[1:-1, 1:-1]  # where both sweeps are exact
        if inner.any():
            assert through[1:-1, 1:-1][inner].max() <= reach.beyond(k + 1)
        assert k == 0 or reach.beyond(k) >= reach.beyond(k + 1)


def test_width_is_the_least_that_proves() -> None:
    reach = BandScoreBound(
        problem_of(case_of("ACGT" * 10, "ACGT" * 11, match_scoring(1, -3, 3, 2)))
    )
    bands = [Band(reach, k, None, None) for k in (0, 3)]
    assert [(band.low, band.high) for band in bands] == [(0, 4), (-3, 7)]
    # 40 - x pairs, 4 + 2 x gap letters and two gaps: 26 - 5 x
    assert [reach.beyond(k) for k in (1, 2, 3)] == [21, 16, 11]
    assert [reach.width(score) for score in (22, 21, 17, 16, 15)] == [0, 1, 1, 2, 2]
    # what leaves the band ties with the score: not proven, because the path might be another one
    assert reach.width(29) == 0


def test_letters_count_not_the_highest_score() -> None:
    """The bound adds up what each letter can gain at most: a W gains 11 and an A 4."""
    matrix = np.diag([4, 11]) - 1
    case = case_of("AAAAW", "AAAAAA", make_scoring(matrix, 0, 1, "AW"))
    assert BandScoreBound(problem_of(case)).beyond(1) == 4 * (3 + 2) - 11


def dna(seed: int, length: int) -> str:
    return "".join(np.random.default_rng(seed).choice(list("ACGT"), length))


def changed(text: str, seed: int, share: float, cut: tuple[int, int]) -> str:
    """A copy with a share of its letters drawn again, and without some of them."""
    rng = np.random.default_rng(seed)
    letters = np.array(list(text))
    at = rng.random(len(text)) < share
    letters[at] = rng.choice(list("ACGT"), int(at.sum()))
    return "".join(np.delete(letters, slice(*cut)))


def test_similar_pair_of_100_kb_takes_a_band_of_work() -> None:
    query = dna(1, 100_000)
    target = changed(query, 2, 0.01, (50_000, 50_200))
    whole = pysw_cl.align(query, target, mode="global", output="score", max_cost=None)
    assert whole.stats.total_cells == len(query) * len(target)
    found = pysw_cl.align(query, target, mode="global")
    assert (found.score, found.rescore()) == (whole.score, whole.score)
    cost = len(target) - found.score
    width = 2 * (cost // 5 + 1) + 200  # every further diagonal costs a match and two gap letters
    assert found.stats.total_cells <= 3 * (width + 4096) * len(query)
    assert found.stats.pruned >= 0.9 * whole.stats.total_cells
    assert set(found.stats.cells) <= set(whole.stats.cells) | {
        kind.replace("/16", "/32") for kind in whole.stats.cells
    }


def test_bad_cases_cost_little_more() -> None:
    query, target = dna(3, 60_000), dna(4, 50_000)
    found = pysw_cl.align(query, target, mode="global", output="score")
    assert found.stats.total_cells <= 1.125 * len(query) * len(target)
    assert found.stats.pruned == 0


@pytest.mark.parametrize("share", [0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 1.0])
def test_bands_that_stop(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is much of the work ends where paths lose too much; how fast they do tells how wide
    the next has to be."""
    stopped: list[int] = []

    def passed(on: bool, band: Band, row: int, *_: Any) -> None:
        stopped.extend([] if on else [row])

    spy(monkeypatch, Band, "passed", after=passed)
    tune(monkeypatch, {"band.most_waste": 0})
    options: dict[str, Any] = {"mode": "global", "sub_score": (1, -3), "gap_cost": (3, 2)}
    for k, (length, tile) in enumerate([(400, 300), (800, 1000)]):
        query = dna(20 + k, length)
        target = changed(query, 30 + k, share, (length // 2, length // 2 + 3))
        plan = {"engine": "reference", "tile_cells": tile}
        found = pysw_cl.align(query, target, plan=plan, **options)
        in_one = {"engine": "reference"}
        whole = pysw_cl.align(query, target, plan=in_one, max_cost=None, **options)
        assert what_is(found) == what_is(whole)
        cells = pysw_cl.align(query, target, plan=plan, output="score", **options).stats.total_cells
        tried = 0.35 if share <= 0.1 else 1 + BandTuning().most_tried if share < 1 else 1.05
        assert cells <= tried * len(query) * len(target)
    assert bool(stopped) == (share > 0.02)


def test_pairs_for_which_a_band_is_much_of_the_work() -> None:
    query = dna(13, 40_000)
    for other, most in ((changed(query, 14, 0.01, (9, 20)), 0.2), (dna(15, 40_000), 1.06)):
        found = pysw_cl.align(query, other, mode="global", output="score", plan={"B": 2})
        whole = pysw_cl.align(query, other, mode="global", output="score", max_cost=None)
        assert found.score == whole.score
        assert found.stats.total_cells <= most * len(query) * len(other)


def test_rows_of_a_band_fit_a_paths_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the whole matrix is cut into a grid that does."""
    query = dna(16, 1500)
    target = changed(query, 17, 0.02, (700, 703))
    options: dict[str, Any] = {"mode": "global", "plan": {"engine": "reference", "tile_cells": 900}}
    wanted = pysw_cl.align(query, target, **options)
    assert wanted.stats.pruned > 0
    tune(monkeypatch, {"traceback.path_bytes": 0, "traceback.side_bytes": 8})
    found = pysw_cl.align(query, target, **options)
    assert what_is(found) == what_is(wanted)
    assert found.stats.total_cells >= len(query) * len(target)
    assert pysw_cl.align(query, target, output="score", **options).stats.pruned > 0


def test_very_different_lengths_are_not_tried() -> None:
    query, target = dna(3, 300), dna(4, 20_000)
    found = pysw_cl.align(query, target, mode="global", output="score")
    assert found.stats.total_cells == len(query) * len(target)


def test_identical_sequences() -> None:
    text = dna(5, 2000)
    plan = {"engine": "reference", "tile_cells": 2000}
    found = pysw_cl.align(text, text, mode="global", max_cost=0, plan=plan)
    assert (found.score, found.cigar) == (2000, "2000=")
    assert found.stats.total_cells < 0.1 * 2000**2
    assert found.stats.pruned > 0.9 * 2000**2


def test_band_grows_until_the_score_proves_itself() -> None:
    """The first band misses the shift between the two, a wider one has it."""
    text = dna(6, 3000)
    query, target = text[:1500] + text[1560:], text[60:]
    needs_lanes(SMALL[0])
    plan = SMALL[0].plan(tile_cells=3000, traceback_tile_cells=1 << 14)
    whole = pysw_cl.align(query, target, mode="global", max_cost=None, plan=SMALL[0].plan())
    for cost in ("auto", 0, 100):
        found = pysw_cl.align(query, target, mode="global", max_cost=cost, plan=plan)
        assert what_is(found) == what_is(whole)
        assert found.stats.pruned > 0.3 * len(query) * len(target)
    assert found.stats.total_cells < 1.2 * whole.stats.total_cells


def test_an_end_that_a_narrow_band_cannot_reach() -> None:
    """Inside the band the end would lie below what counts as reachable."""
    large = 2**19
    case = case_of("A" * 700, "C" * 700, match_scoring(1, 1 - 2 * large, large - 1, 0, "AC"))
    plan = {"engine": "reference", "tile_cells": 1 << 12, "traceback_tile_cells": 1 << 12}
    for cost in ("auto", 5):
        found = align_case(case, "global", NO_FREE_ENDS, plan=plan, max_cost=cost)
        assert (found.score, found.cigar) == (-2 * (large - 1), "700D700I")


def test_a_promise_of_one_too_much_does_not_lose_ties() -> None:
    """The band is wide enough for the score, but narrowed for one that no path has."""
    query = "AACAAACACAACCAACACCACCCAAAACAAACCCCCAAAACCAACACAACAAAACCCACCACACCAAACCCCCAAACCCCCC"
    target = "ACAAACACAACCAACACCACAACACAACAAAACCCACCACACCAAAAAAAAAAAAACCCCCAAACCCCCCAACACCCCACAA"
    case = case_of(query, target, match_scoring(4, -3, 0, 2, "AC"))
    check(case, NO_FREE_ENDS, {**TINY, "tile_cells": 9}, ("missed", "met"))


def test_one_gap_stays_in_range() -> None:
    """What a gap takes below the reachable is the sentinel, without wrapping."""
    edge = Edge.one_gap(UNREACHABLE_BELOW + 4, 3, 1, 1)
    assert edge.h.tolist() == [UNREACHABLE_BELOW + 2, UNREACHABLE_BELOW + 1, UNREACHABLE_BELOW]
    assert edge.x.tolist() == [UNREACHABLE_BELOW + 1, UNREACHABLE_BELOW, UNREACHABLE_BELOW - 1]
    deep = Edge.one_gap(UNREACHABLE_BELOW, 3, 1 << 20, 1 << 28)
    assert deep.h.tolist() == deep.x.tolist() == [UNREACHABLE] * 3
    assert Edge.one_gap(UNREACHABLE, 2, 1, 1).h.tolist() == [UNREACHABLE] * 2


def test_half_scores() -> None:
    """``max_cost`` counts as the scores do."""
    options: dict[str, Any] = {"sub_score": (1.5, -1), "gap_cost": (2, 0.5), "mode": "global"}
    text = dna(7, 200)
    other = changed(text, 8, 0.05, (100, 103))
    whole = pysw_cl.align(text, other, max_cost=None, plan=TINY, **options)
    cost = 197 * 1.5 - whole.score
    found = pysw_cl.align(text, other, max_cost=cost, plan=TINY, **options)
    assert what_is(found) == what_is(whole)
    assert found.stats.pruned > 0


@pytest.mark.parametrize("covered", [BandTuning().most_covered, BandTuning().most_beside_pruning])
def test_progress_never_falls_and_ends_at_all_cells(
    covered: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of the matrix and of the path, whether a band is enough or not."""
    tune(monkeypatch, {"band.most_beside_pruning": covered})
    text = dna(9, 240)
    for other in (changed(text, 1, 0.03, (5, 9)), dna(10, 230)):
        cells = len(text) * len(other)
        told: list[tuple[int, int]] = []
        pysw_cl.align(
            text,
            other,
            mode="global",
            plan={**TINY, "tile_cells": 100},
            progress=lambda done, total, told=told: told.append((done, total)),
        )
        assert told == sorted(told)
        assert len({total for _, total in told}) == 1
        assert told[0][0] == 0 and told[-1][0] == told[-1][1] > cells
        # what the path takes is told, too
        assert sum(cells < done < total for done, total in told) > 3

    def stop(done: int, total: int) -> None:
        raise KeyError

    with pytest.raises(KeyError):
        pysw_cl.align(text, text, mode="global", plan=TINY, progress=stop)


@pytest.mark.parametrize("cost", ["much", -1, True, float("nan"), float("inf"), (1,)])
def test_what_max_cost_cannot_be(cost: Any) -> None:
    with pytest.raises(InputError, match="max_cost must be"):
        pysw_cl.align("ACGT", "ACGT", mode="global", max_cost=cost)


def test_where_max_cost_does_not_apply() -> None:
    with pytest.raises(InputError, match="is for mode 'global'"):
        pysw_cl.align("ACGT", "ACGT", max_cost=3)
    text = dna(11, 500)
    for cost in ("auto", None):
        pysw_cl.align(text[:20], text[:20], max_cost=cost, plan=TINY)
    plan = {"engine": "reference", "tile_cells": 300}
    all_of_it = pysw_cl.align(text, text, mode="global", output="score", prune=False, plan=plan)
    assert (all_of_it.stats.pruned, all_of_it.stats.total_cells) == (0, 500 * 500)
    found = pysw_cl.align(text, text, mode="global", output="score", plan=plan)
    assert found.stats.pruned > 0


def test_shell(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [tmp_path / name for name in ("a.fa", "b.fa")]
    for path, text in zip(paths, (dna(12, 60), changed(dna(12, 60), 1, 0.1, (7, 9))), strict=True):
        path.write_text(f">{path.stem}\n{text}\n")
    lines = set()
    for cost in ("auto", "none", "0", "12.5"):
        names = [str(path) for path in paths]
        plan = "engine=reference,tile_cells=30"
        options = ["--mode", "global", "--max-cost", cost, "--plan", plan]
        assert cli.main(["align", *options, *names]) == 0
        lines.add(capsys.readouterr().out)
    assert len(lines) == 1
    assert cli.main(["align", "--max-cost", "x", *names]) == 2
    assert "is not auto, none or a number" in capsys.readouterr().err
    assert cli.main(["align", "--max-cost", "5", *names]) == 2
    assert "is for mode 'global'" in capsys.readouterr().err
