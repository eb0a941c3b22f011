"""Paths that fail their own check: computed once more in another way, counted, and said."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import tune, use_engine
from many import align_many_stats

import pysw_cl
from pysw_cl.api.parts import PartLimits, align_parts
from pysw_cl.checkpoint.run import SavedStrand
from pysw_cl.cli import batches, main as cli
from pysw_cl.drivers import batch
from pysw_cl.drivers.options import ManyOptions, Resources
from pysw_cl.drivers.progress import PairProgress
from pysw_cl.drivers.run import checked
from pysw_cl.engines.reference import ReferenceEngine
from pysw_cl.engines.wavefront.engine import WavefrontEngine
from pysw_cl.errors import DeviceError, InternalError, RecomputedWarning, Stopped
from pysw_cl.opencl.device import Runtime
from pysw_cl.planning.plan import Plan
from pysw_cl.tiles.contract import Engine
from pysw_cl.tiles.tile import StoredMoves, TileJob, TileResult, Traced

PLAN = {"T": 4, "alpha": 2, "B": 2, "lanes": "vector", "form": "ticketed"}
QUERY = "ACGTTGCAGGATTACACCATGATTACAGG" * 3
TARGET = "ACGTTGCAGGATCACACATGATTAACAGG" * 3


class Faults:
    """Walks on the device that go wrong: the first ``left`` of them."""

    def __init__(self, left: int) -> None:
        self.left, self.seen = left, 0

    def trace(self, right: Traced) -> Traced:
        """A letter pair and a gap letter where there were two pairs: other letters are consumed, or
        the same for another score."""
        self.seen += 1
        if self.left <= 0 or not (pair := np.flatnonzero(right.moves == 0)).size:
            return right
        self.left -= 1
        moves = np.concatenate([right.moves[: pair[0]], [1, 2], right.moves[pair[0] + 1 :]])
        return Traced(moves.astype(np.uint8), right.row, right.column, right.state, right.ended)


@dataclass(frozen=True)
class FaultyMoves:
    """Moves that are followed back wrongly."""

    moves: StoredMoves
    faults: Faults

    def trace(self, row: int, column: int, state: int) -> Traced:
        """See :class:`pysw_cl.tiles.tile.StoredMoves`."""
        return self.faults.trace(self.moves.trace(row, column, state))

    def release(self) -> None:
        """Give their memory back."""
        self.moves.release()


class Faulty(WavefrontEngine):
    """An engine with such moves, as is the other one on its device."""

    def __init__(self, runtime: Runtime, plan: Plan, faults: Faults) -> None:
        super().__init__(runtime, plan)
        self.faults = faults

    def tile(self, job: TileJob) -> TileResult:
        """See :class:`pysw_cl.tiles.contract.Engine`."""
        result = super().tile(job)
        if result.moves is None:
            return result
        return replace(result, moves=FaultyMoves(result.moves, self.faults))

    def another(self, cells: int) -> Engine | None:
        """See :class:`pysw_cl.tiles.contract.Engine`."""
        other = super().another(cells)
        if isinstance(other, WavefrontEngine):
            return Faulty(other.runtime, other.plan, self.faults)
        return other


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Iterator[Faults]:
    """The wavefront engine has a fault."""
    found = Faults(1)
    use_engine(monkeypatch, lambda runtime, plan: Faulty(runtime, plan, found))
    yield found
    assert found.left <= 0


def key(found: pysw_cl.Alignment) -> tuple[Any, ...]:
    return found.score, found.cigar, found.query_start, found.query_end, found.target_start


@pytest.mark.parametrize("mode", ["local", "global"])
@pytest.mark.parametrize("cells", [1 << 22, 0])
def test_by_the_reference_or_by_two_phases(
    mode: str, cells: int, faults: Faults, monkeypatch: pytest.MonkeyPatch
) -> None:
    tune(monkeypatch, {"engine.recomputed_cells": cells})
    told: list[float] = []
    with pytest.warns(RecomputedWarning, match=r"the path scores|consumes") as warned:
        found = pysw_cl.align(
            QUERY, TARGET, mode=mode, plan=PLAN, device="auto",
            progress=lambda done, total: told.append(done / total),
        )  # fmt: skip
    assert len(warned) == 1
    assert warned[0].filename == __file__  # where the caller is, not somewhere inside
    assert found.stats.recomputed == 1
    assert "computed again" in str(found.stats)
    assert found.plan.engine == ("reference" if cells else "wavefront")
    if not cells:
        assert (found.plan.form, found.plan.lanes) == ("two-phase", "vector32")
    assert told == sorted(told)
    right = pysw_cl.align(QUERY, TARGET, mode=mode, plan=PLAN, device="auto")
    assert right.stats.recomputed == 0
    assert key(found) == key(right)
    assert found.rescore() == found.score


def test_a_second_failure_is_an_error(faults: Faults, monkeypatch: pytest.MonkeyPatch) -> None:
    tune(monkeypatch, {"engine.recomputed_cells": 0})
    faults.left = 2
    with pytest.raises(InternalError, match=r"the path scores|consumes"):
        pysw_cl.align(QUERY, TARGET, plan=PLAN, device="auto")
    assert faults.seen == 2


class Poor(WavefrontEngine):
    """An engine that lacks memory for any tile."""

    def tile(self, job: TileJob) -> TileResult:
        """See :class:`pysw_cl.tiles.contract.Engine`."""
        raise DeviceError("out of memory")


class WithPoorOther(Faulty):
    """An engine with a fault, whose other way is such an engine."""

    def another(self, cells: int) -> Engine:
        """See :class:`pysw_cl.tiles.contract.Engine`."""
        other = super().another(cells)
        assert isinstance(other, Faulty)
        return Poor(other.runtime, other.plan)


def test_errors_of_the_second_way_name_the_first(
    faults: Faults, monkeypatch: pytest.MonkeyPatch
) -> None:
    tune(monkeypatch, {"engine.recomputed_cells": 0})
    use_engine(monkeypatch, lambda runtime, plan: WithPoorOther(runtime, plan, faults))
    with pytest.raises(DeviceError, match=r"out of memory \(while it was computed again .*please"):
        pysw_cl.align(QUERY, TARGET, mode="global", plan=PLAN, device="auto")


def test_a_result_is_kept_before_anybody_is_warned(faults: Faults, tmp_path: Path) -> None:
    """A warning that is an error comes when all is safe."""
    with warnings.catch_warnings(), pytest.raises(RecomputedWarning):
        warnings.simplefilter("error")
        pysw_cl.align(QUERY, TARGET, plan=PLAN, checkpoint=tmp_path / "run", device="auto")
    assert pysw_cl.resume(tmp_path / "run").stats.recomputed == 1


def test_the_second_time_stops_when_it_is_told_to(
    faults: Faults, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    begin = SavedStrand.begin_anew

    def late(self: SavedStrand, progress: PairProgress) -> None:
        """The time is over once a path was wrong."""
        self.run.stop_at = 0.0
        begin(self, progress)

    monkeypatch.setattr(SavedStrand, "begin_anew", late)
    with pytest.raises(Stopped, match=r"while a path was computed again; .*resume"):
        pysw_cl.align(
            QUERY, TARGET, plan=PLAN, checkpoint=tmp_path / "run", stop_after=60, device="auto"
        )
    found = pysw_cl.resume(tmp_path / "run")
    assert key(found) == key(pysw_cl.align(QUERY, TARGET, plan=PLAN, device="auto"))


def test_no_second_time_where_there_is_no_other_way() -> None:
    def fails(*_: object) -> None:
        raise InternalError("wrong")

    engine = ReferenceEngine()
    with pytest.raises(InternalError, match="wrong"):
        checked(fails, engine, 100)


def test_both_strands(faults: Faults) -> None:
    with pytest.warns(RecomputedWarning):
        found = pysw_cl.align(QUERY, TARGET, plan=PLAN, strand="both", device="auto")
    assert found.stats.recomputed == 1
    assert key(found) == key(pysw_cl.align(QUERY, TARGET, plan=PLAN, device="auto"))


def test_best_alignments(faults: Faults) -> None:
    with pytest.warns(RecomputedWarning) as warned:
        found = pysw_cl.align_top(QUERY, TARGET, k=3, plan=PLAN, device="auto")
    assert warned[0].filename == __file__
    assert [one.stats.recomputed for one in found] == [1, 0, 0]
    right = pysw_cl.align_top(QUERY, TARGET, k=3, plan=PLAN, device="auto")
    assert list(map(key, found)) == list(map(key, right))


def test_a_saved_run(faults: Faults, tmp_path: Path) -> None:
    """The right path is kept, and read again."""
    with pytest.warns(RecomputedWarning) as warned:
        found = pysw_cl.align(QUERY, TARGET, plan=PLAN, checkpoint=tmp_path / "run", device="auto")
    assert warned[0].filename == __file__
    assert found.stats.recomputed == 1
    again = pysw_cl.resume(tmp_path / "run")
    assert again.stats.recomputed == 1
    right = pysw_cl.align(QUERY, TARGET, plan=PLAN, device="auto")
    assert key(found) == key(again) == key(right)


def test_a_resumed_run(faults: Faults, tmp_path: Path) -> None:
    """What was saved of the wrong path is not used, and the warning is of the caller's line."""
    with pytest.raises(Stopped):
        pysw_cl.align(
            QUERY, TARGET, plan=PLAN, checkpoint=tmp_path / "run", stop_after=0, device="auto"
        )
    with pytest.warns(RecomputedWarning) as warned:
        found = pysw_cl.resume(tmp_path / "run")
    assert warned[0].filename == __file__
    assert found.stats.recomputed == 1


