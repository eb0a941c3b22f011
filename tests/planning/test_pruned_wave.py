"""Sweeps of similar pairs on GPUs, whose strips wait for each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from test_section_choice import plan_of

from pysw_cl.planning.lane_sets import LANE_SETS
from pysw_cl.planning.model.counts import Strips
from pysw_cl.planning.model.pruned_wave import MOST_STEPS, STEPS, steps_of, sweep_share
from pysw_cl.planning.model.runs import Setting, sweep_of
from pysw_cl.planning.model.similar import SimilarPath, relative_time, shares_under, width_of
from pysw_cl.scoring.scoring import cached_scoring

DNA = cached_scoring((1, -3), (3, 2), None, "error")


def setting(machine: bool = True) -> Setting:
    """That of an H200; or of a device whose groups have a core each."""
    usual = LANE_SETS["packed"].defaults
    plan = replace(plan_of("permute4"), form="ticketed", tile_cells=usual.tile_cells)
    plan = replace(plan, tuning=plan.tuning.with_values({"sweep.longest_side": 1 << 30}))
    if not machine:
        plan = replace(plan, machine=replace(plan.machine, schedulers=0))
    return Setting(plan, DNA, four=True, cuts_squares=False)


def along(m: int, n: int, share: float) -> SimilarPath:
    """A path from corner to corner that scores this share of the shorter side."""
    rows, columns = np.array([0.0, m]), np.array([0.0, n])
    return SimilarPath(m, n, rows, columns, np.array([0.0, share * min(m, n)]), 1, 2)


def test_all_strips_compute_without_a_path() -> None:
    strips = Strips("wavefront/packed", 25, 128, 3, 0, B=1584)
    for m, n in ((1000, 5000), (2_000_000, 400_000), (6_000_000, 5_000_000)):
        steps = steps_of(SimilarPath.nowhere(m, n, DNA), strips, 64)
        assert (steps.all == steps.computing).all() and not steps.near.any()
        assert steps.all.sum() == pytest.approx(STEPS * -(-m // 1600))
        assert steps.all.max() <= 1584 * 1.01
        made = setting()
        assert sweep_share(made, sweep_of(made, m, n), SimilarPath.nowhere(m, n, DNA)) == 1.0


def test_a_thin_matrix_has_no_more_steps() -> None:
    strips = Strips("wavefront/packed", 25, 128, 3, 0, B=1584)
    steps = steps_of(SimilarPath.nowhere(10**9, 50, DNA), strips, 64)
    assert len(steps.all) <= MOST_STEPS + 1
    assert steps.all.max() <= 1584


@pytest.mark.parametrize(
    ("m", "changed", "taken"),
    [(255_572, 0.83, 0.99), (638_930, 0.7, 0.99), (5_000_000, 0.75, 0.86)],
)
def test_pruning_does_not_help_strips_that_wait(m: int, changed: float, taken: float) -> None:
    """As measured on an H100: pairs that one round of strips does take as long as all cells."""
    made = setting()
    assert sweep_share(made, sweep_of(made, m, m), along(m, m, changed)) == pytest.approx(
        taken, abs=0.05
    )


def test_many_rounds_take_less() -> None:
    made, shares = setting(), []
    for m in (2_000_000, 10_000_000, 40_000_000):
        shares.append(sweep_share(made, sweep_of(made, m, m), along(m, m, 0.8)))
    assert shares == sorted(shares, reverse=True) and shares[2] < 0.7
    # a score that is known leaves the first strips and columns
    nowhere = SimilarPath.nowhere(m, m, DNA)
    assert sweep_share(made, sweep_of(made, m, m), nowhere, 0.8 * m) < 0.2


def test_groups_with_a_core_each_by_shares() -> None:
    made, path = setting(machine=False), along(50_000, 50_000, 0.8)
    work = sweep_of(made, path.m, path.n)
    usual = relative_time(shares_under(made, path), made.plan.machine.times, width_of(work))
    assert sweep_share(made, work, path) == usual
