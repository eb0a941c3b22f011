"""A device that is opened while Python imports: in a process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
from pysw_cl.opencl import early

early.GPU, early.POCL = early.ctypes.c_ulong(0xFFFFFFFF), "no platform has this name"
early.begin({device!r})
from pysw_cl.opencl.device import get_runtime
runtime = get_runtime("0:0")
early._thread.ident and early._thread.join()
print(len(early._made), runtime.context.devices == [runtime.device], len(early._made))
import pysw_cl
print(pysw_cl.align("ACGT", "ACGT", device=runtime).score)
"""


@pytest.mark.parametrize("device", ["gpu", "cpu"])
def test_what_was_opened_is_used(device: str) -> None:
    code = CODE.format(device=device)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    made, right, left, score = done.stdout.split()
    assert (right, left, score) == ("True", "0", "4")
    assert made in ("0", "1") if device == "gpu" else made == "0"


def test_a_variable_names_another_device(monkeypatch: pytest.MonkeyPatch) -> None:
    from pysw_cl.opencl import early

    monkeypatch.setenv("PYSW_CL_DEVICE", "cpu")
    early.begin("auto")
    early.begin(None)
    assert early._thread.ident is None
