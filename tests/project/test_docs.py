"""README and every page of docs/ run as doctests."""

from __future__ import annotations

import doctest
import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_page(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)  # pages name files from the top of the source tree
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    failed, _ = doctest.testfile(os.fspath(page), module_relative=False, optionflags=flags)
    assert failed == 0


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
