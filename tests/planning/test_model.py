"""The model of the run time: what is counted, and that times are found again from runs."""

from __future__ import annotations

import heapq
import itertools
import time
from collections import Counter
from dataclasses import replace
from itertools import chain, pairwise

import numpy as np
import pytest

from pysw_cl.engines.rowscan.plan import RowscanPlan
from pysw_cl.planning.facts import DeviceFacts
from pysw_cl.planning.geometry import cuts, piece, tile_height
from pysw_cl.planning.model.predict import Foreseen, in_words, predicted
from pysw_cl.planning.model.runs import (
    Name,
    Strips,
    Work,
    _lengths,
    errors,
    fitted,
    nonnegative,
    sweep_of,
)
from pysw_cl.planning.model.times import GENERIC, STRIP_ROW, Machine, Pace, Wave
from pysw_cl.planning.plan import Plan
from pysw_cl.planning.profiles.profile import Profile
from pysw_cl.planning.program import Given
from pysw_cl.scoring.scoring import cached_scoring

#: Of one scheduler: all strips share it.
ONE = GENERIC.on(1)
DNA = cached_scoring((1, -3), (3, 2), None, "error")
SUBJECT = "wavefront/packed/match/local/16"


def simulated(strips: int, B: int, n: int, lag: int) -> int:
    """The columns until the last strip is done: each starts when its group is free, at least
    ``lag`` columns behind the one above it."""
    starts: list[int] = []
    for k in range(strips):
        free = starts[k - B] + n if k >= B else 0
        starts.append(max(free, starts[-1] + lag if starts else 0))
    return starts[-1] + n


@pytest.mark.parametrize("lag", [1, 40, 700])
def test_strips_that_follow_each_other(lag: int) -> None:
    for strips, B, n in itertools.product((1, 2, 5, 8, 23, 64), (1, 2, 7, 16), (1, 90, 3000)):
        found = ONE.wave(strips, B, n, lag)
        assert found.columns == simulated(strips, B, n, lag), (strips, B, n)
        assert 0 < found.busy <= min(strips, B) + 1e-9
        assert found.share == min(strips, B)


def simulated_sections(strips: int, sections: int, B: int, n: int, lag: int) -> int:
    """Columns until the last strip is done: groups take the first strips of all sections, then the
    second ones; a strip starts ``lag`` columns behind the one above it."""
    free, starts, end = [0] * B, [-lag] * sections, 0
    for _ in range(strips):
        for k in range(sections):
            starts[k] = max(heapq.heappop(free), starts[k] + lag)
            heapq.heappush(free, starts[k] + n)
            end = max(end, starts[k] + n)
    return end


def test_sections_fill_the_device() -> None:
    one = ONE.side_by_side(1, 8, 8, 1000, 100)
    assert (one.columns, one.busy, one.hops) == (1000, 8, 0)
    two = ONE.side_by_side(2, 8, 8, 1000, 100)  # two rounds: a strip waits for its group alone
    assert (two.columns, two.share) == (simulated_sections(2, 8, 8, 1000, 100), 8) == (2000, 8)
    sizes = itertools.product(
        (1, 2, 10, 63), (2, 3, 16, 67), (4, 8, 100, 528), (400, 5000), (40, 192)
    )
    for strips, sections, B, n, lag in sizes:
        found = ONE.side_by_side(strips, sections, B, n, lag)
        columns = max(found.columns, found.chain[0])
        wanted = simulated_sections(strips, sections, B, n, lag)
        assert 0.85 * wanted <= columns <= 1.3 * wanted, (strips, sections, B, n, lag)
        assert found.share == min(B, strips * sections)


def test_least_squares_without_negative_times() -> None:
    rng = np.random.default_rng(1)
    a = rng.random((40, 6))
    wanted = np.array([0, 1.5, 0, 2, 0.25, 0])
    assert np.allclose(nonnegative(a, a @ wanted), wanted, atol=1e-9)
    # where the best solution has a negative one, it is 0
    found = nonnegative(np.array([[1.0, 1], [1, 2], [1, 3]]), np.array([3.0, 2, 1]))
    assert found[1] == 0 and found[0] == pytest.approx(2)


