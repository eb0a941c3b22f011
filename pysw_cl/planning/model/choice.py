"""Why a plan is what it is: what computes a matrix, and what would be second best."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import inf

from ..plan import StriplessPlan
from .predict import Prediction, in_words
from .runs import Setting, sweep_of

#: The way of tiles that are cut.
CUT = "sections"
#: No tile is cut into sections, and none is computed row by row.
NO_SECTIONS = {"sections.least_cells": 1 << 62}
#: All that may be cut is.
ALL_SECTIONS = {
    "sections.most_cost": 1000.0,
    "sections.most_cost_beside_pruning": 1000.0,
    "sections.least_cells": 1,
}


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

    #: What is chosen.
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
        others = (one for one in self.alternatives if (one.way, one.alpha) != chosen)
        return next(others, None)

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


#: What the ways are, in words.
WAYS = {
    "strips": "strips that follow each other",
    "sections": "sections side by side",
    "rows": "row by row",
    "held": "the matrix is held whole",
}


def choice_of(setting: Setting, prediction: Prediction) -> Choice:
    """The choice that a prediction is of."""
    m, n = prediction.shape
    times = setting.plan.machine.times
    works = {(way, alpha): sweep_of(other, m, n) for way, alpha, other in _others(setting, m, n)}
    found = {
        key: times.seconds(work)
        for key, work in works.items()
        if key[0] != CUT or work.counts["call", "section"]
    }
    chosen = prediction.way, prediction.plan.alpha
    found[chosen] = prediction.parts["sweep"] + prediction.parts["host"]
    every = [Alternative(*key, seconds) for key, seconds in found.items()]
    return Choice(prediction, _lanes(setting, m, n), tuple(sorted(every, key=lambda a: a.seconds)))


def _others(setting: Setting, m: int, n: int) -> Iterator[tuple[str, int, Setting]]:
    """Other ways for a whole matrix, each with its alpha."""
    plan = setting.plan
    if isinstance(plan, StriplessPlan):
        return
    for alpha in plan.alphas:
        fixed = replace(plan, alpha=alpha, alpha_fixed=True)
        tuning = fixed.tuning.with_values(NO_SECTIONS)
        _, B, chunk = plan.cost.soonest(plan, (alpha,), m, n)
        in_strips = replace(fixed, B=B, chunk=chunk, tuning=tuning)
        strips = replace(setting, plan=in_strips, scan=None, holds=False)
        yield "strips", alpha, strips
        tuning = fixed.tuning.with_values(ALL_SECTIONS)
        cut = replace(setting, plan=replace(fixed, tuning=tuning), scan=None, holds=False)
        if setting.local:
            yield CUT, alpha, cut
    scan = setting.scan
    if scan is not None and f"{scan.engine}/{scan.lanes}" in scan.machine.times.by_subject:
        yield "rows", scan.alpha, replace(setting, plan=scan, holds=False)


def _lanes(setting: Setting, m: int, n: int) -> str:
    """The width and the score file of most of a matrix, in words."""
    work = sweep_of(replace(setting, holds=False), m, n)
    parts = max(work.strips, key=lambda one: one.columns * one.tiles).subject.split("/")
    return f"{parts[4]} bits, scores by {parts[2]}" if len(parts) == 5 else "32 bits"
