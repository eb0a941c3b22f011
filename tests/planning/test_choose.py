"""How a tile is computed is decided once: the engine, the memory forecast and the model agree."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from contract_engines import random_job

import pysw_cl
from pysw_cl.engines.registry import engine_for, plan_on, setting_of
from pysw_cl.engines.wavefront.engine import WavefrontEngine
from pysw_cl.opencl.device import get_runtime
from pysw_cl.planning.choose import choose
from pysw_cl.planning.execution import ByRows, HeldWhole, InParts, InSections, InStrips
from pysw_cl.planning.facts import DeviceFacts
from pysw_cl.planning.geometry import TileShape
from pysw_cl.planning.memory import Memory, device_memory
from pysw_cl.planning.model.runs import sweep_of
from pysw_cl.planning.program import Given, Seen
from pysw_cl.scoring.scoring import Scoring, make_scoring

SCORINGS = [
    make_scoring((1, -3), (3, 2)),
    make_scoring((5, -4), (8, 6)),
    make_scoring((90, -120), (200, 40)),
    make_scoring("BLOSUM62", (10, 1)),
]
#: Small numbers, so that small matrices have many tiles, strips and sections.
WISHES: dict[str, list[Any]] = {
    "form": ["ticketed", "ticketed", "two-phase"],
    "T": [16, 64],
    "alpha": [1, 3, 8, 16],
    "B": [1, 2, 5],
    "chunk": [16, 64, 256],
    "tile_cells": [1 << 14, 1 << 17, 1 << 33],
    "sections.rounds": [2, 4],
    "sections.most_cost": [1000.0, 0.5],
}
#: What lets small tiles be cut into sections.
CUTS = {
    "sections.least_cells": 1,
    "sections.least_columns": 100,
    "sections.least_aspect": 0,
    "sections.most_share": 10.0,
    "sections.most_overlap": 10.0,
}
#: Plans of which few kernels are built.
FEW: list[dict[str, Any] | None] = [None, {"alpha": 4, **CUTS}]


def drawn_plan(rng: np.random.Generator) -> dict[str, Any] | None:
    """Some of the wishes; None: there are none."""
    if rng.random() < 0.25:
        return None
    names = [name for name in WISHES if rng.random() < 0.6]
    plan = {name: WISHES[name][rng.integers(len(WISHES[name]))] for name in names}
    plan |= CUTS if rng.random() < 0.5 else {}
    if rng.random() < 0.3:  # the lanes for what narrow ones cannot do
        instead = plan_on(get_runtime("auto"), None).without_narrow()
        plan |= {"lanes": instead.lanes, "T": instead.T, "alpha": min(4, instead.alpha)}
    elif get_runtime("auto").info.lanes != "vector":
        plan.pop("T", None)
    return plan


def drawn_side(rng: np.random.Generator) -> int:
    """Of a small matrix: mostly short, often thin."""
    return int(2 ** rng.uniform(0, 11.5))


def tile_agrees(rng: np.random.Generator, plan: dict[str, Any] | None) -> str:
    """A tile takes the memory, and the launches, of its execution.  Which kind it was."""
    scoring, local = SCORINGS[rng.integers(len(SCORINGS))], bool(rng.random() < 0.6)
    engine = engine_for("auto", plan)
    if not isinstance(engine, WavefrontEngine):
        return "none"
    wanted = {name: bool(rng.random() < 0.4) for name in ("bottom", "right")}
    size, kind = (drawn_side(rng), drawn_side(rng)), rng.random()
    if kind < 0.3 and engine.captures_inside:
        quantum = engine.plan.strip_rows
        rows = range(quantum, size[0], quantum)
        wanted["rows"] = tuple(rows[: int(rng.integers(0, 3))])
        wanted["columns"] = tuple(range(2, size[1], 50))[: int(rng.integers(0, 3))]
    elif kind < 0.5:
        wanted = {"store_moves": True}
    else:
        wanted["best"] = local and bool(rng.random() < 0.7)
    job = random_job(rng, *size, scoring, local, **wanted)
    execution, engine.peak_bytes = engine.execution(job), 0
    done = engine.tile(job)
    assert sum(done.cells.values()) + done.pruned >= size[0] * size[1]
    assert done.execution in (execution, None) or isinstance(execution, InSections)
    if isinstance(execution, InStrips):
        asked = Memory.of(execution.buffers).total
        grid = execution.grid
        launches = 1 if grid.form == "ticketed" else len([*grid.launches()])
        assert (engine.peak_bytes, done.launches) == (asked, launches), (execution, wanted)
        family = f"wavefront/{execution.plan.lane_set.family}/"
        assert {name.removeprefix(family) for name in done.cells} <= {
            str(width) for width in (*execution.program.widths, 32)
        }
    elif isinstance(execution, InSections) and done.launches == 2 - execution.sections.cut.proven:
        assert engine.peak_bytes == Memory.of(execution.buffers).total, execution
    return type(execution).__name__


def scores_agree(rng: np.random.Generator, plan: dict[str, Any] | None) -> None:
    """A score takes the memory that is foreseen, and the launches that the model counts."""
    runtime = get_runtime("auto")
    scoring, mode = SCORINGS[rng.integers(len(SCORINGS))], str(rng.choice(["local", "global"]))
    m, n = drawn_side(rng), drawn_side(rng)
    letters = "ACGT" if scoring.match_mismatch is not None else "ACDEFGHIKLMNPQRSTVWY"
    a, b = ("".join(rng.choice(list(letters), k)) for k in (m, n))
    how: dict[str, Any] = {"mode": mode, "output": "score", "plan": plan, "device": "auto"}
    how["sub_score"] = scoring.match_mismatch or "BLOSUM62"
    how["gap_cost"] = scoring.gap_open, scoring.gap_extend
    how |= {} if mode == "local" else {"max_cost": None}
    found = pysw_cl.align(a, b, **how)
    setting = setting_of(runtime, plan, found.scoring, mode)
    four = scoring.match_mismatch is not None or set(b) <= set("ARND")
    memory = device_memory(replace(setting, seen=Seen(few=four)), m, n)
    work = sweep_of(setting, m, n)
    counted = work.counts["call", "launch"] + work.counts["held", "launch"]
    again = work.counts["call", "check"] or any(one.way == "sections" for one in work.strips)
    assert str(found.execution) and found.execution is not None
    if not again and found.plan.form != "two-phase":  # of a refused section, or of many launches
        assert memory.total == found.stats.device_bytes, (plan, mode, m, n, scoring)
        assert counted == found.stats.launches, (plan, mode, m, n, scoring)


def test_an_engine_does_what_was_chosen() -> None:
    rng = np.random.default_rng(31)
    kinds = {tile_agrees(rng, FEW[k % 2]) for k in range(60)}
    assert {"InStrips", "InSections"} <= kinds


def test_forecasts_foresee_what_is_done() -> None:
    rng = np.random.default_rng(32)
    for k in range(40):
        scores_agree(rng, FEW[k % 2])


@pytest.mark.long
def test_many_random_shapes() -> None:
    rng = np.random.default_rng()
    for _ in range(1000):
        tile_agrees(rng, drawn_plan(rng))
        scores_agree(rng, drawn_plan(rng))


def given(scoring: Scoring = SCORINGS[0], local: bool = True, **more: Any) -> Given:
    """What decides on the device at hand."""
    runtime = get_runtime("auto")
    facts = more.pop("device", runtime.facts)
    return Given(plan_on(runtime, None), scoring, local, facts, Seen(), **more)


def test_what_is_held_is_held_for_all() -> None:
    """Of a matrix that is too large for a path, and of one with much padding."""
    runtime = get_runtime("auto")
    plan = plan_on(runtime, None)
    for m, n in ((800, 800), (1, 200_000)):
        for paths in (0, 1):
            held = Given(plan, SCORINGS[0], holds=True, paths=paths).is_held(m, n)
            facts = runtime.facts
            setting = Given(plan, SCORINGS[0], holds=True, paths=paths, device=facts)
            whole = Memory.of(HeldWhole(plan, m, n).buffers)
            assert bool(sweep_of(setting, m, n).counts["held", "launch"]) == held
            assert (device_memory(setting, m, n) == whole) == held


def test_a_device_that_is_too_small_gets_parts() -> None:
    small = DeviceFacts(memory=1 << 20, largest=1 << 19)
    tile = TileShape(1000, 100_000, rows=(1,))
    assert choose(tile, given(device=small)) == InParts((1,), ())
    long = TileShape(1000, 1 << 40)
    assert choose(long, given(device=small)) == InParts((), (1 << 39,))


def test_no_part_of_a_tile_with_moves_is_cut() -> None:
    for wish in ({"moves": True}, {"forbidden": True}):
        chosen = choose(TileShape(50, 3_000_000, level=True, **wish), given())
        assert isinstance(chosen, InStrips) and not isinstance(chosen, ByRows)
        assert chosen.plan.lane_set.narrow is None
