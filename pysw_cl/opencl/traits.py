"""The properties of a device that matter to the engines, one field each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class DeviceTraits:
    """Properties of a device.  The defaults are for a device that follows OpenCL 1.2 and guarantees
    no more; :mod:`pysw_cl.opencl.quirks` lists deviations and their reasons."""

    #: May it be used at all?
    usable: bool = True
    #: What is done with the device before the first build.
    prepare: Callable[[Any], object] | None = None
    #: Compiler options of all kernels.
    build_options: str = ""
    #: The option that limits the registers of a work-item to {}; "": there is none.
    register_option: str = ""

    #: The lane set of plans that name none (:mod:`pysw_cl.planning.lane_sets`).
    lanes: str = "scalar32"
    #: Lane sets that must not be used.
    refused_lanes: tuple[str, ...] = ()
    #: The fewest lanes of a strip.
    least_T: int = 1
    #: Work-items of a group that the row scan in one launch must not have.
    refused_row_items: tuple[int, ...] = ()
    #: The wavefront's form of plans that name none.
    form: str = "two-phase"
    #: Columns in one iteration of the main loop, unless the lane set prescribes them.
    unroll: int = 2

    #: Work-items of a warp (wavefront, sub-group).
    warp_width: int = 32
    #: Warp schedulers of a compute unit; 0: work-groups are single warps.
    schedulers: int = 0
    #: Is there a permutation of bytes with sign replication?
    byte_permute: bool = False

    #: Do small tiles share one buffer?
    arena: bool = True
    #: Work-items that follow a path back together (cl/traceback/traceback.cl).
    traceback_group_size: int = 256
    #: Is speculative computation worthwhile: of tiles that a path may cross, and of tiles below
    #: others that are not done?
    speculative: bool = True
