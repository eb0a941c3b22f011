"""Where `pysw_cl.results.plot` was before; kept for those who import it."""

import warnings

from .results.plot import path_points as path_points
from .results.plot import plot as plot

warnings.warn("pysw_cl.plot is pysw_cl.results.plot now", DeprecationWarning, stacklevel=2)
