"""Packed lanes under Oclgrind, which lacks shuffles: values go through local memory there, and
every access is checked."""

from __future__ import annotations

from interpreting import interpreted, needs_oclgrind

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


@needs_oclgrind
def test_packed_lanes_without_shuffles() -> None:
    interpreted(RUN)
