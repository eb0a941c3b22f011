"""The command line: what it prints, where, and its exit codes."""

from __future__ import annotations

import dataclasses
import gzip
import io
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import fault
from machines import GPU, Machine, fake, fake_platform

import pysw_cl
from pysw_cl.api import align as api
from pysw_cl.api.bar import ProgressBar
from pysw_cl.cli import main as cli
from pysw_cl.cli.asked import align_asked
from pysw_cl.cli.output import progress_of
from pysw_cl.drivers.options import AlignOptions, Resources
from pysw_cl.drivers.resources import AlignResources
from pysw_cl.errors import InternalError

A = "ACGTTACGATTGCA"
B = "ACGTACGATAGCA"


def fasta(path: Path, *records: tuple[str, str]) -> str:
    path.write_text("".join(f">{name}\n{letters}\n" for name, letters in records))
    return str(path)


@pytest.fixture
def pair(tmp_path: Path) -> tuple[str, str]:
    return fasta(tmp_path / "a.fa", ("a", A)), fasta(tmp_path / "b.fa", ("b", B))


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = cli.main(argv)
    out, err = capsys.readouterr()
    return code, out, err


def fails(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """Run, expect exit code 1 and nothing but one line on stderr; return that line."""
    code, out, err = run(capsys, *argv)
    assert (code, out) == (1, "")
    assert err.startswith("pysw-cl: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    return err


def process(*argv: str, **kwargs: object) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "pysw_cl", *argv]
    return subprocess.run(command, capture_output=True, timeout=120, **kwargs)  # type: ignore[call-overload]


# Help, version, usage


def test_help_needs_neither_numpy_nor_opencl() -> None:
    code = (
        "import sys; from pysw_cl.cli.main import main; assert main(['--help']) == 0; "
        "sys.exit(bool({'numpy', 'pyopencl'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(b"usage: pysw-cl")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--version") == (0, f"pysw-cl {pysw_cl.__version__}\n", "")


# Results


def test_paf(capsys: pytest.CaptureFixture[str], pair: tuple[str, str]) -> None:
    code, out, err = run(capsys, "align", *pair)
    assert (code, err) == (0, "")
    result = pysw_cl.align(A, B)
    fields = out.rstrip("\n").split("\t")
    assert out.count("\n") == 1
    assert fields[:4] == ["a", str(len(A)), str(result.query_start), str(result.query_end)]
    assert fields[4:9] == ["+", "b", str(len(B)), str(result.target_start), str(result.target_end)]
    assert f"AS:i:{result.score}" in fields
    assert f"cg:Z:{result.cigar}" in fields


def test_same_result_from_gzip_windows_and_lower_case(
    capsys: pytest.CaptureFixture[str], pair: tuple[str, str], tmp_path: Path
) -> None:
    expected = run(capsys, "align", *pair)
    packed, windows, lower = (tmp_path / name for name in ("a.fa.gz", "w.fa", "l.fa"))
    packed.write_bytes(gzip.compress(f">a\n{A}\n".encode()))
    windows.write_bytes(f">a\r\n{A[:5]}\r\n{A[5:]}\r\n".encode())
    lower.write_text(f">a\n{A.lower()}\n")
    for path in (packed, windows, lower):
        assert run(capsys, "align", str(path), pair[1]) == expected


def test_standard_input_on_either_side(pair: tuple[str, str], tmp_path: Path) -> None:
    many = fasta(tmp_path / "many.fa", ("x", A), ("y", B))
    expected = process("align", many, many)
    assert expected.returncode == 0, expected.stderr
    assert expected.stdout.count(b"\n") == 4
    text = Path(many).read_bytes()
    for argv in (("-", many), (many, "-")):
        done = process("align", *argv, input=text)
        assert (done.returncode, done.stdout, done.stderr) == (0, expected.stdout, b"")
    done = process("align", many, "-", input=gzip.compress(text))
    assert (done.returncode, done.stdout) == (0, expected.stdout)


def asked(*argv: str) -> tuple[AlignOptions, AlignResources]:
    """What `align` is asked by a command line, and what it computes with."""
    return align_asked(cli.make_parser().parse_args(["align", "a", "b", *argv]))


def fields(of: object) -> dict[str, object]:
    return {one.name: getattr(of, one.name) for one in dataclasses.fields(of) if one.init}  # type: ignore[arg-type]


def test_options_reach_align() -> None:
    options, resources = asked()
    assert fields(options) == fields(AlignOptions())
    assert resources == AlignResources()
    options, resources = asked(
        *"--mode global --free-ends 1,0,false,true --match 2 --mismatch -5 --gap-open 0.5 "
        "--gap-extend 0 --wildcard N --iupac match --max-cost 12 --device 0:0 --output ends "
        "--plan B=4,T=8,form=ticketed --strand both --checkpoint job --disk-size 1K "
        "--stop-after 2m --left-align".split()
    )
    assert fields(options) == {
        "mode": "global",
        "free_ends": (True, False, False, True),
        "sub_score": (2, -5),
        "gap_cost": (0.5, 0),
        "output": "ends",
        "wildcard": "N",
        "iupac": "match",
        "unknown": "error",
        "allow_odd_scoring": False,
        "strand": "both",
        "left_align": True,
        "second_best": False,
        "query_range": None,  # of each pair
        "target_range": None,
    }
    assert fields(resources) == {
        "max_cost": 12,
        "prune": True,
        "device": "0:0",
        "plan": {"B": 4, "T": 8, "form": "ticketed"},
        "progress": None,
        "checkpoint": "job",
        "disk_size": 1024,
        "stop_after": 120,
        "kernel_times": False,
        "timeline": False,
        "cluster": None,
    }
    options, _ = asked("--matrix", "BLOSUM62", "--free-ends", "1", "--mode", "global")
    assert (options.sub_score, options.free_ends) == ("BLOSUM62", True)


def test_options_reach_align_top() -> None:
    command = (
        "align a b --alignments 3 --match 2 --gap-open 4 --output ends --device cpu --plan B=4"
    )
    args = cli.make_parser().parse_args([*command.split(), "--wildcard", "N"])
    options, resources = align_asked(args)
    assert fields(options) == {
        "k": 3,
        "min_score": 1,
        "sub_score": (2, -3),
        "gap_cost": (4, 2),
        "output": "ends",
        "wildcard": "N",
        "iupac": "mismatch",
        "unknown": "error",
        "allow_odd_scoring": False,
        "strand": "plus",
        "left_align": False,
        "query_range": None,
        "target_range": None,
    }
    assert resources == Resources(device="cpu", plan={"B": 4})
    args = cli.make_parser().parse_args([*command.split(), "--min-score", "2.5"])
    assert align_asked(args)[0].min_score == 2.5


# Bad input


def test_missing_file(capsys: pytest.CaptureFixture[str], pair: tuple[str, str]) -> None:
    assert "no_such.fa" in fails(capsys, "align", "no_such.fa", pair[1])
    assert "no_such.fa" in fails(capsys, "align", pair[0], "no_such.fa")


def test_folder_in_place_of_a_file(
    capsys: pytest.CaptureFixture[str], pair: tuple[str, str], tmp_path: Path
) -> None:
    assert str(tmp_path) in fails(capsys, "align", pair[0], str(tmp_path))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n\n",
        b"no header here\nACGT\n",
        b">empty\n>b\nACGT\n",
        b">a\n",
        b">a\nAC\xc3\xa9GT\n",
        gzip.compress(b">a\n" + b"ACGT" * 100, mtime=0)[:-9],
        b"\x1f\x8bnot gzip at all",
    ],
)
def test_damaged_file(
    capsys: pytest.CaptureFixture[str], pair: tuple[str, str], tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "bad.fa"
    path.write_bytes(content)
    fails(capsys, "align", str(path), pair[1])
    fails(capsys, "align", pair[0], str(path))


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (MemoryError(), 1, "out of memory"),
        (KeyError("lost"), 1, "please report"),
        (InternalError("two\nlines"), 1, "please report"),
        (OSError(28, "No space left on device"), 1, "No space left"),
        (ImportError("no OpenCL library"), 1, "no OpenCL library"),
    ],
)
def test_errors_take_one_line(
    capsys: pytest.CaptureFixture[str],
    pair: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    code: int,
    words: str,
) -> None:
    fault(monkeypatch, api, "align_with", error)
    got, out, err = run(capsys, "align", *pair)
    assert (got, out) == (code, "")
    assert words in err
    assert err.count("\n") == 1


