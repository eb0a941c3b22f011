"""Plans with other defaults: small pairs meet what only large ones do otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest import mock

from pysw_cl.planning import parameters


@contextmanager
def tuned(values: Mapping[str, Any]) -> Iterator[None]:
    """New plans of every thread have these values of `Tuning` by default, by dotted name."""
    with mock.patch.object(parameters, "usual", parameters.usual.with_values(values)):
        yield
