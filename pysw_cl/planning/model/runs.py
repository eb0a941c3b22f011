"""The counts of whole runs: which tiles a matrix has, and what the execution of each does; and
the times that explain measured runs best."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import inf

import numpy as np
from numpy.typing import NDArray

from ...scoring.scoring import MOST_KNOWN
from ..choose import choose, in_boxes, of_columns, shared_columns, whole_pipeline
from ..execution import ByRows, InParts, InSections, InStrips
from ..geometry import TileShape, piece, tile_height
from ..path_grid import grid_places, most_pieces
from ..plan import Plan, StriplessPlan
from ..program import Given, striped_rows
from .times import CUT, STRIP_ROW, Machine, Pace, Wave

Floats = NDArray[np.float64]
#: What a time is called: a subject and a name.
Name = tuple[str, str]
#: What the device does beside columns of strips.
ON_DEVICE = STRIP_ROW, "check"
#: Of the grid cells on the path, what is computed where its tiles are known ahead: these are
#: smaller, and pruned (5 million letters, 6% changed, on an H100: 1/22).
AHEAD = 1 / 22
#: The first letters of a call take longer than others: their memory is new to the caches.
EARLY_LETTERS = 1 << 17
#: How often times are sought again at most.
MOST_TURNS = 8
#: A time that is not sought: by how much strips slow down the ones beside them is a matter of rows.
NOT_SOUGHT = "busy@"


@dataclass(frozen=True)
class Strips:
    """The strips of a tile, or of many tiles like it; ``plan`` has their alpha, B and chunk."""

    #: Whose times count: an engine, its lanes, how they score, and whether they are of sections.
    subject: str
    plan: Plan
    wave: Wave
    tiles: int = 1

    @property
    def way(self) -> str:
        """What they are: "strips" that follow each other, "sections" side by side, or "rows"."""
        if isinstance(self.plan, StriplessPlan):
            return "rows"
        return CUT if self.subject.endswith(CUT) else "strips"


@dataclass
class Work:
    """What a run does."""

    strips: list[Strips] = field(default_factory=list)
    #: All else, by the subject and the name of its time.
    counts: Counter[Name] = field(default_factory=Counter)

    @property
    def widest(self) -> Strips | None:
        """The strips of most columns."""
        return max(self.strips, key=lambda one: one.wave.columns * one.tiles, default=None)

    @property
    def on_device(self) -> Work:
        own = {of: self.counts[of] for of in self.counts if of[0] == "held" or of[1] in ON_DEVICE}
        return Work(self.strips, Counter(own))

    def weights(self, times: Machine) -> dict[Name, float]:
        """How much each time counts in it, if these are the times."""
        found = defaultdict[Name, float](float, self.counts)
        for one in self.strips:
            subject, pace = times.known(one.subject) or one.subject, times.pace(one.subject)
            for name, weight in pace.weights(one.wave, one.plan.alpha, one.plan.chunk).items():
                found[subject, name] += one.tiles * weight
        return found

    def seconds(self, times: Machine) -> float:
        taken = 0.0
        for one in self.strips:
            line = times.pace(one.subject).line(one.plan.alpha, one.wave.share)
            taken += one.tiles * float(line.seconds(one.wave, one.plan.chunk))
        for (subject, name), count in self.counts.items():
            taken += count * times.of(subject).get(name, 0.0)
        return taken


def sweep_of(given: Given, m: int, n: int) -> Work:
    """What a sweep of an m x n matrix does, if no cell is pruned; of several devices that sweep
    parts side by side, what the first one does."""
    ends, _ = shared_columns(given, m, n)
    if ends:
        return sweep_of(of_columns(given), m, ends[0])
    if given.is_held(m, n):
        return Work([], Counter({("held", "launch"): 1, ("held", "cell"): m * n}))
    plan, local, work = given.plan, given.local, Work()
    work.counts["call", "call"] = 1
    work.counts["call", "letter"] = m + n
    work.counts["call", "early_letter"] = min(m + n, EARLY_LETTERS)
    work.counts["call", "long_letter"] = sum(side for side in (m, n) if side > MOST_KNOWN)
    rows, columns = plan.tile_shape(m, n)
    tile, above, across = TileShape(m, n, local, level=local, level_left=local, after=local), 0, 1
    piped = whole_pipeline(tile, given)
    if piped is not None:  # strips go on from tile to tile
        work.counts["call", "launch"] += -(-m // piped.tile.m) - 1
        _add(work, piped, m, n, 1)
    else:
        strips = plan.for_size(min(rows, m), min(columns, n)) or plan
        heights = _lengths(m, tile_height(m, rows, strips.strip_rows))
        widths = _lengths(n, piece(n, columns, 1))
        above, across = sum(heights.values()) - 1, len(widths)
        sizes = Counter({(h, w): heights[h] * widths[w] for h in heights for w in widths})
        while sizes:
            height, width = max(sizes, key=lambda size: size[1])
            times = sizes.pop((height, width))
            chosen = choose(replace(tile, m=height, n=width), given)
            if isinstance(chosen, InParts):  # halves, and theirs, until they are computed whole
                sizes[height, width // 2] += times
                sizes[height, width - width // 2] += times
            else:
                _add(work, chosen, height, width, times)
    work.counts["call", "edge"] = above * n + across * m
    work.counts["call", "border"] = 0 if local else m + n
    return work


def swept_again(given: Given, m: int, n: int, extent: tuple[float, float]) -> Counter[Name]:
    """What the traceback of a path through so many rows and columns of a matrix does.  Its grid
    cells are swept again if their moves take too much memory (:mod:`pysw_cl.drivers.traceback`)."""
    plan, tuning = given.plan, given.plan.tuning.traceback
    if in_boxes(given, m, n):
        side = plan.tuning.boxes.side(max(extent), alone=True)
        m, n = min(m, side), min(n, side)
    most = most_pieces(tuning, m, n)
    down, across = grid_places(tuning, m, 1, most)[1], grid_places(tuning, n, 1, most)[1]
    rows = max(extent[0], min(m, n, down, across, tuning.least_side))
    found: Counter[Name] = Counter({("path", "call"): 1, ("path", "row"): int(rows)})
    if down * across > plan.traceback_tile_cells:
        cells = max(extent[0] * across, extent[1] * down, down * across)
        found["path", "cell"] = int(AHEAD * cells if given.device.speculative else cells)
    return found


def _lengths(length: int, size: int) -> Counter[int]:
    """How often each length occurs where a side is cut into pieces of this size and a rest."""
    whole, rest = divmod(length, size)
    return +Counter({size: whole, rest: 1 if rest else 0})


def _add(work: Work, execution: InStrips | InSections | ByRows, m: int, n: int, times: int) -> None:
    """Count ``times`` tiles of m x n cells that are computed like this."""
    plan = execution.plan
    if isinstance(execution, ByRows):
        plan = plan.soonest((plan.alpha,), m, n)
        subject = f"{plan.engine}/{plan.lanes}"
    else:  # for example "wavefront/vector/match/local/8"
        program = execution.program
        mode, width = "local" if program.local else "global", min(program.widths, default=32)
        subject = f"wavefront/{plan.lanes}/{program.score}/{mode}/{width}"
    wave = plan.wave(m, n, plan.alpha, plan.B, plan.chunk)
    if isinstance(execution, InSections):
        sections, subject, (m, n) = execution.sections, f"{subject}/{CUT}", execution.tile.size
        wave = sections.cut.wave(plan, m, n)
        work.counts["call", "section"] += times * sections.count
        if not sections.cut.proven:
            work.counts["call", "check"] += times * (sections.count - 1) * m
    elif isinstance(execution, InStrips):
        if not plan.machine.schedulers:
            count = -(-m // plan.strip_rows)
            one_by_one = wave.hops == count - 1  # each waits for the one above it
            alone = count if one_by_one and count > plan.B else -(-count // plan.B)
            work.counts[subject, STRIP_ROW] += times * alone * plan.alpha
        if program.striped:  # the subject's times are of lanes at a lag
            share, (chain, hops) = striped_rows(plan) / plan.alpha, wave.chain
            wave = wave._replace(columns=share * wave.columns, chain=(share * chain, hops))
    work.counts["call", "launch"] += times
    work.strips.append(Strips(subject, plan, wave, times))


#: What runs did, and the seconds that they took.
Runs = Sequence[tuple[Work, float]]


def nonnegative(a: Floats, b: Floats) -> Floats:
    """x >= 0 with the least |a x - b| (Lawson & Hanson 1974, Least Squares Problems, 23)."""
    n = a.shape[1]
    x, free = np.zeros(n), np.zeros(n, bool)
    scale = np.sqrt((a * a).sum(axis=0))
    scale[scale == 0] = 1
    a = a / scale
    for _ in range(3 * n):
        gradient = a.T @ (b - a @ x)
        gradient[free] = 0
        if gradient.max(initial=0) < 1e-9:
            break
        free[int(gradient.argmax())] = True
        while True:
            trial = np.zeros(n)
            trial[free] = np.linalg.lstsq(a[:, free], b, rcond=None)[0]
            falling = free & (trial <= 0)
            if not falling.any():
                x = trial
                break
            steps = x[falling] / np.maximum(x[falling] - trial[falling], 1e-300)
            x = x + steps.min() * (trial - x)
            free &= x > 1e-12
            x[~free] = 0
    return np.asarray(x / scale)


def fitted(runs: Runs, known: Machine, columns: Sequence[Strips] | None = None) -> Machine:
    """The ``known`` times, and others that explain what the runs took.

    Errors count relative to the run, as in Sandes (2011).  The times of a column are sought of each
    alpha and share that ``columns`` have (None: the runs); others lie between them.  Which of two
    ways strips are late (`.times.Line.both`) is a matter of these times, so they are sought again,
    a few times at most, until it stays; those with the least squared errors are taken."""
    runs = [(work, taken) for work, taken in runs if taken > 0]
    own, target = known.by_subject, np.array([taken for _, taken in runs])

    def with_known(found: dict[str, dict[str, float]]) -> Machine:
        return known.having({of: {**new, **own.get(of, {})} for of, new in found.items()})

    found: dict[str, dict[str, float]] = {}  # at first 0 for each column
    for one in columns if columns is not None else [one for work, _ in runs for one in work.strips]:
        told = own.get(one.subject, {})
        if not ({"column", "row"} & told.keys() or Pace(told).measured):
            found.setdefault(one.subject, {})[f"{one.plan.alpha}@{one.wave.share}"] = 0.0
    times, before, best = with_known(found), list[dict[Name, float]](), (inf, known)
    for _ in range(MOST_TURNS):
        rows = [work.weights(times) for work, _ in runs]
        if rows == before:
            break
        before, found = rows, {}
        every = {of for row in rows for of in row if not of[1].startswith(NOT_SOUGHT)}
        names = sorted(of for of in every if of[1] not in own.get(of[0], {}))
        fixed = [
            sum(weight * own.get(of, {}).get(name, 0.0) for (of, name), weight in row.items())
            for row in rows
        ]
        a = np.array([[row.get(of, 0.0) for of in names] for row in rows])
        taken = nonnegative(a / target[:, None], (target - np.array(fixed)) / target)
        for (of, name), value in zip(names, taken.tolist(), strict=True):
            found.setdefault(of, {})[name] = value
        times = with_known(found)
        off = float(np.square(errors(runs, times)).sum())
        best = min(best, (off, times), key=lambda one: one[0])
    return best[1]


def errors(runs: Runs, times: Machine) -> Floats:
    """(predicted - measured) / measured of each run."""
    return np.array([work.seconds(times) / taken - 1 for work, taken in runs])
