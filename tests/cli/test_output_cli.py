"""Where results go (``-o``), in which form by default, and what ``--verbose`` says."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from saving import tight
from test_cli import A, B, fails, fasta, run

from pysw_cl.api.bar import ProgressBar
from pysw_cl.api.pair_aligner import PairAligner
from pysw_cl.cli import batches
from pysw_cl.results.formats.short import COLUMNS


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    two = fasta(tmp_path / "a.fa", ("a", A), ("b", B))
    return [two, fasta(tmp_path / "t.fa", ("t", B), ("u", A))]


def inside(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


# -o


@pytest.mark.parametrize("options", [[], ["--output", "score"], ["--outfmt", "pair"]])
def test_a_file_instead_of_standard_output(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, files: list[str], options: list[str]
) -> None:
    expected = run(capsys, "align", *files, *options)[1]
    out = tmp_path / "out.dat"
    for _ in range(2):  # the second time it is there already
        assert run(capsys, "align", *files, *options, "-o", str(out)) == (0, "", "")
        assert out.read_text() == expected
        out.write_text("old")
        out.chmod(0o640)
    assert inside(tmp_path) == {"a.fa", "t.fa", "out.dat"}
    run(capsys, "align", *files, *options, "-o", str(out))
    assert out.stat().st_mode & 0o777 == 0o640
    assert run(capsys, "align", *files, *options, "-o", "-") == (0, expected, "")


def test_a_link_stays_a_link(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, files: list[str]
) -> None:
    (tmp_path / "to").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "to" / "there")
    assert run(capsys, "align", *files, "-o", str(link))[0] == 0
    assert link.is_symlink()
    assert (tmp_path / "to" / "there").read_text().startswith("a\t")
    assert inside(tmp_path / "to") == {"there"}


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="needs /dev/fd")
def test_standard_output_and_pipes_by_name(
    capsys: pytest.CaptureFixture[str], files: list[str]
) -> None:
    """``/dev/stdout`` is not replaced by a file, and a pipe is written as a shell names it."""
    results = run(capsys, "align", *files)[1]
    assert run(capsys, "align", *files, "-o", "/dev/stdout") == (0, results, "")
    ours, theirs = os.pipe()
    assert run(capsys, "align", *files, "-o", f"/dev/fd/{theirs}") == (0, "", "")
    os.close(theirs)
    with open(ours) as pipe:  # noqa: PTH123
        assert pipe.read() == results


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="needs /dev/null")
def test_a_device_is_written_as_it_is(capsys: pytest.CaptureFixture[str], files: list[str]) -> None:
    assert run(capsys, "align", *files, "-o", "/dev/null") == (0, "", "")
    assert not Path("/dev/null").is_file()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk(capsys: pytest.CaptureFixture[str], files: list[str]) -> None:
    message = "/dev/full: cannot be written: No space left on device"
    assert message in fails(capsys, "align", *files, "-o", "/dev/full")


def test_standard_output_is_utf_8(tmp_path: Path) -> None:
    """As files are, whatever the locale says."""
    path = fasta(tmp_path / "x.fa", ("n\xe4me", A))
    command = [sys.executable, "-m", "pysw_cl", "align", path, path]
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, env=env, timeout=120)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith("n\xe4me\t".encode())


def test_nothing_is_left_after_an_error(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, files: list[str]
) -> None:
    bad = fasta(tmp_path / "bad.fa", ("x", A), ("odd", "AC!T"))
    out = tmp_path / "out.dat"
    out.write_text("old")
    before = inside(tmp_path)
    fails(capsys, "align", files[0], bad, "-o", str(out))
    assert (inside(tmp_path), out.read_text()) == (before, "old")
    said = fails(capsys, "align", *files, "-o", str(tmp_path / "nowhere" / "out.dat"))
    assert "nowhere/out.dat: cannot be written: No such file or directory" in said
    assert "cannot be written" in fails(capsys, "align", *files, "-o", str(tmp_path))


def test_nothing_is_left_of_a_run_that_stops(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    one, out, folder = fasta(tmp_path / "a.fa", ("a", A * 100)), tmp_path / "out", tmp_path / "job"
    saved = ["--checkpoint", str(folder), "--disk-size", "30K"]
    plan = ["--plan", "engine=reference,tile_cells=10000"]
    with tight():
        options = [*saved, *plan, "-o", str(out)]
        assert run(capsys, "align", one, one, *options, "--stop-after", "0.000001")[:2] == (3, "")
        assert inside(tmp_path) == {"a.fa", "job"}
        stopped = ["resume", str(folder), "-o", str(out), "--stop-after", "0.000001"]
        assert run(capsys, *stopped)[:2] == (3, "")
        assert inside(tmp_path) == {"a.fa", "job"}
        assert run(capsys, "resume", str(folder), "-o", str(out)) == (0, "", "")
    assert out.read_text() == run(capsys, "align", one, one, *plan)[1]


@pytest.mark.parametrize("name", ["out.dat", "out.dat.gz"])
def test_nothing_is_left_if_the_interrupt_comes_with_the_file(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    files: list[str],
    name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Just when the file that is written aside has been made."""

    def opened(path: Path, *_: object, **__: object) -> None:
        path.touch()
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", opened)
        said = run(capsys, "align", *files, "-o", str(tmp_path / name))
    assert said == (130, "", "pysw-cl: interrupted\n")
    assert inside(tmp_path) == {"a.fa", "t.fa"}


