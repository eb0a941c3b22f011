"""What may be chosen without changing a result: plan fields and tuning, declared once."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from saving import REFERENCE, interrupted, key, options, pair

import pysw_cl
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
