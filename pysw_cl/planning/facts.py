"""What of a device decides how something is computed there, as a value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple


@dataclass(frozen=True)
class DeviceTraits:
    """Properties of a device; by default one that follows OpenCL 1.2 and guarantees no more.
    :mod:`pysw_cl.opencl.quirks` lists deviations and their reasons."""

    usable: bool = True
    #: What is done with the device before the first build.
    prepare: Callable[[Any], object] | None = None
    build_options: str = ""
    #: Does its driver build one program at a time, and keep it on disk for all processes?
    builds_apart: bool = False
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

    #: Seconds for which the end of a copy is asked for again and again, before a thread sleeps.
    polled_seconds: float = 0.0
    #: Are small buffers kept from job to job, because a copy costs less than a new one?
    pooled: bool = True
    #: Work-items that follow a path back together (cl/traceback/traceback.cl).
    traceback_group_size: int = 256
    #: Is it worthwhile to compute tiles that a path may cross, or below others that are not done?
    speculative: bool = True


@dataclass(frozen=True, kw_only=True)
class DeviceFacts(DeviceTraits):
    """All that decides how tiles are computed on a device, what that takes, and its plans."""

    #: Bytes of its memory, and of the largest allocation.
    memory: int
    largest: int
    units: int = 1
    #: The alignment of parts of a buffer, in bytes.
    part_align: int = 128
    name: str = "the device"
    #: Work-items of a work-group at most, and bytes of a group's local memory.
    most_items: int = 1024
    local_bytes: int = 1 << 15
    #: The reasons of some traits, by their names.
    why: Mapping[str, str] = field(default_factory=dict, hash=False)


class Share(NamedTuple):
    """One of several devices that compute tiles in turn, and how many groups it runs at once."""

    device: DeviceFacts
    groups: int


#: A device of which nothing is known, and whose memory holds everything.
UNLIMITED = DeviceFacts(memory=1 << 62, largest=1 << 62, byte_permute=True, speculative=False)
