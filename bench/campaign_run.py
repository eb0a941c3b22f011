"""A case of the campaign: what is computed, what must come out, and whether it did.

A case is plain data, so that it can be written to a file and read back by a test.
"""

from __future__ import annotations

import json
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from cases import pysw_cl
from position_oracle import best_end
from tuned import tuned
from whole_reference import ReferenceAlignment, align_reference

from pysw_cl.api.many import align_many_with
from pysw_cl.drivers.batch_results import UNKNOWN
from pysw_cl.drivers.options import ManyOptions, Resources, fields_of
from pysw_cl.engines.reference import fill
from pysw_cl.errors import InputError, PyswError
from pysw_cl.opencl.device import get_runtime
from pysw_cl.planning.lane_sets import LANE_SETS
from pysw_cl.results.stats import Stats
from pysw_cl.scoring.scoring import Scoring, made_of, make_scoring, names_of
from pysw_cl.sequences.sequence import as_sequence

#: What is known of a result: score, places, strand, cigar, matches, columns.
Row = dict[str, Any]

#: Up to here the reference says what is right: cells, and rows and columns together, which are
#: what it takes time for.
REFERENCE_CELLS, REFERENCE_SIDES = 400_000, 4_000
PLACES = ("query_start", "query_end", "target_start", "target_end")
NAMES = ("score", *PLACES, "strand", "cigar", "matches", "columns", "second_best")
#: Up to here the plain oracle says what position matrices score.
PLAIN_CELLS = 10_000
#: What `best_ends` says of a cell.
ENDS = ("score", "query_end", "target_end")
#: Of so many of these cells `trace_ends` finds the path.
PATHS = 40
#: So many queries of pairs are searched in all targets.
SEARCHED = 3
COMPLEMENT = str.maketrans("ACGTURYSWKMBDHVN", "TGCAAYRSWMKVHDBN")


@dataclass(frozen=True)
class Case:
    """What is computed: ``entry`` ("align", "many", "top", "ends" or "saved") with ``options`` on
    ``pairs`` of letters, by ``plan``.

    ``tuning``: parameters of the package that are lowered, so that small pairs meet what only large
    ones do (dotted name -> value).  ``traits``: what is said of the device (name -> value).
    ``stops``: for "saved", after how many calls of the progress callback each run is ended, and
    the plan with which the next one goes on.  ``features``: what is special about it.
    """

    entry: str
    pairs: list[list[str]]
    options: dict[str, Any] = field(default_factory=dict)
    plan: dict[str, Any] = field(default_factory=dict)
    tuning: dict[str, Any] = field(default_factory=dict)
    traits: dict[str, Any] = field(default_factory=dict)
    stops: list[list[Any]] = field(default_factory=list)
    features: list[str] = field(default_factory=list)

    def text(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self), indent=1)

    @classmethod
    def of(cls, text: str) -> Case:
        """From what `text` gave."""
        return cls(**json.loads(text))

    def without(self, name: str, key: str) -> Case:
        """This case without one entry of a mapping."""
        left = {k: v for k, v in getattr(self, name).items() if k != key}
        return replace(self, **{name: left})

    @property
    def arguments(self) -> dict[str, Any]:
        """``options`` as the package takes them."""
        given = dict(self.options)
        for name in ("free_ends", "gap_cost", "query_range", "target_range", "sub_score"):
            if isinstance(given.get(name), list):
                given[name] = tuple(given[name])
        if self.positions is not None:
            del given["sub_score"]
        elif isinstance(given.get("sub_score"), dict):
            matrix = given["sub_score"]
            given["sub_score"] = np.array(matrix["matrix"], np.int32), matrix["letters"]
        return given

    @property
    def positions(self) -> dict[str, Any] | None:
        """The rows of position matrices, if they stand in the queries' place."""
        given = self.options.get("sub_score")
        return given if isinstance(given, dict) and "positions" in given else None

    def query(self, letters: str) -> Any:
        """What is given for a query: its letters, or a matrix of rows that come again and again."""
        if self.positions is None:
            return letters
        rows = np.array(self.positions["positions"])
        scores = np.resize(rows, (len(letters), rows.shape[1]))
        return pysw_cl.PositionMatrix(scores, self.positions["letters"], letters)

    def scoring(self, query: str) -> Scoring:
        """The scoring that they mean for a query."""
        given, one = self.arguments, self.query(query)
        if self.positions is not None:
            own: Scoring = one.scoring(given["gap_cost"])
            return own
        sub_score, gap_cost = given.get("sub_score", (1, -3)), given.get("gap_cost", (3, 2))
        more = {name: given[name] for name in ("wildcard", "unknown", "iupac") if name in given}
        return make_scoring(sub_score, gap_cost, **more)


