"""``pysw-cl align``, and ``plot``, which draws what it finds."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from heapq import nlargest
from itertools import chain, groupby, islice
from typing import TYPE_CHECKING, Any

from ..errors import InputError, RangeError, SequenceError
from ..results.formats.writer import Row, row_of
from .asked import align_asked, check_together, setting_asked, usage
from .output import Running, running
from .parser import FORMAT, declare_compared
from .records import counted, every_pair, how_many, matched_pairs, place, ranges, sides_of
from .resume import SavedPairs

if TYPE_CHECKING:
    from .records import Pair, Records

#: What is said of pairs that are compared one after the other.
ONE_BY_ONE = (
    "note: with {} pairs are compared one after the other; without it all go to the device together"
)


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "align",
        run=run,
        help="align every query against every target",
        description="Align every record of QUERY against every record of TARGET. Both are "
        "files of FASTA or FASTQ, plain or compressed; - is standard input.",
        examples=(
            "align human.fa chimp.fa                    the best local alignment, as PAF",
            "align --outfmt pair human.fa chimp.fa      the same, to be read by people",
            "align --output score reads.fa.gz genome.fa   scores only, as a table: less memory",
            "align --top 10 -o best.paf queries.fa db.fa  the ten best targets of each query",
            "align --matrix BLOSUM62 query.fa - < proteins.fa",
            "align --strand both --target-range 5001-9000 read.fa genome.fa",
            "align --mode global --free-ends 1,0 read.fa gene.fa",
            "align --alignments 5 a.fa b.fa             up to five that share no aligned pair",
            "align --checkpoint job --stop-after 2h chr1.fa chr2.fa    a long run by parts",
            "align --device all --timeline time.png chr1.fa chr2.fa    which device waits when",
            "align --cluster tcp://host:8786 --checkpoint job chr1.fa chr2.fa    on many machines",
        ),
    )
    choice = "--pairs --skip-bad --min-score --top --alignments --second-best"
    parser.declare("pairs and results", choice)
    evalues = "write E-values and bit scores, those of a search of N letters; for --mode local"
    parser.declare("pairs and results", "--db-letters", help=evalues)
    declare_compared(parser)
    parser.declare("output", f"{FORMAT} -o -v")
    parser.declare("run", "--plan --checkpoint --disk-size --stop-after -q")
    parser.declare("output", "--timeline")
    parser.declare("run", "--cluster")
    parser.set_defaults(picture=None)


def add_plot_to(commands: Any) -> None:
    parser = commands.add_parser(
        "plot",
        run=run,
        help="align a query against a target and draw the path over the matrix",
        description="Align the record of QUERY against the record of TARGET, write the result as "
        "align does, and draw it into PICTURE, whose suffix says the format (.png, .pdf, .svg): "
        "the path, the highest score of each tile, and what was pruned. Needs matplotlib.",
        examples=("plot human.fa chimp.fa picture.png", "plot --mode global a.fa b.fa picture.svg"),
    )
    declare_compared(parser)
    parser.add_argument("picture", metavar="PICTURE")
    parser.declare("output", f"{FORMAT} -o -v")
    parser.declare("run", "--plan")
    saved = "save rows there, and go on if a run was interrupted; draw a run that is finished"
    parser.declare("run", "--checkpoint", help=saved)
    parser.declare("run", "--disk-size --stop-after -q")
    none = dict.fromkeys("timeline cluster db_letters min_score top alignments".split())
    parser.set_defaults(pairs=False, skip_bad=False, second_best=False, **none)


def run(args: Namespace) -> None:
    """Align the pairs of records, and print the results; of `plot` draw the only one, too."""
    from ..api.advice import Tally, warn_of_letters, warn_of_phase
    from ..engines.registry import engine_for

    check_together(args)
    with usage(args):
        options, expects = align_asked(args)[0], None
        if args.db_letters is not None:
            from ..api.statistics import PairExpects

            expects = PairExpects(args.db_letters, vars(args), 1 + (args.strand == "both"))
    scoring = options.scoring
    setting = setting_asked(args, scoring, options.free, expects=expects is not None)
    if args.mode == "local":
        warn_of_phase(scoring)
    with usage(args):  # a device that this machine does not have is an error like others
        plan = None if args.cluster else engine_for(args.device, args.plan).plan
    with running(args) as to:
        to.begin(args.cluster or args.device, plan)
        tally = Tally(scoring)
        sides = sides_of(args, tally, setting.targets, to.leave_out if args.skip_bad else None)
        pairs = counted((matched_pairs if args.pairs else every_pair)(*sides), setting.searched)
        results = _rows(args, pairs, to, sides)
        if expects is not None:
            results = map(expects.rows, results)
            setting = expects.setting(replace(setting, expects=False))
        to.begin_results(args.outfmt.name, setting)
        for rows in results if args.top is None else select(results, args.top):
            to.results(rows)
    warn_of_letters(tally)


def _rows(
    args: Namespace, pairs: Iterator[Pair], to: Running, sides: tuple[Records, Records]
) -> Iterator[Iterable[Row]]:
    """The rows of the results: several pairs go through the batch engine if it can do it.  A
    picture is of one pair; that of `plot` has a plan of its own.  Raises InputError for more."""
    first = list(islice(pairs, 2))
    pairs, several = chain(first, pairs), len(first) > 1
    if several and (args.picture is not None or args.timeline is not None):
        what = "--timeline" if args.picture is None else "plot"
        raise InputError(
            f"{what} is for one query and one target, and the files have more records; give files "
            "with one record each"
        )
    if args.picture is not None:
        from ..results.plot import picture_plan

        for query, target in first:
            parts = place(args, "query", query), place(args, "target", target)
            args.plan = picture_plan(args.plan, *(end - start for start, end in parts))
    if len(first) == 1 and args.top is not None:
        to.tell(
            "note: --top keeps the best targets of each query; for several alignments of one pair, "
            "which it once gave, there is --alignments"
        )
    whole_matrix = args.max_cost in ("auto", None) and args.alignments is None
    batches = several and whole_matrix and args.checkpoint is None
    if several and to.bar is not None:
        whole = args.query_range is None and args.target_range is None
        count, cells = how_many(*sides, args.pairs)
        to.bar.expect(count, cells if batches and whole else None)
    if batches:
        from .batches import in_batches  # NumPy

        return in_batches(args, pairs, to)
    saved = SavedPairs(args) if several and args.checkpoint is not None else None
    return one_by_one(args, pairs, to, saved)


def one_by_one(
    args: Namespace, pairs: Iterable[Pair], to: Running, saved: SavedPairs | None
) -> Iterator[Iterable[Row]]:
    """The results that score enough, each pair with `align` or `align_top`; what is odd about the
    input is said by the command, once.  ``saved``: each has a checkpoint."""
    from ..api.align import align_with
    from ..api.top import align_top_with

    options, resources = align_asked(args, to.bar)
    slow = "--max-cost N" if args.alignments is None else "--alignments"
    note = ONE_BY_ONE.format(slow if saved is None else "--checkpoint")
    for query, target in to.patiently(pairs, note):
        to.begin_part()
        parts = ranges(args, query, target)
        asked = replace(options, **parts) if any(parts.values()) else options
        try:
            if args.alignments is not None:
                found = align_top_with(query, target, asked, resources, quiet=True)
            else:
                with nullcontext(resources) if saved is None else saved.next(resources) as one:
                    found = [align_with(query, target, asked, one, quiet=True)]
        except (SequenceError, RangeError) as error:
            raise type(error)(f"query {query.name}, target {target.name}: {error}") from error
        to.add(result.stats for result in found)
        if args.picture is not None:
            found[0].plot(args.picture)
        least = args.min_score
        yield [row_of(one) for one in found if least is None or one.score >= least]
        if args.timeline is not None:
            found[0].plot_timeline(args.timeline)


def select(chunks: Iterable[Iterable[Row]], top: int) -> Iterator[list[Row]]:
    """Of each query, whose rows follow each other, the ``top`` best; of equal ones the first."""
    best: list[Row] = []
    for chunk in chunks:
        queries = groupby(chain(best, chunk), lambda row: id(row.query))
        found = [nlargest(top, rows, key=lambda row: row.score) for _, rows in queries]
        *done, best = found or [best]
        yield list(chain.from_iterable(done))
    yield best
