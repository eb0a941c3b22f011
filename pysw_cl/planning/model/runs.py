"""The counts of whole runs: which tiles a matrix has, and how each is computed.

Engines choose by the same functions: :mod:`pysw_cl.planning.sections`, `Plan.for_size`,
:mod:`pysw_cl.planning.score_files`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from ...scoring.scoring import Scoring
from ...sequences.coordinates import MOST_KNOWN
from ..cost import row_wave, section_wave, strip_wave
from ..geometry import may_be_wide, piece, tile_height
from ..path_grid import grid_places, most_pieces
from ..plan import Plan
from ..score_files import (
    narrow_score,
    planned,
    seldom_waits,
    striped,
    striped_rows,
    wide_score,
    widths_of,
)
from ..sections import (
    Sections,
    first_overlap,
    most_of_related,
    sections_of,
    sooner_by_rows,
    sooner_in_11_bits,
    span,
)
from .counts import STRIP_ROW, Strips, Wave, Work
from .times import Name

#: Of the grid cells on the path, what is computed where its tiles are known ahead: these are
#: smaller, and pruned (5 million letters, 6% changed, on an H100: 1/22).
AHEAD = 1 / 22
#: The first letters of a call take longer than others: their memory is new to the caches.
EARLY_LETTERS = 1 << 17


@dataclass(frozen=True)
class Setting:
    """What is asked of a device, but for the size."""

    plan: Plan
    scoring: Scoring
    #: "local" or "global".
    mode: str = "local"
    #: Can the scores of four target letters be looked up by permuting bytes?
    four: bool = False
    #: The row scan's plan, if the engine may choose it for a tile.
    scan: Plan | None = None
    #: Are tiles below each other computed in a pipeline?
    pipelines: bool = False
    #: Are tiles along the path computed before it is known to lead through them?
    ahead: bool = False
    #: Is the plan the wavefront's, whose tiles may be cut into sections?
    sections: bool = True
    #: May small matrices be held whole?
    holds: bool = False
    #: May square tiles be cut into sections?  Not where an alignment leads through many of them, or
    #: where rows are kept for its path.
    cuts_squares: bool = True

    @property
    def local(self) -> bool:
        """Is H never below 0?"""
        return self.mode == "local"


def sweep_of(setting: Setting, m: int, n: int) -> Work:
    """What a sweep of an m x n matrix does, if no cell is pruned."""
    work, plan = Work(), setting.plan
    if setting.holds and plan.lane_set.per_item is None and m * n <= plan.tuning.held.score_cells:
        work.counts["held", "launch"] += 1
        work.counts["held", "cell"] += m * n
        return work
    work.counts["call", "call"] += 1
    work.counts["call", "letter"] += m + n
    work.counts["call", "early_letter"] += min(m + n, EARLY_LETTERS)
    if max(m, n) > MOST_KNOWN:
        work.counts["call", "long_letter"] += sum(side for side in (m, n) if side > MOST_KNOWN)
    rows, columns = plan.tile_shape(m, n)
    tuning = plan.tuning.pipeline
    strips = plan.for_size(min(rows, m), min(columns, n)) or plan
    piped = setting.pipelines and m > rows
    piped = piped and m * n >= tuning.least_cells and n <= tuning.most_columns
    piped = piped and may_be_wide(plan.device_rows // tuning.depth, n, (rows, columns))
    if piped:  # strips go on from tile to tile
        heights = Counter({m: 1})
        work.counts["call", "launch"] += -(-m // rows)
        columns = n
    else:
        heights = _lengths(m, tile_height(m, rows, strips.strip_rows))
    widths = _lengths(n, piece(n, columns, 1))
    for height, down in heights.items():
        for width, across in widths.items():
            _add_tile(work, setting, height, width, down * across, piped)
    above = 0 if piped else sum(heights.values()) - 1
    work.counts["call", "edge"] += above * n + len(widths) * m
    if not setting.local:
        work.counts["call", "border"] += m + n
    return work


def swept_again(setting: Setting, m: int, n: int, extent: tuple[float, float]) -> Counter[Name]:
    """What the traceback of a path through so many rows and columns of an m x n matrix does.

    The special rows and columns of the sweep cut the matrix into grid cells.  Those on the way are
    swept again if their moves take too much memory (:mod:`pysw_cl.drivers.traceback`).
    """
    plan, tuning = setting.plan, setting.plan.tuning.traceback
    most = most_pieces(tuning, m, n)
    down, across = grid_places(tuning, m, 1, most)[1], grid_places(tuning, n, 1, most)[1]
    rows = max(extent[0], min(m, n, down, across, tuning.least_side))
    found: Counter[Name] = Counter({("path", "call"): 1, ("path", "row"): int(rows)})
    if down * across > plan.traceback_tile_cells:
        cells = max(extent[0] * across, extent[1] * down, down * across)
        found["path", "cell"] = int(AHEAD * cells if setting.ahead else cells)
    return found


def _lengths(length: int, size: int) -> Counter[int]:
    """How often each length occurs where a side is cut into pieces of this size and a rest."""
    whole, rest = divmod(length, size)
    return +Counter({size: whole, rest: 1 if rest else 0})


def _add_tile(
    work: Work, setting: Setting, m: int, n: int, times: int, piped: bool = False
) -> None:
    """Count ``times`` tiles of m x n cells.  ``piped``: are they the tiles of a pipeline, one below
    the other?"""
    plan, scoring, scan = setting.plan, setting.scoring, setting.scan
    if not setting.sections:  # the plan of another engine than the wavefront's
        _add_rows(work, plan, m, n, times)
        return
    narrow = narrow_score(plan, scoring, n, setting.four, setting.local)
    plan = plan.for_scores(narrow)
    cut = _sections(setting, plan, m, n)
    if cut is not None:
        plan = cut.plan
        columns = section_wave(plan, cut.cut, m, n)
        work.counts["call", "section"] += times * cut.count
        if not cut.proven:
            work.counts["call", "check"] += times * (cut.count - 1) * m
    elif scan is not None and sooner_by_rows(plan, scan, m, n, setting.local):
        _add_rows(work, scan, m, n, times)
        return
    else:
        size, local = (m, n), setting.local
        best = local and not (piped and not seldom_waits(plan, n))
        plan = planned(plan, scoring, size, (), narrow, local, best)[0] or plan
        columns = strip_wave(plan, plan.alpha, m, n, plan.B, plan.chunk)
    work.counts["call", "launch"] += times
    subject = subject_of(plan, scoring, setting.local, narrow)
    strips = _strips(subject, plan, columns, times, cut is not None)
    if narrow is not None and striped(plan, plan.form, narrow, setting.local):
        share, (chain, hops) = striped_rows(plan) / plan.alpha, strips.chain
        # the subject's times are of lanes at a lag
        strips = replace(strips, columns=share * strips.columns, chain=(share * chain, hops))
    work.strips.append(strips)
    if cut is None and not plan.machine.schedulers:
        count = -(-m // plan.strip_rows)
        one_by_one = columns.hops == count - 1  # each waits for the one above it
        alone = count if one_by_one and count > plan.B else -(-count // plan.B)
        work.counts[subject, STRIP_ROW] += times * alone * plan.alpha


def _add_rows(work: Work, plan: Plan, m: int, n: int, times: int) -> None:
    """Count ``times`` tiles that are computed row by row."""
    plan = replace(plan, B=plan.cost.soonest(plan, (plan.alpha,), m, n)[1])
    columns = row_wave(plan, plan.alpha, m, n, plan.B)
    work.counts["call", "launch"] += times
    work.strips.append(_strips(f"{plan.engine}/{plan.lanes}", plan, columns, times))


def _strips(subject: str, plan: Plan, columns: Wave, tiles: int, cut: bool = False) -> Strips:
    """The strips of tiles under a plan; if ``cut``, of sections."""
    machine = plan.machine
    return Strips(
        subject,
        plan.alpha,
        plan.chunk,
        machine.share(columns.groups),
        columns.columns,
        machine.busy(columns.running, plan.B),
        columns.hops,
        tiles,
        plan.B,
        cut,
        columns.chain,
        columns.turns,
    )


def subject_of(plan: Plan, scoring: Scoring, local: bool, narrow: str | None) -> str:
    """Whose times count for a tile without moves: for example
    "wavefront/vector/match/local/8"."""
    if plan.lane_set.narrow is None or narrow is None:
        score, width = wide_score(scoring), 32
    else:
        score, width = narrow, min(widths_of(plan, scoring, local, local))
    mode = "local" if local else "global"
    return f"wavefront/{plan.lanes}/{score}/{mode}/{width}"


def _sections(setting: Setting, plan: Plan, m: int, n: int) -> Sections | None:
    """The sections of a tile whose edges are those of the matrix."""
    if not setting.sections or plan.form != "ticketed" or not setting.local:
        return None
    reach = span(setting.scoring, m, 0, setting.local)
    overlap = first_overlap(plan, setting.scoring, m)
    most = n if setting.cuts_squares else most_of_related(plan, m, n)
    found = sections_of(plan, m, n, reach, overlap, (), plan.lane_set.prunes, most)
    mixed = found is not None and sooner_in_11_bits(plan, setting.scoring, (m, n), found)
    return None if mixed else found
