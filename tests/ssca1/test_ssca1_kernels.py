"""SSCA#1: the published run, verification and what it finds, small runs of all variants, and the
shell."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pysw_cl import ssca1
from pysw_cl.cli import main as cli
from pysw_cl.errors import InputError
from pysw_cl.ssca1.kernels import RULES
from pysw_cl.ssca1.verification import faults


def test_the_published_run() -> None:
    """Oak Ridge's ssca1-n2-t1.txt: what it says of kernels 1 and 2 (it has no others)."""
    run = ssca1.run("ornl", length=32846, ranks=2, seed=2613174141, kernels=2, verify=True)
    assert list(map(list, run.data.inserted)) == [[9674, 3989, 29873], [18789, 14384, 23040]]
    assert len(run.ends) == 200
    scores = [one.score for one in run.alignments]
    assert scores[:10] == [55, 54, 53, 35, 33, 31, 31, 30, 30, 29]
    assert (len(scores), scores[-1]) == (100, 24) and scores == sorted(scores, reverse=True)
    places = [
        (one.target_start, one.target_end - 1, one.query_start, one.query_end - 1)
        for one in run.alignments[:5]
    ]
    assert places == [
        (9680, 9690, 18795, 18805),
        (3995, 4008, 14390, 14403),
        (29879, 29896, 23046, 23063),
        (24393, 24400, 21867, 21874),
        (21104, 21116, 28586, 28595),
    ]
    text = run.text()
    assert "Found 100 acceptable alignments with scores from 55 to 24." in text
    for line in (
        "   3995  *MISQRMATCHES*  tgaatgataagccagaggatggcgacgtgccacgagagctga     4008",
        "  23046  *START---MIDSTGAPEND*  tgaagcacggcgaggacg---------atgatagacagcacgggggcgccggag"
        "aacgactga    23063",
        "  28586  SSRS---AG*VRG  tcttcgagaagt---------gcggggtaggtaaggggc    28595",
    ):
        assert line in text.splitlines()
    assert run.faults == []


@pytest.fixture(scope="module")
def small() -> ssca1.Run:
    return ssca1.run("spec", scale=20, verify=True)


def test_all_kernels_of_a_small_run(small: ssca1.Run) -> None:
    assert small.faults == [] and list(small.seconds) == [1, 2, 3, 4, 5]
    assert [one.score for one in small.alignments[:6]] == [57, 56, 55, 54, 53, 52]
    assert len(small.sets) == len(small.costs) == len(small.stars) > 0
    counts = np.bincount(small.places["query"])
    assert (np.sort([len(one) for one in small.sets]) == np.sort(counts[counts > 1])).all()
    for number, one in enumerate(small.alignments):
        rows = small.places[small.places["query"] == number]
        if one.query_end - one.query_start > 10:  # its own place is among the best
            assert rows["score"][0] >= one.score - 2 * (8 + 3)
        assert (np.diff(np.sort(rows["target_end"])) >= 5).all() and (rows["score"] >= 10).all()


@pytest.mark.parametrize(
    "wrong", ["costs", "order", "letters", "places", "alignments", "data", "pairs"]
)
def test_faults_are_found(small: ssca1.Run, wrong: str) -> None:
    run = replace(small)
    if wrong == "costs":
        run.costs = [run.costs[0] + np.eye(len(run.costs[0])), *run.costs[1:]]
    elif wrong == "order":
        order, rows = run.stars[0]
        run.stars = [(order[::-1], rows), *run.stars[1:]]
    elif wrong == "letters":
        order, rows = run.stars[0]
        run.stars = [(order, [row[1:] for row in rows]), *run.stars[1:]]
    elif wrong == "places":
        run.places = run.places.copy()
        run.places["score"][0] += 1
    elif wrong == "alignments":
        run.alignments = [replace(run.alignments[0], score=1), *run.alignments[1:]]
    elif wrong == "data":
        main = run.data.main.copy()
        main[run.data.inserted[0][2] + 8] ^= 1
        run.data = replace(run.data, main=main)
    else:
        run.alignments = run.alignments[1:]
    said = faults(run, RULES["spec"], "auto")
    words = {"data": "is lost", "pairs": "is not found", "places": "place 0 scores"}
    assert any(words.get(wrong, "") in one for one in said) and said


def test_nucleotides_and_no_end() -> None:
    run = ssca1.run("paper", lengths=(40, 3000), verify=True)
    assert run.faults == [] and run.stars
    empty = ssca1.run("paper", lengths=(2, 3))
    assert (len(empty.ends), len(empty.places), empty.stars) == (0, 0, [])
    assert "Found no acceptable alignments." in empty.text()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"scale": 62}, "take about .* GiB"),
        ({"scale": 1}, "scale"),
        ({"seed": 1 << 32}, "seed"),
        ({"seed": (1 << 32) - 5, "variant": "spec"}, "seed"),
        ({"kernels": 6}, "kernels"),
        ({"variant": "other"}, "variant"),
        ({"length": 50}, "1 ranks need 128 codons"),
        ({"verify": "no"}, "verify"),
        ({"variant": "paper", "lengths": 9}, "lengths"),
        ({"variant": "paper", "lengths": (9, 9, 9)}, "lengths"),
        ({"variant": "paper", "lengths": (9, 10**400)}, "length must be at most"),
    ],
)
def test_bad_input(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        ssca1.run(**wrong)


def test_the_shell(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    report = tmp_path / "run.json"
    asked = "ssca1 --variant spec --scale 16 --kernels 1-2 --verify --report".split()
    assert cli.main([*asked, str(report)]) == 0
    out = capsys.readouterr().out
    assert "kernel 2: " in out and "kernel 3: " not in out and "nothing is wrong" in out
    known = json.loads(report.read_text())
    assert known["alignments"][0]["score"] == 57 and known["faults"] == []
    assert cli.main([*asked, str(tmp_path / "no" / "run.json")]) == 1
    assert capsys.readouterr().out == ""  # before anything is computed
    for wrong in ("--kernels 2-3", "--lengths 5", "--scale 0", "--variant x", "--seed -1"):
        assert cli.main(["ssca1", *wrong.split()]) == 2, wrong