@dataclass(frozen=True)
class Outcome:
    """What came of a case: "same", "refused" (the arguments cannot be used), or what is wrong:
    "different", "error", "recomputed"; by what it was checked, and what computed it."""

    kind: str
    message: str = ""
    by: str = ""
    ran: tuple[str, ...] = ()

    @property
    def wrong(self) -> bool:
        return self.kind not in ("same", "refused")


class _Enough(Exception):
    """Raised by a progress callback to end a run."""


def check(case: Case, device: str, against: str) -> Outcome:
    """Run a case on ``device`` and compare it with the reference, where it is small, or with plain
    32-bit lanes on the device ``against``."""
    try:
        found, stats = run(case, device)
    except InputError as error:
        return Outcome("refused", f"{type(error).__name__}: {error}")
    except (PyswError, ArithmeticError, LookupError, TypeError, ValueError, RuntimeError) as error:
        places = traceback.extract_tb(error.__traceback__)[-3:]
        where = ", ".join(f"{Path(one.filename).name}:{one.lineno}" for one in places)
        return Outcome("error", f"{type(error).__name__}: {error} ({where})")
    ran = (*stats.cells, *(["pruned"] if stats.pruned else []))
    if stats.recomputed:
        return Outcome("recomputed", "a path failed its check", "itself", ran)
    by = "reference"
    wanted = by_reference(case)
    if wanted is None:
        by = "another device" if against != device else "another plan"
        wanted = by_another(case, against)
    if len(found) != len(wanted):
        return Outcome("different", f"{len(found)} results, not {len(wanted)}", by, ran)
    nothing = object()
    for k, (one, other) in enumerate(zip(found, wanted, strict=True)):
        names = [n for n in {*one, *known(case)} if one.get(n, nothing) != other[n]]
        if other["score"] == 0 and case.options.get("mode", "local") == "local":
            names = [name for name in names if name not in PLACES]  # nothing was found
        if names:
            names.sort(key=NAMES.index)
            what = ", ".join(
                f"{n} {_short(one.get(n, 'missing'))}, not {_short(other[n])}" for n in names
            )
            return Outcome("different", f"result {k}: {what}", by, ran)
    return Outcome("same", by=by, ran=ran)


def known(case: Case) -> tuple[str, ...]:
    """What a result must say."""
    many = case.entry == "many"
    if case.entry == "ends":
        return ENDS
    output = case.options.get("output", "score" if many else "path")
    strand = case.options.get("strand", "plus")
    if many and (output != "ends" or strand == "plus"):
        return fields_of(output, strand, case.options.get("second_best", False))
    ends = ("score", "strand", "query_end", "target_end")
    if output == "ends" and strand != "plus":
        return ("score", "strand", "target_end")  # of minus the end of the path is a start
    names = NAMES if case.options.get("second_best") else NAMES[:-1]
    return {"score": ends[:2], "ends": ends}.get(output, names)


#: The options of `align_many` that `align_paths` does not have.
UNASKED = ("output", "min_score", "kernel_times")


def _short(value: Any) -> str:
    return str(value) if len(str(value)) < 200 else f"{str(value)[:200]}..."


