"""Databases: what is kept of sequences, and files that are damaged or cannot be written."""

from __future__ import annotations

import gzip
import os
import pickle
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from helpers import IMPORTS

import pysw_cl
from pysw_cl import Database, Sequence
from pysw_cl.checkpoint.container import SealedWriter
from pysw_cl.database import file as database_file
from pysw_cl.database.database import records_of
from pysw_cl.errors import FileError, FormatError, InputError, SequenceError
from pysw_cl.scoring.scoring import make_scoring

#: Of equal names, equal lengths, equal letters, and without letters.
RECORDS = [
    ("one", "the first", "MKVLA"),
    ("empty", "", ""),
    ("long", "x " * 300, "MKVLAWHE" * 50),
    ("one", "its name again", "ACDEF"),
    ("caf\udce9 \N{GREEK SMALL LETTER BETA}", "", "W"),
    ("last", "", "MKVLA"),
]


def records() -> list[Sequence]:
    return [
        Sequence(name, about, np.frombuffer(letters.encode(), np.uint8))
        for name, about, letters in RECORDS
    ]


def shown(sequences: Iterator[Sequence] | Database) -> list[tuple[str, str, str]]:
    return [(one.name, one.description, str(one)) for one in sequences]


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_file, "PIECE", 16)


def test_a_database_has_the_records_as_they_came(tmp_path: Path, small_pieces: None) -> None:
    made = Database.create(tmp_path / "a.pswdb", records(), ["here"])
    kinds = [made, Database(tmp_path / "a.pswdb"), Database.from_sequences(records())]
    kinds += [pickle.loads(pickle.dumps(one)) for one in kinds]
    for db in kinds:
        assert shown(db) == RECORDS == [shown(iter([db[k]]))[0] for k in range(len(RECORDS))]
        assert (len(db), db.total_letters, db.longest, db.full) == (6, 416, 400, 5)
        assert db[-1].name == "last" and "6 sequences, 416 letters" in repr(db)
        assert db.records(slice(None)).tolist() == [2, 0, 3, 5, 4, 1]  # by length, then in order
        assert sum(db.letters.values()) == 416 and db.letters["D"] == 1
        db.check()
        with pytest.raises(IndexError):
            db[6]
    assert made.sources == ["here"] and isinstance(kinds[1].by_length.letters, np.memmap)
    assert Database.create(tmp_path / "b.pswdb", made).letters == made.letters  # of a database
    again = Database.create(tmp_path / "a.pswdb", ["AC"])  # who has the old one keeps it
    assert (len(again), len(made), shown(made)) == (1, 6, RECORDS)
    made.check()


def test_parts_have_all_sequences_with_letters(small_pieces: None) -> None:
    db = Database.from_sequences(records())
    for most in (1, 7, 10, 1000):
        parts = list(db.parts(most))
        assert all(len(part) == 1 or len(part.letters) <= most for part in parts)
        found = [one.tobytes().decode() for part in parts for one in part]
        assert found == [str(db.sequence(rank)) for rank in range(db.full)]
    assert list(Database.from_sequences([]).parts(5)) == []
    assert list(Database.from_sequences(["", ""]).parts(5)) == []


def test_files_of_sequences_are_databases(tmp_path: Path) -> None:
    text = "".join(f">{name} {about}\n{letters}\n" for name, about, letters in RECORDS[:4])
    (tmp_path / "a.fa.gz").write_bytes(gzip.compress(text.encode()))
    db = Database(tmp_path / "a.fa.gz")
    assert db.path is None and db.sources == [str(tmp_path / "a.fa.gz")]
    assert [letters for *_, letters in shown(db)] == [one[2] for one in RECORDS[:4]]
    Database.create(tmp_path / "a.pswdb", records_of(str(tmp_path / "a.fa.gz")))
    assert shown(records_of(str(tmp_path / "a.pswdb"))) == shown(db)
    (tmp_path / "only.fa").write_text(">a\n>b\n")  # records without letters, and no others
    assert shown(Database(tmp_path / "only.fa")) == [("a", "", ""), ("b", "", "")]


