"""What users call for all against all: ``score_matrix``, and who computes its values."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from math import isqrt
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..api.advice import Tally, advise_tally
from ..api.bar import told
from ..api.pair_aligner import PairAligner, Tell, teller
from ..cluster.parts import Shared, in_order, part_cells, spans
from ..cluster.workers import workers_of
from ..drivers.batch_results import PairResults
from ..drivers.grid import Grid, Ints, Put, Side, work_of
from ..drivers.options import MatrixOptions, MatrixOutput, Resources
from ..drivers.prepared import Batch
from ..drivers.problem import Mode
from ..drivers.progress import Progress
from ..errors import InputError, SequenceError, file_name
from ..planning.parameters import PairTuning
from ..planning.plan import Plan
from ..results.formats.files import written
from ..results.pair_paths import runs_of
from ..results.stats import Stats
from ..scoring.scoring import Scoring, made_of
from ..sequences.alphabet import PIECE
from ..sequences.sequence_set import SequenceSet
from .database import Database

Matrix = NDArray[np.int32] | NDArray[np.float64]
#: Values of a block.
VALUES = 1 << 22
#: Pairs whose paths are held at once.
PATHS = PairTuning(grid_pairs=1 << 16)


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
    iupac: str = "mismatch",
    unknown: str = "error",
    allow_odd_scoring: bool = False,
    out: str | os.PathLike[str] | None = None,
    device: Any = "auto",
    plan: Plan | Mapping[str, Any] | None = None,
    progress: Progress | bool | None = None,
    cluster: Any = None,
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
    mode, free_ends, sub_score, gap_cost, wildcard, iupac, unknown, allow_odd_scoring
        As for `align`.
    out : path, optional
        Write the matrix to this ``.npy`` file, which appears when it is complete, instead of into
        memory.  What is returned is mapped from it.
    device, plan, progress, cluster
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
    [[4, 2, 3], [3, 2, 1]]"""
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
        put = partial(_put, matrix, same, scale)
        tell, stats = teller(run, cells, pairs), Stats()
        if resources.cluster is None or not pairs:
            with MatrixAligner(options, resources) as aligner:
                stats.add(aligner.run(rows, columns, put, tell))
        else:
            for (q, t), take in _elsewhere(rows, columns, options, resources):
                values, cost = take()
                put(q, t, values)
                tell(*work_of(rows.of[q].lengths, columns.of[t].lengths, q is t))
                stats.add(cost)
    advise_tally(tally, options.mode, stats.total_cells)
    stats.seconds = perf_counter() - started
    return (matrix if out is None else np.load(out, mmap_mode="r")), stats


