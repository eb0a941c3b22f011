"""``pysw-cl align``."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from ..results.formats import FORMATS, make_writer
from .arguments import add_compared, count, number
from .asked import (
    advise,
    align_asked,
    check_together,
    plan_asked,
    setting_asked,
    top_asked,
    usage,
)
from .compute import Run, has_batches, in_batches, one_by_one
from .output import Results, say
from .pairs import counted, every_pair, how_many, matched_pairs
from .records import LeftOut, sides_of
from .running import add_run, running
from .saved_pairs import SavedPairs

if TYPE_CHECKING:
    from ..results.formats.row import Row
    from .pairs import Pair


def add_to(commands: Any) -> None:
    """Declare the subcommand."""
    parser = commands.add_parser(
        "align",
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
        ),
    )
    _add_choice(parser.group("pairs and results"))
    add_compared(parser)
    add_run(
        parser,
        run,
        "save rows there, and go on if a run was interrupted; of several pairs each has a folder "
        "in it",
    )


def _add_choice(add: Any) -> None:
    """Declare which pairs are aligned, and which results are printed."""
    add(
        "--pairs",
        action="store_true",
        help="align record i of QUERY with record i of TARGET only",
    )
    add(
        "--skip-bad",
        action="store_true",
        help="leave out records that are empty or have letters that the scoring does not have; "
        "each is named on standard error (default: they are an error)",
    )
    add("--min-score", metavar="N", type=number, help="leave out results that score less")
    add(
        "--top",
        metavar="N",
        type=count,
        help="the N best targets of each query, the best first; the order of the file where scores "
        "are equal",
    )
    add(
        "--alignments",
        metavar="K",
        type=count,
        help="up to K local alignments a pair that share no aligned pair of letters, best first, "
        "which score at least 1 or --min-score; pairs are compared one after the other then, not "
        "many together, which takes several times as long",
    )
    add(
        "--second-best",
        action="store_true",
        help="also the highest score of an end outside the best alignment's part of both sequences "
        "(with --strand both, on the other strand, too): the tag XS in SAM and PAF, whose mapping "
        "quality is 0 where it equals the score; a column of tsv, a field of jsonl",
    )


def run(args: argparse.Namespace) -> int:
    """Align the pairs of records, and print the results."""
    from ..api.advice import Tally, warn_of_letters
    from ..drivers.options import ModeOptions

    _check(args)
    with usage(args):
        options = (align_asked if args.alignments is None else top_asked)(args, None)[0]
    scoring = options.scoring
    ends = options.free.flags if isinstance(options, ModeOptions) else ()
    setting = setting_asked(args, args.output, scoring, args.mode, ends)
    setting = replace(setting, second_best=args.second_best)
    advise(args, scoring)
    plan = plan_asked(args)
    with running(args) as to:
        left_out = LeftOut(to.tell)
        to.report.begin(args.device, plan)
        tally = Tally(scoring)
        lists = FORMATS[args.outfmt.name].lists_targets
        listed: list[tuple[str, int]] | None = [] if lists else None
        sides = sides_of(args, tally, left_out if args.skip_bad else None, listed)
        searched: Counter[str] = Counter()
        pairs = counted((matched_pairs if args.pairs else every_pair)(*sides), searched)
        setting = replace(setting, targets=listed or [], searched=searched)
        results = Results(to.stream, make_writer(args.outfmt.name, setting), to.bar)
        for rows in _rows(args, pairs, Run(to.bar, to.report, *how_many(*sides, args.pairs))):
            results.write(rows)
        results.end()
        warn_of_letters(tally)
        to.report.end()
        left_out.summary()
    return 0


def _rows(args: argparse.Namespace, pairs: Iterator[Pair], run: Run) -> Iterator[Iterable[Row]]:
    """The rows that are printed.  Several pairs go through the batch engine if it can do what is
    asked."""
    first = list(islice(pairs, 2))
    if len(first) == 1 and args.top is not None:
        say(
            "note: --top keeps the best targets of each query; for several alignments of one pair, "
            "which it once gave, there is --alignments",
            run.bar,
        )
    batches = len(first) > 1 and has_batches(args)
    if len(first) > 1:
        whole = args.query_range is None and args.target_range is None
        run.expect(batches and whole)
    if args.checkpoint is not None and len(first) > 1:
        return one_by_one(args, chain(first, pairs), run, SavedPairs(args))
    return (in_batches if batches else one_by_one)(args, chain(first, pairs), run)


def _check(args: argparse.Namespace) -> None:
    """End with a usage error where arguments do not go together."""
    several, saved = args.alignments is not None, args.checkpoint is not None
    check_together(args,
        (args.top is not None and args.pairs,
         "--top cannot go with --pairs, where each query has one target"),
        (args.top is not None and saved, "--top cannot go with --checkpoint"),
        (several and args.top is not None, "--alignments cannot go with --top"),
        (several and saved, "--alignments cannot go with --checkpoint"),
        (several and args.mode != "local", "--alignments is for --mode local"),
        (several and (args.free_ends is not False or args.max_cost != "auto"),
         "--alignments cannot go with --free-ends or --max-cost, which are for --mode global"),
        (args.second_best and (several or saved),
         "--second-best cannot go with --alignments or --checkpoint"),
    )  # fmt: skip
