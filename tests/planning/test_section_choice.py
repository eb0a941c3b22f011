"""The choice of sections: all ways to cut a tile count, by what the model says of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from profiles_made import H200

from pysw_cl.planning.choose import cut
from pysw_cl.planning.facts import UNLIMITED
from pysw_cl.planning.geometry import TileShape
from pysw_cl.planning.model.times import CUT, GENERIC
from pysw_cl.planning.plan import Plan
from pysw_cl.planning.profiles.profile import profile_for
from pysw_cl.planning.program import Given, Seen
from pysw_cl.planning.sections import Cut, _soonest, first_overlap, sections_of, span
from pysw_cl.scoring.scoring import Scoring, make_scoring

#: A scoring, and the score file of its narrow lanes.
DNA, PROTEIN = (make_scoring((1, -3), (3, 2)), "permute4"), (make_scoring("BLOSUM62"), "matrix")
MANY = 1 << 30


def plan_of(score: str, **changed: int) -> Plan:
    """The plan of an H200, by the profile that ships."""
    machine = GENERIC.having(profile_for(H200)[0].times).on(4 * 132)
    sizes = {"B": 12 * 132, "T": 64, "alpha": 25, "chunk": 128, **changed}
    return Plan(lanes="packed", machine=machine, **sizes).for_scores(score)  # type: ignore[arg-type]


def every_way(
    plan: Plan, m: int, n: int, reach: int | None, overlap: int, most: int = MANY
) -> float:
    """The least cost of all ways to cut a tile: of all numbers of sections with which all groups
    are busy in the last round, and of the highest ones."""
    tuning, found = plan.tuning.sections, []
    most = min(most, n // tuning.least_columns)
    proven = min(most, int(tuning.most_share * n / reach)) if reach else 0
    highest = max(min(most, int(tuning.most_overlap * n / overlap)), proven)
    for alpha, B, chunk in product(plan.alphas, plan.groups, plan.chunks):
        strips = -(-m // (plan.T * alpha))
        rounds = np.arange(1, -(-highest * strips // B) + 1)
        tried = np.unique([*np.minimum(rounds * B // strips, highest), proven])
        shared = plan.lane_set.shared_sections * (-(-B // 528) if "profile" in plan.lanes else 1)
        tried = np.where(tried < shared, tried, tried - tried % shared)
        count = np.unique(tried[tried > 1])
        alone = count <= proven
        ways = alpha, B, chunk, count, np.where(alone, reach or 0, overlap), alone
        found.append(np.broadcast_arrays(*ways))
    every = Cut(*np.concatenate(found, axis=1))
    if not len(every.sections):
        return float("inf")
    return float(every.cost(plan, m, n).min())


def sizes(seed: int, count: int) -> Iterator[tuple[int, int]]:
    """Rows and columns of tiles, thin and square."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        m = int(10 ** rng.uniform(2.5, 6))
        n = int(m * 10 ** rng.uniform(-0.3, 1.6))
        yield m, n


@pytest.mark.parametrize("spans", [False, True])
@pytest.mark.parametrize("scored", [DNA, PROTEIN])
def test_no_other_way_costs_much_less(scored: tuple[Scoring, str], spans: bool) -> None:
    scoring, score = scored
    plan, over = plan_of(score), []
    for m, n in sizes(1, 120):
        reach = span(scoring, m, 0, True) if spans else None
        overlap, most = first_overlap(plan, scoring, m), MANY if m % 3 else m % 50
        found = sections_of(plan, (m, n, reach, overlap, (), False, most))
        if n // plan.tuning.sections.least_columns < 2 or most < 2 or not plan.may_be_cut(m, n):
            assert found is None
            continue
        least = every_way(plan, m, n, reach, overlap, most)
        limit = plan.tuning.sections.most_cost * plan.least_cost(m, n)
        if found is None:
            assert least >= limit, (m, n)
            continue
        cost = found.cut.cost(plan, m, n)
        assert least <= cost <= 1.01 * least, (m, n, found.cut)
        over.append(cost / least)
    assert len(over) > 60 and np.mean(over) < 1.0002


@pytest.mark.parametrize("groups", [1, 4])
def test_few_groups_take_many_strips_each(groups: int) -> None:
    plan, over = plan_of("matrix", B=groups), []
    for m, longest in sizes(3, 25):
        n = min(longest, 1 << 18)
        found = sections_of(plan, (m, n, None, 1024, (), False, MANY))
        if found is not None:
            least = every_way(plan, m, n, None, 1024)
            over.append(found.cut.cost(plan, m, n) / least)
    assert len(over) > 5 and max(over) < 1.01


def test_thin_tiles_that_take_a_strip_long_are_cut() -> None:
    """A strip of few rows takes as long as one of all: 20 ms for 300,000 columns."""
    plan = plan_of("permute4")
    for m, n in ((10, 300_000), (100, 300_000), (10, 8_000_000)):
        assert m * n < 1 << 28 and plan.may_be_cut(m, n)
        assert sections_of(plan, (m, n, None, 256, (), False, MANY)) is not None
    for m, n in ((100, 100_000), (1600, 167_000), (10_000, 20_000)):
        assert not plan.may_be_cut(m, n)
    assert plan.may_be_cut(1600, 168_000)


