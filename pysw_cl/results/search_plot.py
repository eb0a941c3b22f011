"""A picture of a search: the hits as bars along their query, as in BLAST's graphic summary."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import Any

from .formats.pair import cut
from .plot import drawn, require

#: The most hits of a query, the most queries, and the most characters of a name that are shown.
MOST, MOST_QUERIES, NAME = 50, 8, 30


def plot(found: Sequence[Any], path: str | os.PathLike[str] | None = None, ax: Any = None) -> Any:
    """Draw the `Hits` of the first queries; ``path`` and ``ax`` are as in `Alignment.plot`, ``ax``
    for one query.  Raises InputError for hits without a path, and as that does."""
    return drawn(partial(_draw, found[:MOST_QUERIES]), path, ax)


def _draw(found: Sequence[Any], axes: Any = None) -> Any:
    """A line for each subject, with a bar for each hit, along its query letters."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    each = [axes]
    if axes is None:
        heights = [1 + 0.2 * max(2, min(MOST, len(hits))) for hits in found]
        figure = require()(figsize=(8, sum(heights)), layout="constrained")
        each = figure.subplots(len(found), 1, squeeze=False, height_ratios=heights)[:, 0]
    for own, hits in zip(each, found, strict=True):
        some = [hit for hit in hits[:MOST] if len(hit.path)]
        scores = [hit.score for hit in some]
        colours: Any = ScalarMappable(Normalize(min([0, *scores]), max([1, *scores])), "viridis_r")
        numbers = dict.fromkeys(hit.number for hit in some)
        lines = [[*numbers].index(hit.number) for hit in some]
        starts = [hit.query_start for hit in some]
        sizes = [hit.query_end - hit.query_start for hit in some]
        own.barh(lines, sizes, left=starts, color=colours.to_rgba(scores))
        own.set_yticks(lines, [_name(hit.target.name, "target") for hit in some], fontsize="small")
        own.set(xlim=(0, len(hits.query)), ylim=(max(1, len(numbers)) - 0.4, -0.6))
        own.xaxis.set_major_formatter("{x:,.0f}")
        own.xaxis.get_major_locator().set_params(integer=True)
        own.figure.colorbar(colours, ax=own, label="score")
        words = f"{len(hits.query):,} letters, {len(some)} of {len(hits):,} hits"
        own.set_title(f"{_name(hits.query.name, 'query')}: {words}")
    return each[0].figure


def _name(name: str, default: str) -> str:
    return (cut(name, NAME) or default).replace("$", r"\$")
