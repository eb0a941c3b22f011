"""The choice of a tile's kernel, and the scoring in the form that the kernel takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from ...opencl.buffers import Buffers
from ...opencl.device import Runtime
from ...opencl.program import (
    BoundKernel,
    KernelSpec,
    build_meanwhile,
    note_built,
    soon_built,
    wait_until_begun,
)
from ...planning.execution import InStrips
from ...planning.lane_sets import LANE_SETS, MIXED
from ...planning.program import Program
from ...scoring.precision import Bounds, worst
from ...scoring.scoring import Scoring
from ...sequences.view import Codes
from ..common import SCORES, argument_macros, bind, named
from .arguments import NOT_GIVEN, arguments_of, macros, new_progress
from .descriptors import PROGRESS_MACROS, RECORD_MACROS, TILE_MACROS
from .exact_sums import ARITHMETIC, exact_sums

_NAME = {"ticketed": "wavefront_ticketed", "two-phase": "wavefront_two_phase"}


@cache
def kernel_spec(
    form: str,
    lanes: str,
    score: str,
    widths: tuple[int, ...] | None = None,
    forbidden: bool = False,
    tiles: str = "one_tile",
    striped: bool = False,
    limited: bool = True,
) -> KernelSpec:
    """The wavefront kernel of a form ("ticketed", "two-phase"), a lane set and a score file.

    ``widths``: of the narrow lanes; None: all that the set has.  ``tiles``: the kernel's file in
    the ticketed form.  ``striped``: are all narrow lanes at the same column?  ``limited``: does a
    profile limit its registers?
    """
    lane_set = LANE_SETS[lanes]
    widths = lane_set.widths if widths is None else widths
    whole = [width for width in widths if width != MIXED]
    at_width = (f"score/{score}.clh", "recurrence.clh")
    files = [
        f"NARROW_WIDTHS={sum(whole)}",
        f"MIXED={int(MIXED in widths)}",
        f"LAG={int(not striped)}",
        "base.clh",
        "names.clh",
        "platform.clh",
        "WIDTH=32",
    ]
    many = tiles != "one_tile"
    arguments = arguments_of(form, score, forbidden, many)
    files += [
        lane_set.wide,
        *argument_macros("SCORE", SCORES[score]),
        *at_width,
        *macros(arguments),
        "wavefront/strip.clh",
        "wavefront/special_columns.clh",
        "wavefront/strip_state.clh",
        "wavefront/strip_steps.clh",
        *RECORD_MACROS,
        "wavefront/best.clh",
        *PROGRESS_MACROS,
        "wavefront/strip_sync.clh",
        "wavefront/score_range.clh",
        "wavefront/prune.clh",
    ]
    for width in whole:
        assert lane_set.narrow is not None
        files += [f"WIDTH={width}", lane_set.narrow, *at_width, "wavefront/narrow_lanes.clh"]
        files += [f"wavefront/{'striped' if striped else 'lagged'}.clh", "wavefront/narrow.clh"]
    if MIXED in widths:
        assert lane_set.narrow is not None
        files += [f"WIDTH={MIXED}", lane_set.narrow, ARITHMETIC, "wavefront/mixed.clh"]
    files += [*(TILE_MACROS if many else ()), "WIDTH=32"]
    files += ["wavefront/width_dispatch.clh", "wavefront/tile.clh"]
    ticketed = ["wavefront/ticketed.clh", f"wavefront/{tiles}.cl"]
    files += ticketed if form == "ticketed" else ["wavefront/two_phase.cl"]
    limit = "mixed_registers" if MIXED in widths else "registers"
    return KernelSpec(_NAME[form], tuple(files), named(arguments), limit if limited else None)


def spec_of(program: Program) -> KernelSpec:
    """The kernel of a program."""
    parts = program.form, program.plan.lanes, program.score, program.widths, program.forbidden
    tiles = "sections" if program.sections else "many_tiles" if program.many else "one_tile"
    return kernel_spec(*parts, tiles, program.striped, program.limits_registers)


def kernel_of(program: Program, runtime: Runtime) -> BoundKernel:
    """The kernel on a device, built if necessary."""
    spec, defines = spec_of(program), program.defines(runtime.traits.unroll)
    kernel = BoundKernel(runtime, spec, defines)
    if program.mixed:
        note_built(runtime, spec, defines)
    return kernel


def launch_many(
    runtime: Runtime,
    program: Program,
    strip_groups: int,
    strips: int,
    values: Mapping[str, Any],
    buffers: Buffers,
) -> Any:
    """Launch the kernel for many tiles with so many ``strips`` in all; returns the event.
    ``values``: the arguments that are not the same in every such launch."""
    progress = buffers.of(new_progress(strips, program.T))
    given: dict[str, Any] = {
        **NOT_GIVEN,
        "ticket": buffers.of(np.zeros(1, np.int32)),
        "progress": progress,
        "progress_above": progress,
        "progress_above_at": strips,
        "moves": None,
    }
    kernel = kernel_of(program, runtime)
    bind(kernel, buffers, {**given, **values})
    buffers.send()
    return kernel.launch(strip_groups // program.warps, program.group, at_once=True)


def in_time(runtime: Runtime, execution: InStrips) -> tuple[InStrips, Program | None]:
    """What computes a tile now, and a program that is to be built meanwhile, for later calls."""
    execution = _exact(runtime, execution)
    other, program = execution.until_built, execution.program
    if other is None:
        return execution, None
    if soon_built(runtime, spec_of(program), program.defines(runtime.traits.unroll)):
        return execution, None
    return other, program if execution.builds else None


def _exact(runtime: Runtime, execution: InStrips) -> InStrips:
    """Without lanes of 11 bits where the device's sums are not exact."""
    program = execution.program
    if MIXED not in program.widths or exact_sums(runtime):
        return execution
    widths = tuple(width for width in program.widths if width != MIXED)
    return replace(execution, program=replace(program, widths=widths, mixed=()))


def build_later(runtime: Runtime, program: Program, event: Any) -> None:
    """Build a program for later calls, while the launch of ``event`` runs."""
    wait_until_begun(event)
    build_meanwhile(runtime, spec_of(program), program.defines(runtime.traits.unroll))


def scores_of(scoring: Scoring, score: str, skewed: bool, buffers: Buffers) -> dict[str, Any]:
    """The arguments that a scoring gives, for a score file."""
    # a diagonal step adds the skew of a row and of a column
    lift, source = 2 * scoring.gap_extend if skewed else 0, scoring.source
    pads, bounds = source.pads(score), Bounds.of(scoring)
    return {
        "query_pad": pads[0],
        "target_pad": pads[1],
        "gap_open": scoring.gap_open,
        "gap_extend": scoring.gap_extend,
        "highest": bounds.highest,
        "depth": bounds.depth,
        "limit8": bounds.limit8,
        **source.arguments(score, buffers.constant, worst(scoring), lift),
    }


def backwards(target: Codes, T: int, pad: int) -> Codes:
    """The target reversed, with T columns of padding at both ends, as narrow lanes of CPU vectors
    read it."""
    padded = np.full(len(target) + 2 * T, pad, np.uint8)
    padded[T : T + len(target)] = target[::-1]
    return padded
