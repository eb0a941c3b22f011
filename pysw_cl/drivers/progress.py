"""Progress callbacks of runs that are parts of a larger run."""

from __future__ import annotations

from collections.abc import Callable


def part_of(
    progress: Callable[[int, int], None] | None, part: int, parts: int
) -> Callable[[int, int], None] | None:
    """The callback for part number ``part`` (from 0) of a run of ``parts`` equal parts."""
    if progress is None or parts == 1:
        return progress
    return lambda done, total: progress(part * total + done, parts * total)


def rising(progress: Callable[[int, int], None]) -> Callable[[int, int], None]:
    """``progress`` with a share of the total that never falls, whatever the sweeps report."""
    most, of = 0, 1

    def tell(done: int, total: int) -> None:
        nonlocal most, of
        if done * of < most * total:
            done = -(-most * total // of)
        else:
            most, of = done, total
        progress(done, total)

    return tell
