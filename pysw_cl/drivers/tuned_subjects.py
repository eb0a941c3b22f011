"""What is tuned on a device: its subjects, the values that are tried of each, and where they begin.

A subject is an engine and its lanes, as in a profile (docs/dev/profiles.md).  Values are pruned by
what the device says of itself: compute units, the largest group, local memory, and whether its
compiler takes a limit of registers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from ..engines.registry import plan_on
from ..errors import PlanError
from ..opencl.device import Runtime
from ..planning.parameters import Number
from ..planning.plan import Plan
from ..planning.profiles.profile import Numbers
from ..planning.tuning.strategies import Space, Values

#: Multiples of what a search starts with: groups for each compute unit where a group is a thread,
#: and where many share a unit; rows of a lane; columns of a block, and of a lane of the row scan;
#: and lanes of a strip, where the lane set has several.
THREADS, SHARED = (0.5, 1, 2), (0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 3)
ALPHAS, COLUMNS, LANES = (0.5, 0.75, 1, 1.25, 1.5), (0.25, 0.5, 1, 2, 4), (0.5, 1, 2)
#: The most registers of a work-item; the last is no limit on any device that has the option.
REGISTERS = (64, 80, 96, 112, 128, 144, 168, 192, 255)
#: The least columns of a block.
LEAST_CHUNK = 16
#: Bytes of local memory for each column of a block that is held there.
COLUMN_BYTES = 8
#: No tile is cut into sections: strips and segments are timed themselves.
WHOLE = {"sections.least_cells": 1 << 62}
#: Rows of a tile of the row scan: it is chosen for short queries.
SCAN_ROWS = 256
#: The least sides of a tile.
LEAST_SIDE = 1024


@dataclass(frozen=True)
class Subject:
    """One engine with its lanes on one device."""

    #: As in a profile.
    name: str
    #: The plan that jobs have now.
    plan: Plan
    runtime: Runtime
    #: Its share of the time, in proportion to the others'.
    weight: float
    _runtimes: dict[int, Runtime] = field(default_factory=dict, repr=False, compare=False)

    @property
    def by_rows(self) -> bool:
        """Are tiles computed row by row, so that alpha is columns, and blocks mean nothing?"""
        return self.plan.pipeline_lag == 0

    @cached_property
    def start(self) -> Values:
        """The values of the plan that jobs have now."""
        plan, lanes = self.plan, self.plan.lane_set
        groups = _plain(plan.B / self.runtime.info.compute_units)
        values: dict[str, Number] = {"groups": groups, "alpha": plan.alpha}
        if self.by_rows:
            return values
        values["chunk"] = plan.chunk
        if len(lanes.T) > 1 and not lanes.of_warps:
            values["T"] = plan.T
        if self.runtime.traits.register_option:  # all kernels share the limit: one subject seeks it
            values["registers"] = int(self._build.get("registers", REGISTERS[-1]))
        return values

    def space(self, m: int = 0, n: int = 0) -> Space:
        """What is searched, with tiles of m x n cells if these are given: groups that one does not
        fill are no slower than those that it does."""
        start, lanes, units = self.start, self.plan.lane_set, self.runtime.info.compute_units
        in_local = not self.by_rows and lanes.of_warps and lanes.narrow is not None
        most = int(self.runtime.device.local_mem_size) // COLUMN_BYTES if in_local else 1 << 24
        groups = {
            _plain(max(1, round(share * start["groups"] * units)) / units)
            for share in (THREADS if lanes.per_item is None else SHARED)
        }
        # narrow lanes with a query profile in bytes have no more rows than that holds
        rows = (COLUMNS, 1024) if self.by_rows else (ALPHAS, lanes.scores.profile_rows or 64)
        candidates = {"groups": groups, "alpha": _multiples(start["alpha"], rows[0], 1, rows[1])}
        if "chunk" in start:
            candidates["chunk"] = _multiples(start["chunk"], COLUMNS, LEAST_CHUNK, most)
        if "T" in start:
            candidates["T"] = _multiples(start["T"], LANES, 1, 1024) & set(lanes.T)
        if "registers" in start:
            candidates["registers"] = set(REGISTERS)
        building = {"alpha", "T", "registers"} | ({"chunk"} if in_local else set())
        space = Space(candidates, start, building, self._possible)
        chosen = self.by_rows and len(self.plan.groups) > 1  # tile by tile
        return space.keeping("groups") if chosen or (m and not self.fills(m, n)) else space

    def _possible(self, values: Values) -> bool:
        """Can the device run these values?"""
        try:
            self.setup(values)[1].check_on(self.runtime.facts)
        except PlanError:
            return False
        return True

    def setup(self, values: Values) -> tuple[Runtime, Plan]:
        """The device and the plan that values mean."""
        given: dict[str, Any] = {
            name: int(values[name]) for name in ("alpha", "chunk", "T") if name in values
        }
        blocks = max(1, round(values["groups"] * self.runtime.info.compute_units))
        tuning = self.plan.tuning.with_values(WHOLE)
        plan = replace(self.plan, B=blocks, alpha_fixed=True, tuning=tuning, **given)
        registers = int(values.get("registers", 0))
        if registers in (0, self.start.get("registers")):
            return self.runtime, plan
        if registers not in self._runtimes:
            profile, _ = self.runtime.profile()
            limited = {**profile.parameters, "build": {**self._build, "registers": registers}}
            self._runtimes[registers] = self.runtime.having(replace(profile, parameters=limited))
        return self._runtimes[registers], plan

    def sizes(self) -> Iterator[tuple[int, int]]:
        """Rows and columns of tiles, each twice as large as the one before."""
        m, n = (SCAN_ROWS, LEAST_SIDE) if self.by_rows else (self._least[0], LEAST_SIDE)
        while True:
            yield m, n
            if self.by_rows or n <= m:
                n *= 2
            else:
                m *= 2

    @property
    def _least(self) -> tuple[int, int]:
        """The least tile that fills the device: two strips for every group, and so many columns
        that the last group begins before the first one ends."""
        if self.by_rows:
            return SCAN_ROWS, 2 * self.plan.B * self.plan.T * self.plan.alpha
        return max(LEAST_SIDE, 2 * self.plan.device_rows), self.plan.pipeline_lag

    def fills(self, m: int, n: int) -> bool:
        """Does a tile of this size fill the device?"""
        return m >= self._least[0] and n >= self._least[1]

    def cost(self, m: int, n: int) -> float:
        """What a tile takes, by the model: ratios of its times are known of any device."""
        return self.plan.tile_cost(m, n)

    def parameters(self, values: Values) -> dict[str, dict[str, float]]:
        """What a profile says where these values are its choice."""
        own = {name: value for name, value in values.items() if name != "registers"}
        found: dict[str, dict[str, float]] = {self.name: own}
        if values.get("registers") != self.start.get("registers"):
            found["build"] = {**self._build, "registers": int(values["registers"])}
        return found

    @property
    def _build(self) -> Numbers:
        """The device's limits of registers: of most kernels, and of others by their names."""
        return self.runtime.profile()[0].parameters.get("build", {})


def subjects_of(runtime: Runtime) -> dict[str, Subject]:
    """What can be tuned on a device, by name.  The weight of what jobs do not use is 0: it is
    tuned only where it is asked for."""
    found = {}
    for wishes, weight in ((None, 4), ({"engine": "rowscan"}, 1)):
        plan = plan_on(runtime, wishes)
        name = f"{plan.engine}/{plan.lanes}"
        used = wishes is None or name in plan.machine.by_subject
        found[name] = Subject(name, plan, runtime, weight if used else 0)
    return found


def _multiples(start: Number, shares: Iterable[float], least: int, most: int) -> set[Number]:
    """Rounded multiples of a value, within limits."""
    return {min(most, max(least, round(share * start))) for share in shares}


def _plain(value: float) -> Number:
    """A whole number as such."""
    return int(value) if value == int(value) else value
