"""Values that an argument is hardly meant to have: 120 of them, of all kinds."""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import fractions
import io
import math
import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import skbio
from Bio.Seq import Seq
from Bio.SeqRecord import SeqRecord


class Silent:
    """An object that can do nothing."""


class Angry:
    """An object that raises whatever is asked of it."""

    def _no(self, *_: object) -> Any:
        raise RuntimeError("not to be asked")

    __eq__ = __ne__ = __lt__ = __bool__ = __len__ = __iter__ = __hash__ = __index__ = _no  # type: ignore[assignment]
    __float__ = __int__ = __getitem__ = __array__ = _no  # type: ignore[assignment]


class Text(str):
    """A string of another type."""


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


Named = collections.namedtuple("Named", "left right")


def endless() -> Iterator[int]:
    yield 1
    yield 2


def odd_values() -> list[Any]:
    """The values, made anew, because some are used up."""
    array = np.array
    return [
        *(None, True, False, ..., NotImplemented),
        *(0, 1, -1, 2, 7, 10**9, 10**30, -(10**30), 2**31, 2**63, 2**64, -(2**63)),
        *(0.0, -0.0, 0.5, 1.0, -2.5, math.nan, math.inf, -math.inf, 1.7e308, 5e-324),
        *(1j, complex("nan"), fractions.Fraction(1, 3), fractions.Fraction(10**400, 3)),
        *(decimal.Decimal("1.5"), decimal.Decimal("NaN"), decimal.Decimal("1e400")),
        *("", " ", "a", "x", "auto", "both", "score", "ACGT", "é", "\0", "a\0b", "\ud800", "\n"),
        *("x" * 300, "nan", "1", "1e400", "/", "-", Text("auto"), Text("path")),
        *(b"", b"x", b"x.paf", b"\xff", b"ACGT", bytearray(b"ACGT"), memoryview(b"ACGT")),
        *(array(1), array([1]), array([]), array([1, 2]), array([True, False]), np.eye(2)),
        *(array(["local", "x"]), array(["score"]), array("local"), array([None, 1], object)),
        *(array([1.5, math.nan]), array([1j]), array([b"x"]), np.zeros(2, "i4,f8")),
        *(np.ma.array([1, 2], mask=[0, 1]), np.frombuffer(b"ACGT", np.uint8), np.zeros((0, 2))),
        *(np.int64(3), np.uint8(255), np.float32(0.5), np.float64("nan"), np.bool_(True)),
        *(np.str_("local"), np.bytes_(b"x"), np.datetime64("2020-01-01"), np.longdouble("1e4000")),
        *([], [1], [1, 2], ["A"], [None], [[1, 2], [3, 4]], [[]], (), (1,), (1, 2), (1, 2, 3)),
        *((None, None), (math.nan, 1), ("1", "2"), (True, False), (10**30, 1), Named(1, 2)),
        *({}, {"a": 1}, {1: 2}, set(), {1}, frozenset({2}), range(3), range(2, 1)),
        *(endless(), iter([]), iter([1, 2]), len, print, int, object, Silent, lambda: None),
        *(Silent(), Angry(), Colour.RED, Level.LOW, io, ValueError("x"), slice(1, 2)),
        *(io.StringIO("x"), io.BytesIO(b"x"), pathlib.Path("nofile"), pathlib.Path()),
        *(datetime.date(2020, 1, 1), datetime.timedelta(seconds=1), zip([1], [2], strict=True)),
        *(pd.Series([1, 2]), pd.Series(["a"]), pd.DataFrame({"a": [1]}), pd.NA, pd.NaT),
        *(skbio.DNA("ACGT"), skbio.Protein("MKV"), Seq("ACGT"), Seq(None, 5), SeqRecord(Seq("A"))),
    ]
