"""The picture: what is drawn is where it belongs, and the file is an image."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pysw_cl import align
from pysw_cl.cli import main as cli
from pysw_cl.errors import FormatError, InputError
from pysw_cl.results.alignment import Alignment
from pysw_cl.results.cigar import Runs
from pysw_cl.results.plot import MOST_TILE, path_points, picture_plan
from pysw_cl.scoring.scoring import make_scoring
from pysw_cl.sequences.sequence import Sequence
from pysw_cl.tiles.slabs import MOST, TileMap
from pysw_cl.tiles.tile import Area

PLAN = {"engine": "reference", "tile_cells": 400}
MAGIC = {".png": b"\x89PNG\r\n", ".pdf": b"%PDF", ".svg": b"<?xml"}


def complement(text: str) -> str:
    return text.translate(str.maketrans("ACGT", "TGCA"))[::-1]


def texts(length: int = 150) -> tuple[str, str]:
    rng = np.random.default_rng(17)
    query = "".join(rng.choice(list("ACGT"), length))
    return query, query[: length // 2] + "TTGACC" + query[length // 2 : -20]


@pytest.fixture
def without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where it is not installed: no part of it can be imported."""
    loaded = [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]
    for name in ("matplotlib", *loaded):
        monkeypatch.setitem(sys.modules, name, None)


# The map of tiles


def test_a_map_of_tiles() -> None:
    tops = {Area(0, 4, 0, 5): 7, Area(0, 4, 5, 8): 3, Area(4, 6, 0, 5): 9}
    tiles = TileMap.of((6, 8), tops, {Area(4, 6, 5, 8): 1.0})
    assert (tiles.rows.tolist(), tiles.columns.tolist()) == ([0, 4, 6], [0, 5, 8])
    assert np.array_equal(tiles.scores, [[7, 3], [9, np.nan]], equal_nan=True)
    assert tiles.pruned.tolist() == [[0, 0], [0, 1]]


def test_a_map_with_tiles_of_two_cuts() -> None:
    tiles = TileMap.of((6, 4), {Area(0, 6, 0, 2): 5, Area(0, 3, 2, 4): 1}, {Area(3, 6, 2, 4): 1.0})
    assert tiles.rows.tolist() == [0, 3, 6]
    assert np.array_equal(tiles.scores, [[5, 1], [5, np.nan]], equal_nan=True)


def test_a_map_of_nothing() -> None:
    tiles = TileMap.of((6, 8), {}, {})
    assert (tiles.rows.tolist(), tiles.columns.tolist()) == ([0, 6], [0, 8])
    assert np.isnan(tiles.scores).all()
    assert not tiles.pruned.any()


@pytest.mark.parametrize("count", [1, 63, 64, 65, 200])
def test_a_large_map_is_put_together(count: int) -> None:
    rng = np.random.default_rng(count)
    cuts = np.cumsum(rng.integers(1, 9, count + 1)) - 1
    cuts[0] = 0
    scores = rng.integers(0, 1000, (count, count))
    lost = rng.random((count, count)) < 0.3
    lost[0, 0] = False
    tops, pruned = {}, []
    for i in range(count):
        for j in range(count):
            area = Area(int(cuts[i]), int(cuts[i + 1]), int(cuts[j]), int(cuts[j + 1]))
            if lost[i, j]:
                pruned.append(area)
            else:
                tops[area] = int(scores[i, j])
    side = int(cuts[-1])
    tiles = TileMap.of((side, side), tops, dict.fromkeys(pruned, 1.0))
    assert tiles.scores.shape == tiles.pruned.shape == (min(count, MOST),) * 2
    assert (tiles.rows[0], tiles.rows[-1], tiles.columns[-1]) == (0, side, side)
    cells = np.outer(np.diff(tiles.rows), np.diff(tiles.columns))
    assert (tiles.pruned * cells).sum() == pytest.approx(sum(area.cells for area in pruned))
    assert np.nanmax(tiles.scores) == max(tops.values())
    for i, j in rng.integers(0, len(tiles.scores), (20, 2)):
        inside = [
            top
            for area, top in tops.items()
            if tiles.rows[i] <= area.row < tiles.rows[i + 1]
            and tiles.columns[j] <= area.column < tiles.columns[j + 1]
        ]
        assert tiles.scores[i, j] == max(inside) if inside else np.isnan(tiles.scores[i, j])


