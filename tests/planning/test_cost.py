"""The models of cost: what plans and bands choose by them, and that nothing else decides it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from profiles_made import H200
from saving import TINY, key, related

import pysw_cl
from pysw_cl.drivers.band_doubling import BandTiles
from pysw_cl.engines.plans import Wishes, make_plan
from pysw_cl.engines.reference import ReferenceEngine, ReferencePlan
from pysw_cl.engines.registry import ENGINES
from pysw_cl.planning.geometry import cuts
from pysw_cl.planning.lane_sets import LANE_SETS
from pysw_cl.planning.model.times import GENERIC, Machine
from pysw_cl.planning.plan import Plan
from pysw_cl.planning.profiles.profile import profile_for
from pysw_cl.tiles.contract import Engine

#: The machines of lanes in warps, by a profile that ships, and of others.
WARPS = GENERIC.having(profile_for(H200)[0].times).on(528)
GENERAL = GENERIC
#: Numbers of groups that tiles may have instead of 1,584.
WARPS_GROUPS = (528, 1056)
#: What was chosen when this was written.
CHOICES = Path(__file__).parents[1] / "data" / "choices.txt"
SIDES = (1, 60, 1000, 9000, 100_000, 1_000_000, 5_300_000)
ROWS: tuple[tuple[int, ...], ...] = ((), (1600,), (4096, 8192))
PAIRS = ((5_000, 5_000), (100_000, 101_000), (5_300_000, 5_200_000), (20_000_000, 20_000_100))
WIDTHS = (1, 300, 5_000, 200_000)


def plans() -> Iterator[tuple[str, Plan]]:
    """Plans of every lane set, with few and many groups."""
    for lanes, row in LANE_SETS.items():
        usual = row.defaults
        for form in ("ticketed", "two-phase"):
            moves = usual.moves_cells if form == "ticketed" else Plan.traceback_tile_cells
            for B in (2, 16, 1584):
                machine = WARPS if row.of_warps else GENERAL
                plan = Plan(
                    lanes=lanes, form=form, B=B, T=usual.T, alpha=usual.alpha, machine=machine
                )
                sizes = {"tile_cells": usual.tile_cells, "traceback_tile_cells": moves}
                yield f"{lanes} {form} {B}", replace(plan, chunk=usual.chunk, **sizes)


def said(plan: Plan | None) -> str:
    """What matters of a plan."""
    if plan is None:
        return "-"
    fewer = f":{plan.B}" if plan.B in WARPS_GROUPS else ""
    return f"{plan.lanes[:1]}{plan.T}:{plan.alpha}:{plan.chunk}{fewer}"


def tile_choices() -> Iterator[str]:
    """A line for each plan and number of rows: the plans of tiles."""
    for name, plan in plans():
        for m in SIDES:
            chosen = [
                *(said(plan.for_size(m, n, rows)) for n in SIDES for rows in ROWS),
                *(said(plan.for_moves(m, n)) for n in SIDES),
            ]
            yield f"tile {name} {m}: {' '.join(chosen)}"


def band_choices() -> Iterator[str]:
    """A line for each plan and pair: the tiles of bands, and their share of the matrix's work."""
    for name, plan in [("reference", ReferencePlan()), *plans()]:
        for m, n in PAIRS[: 2 if name == "reference" else None]:
            tiles, chosen = BandTiles(m, n, plan), []
            for width in WIDTHS:
                rows, columns = tiles.shape(width)
                low, high = min(0, n - m) - width // 2, max(0, n - m) + width // 2
                cells, saved, work = tiles.cost(low, high, cuts(m, rows, plan.strip_rows))
                chosen.append(f"{rows}x{columns}:{cells}:{saved}:{work:.9g}")
            yield f"band {name} {m} {n}: {' '.join(chosen)}"


def test_choices_are_what_they_were() -> None:
    wanted = CHOICES.read_text().splitlines()
    found = [*tile_choices(), *band_choices()]
    assert len(found) == len(wanted) > 300
    assert [one for one, other in zip(found, wanted, strict=True) if one != other] == []


def test_costs_that_are_kept_know_their_form() -> None:
    """Whichever of two plans asks first: their strips end differently."""
    plans = [
        Plan(lanes="vector", form=form, B=2, T=16, alpha=8) for form in ("ticketed", "two-phase")
    ]
    new = [replace(plan, machine=Machine(GENERIC.by_subject)) for plan in plans]
    alone = [plan.tile_cost(4900, 5000) for plan in new]
    assert [plan.tile_cost(4900, 5000) for plan in plans] == alone
    assert alone[0] != alone[1]


