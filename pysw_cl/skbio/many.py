"""scikit-bio's distances of many sequences, and its `multi_align`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage
from skbio import alignment
from skbio.alignment._multi import MultiAlignResult
from skbio.alignment._utils import _get_seqids
from skbio.stats.distance import DistanceMatrix
from skbio.tree import TreeNode

from ..api.many import align_many_with
from ..drivers.options import ManyOptions, Resources
from ..errors import DeviceError, InputError, PyswError
from ..scoring.scoring import Scoring
from .pairs import DELEGATED, LETTERS, NotOurs, as_ours, encoded

_RUN = re.compile(r"([0-9]+)([=XID])")


def pair_dists(
    seqs: Iterable[Any],
    metric: str = "score",
    *,
    sub_score: Any = (1.0, -1.0),
    gap_cost: Any = 2.0,
    free_ends: bool = True,
    ids: Iterable[str] | None = None,
    atol: float = 1e-5,
    device: Any = "auto",
) -> DistanceMatrix:
    """The distances of all pairs of ungapped sequences, as a scikit-bio `DistanceMatrix`.

    ``metric``: "score", the distance of Feng & Doolittle (1996, Methods Enzymol 266, 368-382) from
    the global alignment of two sequences, as scikit-bio's `multi_align` computes it, to the last
    bit.  The other arguments are those of `multi_align`; ``ids`` are the names of the sequences,
    by default their own.  All pairs are aligned in one batch.
    """
    if metric != "score":
        raise InputError(f"metric must be 'score', not {metric!r}")
    try:
        listed = list(seqs)
        names = _get_seqids(listed, ids)
        return DistanceMatrix(
            _distances(listed, sub_score, gap_cost, bool(free_ends), atol, device), names
        )
    except (PyswError, NotOurs):
        raise
    except Exception as error:
        raise as_ours(error) from error


def multi_align(
    sequences: Iterable[Any],
    /,
    sub_score: Any = (1.0, -1.0),
    gap_cost: Any = 2.0,
    free_ends: bool = True,
    guide_tree: Any = None,
    ids: Iterable[str] | None = None,
    atol: float = 1e-5,
    keep_tree: bool = False,
    keep_distmat: bool = False,
    *,
    device: Any = "auto",
) -> MultiAlignResult:
    """scikit-bio's `multi_align`: the same arguments and the same alignment.

    The distances of all pairs (`pair_dists`), which take nearly all of its time, are computed here;
    the guide tree is made of them by average linkage, and scikit-bio merges along it.
    """
    listed, given = list(sequences), {"sub_score": sub_score, "gap_cost": gap_cost}
    given |= {"free_ends": free_ends, "atol": atol, "ids": ids if ids is None else list(ids)}
    if guide_tree is None and len(listed) > 1:
        try:
            distances = _distances(listed, sub_score, gap_cost, bool(free_ends), atol, device)
            names = _get_seqids(listed, given["ids"])
            guide = TreeNode.from_linkage_matrix(linkage(distances, method="average"), names)
            found = _multi_align(listed, guide_tree=guide, **given)
            distmat = DistanceMatrix(distances, names) if keep_distmat else None
            return MultiAlignResult(found.path, guide if keep_tree else None, distmat)
        except NotOurs as reason:
            DELEGATED[str(reason)] += 1
        except DeviceError:
            raise
        except Exception:
            pass
    kept = {"keep_tree": keep_tree, "keep_distmat": keep_distmat}
    return _multi_align(listed, guide_tree=guide_tree, **given, **kept)


def _multi_align(listed: list[Any], **given: Any) -> MultiAlignResult:
    try:
        return alignment.multi_align(listed, **given)
    except Exception as error:
        raise as_ours(error) from error


def _distances(
    seqs: list[Any], sub_score: Any, gap_cost: Any, free: bool, atol: Any, device: Any
) -> NDArray[np.float64]:
    """scikit-bio's distances of all pairs, the upper triangle row by row (its `_score_dists`)."""
    codes, _ = encoded(seqs, sub_score, gap_cost, atol)
    letters, scoring, unit = codes
    count = len(letters)
    pairs = [(letters[i], letters[j]) for i in range(count) for j in range(i + 1, count)]
    ends = (free,) * 4 if free else False
    how: dict[str, Any] = {"mode": "global", "free_ends": ends, "sub_score": scoring}
    resources = Resources(device=device)

    def run(some: list[Any], output: str) -> NDArray[Any]:
        return align_many_with(some, ManyOptions(output=output, **how), resources)[0]

    rows = run(pairs, "path")
    itself = run([(one, one) for one in letters], "score")["score"] / unit
    sizes = np.array([len(one) for one in letters], np.int64)
    first, second = np.triu_indices(count, 1)
    lengths, gaps, inner = _gaps(rows, sizes[first], sizes[second], free)
    # the mean score of two letters of the pair, over the columns, and what its gaps cost
    table = np.zeros(256, np.intp)
    table[LETTERS] = np.arange(len(LETTERS))
    size = len(scoring.letters)
    counts = np.array([np.bincount(table[one], minlength=size) for one in letters], np.float64)
    weight = counts @ _float_matrix(scoring, unit)
    subs = np.einsum("ij,ij->i", weight[first], counts[second]) / lengths
    random = subs - (scoring.gap_open / unit * gaps + scoring.gap_extend / unit * inner)
    above = rows["score"] / unit - random
    most = (itself[first] + itself[second]) / 2 - random
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.clip(above / most, 1e-6, 1.0)
        return np.where(most == 0, 0.0, -np.log(share))


def _float_matrix(scoring: Scoring, unit: int) -> NDArray[np.float64]:
    """The scores of the letters in turn."""
    codes = np.frombuffer(scoring.letters.encode(), np.uint8)
    query, target = scoring.query_encoding[codes], scoring.target_encoding[codes]
    return scoring.matrix[np.ix_(query, target)] / unit


def _gaps(
    rows: NDArray[Any], m: NDArray[np.int64], n: NDArray[np.int64], free: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Of each path, free end gaps included: its columns; without a gap at either end if ends are
    free: how many gaps it has, and their letters."""
    spans = rows["query_end"] - rows["query_start"], rows["target_end"] - rows["target_start"]
    columns = rows["columns"]
    lengths = columns + m + n - spans[0] - spans[1]
    gaps = np.array([cigar.count("I") + cigar.count("D") for cigar in rows["cigar"]], np.int64)
    inner = 2 * columns - spans[0] - spans[1]
    if free:
        starts = (rows["query_start"] > 0) | (rows["target_start"] > 0)
        stops = (rows["query_end"] < m) | (rows["target_end"] < n)
        for at, whole in ((0, ~starts), (-1, ~stops)):
            for k in np.flatnonzero(whole).tolist():
                runs = _RUN.findall(rows["cigar"][k])
                if runs and runs[at][1] in "ID" and not (at and len(runs) == 1 and not starts[k]):
                    gaps[k] -= 1
                    inner[k] -= int(runs[at][0])
    return lengths, gaps, inner
