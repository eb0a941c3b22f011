"""A tile's place in a pipeline of tiles below each other, and what these share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...opencl.buffers import Buffers
from ...planning.geometry import Grid
from ...sequences.view import Codes


class Begun(Protocol):
    """A tile that was begun."""

    #: How it is cut into strips.
    grid: Grid

    @property
    def progress(self) -> Any:
        """The buffer of the columns that each strip has published."""


@dataclass(frozen=True)
class PipelineMemory:
    """Memory that the tiles of a pipeline share (:mod:`pysw_cl.engines.wavefront.pipeline`)."""

    #: Owns all of it.
    buffers: Buffers
    #: The horizontal bus.
    bus: Any
    #: The best score so far.
    best: Any
    #: One ticket counter for each tile, each ``ticket_bytes`` apart.
    tickets: Any
    ticket_bytes: int
    #: The target's letters, by name; empty until the first tile sends them.
    letters: dict[str, Any]


@dataclass(frozen=True)
class Link:
    """A tile's place in a pipeline of tiles below each other."""

    shared: PipelineMemory
    #: The buffer of this tile's ticket counter.
    ticket: Any
    #: The tile above, which may still be running; None: the tile's top edge is given.
    above: Begun | None
    #: Strips in the tiles above.
    first_strip: int
    #: The lines of the bus that its first strip reads and its last one writes.
    top_line: int
    bottom_line: int

    def buffers(self, target: Callable[[], dict[str, Codes]]) -> dict[str, Any]:
        """The buffers that the tile does not have of its own, by name.  ``target`` makes the
        letters."""
        shared = self.shared
        if not shared.letters:
            shared.letters.update(shared.buffers.several(target()))
        return {"bus": shared.bus, "best": shared.best, "ticket": self.ticket, **shared.letters}

    def lines(self, strips: int) -> NDArray[np.int32]:
        """The line of the bus that each strip reads, and last the line that the last strip writes.
        Strips alternate between lines 0 and 1 through the whole pipeline, but the row between two
        tiles has a line of its own."""
        lines = (np.arange(strips + 1) + self.first_strip).astype(np.int32) & 1
        lines[0], lines[strips] = self.top_line, self.bottom_line
        return lines
