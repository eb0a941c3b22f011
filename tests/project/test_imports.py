"""The folders of the package stand in one order, and each imports only from those before it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "pysw_cl"
#: Modules and folders of the package, each before all that may import it.  "pysw_cl" is the package
#: itself: the public names.
ORDER = (
    "errors",
    "_version",
    "folders",
    "sequences",
    "scoring",
    "planning",
    "tiles",
    "opencl",
    "engines",
    "results",
    "drivers",
    "checkpoint",
    "cluster",
    "api",
    "database",
    "ssca1",
    "skbio",
    "pysw_cl",
    "cli",
    "__main__",
)


def imported(file: Path) -> Iterator[str]:
    """Names that a file imports from this package, as "folder.module.name" ("pysw_cl.name" for
    those of the package itself), inside functions and under TYPE_CHECKING included."""
    package = ("pysw_cl", *file.relative_to(PACKAGE).parts[:-1])
    for node in ast.walk(ast.parse(file.read_text())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else ()
            parts = [*base, *([node.module] if node.module else [])]
            names = [".".join([*parts, alias.name]) for alias in node.names]
        for name in names:
            first, _, rest = name.partition(".")
            if first == "pysw_cl":
                yield rest if rest.partition(".")[0] in ORDER else name


def home(file: Path) -> str:
    """The folder of a file, or the module itself at the root."""
    first = file.relative_to(PACKAGE).parts[0].removesuffix(".py")
    return "pysw_cl" if first == "__init__" else first


def test_order() -> None:
    files = sorted(PACKAGE.rglob("*.py"))
    assert {home(file) for file in files} == set(ORDER)
    found = {
        (file.relative_to(PACKAGE).as_posix(), name)
        for file in files
        for name in imported(file)
        if ORDER.index(name.partition(".")[0]) > ORDER.index(home(file))
    }
    assert not found


def test_no_files_import_in_a_circle() -> None:
    """Imports inside functions and under TYPE_CHECKING count, too."""
    stem = {
        ".".join(file.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__"): file
        for file in PACKAGE.rglob("*.py")
    }
    graph = {name: {source(one, stem) for one in imported(file)} for name, file in stem.items()}
    graph = {name: needed - {name, ""} for name, needed in graph.items()}
    assert list(TopologicalSorter(graph).static_order())


def source(name: str, files: dict[str, Path]) -> str:
    """The module of a name that is imported: itself, or what it is imported from ("": the
    package's public names)."""
    name = name.removeprefix("pysw_cl.")
    while name and name not in files:
        name = name.rpartition(".")[0]
    return name


def test_files_and_functions_are_short() -> None:
    """Files have 400 lines, functions 60 without their docstring."""
    for file in PACKAGE.rglob("*.py"):
        text = file.read_text()
        assert text.count("\n") <= 400, file
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                body = node.body[1:] if ast.get_docstring(node) and node.body[1:] else node.body
                assert (node.end_lineno or 0) - body[0].lineno < 60, (file, node.name)


def test_names_of_test_files_are_unique() -> None:
    """pytest imports them by their names alone, and ends at a second one of a name."""
    counts = Counter(path.name for path in Path(__file__).parents[1].rglob("test_*.py"))
    assert [name for name, count in counts.items() if count > 1] == []


def drawing() -> str:
    """The folders and their files, as the map draws them."""
    text = (PACKAGE.parent / "docs/dev/map.md").read_text()
    return text[text.index("    pysw_cl/\n") : text.index("    cl/  ")]


def test_the_map_draws_this_order() -> None:
    """A folder imports only from those below it there, and every file is named."""
    lines = drawing().splitlines()[1:]
    drawn = [line.split()[0].rstrip("/") for line in lines if line[6:7].strip()]
    assert drawn == [name for name in reversed(ORDER) if name in drawn]
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert folders - {"cl"} <= set(drawn)
    words = set(re.findall(r"\w+", drawing()))
    files = {path.stem for folder in folders for path in (PACKAGE / folder).glob("*.py")}
    assert files - {"__init__"} <= words


def test_benches_find_what_they_import() -> None:
    bench = PACKAGE.parent / "bench"
    names = ", ".join(path.stem for path in bench.glob("*.py"))
    subprocess.run([sys.executable, "-c", f"import {names}"], cwd=bench, check=True)
