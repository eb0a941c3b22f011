"""The statistics of a scoring, from which E-values follow: published ones, or fitted ones."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import asdict, replace
from math import isclose
from typing import Any

import numpy as np

from ..drivers.options import CHECKS, ManyOptions, Resources, SearchOptions
from ..errors import InputError, InputWarning, ScoringError, is_number, shown, warn
from ..planning.plan import Plan
from ..planning.profiles.profile import user_folder, write_whole
from ..results.aligned_pair import AlignedPair
from ..results.formats.columns import TableRows
from ..results.formats.writer import Row, Setting, row_of
from ..scoring.matrices import background
from ..scoring.positions import PositionMatrix
from ..scoring.scoring import Scoring, made_of, make_scoring
from ..scoring.statistics.fit import fitted_to
from ..scoring.statistics.law import ScoreStatistics
from ..scoring.statistics.published import published
from ..sequences.alphabet import Letters
from ..sequences.sequence_set import SequenceSet
from .advice import is_linear
from .pair_aligner import PairAligner
from .search_engine import search_engine

#: What a fit is known by, beside what it is of; another one with every change of the method.
VERSION = 1
#: Random pairs: so many groups of queries, queries of a group, and subjects of each.
GROUPS, QUERIES, SUBJECTS = 20, 5, 1000
#: Cells of a fit by a position matrix, at most.
MOST_CELLS = 2 * 10**10
#: Letters of random sequences; the first ones of which alignments take less than a share.
LENGTHS, SHARE = (1000, 4000), 0.125
#: Pairs of which it is looked at how much alignments take.
TRACED = 3000
Composition = Mapping[str, float]
Matrix = PositionMatrix | None
#: No share of a letter is larger.
MOST_SHARE = 1e18
#: The fits of this process, and why some failed.
_known: dict[str, ScoreStatistics | ScoringError] = {}


def score_statistics(
    sub_score: Any = (1, -3),
    gap_cost: Any = None,
    *,
    wildcard: str | None = None,
    unknown: str = "error",
    composition: Composition | None = None,
    device: Any = "auto",
    plan: Plan | Mapping[str, Any] | None = None,
) -> ScoreStatistics:
    """Lambda, K and what else E-values of local alignments need.

    Parameters
    ----------
    sub_score, gap_cost, wildcard, unknown
        As for `align`; or ``sub_score`` is a `PositionMatrix`.  A gap of k letters costs
        ``open + k * extend``.
    composition : mapping of str to float, optional
        How frequent letters are.  By default those of proteins have the frequencies of Robinson &
        Robinson (1991, PNAS 88, 8880-8884), and all others are as frequent as each other.
    device, plan
        As for `align`: on what random pairs are compared, if that is needed.

    They are NCBI's, where BLAST+ has them for this matrix and gap cost and no composition is given.
    Else they are fitted, once, to the scores of 100,000 random pairs, and kept beside the user's
    profiles; the same ones on every device.

    Raises ScoringError where scores of unrelated sequences follow no such law: the mean score of
    two letters is not negative, none is positive, or gaps cost so little that local alignments run
    through whole sequences (the linear phase)."""
    if isinstance(sub_score, PositionMatrix):
        matrix, scoring = sub_score, sub_score.scoring(gap_cost)
    else:
        matrix, scoring = None, make_scoring(sub_score, gap_cost, wildcard, unknown)
    return statistics_of(scoring, Resources(device=device, plan=plan), composition, matrix)


def statistics_of(
    scoring: Scoring,
    resources: Resources,
    composition: Composition | None = None,
    matrix: Matrix = None,
) -> ScoreStatistics:
    """See `score_statistics`; of a scoring by position by its ``matrix``."""
    if composition is None and (own := published(scoring)) is not None:
        return own
    letters, shares = _composition(scoring, composition)
    _check(scoring, letters, shares, matrix)
    facts = scoring.facts(), letters.tolist(), shares.tolist(), matrix is None, VERSION
    name = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]
    found = _known.get(name) or _kept(name)
    if found is None:
        try:
            found = _fitted(scoring, resources, letters, shares, matrix)
            with suppress(OSError):  # it is kept, if there is a folder that can be written
                if (folder := user_folder()) is not None:
                    write_whole(folder / "statistics" / f"{name}.json", json.dumps(asdict(found)))
        except ScoringError as error:
            found = error
    _known[name] = found
    if isinstance(found, ScoringError):
        raise ScoringError(str(found))
    return found


def law_of_search(
    counts: Mapping[str, int],
    options: SearchOptions,
    resources: Resources,
    matrix: Matrix,
    known: dict[Scoring, ScoreStatistics | None],
) -> ScoreStatistics | None:
    """What E-values of a search follow from before it, in a database whose letters come so often.
    None: nothing, with a warning if that is because no law holds.  ``known``: what was found for
    the last scoring, without another warning."""
    scoring, needed = options.scoring, (options.max_evalue, options.min_bits) != (None, None)
    if options.evalues != "auto":
        return None
    if (own := published(scoring)) is not None:
        return own
    if scoring not in known or (needed and known[scoring] is None):
        known.clear()
        try:
            composition = _composition_of(counts, scoring)
            known[scoring] = statistics_of(scoring, resources, composition, matrix)
        except ScoringError as error:
            if needed:
                raise
            warn(str(error), InputWarning)
            known[scoring] = None
    return known[scoring]


class PairExpects:
    """Gives rows of pairs the E-values and bit scores of a search of ``db_letters`` letters.
    ``given``: arguments, those of `Resources` among them."""

    def __init__(self, db_letters: Any, given: Mapping[str, Any], strands: int = 1) -> None:
        self._letters = strands * CHECKS["db_letters"](db_letters, "db_letters")
        self._resources = made_of(Resources, {**given, "progress": None})
        self._known = dict[Scoring, ScoreStatistics | None]()

    def setting(self, given: Setting) -> Setting:
        """The setting of a file of such rows.  Warns where no law holds for its first one."""
        if given.scoring is None or given.expects:
            return given
        mode = given.mode.partition(";")[0]
        if mode != "local":
            warn("there are no E-values of pairs in mode 'global'", InputWarning)
        return replace(given, expects=bool(self._values(mode, given.scoring, 0, 1, 1)))

    def rows(self, rows: Iterable[Row]) -> Iterable[Row]:
        """Rows, which keep those of a search, and have none where no law holds."""
        if isinstance(rows, TableRows):
            how, scores = (rows.common["mode"], rows.common["scoring"]), rows.table["score"]
            m, n = (np.array([len(pair[k]) for pair in rows.pairs], np.int64) for k in (0, 1))
            return rows.extended(self._values(*how, scores, m, n))
        more = (row_of(self._of(row.alignment())) for row in rows)
        return list(more) if isinstance(rows, list) else more

    def _of(self, one: AlignedPair) -> AlignedPair:
        if one.expect is not None:
            return one
        said = self._values(one.mode, one.scoring, one.score, len(one.query), len(one.target))
        values: dict[str, Any] = {name: float(value) for name, value in said.items()}
        return replace(one, **values)

    def _values(self, mode: str, scoring: Scoring, scores: Any, m: Any, n: Any) -> dict[str, Any]:
        options, matrix = SearchOptions(sub_score=scoring, mode=mode), None
        if scoring.by_position:
            matrix = PositionMatrix(scoring.matrix / scoring.scale, scoring.letters)
        law = law_of_search({}, options, self._resources, matrix, self._known)
        if law is None:
            return {}
        expect = law.evalues(scores, m, np.maximum(n, 1), self._letters)
        return {"expect": expect, "bits": law.bits(scores)}


def _composition_of(counts: Mapping[str, int], scoring: Scoring) -> Composition | None:
    """How frequent a scoring's usual letters are in such counts, to a hundredth; None: none is."""
    usual = "".join(background(scoring.letters))
    codes = scoring.target_encoding[np.frombuffer(usual.encode(), np.uint8)].tolist()
    found = dict.fromkeys(codes, 0)
    for letter, count in counts.items():
        code = int(scoring.target_encoding[ord(letter)])
        if code in found and scoring.knows(np.frombuffer(letter.encode(), np.uint8)):
            found[code] += count
    every = sum(found.values())
    shares = [round(found[code] / max(1, every), 2) for code in codes]
    return dict(zip(usual, shares, strict=True)) if every else None


