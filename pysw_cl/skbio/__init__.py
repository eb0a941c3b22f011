"""scikit-bio's `pair_align` and `multi_align`, computed by this package; many pairs; distances.

The functions have the signatures and defaults of scikit-bio 0.7, take what they take, and return
scikit-bio's own objects: the same score and the same path, to the last letter, for every form of
``free_ends`` and ``trim_ends``.  Sequences are encoded by scikit-bio itself, so letters mean what
they mean there: N matches N, a str is case-sensitive and may have any character, and symbols may be
words or numbers.

What this package does not compute goes to scikit-bio: more than 64 different symbols, ``max_paths``
other than 0 and 1, ``keep_matrices``, infinite or negative costs, scores that no power of two makes
whole, an ``atol`` that reaches half of their smallest step, totals that may pass 2**24, where
scikit-bio's 32-bit floats are no longer exact, and what is no sequence, which it refuses.
`DELEGATED` counts these calls by reason."""

from __future__ import annotations

try:
    from skbio.alignment import PairAlignPath, align_score
    from skbio.alignment._multi import MultiAlignResult
except ImportError as error:
    raise ImportError(
        "pysw_cl.skbio needs scikit-bio 0.7.4 or a later 0.7 (the extra skbio): pip install "
        f"'scikit-bio>=0.7.4,<0.8' ({error})"
    ) from None

from . import formats  # noqa: F401 - registers them in skbio.io
from .encoding import DELEGATED
from .many import PairAlignResults, multi_align, pair_align_many, pair_dists
from .pairs import install, pair_align, pair_align_nucl, pair_align_prot, uninstall, use

__all__ = [
    "DELEGATED",
    "MultiAlignResult",
    "PairAlignPath",
    "PairAlignResults",
    "align_score",
    "install",
    "multi_align",
    "pair_align",
    "pair_align_many",
    "pair_align_nucl",
    "pair_align_prot",
    "pair_dists",
    "uninstall",
    "use",
]
