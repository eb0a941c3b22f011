"""The package finds what ships with it, and its metadata says what is true."""

from __future__ import annotations

import configparser
import re
from importlib import metadata
from pathlib import Path

import pytest
from Bio.Seq import Seq

import pysw_cl
from pysw_cl.errors import InternalError
from pysw_cl.folders import kernel_source, shipped

ROOT = Path(__file__).resolve().parents[2]


def test_version() -> None:
    assert f"## {pysw_cl.__version__}" in (ROOT / "CHANGELOG.md").read_text()
    try:
        installed = metadata.version("pysw-cl")
    except metadata.PackageNotFoundError:
        pytest.skip("runs from a source tree that is not installed")
    assert installed == pysw_cl.__version__


def test_every_kernel_source_is_found() -> None:
    names = [
        path.relative_to(ROOT / "cl").as_posix()
        for path in (ROOT / "cl").rglob("*")
        if path.suffix in {".cl", ".clh"}
    ]
    assert "recurrence.clh" in names
    for name in names:
        assert kernel_source(name) == (ROOT / "cl" / name).read_text(encoding="ascii")


def test_examples_are_found() -> None:
    for name in ("NC_012920.1.fasta", "GU112745.1.fasta"):
        assert shipped("examples", name).read_text().startswith(f">{name[:-6]} ")


def test_example_proteins_are_those_of_the_genomes() -> None:
    """Each is what its header says: a piece of a genome, translated by the mitochondrial code."""
    names = ("NC_012920.1", "GU112745.1")
    genomes = {
        name: next(pysw_cl.read_sequences(shipped("examples", f"{name}.fasta"))) for name in names
    }
    proteins = list(pysw_cl.read_sequences(shipped("examples", "mitochondrial_proteins.fasta")))
    assert len(proteins) == 26
    for protein in proteins:
        found = re.fullmatch(r"(\S+):(\d+)-(\d+)( complement)?", protein.description)
        assert found, protein.description
        gene = genomes[found[1]][int(found[2]) - 1 : int(found[3])]
        gene = gene.reverse_complement() if found[4] else gene
        assert protein.name.endswith("_human" if found[1] == names[0] else "_chimp")
        whole = str(gene) + "A" * (-len(gene) % 3)  # a stop codon that is completed by A's
        assert "M" + str(Seq(whole).translate(table=2))[1:] == f"{protein}*"


def test_missing_file_is_named() -> None:
    with pytest.raises(InternalError, match="cl/no_such\\.cl"):
        kernel_source("no_such.cl")


def test_package_is_marked_as_typed() -> None:
    assert (Path(pysw_cl.__file__).parent / "py.typed").is_file()


def test_every_package_and_kernel_folder_is_listed() -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    listed = set(config["options"]["packages"].split())
    folders = {path.parent for path in (ROOT / "pysw_cl").rglob("*.py")}
    there = {".".join(folder.relative_to(ROOT).parts) for folder in folders}
    assert listed == there | {"pysw_cl.cl", "pysw_cl.examples"}
    for folder in folders:
        assert (folder / "__init__.py").is_file()
    data = config["options.package_data"]["pysw_cl.cl"].split()  # a line each
    for path in (ROOT / "cl").rglob("*.cl*"):
        pattern = path.relative_to(ROOT / "cl").with_name("*" + path.suffix).as_posix()
        assert pattern in data
