"""Which tiles get lanes of 11 bits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from helpers import make_scoring, match_scoring
from profiles_made import H200

from pysw_cl.api.calibrate import _with_lanes
from pysw_cl.planning.geometry import TileShape
from pysw_cl.planning.lane_sets import LANE_SETS, MIXED
from pysw_cl.planning.model.times import GENERIC
from pysw_cl.planning.plan import Plan
from pysw_cl.planning.profiles.profile import profile_for
from pysw_cl.planning.program import Given, planned, widths_of
from pysw_cl.scoring.scoring import Scoring

DNA = match_scoring(1, -3, 3, 2)
#: As strips of an H200 are: a column takes longer if more of them share a scheduler.
SHARES = {1: 0.6, 2: 0.77, 3: 1.0}
SOONER = {
    f"{alpha}@{share}": column * part
    for alpha, column in ((16, 2.9e-7), (19, 3.3e-7), (25, 4.2e-7))
    for share, part in SHARES.items()
}
LARGE = (5_000_000, 5_000_000)


def plan(mixed: dict[str, float]) -> Plan:
    """A default plan of an H200, if these are the times of lanes of 11 bits."""
    known = dict(profile_for(H200)[0].times)
    known.pop("wavefront/mixed")
    times = GENERIC.having(known)
    machine = (times.having({"wavefront/mixed": mixed} if mixed else {})).on(528)
    usual = LANE_SETS["packed"].defaults
    wishes = {"B": 132 * usual.groups, "alpha": usual.alpha, "chunk": usual.chunk}
    return Plan(lanes="packed", form="ticketed", T=64, machine=machine, **wishes)


def lanes(
    plan: Plan,
    size: tuple[int, int] = LARGE,
    scoring: Scoring = DNA,
    rows: tuple[int, ...] = (),
    local: bool = True,
    best: bool = True,
) -> str:
    """The lanes of a tile."""
    found = planned(Given(plan, scoring, local), TileShape(*size, rows=rows), "permute4", best)
    assert found is not None
    return found.lanes


def test_large_local_tiles_have_them_if_they_are_sooner_done() -> None:
    sooner = plan(SOONER)
    assert lanes(sooner) == lanes(sooner, rows=(1 << 20,)) == "mixed"
    found = planned(Given(sooner, DNA), TileShape(*LARGE), "permute4", True)
    assert found is not None and found.B == 132 * 12
    assert widths_of(found, Given(plan({}), DNA), True) == (MIXED, 16)
    assert lanes(plan({name: 9 * seconds for name, seconds in SOONER.items()})) == "packed"
    assert lanes(plan({})) == "packed"


@pytest.mark.parametrize("more", [{"local": False}, {"best": False}, {"size": (100_000, 100_000)}])
def test_other_tiles_do_not(more: dict[str, Any]) -> None:
    assert lanes(plan(SOONER), **more) == "packed"


def test_nor_do_scores_and_plans_that_they_cannot_compute() -> None:
    sooner = plan(SOONER)
    odd = make_scoring([[1, -3], [-2, 1]], 3, 2)
    assert lanes(sooner, scoring=odd) == "packed"
    assert lanes(sooner, scoring=match_scoring(1, -3, 300, 2)) == "packed"
    assert lanes(sooner, scoring=match_scoring(-5, 0, 3, 2)) == "packed"
    assert lanes(replace(sooner, alpha_fixed=True)) == "packed"
    assert lanes(replace(sooner, B_fixed=True)) == "packed"


def test_the_width_needs_a_tile_of_its_own_with_a_best_cell() -> None:
    mixed = replace(plan(SOONER), lanes="mixed")
    assert MIXED in widths_of(mixed, Given(plan({}), DNA), True)
    assert MIXED not in widths_of(mixed, Given(plan({}), DNA, False), True)
    assert MIXED not in widths_of(mixed, Given(plan({}), DNA, True), False)
    assert MIXED not in widths_of(mixed, Given(plan({}), DNA), True, apart=True)
    assert MIXED not in widths_of(replace(mixed, form="two-phase"), Given(plan({}), DNA), True)
    assert MIXED not in widths_of(replace(mixed, alpha=1), Given(plan({}), DNA), True)


def test_their_times_follow_those_of_16_bits() -> None:
    """A calibration that measures 16 bits only leaves the choice between both what it was."""
    before = {
        "wavefront/packed": {"16@1": 1e-7, "25@1": 2e-7, "hop@1": 1.0},
        "wavefront/mixed": {"16@1": 8e-8, "25@1": 1e-7},
    }
    measured = {"wavefront/packed": {"16@1": 1.5e-7, "25@1": 3e-7, "28@1": 1.0, "hop@1": 7.0}}
    found = _with_lanes(plan({}), measured, before)
    assert found == {
        **measured,
        "wavefront/mixed": pytest.approx({"16@1": 1.2e-7, "25@1": 1.5e-7}),
    }
    assert _with_lanes(plan({}), {}, before) == {}
    known = {**measured, "wavefront/mixed": {}}
    assert _with_lanes(plan({}), known, before) == known
    assert _with_lanes(Plan(lanes="vector"), measured, before) == measured