def test_the_map_of_an_alignment() -> None:
    query, target = texts()
    r = align(query, target, plan=PLAN)
    assert r.tiles is not None
    assert (r.tiles.rows[-1], r.tiles.columns[-1]) == (len(query), len(target))
    cells = np.outer(np.diff(r.tiles.rows), np.diff(r.tiles.columns))
    assert (r.tiles.pruned * cells).sum() == r.stats.pruned > 0
    assert np.nanmax(r.tiles.scores) == r.score
    row = int(np.searchsorted(r.tiles.rows, r.query_end)) - 1
    column = int(np.searchsorted(r.tiles.columns, r.target_end)) - 1
    assert r.tiles.scores[row, column] == r.score  # the tile that holds the end


def test_the_map_of_a_range_on_the_minus_strand_has_real_scores() -> None:
    query, target = texts()
    options: dict[str, Any] = {"plan": PLAN, "sub_score": (1, -2.5), "gap_cost": (2.5, 2)}
    plain = align(query[10:], target[5:], **options)
    r = align(
        complement(query), target, strand="minus", query_range=(0, len(query) - 10),
        target_range=(5, len(target)), **options,
    )  # fmt: skip
    assert (r.tiles, plain.tiles) != (None, None)
    assert r.tiles.rows.tolist() == (len(query) - 10 - plain.tiles.rows[::-1]).tolist()
    assert r.tiles.columns.tolist() == (plain.tiles.columns + 5).tolist()
    assert np.array_equal(r.tiles.scores[::-1], plain.tiles.scores, equal_nan=True)
    assert np.array_equal(r.tiles.pruned[::-1], plain.tiles.pruned)
    assert np.nanmax(r.tiles.scores) == r.score == plain.score


def test_global_comparisons_have_no_scores() -> None:
    r = align(*texts(60), mode="global", plan=PLAN)
    assert r.tiles is not None
    assert np.isnan(r.tiles.scores).all()


# The path


def test_points_of_a_path() -> None:
    r = align("GATTACAGGCATT", "GATCACACATT", sub_score=(5, -4), plan=PLAN)
    assert r.cigar == "3=1X3=2I4="
    assert path_points(r).tolist() == [[0, 0], [7, 7], [7, 9], [11, 13]]
    r = align("GATCACACATT", "GATTACAGGCATT", mode="global", sub_score=(5, -4), plan=PLAN)
    assert path_points(r).tolist() == [[0, 0], [7, 7], [9, 7], [13, 11]]


def test_points_of_a_path_on_the_minus_strand() -> None:
    r = align(
        complement("GATTACAGGCATT") + "CC", "TGATCACACATT", strand="minus",
        sub_score=(5, -4), plan=PLAN,
    )  # fmt: skip
    assert r.cigar == "3=1X3=2I4="
    assert path_points(r).tolist() == [[1, 13], [8, 6], [8, 4], [12, 0]]


def test_points_of_an_empty_path() -> None:
    assert path_points(align("AAAA", "CCCC", plan=PLAN)).tolist() == [[0, 0]]


def long_alignment(count: int, strand: str = "plus") -> Alignment:
    """A path of ``count`` runs through more than 2**32 letters."""
    rng = np.random.default_rng(count)
    kinds = np.resize(np.frombuffer(b"=I=D", np.uint8), count)
    lengths = np.where(kinds == ord("="), rng.integers(1, 60_000, count), 3).astype(np.int64)
    runs = Runs(kinds, lengths)
    letters = np.broadcast_to(np.uint8(65), (1 << 33,))
    first, ends = 1 << 31, (runs.count("=I"), runs.count("=D"))
    return Alignment(
        0, "local", Sequence("q", "", letters), Sequence("t", "", letters), make_scoring(),
        first, first + ends[0], 5, 5 + ends[1], runs, strand=strand,
    )  # fmt: skip