def test_numbers_of_sections_that_leave_groups_idle_cost_no_less() -> None:
    plan = plan_of(DNA[1])
    for m, n in sizes(2, 40):
        found = sections_of(plan, (m, n, None, 256, (), False, MANY))
        if found is not None:
            count = np.arange(2, n // 1024 + 1)
            every = Cut(*np.array([(*found.cut[:3], k, 256, 0) for k in count]).T)
            least = every.cost(plan, m, n).min()
            assert found.cut.cost(plan, m, n) <= 1.005 * least, (m, n)


def test_few_groups_that_are_known_to_be_faster_count() -> None:
    """In one round, of which the bound knows nothing."""
    own = {"8@1": 1e-8, "8@2": 3e-8}
    times = GENERIC.having({f"wavefront/packed/{CUT}": own, "wavefront/packed": own})
    plan = replace(plan_of("permute4", B=16, alpha=8), alpha_fixed=True)
    tuning = plan.tuning.with_values({"sections.most_cost": 1000.0})
    plan, n = replace(plan, machine=times.on(8), tuning=tuning), 1 << 22
    for m in (512, 7 * 512, 9 * 512, 60_000):
        found = sections_of(plan, (m, n, None, 256, (), False, 8))
        assert found is not None
        cost = found.cut.cost(plan, m, n)
        assert cost == every_way(plan, m, n, None, 256, 8)


def test_costs_of_many_ways_are_those_of_each() -> None:
    plan = plan_of("permute4")
    rng = np.random.default_rng(3)
    ways = [
        Cut(*(int(rng.choice(v)) for v in (plan.alphas, plan.groups, plan.chunks)), count, 256, 0)
        for count in range(2, 200)
    ]
    arrays = Cut(*np.array(ways).T)
    found = arrays.cost(plan, 70_000, 300_000)
    assert found.tolist() == [cut.cost(plan, 70_000, 300_000) for cut in ways]
    proven = [cut._replace(proven=True) for cut in ways]
    found = Cut(*np.array(proven).T).cost(plan, 70_000, 300_000)
    assert found.tolist() == [cut.cost(plan, 70_000, 300_000) for cut in proven]


def test_waves_of_many_cases_are_those_of_each() -> None:
    rng = np.random.default_rng(4)
    strips, B, lag = rng.integers(1, 90, (3, 200))
    for even in (False, True):
        many = GENERIC.on(1).wave(strips, B, 3000, lag, even)
        for k, case in enumerate(zip(strips.tolist(), B.tolist(), lag.tolist(), strict=True)):
            one = GENERIC.on(1).wave(case[0], case[1], 3000, case[2], even)
            assert [np.broadcast_to(part, 200)[k] for part in many[:4]] == [*one[:4]]
    many = GENERIC.on(1).side_by_side(strips, lag, B, 3000, 192)
    for k, case in enumerate(zip(strips.tolist(), lag.tolist(), B.tolist(), strict=True)):
        one = GENERIC.on(1).side_by_side(*case, 3000, 192)
        assert [part[k] for part in many[:4]] == [*one[:4]] and many.turns[k] == one.turns


def test_tiles_without_sections_cost_what_the_best_way_costs() -> None:
    """Of equal ways that with the fewest groups."""
    plan = plan_of("permute4")
    for m, n in sizes(5, 40):
        best = plan.soonest(plan.alphas, m, n)
        alpha, B = best.alpha, best.B
        least = plan.least_cost(m, n)
        assert least == replace(plan, alpha=alpha).tile_cost(m, n)
        every = [replace(plan, alpha=alpha) for alpha in plan.alphas]
        assert least == min(one.tile_cost(m, n) for one in every)
        fewer = [groups for groups in plan.groups if groups < B]
        assert not fewer or -(-m // (plan.T * alpha)) > fewer[-1]


def test_a_choice_is_made_once() -> None:
    """It is kept by all that it depends on."""
    plan = plan_of("permute4")
    given = 100_000, 100_000, None, 256, (), False, MANY
    assert sections_of(plan, given) is sections_of(replace(plan), given)
    slow = GENERIC.having({f"wavefront/packed/{CUT}": {"row": 1.0}})
    assert sections_of(replace(plan, machine=slow.on(528)), given) is None
    ways = plan, (*given[:-1], 90)
    assert _soonest(*ways, 1e-9) is None and _soonest(*ways, 1.0) is not None


def test_long_pairs_are_swept_in_11_bits_where_that_is_sooner_done() -> None:
    """Only where the best of all scores is looked for."""
    scoring, score = DNA
    plan = plan_of(score)
    given = Given(plan, scoring, True, replace(UNLIMITED, largest=1 << 40), Seen())
    for n in (3_000_000, 6_000_000):
        for best in (False, True):
            found = cut(TileShape(n, n, best), given)
            assert (found is None) == (best and n > 5_000_000)
