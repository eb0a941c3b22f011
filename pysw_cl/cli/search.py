"""``pysw-cl search``."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from typing import Any

from ..results.formats import FORMATS
from ..results.formats.writer import row_of
from .asked import check_files, check_output, made_asked, options_asked, setting_asked, usage
from .output import running
from .parser import FORMAT, SCORING, count


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "search",
        run=run,
        help="search queries in a database",
        description="Compare every record of QUERIES, a file of FASTA or FASTQ, with every "
        "sequence of DB, a database of makedb or such a file, and write the best hits of each, the "
        "best first. - is standard input. Scores are those of BLOSUM62 unless said otherwise.",
        examples=(
            "search queries.fa sprot.pswdb        the ten best hits of each query, as PAF",
            "search --outfmt 7 -o hits.b7 queries.fa sprot.pswdb",
            "search --output score --top all --min-score 100 query.fa proteins.fa.gz",
            "search --match 1 --mismatch -1 --mode global --free-ends 1,0 --strand both "
            "--iupac match --alignments 100 --min-score 14 primers.fa genome.fa",
            "search --max-evalue 1e-3 --min-coverage 0.8 --outfmt 6 queries.fa sprot.pswdb",
        ),
    )
    parser.add_argument("queries", metavar="QUERIES")
    parser.add_argument("db", metavar="DB")
    best = (
        "the N best hits of each query, or all: the lowest E-value first, then the highest score, "
        "then the first one in DB's source (default: 10)"
    )
    parser.declare("hits", "--top", type=top, default=10, help=best)
    parser.declare("hits", "--ties")
    least = "the least score of a hit (default: in local mode above 0)"
    parser.declare("hits", "--min-score", help=least)
    parser.declare("hits", "--max-evalue --min-bits --min-identity --min-coverage --exclude-self")
    more = (
        "up to K alignments with each subject that share no aligned pair of letters, the best "
        "first; with --mode global --free-ends 1,0 --min-score N up to K places of the whole query "
        "that share no letter of a subject's strand, such as those where primers bind"
    )
    parser.declare("hits", "--alignments", default=1, help=more)
    parser.declare("heuristics", "--prefilter --kmer-length")
    parser.declare("E-values", "--stats --db-letters")
    parser.declare("comparison", "--mode --free-ends --strand")
    parser.declare("scoring", SCORING)
    drawn = "draw the hits of the first 8 queries, as bars along them, into FILE (.png, .svg, .pdf)"
    parser.declare("output", f"--output {FORMAT} -o -v")
    parser.declare("output", "--plot", help=f"{drawn}; needs matplotlib")
    several = "a device as for align, or several at once, such as gpu,cpu, or all (default: auto)"
    parser.declare("run", "--device", help=several)
    parser.declare("run", "--threads --plan --cluster -q")


def top(text: str) -> int | None:
    """How many hits; None: all."""
    return None if text == "all" else count(text)


def run(args: Namespace) -> None:
    from ..database.prefilter import heuristic_of
    from ..database.search import searcher_of
    from ..drivers.options import Resources, SearchOptions
    from ..engines.registry import engine_for
    from ..opencl.several import devices_of
    from ..results.search_plot import MOST_QUERIES, plot
    from ..sequences.reading import read_sequences

    if (args.matrix, args.match, args.mismatch) == (None, None, None):
        args.matrix = "BLOSUM62"
    if args.plot and args.output != "path":
        args.usage_error("--plot needs --output path")
    check_output(args, args.output)
    check_files(args, QUERIES=args.queries, DB=args.db)
    with usage(args):
        options = options_asked(args, SearchOptions)
        known = {"expects": options.evalues != "none", "heuristic": heuristic_of(options)}
        setting = setting_asked(args, options.scoring, options.free, **known)
        searched = setting.searched
        resources = made_asked(args, Resources, progress=None)
        plans: list[Any] = [(args.cluster, None)]
        if args.cluster is None:
            plans = [(one, engine_for(one, args.plan).plan) for one in devices_of(args.device)]
    given, shown = {**vars(options), **vars(resources), "db": args.db}, list[Any]()
    with running(args) as to, searcher_of(given) as searcher:
        for device, plan in plans:
            to.begin(device, plan)
        searched.update(targets=len(searcher.db), letters=searcher.db.total_letters)
        row = FORMATS[args.outfmt.name]
        if row.lists_targets:
            setting.targets.extend((one.name, len(one)) for one in searcher.db if len(one))
        expects = options.evalues == "library" or searcher.statistics(options) is not None
        to.begin_results(args.outfmt.name, replace(setting, expects=expects))
        to.begin_part()
        for hits in searcher.passes(read_sequences(args.queries), options, to.bar):
            searched["queries"] += 1
            to.results(map(row_of, hits or [hits.nothing] * row.lists_queries))
            if args.plot and len(shown) < MOST_QUERIES:
                shown.append(hits)
        to.add([searcher.stats], searched["queries"] * len(searcher.db))
    if shown:
        plot(shown, args.plot)
