"""Edges that stream from one sweep to another, in another thread."""

from __future__ import annotations

import threading

from pysw_cl.errors import InternalError
from pysw_cl.tiles.edges import DeviceEdge, Edge, EdgeArray, Source


class EdgePipe(EdgeArray):
    """An edge that streams from one thread to another: ``read`` waits for its cells.

    ``close`` wakes a waiting reader, whose ``read`` raises the error that ``close`` was given."""

    read_h, h_at = Source.read_h, Source.h_at

    def __init__(self, length: int) -> None:
        super().__init__(length)
        self._done = 0
        self._error: BaseException | None = None
        self._changed = threading.Condition()

    def write(self, start: int, edge: Edge | DeviceEdge) -> None:
        """Take the next segment and wake the reader."""
        with self._changed:
            if start != self._done:
                raise InternalError(f"edge segment at {start} arrived out of order")
            super().write(start, edge)
            self._done = start + len(edge)
            self._changed.notify_all()

    def close(self, error: BaseException) -> None:
        """No more cells will come; readers that wait for some get ``error``."""
        with self._changed:
            self._error = error
            self._changed.notify_all()

    def ready(self, start: int, stop: int) -> bool:
        """Would ``read`` return these cells, or raise, without waiting?"""
        with self._changed:
            return self._done >= stop or self._error is not None

    def read(self, start: int, stop: int) -> Edge:
        """Cells ``start+1 .. stop``; waits for them, or raises the error given to ``close``."""
        with self._changed:
            self._changed.wait_for(lambda: self._done >= stop or self._error is not None)
            if self._done < stop:
                assert self._error is not None
                raise self._error
            return super().read(start, stop)
