"""Strips that change hands between groups: the schedule, cell by cell and with groups of different
speeds, and the kernels where groups leave strips as often as they can."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from schedule_shared import SharedStrips, speed_share
from schedule_tile import ScheduleTile

import pysw_cl
from pysw_cl.engines.wavefront.descriptors import ProgressWord
from pysw_cl.engines.wavefront.kernel import new_progress
from pysw_cl.opencl.device import get_runtime
from pysw_cl.planning import sizes
from pysw_cl.planning.geometry import Grid
from pysw_cl.planning.program import Program

#: Groups that leave a strip without waiting, and look for an earlier one at every block.
RESTLESS = {"SHORT_WAIT": 1, "BLOCKS_READY": 1, "BLOCKS_A_VISIT": 0}


def tile_of(m: int, n: int, T: int, alpha: int, columns: tuple[int, ...] = ()) -> ScheduleTile:
    grid = Grid(m, n, 1, T, alpha, "ticketed")
    return ScheduleTile(grid, grid.last_row_outlet, columns=columns)


def squares(strips: int, blocks: int) -> ScheduleTile:
    """A tile of so many strips and blocks of four columns."""
    return tile_of(4 * strips, 4 * blocks - 4, 4, 1)


@pytest.mark.parametrize(
    ("m", "n", "T", "alpha"),
    [(1, 1, 4, 2), (1, 50, 4, 2), (50, 1, 4, 2), (90, 3, 4, 2), (70, 15, 16, 2), (81, 40, 4, 2),
     (74, 41, 4, 2), (90, 33, 1, 3), (200, 40, 4, 1)],
)  # fmt: skip
@pytest.mark.parametrize("portions", [False, True])
def test_every_cell_once_in_good_order(m: int, n: int, T: int, alpha: int, portions: bool) -> None:
    rng = np.random.default_rng(m + n)
    for groups in (1, 2, 5):
        tile = tile_of(m, n, T, alpha, (n // 2,) if n > 30 else ())
        speeds = tuple(rng.choice([0, 0.1, 1, 3], groups - 1).tolist())
        launch = SharedStrips(tile, 5, 4 * groups, (1.0, *speeds), portions, portions)
        launch.run()
        seen = tile.result()
        assert (seen.cells == 1).all()
        assert launch.done == tile.grid.strips
        tile.check_line(tile.grid.strips, tile.bottom())


def test_a_slow_group_does_not_slow_down_the_others() -> None:
    speeds = (1, 1, 0.5, 0.25)
    launch = SharedStrips(squares(64, 64), 4, 16, speeds)
    assert speed_share(launch) > 0.9
    assert 10 < launch.left < 64 * 64 / 8
    # of eight strips the slowest group has one, and the others one block each for one of its
    few = SharedStrips(squares(64, 64), 4, 8, speeds)
    assert 0.7 < speed_share(few) < 8 * 0.25 / 2.75


def test_equal_groups_keep_their_strips() -> None:
    launch = SharedStrips(squares(64, 64), 4, 8, (1, 1))
    assert speed_share(launch) > 0.97
    assert launch.left < 64 // 4


@pytest.mark.parametrize(("strips", "groups", "least"), [(9, 2, 0.97), (3, 2, 0.95), (22, 4, 0.95)])
def test_no_group_is_idle_at_the_end(strips: int, groups: int, least: float) -> None:
    launch = SharedStrips(squares(strips, 128), 4, 8 * groups, (1,) * groups)
    assert strips / groups / -(-strips // groups) < 0.92  # whole strips
    assert speed_share(launch) > least


def test_many_groups_of_two_speeds() -> None:
    launch = SharedStrips(squares(96, 96), 4, 64, (1,) * 10 + (0.55,) * 6)
    assert speed_share(launch) > 0.8  # 0.55 * 16 / 13.3 = 0.66 at the pace of the slowest


def test_one_group_after_another() -> None:
    launch = SharedStrips(squares(20, 8), 4, 8, (1, 0, 0))
    launch.run()
    assert (launch.tile.result().cells == 1).all()


def test_lines_of_progress() -> None:
    progress = new_progress(3, 16, sizes.PROGRESS_WORDS).reshape(4, sizes.PROGRESS_WORDS)
    assert progress[:3, ProgressWord.COLUMNS].tolist() == [-16] * 3
    assert not progress[:, ProgressWord.HELD].any()
    assert not progress[:, ProgressWord.DONE].any()
    assert new_progress(3, 16).tolist() == [-16] * 3 + [(1 << 31) - 1]


@pytest.fixture
def restless(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = vars(Program)["defines"].func
    monkeypatch.setattr(Program, "defines", property(lambda self: usual(self) | RESTLESS))


@pytest.mark.usefixtures("restless")
@pytest.mark.parametrize("lanes", ["vector", "vector32"])
def test_restless_groups(lanes: str) -> None:
    if get_runtime("cpu").info.kind != "cpu":
        pytest.skip("strips are shared on CPUs")
    rng = np.random.default_rng(8)

    def letters(n: int, alphabet: str = "ACGT") -> str:
        return "".join(rng.choice(list(alphabet), n))

    whole = letters(700)
    related = whole[:200] + letters(9) + whole[230:]
    cases: list[tuple[str, str, dict[str, Any]]] = [
        (whole, related, {"output": "path"}),
        (whole, related, {"output": "path", "mode": "global"}),
        (letters(900), letters(350), {"output": "ends"}),
        (letters(350), letters(20), {"output": "ends", "mode": "global"}),
        (letters(500, "ARNDCQEG"), letters(400, "ARNDCQEG"), {"sub_score": "BLOSUM62"}),
    ]
    for query, target, given in cases:
        wanted = pysw_cl.align(query, target, plan={"engine": "reference"}, **given)
        for B in (1, 2, 5):
            plan = {"lanes": lanes, "form": "ticketed", "T": 8, "alpha": 4, "B": B, "chunk": 24}
            found = pysw_cl.align(query, target, device="cpu", plan=plan, **given)
            assert found == wanted
            assert found.stats.cells.get("batch/vector/8") is None
