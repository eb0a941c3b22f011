"""Every name of every header of narrow lanes does what it says, in every width, with every T."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from aligning import needs_lanes
from test_lanes import COMMENT, names_of

from pysw_cl.engines.plans import make_plan
from pysw_cl.engines.wavefront.kernel import backwards, kernel_spec
from pysw_cl.errors import PlanError
from pysw_cl.folders import shipped
from pysw_cl.opencl.buffers import Buffers
from pysw_cl.opencl.device import get_runtime
from pysw_cl.opencl.program import joined_source
from pysw_cl.planning.lane_sets import LANE_SETS, MIXED
from pysw_cl.planning.sizes import state_bytes
from pysw_cl.scoring.precision import UNREACHABLE

#: Rows a lane, letters, columns of the target, the step looked at.
R, WIDE, COLUMNS, STEP = 3, 5, 9, 4
#: Columns of a bus (two vectors of 16 and some), the first given back, one that leaves early.
BUS, GIVEN, EARLY = 37, 2, 20
KEPT = 2 * R + 2  # what narrow lanes keep of a block
MOST = 2**31 - 1
SETS = [
    (name, T, width)
    for name, lane_set in LANE_SETS.items()
    for T in lane_set.T
    for width in lane_set.widths
    if width != MIXED  # which has the header of 16 bits
]
#: Rows that the kernel writes: T numbers each.  OWN: one number a work-item, at its first lane.
ROWS = 26 + KEPT + R
KERNEL = f"""
#define ROW(v, base) lanes_store(out, lanes_wide(v, base)); out += T;
#define OWN(value) out[LANES_FIRST_OWN] = value; out += T;
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
try_narrow(__global const int *in, __global const uchar *letters, __global const int *h,
           __global const int *x, __global const int *hits, __global int *given_h,
           __global int *given_x, __global const char *profile, __global int *state,
           __global int *stages, __global int *out, int base, int match, int mismatch)
{{
  LANES_LOCAL(scratch);
  STAGE_OF_GROUP(stage, stages, 0, CHUNK);
  lv a = lanes_narrow(lanes_load(in), base), b = lanes_narrow(lanes_load(in + T), base);
  const lv small = lanes_narrow(lanes_load(in + 2 * T), 0);
  ROW(a, base)
  ROW(lv_splat(7), 0)
  ROW(lv_add(a, small), base)
  ROW(lv_sub(a, small), base)
  ROW(lv_max(a, b), base)
  ROW(lv_min(a, b), base)
  ROW(lv_select(lanes_from_to(1, T - 2), a, b), base)
  ROW(lv_select(lanes_from_to(0, 0), a, b), base)
  ROW(lv_select(lanes_from_to(T, T - 1), a, b), base)
  ROW(lv_select(lanes_from_to(2, 99), a, b), base)
  const stage_t s = stage_of(stage, CHUNK, scratch);
  stage_letters(s, letters, {COLUMNS}, {WIDE}, {STEP}, 1);
  lanes_sync();
  const raw_t step = lanes_letters(s, letters, {COLUMNS}, {STEP}, 0);
  const lv codes = lanes_row_codes(lanes_load(in + 3 * T));
  ROW(lv_match(codes, lanes_codes(step), match, mismatch), 0)
  lanes_store(out, lanes_letters_wide(step));
  out += T;
  for (int i = 0; i < LANES_OWN; i++) out[LANES_FIRST_OWN + i] = lanes_own(a, i);
  out += T;
  OWN(lanes_highest(scratch, b))
  OWN(lanes_lowest(scratch, b))
  __global const int *mine = hits + 3 * get_local_id(0);
  const hit_t best = lanes_best(scratch, (hit_t){{mine[0], mine[1], mine[2]}});
  OWN(best.score)
  OWN(best.row)
  OWN(best.column)

  SAVED_SPACE int *saved = SAVED_LANES(0, state);
  const int2 none = {{INT_MAX, INT_MIN}}, some = {{h[0] - 1, h[0]}};
  const int2 empty = stage_load(s, h, x, 0, 0, base, 2, some);
  const int2 alone = stage_load(s, h, x, {BUS}, {BUS}, base, 2, none);
  for (int k = 0; k < {KEPT}; k++) lanes_save(saved, k, lv_add(a, lv_splat(k)));
  const int2 range = stage_load(s, h, x, {BUS}, {BUS}, base, 2, some);
  OWN(empty.x == h[0] - 1 && empty.y == h[0])
  OWN(alone.x)
  OWN(alone.y)
  OWN(range.x == min(alone.x, some.x) && range.y == alone.y)
  for (int k = 0; k < {BUS}; k++) {{
    lanes_shift_in(s, k, lanes_enter(s, k, true), &a, &b);
    if (k == {EARLY}) lanes_store_bottom_at(s, k, 2, a, b);
    else lanes_store_bottom(s, k, a, b);
  }}
  stage_store(s, {GIVEN}, {BUS}, given_h, given_x, base, 2, INT_MIN);
  ROW(a, base)
  ROW(b, base)
  for (int k = 0; k < {KEPT}; k++) {{ ROW(lanes_restore(saved, k), base) }}
  lv of_rows[R], gaps[R];
  for (int r = 0; r < R; r++) {{
    of_rows[r] = r == R - 1 ? a : b;
    gaps[r] = r == R - 1 ? b : a;
  }}
  stage_lane(s, 1, of_rows, gaps);
  const int2 cell = staged_cell(s, 1, of_rows, gaps, R - 1);
  ROW(lv_splat(cell.x), base)
  ROW(lv_splat(cell.y), base)
#ifdef PROFILE_ROWS
  lv of_row[R];
  lanes_profile(profile, {WIDE}, letters, {COLUMNS}, {STEP}, of_row);
  for (int r = 0; r < R; r++) {{ ROW(of_row[r], 0) }}
#endif
}}
"""


def run(lanes: str, T: int, width: int, data: dict[str, Any]) -> tuple[Any, Any, Any, Any]:
    """The rows that the kernel writes, the bus it gives, and the state it was given room in."""
    import pyopencl as cl

    needs_lanes(lanes)
    runtime = get_runtime("auto")
    try:
        make_plan(runtime, {"lanes": lanes, "T": T})
    except PlanError as error:
        pytest.skip(str(error))
    lane_set = LANE_SETS[lanes]
    score = "matrix" if lane_set.scores.profile_rows else "match"
    files = kernel_spec("ticketed", lanes, score).files[:-5]
    source = joined_source((*files, f"WIDTH={width}")) + KERNEL
    program = cl.Program(runtime.context, source).build(
        f"-cl-std=CL1.2 -DT={T} -DR={R} {runtime.options_of('registers')}"
    )
    letters = backwards(data["target"], T, WIDE) if lane_set.backwards else data["target"]
    with Buffers(runtime) as buffers:
        out = buffers.of(np.zeros(ROWS * T, np.int32))
        bus = [buffers.of(np.zeros(BUS, np.int32)) for _ in range(2)]
        state = buffers.of(data["state"])
        group = lane_set.group(T)
        given = [buffers.of(part) for part in (data["in"].ravel(), letters, data["h"], data["x"])]
        given += [buffers.of(data["hits"].ravel()), *bus, buffers.of(data["profile"].ravel())]
        given += [state, buffers.of(np.zeros(1024, np.int32)), out]
        numbers = (np.int32(data[name]) for name in ("base", "match", "mismatch"))
        kernel = cl.Kernel(program, "try_narrow")
        kernel(runtime.queue, (group,), (group,), *given, *numbers)
        rows = buffers.read(out, ROWS * T).reshape(ROWS, T)
        return rows, *(buffers.read(part, BUS) for part in bus), buffers.read(state, state_of(T))


def state_of(T: int) -> int:
    """Words of a group's state, and some more."""
    return (4 * R + 6) * T + 8


