#!/usr/bin/env python3
"""One process of bench/cold.py: first calls of each kind with the package of another folder.

    python bench/cold_child.py TREE DEVICE PAIRS KIND ...

TREE is the folder that holds `pysw_cl`.  PAIRS is a JSON file {kind: {"pairs": [[query, target],
...], "options": {...}}}.  A kind with one pair is an `align`, another one an `align_many`.  It
prints a JSON line for each kind: wall and CPU seconds of the call, and what it found.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any


def cpu_seconds() -> float:
    """CPU seconds of this process and of the children that it has waited for."""
    used = [resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def found(result: Any) -> Any:
    """What one `align` or `align_many` found, as JSON can hold it."""
    if not hasattr(result, "dtype"):
        ends = result.query_start, result.query_end, result.target_start, result.target_end
        return [result.score, *ends, str(result.cigar)]
    return [[str(value) for value in row] for row in result.tolist()]


def main() -> None:
    """Run the kinds; see the module's text."""
    tree, device, pairs, *kinds = sys.argv[1:]
    sys.path.insert(0, tree)
    import pysw_cl

    if Path(pysw_cl.__file__).resolve().parent.parent != Path(tree).resolve():
        raise SystemExit(f"pysw_cl comes from {pysw_cl.__file__}, not from {tree}")
    given = json.loads(Path(pairs).read_text())
    for kind in kinds:
        several, options = given[kind]["pairs"], given[kind]["options"]
        wall, cpu = time.perf_counter(), cpu_seconds()
        if len(several) == 1:
            result = pysw_cl.align(*several[0], device=device, **options)
        else:
            result = pysw_cl.align_many(several, device=device, **options)
        seconds = time.perf_counter() - wall, cpu_seconds() - cpu
        print(json.dumps([kind, *seconds, found(result)]), flush=True)


if __name__ == "__main__":
    main()
