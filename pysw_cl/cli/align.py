"""``pysw-cl align``, and what ``pysw-cl plot`` runs."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from ..results.formats import FORMATS
from .arguments import add_compared, add_run
from .asked import advise, align_asked, check_together, plan_asked, setting_asked, usage
from .compute import drawn, has_batches, one_by_one, select
from .output import Results, Running, running
from .parser import count, number
from .records import counted, every_pair, how_many, matched_pairs, only, sides_of
from .saved_pairs import SavedPairs

if TYPE_CHECKING:
    from ..results.formats.row import Row
    from .records import Pair


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
    parser.set_defaults(picture=None)


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
    """Align the pairs of records, and print the results; of `plot` draw the only one, too."""
    from ..api.advice import Tally, warn_of_letters
    from ..drivers.options import ModeOptions

    check_together(args)
    if args.picture is not None:
        from ..results.plot import require

        require()
    with usage(args):
        options = align_asked(args)[0]
    scoring = options.scoring
    ends = options.free.flags if isinstance(options, ModeOptions) else ()
    setting = setting_asked(args, args.output, scoring, args.mode, ends)
    advise(args, scoring)
    plan = plan_asked(args)
    with running(args) as to:
        to.begin(args.device, plan)
        tally, searched = Tally(scoring), Counter[str]()
        listed: list[tuple[str, int]] | None = (
            [] if FORMATS[args.outfmt.name].lists_targets else None
        )
        sides = sides_of(args, tally, to.leave_out if args.skip_bad else None, listed)
        pairs = counted((matched_pairs if args.pairs else every_pair)(*sides), searched)
        if args.picture is not None:
            found = drawn(args, only(pairs, "plot"), to)
        setting = replace(
            setting, targets=listed or [], searched=searched, second_best=args.second_best
        )
        results = Results(to, args.outfmt.name, setting)
        if args.picture is None:
            found = _rows(args, pairs, to, how_many(*sides, args.pairs))
        for rows in select(found, args.min_score, args.top):
            results.write(rows)
        results.end()
        warn_of_letters(tally)
        to.end()
    return 0


def _rows(
    args: argparse.Namespace,
    pairs: Iterator[Pair],
    to: Running,
    size: tuple[int | None, int | None],
) -> Iterator[Iterable[Row]]:
    """The rows of the results.  Several pairs go through the batch engine if it can do what is
    asked.  ``size``: how many pairs and cells there are; None: nobody knows."""
    first = list(islice(pairs, 2))
    pairs, several = chain(first, pairs), len(first) > 1
    if len(first) == 1 and args.top is not None:
        to.tell(
            "note: --top keeps the best targets of each query; for several alignments of one pair, "
            "which it once gave, there is --alignments"
        )
    batches = several and has_batches(args)
    if several and to.bar is not None:
        whole = args.query_range is None and args.target_range is None
        to.bar.expect(size[0], size[1] if batches and whole else None)
    if batches:
        from .batches import in_batches  # NumPy

        return in_batches(args, pairs, to)
    saved = SavedPairs(args) if several and args.checkpoint is not None else None
    return one_by_one(args, pairs, to, saved)
