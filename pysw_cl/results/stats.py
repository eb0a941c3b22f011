"""What a run costs."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..tiles.tile import Costs, Span


@dataclass
class Stats(Costs):
    """What a run cost.  ``again``: cells of blocks, and of pairs in batches, that outgrew their
    lanes and were computed again in wider ones; ``cells`` has those of pairs in both."""

    #: Computed cells by lane set ("engine/lanes/bits"); those computed again for the path count.
    cells: dict[str, int] = field(default_factory=dict)
    launches: int = 0
    #: Wall time.
    seconds: float = 0.0
    #: The most device memory in use at once.
    device_bytes: int = 0
    #: Cells skipped because no best path could run through them.
    pruned: int = 0
    #: Paths that failed their check and were computed again (`RecomputedWarning`).
    recomputed: int = 0
    #: Seconds on the device by kernel; empty unless ``kernel_times`` asks for them.  Kernels of
    #: several queues run at once, so their sum may exceed ``seconds``.  Earlier runs of a
    #: checkpoint are not counted.
    kernel_seconds: dict[str, float] = field(default_factory=dict)
    #: What each device computed when, in the order in which that was done; empty unless
    #: ``timeline`` asks for it.  Earlier runs of a checkpoint are not counted.
    spans: list[Span] = field(default_factory=list)
    #: Devices that failed while others did their work (`RecomputedWarning`).
    failed: list[str] = field(default_factory=list)
    #: How often a device that failed did its work again (`RecomputedWarning`).
    retried: int = 0
    #: Letters of the targets of each query of a search with a prefilter, and those it left out.
    prefiltered: int = 0
    left_out: int = 0

    def add(self, other: Stats) -> None:
        """Add the cost of a run that came after."""
        self.add_cost(other)
        for name, time in other.kernel_seconds.items():
            self.kernel_seconds[name] = self.kernel_seconds.get(name, 0.0) + time
        self.device_bytes = max(self.device_bytes, other.device_bytes)
        for name in "seconds pruned recomputed failed retried prefiltered left_out spans".split():
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def plus(self, other: Stats) -> Stats:
        """The cost of two runs, one after the other."""
        total = Stats()
        for one in (self, other):
            total.add(one)
        return total

    @property
    def total_cells(self) -> int:
        """All cells computed."""
        return sum(self.cells.values())

    @property
    def gcups(self) -> float:
        """Computed cells per second, in units of 10**9; 0 without a time."""
        return self.total_cells / self.seconds / 1e9 if self.seconds > 0 else 0.0

    def __str__(self) -> str:
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in self.cells.items()) or "none"
        times = ", ".join(f"{name} {time:.3f} s" for name, time in self.kernel_seconds.items())
        left_out = self.left_out / max(1, self.prefiltered)
        parts = (
            (True, f"{self.seconds:.3f} s, {self.gcups:.2f} GCUPS"),
            (True, f"{self.total_cells:,} cells ({kinds})"),
            (True, f"{self.launches:,} launches"),
            (self.pruned, f"{self.pruned:,} cells pruned"),
            (self.again, f"{self.again:,} cells computed again in wider lanes"),
            (self.recomputed, f"{self.recomputed:,} computed again after a failed check"),
            (self.failed, f"without {', '.join(self.failed)}, which failed"),
            (self.retried, f"{self.retried:,} times done again after a device failed"),
            (self.prefiltered, f"{left_out:.1%} of the letters left out"),
            (self.device_bytes, f"{self.device_bytes / 2**20:.1f} MiB on the device"),
            (times, f"kernels: {times}"),
        )
        return "; ".join(text for is_said, text in parts if is_said)
