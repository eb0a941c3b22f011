"""Tile jobs and results are plain values: they can be sent and stored, to the last bit."""

from __future__ import annotations

import pickle
from dataclasses import fields, replace

import numpy as np
import pytest
from contract_engines import assert_tile, make_engine, random_job, random_pairs
from helpers import match_scoring, random_scoring

from pysw_cl import PositionMatrix
from pysw_cl.checkpoint.run import result_facts, result_of
from pysw_cl.errors import InternalError
from pysw_cl.scoring.scoring import Scoring, make_scoring
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


def sent(job: TileJob) -> TileJob:
    """As another process gets it."""
    return pickle.loads(pickle.dumps(job))


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
        same(sent(job), job)


#: One of each kind of result: plans of one form differ in lanes only, not in what they give.
ENGINES = [
    "reference", "default", "narrow-ticketed", "ticketed", "two-phase-2", "sections", "rowscan",
    "rowscan-three",
]  # fmt: skip


@pytest.mark.parametrize("name", ENGINES)
def test_results_of_every_engine(name: str) -> None:
    """A job that travelled gives what it gives here, and its result can be stored."""
    engine = make_engine(name)
    for job in jobs(6):
        result = engine.tile(job)
        there = engine.tile(sent(job))
        same(result_of(*result_facts(there)), there)
        if job.after is None:  # what is pruned depends on which group was first
            same(result_of(*result_facts(result)), result_of(*result_facts(there)))


def test_moves_stay_where_they_are() -> None:
    job = random_job(np.random.default_rng(2), 9, 8, match_scoring(2, -3, 3, 1), True)
    with pytest.raises(InternalError, match="stay with the engine"):
        result_facts(make_engine("reference").tile(replace(job, store_moves=True)))


def test_jobs_of_a_position_matrix() -> None:
    """Their scoring, and codes of 16 bits."""
    rng = np.random.default_rng(4)
    scores = rng.integers(-5, 6, (300, 4))
    for query in (None, "A" * 300):
        scoring = PositionMatrix(scores, "ACGT", query).scoring((4, 1))
        job = random_job(rng, 5, 9, match_scoring(2, -3, 4, 1), True, best=True, bottom=True)
        job = replace(job, scoring=scoring, query=np.arange(290, 295, dtype=np.uint16))
        again, engine = sent(job), make_engine("reference")
        assert type(again.scoring) is type(scoring) and again.query.dtype == np.uint16
        assert_tile(engine.tile(again), engine.tile(job), scoring.gap_open)
