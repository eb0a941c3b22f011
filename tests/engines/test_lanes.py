"""Every name of every lane set does what the same name of the work-item lanes does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from aligning import needs_lanes

from pysw_cl.folders import shipped
from pysw_cl.opencl.buffers import Buffers
from pysw_cl.opencl.device import get_runtime
from pysw_cl.opencl.program import joined_source
from pysw_cl.planning.lane_sets import LANE_SETS

WIDE = sorted({Path(lane_set.wide).stem for lane_set in LANE_SETS.values()})

MORE = 40  # numbers after three rows of T
#: Calls every function; what a lane gives goes to its place in a row of out.
KERNEL = """
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
try_lanes(__global const int *in, __global int *out, __global int *list)
{
  LANES_LOCAL(scratch);
  int turn = 0;
  lv a = lanes_load(in), b = lanes_load(in + T), c = lanes_load(in + 2 * T);
  lanes_store(out, lv_splat(7));
  lanes_store(out + T, lv_index());
  lanes_store(out + 2 * T, lv_max(a, b));
  lanes_store(out + 3 * T, lv_select(lm_less(a, b), a, c));
  lanes_store(out + 4 * T, lv_select(lm_eq(a, b), a, c));
  lanes_store(out + 5 * T, lv_select(lm_less(a, b) & lm_less(b, c), a, b));
  lanes_store(out + 6 * T, lanes_gather(in, lv_index() * 2));
  lanes_collect(list, 3, lm_less(a, b), a, b, c);
  const lv scanned = lanes_scan(scratch, a, -2, 1);
  const int some = lanes_any(scratch, lm_less(a, lv_splat(-3)));
  const int none = lanes_any(scratch, lm_less(a, lv_splat(-4)));
  lanes_store(out + 12 * T, scanned);
  lanes_scatter(out + 13 * T, lv_sub(lv_splat(T - 1), lv_index()), b, T - 1);
  lanes_store(out + 14 * T, lanes_gather_letters((__global const uchar *)(in + 3 * T), lv_index()));
  const int top = lanes_reduce_max(scratch, b);
  const int2 first = lanes_argmin(scratch, a, c);
  const int shared = lanes_broadcast(scratch, LEADER ? 11 : 12);
  const int2 range = lanes_range(scratch, (int2)(-1, 60), in + 1, 3 * T + 37);
  lanes_shift_down(scratch, &turn, &a, 101, &b, 102, &c, 103);
  lanes_shift_down(scratch, &turn, &a, 201, &b, 202, &c, 203);
  lanes_shift_down(scratch, &turn, &a, 301, &b, 302, &c, 303);
  lanes_store(out + 7 * T, a);
  lanes_store(out + 8 * T, b);
  lanes_store(out + 9 * T, c);
  lanes_store_lane(out + 10 * T, 2, a);
  lanes_store_last(out + 10 * T + 1, b);
  lanes_sync();
  if (LEADER) {
    out[10 * T + 2] = top;
    out[10 * T + 3] = first.x;
    out[11 * T] = first.y;
    out[11 * T + 1] = shared;
    out[11 * T + 2] = range.x;
    out[11 * T + 3] = range.y;
    out[15 * T] = some;
    out[15 * T + 1] = none;
  }
}
"""


def lanes_of(lanes: str) -> int:
    """How many lanes: those of a warp where they run in lock step, else 4."""
    return 2 * get_runtime("auto").traits.warp_width if lanes == "warp32" else 4


def run(lanes: str, given: np.ndarray[Any, Any]) -> tuple[list[int], int, list[tuple[int, ...]]]:
    import pyopencl as cl

    runtime, T = get_runtime("auto"), lanes_of(lanes)
    files = ("base.clh", "names.clh", "platform.clh", "WIDTH=32", f"lanes/{lanes}.clh")
    source = joined_source(files) + KERNEL
    program = cl.Program(runtime.context, source).build(
        f"-cl-std=CL1.2 -DT={T} {runtime.options_of('registers')}"
    )
    with Buffers(runtime) as buffers:
        out = buffers.of(np.zeros(16 * T, np.int32))
        hits = buffers.of(np.zeros(1 + 3 * T, np.int32))
        group = LANE_SETS[lanes].group(T)
        kernel = cl.Kernel(program, "try_lanes")
        kernel(runtime.queue, (group,), (group,), buffers.of(given), out, hits)
        found = buffers.read(hits, 1 + 3 * T)
        rows = [tuple(map(int, row)) for row in found[1:].reshape(-1, 3)]
        return buffers.read(out, 16 * T).tolist(), int(found[0]), rows


def expected(given: np.ndarray[Any, Any], T: int) -> list[int]:
    a, b, c = given[: 3 * T].reshape(3, T)
    first = min(range(T), key=lambda lane: (a[lane], lane))

    def passed(values: np.ndarray[Any, Any], entered: list[int]) -> list[int]:
        return [*reversed(entered), *values.tolist()][:T]

    scan = [-2]
    for value in a[:-1].tolist():
        scan.append(max(scan[-1] - 1, value))
    a3, b3 = passed(a, [101, 201, 301]), passed(b, [102, 202, 302])
    rows = [
        [7] * T,
        list(range(T)),
        np.maximum(a, b).tolist(),
        np.where(a < b, a, c).tolist(),
        np.where(a == b, a, c).tolist(),
        np.where((a < b) & (b < c), a, b).tolist(),
        given[: 2 * T : 2].tolist(),
        a3,
        b3,
        passed(c, [103, 203, 303]),
        [a3[2], b3[-1], int(b.max()), int(a[first])],
        [int(c[first]), 11, int(given[1 : 3 * T + 38].min()), 60],
        scan,
        b[:0:-1].tolist(),
        given[3 * T :].view(np.uint8)[:T].tolist(),
        [1, 0],
    ]
    return [int(value) for row in rows for value in [*row, *[0] * (T - len(row))]]


@pytest.mark.parametrize("lanes", WIDE)
def test_every_name(lanes: str) -> None:
    needs_lanes(lanes)
    rng, T = np.random.default_rng(3), lanes_of(lanes)
    for _ in range(20):
        given = rng.integers(-3, 4, 3 * T + MORE).astype(np.int32)
        given[rng.integers(T)] = -4  # one lane is first
        a, b, c = given[: 3 * T].reshape(3, T)
        out, count, rows = run(lanes, given)
        assert out == expected(given, T)
        lower = {(int(x), int(y), int(z)) for x, y, z in zip(a, b, c, strict=True) if x < y}
        all_of_them = int((a < b).sum())
        assert count == all_of_them or 3 < count <= all_of_them  # more than fit
        kept = rows[: min(count, 3)]
        assert set(kept) <= lower
        assert all(row == (0, 0, 0) for row in rows[3:])


#: What a header may define because others are content with a default.
MAY = {"GROUP_SIZE", "STAGE_OF_GROUP", "STAGE_SPACE"}
LANES = Path(shipped("cl", "base.clh")).parent / "lanes"
COMMENT = re.compile(r"//.*")


def names_of(text: str) -> dict[str, str]:
    """What a lanes header defines: each function with its signature, each type and macro."""
    functions = re.findall(r"^(?:INLINE|APART) ([^(]*?)(\w+)\(([^)]*)\)", text, re.MULTILINE)
    found = {
        name: f"{result.strip()} ({', '.join(part.strip() for part in arguments.split(','))})"
        for result, name, arguments in functions
    }
    found |= dict.fromkeys(re.findall(r"#define (\w+)", text), "macro")
    for line in re.findall(r"typedef ([^;]*);", text):
        bare = re.sub(r"__attribute__\s*\(\(.*\)\)", "", line)
        found[bare.split()[-1]] = "type"
    return found


def test_every_lane_set_has_the_same_names() -> None:
    """Whatever code outside ``lanes/`` uses is in each header, functions with one signature."""
    headers = {path.stem: COMMENT.sub("", path.read_text()) for path in LANES.glob("*.clh")}
    assert set(headers) == set(WIDE)
    # held has vector lanes only, and so has search, or warps
    inside = {"lanes", "narrow", "batch", "held", "search"}
    others = [p for p in LANES.parent.rglob("*.cl*") if p.parent.name not in inside]
    outside = " ".join(COMMENT.sub("", path.read_text()) for path in others)
    used = set(re.findall(r"\w+", outside))
    exported = {
        lanes: {name: kind for name, kind in names_of(text).items() if name in used - MAY}
        for lanes, text in headers.items()
    }
    first = exported["scalar32"]
    assert {"GROUP", "LEADER", "lv", "lm", "lv_max", "lanes_shift_down", "lanes_sync"} <= set(first)
    for lanes, names in exported.items():
        assert names == first, lanes


def test_lane_names_are_found_only_under_lanes() -> None:
    """No shared file defines a lane's name again."""
    lanes = set().union(*(names_of(path.read_text()) for path in LANES.glob("*.clh")))
    inside = {"lanes", "narrow", "batch", "search"}
    for path in LANES.parent.rglob("*.cl*"):
        if path.parent.name not in inside and path.name != "names.clh":
            again = (lanes - MAY) & set(names_of(path.read_text()))
            assert not again, (path.name, again)
