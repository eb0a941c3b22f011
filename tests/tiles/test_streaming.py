"""Edges that stream: two engines in two threads compute one matrix, split by columns or rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from pipes import EdgePipe
from threading import Condition, Thread

import numpy as np
import pytest
from contract_engines import assert_edge, make_engine
from helpers import match_scoring, random_pair

from pysw_cl.scoring.scoring import Scoring
from pysw_cl.sequences.view import View
from pysw_cl.tiles.contract import Engine
from pysw_cl.tiles.edges import Border, EdgeArray, Edges
from pysw_cl.tiles.graph import Rectangle
from pysw_cl.tiles.slabs import SweepResult
from pysw_cl.tiles.sweep import sweep
from pysw_cl.tiles.tile import Hit, Limits, TileJob, TileResult, Want

SCORING = match_scoring(2, -3, 3, 1)
#: Seconds after which a thread that waits for the other one fails.
PATIENCE = 60


@dataclass
class Events:
    """What two engines did, in order: (whose tile, its number, "begin" or "end")."""

    seen: list[tuple[str, int, str]] = field(default_factory=list)
    changed: Condition = field(default_factory=Condition)

    def note(self, *event: str | int) -> None:
        with self.changed:
            self.seen.append(event)  # type: ignore[arg-type]
            self.changed.notify_all()

    def wait(self, *event: str | int) -> None:
        """Until this has happened."""
        with self.changed:
            assert self.changed.wait_for(lambda: event in self.seen, PATIENCE), event


class Watched(Engine):
    """Any engine whose tiles are noted; tile ``held`` waits until ``until`` has happened."""

    def __init__(
        self, engine: Engine, name: str, events: Events, held: int = -1, until: str = ""
    ) -> None:
        self.engine, self.name, self.events = engine, name, events
        self.plan, self.captures_inside = engine.plan, engine.captures_inside
        self.held, self.until, self.count = held, until, 0

    def tile(self, job: TileJob) -> TileResult:
        number, self.count = self.count, self.count + 1
        if number == self.held:
            self.events.wait(self.until, 0, "end")
        self.events.note(self.name, number, "begin")
        result = self.engine.tile(job)
        self.events.note(self.name, number, "end")
        return result


def whole(query: View, target: View, scoring: Scoring, local: bool) -> tuple[SweepResult, Edges]:
    """The matrix at once, by the reference engine."""
    border = Border(local, scoring.gap_open, scoring.gap_extend)
    edges = Edges(0, border, border, EdgeArray(len(target)), EdgeArray(len(query)))
    want = Want("all" if local else "corner")
    floor = 0 if local else None
    return sweep(
        make_engine("reference"), Rectangle(query, target, scoring, floor), edges, want
    ), edges


@pytest.mark.parametrize("names", [("reference", "ticketed"), ("narrow-ticketed", "two-phase-2")])
@pytest.mark.parametrize("local", [True, False], ids=["local", "global"])
def test_two_engines_split_by_columns_work_at_the_same_time(
    names: tuple[str, str], local: bool
) -> None:
    """The last tile on the left waits for the first one on the right to be done: without streaming
    they would wait for each other for ever."""
    rng = np.random.default_rng(1)
    query, target = (View(codes) for codes in random_pair(rng, 4, 320, 250))
    wanted, edges = whole(query, target, SCORING, local)
    cut, rows, events = 110, 32, Events()
    border = Border(local, SCORING.gap_open, SCORING.gap_extend)
    pipe, bottoms = EdgePipe(320), (EdgeArray(cut), EdgeArray(250 - cut))
    right, found = EdgeArray(320), dict[str, SweepResult]()
    first = Watched(make_engine(names[0]), "left", events, held=9, until="right")
    second = Watched(make_engine(names[1]), "right", events)
    corner = 0 if local else -SCORING.gap_open - cut * SCORING.gap_extend
    floor, common = (0 if local else None), (Limits(),)
    halves = {
        "left": (first, target.slice(0, cut), Edges(0, border, border, bottoms[0], pipe)),
        "right": (
            second,
            target.slice(cut, 250),
            Edges(corner, border.read(cut, 250), pipe, bottoms[1], right),
        ),
    }

    def work(side: str) -> None:
        engine, part, around = halves[side]
        want = Want("all" if local else "corner" if side == "right" else "none")
        args = Rectangle(query, part, SCORING, floor), around, want, *common
        found[side] = sweep(engine, *args, shape=(rows, 250))

    threads = [Thread(target=work, args=(side,)) for side in halves]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(2 * PATIENCE)
    assert found.keys() == halves.keys()
    order = events.seen
    assert order.index(("right", 0, "end")) < order.index(("left", 9, "begin"))
    for number in range(10):  # and none begins before what it needs is there
        assert order.index(("left", number, "end")) < order.index(("right", number, "begin"))
    hits = [
        *found["left"].hits,
        *(Hit(h.score, h.row, h.column + cut) for h in found["right"].hits),
    ]
    assert min(hits) == wanted.hits[0]
    assert isinstance(edges.bottom, EdgeArray) and isinstance(edges.right, EdgeArray)
    below = bottoms[0].read(0, cut).joined(bottoms[1].read(0, 250 - cut))
    assert_edge(below, edges.bottom.read(0, 250), SCORING.gap_open)
    assert_edge(right.read(0, 320), edges.right.read(0, 320), SCORING.gap_open)


def test_two_engines_split_by_rows_work_at_the_same_time() -> None:
    """The upper one gives its bottom edge tile by tile."""
    rng = np.random.default_rng(2)
    query, target = (View(codes) for codes in random_pair(rng, 4, 120, 400))
    wanted, edges = whole(query, target, SCORING, True)
    cut, events, border = 50, Events(), Border(True, SCORING.gap_open, SCORING.gap_extend)
    pipe, bottom, found = EdgePipe(400), EdgeArray(400), dict[str, SweepResult]()
    upper = Watched(make_engine("reference"), "upper", events, held=7, until="lower")
    lower = Watched(make_engine("ticketed"), "lower", events)
    halves = {
        "upper": (upper, query.slice(0, cut), Edges(0, border, border, pipe)),
        "lower": (lower, query.slice(cut, 120), Edges(0, pipe, border.read(cut, 120), bottom)),
    }

    def work(side: str) -> None:
        engine, part, around = halves[side]
        args = Rectangle(part, target, SCORING, 0), around, Want("all")
        found[side] = sweep(engine, *args, shape=(128, 50))

    threads = [Thread(target=work, args=(side,)) for side in halves]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(2 * PATIENCE)
    order = events.seen
    assert order.index(("lower", 0, "end")) < order.index(("upper", 7, "begin"))
    hits = [
        *found["upper"].hits,
        *(Hit(h.score, h.row + cut, h.column) for h in found["lower"].hits),
    ]
    assert min(hits) == wanted.hits[0]
    assert isinstance(edges.bottom, EdgeArray)
    assert_edge(bottom.read(0, 400), edges.bottom.read(0, 400), SCORING.gap_open)


def test_a_neighbour_that_fails_ends_the_other() -> None:
    pipe, border = EdgePipe(40), Border(True, SCORING.gap_open, SCORING.gap_extend)
    query, target = (View(codes) for codes in random_pair(np.random.default_rng(3), 4, 40, 30))
    pipe.close(ValueError("the other device is gone"))
    with pytest.raises(ValueError, match="other device"):
        around = Edges(0, border, pipe)
        whole = Rectangle(query, target, SCORING, 0)
        sweep(make_engine("reference"), whole, around, shape=(8, 30))
