"""SAM, the format of samtools, for nucleotides; proteins do not fit BAM's letters.

What lines and tags say is in docs/formats.md.  Secondary alignments have no letters, as the
specification advises (https://samtools.github.io/hts-specs/SAMv1.pdf, and SAMtags.pdf beside it).
SEQ is in upper case, with T for U, which samtools does not know.  MD goes by the letters that match
in the CIGAR: an ambiguity letter is a mismatch, and samtools calmd thinks so of N only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ...errors import InputError, printable
from ...sequences.alphabet import AMBIGUITY, NUCLEOTIDES, is_nucleotide
from ..pair_paths import LONGEST_RUN
from . import writer
from .reading import Lines, Record, known_matches, runs_in
from .writer import ByQuery, Letters, Row, Setting, runs_of, without_blanks

_QUERY_NAME = re.compile("[!-?A-~]{1,254}")
_TARGET_NAME = re.compile(r"[0-9A-Za-z!#$%&+./:;?@^_|~-][0-9A-Za-z!#$%&*+./:;=?@^_|~-]*")
#: The CIGAR that stands for one in the tag CG, and BAM's operations by their numbers.
_PLACEHOLDER, _OPS = re.compile("[0-9]+S([0-9]+)N"), dict(enumerate("MIDNSHP=X"))
#: The letters of BAM, for each byte in upper case.
_KNOWN = NUCLEOTIDES + AMBIGUITY
_BAM = bytes(ord(c if c in _KNOWN else "T" if c == "U" else "N") for c in map(chr, range(256)))
_MINUS, _UNMAPPED, _SECONDARY = 16, 4, 256


class Writer(ByQuery):
    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        if setting.scoring is not None and not is_nucleotide(setting.scoring.letters):
            raise InputError(
                "sam holds nucleotides only (the letters of BAM are A, C, G, T and IUPAC's "
                f"ambiguity letters), and this scoring is for {setting.scoring.letters}; write paf "
                "or blast6"
            )
        # what letters are written as: upper case, T for U, N for those that stand in no alignment
        self._plus = writer.as_scored(setting.scoring).upper().translate(_BAM)
        self._minus = self._plus.translate(writer.complement())
        self._lengths: dict[str, int] = {}
        for name, length in setting.targets:
            shown = without_blanks(name, "target")
            if not _TARGET_NAME.fullmatch(shown):
                raise InputError(
                    f"SAM cannot hold the target name {shown[:60]!r}: names have printable ASCII "
                    "characters without \\ , \" ' ` ( ) [ ] { } < > and do not begin with '*' or "
                    "'='"
                )
            if length >= 1 << 31:
                raise InputError(
                    f"SAM cannot hold the target {shown!r}: more than 2^31 - 1 letters"
                )
            if shown in self._lengths:
                raise InputError(f"SAM cannot hold two targets with the name {shown!r}")
            self._lengths[shown] = length

    def header(self) -> str:
        setting = self.setting
        lines = (f"@SQ\tSN:{name}\tLN:{length}\n" for name, length in self._lengths.items())
        program = f"@PG\tID:{writer.PROGRAM}\tPN:{writer.PROGRAM}\tVN:{writer.VERSION}"
        if setting.command:
            program += f"\tCL:{printable(setting.command)}"
        if setting.scoring is not None:
            program += f"\tDS:{setting.mode}; {setting.scoring.in_words}"
        return f"@HD\tVN:1.6\tSO:unsorted\tGO:query\n{''.join(lines)}{program}\n"

    def query(self, rows: list[Row]) -> str:
        found = [row for row in rows if row.cigar_for("SAM") and row.has_both]
        if not found:
            fields = f"{_UNMAPPED}\t*\t0\t255\t*\t*\t0\t0\t{self._letters(rows[0].query, False)}"
            return f"{_query_name(rows[0].query)}\t{fields}\n"
        best = max(found, key=lambda row: row.score) if len(found) > 1 else found[0]
        name = _query_name(best.query)
        return "".join(self._line(row, name, row is best) for row in found)

    def _letters(self, query: Letters, minus: bool) -> str:
        """SEQ and QUAL of a whole query."""
        table, step = (self._minus, -1) if minus else (self._plus, 1)
        letters = writer.bytes_of(query).translate(table)[::step].decode("ascii")
        known = "" if query.quality is None else query.quality[::step].tobytes().decode("ascii")
        return f"{letters}\t{known or '*'}"

    def _line(self, row: Row, name: str, primary: bool) -> str:
        query, target, score, strand, i0, i1, j0, j1, matches, columns, cigar, second, *_ = row
        assert i0 is not None and i1 is not None and j0 is not None and cigar is not None
        minus, length = strand == "minus", len(query)
        before, after = (length - i1, i0) if minus else (i0, length - i1)
        tags = f"AS:{_number(score)}"
        if matches is not None and columns is not None:
            md = str(matches)
            if matches != columns:
                opposite = writer.bytes_of(target, j0, j1).translate(self._plus)
                md = _md(cigar, opposite.decode("ascii"))
            tags += f"\tNM:i:{columns - matches}\tMD:Z:{md}"
        if second is not None:
            tags += f"\tXS:{_number(second)}"
        for tag, value in (("EV", row.expect), ("BS", row.bits)):
            tags += "" if value is None else f"\t{tag}:f:{value}"
        flag = (_MINUS if minus else 0) | (0 if primary else _SECONDARY)
        clips = f"{before}S" if before else "", f"{after}S" if after else ""
        letters = self._letters(query, minus) if primary else "*\t*"
        quality = 0 if second == score else 255  # which is not known
        of = without_blanks(target.name, "target")
        if (known := self._lengths.get(of)) != len(target):
            wrong = "is not among the targets of"
            if known is not None:
                wrong = f"has {len(target):,} letters, and {known:,} in"
            raise InputError(f"the target {of!r} {wrong} the SAM header")
        return (
            f"{name}\t{flag}\t{of}\t{j0 + 1}\t{quality}\t"
            f"{clips[0]}{cigar}{clips[1]}\t*\t0\t0\t{letters}\t{tags}\n"
        )


def _number(score: int | float) -> str:
    return f"f:{score:.1f}" if isinstance(score, float) else f"i:{score}"


def _query_name(query: Letters) -> str:
    name = without_blanks(query.name, "query")
    if not _QUERY_NAME.fullmatch(name):
        raise InputError(
            f"SAM cannot hold the query name {name[:60]!r}: names have up to 254 printable ASCII "
            "characters without '@'"
        )
    if len(query) > LONGEST_RUN:
        raise InputError(f"SAM cannot hold the query {name!r}: it has more than 2^28 - 1 letters")
    return name


def _md(cigar: str, target: str) -> str:
    """The tag MD: runs of matches, mismatched and deleted letters of the target."""
    parts, same, at = [], 0, 0
    for length, op in runs_of(cigar):
        opposite = target[at : at + length]
        if op == "=":
            same += length
        elif op != "I":
            for changed in opposite if op == "X" else [f"^{opposite}"]:
                parts.append(f"{same}{changed}")
                same = 0
        at += length * (op != "I")
    return f"{''.join(parts)}{same}"


def read(lines: Lines) -> Iterator[Record]:
    """The alignments of a SAM file; lines of queries without one (FLAG 4) are left out.

    Query lengths count clipped letters.  ``runs`` has the operations of the file, so 'M' where it
    has no '=' and 'X' and NM does not say that all of them match, without clips and P; ``matches``
    then needs NM.  'N' skips letters of the target and is no column.  ``more``: FLAG, MAPQ and the
    tags.  Raises FormatError for a damaged line."""
    targets: dict[str, int] = {}
    for line in lines:
        if line.startswith("@"):
            tags = dict(part.split(":", 1) for part in line.split("\t")[1:] if ":" in part)
            if line.startswith("@SQ\t"):
                targets[tags["SN"]] = int(tags["LN"])
            continue
        if line.startswith("BAM\x01"):
            raise lines.wrong("this is BAM; samtools view -h makes SAM of it")
        if len(columns := line.split("\t")) < 11:
            raise lines.wrong(f"a line of SAM has at least 11 columns, not {len(columns)}")
        name, flag, target, place, quality, cigar = columns[0], int(columns[1]), *columns[2:6]
        if flag & _UNMAPPED or cigar == "*":
            continue
        more = {"flag": flag, "mapq": int(quality), **lines.tags(columns[11:])}
        runs, left, right, hard = runs_in(lines, _whole_cigar(lines, cigar, more))
        i, j = runs.count("=XMI"), runs.count("=XMDN")
        minus, start = bool(flag & _MINUS), int(place) - 1
        before = right if minus else left
        length = left + i + right
        if columns[9] != "*" and len(columns[9]) + hard != length:
            raise lines.wrong("the CIGAR and SEQ have different numbers of letters")
        if start < 0 or start + j > targets.get(target, start + j):
            raise lines.wrong(f"the alignment leaves the target {target!r}")
        runs, matches = known_matches(runs, more.get("NM"))
        yield Record(
            name, length, before, before + i, "minus" if minus else "plus",
            target, targets.get(target), start, start + j,
            more.get("AS"), matches, runs.count("=XMID"), runs, more,
        )  # fmt: skip


def _whole_cigar(lines: Lines, cigar: str, tags: dict[str, Any]) -> str:
    """The CIGAR of a line.  BAM holds 65,535 operations; of a longer path ``cigar`` is the letters
    of the query as S and those of the target as N, and the tag CG, which is taken from ``tags``,
    has the operations (SAMv1.pdf, 4.2.2)."""
    if (placeholder := _PLACEHOLDER.fullmatch(cigar)) is None:
        return cigar
    kind, *values = tags.pop("CG", "").split(",")
    if kind != "I" or not values:
        raise lines.wrong(f"the CIGAR {cigar} stands for one in the tag CG:B:I, which is not there")
    runs = [(int(value) >> 4, _OPS[int(value) & 15]) for value in values]
    if sum(length for length, op in runs if op in "MDN=X") != int(placeholder[1]):
        raise lines.wrong(f"the tag CG and the CIGAR {cigar} have different lengths")
    return "".join(f"{length}{op}" for length, op in runs)
