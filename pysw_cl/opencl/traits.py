"""What a device does, as far as the engines have to know: one field each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


def no_preparation(device: Any) -> None:
    """A device that is ready as it is."""


@dataclass(frozen=True)
class DeviceTraits:
    """What holds of a device.  Defaults are those of a device that follows OpenCL 1.2 and promises
    no more; the rows of :mod:`pysw_cl.opencl.quirks` say what is otherwise, and why."""

    #: May it be used at all?
    usable: bool = True
    #: What is done to it before the first build.
    prepare: Callable[[Any], None] = no_preparation
    #: Compiler options of all kernels.
    build_options: str = ""

    #: The lane set of plans that ask for none (:mod:`pysw_cl.planning.lane_sets`).
    lanes: str = "scalar32"
    #: Lane sets that must not be used.
    refused_lanes: tuple[str, ...] = ()
    #: Lanes of a strip at least.
    least_T: int = 1
    #: The wavefront's form of plans that ask for none.
    form: str = "two-phase"
    #: Columns a turn of the main loop, where the lane set leaves it to the device.
    unroll: int = 2

    #: Work-items of a warp (wavefront, sub-group).
    warp_width: int = 32
    #: Warp schedulers of a compute unit; 0: a work-group is one warp.
    schedulers: int = 0
    #: Is there a permutation of bytes with sign replication?
    byte_permute: bool = False

    #: Do small tiles share one buffer?
    arena: bool = True
    #: Work-items that follow a path back together (cl/traceback/traceback.cl).
    traceback_group_size: int = 256
    #: Is it worth computing tiles before what they follow from is known?  Those that a path may
    #: lead through, and those below others that are still computed.
    speculative: bool = True