def test_any_sequences_are_taken() -> None:
    given = ["acD", b"EF", np.frombuffer(b"GH", np.uint8), ""]
    assert [str(one) for one in Database.from_sequences(given)] == ["acD", "EF", "GH", ""]
    some = pysw_cl.SequenceSet.from_sequences(records()[:1])
    assert [(one.name, str(one)) for one in Database.from_sequences(some)] == [("one", "MKVLA")]
    for wrong, said in (
        ("ACGT", "not a str"), (records()[0], "not a Sequence"), (3, "not a int"),
        (["AC", 3], "sequence number 1"), (["A C"], "a blank at position 2"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=said):
            Database.from_sequences(wrong)


def test_what_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="No such file"):
        Database(tmp_path / "none.pswdb")
    (tmp_path / "text").write_text("proteins")
    with pytest.raises(FormatError, match="line 1 is 'proteins'"):
        Database(tmp_path / "text")
    (tmp_path / "nothing").touch()
    with pytest.raises(FormatError, match="no FASTA or FASTQ record"):
        Database(tmp_path / "nothing")
    foreign = SealedWriter(tmp_path / "rows")
    foreign.seal({"rows": 3})
    with pytest.raises(FormatError, match="is no database, but a file of a checkpoint"):
        Database(tmp_path / "rows")
    with pytest.raises(InputError, match=r"not compressed; leave out \.gz"):
        Database.create(tmp_path / "a.pswdb.gz", records())


def test_a_database_of_a_later_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_file, "FORMAT", 2)
    Database.create(tmp_path / "a.pswdb", records())
    monkeypatch.undo()
    with pytest.raises(FormatError, match="format 2, and this version reads format 1"):
        Database(tmp_path / "a.pswdb")


def test_every_damaged_byte_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.pswdb"
    Database.create(path, records())
    whole = path.read_bytes()
    for stop in (9, 100, len(whole) - 1):
        path.write_bytes(whole[:stop])
        with pytest.raises(FormatError, match=r"damaged: .* make it again with pysw-cl makedb"):
            Database(path)
    for place in [*range(8, len(whole), 5), len(whole) - 1]:
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        with pytest.raises(FormatError, match="damaged"):
            Database(path).check()
        with pytest.raises(FormatError, match="damaged"):  # or when it is read
            shown(Database(path))
            list(Database(path).parts(100))
    path.write_bytes(b"x" + whole[1:])
    with pytest.raises(FormatError, match="line 1 is"):
        Database(path)


def test_names_do_not_matter_to_files(tmp_path: Path) -> None:
    Database.create(tmp_path / "a.pswdb", records())
    (tmp_path / "a.pswdb").rename(tmp_path / "b")
    assert shown(Database(tmp_path / "b")) == RECORDS


def test_letters_outside_the_alphabet_are_named(small_pieces: None) -> None:
    db = Database.from_sequences([*records(), Sequence("j", "", np.frombuffer(b"A#", np.uint8))])
    scoring = make_scoring("BLOSUM62")
    for record in ("AA#A", "AAAAAAAA#", "AA#" + 20 * "A"):
        every = [*db, Sequence("jj", "", np.frombuffer(record.encode(), np.uint8))]
        said = r"'#' at position 2 of the record 'j' \(number 7\) of the database .* unknown='X'"
        with pytest.raises(SequenceError, match=said):
            Database.from_sequences(every).check_letters(scoring)
    db.check_letters(make_scoring("BLOSUM62", unknown="X"))


def test_an_interrupted_run_leaves_nothing(tmp_path: Path) -> None:
    def interrupted() -> Iterator[Sequence]:
        yield from records()
        raise KeyboardInterrupt

    (tmp_path / "old.pswdb").write_text("as it was")
    for name in ("old.pswdb", "new.pswdb"):
        with pytest.raises(KeyboardInterrupt):
            Database.create(tmp_path / name, interrupted())
    assert [one.name for one in tmp_path.iterdir()] == ["old.pswdb"]
    assert (tmp_path / "old.pswdb").read_text() == "as it was"


def test_a_full_disk_is_an_error(tmp_path: Path) -> None:
    code = (
        "import pysw_cl, sys\n"
        "try: pysw_cl.Database.create(sys.argv[1], ['ACDEF' * 10_000] * 20)\n"
        "except pysw_cl.PyswError as error: print(type(error).__name__, error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "a.pswdb")],
        env={**os.environ, "PYTHONPATH": IMPORTS},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000)),
        capture_output=True,
        text=True,
    )
    assert (
        done.stdout.startswith("FileError") and "cannot be written: File too large" in done.stdout
    )
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileError, match="cannot be written"):
        Database.create(tmp_path / "none" / "a.pswdb", records())


@pytest.mark.parametrize("path", ["-", "/dev/stdout"])
def test_a_database_is_a_file_of_its_own(path: str) -> None:
    with pytest.raises(InputError, match="a database is mapped into memory, so it is a file"):
        Database.create(path, ["ACGT"])
