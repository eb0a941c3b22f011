"""Pictures of an alignment: its path over the matrix, scores as a heat map, pruned areas; and what
each device computed when, a line of time for each.

It needs matplotlib (the extra ``plot``), which is imported when a picture is drawn."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import FileError, InputError, file_name, printable, shown
from ..tiles.tile import Span
from .aligned_pair import AlignedPair
from .formats.files import written
from .stats import Stats

#: The most points of a path; of more, those that are too close to be told apart are left out.
MOST_POINTS = 4096
#: The number of tiles along each side that `picture_plan` asks for.
TILES = 48
#: A new figure.
LOOK: dict[str, Any] = {"figsize": (8, 6.5), "layout": "constrained"}
#: The fewest cells of a tile, as starting one costs something, and the most, as plans cut it.
LEAST_TILE, MOST_TILE = 1 << 20, 1 << 33
#: The colours; and spans that are nearer to each other than this share of the time are joined.
COLOURS, NEAR = {"sweep": "C0", "path": "C1"}, 1 / 4000


def require() -> Any:
    """matplotlib's Figure; raises InputError where matplotlib is missing."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InputError(
            f"a picture needs matplotlib, which cannot be imported ({error}); the extra "
            '"plot" adds it, and so does: pip install matplotlib'
        ) from None
    return Figure


