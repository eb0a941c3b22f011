"""A picture of what each device computed when: a line of time for each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..errors import InputError
from ..tiles.tile import Span
from .plot import require
from .stats import Stats

#: The colours; and spans that are nearer to each other than this share of the time are joined.
COLOURS, NEAR = {"sweep": "C0", "path": "C1"}, 1 / 4000


def joined(spans: Iterable[Span], near: float = 0.0) -> list[tuple[float, float]]:
    """Where spans begin and how long they are, in seconds, sorted; those that overlap, or are so
    ``near`` to each other, are one."""
    found: list[tuple[float, float]] = []
    for _, begin, end, *_ in sorted(spans, key=lambda span: span.begin):
        if found and begin <= sum(found[-1]) + near:
            begin, end = found[-1][0], max(end, sum(found.pop()))
        found.append((begin, end - begin))
    return found


def draw(stats: Stats, axes: Any = None) -> Any:
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
