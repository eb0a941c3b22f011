"""What may be chosen without changing a result: plan fields and tuning, declared once."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

import pysw_cl
from pysw_cl.cli.parser import plan as read_plan
from pysw_cl.engines.plans import make_plan
from pysw_cl.engines.reference import ReferencePlan
from pysw_cl.engines.registry import engine_for, plan_of_facts
from pysw_cl.errors import PlanError
from pysw_cl.planning.lane_sets import LANE_SETS
from pysw_cl.planning.parameters import Tuning
from pysw_cl.planning.plan import Plan, space

# The declared space


def test_the_space_is_complete() -> None:
    """Every number of a plan, and of its tuning, is declared, under the name that sets it."""
    everything = space()
    numbers = {f.name for f in dataclasses.fields(Plan) if f.type == "int"}
    assert {name for name in everything if "." not in name} == numbers
    groups = {f.name: f.default for f in dataclasses.fields(Tuning)}
    dotted = {f"{one}.{f.name}" for one, kind in groups.items() for f in dataclasses.fields(kind)}
    assert {name for name in everything if "." in name} == dotted
    assert len(everything) == len(numbers) + len(dotted) > 70


@pytest.mark.parametrize("name", space())
def test_a_declaration_is_well_formed(name: str) -> None:
    one = space()[name]
    assert one.name == name
    assert one.low <= one.default <= one.high
    assert len(one.reason.split()) > 2
    assert one.reason == one.reason.strip() and one.constraint == one.constraint.strip()
    assert str(one).startswith(f"{name}: from {one.low} ") and one.reason in str(one)


@pytest.mark.parametrize("name", space())
def test_a_declared_value_can_be_set(name: str) -> None:
    """To its default and its ends; what lies beyond is refused by name, and is no surprise."""
    one, base = space()[name], ReferencePlan()
    for value in (one.default, one.low, one.high):
        plan = make_plan(None, {"engine": "reference", name: value}, base)
        group, _, field = name.rpartition(".")
        assert getattr(getattr(plan.tuning, group) if group else plan, field) == value
        assert plan_of_facts(plan.facts()) == plan
        assert make_plan(None, {**plan.overrides()}, base) == dataclasses.replace(
            plan, alpha_fixed=True, B_fixed=True
        )
    for value in (one.low - 1, one.high + 1, "much", True, None):
        with pytest.raises(PlanError, match=re.escape(name)):
            make_plan(None, {name: value}, base)


def test_defaults_of_every_lane_set_are_in_range() -> None:
    everything = space()
    for lanes in LANE_SETS.values():
        usual = lanes.defaults
        for name, value in [
            *(("T", T) for T in lanes.T),
            ("alpha", usual.alpha),
            ("chunk", usual.chunk),
            ("tile_cells", usual.tile_cells),
            ("traceback_tile_cells", usual.moves_cells),
        ]:
            assert everything[name].low <= value <= everything[name].high


def test_parameters_in_the_shell() -> None:
    text = "B=4,traceback.pieces=8,traceback.grid_share=0.25,band.most_waste=1e-2,form=two-phase"
    given = read_plan(text)
    assert given == {
        "B": 4,
        "traceback.pieces": 8,
        "traceback.grid_share": 0.25,
        "band.most_waste": 0.01,
        "form": "two-phase",
    }
    assert [type(value) for value in given.values()] == [int, int, float, float, str]
    plan = make_plan(None, given)
    assert (plan.B, plan.form, plan.tuning.traceback.grid_share) == (4, "two-phase", 0.25)
    assert read_plan("B=-1,alpha=2.,lanes=x1") == {"B": -1, "alpha": 2.0, "lanes": "x1"}


# Stored plans


@pytest.mark.parametrize("version", [1, 2, 4, "3", None])
def test_stored_plans_of_another_version(version: object) -> None:
    facts = Plan(B=3, traceback_tile_cells=99).facts()
    assert Plan.of_facts(facts) == Plan(B=3, traceback_tile_cells=99)
    with pytest.raises(PlanError, match=r"has version .*; this pysw-cl reads version 3"):
        Plan.of_facts({**facts, "version": version})


# Engines


def test_a_plan_is_of_its_engines_kind() -> None:
    """What a plan says of strips is the wavefront's; nothing asks for an engine's name."""
    for given in ({"engine": "reference"}, Plan(engine="reference")):
        plan = engine_for("auto", given).plan
        assert (plan.device_rows, plan.pipeline_lag) == (1, 0)
        assert str(plan) == "reference on the host: NumPy"
        assert plan_of_facts(plan.facts()) == plan
        assert engine_for("auto", plan).plan == plan
    plan = engine_for("auto", None).plan
    assert plan.device_rows == plan.B * plan.T * plan.alpha
    assert str(plan).startswith("wavefront on ")
    assert plan_of_facts(plan.facts()) == plan
    with pytest.raises(PlanError, match="engine 'reference' is not wavefront"):
        make_plan(None, {"engine": "reference"})
    with pytest.raises(PlanError, match="engine 'other' does not exist"):
        plan_of_facts({**plan.facts(), "engine": "other"})


def test_no_file_asks_for_an_engine_by_name() -> None:
    package = Path(pysw_cl.__file__).parent
    for path in sorted(package.rglob("*.py")):
        assert not re.search(r"engine\s*[!=]=\s*[\"']", path.read_text()), path
