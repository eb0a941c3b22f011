"""Packed lanes under Oclgrind, which lacks shuffles: values go through local memory there, and
every access is checked."""

from __future__ import annotations

from interpreting import interpreted, needs_oclgrind

#: Twice as fast: threads of the interpreter wait for each other at every access.  What is looked
#: for here happens inside a group; groups that meet have tests of their own.
ONE_THREAD = ("--num-threads", "1")

#: Compares with the reference what lanes in lock step compute: scores by codes and by a matrix,
#: paths, pruned and masked blocks, padding rows.
RUN = """
import numpy as np, pysw_cl
rng = np.random.default_rng(3)
def letters(n): return np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, n)].tobytes()
whole = letters(90)
pairs = [(letters(40), letters(51)), (whole, whole[:30] + whole[38:] + letters(20))]
known = np.frombuffer(b"ARNDCQEGHILKMFPSTWYVBX*", np.uint8)
def residues(n): return known[rng.integers(0, 23, n)].tobytes()
proteins = [(residues(120), residues(81)), (residues(30), residues(70))]
proteins += [(proteins[0][0], proteins[0][0][:40] + residues(9) + proteins[0][0][40:])]
for lanes in ("packed", "warp32"):
    for form in ("ticketed", "two-phase"):
        for (a, b), mode, output in zip(pairs * 2, ("local", "local", "global", "global"),
                                        ("ends", "path", "path", "ends")):
            plan = {"lanes": lanes, "form": form, "T": 16, "alpha": 3, "B": 2, "chunk": 32}
            if form == "two-phase":
                plan["B"] = 1
            found = pysw_cl.align(a, b, mode=mode, output=output, plan=plan)
            wanted = pysw_cl.align(a, b, mode=mode, output=output, plan={"engine": "reference"})
            assert found == wanted, (lanes, form, mode, output, found, wanted)
# A query profile in local memory, with entries of one, two and four words.
matrix = {"sub_score": "BLOSUM62", "gap_cost": (11, 1)}
for alpha in (3, 6, 11):
    for k, (a, b) in enumerate(proteins):
        mode, output = ("local", "path") if k != alpha % 3 else ("global", "ends")
        plan = {"lanes": "packed", "T": 16, "alpha": alpha, "B": 2, "chunk": 32, "form": "ticketed"}
        found = pysw_cl.align(a, b, mode=mode, output=output, plan=plan, **matrix)
        plan = {"engine": "reference"}
        wanted = pysw_cl.align(a, b, mode=mode, output=output, plan=plan, **matrix)
        assert found == wanted, (alpha, mode, output, found, wanted)
        assert "wavefront/packed/16" in found.stats.cells, found.stats.cells
# Six letters that match, so that padding must be another one; scores below 0 beside a base that was
# chosen for high ones.
six = (np.where(np.eye(6, dtype=bool), 2, -3), "ABCDEF")
long = "".join(rng.choice(list("ACG"), 192))
other = [("F" * 60, "ABCFDEABCFFDECAB" * 3, dict(sub_score=six, gap_cost=(3, 2))),
         (long, long + "T" * 1950, dict(sub_score=(100, -1000), gap_cost=(1000, 10)))]
for a, b, scores in other:
    plan = {"lanes": "packed", "T": 16, "alpha": 2, "B": 2, "chunk": 32, "form": "ticketed"}
    plan["sections.least_cells"] = 1 << 60
    found = pysw_cl.align(a, b, output="ends", plan=plan, **scores)
    wanted = pysw_cl.align(a, b, output="ends", plan={"engine": "reference"}, **scores)
    assert found == wanted, (found, wanted)
print("all alike")
"""


