"""A picture of an alignment: its path over the matrix, scores as a heat map, what was pruned.

It needs matplotlib (the extra ``plot``), which is imported when a picture is drawn.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import FormatError, InputError

if TYPE_CHECKING:
    from .alignment import Alignment

#: Points of a path at most; more are thinned to where they can be told apart.
MOST_POINTS = 4096
#: Tiles a side that `picture_plan` asks for.
TILES = 48
#: Cells of a tile below which starting it costs more than computing it, and above which plans cut.
LEAST_TILE, MOST_TILE = 1 << 20, 1 << 33


def require() -> Any:
    """matplotlib's Figure; raises InputError where matplotlib is missing."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InputError(
            f"a picture needs matplotlib, which cannot be imported ({error}); "
            'pip install "pysw-cl[plot]" adds it'
        ) from None
    return Figure


def picture_plan(plan: dict[str, Any] | None, m: int, n: int) -> dict[str, Any] | None:
    """The plan with tiles small enough that a picture of m x n letters has some `TILES` a side,
    unless it says how large they are."""
    cells = max(LEAST_TILE, m * n // TILES**2)
    if cells > MOST_TILE or (plan and "tile_cells" in plan):
        return plan
    return {**(plan or {}), "tile_cells": cells}


def path_points(alignment: Alignment, most: int = MOST_POINTS) -> NDArray[np.int64]:
    """The path as a line through k points: int64, k x 2, (target, query) in letters before the
    point, in the whole sequences, from the path's start to its end along the target.

    Corners are where the kind of move changes.  More than ``most`` of them are thinned to one in
    each field, of ``most // 2`` a side of the path's box, that the path enters; no corner left out
    is further than one such field from the line.  Raises InputError without a path.
    """
    runs = alignment.runs
    if runs is None:
        raise InputError("there is no path to draw; align with output='path'")
    minus = alignment.strand == "minus"
    row = alignment.query_end if minus else alignment.query_start
    start = np.array([alignment.target_start or 0, row or 0], np.int64)
    step = np.array([1, -1 if minus else 1], np.int64)
    by_target, by_query = runs.ops != ord("I"), runs.ops != ord("D")
    moved = np.stack([runs.lengths * by_target, runs.lengths * by_query], axis=1).cumsum(axis=0)
    kind = 2 * by_target + by_query
    corners = moved[np.flatnonzero(np.append(kind[1:] != kind[:-1], len(kind) > 0))]
    points = np.concatenate([np.zeros((1, 2), np.int64), corners])
    if len(points) > most:
        fields = points * (most // 2) // np.maximum(points[-1] + 1, 1)
        new = np.any(fields[1:] != fields[:-1], axis=1)
        new[-1] = True
        points = points[np.flatnonzero(np.append(True, new))]
    placed: NDArray[np.int64] = start + step * points
    return placed


def draw(alignment: Alignment) -> Any:
    """A matplotlib Figure: target from left to right, query from top to bottom, as in the matrix.

    The path is a line (its end a dot where only that is known); colours are the highest scores of
    the tiles, and grey is what was pruned (`Alignment.tiles`).  Raises InputError without
    matplotlib.
    """
    figure = require()(figsize=(8, 6.5), layout="constrained")
    axes = figure.add_subplot()
    tiles = alignment.tiles
    if tiles is not None:
        scores = np.ma.masked_invalid(tiles.scores)
        if scores.count():
            mesh = axes.pcolormesh(tiles.columns, tiles.rows, scores, cmap="viridis")
            figure.colorbar(mesh, ax=axes, label="highest score in the tile")
        if tiles.pruned.any():
            grey = np.full((*tiles.pruned.shape, 4), 0.75)
            grey[..., 3] = tiles.pruned
            axes.pcolormesh(tiles.columns, tiles.rows, grey)
            share = np.average(
                tiles.pruned, weights=np.outer(np.diff(tiles.rows), np.diff(tiles.columns))
            )
            axes.plot([], [], "s", color="0.75", label=f"pruned: {share:.1%} of the matrix")
        axes.set_xlim(tiles.columns[0], tiles.columns[-1])
        axes.set_ylim(tiles.rows[-1], tiles.rows[0])
    else:
        axes.yaxis.set_inverted(True)
    if alignment.runs is not None:
        points = path_points(alignment)
        axes.plot(points[:, 0], points[:, 1], color="red", linewidth=1.5, label="path")
    elif alignment.target_end is not None:
        minus = alignment.strand == "minus"
        row = alignment.query_start if minus else alignment.query_end
        axes.plot(alignment.target_end, row, "o", color="red", label="end")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=3, frameon=False)
    for axis, name, sequence in (
        (axes.xaxis, "target", alignment.target),
        (axes.yaxis, "query", alignment.query),
    ):
        axis.set_label_text(sequence.name.replace("$", r"\$") or name)
        axis.set_major_formatter("{x:,.0f}")
    identity = "" if alignment.identity is None else f", identity {alignment.identity:.1%}"
    strand = ", minus strand" if alignment.strand == "minus" else ""
    axes.set_title(f"{alignment.mode}, score {alignment.score:,}{identity}{strand}")
    return figure


def plot(alignment: Alignment, path: str | os.PathLike[str]) -> None:
    """Draw ``alignment`` into a file; its suffix says the format, such as .png, .pdf or .svg.

    Raises InputError without matplotlib or for an unknown format, and FormatError for a file that
    cannot be written.
    """
    figure, path = draw(alignment), os.fspath(path)
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise FormatError(f"{path}: cannot be written: {error.strerror or error}") from None
    except ValueError as error:
        raise InputError(f"{path}: no picture of this format ({error})") from None
