"""Whether a device's half-precision sums are exact, as lanes of 11 bits need them."""

from __future__ import annotations

import numpy as np

from ...opencl.buffers import Buffers
from ...opencl.device import Runtime
from ...opencl.program import BoundKernel, KernelSpec, key_of
from ...planning.profiles.profile import Identity

#: The arithmetic of lanes of 11 bits.
ARITHMETIC = "wavefront/mixed_arithmetic.clh"
SPEC = KernelSpec(
    "exact_sums", ("base.clh", ARITHMETIC, "wavefront/exact_sums.cl"), ("wrong",), limit=None
)
#: Scores and gap costs so small that they are denormal numbers, too.
SCORES = {"MATCH": 1, "MISMATCH": -3, "GAP_FIRST": 5, "GAP_EXTEND": 2}
#: Numbers of 11 bits, and work-items of a work-group.
NUMBERS, GROUP = 2048, 64
#: What devices said, by device, program and options.
_known: dict[tuple[Identity, tuple[str, str]], bool] = {}


def exact_sums(runtime: Runtime) -> bool:
    """Does the device add all numbers of 11 bits right?  One that flushes denormal numbers to 0
    does not.  It is asked by a small launch, once a process."""
    asked = runtime.identity, key_of(runtime, SPEC, SCORES)
    if asked not in _known:
        _known[asked] = _tried(runtime)
    return _known[asked]


def _tried(runtime: Runtime) -> bool:
    with Buffers(runtime) as buffers:
        wrong = buffers.of(np.zeros(1, np.int32))
        BoundKernel(runtime, SPEC, SCORES).bind(wrong=wrong).launch(NUMBERS // GROUP, GROUP)
        return not buffers.read(wrong, 1)[0]
