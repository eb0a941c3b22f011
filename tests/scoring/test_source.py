"""Sources of scores: what they tell kernels gives the scores of their table."""

from __future__ import annotations

import numpy as np
import pytest

from pysw_cl.scoring.scoring import Scoring, make_scoring

SCORINGS = [make_scoring(), make_scoring((2, 1)), make_scoring("BLOSUM62"), make_scoring((0, -9))]
#: With gaps so cheap that low scores are raised.
CHEAP = [make_scoring(sub_score, (1, 2)) for sub_score in ((2, -9), "PAM30")]


@pytest.mark.parametrize("scoring", [*SCORINGS, *CHEAP])
def test_arguments_are_the_table_and_padding_that_does_not_gain(scoring: Scoring) -> None:
    source, least = scoring.source, -7 if scoring in CHEAP else -(1 << 31)
    arguments, table = source.arguments("matrix", np.asarray, 5), scoring.matrix
    assert (table.min() < least) == (scoring in CHEAP)
    padded = arguments["matrix"].reshape(-1, arguments["wide"])
    assert (padded[:-1, :-1] == np.maximum(table, least)).all()
    assert max(padded[-1].max(), padded[:, -1].max()) <= 0 and arguments["lift"] == 5
    assert source.pads("matrix") == table.shape
    assert source.sizes("matrix") == (padded.nbytes, padded.shape[1])
    pair = source.compared()
    if pair is None:
        assert source.file == "matrix"
    else:
        equal = np.eye(len(table), dtype=bool)
        assert (np.where(equal, *pair) == padded[:-1, :-1]).all() and source.file == "match"
        assert source.arguments("match", np.asarray) == {
            "match": pair[0],
            "mismatch": pair[1],
            "lift": 0,
        }
        words = source.arguments("permute4", np.asarray, 1)["words"]
        assert words.nbytes == source.sizes("permute4")[0]
        assert (words.view(np.int8)[:-1] == padded[:-1, :4] + 1).all()


def test_compare_and_select_is_for_mismatches_that_do_not_gain() -> None:
    assert [scoring.source.file for scoring in SCORINGS] == ["match", "matrix", "matrix", "match"]
    assert [scoring.source.few for scoring in SCORINGS] == [True, True, False, True]
