"""One pair on several devices that are alike: large matrices are computed by all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from ..opencl.device import Runtime
from ..planning.choose import choose_pipeline, in_strips, pipeline_rows
from ..planning.plan import Plan
from ..planning.program import Given
from ..tiles.contract import Engine, Executor
from ..tiles.executors import InThreads
from ..tiles.graph import Rectangle
from ..tiles.tile import TileJob
from .wavefront.engine import WavefrontEngine
from .wavefront.relay import Relay
from .wavefront.tile import given_of, shape_of


class SeveralEngine(WavefrontEngine):
    """Computes pipelines, or the tiles of sweeps, on all ``runtimes``, and paths on the first."""

    def __init__(
        self,
        runtimes: Sequence[Runtime],
        plan: Plan,
        holds: bool = False,
        row_scan: Callable[[Runtime], Engine] | None = None,
    ) -> None:
        super().__init__(runtimes[0], plan, holds, row_scan)
        self._runtimes, self.devices = runtimes, len(runtimes)
        self._others = [WavefrontEngine(one, plan, holds, row_scan) for one in runtimes[1:]]
        self.names = tuple(f"{plan.device}, {k + 1} of {self.devices}" for k in range(self.devices))

    def executor(self, whole: Rectangle) -> Executor | None:
        """On devices whose tiles do not follow each other: CPUs."""
        m, n = whole.shape
        if self._speculative or m * n < self.plan.tuning.sweep.spread_cells:
            return None
        for other, name in zip(self._others, self.names[1:], strict=True):
            other.spans, other.stage, other.names = self.spans, self.stage, (name,)
        return InThreads([self, *self._others])

    @cached_property
    def _joint(self) -> Plan:
        """The plan for all devices, as if they were one with as many groups and schedulers."""
        machine, count = self.plan.machine, len(self._runtimes)
        return replace(
            self.plan, B=count * self.plan.B, machine=machine.on(count * machine.schedulers)
        )

    def piped_rows(self, whole: Rectangle, rows: int) -> tuple[int, int] | None:
        if not self._speculative:
            return None
        given = replace(self._given(whole), plan=self._joint)
        return pipeline_rows(given, rows, whole.shape[1])

    def pipeline(self, job: TileJob, rows_below: int) -> Any:
        shape, given = shape_of(job), given_of(self.runtime, self._joint, job)
        joint = choose_pipeline(shape, rows_below, given)
        if joint is None:
            return None
        count = len(self._runtimes)
        plan = replace(joint.plan, B=max(1, joint.plan.B // count), machine=self.plan.machine)
        each = [Given(self.plan, given.scoring, given.local, one.facts) for one in self._runtimes]
        chosen = [in_strips(plan, joint.program.score, shape, one, linked=True) for one in each]
        return Relay(self._runtimes, chosen, each, job, self.note_memory)
