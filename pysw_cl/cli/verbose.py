"""What ``--verbose`` tells on standard error: device and plan, and what a run cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..planning.plan import Plan
    from ..results.stats import Stats


class Report:
    """Tells it with ``say``; without ``say`` it is silent."""

    def __init__(self, say: Callable[[str], None] | None) -> None:
        self._say, self._pairs = say, 0
        self._stats: Stats | None = None

    def begin(self, device: Any, plan: Plan) -> None:
        """Tell the device, by what the command line calls it, and the plan."""
        if self._say is None:
            return
        if plan.device:
            from ..opencl.device import get_runtime

            self._say(f"device: {get_runtime(device).info}")
        self._say(f"plan: {plan}")

    def add(self, stats: Stats, pairs: int) -> None:
        """So many more pairs are done, at this cost."""
        self._pairs += pairs
        if self._say is not None:
            self._stats = stats if self._stats is None else self._stats.plus(stats)

    def add_all(self, costs: Iterable[Stats]) -> None:
        """One more pair is done, at these costs."""
        self._pairs += 1
        for stats in costs:
            self.add(stats, 0)

    def end(self) -> None:
        """Tell what all of them cost."""
        if self._say is not None and self._stats is not None:
            pairs = "1 pair" if self._pairs == 1 else f"{self._pairs:,} pairs"
            self._say(f"{pairs}: {self._stats}")
