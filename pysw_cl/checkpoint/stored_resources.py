"""The resources that a checkpoint stores: the defaults of a resumed run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..drivers.options import AlignResources, ResumeResources
from ..planning.plan import Plan


@dataclass(frozen=True)
class StoredResources:
    """The resources that can be stored, which device objects and callbacks cannot.

    Each run gives its own ``stop_after``."""

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
    def of(cls, resources: AlignResources, mode: str, left_align: bool = False) -> StoredResources:
        """From the resources of a run in this mode."""
        device, plan, cost = resources.device, resources.plan, resources.band_cost(mode)
        if isinstance(plan, Plan):
            plan = plan.overrides()
        if plan is not None:
            plan = {str(k): v if isinstance(v, str | float) else int(v) for k, v in plan.items()}
        cost = cost if cost is None or isinstance(cost, str) else float(cost)
        device = device if isinstance(device, str) else "auto"
        return cls(resources.prune, cost, device, plan, resources.disk_size, left_align)

    def resumed(self, given: ResumeResources) -> AlignResources:
        """The resources of a resumed run: those ``given``, else the stored ones.

        A stored plan is not used on another device."""
        stored = {**vars(self), "plan": self.plan if given.device is None else None}
        del stored["left_align"]
        return AlignResources(**stored | {k: v for k, v in vars(given).items() if v is not None})