@pytest.fixture
def wrong_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    """The path of one pair of each batch scores something else."""
    take = batch.BatchDriver._take_paths

    def wrong(driver: Any, part: Any, found: Any, sure: Any) -> None:
        found.traced[5, 7] += 1
        take(driver, part, found, sure)

    monkeypatch.setattr(batch.BatchDriver, "_take_paths", wrong)


PAIRS = [(QUERY[:k], TARGET[: 80 - k]) for k in range(20, 50)]


def test_many_pairs(request: pytest.FixtureRequest) -> None:
    """A pair of a batch is aligned alone, the others stay."""
    pairs = PAIRS
    right, stats = align_many_stats(pairs, output="path", device="auto")
    assert stats.recomputed == 0
    request.getfixturevalue("wrong_paths")
    with pytest.warns(RecomputedWarning, match=r"the path of pair \d+ scores"):
        found, stats = align_many_stats(pairs, output="path", device="auto")
    assert stats.recomputed == 1
    with pytest.warns(RecomputedWarning) as warned:
        pysw_cl.align_many(pairs, output="path", device="auto")
    assert warned[0].filename == __file__
    assert found.tolist() == right.tolist()


@pytest.mark.usefixtures("wrong_paths")
def test_pairs_of_parts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The warning says from which pair on they are counted: in Python and in the shell."""
    options, limits = ManyOptions(output="path"), PartLimits(pairs=len(PAIRS))
    with pytest.warns(RecomputedWarning) as warned:
        list(align_parts(PAIRS + PAIRS, options, Resources(), limits))
    ends = [str(one.message).partition(" (pairs ")[2] for one in warned]
    assert ends == ["are counted from pair 0 of all)", "are counted from pair 30 of all)"]
    for name, side in (("q", 0), ("t", 1)):
        records = (f">{name}\n{pair[side]}\n" for pair in PAIRS + PAIRS)
        (tmp_path / name).write_text("".join(records))
    monkeypatch.setattr(batches, "FIRST_PAIRS", 30)
    assert cli.main(["align", "--pairs", str(tmp_path / "q"), str(tmp_path / "t")]) == 0
    said = re.findall(r"counted from pair (\d+) of all", capsys.readouterr().err)
    assert said == ["0", "30"]


def test_the_shell_says_it_in_one_line(
    faults: Faults, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = []
    for name, letters in (("query", QUERY), ("target", TARGET)):
        file = tmp_path / f"{name}.fa"
        file.write_text(f">{name}\n{letters}\n")
        names.append(str(file))
    assert cli.main(["align", "--mode", "global", *names]) == 0
    out, err = capsys.readouterr()
    assert "cg:Z:" in out
    lines = re.findall(r"^pysw-cl: warning: .*please report.*$", err, re.MULTILINE)
    assert len(lines) == 1


def test_the_other_strand_of_a_saved_run_is_not_computed_again(
    faults: Faults, tmp_path: Path
) -> None:
    with pytest.warns(RecomputedWarning):
        found = pysw_cl.align(
            QUERY, TARGET, plan=PLAN, strand="both", device="auto", checkpoint=tmp_path / "run"
        )
    assert found.stats.recomputed == 1
    assert key(found) == key(pysw_cl.align(QUERY, TARGET, plan=PLAN, device="auto"))
