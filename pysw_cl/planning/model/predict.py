"""The time of a run before it begins: its counts, multiplied with the times of a profile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..plan import Plan
from ..profiles.profile import Profile
from .counts import STRIP_ROW, Strips, Work
from .runs import Setting, sweep_of
from .times import Times

#: A prediction is this far off at most, mostly, where the profile is of another device.
UNSURE = 1.0


@dataclass(frozen=True)
class Prediction:
    """How long a comparison will take, and what for."""

    #: Rows and columns.
    shape: tuple[int, int]
    #: Seconds of a call, once its kernels are built.
    seconds: float
    #: The least and the most that nine of ten such calls take.
    interval: tuple[float, float]
    #: Seconds by part: "sweep", "host", "path".
    parts: Mapping[str, float]
    #: Seconds that the first such call of a device takes on top of it, to build kernels.
    first_use: float
    #: Cells computed a second, in 10^9, that no size exceeds: the reciprocal of the time of a cell.
    gcups_limit: float
    #: Bytes of device memory.
    memory: int
    #: Why the device cannot hold it, in words; None: it can.
    too_large: str | None
    #: What computes it, in words: "strips", "sections", "rows" or "held".
    way: str
    #: The plan of its largest tile.
    plan: Plan
    #: The profile that it is from, in words.
    source: str

    @property
    def cells(self) -> int:
        """Cells of the matrix."""
        return self.shape[0] * self.shape[1]

    @property
    def gcups(self) -> float:
        """10^9 cells of the matrix a second; above the limit where many of them are pruned."""
        return self.cells / self.seconds / 1e9

    def __repr__(self) -> str:
        return f"<Prediction {self}>"

    def __str__(self) -> str:
        low, high = (in_words(one) for one in self.interval)
        pruned = " without pruning" if self.gcups > self.gcups_limit else ""
        return (
            f"{self.shape[0]:,} x {self.shape[1]:,}: {in_words(self.seconds)} ({low} to {high}), "
            f"{self.gcups:,.1f} GCUPS of at most {self.gcups_limit:,.1f}{pruned}, "
            f"{self.memory / 2**20:,.1f} MiB"
        )


def in_words(seconds: float) -> str:
    """A time as people say it: "1.2 ms", "3.4 s", "5 min 06 s", "2 h 03 min"."""
    if seconds < 1:
        return f"{seconds * 1e3:.3g} ms"
    if seconds < 60:
        return f"{seconds:.3g} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600:,} h {whole % 3600 // 60:02} min"


def swept(work: Work, times: Times) -> tuple[float, float]:
    """Seconds of the sweep on the device, and of the host."""
    device = times.seconds(Work(list(work.strips)))
    device += sum(
        count * times.of(subject).get(name, 0.0)
        for (subject, name), count in work.counts.items()
        if subject == "held" or name == STRIP_ROW
    )
    return device, times.seconds(work) - device


def predicted(
    setting: Setting,
    m: int,
    n: int,
    profile: Profile,
    source: str,
    *,
    path: float = 0.0,
    memory: int = 0,
    too_large: str | None = None,
    share: float = 1.0,
    sweeps: int = 1,
    unsure: float = 0.0,
) -> Prediction:
    """The prediction for an m x n matrix.

    ``path``: seconds of its traceback.  ``share``: what its sweep on the device takes, relative to
    one of all cells, because some are pruned.  ``sweeps``: how often the host begins one, for two
    strands; ``share`` is that of all of them.  ``unsure``: nine of ten times are off by at most so
    much more than those of the profile.
    """
    times, work = setting.plan.machine.times, sweep_of(setting, m, n)
    device, host = swept(work, times)
    device, host = share * device, sweeps * host
    seconds = device + host + path
    widest = max(work.strips, key=lambda one: one.columns * one.tiles, default=None)
    spread = (1 + spread_of(profile)) * (1 + unsure) - 1
    return Prediction(
        shape=(m, n),
        seconds=seconds,
        interval=(seconds / (1 + spread), seconds * (1 + spread)),
        parts={"sweep": device, "host": host, "path": path},
        first_use=first_use(work, times),
        gcups_limit=limit(setting, work, widest),
        memory=memory,
        too_large=too_large,
        way=_way(work, widest),
        plan=setting.plan if widest is None else _plan_of(setting, widest),
        source=source,
    )


def spread_of(profile: Profile) -> float:
    """Nine of ten runs are off by at most so much, up or down, as a share of what is predicted."""
    return profile.spread if profile.times else UNSURE


def first_use(work: Work, times: Times) -> float:
    """Seconds to build the kernels of a run."""
    subjects = {one.subject for one in work.strips} or {"held"}
    return sum(times.of(f"build/{subject}").get("build", 0.0) for subject in subjects)


def limit(setting: Setting, work: Work, widest: Strips | None) -> float:
    """10^9 cells a second of a matrix without end, by the lanes of a run."""
    plan, times = setting.plan, setting.plan.machine.times
    if widest is None:
        cell = times.of("held").get("cell", 0.0)
        return 1e-9 / cell if cell else 0.0
    machine = plan.machine
    rows = widest.subject.startswith("rowscan")
    chosen = _plan_of(setting, widest)
    whole = setting.scan if rows and setting.scan is not None else plan
    chosen = replace(chosen, B=whole.B)
    groups = machine.share(chosen.B)
    best = 0.0
    for alpha in {widest.alpha} if rows else {widest.alpha, *plan.alphas}:
        line = times.pace(widest.timed).line(alpha, groups)
        pace = line.pace(machine.busy(chosen.B, chosen.B), widest.chunk)
        if pace > 0:
            best = max(best, chosen.B * chosen.T * alpha / pace / 1e9)
    return best


def _plan_of(setting: Setting, strips: Strips) -> Plan:
    """The plan of a tile."""
    plan = setting.plan
    if strips.subject.startswith("rowscan") and setting.scan is not None:
        return replace(setting.scan, B=strips.B)
    lanes = strips.subject.split("/")[1]
    if lanes != plan.lanes:
        profiled = plan.for_scores("matrix")
        plan = profiled if lanes == profiled.lanes else plan.without_narrow()
    return replace(plan, alpha=strips.alpha, chunk=strips.chunk, B=strips.B)


def _way(work: Work, widest: Strips | None) -> str:
    """What computes most of it."""
    if widest is None:
        return "held"
    if widest.subject.startswith("rowscan"):
        return "rows"
    return "sections" if work.counts["call", "section"] else "strips"