def truth() -> Machine:
    """Times of a device that somebody knows."""
    cells = {f"{a}@{s}": (20 + 8 * a) * s * 1e-9 for a in (2, 8, 20) for s in (1, 3)}
    more = {"busy_row@1": 2e-10, "busy_row@3": 1e-9, "hop_row@1": 3e-7, "tile": 3e-5}
    more |= {"block@1": 2e-6, "block@3": 1e-6}
    host = {"call": 1e-3, "launch": 2e-4, "letter": 4e-9}
    return Machine({SUBJECT: {**cells, **more}, "call": host})


def strips_of(wave: Wave, alpha: int, chunk: int) -> Work:
    """Strips on a device of four schedulers."""
    plan = Plan(alpha=alpha, chunk=chunk, machine=GENERIC.on(4))
    return Work([Strips(SUBJECT, plan, wave)])


def runs() -> list[Work]:
    """Runs of many shapes, alphas and shares."""
    rng = np.random.default_rng(2)
    works = []
    for alpha, share in itertools.product((2, 8, 20), (1, 3)):
        for _ in range(12):
            columns, hops = rng.integers(2000, 10**6), int(rng.integers(0, 3000))
            chunk, busy = int(rng.choice([32, 64, 128, 256])), float(rng.uniform(0, share))
            work = strips_of(Wave(float(columns), hops, busy, share), alpha, chunk)
            for name, count in (("call", 1), ("launch", 2), ("letter", 10 ** rng.uniform(3, 7))):
                work.counts["call", name] += count  # type: ignore[assignment]
            works.append(work)
    return works


def test_known_times_are_found_again() -> None:
    works, known = runs(), truth()
    ran = [(work, work.seconds(known)) for work in works]
    found = fitted(ran, Machine({}))
    assert np.abs(errors(ran, found)).max() < 1e-6
    for name in ("8@1", "20@3", "block@1"):
        assert found.of(SUBJECT)[name] == pytest.approx(known.of(SUBJECT)[name], rel=1e-3)


def test_noise_is_averaged() -> None:
    works, known = runs(), truth()
    rng = np.random.default_rng(3)
    noisy = [(work, work.seconds(known) * (1 + rng.normal(0, 0.03))) for work in works]
    found = fitted(noisy, Machine({}))
    off = np.abs(errors([(work, work.seconds(known)) for work in works], found))
    assert np.median(off) < 0.02 and off.max() < 0.08


def test_what_strips_take_beside_their_columns_on_cores() -> None:
    """Each strip of a group counts; all do where they wait for each other; none on schedulers."""
    plan = Plan(lanes="vector", B=2, T=64, alpha=16, alpha_fixed=True, chunk=256)
    for strips, n, alone in ((1, 5000, 1), (7, 5000, 4), (7, 200, 7)):
        counts = sweep_of(Given(plan, DNA), strips * 64 * 16, n).counts
        (found,) = (count for (_, name), count in counts.items() if name == STRIP_ROW)
        assert found == 16 * alone
    shared = replace(plan, machine=GENERIC.on(4))
    assert not any(name == STRIP_ROW for _, name in sweep_of(Given(shared, DNA), 7168, 99).counts)


def test_what_is_known_is_not_sought() -> None:
    works, known = runs(), truth()
    ran = [(work, work.seconds(known)) for work in works]
    host = Machine({"call": known.of("call")})
    found = fitted(ran, host)
    assert set(found.by_subject) == {SUBJECT, "call"} and found.of("call") == host.of("call")
    assert np.abs(errors(ran, found)).max() < 1e-6


def test_rows_between_measured_ones_lie_on_a_line() -> None:
    pace = truth().pace(SUBJECT)
    assert pace.line(5, 1).column == pytest.approx((20 + 8 * 5) * 1e-9)
    assert pace.line(25, 1).column == pytest.approx((20 + 8 * 25) * 1e-9)  # beyond them, too
    assert pace.line(8, 2).column == pytest.approx(2 * (20 + 8 * 8) * 1e-9)  # the nearest share
    assert pace.line(8, 1).hop == pytest.approx(8 * 3e-7)
    assert pace.line(8, 2).hop == pace.line(8, 1).hop and not pace.line(8, 3).hop