def picture_plan(plan: dict[str, Any] | None, m: int, n: int) -> dict[str, Any] | None:
    """The plan, with about `TILES` tiles along each side of m x n letters unless it says others."""
    cells = max(LEAST_TILE, m * n // TILES**2)
    if cells > MOST_TILE or (plan and "tile_cells" in plan):
        return plan
    return {**(plan or {}), "tile_cells": cells}


def path_points(alignment: AlignedPair, most: int = MOST_POINTS) -> NDArray[np.int64]:
    """The path as a line, from its start to its end along the target, through k points (int64, k x
    2: target, query) where the kind of move changes.  Of more than ``most`` there is one in each
    field that the path enters, of ``most // 2`` along each side of its box."""
    points = alignment.corners().T
    if len(points) > most:
        passed = abs(points - points[0])
        fields = passed * (most // 2) // np.maximum(passed[-1] + 1, 1)
        new = np.any(fields[1:] != fields[:-1], axis=1)
        new[-1] = True
        points = points[np.flatnonzero(np.append(True, new))]
    return points


def draw(alignment: AlignedPair, axes: Any = None) -> Any:
    """Draw on matplotlib's ``axes`` (None: those of a new Figure), and return their Figure: target
    from left to right, query from top to bottom, as in the matrix.

    The path is a line, or a dot where only its end is known.  Colours show the highest scores of
    the tiles, and grey the pruned areas."""
    axes = require()(**LOOK).add_subplot() if axes is None else axes
    figure, tiles = axes.figure, alignment.tiles
    if tiles is not None:
        scores = np.ma.masked_invalid(tiles.scores)
        if scores.count():
            mesh = axes.pcolormesh(tiles.columns, tiles.rows, scores, cmap="viridis")
            figure.colorbar(mesh, ax=axes, label="highest score in the tile")
        if tiles.pruned.any():
            grey = np.full((*tiles.pruned.shape, 4), 0.75)
            grey[..., 3] = tiles.pruned
            axes.pcolormesh(tiles.columns, tiles.rows, grey)
            cells = np.outer(np.diff(tiles.rows), np.diff(tiles.columns))
            share = np.average(tiles.pruned, weights=cells)
            axes.plot([], [], "s", color="0.75", label=f"pruned: {share:.1%} of the matrix")
        axes.set(xlim=tiles.columns[[0, -1]], ylim=tiles.rows[[-1, 0]])
    else:
        axes.yaxis.set_inverted(True)
    if alignment.runs is not None:
        axes.plot(*path_points(alignment).T, color="red", linewidth=1.5, label="path")
    elif alignment.target_end is not None:
        row = alignment.query_start if alignment.strand == "minus" else alignment.query_end
        axes.plot(alignment.target_end, row, "o", color="red", label="end")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=3, frameon=False)
    sides = (axes.xaxis, "target", alignment.target), (axes.yaxis, "query", alignment.query)
    for axis, name, sequence in sides:
        axis.set_label_text(printable(sequence.name).replace("$", r"\$") or name)
        axis.set_major_formatter("{x:,.0f}")
        axis.get_major_locator().set_params(integer=True)
    identity = "" if alignment.identity is None else f", identity {alignment.identity:.1%}"
    strand = ", minus strand" if alignment.strand == "minus" else ""
    axes.set_title(f"{alignment.mode}, score {alignment.score:,}{identity}{strand}")
    return figure


def joined(spans: Iterable[Span], near: float = 0.0) -> list[tuple[float, float]]:
    """Where spans begin and how long they are, in seconds, sorted; those that overlap, or are so
    ``near`` to each other, are one."""
    found: list[tuple[float, float]] = []
    for _, begin, end, *_ in sorted(spans, key=lambda span: span.begin):
        if found and begin <= sum(found[-1]) + near:
            begin, end = found[-1][0], max(end, sum(found.pop()))
        found.append((begin, end - begin))
    return found


def draw_timeline(stats: Stats, axes: Any = None) -> Any:
    """Draw the ``spans`` of a run on matplotlib's ``axes`` (None: those of a new Figure), and
    return their Figure.  Raises InputError without spans."""
    if not stats.spans:
        raise InputError("no time line: nothing was computed, or not with timeline=True")
    names = sorted({span.device for span in stats.spans}, key=lambda name: (len(name), name))
    size = 9, 1.6 + 0.5 * len(names)
    axes = axes or require()(figsize=size, layout="constrained").add_subplot()
    seconds = max(stats.seconds, *(span.end for span in stats.spans))
    for line, name in enumerate(names):
        spans = [span for span in stats.spans if span.device == name]
        for what, colour in COLOURS.items():
            some = joined((span for span in spans if span.what == what), NEAR * seconds)
            label = "" if line else what
            axes.broken_barh(some, (line - 0.35, 0.7), facecolors=colour, label=label)
        busy = sum(length for _, length in joined(spans)) / seconds
        place = {"transform": axes.get_yaxis_transform(), "verticalalignment": "center"}
        axes.text(1.01, line, f"{busy:.1%} busy", **place)
    axes.set_yticks(range(len(names)), [name.replace("$", r"\$") for name in names])
    axes.set(xlim=(0, seconds), ylim=(len(names) - 0.5, -0.5), xlabel="seconds")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
    return axes.figure


def drawn(draw: Callable[[Any], Any], path: str | os.PathLike[str] | None, ax: Any) -> Any:
    """What ``draw`` draws on axes, or with None on a new Figure, which it returns: into a file, on
    the axes ``ax``, or, without either, on a new figure for notebooks.  Returns the axes."""
    require()
    path = None if path is None else file_name(path, "path")
    if ax is not None and not hasattr(ax, "pcolormesh"):
        raise InputError(f"ax must be axes of matplotlib, not {shown(ax)}")
    if ax is None and path is None:
        from matplotlib import pyplot

        ax = pyplot.figure(**LOOK).add_subplot()
    figure = draw(ax)
    if path is not None:
        save(figure, path)
    return ax


def check(path: str | os.PathLike[str]) -> None:
    """Raise what `save` would raise for this path: InputError without matplotlib or for an unknown
    format, and FormatError where there is no such folder."""
    formats = require()().canvas.get_supported_filetypes()
    if Path(path).suffix[1:].lower() not in ("", *formats):
        raise InputError(f"{path}: no picture of this format (there are {', '.join(formats)})")
    try:
        Path(path).parent.resolve(strict=True)
    except OSError as error:
        raise FileError.of(error, str(path), "written") from None


def save(figure: Any, path: str | os.PathLike[str]) -> None:
    """Write a matplotlib Figure into a file, whose suffix decides the format."""
    place = Path(path if Path(path).suffix else f"{path}.png")
    with written(place, binary=True) as file:
        try:
            figure.savefig(file, format=place.suffix[1:], dpi=150)
        except ValueError as error:
            raise InputError(f"{path}: no picture of this format ({error})") from None
