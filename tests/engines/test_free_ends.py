"""The bits of free ends are the same for the host and for kernels."""

from __future__ import annotations

import re

from pysw_cl.drivers.problem import FreeEnds
from pysw_cl.engines.common import FreeEnd
from pysw_cl.folders import kernel_source


def test_bits() -> None:
    assert FreeEnd.of(FreeEnds(lead_query=True, trail_target=True)) == 1 | 8
    assert [end.name for end in FreeEnd] == [name.upper() for name in FreeEnds._fields]


def test_kernels_have_the_same() -> None:
    text = kernel_source("base.clh")
    for end in FreeEnd:
        assert re.search(rf"#define {end.name} {end.value}\n", text)