def test_rows_that_were_not_measured_again_are_as_lucky_as_before() -> None:
    """The compiler deals badly with 5 rows; a driver made all of 2 rows 10% longer, of 8 none."""
    before = Pace({"2@1": 2e-8, "5@1": 9e-8, "8@1": 8e-8, "20@1": 2e-7, "2@3": 6e-8, "5@2": 1.0})
    own = {"2@1": 2.2e-8, "8@1": 8e-8, "2@3": 6e-8, "hop@1": 1e-6}
    assert Pace(own).filled(before) == {
        **own,
        "5@1": pytest.approx(9e-8 * 1.05),
        "20@1": pytest.approx(2e-7),  # beyond what was measured: as the last one
    }
    assert Pace(own).filled(Pace({"column": 1e-8, "row": 1e-9})) == own
    assert Pace(own).filled(Pace({"2@1": 0.0, "5@1": 0.0})) == own  # nothing was measured


def test_the_best_of_all_times_that_were_found_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the ways in which strips are late change in turns, as if by chance."""
    works, known = runs(), truth()
    ran = [(work, work.seconds(known)) for work in works]
    rng = np.random.default_rng(5)

    factors = chain([1.0] * len(works), iter(lambda: float(rng.uniform(0.5, 2)), None))
    usual = Work.weights

    def another(work: Work, times: Machine) -> dict[Name, float]:
        factor = next(factors)
        return {name: factor * weight for name, weight in usual(work, times).items()}

    monkeypatch.setattr(Work, "weights", another)
    assert np.abs(errors(ran, fitted(ran, Machine({})))).max() < 1e-6


def test_what_takes_longer_counts() -> None:
    """Strips wait for a group, or, if hops take long, for each other."""
    columns = ONE.wave(30, 10, 1100, 100)  # a group is done 100 columns after it is waited for
    assert columns.hops == 9 and columns.chain == (29 * 100 + 1100, 29)
    strips = strips_of(columns._replace(share=1), 8, 64)
    own = {"8@1": 1e-8}
    for hop, (count, hops) in ((1e-9, (columns.columns, 9)), (1e-4, columns.chain)):
        found = strips.seconds(Machine({SUBJECT: {**own, "hop@1": hop}}))
        assert found == pytest.approx(count * 1e-8 + hops * hop)


def test_further_strips_of_sections_take_time() -> None:
    """For each row of a lane, and longer if more of them share a scheduler."""
    few, many = ONE.side_by_side(2, 8, 8, 1000, 100), ONE.side_by_side(6, 8, 8, 1000, 100)
    assert (few.turns, many.turns) == (1, 5)
    own = {"8@1": 1e-8, "8@2": 2e-8, "turn": 2e-6, "turn_row": 3e-6}
    for share in (1, 2):
        strips = strips_of(many._replace(share=share, chain=(0, 0)), 8, 64)
        found = strips.seconds(Machine({SUBJECT: own}))
        weights = (
            Machine({SUBJECT: own}).pace(SUBJECT).weights(many._replace(share=share, busy=0), 8, 64)
        )
        assert found == pytest.approx(many.columns * share * 1e-8 + 5 * share * (2 + 8 * 3) * 1e-6)
        assert (weights["turn"], weights["turn_row"]) == (5 * share, 5 * share * 8)


def test_a_subject_without_times_has_those_above_it() -> None:
    times = Machine({"wavefront": {"row": 1.0}, "wavefront/packed": {"row": 2.0}})
    assert times.of("wavefront/packed/match")["row"] == 2.0
    assert times.of("wavefront/other/match")["row"] == 1.0
    assert times.of("rowscan/warp32") == {} and times.known("rowscan/warp32") is None


def setting(**changed: object) -> Given:
    plan = Plan(B=2, machine=GENERIC)
    return Given(**{"plan": plan, "scoring": DNA, **changed})  # type: ignore[arg-type]


def test_counts_of_a_matrix() -> None:
    work = sweep_of(setting(), 5000, 7000)
    assert len(work.strips) == 1 and work.counts["call", "letter"] == 12_000
    assert work.strips[0].subject == "wavefront/vector/match/local/8"
    held = sweep_of(setting(holds=True), 100, 100)
    assert not held.strips and held.counts["held", "cell"] == 10_000
    large = sweep_of(setting(), 300_000, 400_000)  # tiles of 2^33 cells at most
    assert sum(one.tiles for one in large.strips) == large.counts["call", "launch"] > 10
    assert large.counts["call", "edge"] > 400_000
    border = sweep_of(setting(local=False), 5000, 7000)
    assert border.strips[0].subject == "wavefront/vector/match/global/16"
    assert border.counts["call", "border"] == 12_000


def test_sections_and_rows_are_counted() -> None:
    thin = sweep_of(setting(), 1000, 4_000_000)
    assert thin.counts["call", "section"] > 1
    for times, wanted in (
        (GENERIC, "wavefront/vector/match/global/16"),  # nobody knows how long rows take
        (GENERIC.having({"rowscan/vector32": {"row": 1e-12}}), "rowscan/vector32"),
    ):
        scan = RowscanPlan(machine=times)
        rows = sweep_of(setting(local=False, row_scan=scan), 1000, 4_000_000)
        assert [one.subject for one in rows.strips] == [wanted]


def test_predictions() -> None:
    profile = Profile(times=GENERIC.by_subject, spread=0.25)
    small, large = (
        predicted(setting(), n, n, profile, "here", Foreseen()) for n in (20_000, 200_000)
    )
    assert 50 * small.seconds < large.seconds < 120 * small.seconds
    assert small.interval == (small.seconds / 1.25, small.seconds * 1.25)
    assert small.gcups < large.gcups < large.gcups_limit
    assert sum(large.parts.values()) == pytest.approx(large.seconds)
    assert (large.source, large.way) == ("here", "strips") and large.memory > 200_000
    foreseen = Foreseen(share=0.5, path=(200_000.0, 200_000.0), unsure=1.0)
    half = predicted(setting(), 200_000, 200_000, profile, "here", foreseen)
    assert half.parts["sweep"] == large.parts["sweep"] / 2
    assert half.parts["path"] == pytest.approx(200_000 * 2e-6)
    assert half.interval[1] == pytest.approx(half.seconds * 2.5)
    assert "200,000 x 200,000: " in str(large)


def test_times_in_words() -> None:
    said = [in_words(one) for one in (2e-5, 0.0123, 1.5, 75, 3600 * 5 + 61)]
    assert said == ["0.02 ms", "12.3 ms", "1.5 s", "1 min 15 s", "5 h 01 min"]


def test_sides_are_cut_as_sweeps_cut_them() -> None:
    rng = np.random.default_rng(5)
    for _ in range(300):
        length, step, quantum = (int(rng.integers(1, most)) for most in (5000, 900, 70))
        wanted = Counter(b - a for a, b in pairwise(cuts(length, step, quantum)))
        found = _lengths(length, piece(length, step, quantum))
        assert found == wanted, (length, step, quantum)
        wanted = Counter(b - a for a, b in pairwise(cuts(length, step, quantum, tiles=True)))
        assert _lengths(length, tile_height(length, step, quantum)) == wanted


def test_a_block_is_no_longer_than_its_strip() -> None:
    plan = Plan(B=2, machine=GENERIC)
    usual, long = (replace(plan, chunk=c).tile_cost(9000, 5000) for c in (5064, 1 << 24))
    assert usual == pytest.approx(long, rel=1e-3)


def test_runs_that_tell_nothing_are_left_out() -> None:
    assert fitted([], Machine({})).by_subject == {}
    assert fitted([(work, 0.0) for work in runs()], Machine({})).by_subject == {}


def test_groups_share_the_last_strips() -> None:
    assert ONE.wave(8, 2, 1000, 100, even=True) == ONE.wave(8, 2, 1000, 100)
    assert ONE.wave(9, 2, 1000, 100, even=True).columns == 4600
    assert ONE.wave(9, 2, 1000, 100).columns == 5000
    assert ONE.wave(2, 4, 1000, 100, even=True) == ONE.wave(2, 4, 1000, 100)


def test_a_matrix_far_too_wide_for_the_device() -> None:
    """It is halved again and again; parts of one width are counted together."""
    small = DeviceFacts(memory=1 << 26, largest=1 << 25)
    wide = Plan(B=2, machine=GENERIC, tile_cells=1 << 62)
    began = time.perf_counter()
    work = sweep_of(setting(plan=wide, device=small), 100_000, 10**12)
    assert sum(one.tiles for one in work.strips) > 1000 and len(work.strips) < 1000
    assert time.perf_counter() - began < 1
