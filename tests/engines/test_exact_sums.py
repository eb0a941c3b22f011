"""Whether a device's half-precision sums are exact, and what computes a tile where they are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import match_scoring, random_codes
from widths import made_job

from pysw_cl.engines.wavefront import kernel
from pysw_cl.engines.wavefront.kernel import ARITHMETIC, exact_sums
from pysw_cl.engines.wavefront.tile import given_of, shape_of
from pysw_cl.folders import kernel_source
from pysw_cl.opencl.device import get_runtime
from pysw_cl.opencl.program import BoundKernel
from pysw_cl.planning.choose import in_strips
from pysw_cl.planning.lane_sets import MIXED
from pysw_cl.planning.plan import Plan

#: What a number is where denormal ones are flushed to 0: before a sum, or after it.
LOW = "{ return (int)(short)(word & 0xffffu); }"
BEFORE = "{ const int k = (int)(short)(word & 0xffffu); return abs(k) < 1024 ? 0 : k; }"
WORD = "{ return ((uint)low & 0xffffu)"
AFTER = "{ return (abs(low) < 1024 ? 0 : (uint)low & 0xffffu)"


def test_this_device_adds_right() -> None:
    assert exact_sums(get_runtime("auto"))


@pytest.mark.parametrize(("right", "wrong"), [(LOW, BEFORE), (WORD, AFTER)], ids=["in", "out"])
def test_one_that_flushes_denormal_numbers_does_not(right: str, wrong: str) -> None:
    runtime = get_runtime("auto")
    if "NVIDIA" in runtime.info.platform:
        pytest.skip("it adds in half precision itself")

    def source(name: str) -> str:
        text = kernel_source(name)
        assert name != ARITHMETIC or right in text
        return text.replace(right, wrong)

    other = runtime.anew("flushed")
    other.source_of = source
    assert not exact_sums(other)


@pytest.mark.parametrize("exact", [True, False])
def test_tiles_have_11_bits_only_where_sums_are_exact(
    exact: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "exact_sums", lambda runtime: exact)
    rng = np.random.default_rng(1)
    query, target = (random_codes(rng, n, 4) for n in (900, 1200))
    job = made_job(query, target, match_scoring(1, -3, 3, 2), True, 0, 0, 0, best=True)
    plan = Plan(lanes="mixed", form="ticketed", T=64, alpha=5, B=3, chunk=64)
    runtime = get_runtime("auto")
    strips = in_strips(plan, "match", shape_of(job), given_of(runtime, plan, job), False)
    program = kernel.in_time(runtime, strips).program
    assert program.widths == ((MIXED, 16) if exact else (16,))
    assert bool(program.mixed) == exact


def test_a_device_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    runtime, launched = get_runtime("auto"), []
    launch = BoundKernel.launch

    def watched(self: BoundKernel, *given: Any, **more: Any) -> Any:
        launched.append(given)
        return launch(self, *given, **more)

    monkeypatch.setattr(BoundKernel, "launch", watched)
    other = runtime.anew("once")
    for one in (other, other.beside(0), other.beside(1), other.timed()):
        assert exact_sums(one)
    assert len(launched) == 1