def run(case: Case, device: str) -> tuple[list[Row], Stats]:
    """What the package finds, a row for each result, and what that took."""
    options = {**case.arguments, "device": device, "plan": case.plan or None}
    pairs = [(case.query(a), b) for a, b in case.pairs]
    a, b = pairs[0]
    with _settings(case, device):
        if case.entry == "many":
            table, stats = _many(pairs, options)
            rows = [dict(zip(table.dtype.names, row, strict=True)) for row in table.tolist()]
            for row in rows:  # of a coordinate that is not known, -1 stands in an array
                for name in PLACES:
                    if row.get(name) == UNKNOWN:
                        del row[name]
            return rows, stats
        if case.entry == "top":
            found = pysw_cl.align_top(a, b, **options)
            total = Stats()
            for one in found:
                total = total.plus(one.stats)
            return [_row(one) for one in found], total
        if case.entry == "ends":
            return _ends(a, b, options)
        if case.entry == "saved":
            one = _saved(case, device, options)
        else:
            one = pysw_cl.align(a, b, **options)
        return [_row(one)], one.stats


def _many(pairs: list[tuple[str, str]], options: dict[str, Any]) -> tuple[Any, Stats]:
    """The rows of the pairs.  Where prepared ones, whose codes are kept the second time, or paths
    as arrays, give others, it is these."""
    how = made_of(ManyOptions, options), made_of(Resources, options)
    table, stats = align_many_with(pairs, *how)
    if not isinstance(pairs[0][0], str):
        return table, stats
    batch = pysw_cl.Batch.from_sequences(pairs)
    found = [align_many_with(batch, *how)[0] for _ in range(2)]
    alone = options.get("min_score") is None and not options.get("second_best")
    if options.get("output") == "path" and alone:
        known = {name: value for name, value in options.items() if name not in UNASKED}
        found.append(pysw_cl.align_paths(batch, **known).table())
    if options.get("min_score") is None:
        found.append(_searched(pairs, table, options))
        if options.get("strand", "plus") == "plus":
            found.append(_in_matrix(pairs, table, options))
    others = [one for one in found if one.tolist() != table.tolist()]
    return (others[0] if others else table), stats


def _searched(pairs: list[tuple[str, str]], table: Any, options: dict[str, Any]) -> Any:
    """The rows with the scores and the ends that a search finds of the first queries, each of which
    is compared with all targets."""
    queries, targets = ([pair[side] for pair in pairs] for side in (0, 1))
    known = {name: options[name] for name in names_of(pysw_cl.search) if name in options}
    asked: dict[str, Any] = {**known, "output": "ends", "top": None, "min_score": -(1 << 40)}
    asked["evalues"] = "none"
    found = table.copy()
    for k, hits in enumerate(pysw_cl.search(queries[:SEARCHED], targets, **asked)):
        hit = next(one for one in hits if one.number == k)
        plus = options.get("strand", "plus") == "plus"  # else an end of the query is not known
        for name in {"score", "target_end", "query_end" if plus else "strand"} & {
            *found.dtype.names
        }:
            found[name][k] = getattr(hit, name)
    return found


def _in_matrix(pairs: list[tuple[str, str]], table: Any, options: dict[str, Any]) -> Any:
    """The rows with the scores that a matrix of the first queries and targets has, and one of all
    of these with each other."""
    some = pairs[:SEARCHED]
    queries, targets = ([pair[side] for pair in some] for side in (0, 1))
    known = {name: options[name] for name in names_of(pysw_cl.score_matrix) if name in options}
    known["output"] = "score"
    found = table.copy()
    scores = pysw_cl.score_matrix(queries, targets, **known)
    own = pysw_cl.score_matrix(queries + targets, **known)
    found["score"][: len(some)] = scores.diagonal()
    if not np.array_equal(own[: len(some), len(some) :], scores):
        found["score"][0] -= 1
    return found


