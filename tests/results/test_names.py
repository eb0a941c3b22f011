"""Names with bytes that are not UTF-8 and with control characters, in files and in messages."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import pysw_cl
from pysw_cl.cli.main import main
from pysw_cl.errors import SequenceError, printable
from pysw_cl.results.formats import FORMATS
from pysw_cl.sequences.sequence import Sequence

#: How names are read from a file, and how they are shown.
NAMES = {
    b"s\xe9": "s%E9",
    b"s\xe8": "s%E8",
    b"s\xc3\xa9": "s\xe9",
    b"s\x00t": "s%00t",
    b"s\x1b[31m": "s%1B[31m",
    b"s\x7f": "s%7F",
    b"s\x9b": "s%9B",
    b"s\xc2\x9b": "s%C2%9B",
    b"s\x1cx": "s%1Cx",
    b"s\x1dx": "s%1Dx",
    b"s\xc2\xa0x": "s%C2%A0x",
    b"s\xe2\x80\xae": "s%E2%80%AE",
    b"s%": "s%",
}
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def read(folder: Path) -> list[Sequence]:
    path = folder / "x.fa"
    path.write_bytes(b"".join(b">%b more \xe9\x1b \nACGTACGT\n" % name for name in NAMES))
    return list(pysw_cl.read_sequences(path))


def test_bytes_of_names_survive(tmp_path: Path) -> None:
    found = read(tmp_path)
    assert [one.name.encode("utf-8", "surrogateescape") for one in found] == list(NAMES)
    assert {one.description for one in found} == {"more \udce9\x1b"}


def test_what_names_are_shown_as(tmp_path: Path) -> None:
    assert [printable(one.name) for one in read(tmp_path)] == list(NAMES.values())
    assert printable(" a\t\n b\ud800 ") == "a b%ED%A0%80"
    assert printable("a  b", "_") == "a_b"


@pytest.mark.parametrize("format", FORMATS)
def test_files_have_no_controls(format: str, tmp_path: Path) -> None:
    """Every file is UTF-8, its lines are those of its records, and names can be told apart."""
    both = [("".join(map(chr, range(128))), "t"), *((one.name, "") for one in read(tmp_path))]
    letters = np.frombuffer(b"ACGTACGT", np.uint8)
    sequences = [Sequence(name, text, letters) for name, text in both]
    if format == "sam":  # whose names have fewer characters
        sequences = [one for one in sequences if not {"\xe9", "["} & set(one.name)]
    found = [pysw_cl.align(one, one) for one in sequences]
    path = tmp_path / "out"
    fields = ("std", "stitle") if format in ("blast6", "blast7") else ()
    pysw_cl.write(found, path, format, fields=fields)
    text = path.read_bytes().decode("utf-8")
    assert not CONTROLS.search(text.replace("\0", "") if format == "a3m" else text)
    for k, one in enumerate(sequences):
        name = printable(one.name, "_")
        if format == "jsonl":
            assert json.loads(text.splitlines()[k])["query_name"] == one.name
        else:
            assert name[:20] in text
    if FORMATS[format].has_reader:
        names = [record.query_name for record in pysw_cl.read(path, format, fields=fields)]
        assert names == [printable(one.name, "_") for one in sequences]


def test_what_is_printed(tmp_path: Path) -> None:
    for one in read(tmp_path):
        found = pysw_cl.align(one, one)
        for text in (str(found), repr(found), repr(one), found._repr_html_()):
            assert not CONTROLS.search(text)


def test_messages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No message has what a terminal takes for a command."""
    path = tmp_path / "\x1b[31m\x7f.fa"
    path.write_bytes(b">s\x1b[31m\xe9\nAC-GT\n")
    assert main(["align", str(path), str(path)]) == 1
    assert main(["align", str(path) + "x", str(path)]) == 1
    assert main(["align", "--\x1b"]) == 2
    path.write_bytes(b">s\x1b[31m\xe9\nACEGT\n")
    assert main(["align", str(path), str(path)]) == 1
    said = capsys.readouterr().err
    assert not CONTROLS.search(said)
    assert said.count("%1B[31m") == 3
    with pytest.raises(SequenceError) as caught:
        next(pysw_cl.read_sequences(path)).reverse_complement()
    assert not CONTROLS.search(str(caught.value))
