"""Tile jobs and results as bytes and back: to the last bit, and nothing else is taken for one."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from contract_engines import assert_tile, make_engine, random_job, random_pairs
from helpers import match_scoring, random_scoring

from pysw_cl import PositionMatrix
from pysw_cl.errors import InputError, InternalError
from pysw_cl.scoring.scoring import Scoring, make_scoring
from pysw_cl.tiles.codec import pack_job, pack_result, unpack_job, unpack_result
from pysw_cl.tiles.edges import DeviceEdge, Edge
from pysw_cl.tiles.tile import TileJob


def plain(value: object) -> object:
    """What two values are compared by."""
    if isinstance(value, np.ndarray):
        return value.dtype.newbyteorder("<").str, value.tolist()
    if isinstance(value, DeviceEdge):
        value = value.read(0, len(value))
    if isinstance(value, Edge):
        return plain(value.h), plain(value.x)
    if isinstance(value, Scoring):
        return value.facts()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def same(one: object, other: object) -> None:
    assert type(one) is type(other)
    for one_field in fields(one):  # type: ignore[arg-type]
        name = one_field.name
        if name in ("reached", "execution"):  # an engine's own notes
            continue
        assert plain(getattr(one, name)) == plain(getattr(other, name)), name


def jobs(count: int) -> list[TileJob]:
    """Tiles of all kinds."""
    rng = np.random.default_rng(1)
    found = []
    for k in range(count):
        m, n = (int(v) for v in rng.integers(2, 50, 2))
        scoring = random_scoring(rng, 4) if k % 2 else match_scoring(2, -3, 3, 1)
        if k % 5 == 4:
            scoring = make_scoring("BLOSUM62", (10, 0.5))
        more = {
            "best": k % 3 > 0,
            "threshold": None if k % 4 else 5,
            "right": k % 2 > 0,
            "bottom": k % 3 < 2,
            "after": (3, 4) if k % 4 == 1 else None,
            "rows": (1,) if k % 3 == 1 else (),
            "columns": tuple(range(1, n, 7)),
        }
        if k % 6 == 5:
            more["forbidden"] = random_pairs(rng, m, n)
        found.append(random_job(rng, m, n, scoring, k % 2 == 0, **more))
    return found


def test_jobs() -> None:
    for job in jobs(24):
        again = unpack_job(pack_job(job))
        same(again, job)
        assert pack_job(again) == pack_job(job)
        assert not any(np.shares_memory(again.query, edge) for edge in (job.query, job.target))


#: One of each kind of result: plans of one form differ in lanes only, not in what they give.
ENGINES = [
    "reference", "default", "narrow-ticketed", "ticketed", "two-phase-2", "sections", "rowscan",
    "rowscan-three",
]  # fmt: skip


@pytest.mark.parametrize("name", ENGINES)
def test_results_of_every_engine(name: str) -> None:
    """A job that travelled gives what it gives here, and the result travels back."""
    engine = make_engine(name)
    for job in jobs(6):
        result = engine.tile(job)
        there = engine.tile(unpack_job(pack_job(job)))
        same(unpack_result(pack_result(there)), there)
        if job.after is None:  # what is pruned depends on which group was first
            same(unpack_result(pack_result(result)), unpack_result(pack_result(there)))


def test_moves_stay_where_they_are() -> None:
    job = random_job(np.random.default_rng(2), 9, 8, match_scoring(2, -3, 3, 1), True)
    job = unpack_job(pack_job(job))
    object.__setattr__(job, "store_moves", True)
    with pytest.raises(InternalError, match="stay with the engine"):
        pack_result(make_engine("reference").tile(job))


def test_bytes_that_are_damaged() -> None:
    data = pack_job(jobs(1)[0])
    for place in (0, 9, 20, len(data) // 2, len(data) - 1):
        changed = bytearray(data)
        changed[place] ^= 1
        with pytest.raises(InputError, match="packed tile"):
            unpack_job(bytes(changed))
    for length in (0, 5, 30, len(data) - 1):
        with pytest.raises(InputError, match="packed tile"):
            unpack_job(data[:length])


def test_jobs_of_a_position_matrix() -> None:
    """Their scoring, and codes of 16 bits."""
    rng = np.random.default_rng(4)
    scores = rng.integers(-5, 6, (300, 4))
    for query in (None, "A" * 300):
        scoring = PositionMatrix(scores, "ACGT", query).scoring((4, 1))
        job = random_job(rng, 5, 9, match_scoring(2, -3, 4, 1), True, best=True, bottom=True)
        job = replace(job, scoring=scoring, query=np.arange(290, 295, dtype=np.uint16))
        again, engine = unpack_job(pack_job(job)), make_engine("reference")
        assert type(again.scoring) is type(scoring) and again.query.dtype == np.uint16
        assert_tile(engine.tile(again), engine.tile(job), scoring.gap_open)