def _ends(a: str, b: str, options: dict[str, Any]) -> tuple[list[Row], Stats]:
    """The best ends, and of the first ones the paths."""
    table = pysw_cl.best_ends(a, b, **options)
    for name in ("k", "min_separation", "min_score", "ends", "apart_in"):
        options.pop(name, None)
    first = table[:PATHS]
    if len(table) % 2:  # otherwise it is not known
        options["highest"] = table["score"][0].item()
    paths = pysw_cl.trace_ends(a, b, first, **options)
    rows = [dict(zip(ENDS, row, strict=True)) for row in table.tolist()]
    rows = [{**row, **_row(path)} for row, path in zip(rows, paths, strict=False)] + rows[PATHS:]
    return rows, paths[0].stats if paths else Stats()


def _row(found: Any) -> Row:
    """What is known of a result.  A path is scored again."""
    row = {name: getattr(found, name) for name in NAMES}
    if found.cigar is not None and found.rescore() != found.score:
        row["score"] = f"{found.score}, and its path {found.rescore()}"
    return {name: value for name, value in row.items() if value is not None}


@contextmanager
def _settings(case: Case, device: str) -> Iterator[None]:
    """Lowered parameters of the package."""
    with ExitStack() as stack:
        stack.enter_context(tuned(case.tuning))
        if case.traits:
            runtime = get_runtime(device)
            said = replace(runtime.traits, **case.traits)
            stack.enter_context(mock.patch.object(runtime, "traits", said))
        yield


def _saved(case: Case, device: str, options: dict[str, Any]) -> Any:
    """A run with a checkpoint that is ended and taken up again, each time by another plan."""
    a, b = case.pairs[0]
    with tempfile.TemporaryDirectory() as folder, mock.patch("os.fsync"):
        place = Path(folder) / "run"
        plan = None
        for k, (calls, following) in enumerate([*case.stops, [0, None]]):
            tell = _ends_at(calls)
            try:
                if k == 0 or not place.exists():
                    return pysw_cl.align(a, b, checkpoint=place, progress=tell, **options)
                return pysw_cl.resume(place, device=device, plan=plan or None, progress=tell)
            except _Enough:
                plan = following
    raise AssertionError("the last run is not ended")


def _ends_at(calls: int) -> Any:
    left = calls

    def progress(done: int, total: int) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise _Enough

    return progress


# --- what must come out --------------------------------------------------------------------------


def by_another(case: Case, device: str) -> list[Row]:
    """The same by 32-bit lanes, without bands, pruning, checkpoints, batches, lowered limits."""
    lanes = get_runtime(device).info.lanes
    instead = LANE_SETS[lanes].instead
    plain = replace(
        case,
        plan={"lanes": instead[0] if instead else lanes},
        tuning={},
        traits={},
        options={**case.options} if case.entry == "ends" else {**case.options, "output": "path"},
    )
    plain.options.pop("disk_size", None)
    if case.entry in ("top", "ends"):
        return run(plain, device)[0]
    plain = replace(plain, entry="align", options={**plain.options, "prune": False})
    if case.options.get("mode") == "global":
        plain.options["max_cost"] = None
    return [run(replace(plain, pairs=[pair]), device)[0][0] for pair in case.pairs]


def by_reference(case: Case) -> list[Row] | None:
    """What the reference engine's recurrences give; None where that would take long."""
    for a, b in case.pairs:
        if len(a) * len(b) > REFERENCE_CELLS or len(a) + len(b) > REFERENCE_SIDES:
            return None
    if case.entry == "top":
        return _reference_top(case)
    if case.entry == "ends":
        return _reference_ends(case)
    return [_reference_pair(case, a, b) for a, b in case.pairs]


