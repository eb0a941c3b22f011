"""Paths that are read while they are walked: what is found is that of the whole path, and a path
that is wrong is an error."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from helpers import fault, spy, tune
from speculating import Seen, constants, every_plan, pairs, plan_of, watched

import pysw_cl
from pysw_cl.drivers.problem import FoundPath, Path, PathReader
from pysw_cl.engines.reference import ReferenceEngine
from pysw_cl.engines.registry import ENGINES
from pysw_cl.errors import InternalError
from pysw_cl.results.alignment import Alignment
from pysw_cl.results.cigar import Runs, joined
from pysw_cl.scoring.scoring import Scoring, make_scoring
from pysw_cl.sequences import parallel
from pysw_cl.sequences.view import Frame
from pysw_cl.tiles.tile import Hit, StoredMoves, TileJob, TileResult, Traced

ACGT = np.frombuffer(b"ACGTN", np.uint8)
REFERENCE = {"plan": {"engine": "reference"}}


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many pieces of a short path."""
    tune(monkeypatch, {"traceback.read_moves": 16})


def random_path(rng: np.random.Generator, minus: bool) -> tuple[Frame, np.ndarray, Hit]:
    """A frame inside longer sequences, the moves of a path (last first), and where it ends."""
    moves = rng.choice(3, int(rng.integers(1, 300)), p=[0.8, 0.1, 0.1]).astype(np.uint8)
    m, n = int((moves != 1).sum()), int((moves != 2).sum())
    letters = rng.choice(ACGT, m + 30), rng.choice(ACGT, n + 30)
    frame = Frame(letters, 2, m + 25, 3, n + 20, minus)
    return frame, moves, Hit(0, m + 4, n + 5)


def traced(
    frame: Frame, scoring: Scoring, moves: np.ndarray, end: Hit, cuts: list[int]
) -> tuple[Path, FoundPath]:
    """A path that its reader looked at after each part of it, and what was found in the end."""
    path, reader = Path(end.row, end.column), PathReader(end, frame, scoring, 16)
    for part in np.split(moves, cuts):
        path.moves.append(part)
        path.row -= int((part != 1).sum())
        path.column -= int((part != 2).sum())
        reader.read_meanwhile(path)
    return path, reader.found(path)


@pytest.mark.parametrize("minus", [False, True])
@pytest.mark.parametrize(
    "scoring", [make_scoring((2, -3), (5, 1)), make_scoring("NUC.4.4", (9.5, 0.5))]
)
@pytest.mark.usefixtures("small_pieces")
def test_parts_of_a_path_are_the_whole_path(minus: bool, scoring: Scoring) -> None:
    rng = np.random.default_rng(3)
    for _ in range(60):
        frame, moves, end = random_path(rng, minus)
        cuts = sorted(rng.integers(0, len(moves) + 1, int(rng.integers(0, 8))).tolist())
        path, found = traced(frame, scoring, moves, end, cuts)
        assert (found.row, found.column) == (path.row, path.column) == (4, 5)
        query, target = (
            view.read(0, len(view)) for view in frame.region(4, end.row, 5, end.column)
        )
        row = column = score = 0
        columns, last = "", 0
        tables = scoring.match_tables
        for move in moves[::-1].tolist():
            if move == 0:
                q, t = int(query[row]), int(target[column])
                columns += "=" if tables[0][q] == tables[1][t] else "X"
                score += scoring.matrix[scoring.query_encoding[q], scoring.target_encoding[t]]
            else:
                columns += "MDI"[move]
                score -= scoring.gap_extend + scoring.gap_open * (move != last)
            row, column, last = row + (move != 1), column + (move != 2), move
        assert found.runs.columns().tobytes().decode() == columns
        ops = found.runs.ops
        assert (ops[1:] != ops[:-1]).all()
        assert found.score == score


def test_runs_that_go_on_in_the_next_pieces() -> None:
    pieces = [Runs.of_cigar(one) for one in ("", "3=", "2=", "", "1=2X", "3X1I", "1I", "1D")]
    assert joined(pieces).cigar == "6=5X2I1D"
    assert [one.cigar for one in pieces] == ["", "3=", "2=", "", "1=2X", "3X1I", "1I", "1D"]
    assert joined([]).cigar == joined(pieces[:1]).cigar == ""


@pytest.mark.usefixtures("small_pieces")
def test_a_path_that_was_begun_by_another_run() -> None:
    frame, moves, end = random_path(np.random.default_rng(8), False)
    _, whole = traced(frame, make_scoring(), moves, end, [])
    for cut in (0, 100, len(moves)):
        rest = moves[cut:]
        path = Path(4 + int((rest != 1).sum()), 5 + int((rest != 2).sum()), [moves[:cut]])
        reader = PathReader(end, frame, make_scoring(), 16)
        reader.read_meanwhile(path)
        path.moves.append(rest)
        path.row, path.column = 4, 5
        found = reader.found(path)
        assert (found.runs, found.score) == (whole.runs, whole.score)