def _composition(scoring: Scoring, given: Composition | None) -> tuple[Letters, Any]:
    """The letters of random sequences, and how frequent each is."""
    given = background(scoring.letters) if given is None else given
    good = isinstance(given, Mapping) and all(
        isinstance(one, str) and len(one) == 1 and one.isascii() and is_number(share)
        and 0 <= share <= MOST_SHARE for one, share in given.items()
    )  # fmt: skip
    if not good or not any(given.values()):
        raise InputError(f"composition has a number from 0 on of each letter, not {shown(given)}")
    found, shares = np.frombuffer("".join(given).encode(), np.uint8), np.array([*given.values()])
    scoring.check_letters(found, "composition")
    return found[shares > 0], shares[shares > 0] / shares.sum()


def _check(scoring: Scoring, letters: Letters, shares: Any, matrix: Matrix) -> None:
    """Raise ScoringError where no law holds."""
    rows = scoring.matrix[scoring.query_encoding[letters]] if matrix is None else scoring.matrix
    weights = shares if matrix is None else np.full(len(rows), 1 / len(rows))
    mean = float(weights @ rows[:, scoring.target_encoding[letters]] @ shares)
    if mean > 0 or isclose(mean, 0, abs_tol=1e-9):
        raise ScoringError(
            f"there are no E-values with this scoring: two letters score {mean / scoring.scale:.3g}"
            " on average, and have to score less than 0"
        )
    if rows.max() <= 0:
        raise ScoringError("there are no E-values with this scoring: no score is above 0")
    if matrix is None and is_linear(scoring):
        raise ScoringError(
            "there are no E-values with this scoring: local alignments of unrelated sequences run "
            "through all of them (linear phase); gaps have to cost more, or mismatches"
        )