def test_reader_that_goes_away(tmp_path: Path) -> None:
    many = fasta(tmp_path / "many.fa", *((f"s{i}", A) for i in range(30)))
    command = [sys.executable, "-m", "pysw_cl", "align", many, many, "--output", "score"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        assert child.stderr.read() == b""
        assert child.wait(60) == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_full_disk(pair: tuple[str, str]) -> None:
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        done = subprocess.run(
            [sys.executable, "-m", "pysw_cl", "align", *pair],
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
        )
    assert done.returncode == 1
    assert done.stderr == b"pysw-cl: standard output: No space left on device\n"


@pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")
def test_closed_streams(pair: tuple[str, str]) -> None:
    command = shlex.join([sys.executable, "-m", "pysw_cl", "align", *pair])
    for closed, code in ((">&- 2>&-", 1), (">&-", 1), ("2>&- >/dev/null", 0)):
        assert subprocess.run(f"{command} {closed}", shell=True, timeout=60).returncode == code


# Devices and demo


def test_devices(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "devices")
    assert (code, err) == (0, "")
    head, *rows = out.splitlines()
    assert head.split() == ["device", "kind", "units", "name", "platform", "usable"]
    assert len(rows) == len(pysw_cl.devices())


def test_devices_says_what_is_wrong(
    capsys: pytest.CaptureFixture[str], machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pysw_cl.opencl.listing.find_spec", lambda name: None)
    machine(fake_platform("P", fake(GPU, "Odd", 1, endian_little=False)))
    code, out, err = run(capsys, "devices")
    assert code == 1
    assert "no: packed moves and edges are read back as little-endian words" in out
    assert 'pip install "pyopencl[pocl]"' in err
    machine()
    assert 'the extra "pocl"' in fails(capsys, "devices")
    monkeypatch.setattr("pysw_cl.opencl.listing.find_spec", lambda name: name)
    said = fails(capsys, "devices")
    assert "for the CPU: PoCL is installed" in said and "for a GPU: its vendor's driver" in said


def test_demo(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "demo")
    assert (code, err) == (0, "")
    fields = dict(line[2:].split(": ", 1) for line in out.splitlines() if line.startswith("# "))
    assert fields["score"].strip() == "10642"
    assert fields["coordinates"].strip() == "query [576, 16569), target [0, 15989)"
    assert fields["identity"].strip().startswith("14673/")
    assert fields["time"].endswith("GCUPS")
    assert "plan" in fields
    assert "GTTTATGTAGCTTACC" in out


def test_progress_only_on_a_terminal() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    with progress_of(Terminal(), quiet=True) as bar:
        assert bar is None
    with progress_of(Terminal()) as bar:
        assert isinstance(bar, ProgressBar)
        args = cli.make_parser().parse_args(["align", "a", "b"])
        assert align_asked(args, bar)[1].progress is bar
    with progress_of(io.StringIO()) as bar:
        assert bar is None


# Scorings


@pytest.mark.parametrize(
    ("given", "gaps"),
    [
        ("", (3, 2)),
        ("--gap-extend 5", (3, 5)),
        ("--matrix blosum62", (11, 1)),
        ("--matrix BLOSUM62 --gap-extend 2", (11, 2)),
        ("--matrix BLOSUM62 --gap-open 3", (3, 1)),
        ("--matrix GONNET", (3, 2)),
    ],
)
def test_default_gap_costs(given: str, gaps: tuple[int, int]) -> None:
    scoring = asked(*given.split())[0].scoring
    assert (scoring.gap_open, scoring.gap_extend) == gaps


def test_a_positive_mismatch_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    for mode in ("local", "global"):
        argv = ["align", "a", "b", "--mismatch", "3", "--mode", mode, "--allow-odd-scoring"]
        assert cli.main(argv) == 2
        assert "minimap2 and bwa take positive penalties" in capsys.readouterr().err


def test_letters_outside_the_alphabet(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "x.fa"
    path.write_text(">a\nMKWVTUFIS?L\n")
    argv = ["align", str(path), str(path), "--matrix", "BLOSUM62"]
    assert cli.main(argv) == 1
    assert "'?' at position 10 of the query" in capsys.readouterr().err
    assert cli.main([*argv, "--unknown-as", "X"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("a\t11\t0\t11\t+\ta\t11\t0\t11\t11\t11\t")
    assert said.err.splitlines() == [
        "pysw-cl: warning: letters outside the alphabet of BLOSUM62 were scored as others: "
        "U as C (2), others as X (2)"
    ]
