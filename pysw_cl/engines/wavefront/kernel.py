"""A tile's kernel, and scores, letters, edges and records in the form that it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from ...opencl.buffers import Buffers
from ...opencl.device import Runtime
from ...opencl.program import BoundKernel, KernelSpec, build_apart, key_of, known_built
from ...planning.execution import InStrips
from ...planning.geometry import Grid
from ...planning.lane_sets import LANE_SETS, MIXED
from ...planning.program import Program
from ...planning.sizes import RECORD_WORDS
from ...scoring.precision import UNREACHABLE, UNREACHABLE_BELOW
from ...scoring.scoring import Scoring
from ...sequences.view import Codes
from ...tiles.edges import Edge, Ints, repeated
from ...tiles.tile import TileJob
from ..common import bind, named, scored_files
from .arguments import NOT_GIVEN, arguments_of, macros
from .descriptors import PROGRESS_MACROS, RECORD_MACROS, TILE_MACROS, ProgressWord, RecordWord

MOST = 2**31 - 1
#: A left edge of at least so many rows is copied in parts; the device fills in constant parts.
LEAST_FILLED = 1 << 16
#: A small launch that finds out whether a device's half-precision sums are exact, its scores, which
#: are so small that they are denormal numbers, too, and its numbers and work-items of a group.
ARITHMETIC = "wavefront/mixed_arithmetic.clh"
EXACT_SUMS = KernelSpec(
    "exact_sums", ("base.clh", ARITHMETIC, "wavefront/exact_sums.cl"), ("wrong",), limit=None
)
SMALL_SCORES = {"MATCH": 1, "MISMATCH": -3, "GAP_FIRST": 5, "GAP_EXTEND": 2}
NUMBERS, GROUP = 2048, 64
#: What devices answered, by device, program and options.
_exact: dict[Any, bool] = {}


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
    """The wavefront kernel of a form, a lane set and a score file.  ``widths``: of the narrow
    lanes; None: all that the set has.  ``tiles``: the kernel's file in the ticketed form.
    ``limited``: does a profile limit its registers?  ``striped``: see `Program`."""
    lane_set, many = LANE_SETS[lanes], tiles != "one_tile"
    widths = lane_set.widths if widths is None else widths
    whole, narrow = [width for width in widths if width != MIXED], lane_set.narrow or ""
    at_width = (f"score/{score}.clh", "recurrence.clh")
    arguments = arguments_of(form, score, forbidden, many)
    files = [
        f"NARROW_WIDTHS={sum(whole)}",
        f"MIXED={int(MIXED in widths)}",
        f"LAG={int(not striped)}",
        *scored_files(lane_set.wide, score),
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
        files += [f"WIDTH={width}", narrow, *at_width, "wavefront/narrow_lanes.clh"]
        files += [f"wavefront/{'striped' if striped else 'lagged'}.clh", "wavefront/narrow.clh"]
    if MIXED in widths:
        files += [f"WIDTH={MIXED}", narrow, ARITHMETIC, "wavefront/mixed.clh"]
    files += [*(TILE_MACROS if many else ()), "WIDTH=32"]
    files += ["wavefront/width_dispatch.clh", "wavefront/tile.clh"]
    ticketed = ["wavefront/ticketed.clh", f"wavefront/{tiles}.cl"]
    files += ticketed if form == "ticketed" else ["wavefront/two_phase.cl"]
    limit = "mixed_registers" if MIXED in widths else "registers"
    name = f"wavefront_{form.replace('-', '_')}"
    return KernelSpec(name, tuple(files), named(arguments), limit if limited else None)


def spec_of(program: Program) -> KernelSpec:
    parts = program.form, program.plan.lanes, program.score, program.widths, program.forbidden
    tiles = "sections" if program.sections else "many_tiles" if program.many else "one_tile"
    return kernel_spec(*parts, tiles, program.striped, program.limits_registers)


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
    }
    kernel = BoundKernel(runtime, spec_of(program), program.defines)
    bind(kernel, buffers, {**given, **values})
    buffers.send()
    return kernel.launch(strip_groups // program.warps, program.group, at_once=True)


def in_time(runtime: Runtime, execution: InStrips) -> InStrips:
    """What computes a tile now; another process builds a better program for later calls.  Lanes of
    11 bits go where the device's sums are not exact."""
    program, other = execution.program, execution.until_built
    if MIXED in program.widths and not exact_sums(runtime):
        widths = tuple(width for width in program.widths if width != MIXED)
        program = replace(program, widths=widths, mixed=())
        execution = replace(execution, program=program)
    built = spec_of(program), program.defines
    if other is None or known_built(runtime, *built):
        return execution
    build_apart(runtime, [built])
    return other


