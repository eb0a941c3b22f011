"""The pairs of records that the files of a command line make."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..sequences.sequence import Sequence

#: Targets of up to this many letters are kept in memory between queries; more are read again.
KEEP_LETTERS = 1 << 26


def every_pair(
    query_path: str, target_path: str, keep: int = KEEP_LETTERS
) -> Iterator[tuple[Sequence, Sequence]]:
    """Every query with every target, in the order of the files.

    Only one query is held at a time.  Targets are held while they have up to ``keep`` letters; a
    file with more is read again for each query, and input that cannot be read twice is held as a
    whole, unless there is only one query.
    """
    from ..sequences.sequence import read_fasta

    again = Path(target_path).is_file()  # neither standard input nor a pipe
    queries = iter(read_fasta(query_path))
    held: list[Sequence] | None = None
    query = next(queries, None)
    while query is not None:
        following = None if again else next(queries, None)
        if held is not None:
            for target in held:
                yield query, target
        else:
            held, letters = [], 0
            for target in read_fasta(target_path):
                letters += len(target.letters)
                if held is not None and (letters <= keep if again else following):
                    held.append(target)
                else:
                    held = None
                yield query, target
        query = next(queries, None) if again else following