@pytest.mark.parametrize("strand", ["plus", "minus"])
def test_a_long_path_is_thinned(strand: str) -> None:
    r = long_alignment(400_000, strand)
    assert r.query_start is not None
    assert r.query_end is not None
    whole, points = path_points(r, 1 << 20), path_points(r, 500)
    assert len(points) <= 501 < 400_000 < len(whole)
    assert points[0].tolist() == whole[0].tolist()
    assert points[-1].tolist() == whole[-1].tolist()
    if strand == "plus":
        assert points[-1].tolist() == [r.target_end, r.query_end]
    else:
        assert points[:, 1].tolist() == sorted(points[:, 1].tolist(), reverse=True)
        assert (points[0, 1], points[-1, 1]) == (r.query_end, r.query_start)
    assert int(points.max()) > 1 << 32
    field = (r.query_end - r.query_start) / 250
    drawn = np.interp(whole[:, 0], points[:, 0], points[:, 1])
    assert np.abs(drawn - whole[:, 1]).max() <= 2 * field


def test_no_path_no_points() -> None:
    with pytest.raises(InputError, match="output='path'"):
        path_points(align("ACGT", "ACGT", output="ends", plan=PLAN))


# Drawing


@pytest.mark.parametrize("suffix", MAGIC)
def test_the_file_is_an_image(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / f"a picture{suffix}"
    align(*texts(), plan=PLAN).plot(path)
    assert path.read_bytes().startswith(MAGIC[suffix])


def test_the_image_has_the_path_in_red_and_the_pruned_area_in_grey(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    pytest.importorskip("matplotlib")
    align(*texts(), plan=PLAN).plot(str(tmp_path / "x.png"))
    pixels = np.array(image.open(tmp_path / "x.png").convert("RGB"))
    assert pixels.shape[0] > 500 < pixels.shape[1]
    assert (pixels == (255, 0, 0)).all(axis=-1).sum() > 500
    assert (pixels == (191, 191, 191)).all(axis=-1).mean() > 0.05


def test_what_is_drawn() -> None:
    pytest.importorskip("matplotlib")
    from pysw_cl.results.plot import draw

    query, target = texts()
    for strand, text in (("plus", query), ("minus", complement(query))):
        r = align(Sequence("a$b", "", np.frombuffer(text.encode(), np.uint8)), target,
                  strand=strand, plan=PLAN)  # fmt: skip
        axes = draw(r).axes[0]
        line = next(line for line in axes.lines if line.get_label() == "path")
        assert line.get_xydata().tolist() == path_points(r).tolist()
        assert axes.get_xlim() == (0, len(target))
        assert axes.get_ylim() == (len(query), 0)  # the first row is on top
        assert axes.get_ylabel() == r"a\$b"
    axes = draw(long_alignment(1000)).axes[0]  # without a map
    assert axes.get_ylim()[0] > axes.get_ylim()[1] > 0
    for output, strand in (("ends", "plus"), ("ends", "minus"), ("score", "plus")):
        r = align(query, target, output=output, strand=strand, plan=PLAN)
        dots = [line for line in draw(r).axes[0].lines if line.get_label() == "end"]
        rows = [row for row in (r.query_start, r.query_end) if row is not None]
        drawn = [dot.get_xydata().tolist() for dot in dots]
        assert drawn == ([[[r.target_end, rows[0]]]] if output == "ends" else [])
    assert len(draw(align(query, target, mode="global", plan=PLAN)).axes) == 1  # no colour bar


def test_axes(tmp_path: Path) -> None:
    """On those that are given, or on new ones, which pyplot knows and notebooks show."""
    pytest.importorskip("matplotlib").use("agg")
    from matplotlib import pyplot

    r = align("GATTACA", "GATTACA", plan=PLAN)
    axes = pyplot.figure().subplots(1, 2)
    assert r.plot(tmp_path / "x.png", ax=axes[1]) is axes[1]
    assert (tmp_path / "x.png").exists()
    assert axes[1].lines and not axes[0].lines
    made = r.plot()
    assert made.figure.number in pyplot.get_fignums()
    for axis in (made.xaxis, made.yaxis, axes[1].xaxis):
        assert all(place == int(place) for place in axis.get_majorticklocs())
    pyplot.close("all")
    assert r.plot(tmp_path / "y.png") is None
    assert not pyplot.get_fignums()
    with pytest.raises(InputError, match="ax must be axes of matplotlib, not 5"):
        r.plot(ax=5)


def test_files_that_cannot_be_written(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    r = align("GATTACA", "GATTACA", plan=PLAN)
    with pytest.raises(InputError, match="no picture of this format"):
        r.plot(tmp_path / "x.doc")
    with pytest.raises(FormatError, match="cannot be written: No such file"):
        r.plot(tmp_path / "nowhere" / "x.png")


@pytest.mark.usefixtures("without_matplotlib")
def test_without_matplotlib(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    r = align("GATTACA", "GATTACA", plan=PLAN)
    with pytest.raises(InputError, match=r'needs matplotlib.*extra "plot".*pip install matplotlib'):
        r.plot(tmp_path / "x.png")
    assert cli.main(["plot", "no_such.fa", "no_such.fa", str(tmp_path / "x.png")]) == 1
    assert "pip install matplotlib" in capsys.readouterr().err


# The shell


def test_plot_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    query, target = texts()
    (tmp_path / "q.fa").write_text(f">q\n{complement(query)}\n")
    (tmp_path / "t.fa").write_text(f">t\n{target}\n>u\n{target}\n")
    files = [str(tmp_path / name) for name in ("q.fa", "t.fa", "x.png")]
    options = ["--plan", "engine=reference", "--strand", "both"]
    assert cli.main(["plot", files[0], files[0], files[2], *options]) == 0
    assert capsys.readouterr().out.startswith("q\t150\t0\t150\t+\tq\t")
    assert Path(files[2]).read_bytes().startswith(MAGIC[".png"])
    Path(files[2]).unlink()
    assert cli.main(["plot", *files, *options]) == 1
    out, err = capsys.readouterr()
    assert out == ""  # it is said before anything is computed or drawn
    assert not Path(files[2]).exists()
    assert err == (
        "pysw-cl: plot is for one query and one target, and the files have more records; give "
        "files with one record each\n"
    )


@pytest.mark.parametrize(
    "option", ["--top", "--alignments", "--min-score", "--pairs", "--skip-bad"]
)
def test_plot_has_no_option_that_it_cannot_use(
    capsys: pytest.CaptureFixture[str], option: str
) -> None:
    assert cli.main(["plot", "a", "b", "c.png", option]) == 2
    assert capsys.readouterr().err == (
        f"pysw-cl plot: there is no option {option} (see pysw-cl plot --help)\n"
    )


def test_the_result_and_the_picture_are_two_files(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    same = str(tmp_path / "x.png")
    assert cli.main(["plot", "a", "b", same, "-o", same]) == 2
    assert "-o and PICTURE are the same file" in capsys.readouterr().err


def test_tiles_of_a_picture() -> None:
    assert picture_plan(None, 1000, 1000) == {"tile_cells": 1 << 20}
    assert picture_plan({"B": 2}, 480_000, 480_000) == {"B": 2, "tile_cells": 10**8}
    assert picture_plan({"tile_cells": 5}, 10**6, 10**6) == {"tile_cells": 5}
    assert picture_plan(None, 10**8, 10**8) is None  # larger than MOST_TILE: what plans do
    assert MOST_TILE < 10**16 // 48**2