@pytest.mark.parametrize("way", ["itself", "a link", "another path"])
def test_an_input_is_never_overwritten(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, files: list[str], way: str
) -> None:
    before = [Path(path).read_bytes() for path in files]
    for what, path in zip(("QUERY", "TARGET"), files, strict=True):
        out = path
        if way == "a link":
            out = f"{path}.link"
            Path(out).symlink_to(path)
        elif way == "another path":
            out = str(tmp_path / ".." / tmp_path.name / Path(path).name)
        for command in ("align", "ends"):
            code, printed, err = run(capsys, command, *files, "-o", out)
            assert (code, printed) == (2, "")
            assert f"-o {out} is {what}, which would be overwritten" in err
    assert [Path(path).read_bytes() for path in files] == before


def test_a_picture_does_not_overwrite_an_input(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    files = [fasta(tmp_path / "a.png", ("a", A)), fasta(tmp_path / "b.png", ("b", B))]
    for what, path in zip(("QUERY", "TARGET"), files, strict=True):
        before = Path(path).read_bytes()
        code, printed, err = run(capsys, "plot", *files, path)
        assert (code, printed) == (2, "")
        assert f"PICTURE {path} is {what}, which would be overwritten" in err
        assert Path(path).read_bytes() == before


# Formats


@pytest.mark.parametrize("output", ["score", "ends", "path"])
def test_default_formats(capsys: pytest.CaptureFixture[str], files: list[str], output: str) -> None:
    options = ["--output", output]
    usual = "paf" if output == "path" else "tsv"
    found = run(capsys, "align", *files, *options)
    assert found == run(capsys, "align", *files, *options, "--outfmt", usual)
    code, out, _ = run(capsys, "align", *files, *options, "--outfmt", "tsv")
    assert code == 0
    assert out.splitlines()[0].split("\t") == list(COLUMNS[output])
    assert out.count("\n") == 5
    one = ["--pairs", "--skip-bad"]
    assert run(capsys, "align", files[0], files[0], *options, *one)[1].count("\n") == (
        2 if output == "path" else 3
    )


def test_text_of_scores_and_ends(capsys: pytest.CaptureFixture[str], files: list[str]) -> None:
    for output in ("score", "ends"):
        code, out, _ = run(capsys, "align", *files, "--output", output, "--outfmt", "pair")
        assert code == 0
        assert out.count("# query:") == 4
        assert ("# coordinates: query [?, " in out) == (output == "ends")


# --verbose


def test_verbose(capsys: pytest.CaptureFixture[str], files: list[str], tmp_path: Path) -> None:
    one = fasta(tmp_path / "one.fa", ("x", A))
    for argv, pairs in (
        (["align", *files], "4 pairs"),
        (["align", *files, "--top", "1"], "4 pairs"),
        (["align", *files, "--strand", "both"], "4 pairs"),
        (["align", one, one], "1 pair"),
        (["align", one, one, "--alignments", "2"], "1 pair"),
    ):
        expected = run(capsys, *argv)
        assert expected[::2] == (0, "")
        code, out, err = run(capsys, *argv, "-v")
        assert (code, out) == expected[:2]
        device, plan, cost = err.splitlines()
        assert re.match(r"pysw-cl: device: \d+:\d+ ", device)
        assert plan.startswith("pysw-cl: plan: wavefront on ")
        assert cost.startswith(f"pysw-cl: {pairs}: ")
        assert re.search(r" s, .* GCUPS; [\d,]+ cells \(.*launches; .*kernels: .* s", cost)
    err = run(capsys, "align", one, one, "--verbose", "--plan", "engine=reference")[2]
    assert err.startswith("pysw-cl: plan: ")  # which has no device


def test_verbose_resume(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    one, folder = fasta(tmp_path / "one.fa", ("x", A)), str(tmp_path / "job")
    _, out, _ = run(capsys, "align", one, one, "--checkpoint", folder)
    code, again, err = run(capsys, "resume", folder, "-v")
    assert (code, again) == (0, out)
    assert [line.split()[1] for line in err.splitlines()] == ["device:", "plan:", "1"]


def test_what_paths_cost_counts(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, files: list[str]
) -> None:
    """A choice among paths costs the scores of all pairs, and the paths of the chosen ones only."""
    asked: list[tuple[int, int]] = []
    usual = PairAligner.align

    def counted(aligner: Any, pairs: Any, *given: Any) -> Any:
        found = usual(aligner, pairs, *given)
        asked.append((len(pairs), len(found[0])))
        return found

    monkeypatch.setattr(PairAligner, "align", counted)
    assert run(capsys, "align", *files, "--top", "1")[1].count("\n") == 2
    assert asked == [(4, 2)]


class Bar(ProgressBar):
    """Notes what it is told of the pairs."""

    def __init__(self) -> None:
        super().__init__(io.StringIO())
        self.told: list[Any] = []

    def expect(self, pairs: int | None = None, cells: int | None = None) -> None:
        super().expect(pairs, cells)
        self.told.append((pairs, cells))

    def begin(self) -> None:
        super().begin()
        self.told.append("")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("", [(4, (len(A) + len(B)) ** 2), "", ""]),
        ("--output score --pairs", [(2, None), ""]),
        ("--strand both", [(4, (len(A) + len(B)) ** 2), "", ""]),
        ("--max-cost none --mode global", [(4, (len(A) + len(B)) ** 2), "", ""]),
        ("--max-cost 3 --mode global", [(4, None), "", "", "", ""]),
        ("--top 1", [(4, (len(A) + len(B)) ** 2), "", ""]),
    ],
)
def test_the_bar_knows_all_pairs(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    files: list[str],
    options: str,
    told: list[Any],
) -> None:
    monkeypatch.setattr(batches, "FIRST_PAIRS", 2)
    bar = Bar()
    monkeypatch.setattr("pysw_cl.cli.output.progress_of", lambda *_: contextlib.closing(bar))
    assert run(capsys, "align", *files, *options.split())[0] == 0
    assert bar.told == told
