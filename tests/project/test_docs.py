"""README and every page of docs/ run as doctests; blocks of the shell (``console``) run after them."""

from __future__ import annotations

import doctest
import os
import re
import shlex
from pathlib import Path

import pytest

from pysw_cl.cli import main as cli

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_page(
    page: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)  # pages name files from the top of the source tree
    failed, _ = doctest.testfile(os.fspath(page), module_relative=False, optionflags=FLAGS)
    said = capsys.readouterr().out
    assert failed == 0, said
    for block in CONSOLE.findall(page.read_text()):  # where the examples have left the process
        for command, wanted in console(block):
            assert cli.main(shlex.split(command)[1:]) == 0, command
            got = capsys.readouterr().out
            assert doctest.OutputChecker().check_output(wanted, got, FLAGS), f"{command}\n{got}"


def console(block: str) -> list[tuple[str, str]]:
    """The commands of a block of a shell, and what they print."""
    parts = re.split(r"^\$ (pysw-cl .*)\n", block, flags=re.MULTILINE)
    assert parts[0] == "" and len(parts) > 1, block
    return list(zip(parts[1::2], parts[2::2], strict=True))


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


def test_the_map_names_files_that_are_there() -> None:
    text = (ROOT / "docs" / "dev" / "map.md").read_text()
    named = set(re.findall(r"[a-z_]+/[a-z_/]*[a-z_]+\.(?:py|clh?|md|txt)\b", text))
    assert len(named) > 40
    places = ROOT, ROOT / "pysw_cl", ROOT / "docs"
    assert [name for name in named if not any((place / name).exists() for place in places)] == []
    folders = {path.name for path in (ROOT / "pysw_cl").iterdir() if path.is_dir()}
    assert all(f"{name}/" in text for name in folders - {"__pycache__"})
