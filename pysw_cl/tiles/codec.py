"""Turns tile jobs and results into bytes and back, for checkpoints and for other machines.

A value becomes facts, which JSON can hold, and named arrays, and both become one string of bytes.
Edges on a device are read.  The moves of a tile (``TileResult.moves``) cannot be encoded.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, InternalError
from ..scoring.scoring import Scoring
from .edges import DeviceEdge, Edge
from .tile import Hits, TileJob, TileResult

Facts = dict[str, Any]
Arrays = dict[str, NDArray[Any]]

#: The first bytes of every string, and the version of the layout.
MARK, VERSION = b"PSWTILE\0", 1
_HEAD = struct.Struct("<8sIIQ")  # mark, version, CRC-32 of the rest, bytes of the facts
#: Fields of a job that are numbers, truth values, tuples of numbers or None.
_PLAIN = "floor corner best threshold count bottom right store_moves after rows columns".split()
#: Those of a result, and how many cells it has by lane set.
_FOUND = ("top", "cells", "launches", "again", "pruned")


def result_facts(result: TileResult) -> tuple[Facts, dict[str, Edge]]:
    """A result as facts, and its edges by name: "bottom", "right", "row 5" and "column 7" for
    special row 5 and special column 7.  Raises InternalError for a result with moves."""
    if result.moves is not None:
        raise InternalError("the moves of a tile stay with the engine that stored them")
    edges: dict[str, Edge | DeviceEdge | None] = {"bottom": result.bottom, "right": result.right}
    edges |= {f"row {row}": cells for row, cells in result.rows.items()}
    edges |= {f"column {column}": cells for column, cells in result.columns.items()}
    there = {name: edge.read(0, len(edge)) for name, edge in edges.items() if edge is not None}
    lengths = {name: len(edge) for name, edge in there.items()}
    plain = {name: getattr(result, name) for name in _FOUND}
    return {"edges": lengths, "hits": result.hits.cells.tolist(), **plain}, there


def result_of(facts: Mapping[str, Any], edges: Mapping[str, Edge]) -> TileResult:
    """The result from what :func:`result_facts` gave."""

    def inner(kind: str) -> dict[int, Edge]:
        return {int(k[len(kind) :]): edges[k] for k in facts["edges"] if k.startswith(kind)}

    hits = Hits(np.array(facts["hits"], np.int64).reshape(-1, 3))
    more: dict[str, Any] = {name: facts[name] for name in _FOUND if name in facts}
    more |= {"rows": inner("row "), "columns": inner("column ")}
    return TileResult(edges.get("bottom"), edges.get("right"), hits, **more)


def pack(facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Facts and arrays as one string of bytes, the same on every machine."""
    little = {k: np.ascontiguousarray(a, a.dtype.newbyteorder("<")) for k, a in arrays.items()}
    layout = [[name, a.dtype.str, list(a.shape)] for name, a in little.items()]
    head = json.dumps({"facts": facts, "arrays": layout}, separators=(",", ":")).encode()
    body = b"".join([head, *(array.tobytes() for array in little.values())])
    return _HEAD.pack(MARK, VERSION, _checksum(body, len(head)), len(head)) + body


def unpack(data: bytes) -> tuple[Facts, Arrays]:
    """The facts and arrays in a string that :func:`pack` made.  Raises InputError for any other
    string, and for one that was changed or truncated."""
    if len(data) < _HEAD.size:
        raise InputError(f"{len(data)} bytes are no packed tile")
    mark, version, checksum, length = _HEAD.unpack_from(data)
    body = memoryview(data)[_HEAD.size :]
    if mark != MARK or version != VERSION:
        raise InputError(f"not a packed tile of layout {VERSION}")
    if _checksum(body, length) != checksum:
        raise InputError("a packed tile was changed or cut on the way")
    head = json.loads(bytes(body[:length]))
    arrays: Arrays = {}
    at = length
    for name, kind, shape in head["arrays"]:
        count = int(np.prod(shape, dtype=np.int64))
        arrays[name] = np.frombuffer(body, np.dtype(kind), count, at).reshape(shape).copy()
        at += arrays[name].nbytes
    return head["facts"], arrays


def pack_job(job: TileJob) -> bytes:
    """A job as bytes."""
    facts = {name: getattr(job, name) for name in _PLAIN} | {"scoring": job.scoring.facts()}
    edges = {"left": job.left} | ({} if job.top is None else {"top": job.top})
    forbidden = {} if job.forbidden is None else {"forbidden": job.forbidden}
    letters = {"query": job.query, "target": job.target}
    return pack(facts, {**letters, **_edge_arrays(edges), **forbidden})


def unpack_job(data: bytes) -> TileJob:
    """The job in a string that :func:`pack_job` made."""
    facts, arrays = unpack(data)
    scoring = Scoring.of_facts(facts.pop("scoring"))
    plain: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in facts.items()}
    return TileJob(
        query=arrays["query"],
        target=arrays["target"],
        scoring=scoring,
        top=_edge("top", arrays) if "top h" in arrays else None,
        left=_edge("left", arrays),
        forbidden=arrays.get("forbidden"),
        **plain,
    )


def pack_result(result: TileResult) -> bytes:
    """A result as bytes."""
    facts, edges = result_facts(result)
    return pack(facts, _edge_arrays(edges))


def unpack_result(data: bytes) -> TileResult:
    """The result in a string that :func:`pack_result` made."""
    facts, arrays = unpack(data)
    return result_of(facts, {name: _edge(name, arrays) for name in facts["edges"]})


def _checksum(body: bytes | memoryview, length: int) -> int:
    return zlib.crc32(body, zlib.crc32(length.to_bytes(8, "little")))


def _edge_arrays(edges: Mapping[str, Edge]) -> Arrays:
    return {f"{name} {k}": getattr(edge, k) for name, edge in edges.items() for k in "hx"}


def _edge(name: str, arrays: Mapping[str, NDArray[Any]]) -> Edge:
    return Edge(arrays[f"{name} h"], arrays[f"{name} x"])
