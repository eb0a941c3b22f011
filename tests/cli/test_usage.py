"""The command line: wrong usage ends with exit code 2 and one line, whoever finds it."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_cli import fails, fasta, run

from pysw_cl.api import advice
from pysw_cl.cli.main import limit_threads, make_parser
from pysw_cl.sequences import parallel


def refused(capsys: pytest.CaptureFixture[str], *argv: str, command: str = "pysw-cl align") -> str:
    """Run, expect wrong usage of this subcommand, and return what is said about it."""
    code, out, err = run(capsys, *argv)
    assert (code, out) == (2, "")
    assert err.startswith(f"{command}: ")
    assert err.endswith(f" (see {command} --help)\n")
    assert err.count("\n") == 1
    return err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("", "the following arguments are required: QUERY, TARGET"),
        ("only_one", "the following arguments are required: TARGET"),
        ("a b c", "unrecognized arguments: c"),
        ("a b --alien", "there is no option --alien"),
        ("--alien both a b", "there is no option --alien"),
        ("--alien=x a", "there is no option --alien=x"),
        ("-x a", "there is no option -x"),
        ("a b --out score", "there is no option --out"),
        ("a b --mode semi", "'semi' is not local or global"),
        ("a b --output all", "invalid choice: 'all'"),
        ("a b --outfmt bam", "'bam' is not a format; there are paf, tsv, pair, sam, "),
        ("a b --match one", "argument --match: 'one' is not a number"),
        ("a b --free-ends 1,0,1", "is not 1, 2 or 4 of 0 and 1"),
        ("a b --free-ends maybe", "is not 1, 2 or 4 of 0 and 1"),
        ("a b --plan B", "is not KEY=VALUE"),
        ("a b --plan B=1,B=2", "is not KEY=VALUE"),
        ("a b --matrix BLOSUM62 --match 2", "--matrix cannot go with --match or --mismatch"),
        ("- -", "cannot both be standard input"),
        ("a b --max-cost 5", "is for mode 'global'"),
        ("a b --top 0", "is not a whole number of at least 1"),
        ("a b --top 1.5", "is not a whole number of at least 1"),
        ("a b --top 3 --pairs", "--top cannot go with --pairs"),
        ("a b --top 3 --checkpoint job", "--top cannot go with --checkpoint"),
        ("a b --min-score much", "argument --min-score: 'much' is not a number"),
        ("a b --stop-after 2h", "--disk-size and --stop-after go with --checkpoint"),
        ("a b --strand minus --matrix BLOSUM62", "takes nucleotides"),
        ("a b --outfmt paf --output score", "for --output score there is --outfmt tsv"),
        ("a b --outfmt paf --output ends", "for --output ends there is --outfmt tsv"),
        ("a b --outfmt paf --output ends", "--outfmt paf needs --output path"),
    ],
)
def test_wrong_usage(capsys: pytest.CaptureFixture[str], options: str, words: str) -> None:
    assert words in refused(capsys, "align", *options.split())


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ("--gap-open -5", "-5"),
        ("--gap-extend -2", "-2"),
        ("--gap-open nan", "nan"),
        ("--min-score nan", "'nan' is not a finite number"),
        ("--match inf", "inf"),
        ("--match 0.25", "whole numbers or halves"),
        ("--matrix BLOSUM63", "BLOSUM63"),
        ("--wildcard NN", "NN"),
        ("--wildcard !", "!"),
        ("--iupac match --matrix NUC.4.4", "--match and --mismatch"),
        ("--iupac maybe", "invalid choice: 'maybe'"),
        ("--plan B=0", "B"),
        ("--plan T=100000000", "T"),
        ("--plan alpha=-1", "alpha"),
        ("--plan engine=steam", "steam"),
        ("--plan colour=red", "colour"),
        ("--plan foo=1", "foo"),
        ("--alignments 2 --min-score 0", "min_score"),
    ],
)
def test_a_bad_value_is_wrong_usage_before_files_are_read(
    capsys: pytest.CaptureFixture[str], options: str, word: str
) -> None:
    assert word in refused(capsys, "align", "no_such.fa", "no_such.fa", *options.split())


@pytest.mark.parametrize("name", ["abacus", "99:0"])
def test_a_device_that_is_not_there_is_no_wrong_usage(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    one = fasta(tmp_path / "a.fa", ("a", "ACGT"))
    assert name in fails(capsys, "align", one, one, "--device", name)


def test_every_subcommand_speaks_for_itself(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for command, argv in (
        ("align", ["a", "b", "c"]),
        ("plot", ["a", "b", "c.png", "d"]),
        ("resume", ["job", "more"]),
        ("devices", ["all"]),
        ("demo", ["now"]),
    ):
        refused(capsys, command, *argv, command=f"pysw-cl {command}")
    assert "invalid choice: 'alien'" in refused(capsys, "alien", command="pysw-cl")
    assert "--alien" in refused(capsys, "--alien", command="pysw-cl")


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """A parser, and those of its subcommands."""
    yield parser
    for action in parser._actions:
        if action.nargs == argparse.PARSER:
            yield from action.choices.values()


@pytest.mark.parametrize("parser", list(parsers(make_parser())), ids=lambda one: one.prog)
def test_every_help_has_groups_and_examples(parser: argparse.ArgumentParser) -> None:
    """The examples are command lines that are taken, and all but a few options are in groups."""
    text = parser.format_help()
    assert "\nexamples:\n" in text
    for line in text.partition("\nexamples:\n")[2].splitlines():
        words = shlex.split(re.split("  +|<", line.strip())[0])
        assert words[0] == "pysw-cl"
        if words[-1] != "--help":
            assert make_parser().parse_args(words[1:]).run
    titles = {group.title: len(group._group_actions) for group in parser._action_groups}
    assert titles["options"] <= 7 and max(titles.values()) <= 12


def test_no_subcommand_is_asking_for_help(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys)
    assert (code, err) == (0, "")
    assert out == run(capsys, "--help")[1]


def test_a_bad_record_is_no_wrong_usage(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    bad = fasta(tmp_path / "bad.fa", ("odd", "ACG!T"))
    assert "query odd: letter '!' at position 4" in fails(capsys, "align", bad, bad)


@pytest.mark.parametrize(
    "options",
    [
        "--alignments 0",
        "--alignments all",
        "--alignments 2 --mode global",
        "--alignments 2 --free-ends 1",
        "--alignments 2 --max-cost none",
        "--alignments 2 --max-cost 3",
        "--alignments 2 --top 2",
        "--alignments 2 --checkpoint job",
    ],
)
def test_what_alignments_go_without(capsys: pytest.CaptureFixture[str], options: str) -> None:
    assert "--alignments" in refused(capsys, "align", "a", "b", *options.split())


def test_resume_checks_plan_and_format_first(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    one, folder = fasta(tmp_path / "a.fa", ("a", "ACGTACGT")), str(tmp_path / "job")
    saved = ["--checkpoint", folder, "--plan", "engine=reference"]
    code, out, _ = run(capsys, "align", one, one, "--output", "score", *saved)
    assert code == 0
    assert run(capsys, "resume", folder) == (0, out, "")
    command = "pysw-cl resume"
    said = refused(capsys, "resume", folder, "--outfmt", "paf", command=command)
    assert "for --output score there is --outfmt tsv" in said
    assert "foo" in refused(capsys, "resume", folder, "--plan", "foo=1", command=command)


@pytest.mark.parametrize(
    "option", ["--top", "--min-score", "--alignments", "--pairs", "--skip-bad", "--output"]
)
def test_a_resumed_run_has_no_option_that_it_cannot_use(
    option: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    said = refused(capsys, "resume", str(tmp_path), option, "3", command="pysw-cl resume")
    assert f"there is no option {option} (see" in said


def test_a_scoring_in_the_linear_phase_gets_a_warning(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Always in the shell, where 50 ms do not count; not for defaults, nor in global mode."""
    one = fasta(tmp_path / "a.fa", ("a", "ACGTACGT"))
    for options, said in (
        ("--match 2 --mismatch -1 --gap-open 1 --gap-extend 1", True),
        ("--match 2 --mismatch -1 --gap-open 1 --gap-extend 1 --mode global", False),
        ("", False),
    ):
        code, _, err = run(capsys, "align", one, one, *options.split())
        assert code == 0 and ("linear phase" in err) == said