def expected(data: dict[str, Any], T: int, group: int) -> tuple[Any, Any, Any]:
    """The same in NumPy."""
    base, (a, b, small, codes) = data["base"], data["in"]
    lane = np.arange(T)

    def own(value: Any) -> Any:
        """What every work-item says."""
        return np.where(lane % (T // group) == 0, value, 0)

    letter = data["letter"]
    rows = [a, np.full(T, 7), a + small, a - small, np.maximum(a, b), np.minimum(a, b)]
    rows += [np.where((lane >= 1) & (lane <= T - 2), a, b), np.where(lane == 0, a, b), b]
    rows += [np.where(lane >= 2, a, b)]
    rows += [np.where(codes == letter, data["match"], data["mismatch"]), letter]
    rows += [a - base, own(b.max() - base), own(b.min() - base)]
    score, row, column = min(data["hits"][:group].tolist(), key=lambda hit: (-hit[0], *hit[1:]))
    rows += [own(score), own(row), own(column)]
    rows += [own(1), own(data["h"].min()), own(data["h"].max()), own(1)]
    kept = [a + k for k in range(KEPT)]
    given: list[Any] = []
    for k in range(BUS):
        a, b = np.r_[data["h"][k], a[:-1]], np.r_[data["x"][k] - 2, b[:-1]]
        leaves = 2 if k == EARLY else T - 1
        given.append((a[leaves], b[leaves] + 2))
    rows += [a, b, *kept, np.full_like(a, a[1]), np.full_like(b, b[1])]
    return np.array(rows), *np.array(given[GIVEN:]).T


def some_data(rng: np.random.Generator, T: int, width: int, base: int, group: int) -> Any:
    """Numbers of a width around a base, to its very ends."""
    half = 1 << (width - 1)
    column = STEP - np.arange(T)
    target = rng.integers(0, WIDE, COLUMNS).astype(np.uint8)
    inside = (column >= 0) & (column < COLUMNS)
    most = rng.integers(-half + 9, half - 9, (2, T)) + base
    most[:, 0] = base - half + 9, base + half - 10
    codes = np.where(rng.random(T) < 0.2, 254, rng.integers(0, WIDE, T))
    gain = LANE_SETS["packed"].scores.gain if width == 16 else 120
    match = int(rng.integers(0, gain))
    hits = rng.integers((0, 7, 8), (3, 10, 11), (group, 3))
    hits[rng.random(group) < 0.5] = UNREACHABLE, MOST, MOST  # nothing found
    return {
        "base": base,
        "target": target,
        "letter": np.where(inside, target[np.clip(column, 0, COLUMNS - 1)], WIDE),
        "in": np.array([*most, rng.integers(-9, 10, T), codes], np.int32),
        "h": (base + rng.integers(-half + 2, half - 2, BUS)).astype(np.int32),
        "x": (base + rng.integers(-half + 2, half - 2, BUS)).astype(np.int32),
        "profile": rng.integers(-128, 128, (T, WIDE, 16)).astype(np.int8),
        "hits": hits.astype(np.int32),
        "match": match,
        "mismatch": match - int(rng.choice([0, 9, gain])),
        "state": np.full(state_of(T), 77, np.int32),
    }


@pytest.mark.parametrize("lanes, T, width", SETS)
def test_every_name(lanes: str, T: int, width: int) -> None:
    rng = np.random.default_rng(T + width)
    profiled, group = LANE_SETS[lanes].scores.profile_rows > 0, LANE_SETS[lanes].group(T)
    kept_at = (3 * R + 5) * T
    for base in (0, 100, -(10**9), 2**30, 5, -77):
        data = some_data(rng, T, width, base, group)
        rows, h, x, state = run(lanes, T, width, data)
        wanted, wanted_h, wanted_x = expected(data, T, group)
        inside = data["letter"] < WIDE
        live = np.ones(wanted.shape, bool)
        live[10:12] = inside  # whatever the padding is called
        wrong = np.flatnonzero(((rows[: len(wanted)] != wanted) & live).any(axis=1))
        assert wrong.tolist() == []
        assert (h[: BUS - GIVEN] == wanted_h).all()
        assert (x[: BUS - GIVEN] == wanted_x).all()
        assert not h[BUS - GIVEN :].any()
        assert (state[:kept_at] == 77).all()
        assert (state[(4 * R + 6) * T :] == 77).all()
        if profiled:
            lane = np.flatnonzero(inside)
            scores = data["profile"][lane, data["letter"][lane], :R].T
            assert (rows[len(wanted) : len(wanted) + R, lane] == scores).all()


#: A block of AFTER steps that ends INSIDE columns later, in memory that holds `poison`: H and F of
#: all lanes after each step, lowered as many times as there are rows in the largest strip.
INSIDE, AFTER, LOWERED, SLOPE = 3, 9, 63, 7
ENTERING = f"""
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
enter_after(__global const int *h, __global int *stages, __global int *out, int base, int poison)
{{
  LANES_LOCAL(scratch);
  STAGE_OF_GROUP(stage, stages, 0, CHUNK);
  for (int k = ITEM; k < CHUNK; k += GROUP) stage[k] = poison;
  lanes_sync();
  const stage_t s = stage_of(stage, CHUNK, scratch);
  const int2 none = {{INT_MAX, INT_MIN}};
  stage_load(s, h, h, {INSIDE}, {INSIDE}, base, 0, none);
  for (int k = {INSIDE}; k < {AFTER}; k++) {{
    lv a = lanes_narrow(lanes_load(h), base), b = a;
    lanes_shift_in(s, k, lanes_enter(s, k, false), &a, &b);
    lanes_store(out, lanes_wide(lv_skew(a, lv_splat({SLOPE}), -{LOWERED}), base));
    lanes_store(out + T, lanes_wide(lv_skew(b, lv_splat({SLOPE}), -{LOWERED}), base));
    out += 2 * T;
  }}
}}
"""


@pytest.mark.parametrize("poison", [0, -1, 0x7FFF8000, 0x00018000])
@pytest.mark.parametrize("lanes, T", [(lanes, T) for lanes, T, width in SETS if width == 16])
def test_what_enters_after_the_last_column_disturbs_no_lane(
    lanes: str, T: int, poison: int
) -> None:
    """The first lane is at work no more, but may share a word with one that is."""
    import pyopencl as cl

    needs_lanes(lanes)
    runtime = get_runtime("auto")
    try:
        make_plan(runtime, {"lanes": lanes, "T": T})
    except PlanError as error:
        pytest.skip(str(error))
    files = kernel_spec("ticketed", lanes, "match").files[:-5]
    source = joined_source((*files, "WIDTH=16")) + ENTERING
    program = cl.Program(runtime.context, source).build(
        f"-cl-std=CL1.2 -DT={T} -DR={R} {runtime.options_of('registers')}"
    )
    group, base, number = LANE_SETS[lanes].group(T), 5, -20_000
    with Buffers(runtime) as buffers:
        out = buffers.of(np.zeros(2 * T * (AFTER - INSIDE), np.int32))
        given = [buffers.of(np.full(max(T, AFTER), base + number, np.int32))]
        given += [buffers.of(np.zeros(1024, np.int32)), out]
        kernel = cl.Kernel(program, "enter_after")
        kernel(runtime.queue, (group,), (group,), *given, np.int32(base), np.int32(poison))
        rows = buffers.read(out, 2 * T * (AFTER - INSIDE)).reshape(-1, T)
    assert (rows[:, 1:] == base + number - LOWERED * SLOPE).all()


# --- the headers as text -------------------------------------------------------------------------

FOLDER = Path(shipped("cl", "base.clh")).parent
#: Names that do not depend on the width.
SAME = {
    "LANES_OWN",
    "LANES_FIRST_OWN",
    "LEFT_PADDED",
    "LETTERS_MOST",
    "READS_AHEAD",
    "SAVED_SPACE",
    "SAVED_LANES",
}


def header(path: Path) -> str:
    """A header without comments, the memory that it keeps lanes in by its name."""
    text = COMMENT.sub("", path.read_text())
    space = re.findall(r"#define SAVED_SPACE (\w+)", text)
    assert len(space) == 1, path.name
    return re.sub(rf"\b{space[0]} (?=(const )?int \*saved)", "SAVED_SPACE ", text)


def test_every_header_has_the_same_names() -> None:
    """Whatever is used by what is joined in narrow widths is in each header, with the same
    arguments; each such name is told apart by width."""
    headers = {path.stem: header(path) for path in (FOLDER / "narrow").glob("*.clh")}
    assert set(headers) == {Path(one.narrow).stem for one in LANE_SETS.values() if one.narrow}
    bodies = (f"wavefront/{name}.clh" for name in ("narrow_lanes", "lagged", "narrow"))
    users = [FOLDER / name for name in (*bodies, "recurrence.clh", "score/match.clh")]
    used = set(re.findall(r"\w+", " ".join(COMMENT.sub("", user.read_text()) for user in users)))
    exported = {
        name: {
            what: kind.partition(" (")[2] or kind
            for what, kind in names_of(text).items()
            if what in used
        }
        for name, text in headers.items()
    }
    first = exported["vector"]
    some = "lv lm lv_max lv_min lanes_shift_in lanes_enter stage_load lanes_own lanes_restore"
    assert {*some.split(), "lanes_best", *SAME} <= set(first)
    for name, names in exported.items():
        assert names == first, name
    told_apart = set(re.findall(r"#define (\w+) NAMED\(\1\)", (FOLDER / "names.clh").read_text()))
    assert set(first) - SAME <= told_apart
    assert not SAME & told_apart


#: Where the parts of a group's state begin and end, in words.
PLACES = """
#define END(part) ((__global int *)(part) - state)
__kernel void places(__global int *state, __global int *out)
{
  const int strip_group = get_group_id(0), strip_groups = get_num_groups(0);
  sweep_t sw;
  __global int *mine = state + strip_group * STATE_ROWS(ALPHA(&sw)) * T;
  KEEP_GROUPS(sw);
  out += 7 * strip_group;
  out[0] = END(mine);
  out[1] = END(mine + SAVED_AT(ALPHA(&sw)) * T);
  out[2] = END(mine + STATE_ROWS(ALPHA(&sw)) * T);
  out[3] = END(DEFERRED_LANES(&sw, mine));
  out[4] = END(DEFERRED_BUS(&sw, mine));
  out[5] = END(DEFERRED_WORDS(&sw, mine));
  out[6] = END(DEFERRED_WORDS(&sw, mine) + 1);
}
"""


@pytest.mark.parametrize("T", LANE_SETS["vector"].T)
@pytest.mark.parametrize("alpha", [1, 2, 7])
@pytest.mark.parametrize("best", [0, 1])
def test_a_state_has_room_for_all_its_parts(T: int, alpha: int, best: int) -> None:
    import pyopencl as cl

    needs_lanes("vector")
    runtime, groups, copied = get_runtime("auto"), 3, best != 1
    source = joined_source(kernel_spec("ticketed", "vector", "match").files[:-5]) + PLACES
    defines = f"-DT={T} -DR={alpha} -DBEST={best} -DNARROW_WIDTHS=24"
    program = cl.Program(runtime.context, source).build(
        f"-cl-std=CL1.2 {defines} {runtime.options_of('registers')}"
    )
    with Buffers(runtime) as buffers:
        out = buffers.of(np.zeros(7 * groups, np.int32))
        cl.Kernel(program, "places")(runtime.queue, (groups,), (1,), out, out)
        rows = buffers.read(out, 7 * groups).reshape(groups, 7).tolist()
    end = 0
    for begin, kept, kept_end, *_ in rows:
        assert begin == end
        assert kept - begin == (3 * alpha + 5) * T  # H, E, codes; what enters, letters, places
        assert kept_end - kept == copied * (alpha + 1) * T  # in 16 bits: H, E, what enters
        end = kept_end
    assert state_bytes(T, alpha, groups, copied, deferred=False) == 4 * end
    for *_, lanes, bus, words, words_end in rows:
        assert lanes == end
        assert bus - lanes >= (2 * alpha + 2) * T  # H, E, what enters, in 32 bits
        assert words - bus >= 2 * T  # H and X of as many columns as lanes cross in T steps
        end = lanes + (2 * alpha + 4 - -8 // T) * T
        assert words < words_end <= end
    assert state_bytes(T, alpha, groups, copied, deferred=True) == 4 * end
