"""What users call to search: ``search``, and ``Searcher``, which keeps a database on the device."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from itertools import groupby, islice
from operator import itemgetter
from typing import Any

from ..api.advice import Tally, advise_tally, warn_of_letters
from ..api.bar import told
from ..api.statistics import law_of_search
from ..cluster.workers import workers_of
from ..drivers.options import EValuesOf, Output, Resources, SearchOptions
from ..drivers.problem import Mode
from ..drivers.progress import Progress, Stage
from ..errors import InputError, InputWarning, warn
from ..planning.plan import Plan
from ..results.stats import Stats
from ..scoring.positions import USUAL, PositionMatrix
from ..scoring.scoring import Scoring, made_of, names_of
from ..scoring.statistics.law import ScoreStatistics
from ..sequences.sequence import Sequence
from ..sequences.view import COMPARED, Strand
from .database import Database
from .elsewhere import ClusterSearch
from .hits import Hits
from .passes import Asked, Passes, Tell
from .queries import checked


def search(
    queries: Any,
    db: Any,
    *,
    top: int | None = 10,
    min_score: float | None = None,
    ties: bool = False,
    output: Output = "ends",
    evalues: EValuesOf = "auto",
    db_letters: int | None = None,
    max_evalue: float | None = None,
    min_bits: float | None = None,
    min_identity: float | None = None,
    min_coverage: float | None = None,
    alignments: int = 1,
    exclude_self: bool = False,
    prefilter: str | None = None,
    kmer_length: int | None = None,
    mode: Mode = "local",
    free_ends: bool | tuple[bool, ...] = False,
    sub_score: Any = "BLOSUM62",
    gap_cost: Any = None,
    wildcard: str | None = None,
    iupac: str = "mismatch",
    unknown: str = "error",
    allow_odd_scoring: bool = False,
    strand: Strand = "plus",
    device: Any = "auto",
    plan: Plan | Mapping[str, Any] | None = None,
    progress: Progress | bool | None = None,
    cluster: Any = None,
) -> Iterator[Hits]:
    """Search queries in a database: compare each with every sequence, exactly, and give the best.

    Parameters
    ----------
    queries : sequence, or iterable of sequences
        As `align` takes them, `PositionMatrix` included; what `read_sequences` gives, for example.
        Some thousand are searched in one pass over a database that is larger than the device's
        memory; with ``progress`` all of them are read first.
    db : Database, path, or iterable of sequences
        What they are searched in; a path is that of a database or of a file of sequences.
    top : int or None
        Hits with at most so many sequences a query: those with the lowest E-values, which are not
        rounded; among equal ones, or where there are none, those with the highest scores, and then
        the first ones in the source of the database.  None: all.
    min_score : number, optional
        The least score of a hit, in units of ``sub_score``.  By default it is above 0 in mode
        "local", and any score does otherwise.
    ties : bool
        With ``top``: also give all sequences that are as good as the last hit.
    evalues : "auto", "library" or "none"
        Where ``expect`` and ``bits`` of hits come from.  "auto": in mode "local" from what
        `score_statistics` has, fitted to random sequences with the composition of the database
        where it is not NCBI's; in mode "global" there are none.  "library": from the scores of this
        search, in any mode.
    db_letters : int, optional
        E-values are those of a search of so many letters (default: those of the database), of which
        the database may be a part.
    max_evalue, min_bits : number, optional
        The highest E-value and the least bit score of a hit.
    min_identity, min_coverage : number from 0 to 1, optional
        The least ``identity`` of a hit, and the least share of the query's letters that it aligns.
    alignments : int
        Up to so many alignments with each of these sequences, which share no pair of letters, as
        `align_top` finds them; further ones are good enough, too.  In mode "global", with
        ``free_ends=(True, False)`` and a ``min_score``: places of the whole query, of which no two
        share a letter of a sequence's strand.
    exclude_self : bool
        Leave out sequences with the query's name and letters.
    prefilter : "kmer" or None
        "kmer" is a heuristic, which may miss hits: only sequences that share ``kmer_length`` equal
        letters in a row with the query are scored (default: 5, of nucleotides 11).  Scores are
        exact, and E-values those of the whole database.
    output : "score", "ends" or "path"
        How much is found out about the hits: the score alone, where the best alignment ends, or
        all of it, from which their texts, files and tables are made.
    mode, free_ends, sub_score, gap_cost, wildcard, iupac, unknown, allow_odd_scoring
        As for `align`; but ``sub_score`` is BLOSUM62 by default.  A `PositionMatrix` has scores of
        its own, to which ``gap_cost`` and ``mode`` apply; the others are for plain queries.
    strand : "plus", "minus" or "both"
        As for `align`.  The score of "both" is that of the better strand of each subject, plus
        among equals, and its E-value that of a search of twice as many letters.
    device, plan, progress
        As for `align`; but ``device`` may be several, which search at once: "all", or a list.
    cluster : str, Dask client or cluster, or Executor, optional
        As for `align_many`.  A database that workers see under its path is read there, others are
        sent to them.  Of few queries each worker searches ranges of the database.

    Returns
    -------
    iterator of Hits
        A list of `Hit` for each query, in order, perhaps empty: an `Alignment` with the ``number``
        of the sequence in the database.  The same on every device.  The search goes on as they are
        taken.

    A gap of k letters costs ``open + k * extend``.

    Raises
    ------
    SequenceError
        For a letter outside the alphabet, with its record and position, and an empty query.
    RangeError
        For a query whose scores could leave 32 bits.
    InputError, DeviceError
        As `align`.

    Method: every score is computed (Smith & Waterman 1981, J Mol Biol 147, 195-197), as by CUDASW++
    (Liu, Wirawan & Schmidt 2013, BMC Bioinformatics 14:117); nothing is filtered by default."""
    given = locals()
    options = made_of(SearchOptions, given)  # checked before the database is read
    return _closing(searcher_of(given), queries, options, progress)


class Searcher(Passes, AbstractContextManager["Searcher"]):
    """Searches in one database with one scoring, mode and device, any number of times.

    The arguments are those of :func:`search`; a gap of k letters costs ``open + k * extend``.  The
    database stays on the device until `close`, or the end of a ``with`` block, if there is room;
    a closed searcher can go on.  Several threads may use one: their passes over the database take
    turns.  Processes with a searcher each share the file of a database in the host's memory.

    ``db`` is the `Database`, and ``stats``, a `Stats`, what all searches cost so far."""

    def __init__(
        self,
        db: Any,
        sub_score: Any = "BLOSUM62",
        gap_cost: Any = None,
        *,
        mode: Mode = "local",
        free_ends: bool | tuple[bool, ...] = False,
        wildcard: str | None = None,
        iupac: str = "mismatch",
        unknown: str = "error",
        allow_odd_scoring: bool = False,
        strand: Strand = "plus",
        device: Any = "auto",
        plan: Plan | Mapping[str, Any] | None = None,
        cluster: Any = None,
    ) -> None:
        given = locals()
        options, resources = made_of(SearchOptions, given), made_of(Resources, given)
        scoring = options.scoring
        if scoring.alphabet is not None:
            raise InputError(f"a Database has plain letters; sub_score is for {scoring.alphabet}")
        self._options = replace(options, sub_score=scoring)  # made once
        if not isinstance(db, Database):
            db = Database(db) if isinstance(db, str | os.PathLike) else Database.from_sequences(db)
        super().__init__(db, resources)
        self.stats = Stats()
        self.db.check_letters(scoring)
        tally = Tally(scoring)
        tally.add_counts(self.db.letters)
        warn_of_letters(tally)
        if empty := len(self.db) - self.db.full:
            name, several = self.db.sequence(self.db.full).name, "s" * (empty > 1)
            said = f"{empty:,} sequence{several} of the database without letters, {name!r} first"
            warn(f"{said}; what the mode gives for none is their score", InputWarning)
        self._lock, self._owner = threading.Lock(), 0
        self._laws: dict[Scoring, ScoreStatistics | None] = {}

    def search(
        self,
        queries: Any,
        *,
        top: int | None = 10,
        min_score: float | None = None,
        ties: bool = False,
        output: Output = "ends",
        evalues: EValuesOf = "auto",
        db_letters: int | None = None,
        max_evalue: float | None = None,
        min_bits: float | None = None,
        min_identity: float | None = None,
        min_coverage: float | None = None,
        alignments: int = 1,
        exclude_self: bool = False,
        prefilter: str | None = None,
        kmer_length: int | None = None,
        progress: Progress | bool | None = None,
    ) -> Iterator[Hits]:
        """Search queries; see :func:`search`."""
        options = made_of(SearchOptions, {**vars(self._options), **locals()})
        return self.passes(queries, options, progress)

    def close(self) -> None:
        """Free the device's memory."""
        with self._alone():
            self._free()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One thread at a time searches.  Raises InputError within its own progress callback."""
        if self._owner == threading.get_ident():
            raise InputError(
                "a Searcher cannot be used by its own progress; an error there ends it"
            )
        with self._lock:
            self._owner = threading.get_ident()
            try:
                yield
            finally:
                self._owner = 0

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        mode, words = self._options.mode, self._options.scoring.in_words
        return f"<Searcher {mode} in {self.db!r}, device {self._resources.device!r}: {words}>"

    def passes(
        self, queries: Any, options: SearchOptions, progress: Progress | bool | None
    ) -> Iterator[Hits]:
        """The hits of each query, pass by pass, with options that are checked."""
        source = checked(queries, options, self.db)
        tally = Tally(options.scoring, nucleotides=False)
        cells = pairs = 0
        with told(progress) as run, workers_of(self._resources.cluster) as workers:

            def tell(more: int) -> None:
                nonlocal cells
                cells += more
                if run.watched:
                    done = pairs * min(cells, run.total) // max(1, run.total)
                    run.tell(cells, Stage("pairs", done, pairs))

            if run.watched:
                every = list(source)
                source, pairs = iter(every), len(every) * len(self.db)
                cells_of_all = sum(len(query) for query, _ in every) * self.db.total_letters
                run.begin(cells_of_all * len(COMPARED[options.strand]))
                tell(0)
            for matrix, some in groupby(source, itemgetter(1)):
                own = options
                if matrix is not None:
                    scoring = matrix.scoring(options.gap_cost)
                    own = replace(options, **USUAL | {"sub_score": scoring})
                queries = map(itemgetter(0), some)
                asked = Asked(own, matrix, None)
                if workers is None:
                    found = self._here(queries, asked, tell)
                else:
                    asked = asked._replace(law=self.statistics(own, matrix))
                    job = self.db, asked, self._resources, self.stats
                    found = ClusterSearch(workers, *job).hits(queries, tell)
                for hits in found:
                    if tally.needed and matrix is None:
                        tally.add(hits.query.letters)
                    yield hits
        advise_tally(tally, options.mode, cells)

    def _here(self, queries: Iterator[Sequence], asked: Asked, tell: Tell) -> Iterator[Hits]:
        while True:
            with self._alone():
                count = self._at_once(asked)
            if not (shared := list(islice(queries, count))):
                return
            with self._alone():
                law = self.statistics(asked.options, asked.matrix)
                found, stats = self._pass(shared, asked._replace(law=law), tell)
                self.stats.add(stats)
            yield from found

    def statistics(
        self, options: SearchOptions, matrix: PositionMatrix | None = None
    ) -> ScoreStatistics | None:
        """Where E-values come from before a search; None: nowhere."""
        device = self._devices[0] if self._devices else "auto"
        resources = replace(self._resources.of_worker, device=device)
        return law_of_search(self.db.letters, options, resources, matrix, self._laws)


def searcher_of(given: Mapping[str, Any]) -> Searcher:
    """The searcher with those of the ``given`` values that are arguments of it."""
    return Searcher(**{name: given[name] for name in names_of(Searcher) if name in given})


def _closing(searcher: Searcher, *asked: Any) -> Iterator[Hits]:
    with searcher:
        yield from searcher.passes(*asked)
