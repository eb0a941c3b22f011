"""Heights of a pipeline's tiles: by the lanes that compute them, and where their strips end."""

from __future__ import annotations

from dataclasses import replace

import pytest
from profiles_made import H200

from pysw_cl.planning.choose import pipeline_rows, pipeline_slots
from pysw_cl.planning.facts import UNLIMITED
from pysw_cl.planning.geometry import TileShape, may_be_wide
from pysw_cl.planning.model.times import GENERIC
from pysw_cl.planning.plan import Plan
from pysw_cl.planning.profiles.profile import profile_for
from pysw_cl.planning.program import Given, planned, seldom_waits
from pysw_cl.scoring.scoring import make_scoring

SCORING = make_scoring((1, -3), (3, 2))
SIZES = [
    (33_000_000, 47_000_000),
    (47_000_000, 33_000_000),
    (5_000_000, 5_000_000),
    (10_000_000, 10_000_000),
    (3_300_000, 3_300_000),
    (38_000_000, 610_000),
    (2_000_000, 60_000_000),
]


def gpu(units: int) -> Plan:
    """The plan of a GPU with an H200's times, but so many multiprocessors."""
    known = GENERIC.having(profile_for(H200)[0].times).on(4 * units)
    return Plan(
        lanes="packed", form="ticketed", T=64, alpha=25, B=12 * units, chunk=128, machine=known,
        tile_cells=1 << 46,
    )  # fmt: skip


def given_of(plan: Plan, units: int = 132) -> Given:
    return Given(plan, SCORING, device=replace(UNLIMITED, schedulers=4, units=units))


@pytest.mark.parametrize("units", [16, 20, 64, 132])
@pytest.mark.parametrize(("m", "n"), SIZES)
def test_tiles_keep_the_device_busy_and_end_where_strips_end(units: int, m: int, n: int) -> None:
    plan = gpu(units)
    found = pipeline_rows(given_of(plan, units), m, n)
    assert found is not None
    rows, quantum, _ = found
    assert rows % quantum == 0
    given = Given(plan, SCORING)
    usual = planned(given, TileShape(m, n), "permute4")
    fits = planned(given, TileShape(m, n, rows=(rows,)), "permute4", seldom_waits(plan, n))
    assert usual is not None and fits is not None
    for one in (usual, fits, plan.without_narrow()):
        assert rows % one.strip_rows == 0
    # all tiles that have memory but the one that was just taken out
    assert (pipeline_slots(plan) - 1) * rows >= fits.device_rows
    assert rows <= max(plan.tile_shape(m, n)[0], m)


def test_lanes_of_11_bits_of_an_h200() -> None:
    """28 rows a lane take a third more rows at once than 16 bits with 19."""
    m, n = SIZES[0]
    rows, *_ = pipeline_rows(given_of(gpu(132)), m, n) or (0, 0)
    fits = planned(Given(gpu(132), SCORING), TileShape(m, n, rows=(rows,)), "permute4", True)
    assert fits is not None and (fits.lanes, fits.alpha, fits.B) == ("mixed", 28, 1584)
    assert 7 * rows >= fits.device_rows


def test_tiles_one_by_one() -> None:
    given = given_of(gpu(132))
    assert pipeline_rows(given, 1_000_000, 1_000_000) is None  # a second's work
    assert pipeline_rows(given, 10_000_000, 70_000_000) is None  # launches of a minute
    wide = replace(gpu(132).without_narrow(), alpha_fixed=False)
    assert pipeline_rows(given_of(wide), *SIZES[0]) is None


def test_thin_matrices_are_cut_into_sections_instead() -> None:
    """Strips of 100,000 columns are too short for all groups; those of the transposed tiles are
    not, but a global comparison has no sections."""
    given = given_of(gpu(132))
    assert pipeline_rows(given, 200_000_000, 100_000) is None
    assert pipeline_rows(replace(given, local=False), 200_000_000, 100_000) is not None


def test_tiles_have_no_more_cells_than_elsewhere() -> None:
    """They may be wider, but not where small tiles are asked for."""
    m, n = SIZES[0]
    for cells, piped in ((1 << 46, True), (1 << 40, False)):
        plan = replace(gpu(132), tile_cells=cells)
        shape = plan.tile_shape(m, n)
        rows, *_ = pipeline_rows(given_of(plan), m, n) or (0, 0)
        fits = rows <= shape[0] and may_be_wide(rows, n, shape)
        assert shape[1] < n and fits is piped
    assert may_be_wide(7, 10, (7, 10)) and not may_be_wide(8, 10, (7, 9))
