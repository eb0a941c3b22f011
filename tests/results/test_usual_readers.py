"""Every format, with names and letters of all kinds, as its usual reader has it."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from writing import PLAN, named, random_text, written

import pysw_cl
from pysw_cl.errors import InputError
from pysw_cl.results.formats.writer import without_blanks

#: Names that all formats can hold, and others.
PLAIN = ["q", "sp|P01308.2|INS_HUMAN", "chr1:1-20", "a_b~c", "HLA-A*01:01=x", "0", "x" * 254]
ODD = ["two words", "tab\there", 'a"b', "it's", "a,b;c", "back\\slash", "naïve", "蛋白",
       "\x1b[31mred", "nul\0", "\udce9", "%41", "line\nend", "(1)", "<b>", "é\u00a0é", "@x",
       "=x", "*"]  # fmt: skip
LETTERS = {
    "dna": "ACGTUacgtuNRYKMSWn",
    "plain": "ACGTUacgtuN",
    "protein": "ARNDCQEGHILKMFPSTWYVXBZJUO*arndwx",
}


@cache
def results(kind: str, odd: bool) -> list[pysw_cl.Alignment]:
    """Pairs of relatives, with a name each, on both strands."""
    rng, found = np.random.default_rng(4), []
    names = [*PLAIN, *ODD] if odd else PLAIN
    for k, name in enumerate(names):
        text = random_text(rng, LETTERS[kind], 12, 40)
        other = "".join(c if rng.random() > 0.1 else rng.choice(list(LETTERS[kind])) for c in text)
        how: dict[str, Any] = {"mode": ["local", "global"][k % 2], "gap_cost": (2, 1)}
        how |= {"sub_score": "BLOSUM62"} if kind == "protein" else {"strand": "both"}
        if kind != "protein" and k % 3 == 0:
            other = pysw_cl.reverse_complement(other)
        found.append(
            pysw_cl.align(named(name, text), named(names[-1 - k], other + "AC"), plan=PLAN, **how)
        )  # each target has letters of its own, and so the name of one query
    return [r for r in found if (r.matches or 0) > 1]  # a single letter has no direction in BLAST's


#: Query, its first and last letter, strand; the same of the target.
Seen = tuple[str, int, int, str, str, int, int]


def expected(r: pysw_cl.Alignment) -> Seen:
    assert r.query_start is not None and r.query_end is not None
    assert r.target_start is not None and r.target_end is not None
    query, target = without_blanks(r.query.name, ""), without_blanks(r.target.name, "")
    places = (r.target_start, r.target_end)
    return query, r.query_start, r.query_end, r.strand, target, *places


def ours(format: str) -> Callable[[str], Iterator[Seen]]:
    def read(text: str) -> Iterator[Seen]:
        for one in pysw_cl.read(io.StringIO(text), format):
            yield (*one[:1], *one[2:6], *one[7:9])

    return read


def biopython(format: str) -> Callable[[str], Iterator[Seen]]:
    def read(text: str) -> Iterator[Seen]:
        align = pytest.importorskip("Bio.Align")
        for one in align.parse(io.StringIO(text), format):
            target, query = one.coordinates[:, [0, -1]].tolist()
            strand = "minus" if query[0] > query[1] or target[0] > target[1] else "plus"
            yield (one.query.id, *sorted(query), strand, one.target.id, *sorted(target))

    return read


def searchio(text: str) -> Iterator[Seen]:
    search = pytest.importorskip("Bio.SearchIO")
    for one in search.parse(io.StringIO(text), "blast-tab", comments=text.startswith("#")):
        for hsp in one.hsps:
            strand = "minus" if hsp.hit_strand == -1 else "plus"
            places = (hsp.hit_start, hsp.hit_end)
            yield hsp.query_id, hsp.query_start, hsp.query_end, strand, hsp.hit_id, *places


def table(text: str) -> Iterator[Seen]:
    for one in csv.DictReader(io.StringIO(text), delimiter="\t", quoting=csv.QUOTE_NONE):
        strand = {"+": "plus", "-": "minus"}[one["strand"]]
        at = [int(one[f"{side}_{end}"]) for side in ("query", "target") for end in ("start", "end")]
        yield one["query"], at[0], at[1], strand, one["target"], at[2], at[3]


def objects(text: str) -> Iterator[Seen]:
    for one in map(json.loads, text.splitlines()):
        names = [without_blanks(one[f"{side}_name"], "") for side in ("query", "target")]
        places = one["query_start"], one["query_end"], {"+": "plus", "-": "minus"}[one["strand"]]
        yield names[0], *places, names[1], one["target_start"], one["target_end"]


def fasta(text: str) -> Iterator[Seen]:
    seqio = pytest.importorskip("Bio.SeqIO")
    records = list(seqio.parse(io.StringIO(text), "fasta"))
    for query, target in zip(records[::2], records[1::2], strict=True):
        said = [dict(part.split("=") for part in one.description.split(" ")[1:]) for one in
                (query, target)]  # fmt: skip
        at = [int(one[end]) for one in said for end in ("start", "end")]
        strand = {"+": "plus", "-": "minus"}[said[0]["strand"]]
        yield query.id, at[0], at[1], strand, target.id, at[2], at[3]


READERS: dict[tuple[str, str], Callable[[str], Iterator[Seen]]] = {
    **{("pysw_cl", name): ours(name) for name in ("paf", "sam", "blast6", "blast7")},
    **{("Biopython", name): biopython(name) for name in ("sam", "maf")},
    ("Biopython", "blast7"): biopython("tabular"),
    ("SearchIO", "blast6"): searchio,
    ("SearchIO", "blast7"): searchio,
    ("csv", "tsv"): table,
    ("json", "jsonl"): objects,
    ("SeqIO", "fasta"): fasta,
}


@pytest.mark.filterwarnings("ignore::pysw_cl.errors.LettersWarning")
@pytest.mark.parametrize("kind", LETTERS)
@pytest.mark.parametrize(("reader", "format"), READERS)
def test_readers(kind: str, reader: str, format: str) -> None:
    if format == "sam" and kind == "protein":
        pytest.skip(f"{format} holds nucleotides only")
    if (reader, format, kind) == ("Biopython", "sam", "dna"):
        pytest.skip("Biopython's MD has A, C, G, T and N only, where SAM has A to Z")
    given, how = results(kind, format != "sam"), {}
    if reader == "Biopython" and format == "blast7":  # it has no coordinates of the minus strand
        given = [r for r in given if r.strand == "plus"]
        how = {"fields": ["std", "btop"]}
    found = list(READERS[reader, format](written(given, format, **how)))
    assert found == [expected(r) for r in given]
    assert len(given) > 4


@pytest.mark.filterwarnings("ignore::pysw_cl.errors.LettersWarning")
@pytest.mark.parametrize("kind", ["dna", "plain"])
def test_samtools_and_bedtools(tmp_path: Path, kind: str) -> None:
    """SAM to BAM and back, and the letters that bedtools cuts from the targets."""
    given = results(kind, False)
    for tool, format in (("samtools", "sam"), ("bedtools", "bed")):
        if shutil.which(tool) is None:
            pytest.skip(f"needs {tool}")
        pysw_cl.write(given, tmp_path / f"x.{format}")
    bam, sam, bed, targets = (str(tmp_path / name) for name in ("x.bam", "x.sam", "x.bed", "t.fa"))
    pysw_cl.write_sequences([r.target for r in given], targets)
    run("samtools", "view", "-b", "-o", bam, sam)
    lines = Path(sam).read_text().splitlines(keepends=True)
    assert run("samtools", "view", bam) == "".join(line for line in lines if line[0] != "@")
    cut = run("bedtools", "getfasta", "-fi", targets, "-bed", bed, "-tab", "-s", "-name+")
    for r, line in zip(given, cut.splitlines(), strict=True):
        name, letters = line.split("\t")
        shown = pysw_cl.Sequence("", "", r.target.letters[r.target_start : r.target_end])
        there = shown.reverse_complement() if r.strand == "minus" else shown
        assert name.startswith(r.query.name)
        assert letters.upper().replace("U", "T") == str(there).upper().replace("U", "T")


def run(*argv: str) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ODD)
def test_names_in_sam_and_bed(name: str) -> None:
    """They are refused, or come back; no other line is written."""
    for format in ("sam", "bed"):
        for query, target in ((name, "t"), ("q", name)):
            r = pysw_cl.align(named(query, "ACGT"), named(target, "ACGT"), plan=PLAN)
            try:
                text = written(r, format)
            except InputError as error:
                assert f"{format.upper()} cannot hold the" in str(error)
                continue
            (line,) = (
                line for line in text.split("\n") if line and line[:3] not in ("@HD", "@SQ", "@PG")
            )
            columns = line.split("\t")
            found = (columns[0], columns[2]) if format == "sam" else (columns[3], columns[0])
            assert found == (without_blanks(query, ""), without_blanks(target, ""))
