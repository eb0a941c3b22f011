"""What users call for all against all: ``score_matrix``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..api.advice import Tally, advise_tally
from ..api.align import told
from ..api.all_pairs import AllPairs
from ..api.pair_aligner import teller
from ..drivers.grid import Side, work_of
from ..drivers.options import MatrixOptions, MatrixOutput, Resources
from ..drivers.problem import Mode
from ..drivers.progress import Progress
from ..errors import InputError, SequenceError, file_name
from ..planning.plan import Plan
from ..results.formats.files import written
from ..results.stats import Stats
from ..scoring.scoring import Scoring, made_of
from ..sequences.alphabet import NO_CODE, PIECE
from ..sequences.sequence_set import SequenceSet
from .database import Database

Matrix = NDArray[np.int32] | NDArray[np.float64]


def score_matrix(
    queries: Any,
    targets: Any = None,
    *,
    output: MatrixOutput = "score",
    mode: Mode = "local",
    free_ends: bool | tuple[bool, ...] = False,
    sub_score: Any = (1, -3),
    gap_cost: Any = None,
    wildcard: str | None = None,
    unknown: str = "error",
    allow_odd_scoring: bool = False,
    out: str | os.PathLike[str] | None = None,
    device: Any = "auto",
    plan: Plan | Mapping[str, Any] | None = None,
    progress: Progress | bool | None = None,
) -> Matrix:
    """Compare all queries with all targets, exactly: a matrix of their scores or distances.

    Parameters
    ----------
    queries, targets : sequences
        Each an iterable of sequences as `align` takes them (a list of str is the fast way), a
        `SequenceSet`, a `Database`, or the path of a database or of a file of FASTA or FASTQ.
        Without ``targets`` the queries are compared with each other; each pair is aligned once,
        unless it scores otherwise with query and target exchanged.
    output : "score" or "distance"
        "distance", for mode "global": that of Feng & Doolittle (1996, Methods Enzymol 266,
        368-382), as scikit-bio computes it: 0 for equal sequences, at most 13.8.
    mode, free_ends, sub_score, gap_cost, wildcard, unknown, allow_odd_scoring
        As for `align`.
    out : path, optional
        Write the matrix to this ``.npy`` file, which appears when it is complete, instead of into
        memory.  What is returned is mapped from it.
    device, plan, progress
        As for `align_many`.

    Returns
    -------
    array with a row for each query and a column for each target, in their orders
        int32 scores, or float64 where scores or gap costs have halves; float64 distances.

    A gap of k letters costs ``open + k * extend``.

    Raises
    ------
    SequenceError
        For an empty sequence, or a letter outside the alphabet, with the sequence and the position.
    RangeError
        For sequences so long that a score could leave 32 bits.
    InputError, FileError, DeviceError
        As `align`.

    >>> import pysw_cl
    >>> pysw_cl.score_matrix(["ACGTT", "ACGAA"], ["ACGT", "TTAC", "GTT"], device="cpu").tolist()
    [[4, 2, 3], [3, 2, 1]]
    """
    given = locals()
    options, resources = made_of(MatrixOptions, given), made_of(Resources, given)
    return matrix_of(queries, targets, options, resources, out)[0]


def matrix_of(
    queries: Any, targets: Any, options: MatrixOptions, resources: Resources, out: Any = None
) -> tuple[Matrix, Stats]:
    """`score_matrix` with what it cost, with options that are checked."""
    started, scoring = perf_counter(), options.scoring
    tally = Tally(scoring)
    rows = columns = Side(_sequences(queries, "query", scoring, tally))
    if targets is not None:
        columns = Side(_sequences(targets, "target", scoring, tally))
    elif not options.symmetric:
        columns = Side(rows.of)
    same, shape = rows is columns, (len(rows), len(columns))
    if all(shape):
        scoring.bounds.check_range(int(rows.lengths[0]), int(columns.lengths[0]), options.mode)
    scale = scoring.scale if options.output == "score" else 1
    kind = np.int32 if options.output == "score" and scale == 1 else np.float64
    cells, pairs = work_of(rows.lengths, columns.lengths, same)
    with _room(shape, kind, out) as matrix, told(resources.progress) as run:

        def put(q: Any, t: Any, values: NDArray[Any]) -> None:
            values = values if scale == 1 else values / scale
            _put(matrix, q, t, values)
            if same and q is not t:
                _put(matrix, t, q, values.T)

        work = AllPairs(rows, columns, options, resources)
        work.run(put, teller(run, cells, pairs))
    advise_tally(tally, options.mode, work.stats.total_cells)
    work.stats.seconds = perf_counter() - started
    return (matrix if out is None else np.load(out, mmap_mode="r")), work.stats


def _put(matrix: Matrix, q: Any, t: Any, scores: NDArray[Any]) -> None:
    """Put scores into some rows and columns of a matrix, each a slice or numbers."""
    if not isinstance(t, slice) and len(t) == matrix.shape[1]:
        matrix[q] = np.take(scores, np.argsort(t), axis=1)
    else:
        matrix[(q, t) if isinstance(q, slice) or isinstance(t, slice) else np.ix_(q, t)] = scores


@contextmanager
def _room(shape: tuple[int, int], kind: Any, out: Any) -> Iterator[Any]:
    """An array for the matrix: in memory, or in a file that appears at the end."""
    if out is None:
        yield np.empty(shape, kind)
        return
    name = file_name(out, "out")
    if not name.endswith(".npy"):
        raise InputError(f"out={name!r}: a matrix is written as NumPy's .npy file")
    with written(name, binary=True) as file:
        if 0 in shape:  # such a file cannot be mapped
            np.save(file, np.empty(shape, kind))
            yield np.empty(shape, kind)
            return
        made = np.lib.format.open_memmap(file.name, "w+", kind, shape)
        yield made
        made.flush()


def _sequences(given: Any, what: str, scoring: Scoring, tally: Tally) -> SequenceSet:
    """The sequences of one side, which are checked and counted."""
    if isinstance(given, str | os.PathLike):
        given = Database(given)
    if isinstance(given, Database):
        if given.full < len(given):
            name = given.sequence(given.full).name
            raise SequenceError(f"record {name!r} is empty; it needs at least one letter")
        given.check_letters(scoring)
        tally.add_counts(given.letters)
        return given.in_order
    of = given if isinstance(given, SequenceSet) else SequenceSet.from_sequences(given)
    if len(of) and not of.lengths.all():
        k = int(of.lengths.argmin())
        raise SequenceError(f"{what} number {k} is empty; it needs at least one letter")
    wrong = scoring.query_encoding == NO_CODE
    first, last = (int(of.starts.min()), int(of.ends.max())) if len(of) else (0, 0)
    for start in range(first, last, PIECE):
        letters = of.read(start, min(start + PIECE, last))
        if wrong[letters].any():  # perhaps between sequences
            for k, one in enumerate(of):
                name = of.name(k)
                scoring.check_letters(one, f"{what} {name}" if name else f"{what} number {k}")
        if tally.needed:
            tally.add(letters)
    return of
