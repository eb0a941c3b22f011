"""What may be chosen without changing a result: plan fields and tuning, declared once."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest
from saving import REFERENCE, interrupted, key, options, pair

import pysw_cl
from pysw_cl.engines.registry import engine_for, plan_of_facts
from pysw_cl.errors import PlanError
from pysw_cl.planning.plan import Plan, make_plan

# Names that have changed


def test_an_old_name_is_accepted_and_warned_of() -> None:
    a, b = "ACGTACGT", "ACGTTACG"
    with pytest.warns(
        DeprecationWarning, match="walk_cells is called traceback_tile_cells"
    ) as said:
        found = pysw_cl.align(a, b, plan={"engine": "reference", "walk_cells": 7})
    assert [one.filename for one in said] == [__file__]
    assert found.plan.traceback_tile_cells == 7
    with pytest.warns(DeprecationWarning, match="traceback_tile_cells") as said:
        assert found.plan.walk_cells == 7
    assert [one.filename for one in said] == [__file__]
    with pytest.warns(DeprecationWarning), pytest.raises(PlanError, match="give one of them"):
        make_plan(None, {"walk_cells": 7, "traceback_tile_cells": 7})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pysw_cl.align(a, b, plan={"engine": "reference", "traceback_tile_cells": 7})


def test_stored_plans_of_earlier_versions_have_old_names() -> None:
    plan = Plan(B=3, traceback_tile_cells=99)
    facts = plan.facts()
    assert Plan.of_facts(facts) == plan
    old = {**facts, "version": 2, "walk_cells": facts.pop("traceback_tile_cells")}
    del old["traceback_tile_cells"]
    with pytest.warns(DeprecationWarning, match="traceback_tile_cells"):
        assert Plan.of_facts(old) == plan


@pytest.mark.usefixtures("small")
def test_an_old_checkpoint_wishes_by_old_names(tmp_path: Path) -> None:
    a, b = pair(300)
    old = {**REFERENCE, "walk_cells": 1000}
    del old["traceback_tile_cells"]
    with pytest.warns(DeprecationWarning):
        interrupted(tmp_path, 3, a, b, **options(plan=old))
    assert '"walk_cells"' in (tmp_path / "job.json").read_text()
    with pytest.warns(DeprecationWarning, match="traceback_tile_cells"):
        found = pysw_cl.resume(tmp_path)
    assert key(found) == key(pysw_cl.align(a, b, plan=REFERENCE))


# Engines


def test_a_plan_is_of_its_engines_kind() -> None:
    """What a plan says of strips is the wavefront's; nothing asks for an engine's name."""
    for given in ({"engine": "reference"}, Plan(engine="reference")):
        plan = engine_for("auto", given).plan
        assert (plan.busy_rows, plan.fill) == (1, 0)
        assert str(plan) == "reference on the host: NumPy"
        assert plan_of_facts(plan.facts()) == plan
        assert engine_for("auto", plan).plan == plan
    plan = engine_for("auto", None).plan
    assert plan.busy_rows == plan.B * plan.T * plan.alpha
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