@pytest.mark.usefixtures("small_pieces")
def test_a_path_that_is_not_where_its_moves_lead() -> None:
    frame = Frame((np.tile(ACGT, 20), np.tile(ACGT, 20)), 0, 90, 0, 90)
    end, moves = Hit(0, 80, 85), np.zeros(50, np.uint8)
    for place, words in (
        ((30, 36), "consumes 50 x 50 letters of a region of 50 x 49"),
        ((31, 35), "consumes 50 x 50 letters of a region of 49 x 50"),
        ((80, 85), "consumes 50 x 50 letters of a region of 0 x 0"),
    ):
        path = Path(*place, [moves])
        for read in (PathReader.read_meanwhile, PathReader.found):
            with pytest.raises(InternalError, match=words):
                read(PathReader(end, frame, make_scoring(), 16), path)
    long = Path(0, 5, [np.zeros(81, np.uint8)])  # it leaves the matrix
    with pytest.raises(InternalError, match="consumes 81 x 81 letters of a region of 80 x 80"):
        PathReader(end, frame, make_scoring(), 16).read_meanwhile(long)
    with pytest.raises(InternalError, match="a path has a move 3"):
        PathReader(end, frame, make_scoring(), 16).read_meanwhile(
            Path(30, 35, [moves + np.uint8(3)])
        )


def test_a_short_path_takes_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    fault(monkeypatch, parallel, "ThreadPoolExecutor", AssertionError("threads were made"))
    r = pysw_cl.align("ACGT" * 30, "ACGT" * 20 + "ACT" * 5, **REFERENCE)
    assert r.rescore() == r.score > 0


RESCORED = AssertionError("the path was scored again")


@pytest.mark.parametrize("options", [{}, {"strand": "both"}, {"gap_cost": (2.5, 0.5)}])
def test_a_path_is_scored_once(monkeypatch: pytest.MonkeyPatch, options: Any) -> None:
    """By its reader, with the letters at the coordinates that are said."""
    target = "TTGACCAGTTACGATCCAGATTTACGGAC"
    query = "GTCCGTAAATCTGGATCTAACTGGT" if "strand" in options else "GACCAGTTCGATCCAGATTAACGG"
    expected = pysw_cl.align(query, target, query_range=(1, 23), **options, **REFERENCE)
    assert expected.rescore() == expected.score
    assert expected.strand == ("minus" if "strand" in options else "plus")
    fault(monkeypatch, Alignment, "rescore", RESCORED)
    found = pysw_cl.align(query, target, query_range=(1, 23), **options, **REFERENCE)
    assert (found.score, found.cigar) == (expected.score, expected.cigar)


@dataclass(frozen=True)
class Worse:
    """Moves that lead on where the path is at its start: a gap in each sequence."""

    moves: StoredMoves

    def trace(self, row: int, column: int, state: int) -> Traced:
        """See :class:`pysw_cl.tiles.tile.StoredMoves`."""
        right = self.moves.trace(row, column, state)
        assert right.ended
        moves = np.append(right.moves, np.array([1, 2], np.uint8))
        return replace(right, moves=moves, row=right.row - 1, column=right.column - 1)

    def release(self) -> None:
        """Give their memory back."""
        self.moves.release()


class WorsePaths(ReferenceEngine):
    """An engine whose paths are too long."""

    def tile(self, job: TileJob) -> TileResult:
        """See :class:`pysw_cl.tiles.contract.Engine`."""
        result = super().tile(job)
        return result if result.moves is None else replace(result, moves=Worse(result.moves))


def test_a_worse_path_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    row = replace(ENGINES["reference"], make=lambda *_: WorsePaths())
    monkeypatch.setitem(ENGINES, "reference", row)
    with pytest.raises(InternalError, match=r"the path scores 10, not 20; please report"):
        pysw_cl.align("T" + "ACGTA" * 4, "G" + "ACGTA" * 4, **REFERENCE)


def test_other_letters_than_those_of_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that read other letters says nothing about the result."""
    fault(monkeypatch, Alignment, "rescore", RESCORED)
    monkeypatch.setattr(Frame, "found", lambda *_: dict(zip(NAMES, (2, 6, 1, 5), strict=True)))
    with pytest.raises(AssertionError, match="scored again"):
        pysw_cl.align("TACGT", "GACGT", **REFERENCE)


NAMES = "query_start", "query_end", "target_start", "target_end"


@every_plan
@pytest.mark.usefixtures("small_pieces")
def test_beside_the_walk(lanes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was walked is read while tiles are computed, and little is left at the end."""
    plan = plan_of(lanes)
    seen: Seen = watched(monkeypatch)
    constants(monkeypatch, most_tiles=2, side=300)
    looks: list[int] = []

    def read(_: None, reader: PathReader, *args: Any) -> None:
        looks.append(reader._taken)

    spy(monkeypatch, PathReader, "read_meanwhile", after=read)
    a, b = pairs("similar", np.random.default_rng(2), 4000)
    found = pysw_cl.align(a, b, plan=plan)
    assert seen.traced > 4
    assert max(looks) >= seen.traced - 2
    assert found.rescore() == found.score

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        fault(patch, PathReader, "read_meanwhile", KeyboardInterrupt)
        pysw_cl.align(a, b, plan=plan)
    assert pysw_cl.align(a, b, plan=plan).cigar == found.cigar