class _Pair:
    """The letters of two sequences, their codes, and what a path through them says."""

    def __init__(self, scoring: Scoring, a: str, b: str) -> None:
        self.scoring = scoring
        self.query, self.target = (as_sequence(side, "sequence").letters for side in (a, b))
        query = scoring.encode(self.query, "query")
        if scoring.by_position:
            query = np.arange(len(query))
        self.codes = query, scoring.encode(self.target, "target")

    def path(self, moves: Any, row: int, column: int) -> Row:
        """Of the moves that begin after ``row`` and ``column`` letters."""
        query_ids, target_ids = self.scoring.match_tables
        ops = []
        for move in moves.tolist():
            if move == 0:
                ids = query_ids[self.query[row]], target_ids[self.target[column]]
                equal = self.scoring.ids_match(*ids)
                ops.append("=" if equal else "X")
            else:
                ops.append("D" if move == 1 else "I")
            row, column = row + (move != 1), column + (move != 2)
        runs = [(op, len(list(run))) for op, run in groupby(ops)]
        cigar = "".join(f"{length}{op}" for op, length in runs)
        return {"cigar": cigar, "matches": ops.count("="), "columns": len(ops)}

    def score(self, score: int) -> int | float:
        return score if self.scoring.scale == 1 else score / self.scoring.scale


