"""Paths of several local pairs in few launches: each pair is a tile (docs/algorithm.md, Pairs as
tiles)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from ...opencl.buffers import RetainedBuffers
from ...opencl.device import Runtime
from ...planning.pair_batch import filled
from ...planning.plan import Plan
from ...planning.program import Given
from ...sequences.view import View
from ...tiles.contract import Part
from ...tiles.graph import Rectangle
from ...tiles.tile import Area, Costs, Hit, Traced
from .tile_batch import WavefrontTileBatch, row_quantum


def pair_paths(
    runtime: Runtime,
    plan: Plan,
    room: RetainedBuffers,
    note_memory: Callable[[int], None],
    pairs: Sequence[Rectangle],
    known: Sequence[int],
) -> tuple[list[tuple[Hit, Traced] | None], Costs]:
    """The best end of each pair and the path to it (None: it does not reach its ``known`` score,
    above 0), and what they cost.

    The pairs lie along the diagonal of one matrix, of which nothing else is computed.  The letters
    of each query are followed by padding up to a whole strip."""
    given = Given(plan, pairs[0].scoring, True, runtime.facts)
    source, tuning = given.scoring.source, plan.tuning.pairs
    quantum, pad = row_quantum(plan, source.file), source.pads(source.file)[0]
    queries, targets, parts, row, column = [], [], list[Part](), 0, 0
    for pair, score in zip(pairs, known, strict=True):
        m, n = pair.shape
        padded = np.full(-(-m // quantum) * quantum, pad, np.uint8)
        padded[:m] = pair.query.read(0, m)
        queries.append(padded)
        targets.append(pair.target.read(0, n))
        area = Area(row, row + len(padded), column, column + n)
        parts.append(Part(area, known=score))
        row, column = area.row_end, area.column_end
    letters = View(np.concatenate(queries)), View(np.concatenate(targets))
    about = runtime, given, source.file, room, note_memory
    with WavefrontTileBatch(*about, *letters, row) as batch:
        sizes = [int(batch.moves_bytes(*part.area.shape)) for part in parts]
        share = int(tuning.moves_share * runtime.facts.memory)
        most = min(max(tuning.gpu_moves, share), batch.most_bytes)
        cuts = pairwise(filled(sizes, most))
        found = [path for start, stop in cuts for path in batch.paths(parts[start:stop])]
        return found, batch.cost()