# What models say


class Slow(Plan):
    """A plan that counts what its model is asked, and likes few rows a lane."""

    asked: ClassVar[list[tuple[Any, ...]]] = []

    def ways(self, alphas: Any, m: int, n: int) -> list[tuple[float, int, int]]:
        self.asked.extend((alpha, m, n) for alpha in alphas)
        return [(alpha * m * n, self.B, self.chunk) for alpha in alphas]

    def moves_cost(self, alpha: int, m: int, n: int) -> float:
        self.asked.append(("moves", alpha, m, n))
        return -alpha


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> type[Slow]:
    """The plan of the reference engine has this model."""
    monkeypatch.setattr(Slow, "asked", [])

    class Modelled(ReferencePlan):
        ways = Slow.ways
        asked = Slow.asked

    def make(device: Any, wishes: Wishes, timed: bool = False) -> Engine:
        engine = ReferenceEngine()
        engine.plan = make_plan(None, wishes, Modelled())
        return engine

    monkeypatch.setitem(ENGINES, "reference", replace(ENGINES["reference"], make=make))
    return Slow


def test_a_tile_of_few_strips_at_a_time_has_fewer_groups() -> None:
    """Groups that wait take turns from those that compute; what is given stays."""
    plan = Plan(lanes="packed", T=64, alpha=25, B=1584, chunk=128, machine=WARPS)
    thin, wide = (1_600_000, 29_000), (5_000_000, 5_000_000)
    found = plan.for_size(*thin)
    assert found is not None and (found.B, found.chunk) == (528, 64)
    full = plan.for_size(*wide)
    assert full is not None and full.B > found.B and full.chunk == 128
    given = replace(plan, B_fixed=True).for_size(*thin)
    assert given is not None and given.B == 1584
    whole = replace(plan, alpha_fixed=True).for_size(*thin)
    assert whole is not None and (whole.alpha, whole.B, whole.chunk) == (25, 1584, 128)
    general = replace(plan, machine=GENERAL).for_size(*thin)  # nobody knows its schedulers
    assert general is not None and general.B == 1584
    usual, fewer = (WARPS.pace("wavefront/packed").line(25, share).hop for share in (3, 1))
    assert usual > fewer


def test_plans_choose_by_their_model(slow: type[Slow]) -> None:
    plan = slow(lanes="packed", T=64, alpha=25, B=1584, chunk=128, machine=WARPS)
    fits = plan.for_size(5000, 6000)
    assert fits is not None and fits.alpha == plan.alphas[0] == 2
    assert {asked[1:] for asked in slow.asked} == {(5000, 6000)}
    assert {asked[0] for asked in slow.asked} == set(plan.alphas)
    slow.asked.clear()
    assert plan.for_moves(300, 200).alpha == 8
    assert slow.asked == [("moves", 4, 300, 200), ("moves", 8, 300, 200)]


def test_bands_choose_by_the_model_that_they_are_given(slow: type[Slow]) -> None:
    a, b = related()
    wanted = pysw_cl.align(a, b, mode="global", max_cost=None, plan=TINY)
    assert not slow.asked
    found = pysw_cl.align(a, b, mode="global", plan=TINY)
    assert slow.asked and key(found) == key(wanted)


def test_a_matrix_is_its_tiles() -> None:
    rng = np.random.default_rng(1)
    for name, plan in plans():
        m, n, *shape = (int(side) for side in rng.integers(1, 10**6, 4))
        down, across = -(-m // shape[0]), -(-n // shape[1])
        rows, columns = -(-m // down), -(-n // across)
        for own in (plan, ReferencePlan()):
            whole = own.matrix_cost(m, n, (shape[0], shape[1]))
            one = own.matrix_cost(rows, columns, (rows, columns))
            tiles = [replace(own, alpha=alpha).tile_cost(rows, columns) for alpha in own.alphas]
            assert whole == down * across * one and one == min(tiles), name


def test_more_cells_take_no_less() -> None:
    """With any alpha, on any lanes, with moves and without."""
    for _, plan in plans():
        for alpha in (1, 4, plan.alpha):
            for own in (replace(plan, alpha=alpha), ReferencePlan(alpha=alpha)):
                for cost in (own.tile_cost, partial(own.moves_cost, alpha)):
                    for small, large in ((100, 101), (5_000, 70_000)):
                        least = cost(small, small)
                        assert 0 < least <= cost(small, large)
                        assert least <= cost(large, small)
