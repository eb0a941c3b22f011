"""When a pipeline of several devices begins a tile."""

from __future__ import annotations

from threading import Event
from types import SimpleNamespace
from typing import Any

from pysw_cl.engines.wavefront.relay import Relay


def relay_of(places: int, feeds: list[tuple[int, int, bool]]) -> Any:
    """A pipeline whose next tile is lane 0's, and that has tiles of 6 groups.  ``feeds``: the lane
    of a tile, its groups, and whether its row above is there."""
    relay: Any = Relay.__new__(Relay)
    relay._runtimes, relay.count = [None, None], 2
    relay.lanes = [SimpleNamespace(places=places, accepts=lambda: True) for _ in range(2)]
    relay._begun = [(0, SimpleNamespace(groups=6)), (1, SimpleNamespace(groups=5))]
    relay._feeds = []
    for lane, groups, there in feeds:
        ended = Event()
        if there:
            ended.set()
        to = SimpleNamespace(groups=groups)
        relay._feeds.append(SimpleNamespace(lane=relay.lanes[lane], to=to, ended=ended))
    return relay


def test_a_launch_waits_for_no_groups_that_wait_for_a_copy() -> None:
    """It might be in front of that copy, which then never comes."""
    assert relay_of(12, [(0, 6, False)]).accepts()
    assert not relay_of(11, [(0, 6, False)]).accepts()
    assert not relay_of(17, [(0, 6, False), (0, 6, False)]).accepts()
    assert relay_of(11, [(0, 6, True), (1, 6, False)]).accepts()
    assert relay_of(5, []).accepts()  # a tile of more groups than there are places
