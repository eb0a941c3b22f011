"""Sealed files: exact, and every damage is found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pysw_cl.checkpoint.container import (
    DamagedFile,
    EdgeWriter,
    SealedFile,
    SealedWriter,
    Writer,
    pack_edge,
    stored_edge,
    unpack_edge,
)
from pysw_cl.errors import CheckpointError
from pysw_cl.scoring.precision import UNREACHABLE
from pysw_cl.tiles.edges import Edge


def random_edge(rng: np.random.Generator, length: int) -> Edge:
    """Usual values, all that 32 bits hold, or some unreachable cells."""
    kind = rng.integers(4)
    if kind == 0:
        h, x = (rng.integers(-(2**31), 2**31, length).astype(np.int32) for _ in range(2))
        return Edge(h, x)
    h = rng.integers(-5, (5, 300, 70_000)[kind - 1], length).astype(np.int32)
    lost = rng.random(length) < rng.choice([0, 0.3])
    x = h - rng.integers(0, 200, length).astype(np.int32)
    return Edge(*(np.where(lost, np.int32(UNREACHABLE), v).astype(np.int32) for v in (h, x)))


def test_edges_are_kept_exactly() -> None:
    rng = np.random.default_rng(5)
    for _ in range(300):
        edge = random_edge(rng, int(rng.integers(1, 60)))
        back = unpack_edge(pack_edge(edge), len(edge))
        assert (back.h.dtype, back.x.dtype) == (np.int32, np.int32)
        assert np.array_equal(back.h, edge.h) and np.array_equal(back.x, edge.x)


def test_a_stored_edge_reads_any_part(tmp_path: Path) -> None:
    rng, path = np.random.default_rng(6), tmp_path / "band"
    edge, writer = random_edge(rng, 500), Writer()
    band = EdgeWriter(writer, path)
    at = 0
    for length in (1, 200, 50, 249):
        band.put("row", at, edge.read(at, at + length))
        at += length
    band.seal({})
    writer.flush()
    writer.close()
    file = SealedFile(path)
    assert band.bytes == path.stat().st_size
    stored = stored_edge("row", [(0, file)])
    for _ in range(100):
        start, stop = sorted(int(v) for v in rng.choice(501, 2, replace=False))
        part = stored.read(start, stop)
        assert np.array_equal(part.h, edge.h[start:stop])
        assert np.array_equal(part.x, edge.x[start:stop])


def sealed(path: Path) -> bytes:
    writer = SealedWriter(path)
    writer.put("one", 0, 3, b"abc")
    writer.put("two", 0, 5, b"defgh")
    assert not path.exists()
    writer.seal({"fact": 1})
    writer.close()
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    return path.read_bytes()


def test_every_cut_and_every_changed_byte_is_found(tmp_path: Path) -> None:
    path = tmp_path / "file"
    whole = sealed(path)
    SealedFile(path).check()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(DamagedFile, match="damaged"):
            SealedFile(path).check()
    for k in range(len(whole)):
        changed = bytearray(whole)
        changed[k] ^= 1 << k % 8
        path.write_bytes(changed)
        with pytest.raises(DamagedFile, match="damaged"):
            SealedFile(path).check()
    path.unlink()
    with pytest.raises(DamagedFile, match="No such file"):
        SealedFile(path)


def test_an_unfinished_file_leaves_nothing(tmp_path: Path) -> None:
    writer = SealedWriter(tmp_path / "file")
    writer.put("one", 0, 3, b"abc")
    writer.close()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(CheckpointError, match="cannot write"):
        SealedWriter(tmp_path / "missing" / "file")


def test_the_writer_passes_its_error_on(tmp_path: Path) -> None:
    writer = Writer()
    band = EdgeWriter(writer, tmp_path / "missing" / "band")
    writer.flush()  # no file as long as nothing is put into it
    with pytest.raises(CheckpointError, match="No such file"):
        band.put("row", 0, Edge.unreachable(3))  # here, if the thread is quick
        writer.flush()
    with pytest.raises(CheckpointError, match="No such file"):
        band.seal({})
    writer.close()
