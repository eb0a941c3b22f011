"""A GPU is opened while Python still imports: its driver takes a third of a second for that.

PyOpenCL holds Python's lock meanwhile, so this calls OpenCL by itself, in PyOpenCL's library."""

from __future__ import annotations

import ctypes
import os
import threading
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

POCL = "Portable Computing Language"
VARIABLES = ("PYSW_CL_DEVICE", "PYOPENCL_CTX")  # name the device that "auto" means
#: OpenCL's numbers of a platform's name, and of GPUs.
NAME, GPU = 0x0902, ctypes.c_ulong(4)
#: The context that was made, by its device.
_made: dict[int | None, int] = {}


def _ids(ask: Any, *of: Any) -> list[ctypes.c_void_p]:
    """The platforms or devices that a function of OpenCL gives."""
    count, found = ctypes.c_uint(), (ctypes.c_void_p * 64)()
    ask(*of, len(found), found, ctypes.byref(count))
    return [ctypes.c_void_p(one) for one in found[: count.value]]


def _open() -> None:
    """Open the GPU, if there is one alone.  PoCL is told its folder before it is asked."""
    with suppress(OSError, AttributeError, StopIteration):  # no such library
        found = find_spec("pyopencl")
        folder = next(iter((found and found.submodule_search_locations) or ()))
        os.environ["PYOPENCL_HOME"] = folder  # as PyOpenCL does: its loader reads that
        opencl = ctypes.CDLL(str(next(Path(folder).glob("_cl.*.so"))))
        name, gpus = ctypes.create_string_buffer(256), list[ctypes.c_void_p]()
        for platform in _ids(opencl.clGetPlatformIDs):
            opencl.clGetPlatformInfo(platform, NAME, len(name), name, None)
            if POCL.encode() not in name.value:
                gpus += _ids(opencl.clGetDeviceIDs, platform, GPU)
        opencl.clCreateContext.restype = ctypes.c_void_p
        if len(gpus) == 1:
            given = None, 1, ctypes.byref(gpus[0]), None, None, None
            _made[gpus[0].value] = opencl.clCreateContext(*given)


_thread = threading.Thread(target=_open, name="pysw_cl device")


def begin(device: str | None) -> None:
    """Begin to open the GPU, if ``device`` means it, in a process that will use it."""
    free = device == "auto" and not any(map(os.environ.get, VARIABLES))
    if _thread.ident is None and (free or device == "gpu"):
        _thread.start()


def context_of(device: Any) -> Any:
    """The context that was made of a PyOpenCL device; None if there is none."""
    import pyopencl as cl

    if _thread.ident is not None:
        _thread.join()
    made = _made.pop(device.int_ptr, None)
    return made and cl.Context.from_int_ptr(made, retain=False)
