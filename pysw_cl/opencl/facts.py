"""What of a device decides how tiles are computed, as a value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..planning.facts import DeviceFacts

if TYPE_CHECKING:
    from .device import Runtime


def facts_of(runtime: Runtime) -> DeviceFacts:
    """Of a device that is there, which is asked once."""
    device, traits = runtime.device, runtime.traits
    known = runtime.kept("facts", dict)
    if known.get("of") != (device, traits):
        facts = DeviceFacts(
            memory=int(device.global_mem_size),
            largest=int(device.max_mem_alloc_size),
            units=runtime.info.compute_units,
            schedulers=traits.schedulers,
            least_T=traits.least_T,
            byte_permute=traits.byte_permute,
            speculative=traits.speculative,
            part_align=max(128, int(device.mem_base_addr_align) // 8),
            why_T=runtime.why("least_T"),
            name=runtime.info.name,
            warp_width=traits.warp_width,
            most_items=int(device.max_work_group_size),
            local_bytes=int(device.local_mem_size),
            refused_lanes=dict.fromkeys(traits.refused_lanes, runtime.why("refused_lanes")),
            refused_row_items=dict.fromkeys(
                traits.refused_row_items, runtime.why("refused_row_items")
            ),
        )
        known |= {"of": (device, traits), "facts": facts}
    found: DeviceFacts = known["facts"]
    return found
