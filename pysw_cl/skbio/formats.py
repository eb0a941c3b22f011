"""PAF in scikit-bio's registry of formats, and writers of BLAST tables, which it only reads.

After ``import pysw_cl.skbio``, `skbio.io.sniff` knows PAF, `skbio.io.read` makes a generator of
:class:`pysw_cl.results.formats.reading.Record` of it or a `pandas.DataFrame`, and `skbio.io.write`
writes "paf" and "blast+6" from a generator of results of `pysw_cl.align` or from such a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from csv import QUOTE_NONE
from itertools import islice
from typing import Any, TextIO

import pandas as pd
from skbio.io import create_format
from skbio.io.format import blast6 as theirs

from ..api.files import write
from ..errors import FormatError, InputError, printable
from ..results.aligned_pair import FIELDS
from ..results.formats.blast import STANDARD, fields_asked
from ..results.formats.paf import read
from ..results.formats.reading import Lines, Record
from ..results.formats.writer import without_blanks

paf = create_format("paf")

#: Lines that the sniffer looks at.
_SNIFFED = 5
#: The columns of a PAF file, as a table has them.
COLUMNS = (*FIELDS[: FIELDS.index("score")], "matches", "columns", "mapq")
#: Columns of BLAST tables that are whole numbers; scikit-bio reads them as floats.
_WHOLE = frozenset(
    "qlen slen qstart qend sstart send length nident mismatch positive gapopen gaps qframe sframe "
    "qgi sgi sallgi qcovs qcovhsp".split()
)
#: Columns of BLAST tables that are names, and the default of each.
_NAMES = {
    **dict.fromkeys(("qseqid", "qacc", "qaccver"), "query"),
    **dict.fromkeys(("sseqid", "sallseqid", "sacc", "saccver", "sallacc"), "target"),
}
#: The types of tags of minimap2 and BLAST that their values do not say.
_TYPES = {"tp": "A", "ts": "A", "de": "f", "dv": "f", "EV": "f", "BS": "f"}


@paf.sniffer()  # type: ignore[untyped-decorator]
def _sniffer(fh: TextIO) -> tuple[bool, dict[str, Any]]:
    lines = Lines(islice(fh, _SNIFFED), "the file")
    try:
        return len(list(lines.records(read(lines)))) > 0, {}
    except FormatError:
        return False, {}


@paf.reader(None)  # type: ignore[untyped-decorator]
def _generator(fh: TextIO, cls: Any = None) -> Iterator[Record]:
    lines = Lines(fh, str(getattr(fh, "name", "the file")))
    yield from lines.records(read(lines))


@paf.reader(pd.DataFrame)  # type: ignore[untyped-decorator]
def _frame(fh: TextIO, cls: Any = None) -> pd.DataFrame:
    """A row for each line: `COLUMNS`, ``score`` (AS) and ``cigar`` (cg), and the other tags."""
    rows = []
    for record in _generator(fh):
        said = {name: getattr(record, name) for name in COLUMNS[:-1]}
        said |= {"mapq": record.more.pop("mapq"), "score": record.score, "cigar": record.cigar}
        record.more.pop("AS", None)
        rows.append(said | record.more)
    return pd.DataFrame(rows, columns=None if rows else [*COLUMNS, "score", "cigar"])


@paf.writer(None)  # type: ignore[untyped-decorator]
def _write_results(obj: Iterable[Any], fh: TextIO) -> None:
    write(obj, fh, "paf")


@paf.writer(pd.DataFrame)  # type: ignore[untyped-decorator]
def _write_frame(obj: pd.DataFrame, fh: TextIO) -> None:
    """The columns that reading gives; `COLUMNS` have to be there, ``mapq`` may be missing."""
    if missing := [name for name in COLUMNS[:-1] if name not in obj.columns]:
        raise InputError(f"a table that becomes PAF has the columns {', '.join(missing)}, too")
    tags = [name for name in obj.columns if name not in (*COLUMNS, "cigar")]
    for row in obj.to_dict("records"):
        said = [row.get(name, 255) for name in COLUMNS]
        for k, side in ((0, "query"), (5, "target")):
            said[k] = without_blanks(str(said[k]), side)
        said[4] = {"plus": "+", "minus": "-"}.get(said[4], said[4])
        more = [("AS" if name == "score" else name, row[name]) for name in tags]
        more.append(("cg", row.get("cigar")))
        shown = (_tag(name, value) for name, value in more if not pd.isna(value))
        fh.write("\t".join([*map(str, said), *shown]) + "\n")


def _tag(name: str, value: Any) -> str:
    if (kind := _TYPES.get(name)) is None:
        kind = "Z" if isinstance(value, str) else "i" if float(value).is_integer() else "f"
    return f"{name}:{kind}:{int(value) if kind == 'i' else _text(value)}"


def _text(value: Any) -> Any:
    """A value as a column of a line has it: of a text no tab and no line end."""
    return printable(value) if isinstance(value, str) else value


@theirs.blast6.writer(None)  # type: ignore[untyped-decorator]
def _write_blast(obj: Iterable[Any], fh: TextIO, columns: Sequence[str] = STANDARD) -> None:
    """The standard columns, or those that are asked for by BLAST's names."""
    write(obj, fh, "blast6", fields=columns)


@theirs.blast6.writer(pd.DataFrame)  # type: ignore[untyped-decorator]
def _write_blast_frame(obj: pd.DataFrame, fh: TextIO) -> None:
    """The columns of the table, as reading gives them; N/A for what is missing.  Names have no
    blanks, and nothing is quoted, as in BLAST's own tables."""
    fields_asked([name for name in obj.columns if name not in theirs._possible_columns])
    shown = obj.copy()
    for name in shown.columns:
        if name in _WHOLE:
            shown[name] = shown[name].astype("Int64")
        elif name in _NAMES:
            shown[name] = [of if pd.isna(of) else without_blanks(str(of), _NAMES[name])
                           for of in shown[name]]  # fmt: skip
        else:
            shown[name] = shown[name].map(_text)
    shown.to_csv(fh, sep="\t", header=False, index=False, na_rep="N/A", quoting=QUOTE_NONE)
