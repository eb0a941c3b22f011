"""What becomes of work whose device fails: others do it, or the device itself once more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from ..errors import BuildError, DeviceError, DeviceMemoryError, RecomputedWarning, warn

T = TypeVar("T")
#: What is never released, because a driver would wait for a kernel that hangs.
HANGING: list[object] = []


class LostError(DeviceError):
    """A device that computes nothing any more, or whose memory cannot be read."""


@dataclass
class Failures:
    """What happened to an engine's devices."""

    #: The names of those that failed and were left out.
    failed: list[str] = field(default_factory=list)
    #: How often one that failed did its work again.
    retried: int = 0

    def move_to(self, stats: Any) -> None:
        """Tell a run's `Stats` what is counted so far, which is not counted again."""
        stats.failed, stats.retried = self.failed, self.retried
        self.failed, self.retried = [], 0


class Devices(Protocol):
    """An engine, as far as its devices may fail."""

    @property
    def failures(self) -> Failures:
        """What happened to them."""

    def leave_out(self, error: DeviceError) -> str | None:
        """Go on without the device that failed: its name; None: there is no other."""


def left_out(engine: Devices, error: DeviceError) -> bool:
    """Does an engine go on without the device that failed?  Then a warning says so."""
    name = engine.leave_out(error)
    if name is not None:
        engine.failures.failed.append(name)
        warn(f"{name} failed, others go on: {error}", RecomputedWarning)
    return name is not None


def persistently(
    engine: Devices, work: Callable[[], T], place: Callable[[], object] = lambda: None
) -> T:
    """What ``work()`` gives.  After a DeviceError it is called again, to go on at ``place()``: on
    the engine's other devices, without the one that failed, or else once at each place on the same
    one.  The last error is raised.  (A program that cannot be built fails again, as does too large
    a request for memory.)"""
    failed_at = list[object]()
    while True:
        try:
            return work()
        except BuildError:
            raise
        except DeviceError as error:
            here = place()
            if not left_out(engine, error):
                if isinstance(error, DeviceMemoryError | LostError) or here in failed_at:
                    raise
                engine.failures.retried += 1
                warn(f"a device failed, and does its work again: {error}", RecomputedWarning)
            failed_at = [here]
