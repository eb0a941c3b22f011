"""The work of a long local sweep, row by row, foreseen by a quick look at both sequences.

Cells near the path of similar sequences need wider lanes, and others are pruned, so the first rows
tell little of the last ones.  The look (:mod:`pysw_cl.sequences.resemblance`) happens in a thread,
beside the sweep.  Nothing here changes a result.
"""

from __future__ import annotations

from contextlib import suppress
from threading import Thread

import numpy as np
from numpy.typing import NDArray

from ..planning.model.runs import Setting, sweep_of
from ..planning.model.similar import (
    Floats,
    SimilarPath,
    blocks_of,
    may_prune,
    relative_times,
    width_of,
)
from ..sequences.alphabet import is_nucleotide, translated
from ..sequences.resemblance import resemblance
from ..sequences.view import View
from ..tiles.contract import Engine
from .problem import Problem

#: A look takes a second for 80 million letters; shorter sweeps, in seconds, tell themselves.
LOOKED_SECONDS = 5.0


class RouteForecast:
    """The work of a sweep of ``problem``, in cells that take as long as those far from any path.

    ``known``: the score that is known before; ``prunes``: are cells skipped that cannot reach the
    best one?  `ready` once the look is done, if the sequences have something in common.
    """

    @classmethod
    def begin(
        cls, engine: Engine, problem: Problem, prunes: bool, known: int, seconds: float | None
    ) -> RouteForecast | None:
        """Look at the sequences from now on; None where that is not worth while.  ``seconds``: what
        the sweep takes, as predicted; None where nobody knows."""
        plan = engine.plan
        if problem.mode != "local" or plan.lane_set.narrow is None:
            return None
        if seconds is None or seconds < LOOKED_SECONDS:
            return None
        pipelines = engine.pipeline is not None
        setting = Setting(plan, problem.scoring, pipelines=pipelines, cuts_squares=False)
        return cls(setting, problem, prunes, known)

    def __init__(self, setting: Setting, problem: Problem, prunes: bool, known: int) -> None:
        self._setting, self._problem = setting, problem
        self._prunes, self._known = prunes, known
        #: First rows of some strips, and the work above each.
        self._rows: Floats | None = None
        self._work: Floats = np.zeros(0)
        self._thread = Thread(target=self._look, name="pysw-cl forecast", daemon=True)
        self._thread.start()

    @property
    def ready(self) -> bool:
        """Is the work known?"""
        return self._rows is not None

    def join(self) -> None:
        """Wait for the look."""
        self._thread.join()

    def above(self, row: float) -> float:
        """The work of the rows above this one."""
        assert self._rows is not None
        return float(np.interp(row, self._rows, self._work))

    def between(self, row: float, end: float) -> float:
        """The work of rows ``[row, end)``."""
        return max(0.0, self.above(end) - self.above(row))

    def _look(self) -> None:
        with suppress(Exception):  # a run does not fail for want of a forecast
            self._foresee()

    def _foresee(self) -> None:
        problem, setting = self._problem, self._setting
        m, n, scoring = len(problem.query), len(problem.target), problem.scoring
        found = resemblance(
            _letters(problem.query, scoring.query_encoding),
            _letters(problem.target, scoring.target_encoding),
            is_nucleotide(scoring.letters),
        )
        if found is None:
            return
        path, work = SimilarPath.of(found, m, n, scoring), sweep_of(setting, m, n)
        prunes = self._prunes and setting.plan.lane_set.prunes and may_prune(work)
        blocks = blocks_of(setting.plan, m, n)
        rows, far, near = path.shares_by_row(*blocks, self._known, prunes)
        slower, pruned = relative_times(setting.plan.machine.times, width_of(work))
        each = far + slower * near + pruned * (1 - far - near)
        # (some of the strips only, if there are many)
        places = np.concatenate([[0.0], rows[1:], [m]])
        self._work = np.concatenate([[0.0], np.cumsum(each * np.diff(places)) * n])
        self._rows = places  # (last: others ask for it)


def _letters(view: View, encoding: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Letters that have these codes."""
    letters = np.zeros(256, np.uint8)
    letters[encoding[::-1]] = np.arange(256, dtype=np.uint8)[::-1]
    return translated(letters, view.read(0, len(view)))