def _free(value: Any) -> tuple[bool, ...]:
    """The four free ends: leading and trailing of the query, of the target."""
    given = [value] if isinstance(value, bool) else list(value)
    return tuple(np.repeat(given, 4 // len(given)).tolist())


def _reference_pair(case: Case, a: str, b: str) -> Row:
    """The best of the strands of one pair, in the letters' own coordinates."""
    options = case.options
    row, row_end = options.get("query_range", (0, len(a)))
    column, column_end = options.get("target_range", (0, len(b)))
    mode, free = options.get("mode", "local"), _free(options.get("free_ends", False))
    best: Row | None = None
    seconds: list[int] = []  # of the best strand, and the best score of the other one
    for strand in {"both": ["plus", "minus"]}.get(s := options.get("strand", "plus"), [s]):
        query, minus = a[row:row_end], strand == "minus"
        query = query.upper().translate(COMPLEMENT)[::-1] if minus else query
        pair = _Pair(case.scoring(query), query, b[column:column_end])
        found = align_reference(*pair.codes, pair.scoring, mode, free)
        if best is not None and pair.score(found.score) <= best["score"]:
            seconds.append(found.score)
            continue
        others = [] if best is None else [int(best["score"] * pair.scoring.scale)]
        seconds = [_second(found, mode, free), *others]
        ends = found.query_start, found.query_end
        start, end = (row_end - e for e in ends[::-1]) if minus else (row + e for e in ends)
        if case.positions is not None and len(a) * len(b) <= PLAIN_CELLS:
            plain = pair.scoring.matrix[np.ix_(*pair.codes)]
            gaps = pair.scoring.gap_open, pair.scoring.gap_extend
            found = replace(found, score=best_end(plain, gaps, mode, free)[0])
        best = pair.path(found.moves, found.query_start, found.target_start)
        best |= {"score": pair.score(found.score), "strand": strand}
        best |= {"query_start": start, "query_end": end}
        best["target_start"] = column + found.target_start
        best["target_end"] = column + found.target_end
    assert best is not None
    if options.get("second_best"):
        best["second_best"] = pair.score(max(seconds))
    return best


def _second(found: ReferenceAlignment, mode: str, free: tuple[bool, ...]) -> int:
    """The highest score of another end than the best one, outside the best path's rectangle."""
    ends = np.full_like(found.matrices.h, mode == "local", bool)
    ends[-1, :] |= free[1]
    ends[:, -1] |= free[3]
    rows = slice(found.query_start + 1, found.query_end + 1)
    ends[rows, found.target_start + 1 : found.target_end + 1] = False
    ends[found.query_end, found.target_end] = False
    return int(found.matrices.h[ends].max(initial=-(1 << 40)))


def _reference_top(case: Case) -> list[Row]:
    """Waterman and Eggert's alignments of each strand, the best of all, in the letters' own
    coordinates."""
    (a, b), options = case.pairs[0], case.options
    row, row_end = options.get("query_range", (0, len(a)))
    column, column_end = options.get("target_range", (0, len(b)))
    rows: list[Row] = []
    for strand in {"both": ["plus", "minus"]}.get(s := options.get("strand", "plus"), [s]):
        query, minus = a[row:row_end], strand == "minus"
        query = query.upper().translate(COMPLEMENT)[::-1] if minus else query
        for found in _reference_list(case, query, b[column:column_end]):
            ends = found["query_start"], found["query_end"]
            start, end = (row_end - e for e in ends[::-1]) if minus else (row + e for e in ends)
            found |= {"strand": strand, "query_start": start, "query_end": end}
            found["target_start"] += column
            found["target_end"] += column
            rows.append(found)
    rows.sort(key=lambda found: -found["score"])  # stable: plus first among equals
    return rows[: options.get("k", 10)]


def _reference_ends(case: Case) -> list[Row]:
    """All cells of the matrix in order, the greedy choice of those that are apart, and the paths
    that end there."""
    (a, b), options = case.pairs[0], case.options
    row, row_end = options.get("query_range", (0, len(a)))
    column, column_end = options.get("target_range", (0, len(b)))
    pair = _Pair(case.scoring(a[row:row_end]), a[row:row_end], b[column:column_end])
    matrices = align_reference(*pair.codes, pair.scoring, "local").matrices
    h = matrices.h
    good = h >= options.get("min_score", 1) * pair.scoring.scale
    if options.get("ends") == "matches":
        pairs = np.zeros((h.shape[0] + 1, h.shape[1] + 1))
        pairs[1:-1, 1:-1] = pair.scoring.matrix[np.ix_(*pair.codes)]
        good &= (pairs[:-1, :-1] > 0) & (pairs[1:, 1:] <= 0)
        good[1:, 1:] &= h[1:, 1:] == h[:-1, :-1] + pairs[1:-1, 1:-1]
    i, j = np.nonzero(good)
    order = np.lexsort((j, i, -h[i, j]))
    apart, kept = options.get("min_separation", 0), np.zeros((0, 2), np.int64)
    for cell in np.stack([i, j], axis=1)[order]:
        if len(kept) == options["k"]:
            break
        distance = np.abs(kept - cell)
        both = options.get("apart_in") == "both"
        distance = distance.min(axis=1) if both else distance.max(axis=1)
        if apart == 0 or (distance >= apart).all():
            kept = np.append(kept, [cell], axis=0)
    rows: list[Row] = []
    for p, q in kept.tolist():
        found = {"score": pair.score(int(h[p, q])), "query_end": row + p, "target_end": column + q}
        if len(rows) < PATHS:
            traced = matrices.trace(p, q, 0)
            found |= pair.path(traced.moves[::-1], traced.row, traced.column)
            found |= {"strand": "plus", "query_start": row + traced.row}
            found["target_start"] = column + traced.column
        rows.append(found)
    return rows


def _reference_list(case: Case, query: str, target: str) -> list[Row]:
    """Waterman and Eggert's alignments one after the other, each from a matrix of its own."""
    pair = _Pair(case.scoring(query), query, target)
    m, n = len(pair.query), len(pair.target)
    least = case.options.get("min_score", 1) * pair.scoring.scale
    opening = pair.scoring.gap_open
    border = [(np.zeros(k, np.int64), np.full(k, -opening, np.int64)) for k in (n, m)]
    forbidden = np.zeros((2, 0), np.int64)
    rows: list[Row] = []
    while len(rows) < case.options.get("k", 10):
        matrices = fill(
            *pair.codes, pair.scoring, 0, 0, *border, forbidden if forbidden.size else None
        )
        score = int(matrices.h.max())
        if score < least:
            break
        row, column = np.argwhere(matrices.h == score)[0].tolist()
        trace = matrices.trace(row, column, 0)
        moves = trace.moves[::-1]
        found = pair.path(moves, trace.row, trace.column)
        found["score"] = pair.score(score)
        found |= {"query_start": trace.row, "query_end": row}
        rows.append({**found, "target_start": trace.column, "target_end": column})
        aligned = [trace.row + np.cumsum(moves != 1), trace.column + np.cumsum(moves != 2)]
        every = np.concatenate([forbidden, np.stack(aligned)[:, moves == 0] - 1], axis=1)
        forbidden = every[:, np.lexsort((every[1], every[0]))]
    return rows
