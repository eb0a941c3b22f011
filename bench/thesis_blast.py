"""NCBI BLAST+ beside this package, for bench/thesis.py (table 6.9 of CUDAlign's thesis).

blastn is a heuristic: it extends words of 11 letters that both sequences have.  Its best score is
at most the optimum.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from cases import Letters, Row, WrongResult, check
from thesis_cases import Pair
from thesis_tables import in_seconds, table

#: The scoring of the other tables, one strand, nothing masked, and only the best score.
OPTIONS = (
    "-task blastn -reward 1 -penalty -3 -gapopen 3 -gapextend 2 -strand plus -dust no "
    "-soft_masking false -max_hsps 1 -max_target_seqs 1"
).split()
COLUMNS = "score qend send"
#: The most seconds of one run.
LIMIT = 300
#: blastn scores an ambiguity letter by the mean of what it may stand for; here it never matches.
#: So its score may be above the optimum, by at most a match less a mismatch for each such letter.
MORE = 4


def ambiguous(sequence: bytes) -> int:
    """How many letters are none of A, C, G, T."""
    return len(sequence) - sum(map(sequence.upper().count, (b"A", b"C", b"G", b"T")))


def blast(program: str, pair: Letters, folder: Path) -> tuple[float, tuple[int, int, int] | None]:
    """Seconds, and blastn's best score with its end; None if it finds nothing.

    Raises WrongResult if it fails, TimeoutExpired after `LIMIT` seconds.
    """
    files = []
    for name, sequence in zip(("query", "target"), pair, strict=True):
        files.append(folder / f"{name}.fasta")
        files[-1].write_bytes(b">" + name.encode() + b"\n" + sequence + b"\n")
    command = [program, "-query", str(files[0]), "-subject", str(files[1]), *OPTIONS]
    started = time.perf_counter()
    done = subprocess.run(
        [*command, "-outfmt", f"6 {COLUMNS}"], capture_output=True, text=True, timeout=LIMIT
    )
    seconds = time.perf_counter() - started
    if done.returncode:
        raise WrongResult(f"blastn failed: {done.stderr.strip()[:300]}")
    lines = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    best = max(lines, default=None)
    return seconds, (best[0], best[1], best[2]) if best else None


def blast_table(found: Iterable[tuple[Pair, Letters]], rows: Iterable[Row]) -> str:
    """Table 6.9; ``rows`` have this package's results of the same pairs, and get blastn's."""
    title = "### NCBI BLAST+ (table 6.9)\n\n"
    program = shutil.which("blastn")
    if program is None:
        return title + "blastn is not installed here (Debian's package: ncbi-blast+).\n"
    version = subprocess.run([program, "-version"], capture_output=True, text=True).stdout
    shown = []
    for (pair, sequences), row in zip(found, rows, strict=True):
        with tempfile.TemporaryDirectory() as folder:
            try:
                seconds, best = blast(program, sequences, Path(folder))
            except subprocess.TimeoutExpired:
                shown.append((pair.name, "-", f"more than {LIMIT} s", *_ours(row)))
                continue
        if best is not None:
            most = row["score"] + MORE * sum(map(ambiguous, sequences))
            check(f"{pair.name}: blastn's {best[0]} is at most {most}", best[0] <= most, True)
        row["blast_seconds"], row["blast_score"] = seconds, best and best[0]
        score = "none" if best is None else f"{best[0]:,}"
        shown.append((pair.name, score, in_seconds(seconds), *_ours(row)))
    head = "query x target", "blastn's best score", "blastn's time", "optimum", "its alignment"
    words = f"{version.splitlines()[0]}, {' '.join(OPTIONS)}, one thread.\n"
    words += "The optimum's alignment is pruned and has its path.\n"
    return f"{title}{words}\n{table((*head, 'score and end, all cells'), shown)}"


def _ours(row: Row) -> tuple[str, str, str]:
    """The columns of this package."""
    return f"{row['score']:,}", in_seconds(row["alignment_seconds"]), in_seconds(row["seconds"])