def _elsewhere(rows: Side, columns: Side, options: MatrixOptions, resources: Resources) -> Any:
    """The values of blocks, by the workers of a cluster.  If both sides are the same, those on the
    diagonal, whose rows and columns are one object, and above it."""
    same, one, other = rows is columns, rows.of, columns.of
    with workers_of(resources.cluster) as workers:
        assert workers is not None
        most = part_cells(work_of(one.lengths, other.lengths, same)[0], workers)
        side = min(int(one.lengths.sum()), max(isqrt(most), most // int(other.lengths.sum())))
        high = min(len(one), isqrt(VALUES))
        down = across = spans((one.lengths, side), (np.ones(len(one)), high))
        if not same:
            across = spans((other.lengths, most // side), (np.ones(len(other)), VALUES // high))
        blocks = ((q, t) for k, q in enumerate(down) for t in across[k if same else 0 :])
        shared = Shared(Blocks, one, other, options, resources.of_worker)
        yield from in_order(workers, shared, Blocks.of, ((both, both) for both in blocks))


def _put(matrix: Matrix, same: bool, scale: int, q: Any, t: Any, values: NDArray[Any]) -> None:
    """Put values into some rows and columns of a matrix, each a slice or numbers; with the ``same``
    sequences on both sides, also where these are exchanged."""
    values = values if scale == 1 else values / scale
    if not isinstance(t, slice) and len(t) == matrix.shape[1]:
        matrix[q] = np.take(values, np.argsort(t), axis=1)
    else:
        matrix[(q, t) if isinstance(q, slice) or isinstance(t, slice) else np.ix_(q, t)] = values
    if same and q is not t:
        _put(matrix, False, 1, t, q, values.T)


class MatrixAligner(AbstractContextManager["MatrixAligner"]):
    """Computes matrices of what is asked for; device memory is kept until the end."""

    def __init__(self, options: MatrixOptions, resources: Resources) -> None:
        self._options = options
        self._aligners = [PairAligner(options.of_pairs(x), resources) for x in ("score", "path")]

    def __exit__(self, *_: object) -> None:
        for one in self._aligners:
            one.__exit__()

    def run(self, rows: Side, columns: Side, put: Put, tell: Tell) -> Stats:
        """Compute all values, see `Grid.run`; returns what that costs."""
        self._rows, self._columns, self.stats = rows, columns, Stats()
        aligner = self._aligners[0]
        if self._options.output == "distance":
            grid = Grid(None, PATHS, self._distances())
        elif aligner.batches:
            grid = Grid(*aligner.ready(), self._scores)
        else:
            grid = Grid(None, PairTuning(), self._scores)
        grid.run(rows, columns, put, tell)
        self.stats.add(grid.stats)
        return self.stats

    def _found(self, path: bool, queries: SequenceSet, targets: SequenceSet) -> PairResults:
        """The results of as many queries and targets, which are aligned once."""
        batch = Batch(queries, targets)
        batch.again = False
        found = self._aligners[path].found(batch)
        self.stats.add(found.stats)
        return found

    def _scores(self, q: Ints, t: Ints) -> NDArray[Any]:
        return self._found(False, self._rows.of.take(q), self._columns.of.take(t)).values["score"]

    def _distances(self) -> Callable[[Ints, Ints], NDArray[Any]]:
        """What gives the distances of Feng & Doolittle (1996, Methods Enzymol 266, 368-382), as
        scikit-bio's `multi_align` has them, to the last bit.  If both sides are the same, the
        sequence with the lower number is the query.

        The score of a pair lies between that of two random sequences of the same letters, in as
        many columns and with the same gaps, and the mean of both with themselves; the distance is
        the negative logarithm of its share there, which is at least 1e-6.  All sums are of whole
        numbers, exact in any order; a power of two that all scores have as a factor cancels."""
        scoring, same = self._options.scoring, self._rows is self._columns
        rows, columns = self._rows.of, self._columns.of
        itself = [self._found(False, side, side).values["score"] for side in (rows, columns)]
        #: How often each letter that there is comes in each row and column.
        counts = [
            np.array([np.bincount(one, minlength=256) for one in side], np.float64).reshape(-1, 256)
            for side in (rows, columns)
        ]
        used = np.flatnonzero(np.concatenate(counts).any(axis=0))
        counts = [one[:, used] for one in counts]
        scores = scoring.matrix[np.ix_(scoring.query_encoding[used], scoring.target_encoding[used])]

        def distances(q: Ints, t: Ints) -> NDArray[Any]:
            every = np.zeros(len(q))
            apart = np.flatnonzero(q != t) if same else np.arange(len(q))
            q, t = q[apart], t[apart]
            if same:
                q, t = np.minimum(q, t), np.maximum(q, t)
            queries, targets = rows.take(q), columns.take(t)
            found = self._found(True, queries, targets)
            length, opened, inner = _gaps(found, queries.lengths, targets.lengths)
            each = np.einsum("pa,pa->p", counts[0][q] @ scores, counts[1][t])
            random = each / length - (scoring.gap_open * opened + scoring.gap_extend * inner)
            mean = (itself[0][q].astype(np.int64) + itself[1][t]) / 2
            most = mean - random
            with np.errstate(divide="ignore", invalid="ignore"):
                share = np.clip((found.values["score"] - random) / most, 1e-6, 1.0)
            every[apart] = np.where(most == 0, 0.0, -np.log(share))
            return every

        return distances


class Blocks(MatrixAligner):
    """Computes blocks of a matrix at a worker."""

    def __init__(self, rows: SequenceSet, columns: SequenceSet, *how: Any) -> None:
        super().__init__(*how)
        self._sides = rows, columns

    def of(self, q: slice, t: slice) -> tuple[NDArray[Any], Stats]:
        """The values of some rows and columns, which are the same if these are one object."""
        rows = columns = Side(self._sides[0][q])
        if t is not q:
            columns = Side(self._sides[1][t])
        kind = np.int32 if self._options.output == "score" else np.float64
        values = np.empty((len(rows), len(columns)), kind)
        return values, self.run(rows, columns, partial(_put, values, t is q, 1), lambda *_: None)


def _gaps(found: PairResults, m: Ints, n: Ints) -> tuple[Ints, Ints, Ints]:
    """Of each path: its columns, free end gaps included; how many other gaps it has, and their
    letters.

    scikit-bio leaves out the first and the last run of a path with free ends if they are gaps.
    These are always the free gaps: a path stops at the border, where a gap would cost something,
    and of equal ends the first is taken."""
    assert found.paths is not None
    values, (words, offsets) = found.values, found.paths.joined()
    sides = ((values[f"{side}_end"], values[f"{side}_start"]) for side in ("query", "target"))
    spans = sum(end.astype(np.int64) - start for end, start in sides)
    gaps = np.append(0, np.cumsum(np.isin(runs_of(words).ops, list(b"ID"))))[offsets]
    columns = values["columns"]
    return columns + m + n - spans, np.diff(gaps), 2 * columns - spans


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
        if hasattr(os, "posix_fallocate"):  # else a full disk ends the process
            os.posix_fallocate(file.fileno(), 0, os.fstat(file.fileno()).st_size)
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
    if not of.lengths.all():
        k = int(of.lengths.argmin())
        raise SequenceError(f"{what} number {k} is empty; it needs at least one letter")
    first, last = (int(of.starts.min()), int(of.ends.max())) if len(of) else (0, 0)
    for start in range(first, last, PIECE):
        letters = of.read(start, min(start + PIECE, last))
        if not scoring.knows(letters):  # perhaps between sequences
            for k, one in enumerate(of):
                name = of.name(k)
                scoring.check_letters(one, f"{what} {name}" if name else f"{what} number {k}")
        if tally.needed:
            tally.add(letters)
    return of