def exact_sums(runtime: Runtime) -> bool:
    """Does the device add numbers of 11 bits right, denormal ones, too?  Asked once a process."""
    asked = runtime.identity, key_of(runtime, EXACT_SUMS, SMALL_SCORES)
    if asked not in _exact:
        with Buffers(runtime) as buffers:
            wrong = buffers.of(np.zeros(1, np.int32))
            kernel = BoundKernel(runtime, EXACT_SUMS, SMALL_SCORES).bind(wrong=wrong)
            kernel.launch(NUMBERS // GROUP, GROUP)
            _exact[asked] = not buffers.read(wrong, 1)[0]
    return _exact[asked]


def scores_of(scoring: Scoring, score: str, skewed: bool, buffers: Buffers) -> dict[str, Any]:
    """The arguments that a scoring gives, for a score file."""
    # a diagonal step adds the skew of a row and of a column
    lift, source = 2 * scoring.gap_extend if skewed else 0, scoring.source
    pads, bounds = source.pads(score), scoring.bounds
    return {
        "query_pad": pads[0],
        "target_pad": pads[1],
        "gap_open": scoring.gap_open,
        "gap_extend": scoring.gap_extend,
        "highest": bounds.highest,
        "depth": bounds.depth,
        "limit8": bounds.limit8,
        **source.arguments(score, buffers.constant, lift),
    }


def backwards(target: Codes, T: int, pad: int) -> Codes:
    """The target reversed, with T columns of padding at both ends, as narrow CPU lanes read it."""
    padded = np.full(len(target) + 2 * T, pad, np.uint8)
    padded[T : T + len(target)] = target[::-1]
    return padded


def query_codes(job: TileJob, grid: Grid, scores: Mapping[str, Any]) -> Codes:
    codes = np.full(grid.padded_rows, scores["query_pad"], job.scoring.source.code)
    codes[: grid.m] = job.query
    return codes


def target_codes(target: Codes, program: Program, scores: Mapping[str, Any]) -> dict[str, Codes]:
    """A tile's target, as `Strips.shared_letters` calls it, for wide and for narrow lanes."""
    if not program.plan.lane_set.backwards:
        return {"target": target}
    return {"target": target, "letters": backwards(target, program.T, scores["target_pad"])}


def left_parts(job: TileJob, grid: Grid, corner: int, left: Edge) -> tuple[list[Ints], list[Ints]]:
    """The left edge's H after the corner's, and its X, in parts, both extended to the padding rows.
    Padding gets a lower bound of row m's score in column 1, so that no padding row beats a cell of
    row m.  It also replaces H(m, 0), which only the diagonal of the padding would read."""
    m, scoring = grid.m, job.scoring
    last = int(left.h[m - 1])
    low = last if last < UNREACHABLE_BELOW else last - scoring.gap_open - scoring.gap_extend
    if job.floor is not None and last >= job.floor:
        low = max(low, job.floor)
    below = grid.padded_rows - m
    h_below = repeated(low, below + (below > 0))
    h_parts = [repeated(corner, 1), left.h[: m - (below > 0)], h_below]
    return h_parts, [left.x, repeated(low - scoring.gap_open, below)]


def new_records(strip_groups: int) -> Ints:
    """The records of groups before a launch."""
    records = np.zeros((strip_groups, RECORD_WORDS), np.int32)
    records[:, : RecordWord.COLUMNS8] = UNREACHABLE
    return records


def read_records(buffers: Buffers, record: Any, strip_groups: int) -> Ints:
    """A row of `RecordWord` for each group; waits for the queue of ``buffers``."""
    return buffers.read(record, RECORD_WORDS * strip_groups).reshape(-1, RECORD_WORDS)


def counted(records: Ints) -> list[int]:
    """Columns of strips that all groups swept in 8, 16 and 32 bits, those that were pruned, and
    those of blocks that outgrew the narrowest lanes."""
    counts = np.ascontiguousarray(records[:, RecordWord.COLUMNS8 :]).view(np.int64)
    columns: list[int] = counts.sum(axis=0).tolist()
    return columns


def new_progress(strips: int, T: int, words: int = 1) -> Ints:
    """The published columns of strips before a launch; then a number that lets any strip begin.
    ``words``: of each, for more of `ProgressWord`."""
    progress = np.zeros((strips + 1, words), np.int32)
    progress[:, ProgressWord.COLUMNS] = -T
    progress[-1, ProgressWord.COLUMNS] = MOST
    return progress.ravel()