#: Lanes of 11 bits: blocks that stay within them, that outgrow them, that reach the best score; and
#: edges of theirs from tile to tile.
MIXED = """
import numpy as np, pysw_cl
rng = np.random.default_rng(5)
def letters(n, of=b"ACGT"):
    return np.frombuffer(of, np.uint8)[rng.integers(0, len(of), n)].tobytes()
low, high = dict(sub_score=(1, -3), gap_cost=(3, 2)), dict(sub_score=(50, -60), gap_cost=(70, 20))
whole = letters(150)
related = whole[20:70] + whole[78:] + letters(80)
repeats = letters(7) * 25
cases = [(letters(40), letters(151), "ends", low, {}), (whole, related, "path", low, {}),
         (whole, letters(60) + related, "ends", low, {"tile_cells": 12_000}),
         (letters(100, b"ACGTN"), letters(201, b"ACGTN"), "ends", low, {}),
         (repeats[3:90], repeats, "ends", low, {}), (whole, related, "path", high, {}),
         (letters(70), letters(270), "ends", high, {})]
widths = {}
for a, b, output, scores, more in cases:
    plan = {"lanes": "mixed", "form": "ticketed", "T": 16, "alpha": 3, "B": 2, "chunk": 32, **more}
    plan["sections.least_cells"] = 1 << 60
    for prune in (True, False):
        found = pysw_cl.align(a, b, output=output, plan=plan, prune=prune, **scores)
        wanted = pysw_cl.align(a, b, output=output, plan={"engine": "reference"}, **scores)
        assert found == wanted, (output, scores, more, prune, found, wanted)
        for kind, cells in found.stats.cells.items(): widths[kind] = widths.get(kind, 0) + cells
assert min(widths["wavefront/packed/11"], widths["wavefront/packed/16"]) > 50_000, widths
print("all alike")
"""


#: Special columns of even and of odd number, which lanes pass in 11 bits, in 16 bits, or while they
#: change from one to the other; strips that end in 11 bits, with and without a right edge.
CROSSED = """
import sys
sys.path[:0] = ["tests", "tests/engines"]
from dataclasses import replace
import numpy as np
from helpers import match_scoring, random_codes
from widths import made_job
from pysw_cl.engines.reference import ReferenceEngine
from pysw_cl.engines.wavefront.engine import WavefrontEngine
from pysw_cl.opencl.device import get_runtime
from pysw_cl.engines.plans import make_plan
rng, runtime, reference = np.random.default_rng(7), get_runtime("auto"), ReferenceEngine()
scoring, cells = match_scoring(1, -3, 3, 2), {}
plan = {"lanes": "mixed", "form": "ticketed", "T": 16, "B": 3, "alpha": 3, "chunk": 32}
engine = WavefrontEngine(runtime, make_plan(runtime, {**plan, "sections.least_cells": 1 << 60}))
for turn in range(40):
    m, n = int(rng.integers(50, 200)), int(rng.integers(130, 700))
    query, target = random_codes(rng, m, 4), random_codes(rng, n, 4)
    if turn % 2:
        target[n - m - 10 : n - 10] = query
    top = np.maximum(0, np.cumsum(rng.integers(-2, 3, n))) if turn % 3 == 0 else 0
    left = 0 if turn % 4 else int(rng.integers(0, 9))
    job = made_job(query, target, scoring, True, top, left, 0, best=True)
    columns = np.sort(rng.permutation(np.arange(2, n, 2 if turn % 5 else 1))[:4])
    threshold = (1, 25, 60, 500)[turn // 2 % 4]
    job = replace(job, columns=tuple(columns.tolist()), right=turn % 7 == 0, threshold=threshold)
    found, wanted = engine.tile(job), reference.tile(job)
    pairs = [(found.columns[k], wanted.columns[k]) for k in job.columns]
    pairs += [(found.bottom, wanted.bottom)]
    pairs += [(found.right, wanted.right)] if job.right else []
    for ours, theirs in pairs:
        ours, least = ours.read(0, len(theirs)), theirs.h - 3
        h, x = ours.h, ours.x
        assert np.array_equal(h, theirs.h), (turn, job.columns)
        low = np.maximum(x, least) != np.maximum(theirs.x, least)
        assert not (low & (np.maximum(x, theirs.x) > 2)).any(), (turn, job.columns)
    assert found.hits == wanted.hits, turn
    for kind, count in found.cells.items(): cells[kind] = cells.get(kind, 0) + count
assert min(cells["wavefront/packed/11"], cells["wavefront/packed/16"]) > 500_000, cells
print("all alike")
"""


