"""The time of a run before it begins: its counts, multiplied with the times of a profile; and why
its plan is what it is: what would be second best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf

from ..memory import NO_ENDS, device_memory, too_large
from ..plan import Plan, StriplessPlan
from ..profiles.profile import Profile
from ..program import Given
from .runs import Work, sweep_of, swept_again
from .several import Cluster, together
from .times import CUT, Machine

#: A prediction is mostly off by at most this share where nobody measured the device.
UNSURE = 1.0
#: No tile is cut into sections, and none is computed row by row; and: all that may be cut is.
NO_SECTIONS = {"sections.least_cells": 1 << 62}
ALL_SECTIONS = {
    "sections.most_cost": 1000.0,
    "sections.most_cost_beside_pruning": 1000.0,
    "sections.least_cells": 1,
}
#: What the ways are, in words.
WAYS = {
    "strips": "strips that follow each other",
    "sections": "sections side by side",
    "rows": "row by row",
    "held": "the matrix is held whole",
}


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
    #: Devices that are alike, and the seconds of one over theirs together.
    devices: int = 1
    efficiency: float = 1.0
    #: Seconds of their sweep by what they go to (`.several.together`, or of machines
    #: `.several.Cluster.shares`); empty if one computes it.
    shares: Mapping[str, float] = field(default_factory=dict)

    @property
    def limit(self) -> str:
        """What takes several devices most of the time beside cells; "size": only one computes."""
        others = {**self.parts, **self.shares, "cells": 0.0, "sweep": 0.0}
        return max(others, key=others.__getitem__) if self.shares else "size"

    @property
    def cells(self) -> int:
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


@dataclass(frozen=True)
class Foreseen:
    """What the letters of two sequences change."""

    #: Time of the sweeps on the device, as a share of that of one sweep of all cells.
    share: float = 1.0
    #: Strands that are swept: how often the host begins one.
    sweeps: int = 1
    #: The rows and columns that a path leads through; None: no path is wanted.
    path: tuple[float, float] | None = None
    #: Nine of ten times are off by at most so much more than those of the profile.
    unsure: float = 0.0


def predicted(
    given: Given,
    m: int,
    n: int,
    profile: Profile,
    source: str,
    foreseen: Foreseen,
    free_ends: tuple[bool, ...] = NO_ENDS,
    cluster: Cluster | None = None,
) -> Prediction:
    """The prediction for an m x n matrix.  ``cluster``: whose machines have such devices."""
    times, work = given.plan.machine, sweep_of(given, m, n)
    sweep, devices, extent = work.on_device.seconds(times), given.devices, foreseen.path
    shares = together(given, work, m, n)
    if cluster is not None:
        devices, shares = cluster.devices, cluster.shares(given, work, m, n)
        if shares:
            work.counts["call", "edge"] = 0  # those of the tiles are among the shares
    path = Work() if extent is None else Work([], swept_again(given, m, n, extent))
    parts = {
        "sweep": foreseen.share * (sum(shares.values()) or sweep),
        "host": foreseen.sweeps * (work.seconds(times) - sweep),
        "path": path.seconds(times),
    }
    seconds = sum(parts.values())
    # nine of ten runs are off by at most so much, up or down, as a share of what is predicted
    spread = (1 + (profile.spread if profile.times else UNSURE)) * (1 + foreseen.unsure)
    memory, widest = device_memory(given, m, n, free_ends), work.widest
    return Prediction(
        shape=(m, n),
        seconds=seconds,
        interval=(seconds / spread, seconds * spread),
        parts=parts,
        first_use=first_use(work, times),
        gcups_limit=limit(given, work) * (devices if shares else 1),
        memory=memory.total,
        too_large=too_large(memory, given.device),
        way="held" if widest is None else widest.way,
        plan=given.plan if widest is None else widest.plan,
        source=source,
        devices=devices,
        shares={name: foreseen.share * some for name, some in shares.items()},
    )


def first_use(work: Work, times: Machine) -> float:
    """Seconds to build the kernels of a run."""
    subjects = {one.subject for one in work.strips} or {"held"}
    return sum(times.of(f"build/{subject}").get("build", 0.0) for subject in subjects)


def limit(given: Given, work: Work) -> float:
    """10^9 cells a second of a matrix without end, by the lanes of a run."""
    machine, widest = given.plan.machine, work.widest
    if widest is None:
        cell = machine.of("held").get("cell", 0.0)
        return 1e-9 / cell if cell else 0.0
    own, pace = widest.plan, machine.pace(widest.subject)
    alphas, B = {own.alpha, *given.plan.alphas}, given.plan.B
    if widest.way == "rows":
        alphas, B = {own.alpha}, (given.row_scan or given.plan).B
    share, busy = machine.share(B), machine.busy(B, B)
    columns = {alpha: pace.line(alpha, share).pace(busy, own.chunk) for alpha in alphas}
    return max(1e-9 * B * own.T * alpha / float(seconds) for alpha, seconds in columns.items())


@dataclass(frozen=True)
class Alternative:
    """One way to compute a matrix."""

    #: "strips", "sections" or "rows".
    way: str
    #: Rows of a lane; of the row scan: columns.
    alpha: int
    #: Seconds of a call.
    seconds: float

    def __str__(self) -> str:
        return f"{self.way} with alpha {self.alpha}: {in_words(self.seconds)}"


@dataclass(frozen=True)
class Choice:
    """What computes a matrix, and why."""

    prediction: Prediction
    #: The scores' width in bits and their file, for example "8 bits, match".
    lanes: str
    #: All ways that the model knows, the soonest first.
    alternatives: tuple[Alternative, ...]
    #: Other devices that could have been chosen, with the seconds expected there.
    devices: Mapping[str, float] = field(default_factory=dict)

    @property
    def second(self) -> Alternative | None:
        """The soonest way that is not the chosen one."""
        chosen = self.prediction.way, self.prediction.plan.alpha
        return next((one for one in self.alternatives if (one.way, one.alpha) != chosen), None)

    def __repr__(self) -> str:
        return f"<Choice for {self.prediction}; {self.prediction.plan}>"

    def __str__(self) -> str:
        best, plan = self.prediction, self.prediction.plan
        low, high = (in_words(one) for one in best.interval)
        slower = (f"{in_words(s) if s < inf else 'fails'} on {n}" for n, s in self.devices.items())
        lines = [
            ("matrix", f"{best.shape[0]:,} x {best.shape[1]:,}"),
            ("device", "; ".join([plan.device or "any", *slower])),
            ("engine", f"{plan.engine}, {WAYS[best.way]}"),
            ("lanes", f"{plan.lanes}, {self.lanes}"),
            ("plan", f"{plan.form}, B={plan.B} T={plan.T} alpha={plan.alpha} chunk={plan.chunk}"),
            ("time", f"{in_words(best.seconds)} ({low} to {high})"),
            ("first use", f"{in_words(best.first_use)} more" if best.first_use else "unknown"),
            ("profile", best.source),
            ("second best", str(self.second) if self.second else "nothing else computes it"),
        ]
        return "\n".join(f"{name + ':':<13}{text}" for name, text in lines)


def choice_of(given: Given, prediction: Prediction) -> Choice:
    """The choice that a prediction is of, and the other ways for the whole matrix."""
    (m, n), plan, scan = prediction.shape, given.plan, given.row_scan
    times, alone = plan.machine, replace(given, row_scan=None, holds=False)
    others: dict[tuple[str, int], Given] = {}
    if not isinstance(plan, StriplessPlan):
        whole, cut = (plan.tuning.with_values(some) for some in (NO_SECTIONS, ALL_SECTIONS))
        for alpha in plan.alphas:
            strips = replace(plan.soonest((alpha,), m, n), alpha_fixed=True, tuning=whole)
            others["strips", alpha] = replace(alone, plan=strips)
            if given.local:
                fixed = replace(plan, alpha=alpha, alpha_fixed=True, tuning=cut)
                others[CUT, alpha] = replace(alone, plan=fixed)
        if scan is not None and f"{scan.engine}/{scan.lanes}" in scan.machine.by_subject:
            others["rows", scan.alpha] = replace(given, plan=scan, holds=False)
    found = dict[tuple[str, int], float]()
    for way, other in others.items():
        work = sweep_of(other, m, n)
        if way[0] != CUT or any(one.way == CUT for one in work.strips):
            found[way] = work.seconds(times)
    chosen = prediction.way, prediction.plan.alpha
    found[chosen] = prediction.parts["sweep"] + prediction.parts["host"]
    every = [Alternative(*way, found[way]) for way in sorted(found, key=found.__getitem__)]
    widest = sweep_of(replace(given, holds=False), m, n).widest
    parts = widest.subject.split("/") if widest else []
    lanes = f"{parts[4]} bits, scores by {parts[2]}" if len(parts) > 4 else "32 bits"
    return Choice(prediction, lanes, tuple(every))
