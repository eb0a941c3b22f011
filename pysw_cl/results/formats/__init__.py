"""The file formats of results: a registry with a row for each; the files beside this one have them.

A writer of one file is made by `make_writer`; see `.writer.Writer`.  A reader is a function that
turns the lines of a file into `.reading.Record` objects.  Modules are imported when their format is
used, because a command line names the formats before it needs NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import PurePath
from typing import TYPE_CHECKING

from ...errors import InputError, shown, whole_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .reading import Record
    from .writer import Setting, Writer

#: All values of ``output``.
OUTPUTS = ("score", "ends", "matches", "path")


@dataclass(frozen=True)
class Format:
    """A row of the registry.  All formats hold results of both strands."""

    #: What it is, in half a line.
    about: str
    #: The ends of the names of its files, the usual one first.
    extensions: tuple[str, ...]
    #: Its module and its class of writers, as "module:class".
    writer: str
    #: The values of ``output`` that it can show.
    outputs: tuple[str, ...] = ("path",)
    #: The fields of `Setting` that a user may choose for it, of "fields", "width" and "limit".
    takes: tuple[str, ...] = ()
    #: Has its module a function ``read``?
    has_reader: bool = False
    #: Does its header list all targets?
    lists_targets: bool = False
    #: Does it show queries without results, too?
    lists_queries: bool = False


FORMATS = {
    "paf": Format("a line for each alignment, as minimap2 writes it", (".paf",), "paf:Writer",
                  has_reader=True),
    "tsv": Format("a table whose first line names the columns; 'tsv query target score' chooses "
                  "them", (".tsv",), "short:Tsv", OUTPUTS, ("fields",)),
    "pair": Format("aligned text, to be read by people", (".pair",), "pair:Writer", OUTPUTS,
                   ("width", "limit")),
    "sam": Format("what samtools reads; nucleotides only", (".sam",), "sam:Writer",
                  has_reader=True, lists_targets=True),
    "blast6": Format(
        "BLAST's table, also called 6; '6 qseqid sseqid pident' chooses its columns",
        (".blast6", ".b6", ".m8"), "blast:Table", takes=("fields",), has_reader=True),
    "blast7": Format("the same with comments, also called 7", (".blast7", ".b7"),
                     "blast:CommentedTable", takes=("fields",), has_reader=True,
                     lists_queries=True),
    "blast0": Format("BLAST's text, to be read by people, also called 0", (".blast0", ".b0"),
                     "pair:Blast0", takes=("width",), lists_queries=True),
    "maf": Format("UCSC's blocks of aligned letters", (".maf",), "short:Maf"),
    "fasta": Format("two records with gaps for each alignment", (".afa", ".fasta", ".fa"),
                    "short:Fasta", takes=("width",)),
    "a3m": Format("results aligned with their query, for profiles", (".a3m",), "short:A3m",
                  lists_queries=True),
    "hits": Format("the targets of the results, whole and once each, as FASTA", (".hits",),
                   "short:HitSequences", OUTPUTS, ("width",)),
    "bed": Format("the aligned part of the target, for bedtools", (".bed",), "short:Bed"),
    "jsonl": Format("a JSON object on each line", (".jsonl", ".ndjson"), "short:JsonLines",
                    OUTPUTS),
}  # fmt: skip
#: The ends of names of compressed files.
PACKED = (".gz", ".bz2", ".xz", ".zst")
#: Ends of names of files that everybody takes for other formats.
FOREIGN = frozenset(
    ".aln .axt .bam .bcf .bedpe .bw .chain .cram .csv .db .delta .docx .faa .fas .fastq .ffn "
    ".fna .fq .gb .gbk .gff .gff3 .gtf .h5 .htm .html .jpg .json .md .msf .npy .npz .parquet .pdf "
    ".phy .pkl .png .psl .sto .svg .tar .tgz .txt .vcf .wig .xls .xlsx .xml .yaml .zip".split()
)
#: Other names of formats: BLAST's numbers.
ALIASES = {"0": "blast0", "6": "blast6", "7": "blast7"}


def usual_format(output: str) -> str:
    """The name of the default format for this ``output``."""
    return "paf" if output == "path" else "tsv"


def format_named(name: str) -> str:
    """The name of a format as the registry has it.  Raises InputError for an unknown one."""
    found = ALIASES.get(name, name) if isinstance(name, str) else ""
    if found not in FORMATS:
        raise InputError(f"{shown(name)} is not a format; there are {', '.join(FORMATS)}")
    return found


def format_of_file(path: str) -> str | None:
    """The name of the format that the end of a file's name says, or None."""
    end = end_of_name(path)
    return next((name for name, one in FORMATS.items() if end in one.extensions), None)


def end_of_name(path: str) -> str:
    """The end of a file's name in lower case, before one of `PACKED`, such as ".paf", or ""."""
    place = PurePath(path.lower())
    return (place.with_suffix("") if place.suffix in PACKED else place).suffix


def make_writer(name: str, setting: Setting) -> Writer:
    """A writer of one file.  Raises InputError if the format cannot hold the results."""
    row, output = FORMATS[name], setting.output
    if output not in row.outputs:
        raise InputError(
            f"{name} needs a path: align with output='path'; for output {output!r} there is "
            f"{usual_format(output)}"
        )
    for key in ("fields", "limit", "width"):
        value = getattr(setting, key)
        empty = value is None or (isinstance(value, tuple) and not value)
        if not empty and key not in row.takes:  # an array has no truth value
            able = ", ".join(other for other, one in FORMATS.items() if key in one.takes)
            raise InputError(f"{name} has no choice of {key}; it is for {able}")
        if value is not None and key != "fields":
            whole_number(value, key, 1)
    module, _, kind = row.writer.partition(":")
    writer: Writer = getattr(import_module(f".{module}", __name__), kind)(setting)
    return writer


def reader_of(name: str) -> Callable[..., Iterator[Record]]:
    """The reader of a format, of `.reading.Lines`.  Raises InputError if it has none."""
    if not FORMATS[name].has_reader:
        able = ", ".join(other for other, one in FORMATS.items() if one.has_reader)
        raise InputError(f"{name} is written only; there are readers for {able}")
    module = FORMATS[name].writer.partition(":")[0]
    reader: Callable[..., Iterator[Record]] = import_module(f".{module}", __name__).read
    return reader