@pytest.mark.parametrize("command", ["align", "align --alignments 2", "plot"])
def test_odd_input_is_said_once(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    command: str,
) -> None:
    """Though what it calls would say it, too, when so many cells are compared."""
    monkeypatch.setattr(advice, "PHASE_CELLS", 1)
    one = fasta(tmp_path / "a.fa", ("a", "MKWVTUFISL"))
    name, *more = command.split()
    files = [one, one]
    if name == "plot":
        pytest.importorskip("matplotlib")
        files.append(str(tmp_path / "x.png"))
    options = ["--matrix", "BLOSUM62", "--gap-open", "1", "--gap-extend", "1"]
    code, _, err = run(capsys, name, *files, *more, *options, "--query-range", "2-10")
    assert code == 0
    first, second = err.splitlines()
    assert "linear phase" in first
    assert second.endswith("of BLOSUM62 were scored as others: U as C (2)")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--mode semiglobal", "use --mode global --free-ends 1"),
        ("--mode semi-global", "use --mode global --free-ends 1"),
        ("--mode Glocal", "use --mode global --free-ends 1,0"),
        ("--mode banded", "'banded' is not local or global"),
        ("--free-ends 1", "--free-ends goes with --mode global"),
        ("--mode local --free-ends 0,1", "--free-ends goes with --mode global"),
    ],
)
def test_modes_of_other_tools(capsys: pytest.CaptureFixture[str], options: str, words: str) -> None:
    assert words in refused(capsys, "align", "a", "b", *options.split())


def test_threads_are_part_of_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every command that computes; the host's own work has no more of them, either."""
    monkeypatch.setattr(parallel, "AT_ONCE", 8)
    words = {"align": "a b", "ends": "a b", "resume": "job", "predict": "1k 1k", "demo": ""}
    for command in ("plot a b c.png", "prepare", "tune", *map(" ".join, words.items())):
        args = make_parser().parse_args([*command.split(), "--threads", "3"])
        limit_threads(args)
        assert args.device == "auto/3" and parallel.AT_ONCE == 3
