"""SAM: its lines, and that samtools and Biopython read them as they are meant."""

from __future__ import annotations

import io
import itertools
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from writing import PLAN, PROTEIN, named, random_pairs, random_results, written

import pysw_cl
from pysw_cl.errors import InputError
from pysw_cl.results.formats.columns import TableRows

needs_samtools = pytest.mark.skipif(shutil.which("samtools") is None, reason="needs samtools")


def lines_of(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.splitlines() if not line.startswith("@")]


def samtools(*argv: str) -> str:
    done = subprocess.run(["samtools", *argv], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "error" not in done.stderr.lower()
    return done.stdout


def test_a_line() -> None:
    query, target = named("r 1", "CCGATTACAGATTGG"), named("chr1", "TTTGATTACACATTAA")
    r = pysw_cl.align(query, target, gap_cost=(1, 1), sub_score=(2, -3), plan=PLAN)
    assert (r.query_start, r.target_start, r.cigar) == (2, 3, "7=1X3=")
    text = written(r, "sam")
    assert text.splitlines() == [
        "@HD\tVN:1.6\tSO:unsorted\tGO:query",
        "@SQ\tSN:chr1\tLN:16",
        f"@PG\tID:pysw_cl\tPN:pysw_cl\tVN:{pysw_cl.__version__}\tDS:local; match 2, mismatch -3; "
        "a gap of length k costs 1 + k * 1",
        "r_1\t0\tchr1\t4\t255\t2S7=1X3=2S\t*\t0\t0\tCCGATTACAGATTGG\t*\tAS:i:17\tNM:i:1\tMD:Z:7C3",
    ]


def test_the_minus_strand() -> None:
    """SEQ is the reverse complement, clips change sides, and letters are upper case."""
    query = named("r", "aaUGUAAUCCCCC")
    r = pysw_cl.align(query, named("t", "GGATTACA"), strand="minus", plan=PLAN)
    (line,) = lines_of(written(r, "sam"))
    assert line[1:6] == ["16", "t", "1", "255", "3S8=2S"]
    assert line[9] == "GGGGGATTACATT"


@pytest.mark.parametrize("way", ["align", "align_many", "align_many with names"])
def test_qualities(way: str) -> None:
    """Those of FASTQ go with the letters: turned on the minus strand, not in secondary lines."""

    def read(name: str, letters: str, quality: str) -> pysw_cl.Sequence:
        arrays = (np.frombuffer(text.encode(), np.uint8) for text in (letters, quality))
        return pysw_cl.Sequence(name, "", *arrays)

    reads = [
        read("plus", "CCGATTACA", "ABCDEFGHI"),
        read("minus", "TGTAATCGG", "ABCDEFGHI"),
        read("none", "NNN", "JKL"),
    ]
    targets = [named("t", "GATTACA"), named("u", "GATTAC")]
    pairs = [(a, b) for a in reads for b in targets]
    if way == "align":
        results = [pysw_cl.align(*pair, strand="both", plan=PLAN) for pair in pairs]
        text = written(results, "sam")
    else:
        rows = pysw_cl.align_many(pairs, output="path", strand="both", plan=PLAN)
        names = [(a.name, b.name) for a, b in pairs] if "names" in way else None
        text = written(rows, "sam", pairs=pairs, names=names)
        again = TableRows(
            pairs, rows, {"mode": "local", "scoring": pysw_cl.align("A", "A").scoring}
        )
        assert [str(row.alignment().query.quality) for row in again] == [
            str(a.quality) for a, _ in pairs
        ]
    assert [(line[0], line[1], *line[9:11]) for line in lines_of(text)] == [
        ("plus", "0", "CCGATTACA", "ABCDEFGHI"),
        ("plus", "256", "*", "*"),
        ("minus", "16", "CCGATTACA", "IHGFEDCBA"),
        ("minus", "272", "*", "*"),
        ("none", "4", "NNN", "JKL"),
    ]


def test_gaps_in_md() -> None:
    r = pysw_cl.align(
        named("q", "ACGTACGGATTTCAGG"), named("t", "ACGTTTACGGCTTCAGG"), mode="global",
        gap_cost=(1, 1), sub_score=(2, -2), plan=PLAN,
    )  # fmt: skip
    (line,) = lines_of(written(r, "sam"))
    assert (line[5], line[13]) == (r.cigar, f"MD:Z:{md_by_columns(r)}")


def md_by_columns(r: pysw_cl.Alignment) -> str:
    """MD from the aligned letters alone."""
    text, same, deleting = "", 0, False
    for op, (_, b) in zip(
        "".join(op * n for op, n in r.runs or []), zip(*r.aligned, strict=True), strict=True
    ):
        if op == "=":
            same, deleting = same + 1, False
        elif op == "X":
            text, same, deleting = text + f"{same}{b}", 0, False
        elif op == "D":
            text += b if deleting else f"{same}^{b}"
            same, deleting = 0, True
        else:
            deleting = False
    return f"{text}{same}"


def test_md_of_many() -> None:
    for r in random_results(200):
        (line,) = lines_of(written(r, "sam"))
        if line[1] == "4":
            assert r.target_start == r.target_end
            continue
        tags = dict(tag.split(":", 1) for tag in line[11:])
        assert tags["MD"] == f"Z:{md_by_columns(r)}"
        assert tags["NM"] == f"i:{(r.columns or 0) - (r.matches or 0)}"
        assert len(line[9]) == len(r.query)
        assert sum(int(n) for n in re.findall("([0-9]+)[=XIS]", line[5])) == len(r.query)


def test_one_primary_line_for_each_query() -> None:
    """The best of all targets, the first among equals; others are secondary and have no letters;
    a query without an alignment has one line."""
    reads = [named("a", "GATTACAGATTACA"), named("b", "TTTTTTTT"), named("c", "NNNN")]
    targets = [
        named("t", "GATTACAGATT"),
        named("u", "GATTACAGATTACA"),
        named("v", "GATTACAGATTACA"),
    ]
    pairs = [(a, b) for a in reads for b in targets]
    rows = pysw_cl.align_many(pairs, output="path", plan=PLAN, gap_cost=20)
    found = [
        line[:6] + line[9:10] for line in lines_of(written(rows, "sam", pairs=pairs, gap_cost=20))
    ]
    assert [line[:3] for line in found[:3]] == [
        ["a", "256", "t"],
        ["a", "0", "u"],
        ["a", "256", "v"],
    ]
    assert [line[-1] for line in found[:3]] == ["*", "GATTACAGATTACA", "*"]
    unmapped = [line for line in found if line[1] == "4"]
    assert unmapped == [["c", "4", "*", "0", "255", "*", "NNNN"]]
    assert sum(line[1] == "0" for line in found) == 2


def test_further_alignments_are_secondary() -> None:
    query, target = named("q", "GATTACAGG" * 4), named("t", "TTGATTACAGGTTGATTACAGGCC")
    results = pysw_cl.align_top(query, target, k=3, plan=PLAN)
    found = lines_of(written(results, "sam"))
    assert [line[1] for line in found] == ["0", "256", "256"]
    assert [line[11] for line in found] == [f"AS:i:{r.score}" for r in results]


def test_letters_that_bam_lacks() -> None:
    """U is T, in SEQ and MD; letters outside the range that is aligned are N."""
    r = pysw_cl.align(named("q", "ACGUACGUUU"), named("t", "ACGTACGTTT"), plan=PLAN)
    (line,) = lines_of(written(r, "sam"))
    assert (line[5], line[9], line[12]) == ("10=", "ACGTACGTTT", "NM:i:0")
    r = pysw_cl.align(named("q", "acguauacgu"), named("t", "ACGUUUACGU"), mode="global", plan=PLAN)
    (line,) = lines_of(written(r, "sam"))
    assert (line[5], line[9], line[13]) == ("4=1X5=", "ACGTATACGT", "MD:Z:4T5")
    query = named("q", "ACGT--*EUn")
    r = pysw_cl.align(query, named("t", "ACGT"), query_range=(0, 4), plan=PLAN)
    assert lines_of(written(r, "sam"))[0][9] == "ACGTNNNNTN"


@needs_samtools
def test_samtools_counts_no_mismatch_of_u(tmp_path: Path) -> None:
    fasta, sam = tmp_path / "t.fa", tmp_path / "x.sam"
    fasta.write_text(">t\nACGTACGTTT\n")
    pysw_cl.write(pysw_cl.align(named("q", "ACGUACGUUU"), named("t", "ACGTACGTTT"), plan=PLAN), sam)
    (line,) = lines_of(samtools("calmd", str(sam), str(fasta)))
    assert "NM:i:0" in line and "MD:Z:10" in line


@pytest.mark.filterwarnings("ignore::pysw_cl.errors.LettersWarning")
def test_halves_and_letters_outside_the_alphabet() -> None:
    how: dict[str, Any] = {"sub_score": (2, -1.5), "gap_cost": (0.5, 1), "unknown": "n"}
    r = pysw_cl.align(named("q", "GAT!ACAg"), named("t", "GATTACAG*"), plan=PLAN, **how)
    (line,) = lines_of(written(r, "sam"))
    assert line[9] == "GATNACAG" and line[11] == "AS:f:12.5"


@pytest.mark.parametrize(
    ("query", "target", "words"),
    [
        ("a@b", "t", "cannot hold the query name 'a@b'"),
        ("q" * 255, "t", "cannot hold the query name"),
        ("q", "chr(1)", r"cannot hold the target name 'chr\(1\)'"),
        ("q", "*x", "cannot hold the target name"),
        ("q", "ä", "cannot hold the target name"),
    ],
)
def test_names_that_do_not_fit(query: str, target: str, words: str) -> None:
    r = pysw_cl.align(named(query, "GATTACA"), named(target, "GATTACA"), plan=PLAN)
    with pytest.raises(InputError, match=words):
        written(r, "sam")


def test_what_it_cannot_hold() -> None:
    with pytest.raises(InputError, match="sam holds nucleotides only"):
        written(pysw_cl.align("WWKLM", "WWKLM", plan=PLAN, **PROTEIN), "sam")
    with pytest.raises(InputError, match="needs a path"):
        written(pysw_cl.align("ACGT", "ACGT", plan=PLAN, output="ends"), "sam")
    two = [pysw_cl.align("ACGT", text, plan=PLAN) for text in ("ACGT", "ACGTT")]
    with pytest.raises(InputError, match="two targets have the name 'target'"):
        written(two, "sam")
    with pytest.raises(InputError, match="two targets with the name 'x'"):
        written(two[0], "sam", targets=[("x", 1), ("x", 2)])
    with pytest.raises(InputError, match="'target' is not among the targets"):
        written(two[0], "sam", targets=[("x", 1)])
    with pytest.raises(InputError, match="'target' has 4 letters, and 5 in the SAM header"):
        written(pysw_cl.align("ACGT", "ACGT", plan=PLAN), "sam", targets=[("target", 5)])


def test_targets_that_are_given() -> None:
    results = (pysw_cl.align("ACGT", named("b", "ACGT"), plan=PLAN) for _ in range(2))
    text = written(results, "sam", targets=[("a", 7), named("b", "ACGT")])
    assert [line for line in text.splitlines() if line.startswith("@SQ")] == [
        "@SQ\tSN:a\tLN:7",
        "@SQ\tSN:b\tLN:4",
    ]
    assert len(lines_of(text)) == 2
    assert "@SQ" not in written([], "sam")


@needs_samtools
@pytest.mark.parametrize("way", ["align", "align_many"])
def test_samtools_reads_it(tmp_path: Path, way: str) -> None:
    """quickcheck, a way to BAM and back, and MD and NM by its own count."""
    if way == "align":
        results = random_results(80)
        targets = [r.target for r in results]
        text = written(results, "sam")
    else:
        pairs = random_pairs(80)
        targets = [target for _, target in pairs]
        rows = pysw_cl.align_many(pairs, output="path", strand="both", gap_cost=1, plan=PLAN)
        text = written(rows, "sam", pairs=pairs, gap_cost=1)
    sam, bam, fasta = (str(tmp_path / name) for name in ("x.sam", "x.bam", "x.fa"))
    Path(sam).write_text(text)
    records = (f">{one.name}\n{one.letters.tobytes().decode()}\n" for one in targets)
    Path(fasta).write_text("".join(records))
    samtools("quickcheck", "-v", sam)
    samtools("view", "-b", "-o", bam, sam)
    samtools("quickcheck", "-v", bam)
    assert samtools("view", bam) == "".join(
        line for line in text.splitlines(keepends=True) if not line.startswith("@")
    )
    assert samtools("calmd", sam, fasta).count("\n") >= 80
    theirs = [line for line in lines_of(samtools("calmd", bam, fasta)) if line[1] != "4"]
    ours = [line for line in lines_of(text) if line[1] != "4"]
    assert len(ours) == len(theirs) > 60
    for a, b in zip(ours, theirs, strict=True):
        assert sorted(a[11:]) == sorted(b[11:])


def test_biopython_reads_it() -> None:
    align = pytest.importorskip("Bio.Align")
    results = [r for r in random_results(60) if r.target_start != r.target_end]
    found = list(align.parse(io.StringIO(written(results, "sam")), "sam"))
    assert len(found) == len(results)
    for theirs, ours in zip(found, results, strict=True):
        assert theirs.query.id == ours.query.name and theirs.target.id == ours.target.name
        assert corners(theirs.coordinates) == corners(ours.to_biopython().coordinates)


def corners(coordinates: Any) -> list[list[int]]:
    """The places where a path changes its direction; Biopython cuts it at mismatches, too."""
    points = coordinates.T.tolist()
    steps = [tuple(np.sign(np.subtract(b, a))) for a, b in itertools.pairwise(points)]
    turns = [k + 1 for k, (a, b) in enumerate(itertools.pairwise(steps)) if a != b]
    return [points[k] for k in (0, *turns, -1)]


@pytest.mark.parametrize("format", ["sam", "6"])
def test_nucleotides_and_proteins_do_not_mix(format: str) -> None:
    found = [pysw_cl.align(named("q", "ACG"), named("t", "ACG"), plan=PLAN)]
    found.append(pysw_cl.align(named("p", "MKW"), named("u", "MKW"), plan=PLAN, **PROTEIN))
    with pytest.raises(InputError, match="nucleotides and of proteins"):
        written(found, format)
