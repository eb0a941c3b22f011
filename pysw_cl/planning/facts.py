"""What of a device decides how something is computed there, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class DeviceFacts:
    """What decides how tiles are computed on a device, what that takes, and which plans it runs."""

    #: Bytes of its memory, and of the largest allocation.
    memory: int
    largest: int
    #: Compute units, and the warp schedulers of each (0: see `DeviceTraits.schedulers`).
    units: int = 1
    schedulers: int = 0
    #: The fewest lanes of a strip, and why.
    least_T: int = 1
    why_T: str = ""
    #: Has it a permutation of bytes?
    byte_permute: bool = False
    #: Does it compute tiles before they are known to be needed?
    speculative: bool = False
    #: The alignment of parts of a buffer, in bytes.
    part_align: int = 128
    name: str = "the device"
    #: Work-items of a warp and of a work-group at most, and bytes of a group's local memory.
    warp_width: int = 32
    most_items: int = 1024
    local_bytes: int = 1 << 15
    #: Lane sets that it does not run, and work-items of a group that the row scan must not have,
    #: each with the reason.
    refused_lanes: Mapping[str, str] = field(default_factory=dict, hash=False)
    refused_row_items: Mapping[int, str] = field(default_factory=dict, hash=False)


#: A device of which nothing is known, and whose memory holds everything.
UNLIMITED = DeviceFacts(1 << 62, 1 << 62, byte_permute=True)
