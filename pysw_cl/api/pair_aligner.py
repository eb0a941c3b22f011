"""Lists of pairs aligned with the same options on the same device."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..drivers.batch import BatchDriver
from ..drivers.batch_layout import as_halves, lengths_of, of_each
from ..drivers.batch_results import UNKNOWN, Choose, OneByOne, PairResults
from ..drivers.options import ManyOptions, Resources, fields_of
from ..drivers.prepared import Batch
from ..drivers.progress import Progress, RunProgress, Stage
from ..engines.common import FreeEnd
from ..engines.plans import make_plan
from ..engines.registry import row_of
from ..errors import RecomputedWarning, warn
from ..opencl.device import get_runtime, stopwatch
from ..planning.pair_batch import FEW_LETTERS
from ..planning.parameters import PairTuning
from ..results.pair_paths import PairPaths, as_table
from ..results.stats import Stats
from ..scoring.scoring import Scoring
from ..sequences.sequence import as_sequence
from .advice import advise_tally, tally_of_pairs
from .align import align_together_with, align_with
from .bar import told

if TYPE_CHECKING:
    from ..engines.batch.engine import BatchEngine

#: Called with more cells and pairs that are done.
Tell = Callable[[int, int], None]


class PairAligner(AbstractContextManager["PairAligner"]):
    """Aligns lists of pairs with the same options and on the same device, where kernels, tables and
    memory are kept from list to list; a context manager."""

    def __init__(self, options: ManyOptions, resources: Resources) -> None:
        self.options, self.resources = options, resources
        self._engine: BatchEngine | None = None
        #: Are many pairs computed together with this plan?
        self.batches = row_of(resources.plan).batches

    def __exit__(self, *_: object) -> None:
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def align(
        self,
        pairs: Sequence[Any],
        progress: Progress | bool | None = None,
        first: int | None = None,
        choose: Choose | None = None,
        scores: NDArray[np.int64] | None = None,
        advise: bool = False,
    ) -> tuple[NDArray[Any], Stats]:
        """A row for each pair, or, with its number in front, for each that reaches the least score
        or is chosen by ``choose``; and what they cost.

        ``first``: the number of the first pair in the whole input, if these are a part of it.
        ``choose`` is asked of some pairs at a time, and perhaps again.  ``scores``: those of all
        pairs on the plus strand, in the scoring's own integers, if they are known.  ``advise``:
        warn about the letters, which are counted while the device computes the last pairs."""
        pairs = of_alphabet(pairs, self.options.scoring)
        if self.options.min_score is not None:
            least = self.options.min_score * self.options.scoring.scale
            choose = lambda _, scores: np.asarray(scores >= least)  # noqa: E731
        found = self.found(pairs, progress, first, choose, scores, advise)
        if found.paths is not None:
            table = paths_of(pairs, found, self.options).table()
        else:
            table = as_table(columns_of(found, self.options))
        if choose is not None:
            kept = np.flatnonzero(~found.left)
            kept = kept[choose(kept, found.values["score"][kept])]
            names = table.dtype.names or ()
            table = as_table({"pair": kept, **{name: table[name][kept] for name in names}})
        return table, found.stats

    def found(
        self,
        pairs: Sequence[Any],
        progress: Progress | bool | None = None,
        first: int | None = None,
        choose: Choose | None = None,
        scores: NDArray[np.int64] | None = None,
        advise: bool = False,
    ) -> PairResults:
        """The results of each pair; arguments as of `align`.  ``choose``: paths are looked for of
        the pairs that it takes, and perhaps of others."""
        started, options = time.perf_counter(), self.options
        tallied = cache(partial(tally_of_pairs, pairs, options.scoring))
        alone = partial(align_with, quiet=True)
        one = OneByOne(pairs, options, self.resources, alone, align_together_with)
        if self.batches and options.strand == "both":
            one.sweeps = 2 if options.output in ("score", "ends") else 3
        found, stats = one.found, one.found.stats
        with told(progress) as run:
            cells = one.sweeps * cells_of(pairs) if run.watched else 0
            tell = teller(run, cells, len(pairs), one.sweeps)
            listed = self._listed(pairs) if self.batches else None
            if listed is None:
                one.all(tell)
            else:
                engine, tuning = self.ready()
                watch = stopwatch(engine.runtime.times)
                driver = BatchDriver(engine, one, tell, tuning)
                driver.meanwhile = tallied if advise else lambda: None
                _run_strands(driver, listed, choose, scores)
                stats.kernel_seconds = watch()  # of pairs that were aligned alone, too
        stats.seconds = time.perf_counter() - started
        if found.wrong:
            more = f" ({len(found.wrong) - 1} more pairs)" if len(found.wrong) > 1 else ""
            said = "please report this with both sequences and all arguments"
            again = "computed again alone, which passed the check"
            part = "" if first is None else f" (pairs are counted from pair {first} of all)"
            warn(f"{found.wrong[0]}; {said}{more} -- {again}{part}", RecomputedWarning)
        if advise:
            advise_tally(tallied(), options.mode, stats.total_cells)
        return found

    def _listed(self, pairs: Sequence[Any]) -> Sequence[Any] | None:
        """The pairs as batches take them; None if they are aligned one after the other: those of
        several position matrices, or of one that the kernel cannot look up."""
        options = self.options
        if not options.scoring.by_position or isinstance(pairs, Batch):
            return pairs
        halves, scoring = as_halves(pairs), options.scoring.clamped()
        able = scoring.ids is not None or options.output in ("score", "ends")
        able = able and not (options.second_best or options.left_align)
        able = able and scoring.lowest >= -128 and scoring.highest <= 127
        able = able and len(scoring.letters) < FEW_LETTERS and len(set(map(id, halves[::2]))) == 1
        if not able or options.of_query(halves[0]) is not options:  # of the part before
            return None
        letters = str(halves[0].sequence)
        return [(letters, target) for target in halves[1::2]]

    def ready(self) -> tuple[BatchEngine, PairTuning]:
        """The engine of batches, which is made at first, and their tuning."""
        options, resources = self.options, self.resources
        runtime = get_runtime(resources.device)  # refused in a process that was forked since
        if self._engine is None:
            from ..engines.batch.engine import BatchEngine

            if resources.kernel_times:
                runtime = runtime.timed()
            chosen = make_plan(runtime, resources.plan)
            self._tuning = chosen.tuning.pairs
            how = options.scoring.clamped(), options.mode == "local", FreeEnd.of(options.free)
            self._engine = BatchEngine(runtime, chosen.lanes, *how)
        return self._engine, self._tuning


def _run_strands(
    driver: BatchDriver, pairs: Sequence[Any], choose: Choose | None, scores: NDArray[Any] | None
) -> None:
    """Run the batches of the strands that are asked for.  Of "both", all scores are computed first,
    then the paths on the better strands; of long targets all ends, then what is near them."""
    options, found = driver.one.options, driver.one.found
    output = options.output
    if options.strand == "plus":
        ends = None if scores is None else np.stack([scores, *[np.full(len(pairs), UNKNOWN)] * 2])
        driver.run(pairs, output, found, None, ends, choose)
        return
    minus, ends = np.ones(len(pairs), np.bool_), None
    if options.strand == "both":
        first, fields = (output, output) if output in ("score", "ends") else ("score", "ends")
        tried = [found.beside(fields_of(fields, "both")) for _ in range(2)]
        if first != fields:
            for results in tried:
                results.values["target_end"][:] = UNKNOWN
        tops = []
        for results, strand in zip(tried, (~minus, minus), strict=True):
            driver.run(pairs, first, results, strand)
            tops.append(driver.tops)
            driver.tops = {}
        minus = (tried[1].values["score"] > tried[0].values["score"]) & ~found.alone
        if first == output:
            for results, better in zip(tried, (~minus & ~found.alone, minus), strict=True):
                found.take(results, better)
                found.minus[better] = results.minus[better]
            return
        ends = tried[0].ends_on(tried[1], minus)
        if choose is not None:
            unseen = np.flatnonzero(~found.alone)
            found.left[unseen] = ~choose(unseen, ends[0, unseen])
        for is_minus, known in enumerate(tops):
            driver.tops |= {k: own for k, own in known.items() if minus[k] == is_minus}
        seen, worse = ~found.alone, np.where(minus, *(some.values["score"] for some in tried))
    driver.run(pairs, output, found, minus, ends, choose if ends is None else None)
    if options.second_best and options.strand == "both":  # the other strand lies outside
        second = found.values["second_best"]
        np.maximum(second, worse, out=second, where=seen)


def columns_of(found: PairResults, options: ManyOptions) -> dict[str, NDArray[Any]]:
    """The columns of the fields that are asked for but the CIGAR."""
    scale, columns = options.scoring.scale, dict(found.values)
    for name in ("score", "second_best") if scale != 1 else ():
        if name in columns:
            columns[name] = columns[name] / scale
    if "strand" in options.fields:
        columns["strand"] = np.where(found.minus, "minus", "plus")
    return columns


def paths_of(pairs: Sequence[Any], found: PairResults, options: ManyOptions) -> PairPaths:
    """The columns, and the paths, with gaps as they were asked for."""
    assert found.paths is not None
    if options.left_align and not options.scoring.by_position:
        paths = found.left_aligned(pairs, options.scoring, options.mode, options.free)
    else:
        paths = found.paths.joined()
    return PairPaths(columns_of(found, options), *paths)


def of_alphabet(pairs: Sequence[Any], scoring: Scoring) -> Sequence[Any]:
    """Pairs of sequences of an `Alphabet`, if scores are for one; else the pairs as they are."""
    alphabet = scoring.alphabet
    if alphabet is None or isinstance(pairs, Batch):
        return pairs
    halves = of_each(as_halves(pairs), 0, partial(as_sequence, alphabet=alphabet))
    return list(zip(halves[0::2], halves[1::2], strict=True))


def cells_of(pairs: Sequence[Any]) -> int:
    """The cells of pairs; 0 if one is of no sequences, which is found later."""
    with suppress(TypeError):
        lengths = pairs.lengths if isinstance(pairs, Batch) else lengths_of(as_halves(pairs))
        return int(lengths.prod(axis=1).sum())
    return 0


def teller(progress: RunProgress, cells: int, pairs: int, sweeps: int = 1) -> Tell:
    """What tells ``progress`` of more cells and pairs that are done, of so many in all."""
    progress.begin(cells)
    all_cells = all_pairs = 0

    def tell(more: int, count: int) -> None:
        nonlocal all_cells, all_pairs
        all_cells, all_pairs = all_cells + more, all_pairs + count
        progress.tell(all_cells, Stage("pairs", all_pairs // sweeps, pairs))

    tell(0, 0)
    return tell
