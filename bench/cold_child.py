#!/usr/bin/env python3
"""One process of bench/cold.py: the first calls of one case, or what any process needs.

    python bench/cold_child.py TREE DEVICE CASE

TREE is the folder that holds `pysw_cl`.  CASE is a JSON file {"pairs": [[query, target], ...],
"options": {...}, "calls": N}; without pairs a process is timed that makes a context by PyOpenCL
alone and runs a small kernel.  One pair is for `align`, several are for `align_many`.  It prints
one JSON object: seconds by step, all of the first call from the process's first line on, the calls
that follow at once and those after all builds, the programs, and what was found.
"""

from __future__ import annotations

import time

STARTED = time.perf_counter()

import json  # noqa: E402
import sys  # noqa: E402
import threading  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

SMALL = "__kernel void small(__global int *a) { a[get_global_id(0)] = get_global_id(0); }"


class Steps(dict[str, float]):
    """Seconds by step, each from the end of the one before."""

    def __init__(self) -> None:
        super().__init__()
        self.last = STARTED

    def end(self, name: str) -> None:
        """A step ends now."""
        now = time.perf_counter()
        self[name], self.last = now - self.last, now


def bare(kind: str) -> dict[str, Any]:
    """What PyOpenCL and the driver need for a small kernel."""
    steps = Steps()
    import numpy as np

    steps.end("numpy")
    import pyopencl as cl

    steps.end("pyopencl")
    found = [one for platform in cl.get_platforms() for one in platform.get_devices()]
    bit = {"gpu": 4, "cpu": 2}.get(kind, 0)
    device = next((one for one in found if one.type & bit), found[0])
    steps.end("devices")
    context = cl.Context([device])
    steps.end("context")
    queue = cl.CommandQueue(context)
    steps.end("queue")
    program = cl.Program(context, SMALL).build()
    steps.end("program")
    kernel = cl.Kernel(program, "small")
    steps.end("kernel")
    numbers = np.zeros(64, np.int32)
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, numbers.nbytes)
    kernel.set_arg(0, buffer)
    cl.enqueue_nd_range_kernel(queue, kernel, (64,), (64,))
    cl.enqueue_copy(queue, numbers, buffer)
    steps.end("launch")
    return {"steps": steps, "first": time.perf_counter() - STARTED, "found": numbers.tolist()}


def found(result: Any) -> Any:
    """What one `align` or `align_many` found, as JSON can hold it."""
    if not hasattr(result, "dtype"):
        ends = result.query_start, result.query_end, result.target_start, result.target_end
        return [result.score, *ends, str(result.cigar)]
    return [[str(value) for value in row] for row in result.tolist()]


def traced() -> list[dict[str, Any]]:
    """A list that gets each program that is built or read from now on."""
    from pysw_cl.opencl import program

    programs: list[dict[str, Any]] = []
    compiled = program._compiled

    def timed(runtime: Any, spec: Any, key: Any) -> Any:
        at = time.perf_counter()
        made = compiled(runtime, spec, key)
        now = time.perf_counter()
        row = {"kernel": spec.name, "at": at - STARTED, "seconds": now - at}
        behind = threading.current_thread() is not threading.main_thread()
        programs.append(row | {"behind": behind, "defines": key[1], "letters": len(key[0])})
        return made

    program._compiled = timed
    return programs


def called(case: dict[str, Any], device: str) -> dict[str, Any]:
    """The first call of the case, and more of them."""
    steps = Steps()
    import numpy  # noqa: F401

    steps.end("numpy")
    import pyopencl as cl

    steps.end("pyopencl")
    import pysw_cl

    call = pysw_cl.align if len(case["pairs"]) == 1 else pysw_cl.align_many
    given = case["pairs"][0] if len(case["pairs"]) == 1 else [case["pairs"]]
    steps.end("pysw_cl")
    runtime = pysw_cl.opencl.device.get_runtime(device)
    steps.end("device")
    assert runtime.context and runtime.queue
    steps.end("context")
    programs = traced()
    steps.end("trace")

    def one() -> float:
        begun = time.perf_counter()
        results.append(found(call(*given, device=device, **case["options"])))
        return time.perf_counter() - begun

    results: list[Any] = []
    one()
    steps.end("call")
    first = time.perf_counter() - STARTED
    count = len([row for row in programs if not row["behind"]])
    next_ones = [one() for _ in range(case["calls"])]
    for process in runtime.building.values():
        process.wait()
    later = [one() for _ in range(case["calls"])]
    if any(other != results[0] for other in results):
        raise SystemExit("later calls found something else")
    return {
        "steps": steps,
        "first": first,
        "programs": programs,
        "count": count,
        "next": next_ones,
        "later": later,
        "found": results[0],
        "pyopencl": cl.VERSION_TEXT,
    }


def main() -> None:
    """Run the case; see the module's text."""
    tree, device, path = sys.argv[1:]
    sys.path.insert(0, tree)
    case = json.loads(Path(path).read_text())
    global STARTED
    STARTED = time.perf_counter()
    print(json.dumps(called(case, device) if case["pairs"] else bare(device)))


if __name__ == "__main__":
    main()