def _kept(name: str) -> ScoreStatistics | None:
    """A fit that was kept beside the user's profiles."""
    with suppress(OSError, ValueError, TypeError, RecursionError):
        if (folder := user_folder()) is not None:
            text = (folder / "statistics" / f"{name}.json").read_text("ascii")
            found = ScoreStatistics(**json.loads(text))
            *values, source, error, log_k_error = asdict(found).values()
            if np.isfinite([*values, error, log_k_error]).all() and min(values[:2]) > 0:
                return found if isinstance(source, str) else None
    return None


def _fitted(
    scoring: Scoring, resources: Resources, letters: Letters, shares: Any, matrix: Matrix
) -> ScoreStatistics:
    """The statistics by random pairs, the same from run to run."""
    rng, options = np.random.default_rng(VERSION), SearchOptions(sub_score=scoring)
    bounds = np.cumsum(shares)[:-1]

    def random(count: int, length: int) -> SequenceSet:
        some = letters[np.searchsorted(bounds, rng.random(count * length))]
        ends = length * np.arange(1, count + 1, dtype=np.int64)
        return SequenceSet.of(some, ends - length, ends)

    for length in LENGTHS:
        fewer = (length // LENGTHS[0]) ** 2
        targets = random(TRACED // fewer, length)
        queries = random(len(targets), length) if matrix is None else [matrix] * len(targets)
        with PairAligner(ManyOptions(sub_score=scoring, output="path"), resources) as pairs:
            table, _ = pairs.align(list(zip(queries, targets, strict=True)))
        rows, columns = (table[f"{x}_end"] - table[f"{x}_start"] for x in ("query", "target"))
        if columns.mean() < SHARE * length:
            break
    else:
        raise ScoringError(
            "there are no E-values with this scoring: local alignments of unrelated sequences take "
            f"{columns.mean():.0f} letters of {length}, so gaps cost too little"
        )
    traced = np.stack([table["score"], rows, columns]).astype(float)
    if matrix is None:
        m, count = length, SUBJECTS // fewer
        several = [random(1, m).letters for _ in range(GROUPS * QUERIES)]
    else:
        m, several = len(matrix), [matrix.sequence.letters]
        count = min(GROUPS * SUBJECTS, MOST_CELLS // (m * length) // GROUPS * GROUPS + GROUPS)
    with closing(search_engine(options, resources, matrix)) as engine:
        held = engine.hold(random(count, length))
        scores = np.stack([own.copy() for own in engine.scores(several, held, lambda _: None)])
    groups = scores.reshape(GROUPS, -1)
    counts = np.stack([np.bincount(own, minlength=scores.max() + 1) for own in groups])
    return fitted_to(counts, traced, scoring.scale, m, length, "fitted to random pairs")
