"""``pysw-cl makedb``."""

from __future__ import annotations

import sys
from argparse import Namespace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputWarning, printable, warn
from ..results.formats.files import opened
from .asked import check_files

if TYPE_CHECKING:
    from ..database.database import Database
    from ..sequences.sequence import Sequence


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "makedb",
        run=run,
        help="make a database of sequences, for search",
        description="Write the sequences of FASTA or FASTQ files, plain or compressed, or of "
        "databases, to a file that search opens at once and several processes share; - is standard "
        "input. It appears when it is complete. With --info: say what is in a database, and read "
        "all of it to see that it is sound.",
        examples=(
            "makedb uniprot_sprot.fasta.gz -o sprot.pswdb",
            "makedb sprot.pswdb --names human.txt -o human.pswdb   only those that are listed",
            "makedb --info sprot.pswdb",
        ),
    )
    parser.add_argument("sources", metavar="FILE", nargs="+")
    group = parser.add_argument_group("database")
    group.add_argument("-o", metavar="FILE", dest="out", help="the database to write")
    only = "take only sequences whose names are lines of FILE"
    group.add_argument("--names", metavar="FILE", help=only)
    group.add_argument("--info", action="store_true", help="say what is in each FILE, a database")
    parser.declare("database", "-q")


def run(args: Namespace) -> None:
    from ..checkpoint.container import is_sealed
    from ..database.database import Database, records_of

    if args.info == (args.out is not None) or (args.info and args.names):
        args.usage_error("give either -o FILE, and perhaps --names, or --info")
    if args.info:
        for path in args.sources:
            print(about(Database(path)))
        return
    from tqdm import tqdm

    for path in args.sources:  # a database may take its own place
        check_files(args, FILE=None if is_sealed(Path(path)) else path, NAMES=args.names)
    hidden = args.quiet or not sys.stderr.isatty()  # else records are counted on the terminal
    records: Any = chain.from_iterable(map(records_of, args.sources))
    records = tqdm(records, unit=" sequences", unit_scale=True, disable=hidden, leave=False)
    lacking = set[str]()
    if args.names is not None:
        with opened(args.names) as (lines, _):
            lacking |= {words[0] for line in lines if (words := line.split())}
        names = frozenset(lacking)

        def listed(one: Sequence) -> bool:
            lacking.discard(one.name)
            return one.name in names

        records = filter(listed, records)
    db = Database.create(args.out, records, map(printable, args.sources))
    if lacking:
        several = f"{len(lacking):,} names are" if len(lacking) > 1 else "1 name is"
        warn(f"{several} of no sequence, such as {min(lacking)!r}", InputWarning)
    if not args.quiet:
        print("pysw-cl:", printable(_size(db)), file=sys.stderr)


def about(db: Database) -> str:
    """What is in a database, which is read to its end."""
    db.check()
    lines = [_size(db)]
    if len(db):
        lengths, letters = db.by_length.lengths, db.letters.items()
        middle = lengths[len(db) // 2]
        lines.append(f"  lengths: {lengths[-1]:,} to {lengths[0]:,}, median {middle:,}")
        lines.append(f"  letters: {', '.join(f'{letter} {count:,}' for letter, count in letters)}")
    return "\n".join([*lines, *(f"  from {source}" for source in db.sources)])


def _size(db: Database) -> str:
    return f"{db.path or db.sources[0]}: {len(db):,} sequences, {db.total_letters:,} letters"
