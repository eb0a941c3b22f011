"""A lane set is one header and one row: nothing else has to know it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from aligning import NO_FREE_ENDS, align_case, ends, moves
from helpers import random_case
from whole_reference import align_reference

from pysw_cl.engines.plans import make_plan
from pysw_cl.errors import PlanError
from pysw_cl.folders import kernel_source
from pysw_cl.opencl.device import get_runtime
from pysw_cl.planning.lane_sets import LANE_SETS, LaneSet


def header(like: str, path: Path) -> str:
    """Another header, elsewhere, that does the same as one of cl/; its whole path."""
    path.write_text(f"// Lanes of a test.\n{kernel_source(like)}", encoding="ascii")
    return str(path)


def new_row(kind: str, tmp_path: Path) -> LaneSet:
    """A row for lanes that the device at hand can build: new 32-bit lanes, or new narrow ones."""
    if get_runtime("auto").info.kind != "cpu":
        pytest.skip("these lanes are elements of CPU vectors")
    path = tmp_path / f"{kind}.clh"
    if kind == "wide":
        like = LANE_SETS["vector32"]
        return replace(like, wide=header(like.wide, path), family="new", T=(4,))
    like = LANE_SETS["vector"]
    assert like.narrow is not None
    return replace(like, narrow=header(like.narrow, path), family="new", T=(4, 16))


@pytest.mark.parametrize("kind", ["wide", "narrow"])
@pytest.mark.parametrize("form", ["ticketed", "two-phase"])
def test_a_header_and_a_row_are_a_lane_set(
    kind: str, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"new {kind} {form}"
    monkeypatch.setitem(LANE_SETS, name, new_row(kind, tmp_path))
    plan = {"lanes": name, "T": 4, "alpha": 2, "B": 3, "chunk": 5, "form": form}
    rng, seen = np.random.default_rng(17), set[str]()
    for _ in range(6):
        case = random_case(rng, 150)
        for mode in ("local", "global"):
            found = align_case(case, mode, NO_FREE_ENDS, device="auto", plan=plan)
            expected = align_reference(case.query, case.target, case.scoring, mode)
            assert (found.score, ends(found)) == (expected.score, ends(expected))
            assert moves(found).tolist() == expected.moves.tolist()
            assert found.plan.lanes == name
            scores = align_case(case, mode, NO_FREE_ENDS, device="auto", plan=plan, output="score")
            assert scores.score == expected.score
            seen |= {what.split("/")[1] for what in scores.stats.cells}
    # narrow lanes leave what they cannot do to others
    assert "new" in seen and seen <= {"new", "vector"}
    assert kind == "narrow" or seen == {"new"}


def test_plans_name_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LANE_SETS, "new", new_row("wide", tmp_path))
    runtime = get_runtime("auto")
    with pytest.raises(PlanError, match=r"there are .*new"):
        make_plan(runtime, {"lanes": "old"})
    with pytest.raises(PlanError, match=r"new runs T in \(4,\), not 8"):
        make_plan(runtime, {"lanes": "new", "T": 8})
    assert "new lanes" in str(make_plan(runtime, {"lanes": "new", "T": 4}))


def test_every_row_can_be_planned() -> None:
    """What rows say fits together."""
    for name, row in LANE_SETS.items():
        assert kernel_source(row.wide) and kernel_source(row.pairs.header), name
        assert (row.narrow is None) == (row.widths == ()) == (row.instead is None), name
        assert row.alphas if row.narrow else not row.alphas, name
        if row.instead is not None:
            other = LANE_SETS[row.instead[0]]
            assert other.narrow is None and row.instead[1] in other.T, name
        assert row.of_warps or row.defaults.T in row.T, name