#: The same in 16 bits, where lanes go on left and right of the matrix: special columns and right
#: edges that lanes store as they pass, more of these than a block may have, edges of all kinds.
PASSED = """
import sys
sys.path[:0] = ["tests", "tests/engines"]
from dataclasses import replace
import numpy as np
from contract_engines import assert_edge
from helpers import match_scoring, random_codes
from widths import made_job, odd_job
from pysw_cl.engines.reference import ReferenceEngine
from pysw_cl.engines.wavefront.engine import WavefrontEngine
from pysw_cl.opencl.device import get_runtime
from pysw_cl.engines.plans import make_plan
from pysw_cl.scoring.scoring import make_scoring
rng, runtime, reference = np.random.default_rng(9), get_runtime("auto"), ReferenceEngine()
scorings = [match_scoring(1, -3, 3, 2), match_scoring(2, 0, 3, 0)]
scorings.append(make_scoring("BLOSUM62", (10, 1)))
plan = {"lanes": "packed", "form": "ticketed", "T": 16, "B": 3, "chunk": 32}
plan["sections.least_cells"] = 1 << 60
engines = [WavefrontEngine(runtime, make_plan(runtime, {**plan, "alpha": k})) for k in (3, 17)]
cells = {}
for turn in range(60):
    local = turn % 3 > 0
    if turn % 4 == 3:
        job = odd_job(rng, local, turn % 8 == 3, most=130)
    else:
        scoring = scorings[turn % 4]
        letters = 4 if scoring.match_mismatch else 20
        m, n = int(rng.integers(1, 150)), int(rng.integers(1, 300))
        query, target = random_codes(rng, m, letters), random_codes(rng, n, letters)
        if n > m + 10:
            target[n - m - 7 : n - 7] = query
        edge = np.maximum(0, np.cumsum(rng.integers(-2, 3, n))) if turn % 5 == 0 else 0
        job = made_job(query, target, scoring, local, edge, 0 if turn % 5 else 7, 0)
    n = len(job.target)
    columns = np.unique(rng.integers(1, n + 1, turn % 7))
    threshold = (1, 25, 500)[turn % 3]
    job = replace(job, best=local, columns=tuple(columns.tolist()), right=turn % 2 == 0)
    job = replace(job, threshold=threshold)
    found, wanted = engines[turn // 2 % 2].tile(job), reference.tile(job)
    pairs = [(found.columns[k], wanted.columns[k]) for k in job.columns]
    pairs += [(found.bottom, wanted.bottom)]
    pairs += [(found.right, wanted.right)] if job.right else []
    for ours, theirs in pairs: assert_edge(ours, theirs, job.scoring.gap_open)
    assert found.hits == wanted.hits and (not local or found.top == wanted.top), turn
    for kind, count in found.cells.items(): cells[kind] = cells.get(kind, 0) + count
assert cells["wavefront/packed/16"] > 300_000, cells
print("all alike")
"""


@needs_oclgrind
def test_packed_lanes_without_shuffles() -> None:
    interpreted(RUN, *ONE_THREAD)


@needs_oclgrind
def test_lanes_of_11_bits_without_shuffles() -> None:
    interpreted(MIXED, *ONE_THREAD)


@needs_oclgrind
def test_lanes_of_11_bits_at_special_columns() -> None:
    interpreted(CROSSED, *ONE_THREAD)


@needs_oclgrind
def test_lanes_that_pass_ends_and_special_columns() -> None:
    interpreted(PASSED, *ONE_THREAD)
