"""The resources that a checkpoint stores: the defaults of a resumed run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..drivers.options import AlignResources, ResumeResources
from ..planning.plan import Plan


@dataclass(frozen=True)
class Wishes:
    """The resources that a checkpoint stores.

    Device objects and callbacks cannot be stored.  Each run gives its own ``stop_after``."""

    #: Are cells pruned?
    prune: bool
    #: The diagonal band (`AlignResources.band_cost`): "auto", a number, or None.
    max_cost: str | float | None
    #: The device's name; "auto" if it was given as an object.
    device: str
    #: The plan's fields that were given.
    plan: dict[str, Any] | None
    #: Bytes that the folder may take.
    disk_size: int | None
    #: Do the gaps of the result go to the left?
    left_align: bool = False

    @classmethod
    def of(cls, resources: AlignResources, mode: str, left_align: bool = False) -> Wishes:
        """From the resources of a run in this mode."""
        device, plan = resources.device, resources.plan
        if isinstance(plan, Plan):
            plan = plan.overrides()
        if plan is not None:
            plan = {str(k): v if isinstance(v, str | float) else int(v) for k, v in plan.items()}
        cost = resources.band_cost(mode)
        return cls(
            prune=resources.prune,
            max_cost=cost if cost is None or isinstance(cost, str) else float(cost),
            device=device if isinstance(device, str) else "auto",
            plan=plan,
            disk_size=resources.disk_size,
            left_align=left_align,
        )

    def resumed(self, given: ResumeResources) -> AlignResources:
        """The resources of a resumed run: those ``given``, else the stored ones.

        A stored plan is not used on another device."""
        plan = self.plan if given.plan is None and given.device is None else given.plan
        return AlignResources(
            prune=self.prune,
            max_cost=self.max_cost,
            device=self.device if given.device is None else given.device,
            plan=plan,
            progress=given.progress,
            checkpoint=given.checkpoint,
            disk_size=given.disk_size or self.disk_size,
            stop_after=given.stop_after,
            kernel_times=given.kernel_times,
        )
