"""The resources of `align` and `resume`; those of every command are in `options`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from ..errors import InputError, file_name
from .options import Resources


@dataclass(frozen=True, kw_only=True)
class AlignResources(Resources):
    prune: bool = True
    max_cost: Any = "auto"
    checkpoint: str | os.PathLike[str] | None = None
    disk_size: int | None = None
    stop_after: float | None = None
    timeline: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.checkpoint is not None:
            object.__setattr__(self, "checkpoint", file_name(self.checkpoint, "checkpoint"))
        elif self.disk_size is not None or self.stop_after is not None:
            raise InputError("disk_size and stop_after go with checkpoint")
        if self.cluster is None:
            return
        if self.disk_size is not None:
            raise InputError("disk_size cannot go with cluster, whose workers share the folder")
        if self.kernel_times:
            raise InputError("kernel_times cannot go with cluster, whose workers do not measure")
        if not isinstance(self.device, str):
            raise InputError(
                "with cluster, device is a name, such as '0,1': each worker takes its own"
            )

    def band_cost(self, mode: str) -> Any:
        """``max_cost`` for a comparison in this mode: "auto" or a number for diagonal bands, None
        for the whole matrix.  Raises InputError for a number in a mode without bands."""
        cost = self.max_cost
        if mode != "global" and cost not in (None, "auto"):
            raise InputError(
                f"max_cost={cost!r} is for mode 'global'; in mode {mode!r} leave it out"
            )
        return None if mode == "local" or (cost == "auto" and not self.prune) else cost


@dataclass(frozen=True, kw_only=True)
class ResumeResources(Resources):
    """The resources of `resume`.  None: as when the run began."""

    checkpoint: str | os.PathLike[str]
    device: Any = None
    disk_size: int | None = None
    stop_after: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "checkpoint", file_name(self.checkpoint, "checkpoint"))
