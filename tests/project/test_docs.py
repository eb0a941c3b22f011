"""README and every page of docs/ run as doctests, and then the page's shell (``console``)."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from pysw_cl.cli import main as cli

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_page(
    page: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(ROOT)  # pages name files from the top of the source tree
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    failed, _ = doctest.testfile(os.fspath(page), module_relative=False, optionflags=FLAGS)
    said = capsys.readouterr().out
    assert failed == 0, said
    for command, wanted in console(page):  # where the examples have left the process
        if command.startswith("pysw-cl "):
            assert cli.main(shlex.split(command)[1:]) == 0, command
            same(wanted, capsys.readouterr().out, command)


def console(page: Path) -> list[tuple[str, str]]:
    """The commands of the shell of a page that are shown with what they print."""
    found = []
    for block in CONSOLE.findall(page.read_text()):
        nothing, *parts = re.split(r"^\$ ((?:.*\\\n>)*.*)\n", block, flags=re.MULTILINE)
        assert nothing == "" and parts, block
        commands = (command.replace("\\\n>", " ") for command in parts[::2])
        found += zip(commands, parts[1::2], strict=True)
    return found


def same(wanted: str, got: str, command: str) -> None:
    assert doctest.OutputChecker().check_output(wanted, got, FLAGS), f"{command}\n{got}"


@pytest.mark.parametrize("program", ["water", "needle", "blastp", "blastn", "minimap2"])
def test_other_programs_print_what_is_shown(
    program: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"needs {program}")
    page = ROOT / "docs" / "coming-from.md"
    commands = [one for one in console(page) if one[0].startswith(f"{program} ")]
    assert commands
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    files = page.read_text().split("\n## ")[0]  # its first examples make the files
    examples = doctest.DocTestParser().get_doctest(files, {}, page.name, None, 0)
    assert doctest.DocTestRunner(optionflags=FLAGS).run(examples).failed == 0
    for command, wanted in commands:
        done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60)
        same(wanted, done.stdout, f"{command}\n{done.stderr}")


def test_commands_of_the_shell_are_right() -> None:
    """Of every page, also those that are not run."""
    parser, count = cli.make_parser(), 0
    for page in PAGES:
        for block in re.findall(r"^```sh\n(.*?)^```", page.read_text(), re.M | re.S):
            for command in re.findall(r"\bpysw-cl ([a-z][^#|>;\n]*)", block):
                parser.parse_args(shlex.split(command))
                count += 1
    assert count > 12


def test_local_links_lead_somewhere() -> None:
    for page in [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "examples" / "README.md"]:
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def anchors(page: Path) -> set[str]:
    """What the headings of a page are called in links."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_links_to_headings_lead_somewhere() -> None:
    count = 0
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        for name, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text()):
            assert anchor in anchors(page.parent / name if name else page), f"{page.name}: {anchor}"
            count += 1
    assert count > 20


def test_the_map_names_files_that_are_there() -> None:
    text = (ROOT / "docs" / "dev" / "map.md").read_text()
    named = set(re.findall(r"[a-z_]+/[a-z_/]*[a-z_]+\.(?:py|clh?|md|txt)\b", text))
    assert len(named) > 40
    places = ROOT, ROOT / "pysw_cl", ROOT / "docs"
    assert [name for name in named if not any((place / name).exists() for place in places)] == []
    folders = {path.name for path in (ROOT / "pysw_cl").iterdir() if path.is_dir()}
    assert all(f"{name}/" in text for name in folders - {"__pycache__"})
