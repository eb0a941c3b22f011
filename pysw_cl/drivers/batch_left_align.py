"""The paths of many pairs with their gaps on the left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..results.left_align import move_left
from ..results.pair_paths import Ints, Words, runs_of, words_of
from ..sequences.alphabet import COMPLEMENT
from ..sequences.sequence import as_sequence
from .batch_results import PairResults
from .options import ManyOptions

#: Letters of pairs whose gaps move at once, or of one pair.
AT_ONCE = 1 << 22


def left_aligned(
    pairs: Sequence[Any], found: PairResults, options: ManyOptions
) -> tuple[Words, Ints]:
    """What `PathWords.joined` gives for the paths of ``pairs``, with their gaps on the left; the
    matches of ``found`` are counted again."""
    assert found.paths is not None
    words, offsets = found.paths.joined()
    values, made, sizes, first = found.values, [words[:0]], [offsets[:1]], 0
    there = np.diff(offsets) > 0  # other pairs may have no places
    places = [
        [np.where(there, values[f"{side}_{end}"], 0) for end in ("start", "end")]
        for side in ("query", "target")
    ]
    letters = np.cumsum(sum(end.astype(np.int64) - start for start, end in places))
    how = options.scoring, options.mode, options.free.flags
    while first < len(pairs):
        stop = max(first + 1, int(np.searchsorted(letters, letters[first] + AT_ONCE)))
        some, texts = slice(first, stop), []
        for side, minus in enumerate((found.minus, np.zeros_like(found.minus))):
            at = (place[some].tolist() for place in places[side])
            halves = (pair[side] for pair in pairs[some])
            parts = map(_part, halves, *at, minus[some].tolist())
            texts.append(np.frombuffer(b"".join(parts), np.uint8))
        runs, bounds = runs_of(words[offsets[first] : offsets[stop]]), offsets[first : stop + 1]
        runs, bounds = move_left(runs, bounds - bounds[0], texts[0], texts[1], *how)
        matches = np.append(0, (runs.lengths * (runs.ops == ord("="))).cumsum())
        values["matches"][some] = np.where(there[some], np.diff(matches[bounds]), 0)
        made.append(words_of(runs))
        # a run too long for a word, which only a pair by itself has, is several
        sizes.append(np.diff(bounds) if stop - first > 1 else np.array([len(made[-1])]))
        first = stop
    return np.concatenate(made), np.concatenate(sizes).cumsum()


def _part(half: Any, start: int, end: int, minus: bool) -> bytes:
    """Letters ``[start, end)`` of a sequence, or their reverse complement."""
    if isinstance(half, str):
        text = half[start:end].encode()
    else:
        text = as_sequence(half, check=False).read(start, end).tobytes()
    return text.translate(COMPLEMENT.tobytes())[::-1] if minus else text
