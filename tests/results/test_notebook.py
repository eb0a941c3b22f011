"""What a notebook shows of an alignment."""

from __future__ import annotations

import html
import re
import time
from html.parser import HTMLParser

import numpy as np
import pytest
from test_convert import random_results
from test_tables import named

import pysw_cl
from pysw_cl.results.formats.pair import COLOURS


class Reader(HTMLParser):
    """The text of a page, and the texts with a colour; every tag has to be closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text, self.coloured, self.open = "", [""], list[str]()
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ("pre", "b", "span")
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if self.open[-1:] == ["span"]:
            self.coloured.append(data)


def test_letters_and_marks_are_those_of_the_text() -> None:
    """Without any colour matches, mismatches and gaps can be told apart."""
    for r in random_results():
        shown = Reader(r._repr_html_()).text
        if r.columns:
            # pairwise text has the same lines below its header
            assert shown.split(", - gap")[1].strip() == str(r).partition("\n\n")[2].strip()
        assert f"score {r.score}" in shown


def test_colours_stand_where_marks_are() -> None:
    r = pysw_cl.align("MKWVTFISLL", "MKWITFSQLL", sub_score="BLOSUM62", mode="global", gap_cost=2)
    coloured = "".join(Reader(r._repr_html_()).coloured[4:])  # after the legend
    top, bottom = r.aligned
    wanted = [k for k in range(len(top)) if top[k] != bottom[k]]
    assert coloured == "".join(text[k] for text in (top, bottom) for k in wanted)
    assert len(set(COLOURS.values())) == 3


def test_names_and_letters_are_escaped() -> None:
    bad = "<script>alert(1)</script> & 'x'"
    r = pysw_cl.align(named(bad, "A<&A"), named('"' * 200, "A<&A"), sub_score=(np.eye(3), "A<&"))
    page = r._repr_html_()
    assert "<script" not in page and html.escape("<script>alert(1)") in page
    shown = Reader(page).text
    assert bad in shown and "A<&A" in shown and '"' * 201 not in shown


def test_blank_names_are_those_of_plain_letters() -> None:
    r = pysw_cl.align(named("  ", "ACGT"), named("\t", "ACGT"))
    for shown in (str(r), Reader(r._repr_html_()).text):
        assert "\nquery  1 ACGT 4\n" in shown and "\ntarget 1 ACGT 4" in shown


@pytest.mark.parametrize("output", ["score", "ends"])
def test_without_a_path(output: str) -> None:
    shown = Reader(pysw_cl.align("GATTACA", "TTACA", output=output)._repr_html_()).text
    assert "score 5" in shown and "|" not in shown and ("[?, 7)" in shown) == (output == "ends")
    assert "0 of 0 columns" in pysw_cl.align("AAAA", "CCCC")._repr_html_()


def test_a_megabase_is_shown_at_once() -> None:
    letters = np.frombuffer(b"ACGT" * 250_000, np.uint8)
    r = pysw_cl.align(letters, letters, max_cost=0, mode="global")
    started = time.perf_counter()
    page = r._repr_html_()
    assert time.perf_counter() - started < 1
    assert len(page) < 20_000
    shown = Reader(page).text
    assert "... 998,800 columns are not shown ..." in shown
    ends = [int(line.split()[-1]) for line in re.findall("^query .*[ACGT] .*$", shown, re.M)]
    assert (len(ends), ends[:2], ends[-2:]) == (20, [60, 120], [999_940, 1_000_000])
