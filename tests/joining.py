"""Paths that wait for parts that other devices trace, so that they meet though they are short."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any

from pysw_cl.drivers.problem import Path, PathReader

Joining = Callable[[Future[Any], PathReader], Callable[[Path], None]]


def waiting(joining: Joining, joined: list[int]) -> Joining:
    """As `parallel_traceback._joining`, once the part in front is done.  ``joined`` gets the moves
    of each part that a path was joined to."""

    def of_front(front: Future[Any], reader: PathReader) -> Callable[[Path], None]:
        join = joining(front, reader)

        def waited(path: Path) -> None:
            wait([front])
            before = len(path.moves)
            join(path)
            if len(path.moves) > before:
                joined.append(sum(map(len, path.moves[before:])))

        return waited

    return of_front
