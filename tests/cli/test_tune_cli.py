"""``pysw-cl tune``."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace as Namespace
from typing import Any

import pytest

from pysw_cl.api import tune as api
from pysw_cl.cli.main import main
from pysw_cl.planning.profiles.profile import Profile

pytestmark = pytest.mark.usefixtures("profile_folder")

START = {"groups": 1, "alpha": 16, "chunk": 256}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    """What `tuned` is asked; it answers at once."""
    calls: list[Any] = []
    changed, seconds = {**START, "chunk": 512}, {256: 1e-3, 512: 5e-4}
    runner = Namespace(
        tried=[None] * 7,
        runs=120,
        failed={"build": 2},
        seconds=lambda values: seconds[values["chunk"]],
    )
    first = Namespace(
        subject=Namespace(name="wavefront/vector", start=START), faster=changed,
        why="faster for sure", size=(1000, 2000), runner=runner, turns=9, spent=9.5,
    )  # fmt: skip
    nothing = Namespace(tried=[], runs=0, failed={}, seconds=lambda values: None)
    second = Namespace(
        subject=Namespace(name="rowscan/vector32", start={"groups": 0.5}), faster=None,
        why="all values fail", size=(0, 0), runner=nothing, turns=0, spent=0.0,
    )  # fmt: skip
    runs = [
        {"subject": "wavefront/vector", "values": {**START, "groups": groups}, "m": 1000,
         "n": 2000, "seconds": [1e-3], "use": "search"}
        for groups in (1, 2)
    ]  # fmt: skip

    def tuned(*given: Any) -> Any:
        calls.append(given)
        return (
            Profile(times={"x": {}}, others=0.5, runs=tuple(runs)),
            [first, second],
            tmp_path / "p.json",
        )

    monkeypatch.setattr(api, "tuned", tuned)
    return calls


def test_what_it_prints(
    asked: list[Any], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["tune"]) == 0
    out, err = capsys.readouterr()
    first, *table = out.splitlines()
    assert re.search(r", tuned in \d+\.\d s$", first)
    assert table == [
        "subject                    parameters                   GCUPS",
        "wavefront/vector  default  groups=1 alpha=16 chunk=256   2.00",
        "                  tuned    groups=1 alpha=16 chunk=512   4.00",
        "rowscan/vector32  default  groups=0.5                        ",
        "",
        "wavefront/vector: faster for sure; 7 values in 120 runs of 1,000 x 2,000 cells; "
        "2 failed (build); 9.5 s",
        "rowscan/vector32: all values fail; 0.0 s",
        "50% of the processors worked for others meanwhile: predictions have wider intervals; "
        "tune again when nothing else runs",
        f"saved in {tmp_path / 'p.json'}",
    ]
    assert err == ""  # no terminal
    assert asked == [("auto", 60.0, None, None, None, True)]


def test_options(asked: list[Any]) -> None:
    words = "tune --device cpu --budget 2m --subject a/b --subject c/d --no-resume --quiet"
    assert main(words.split()) == 0
    assert asked == [("cpu", 120.0, ["a/b", "c/d"], None, None, False)]


def test_a_picture(asked: list[Any], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "over-b.svg"
    assert main(["tune", "--plot", str(picture)]) == 0
    assert picture.read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--budget", "soon"], "'soon' is not a time above 0, like 90m or 2h"),
        (["--subject", "wavefront/none"], "'wavefront/none' is not one of wavefront/"),
    ],
)
def test_wrong_usage(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", *words]) == 2
    assert said in capsys.readouterr().err
