"""Pictures of a profile: what is drawn is what was measured, and errors say what is missing."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from pysw_cl.errors import FormatError, InputError, ProfileError
from pysw_cl.planning.profiles.profile import Identity, Profile
from pysw_cl.results import profile_plot
from pysw_cl.results.profile_plot import plot_model, plot_tuning

UNITS = 4
MAGIC = {".png": b"\x89PNG\r\n", ".svg": b"<?xml"}
PLOTS = [plot_tuning, plot_model]


def searched(subject: str, blocks: int, alpha: int, times: list[float]) -> Any:
    """A run of a search."""
    values = {"B": blocks, "T": 64, "alpha": alpha, "chunk": 256}
    run = {"subject": subject, "values": values, "m": 1000, "n": 1000, "seconds": times}
    return {**run, "use": "search"}


def modelled(use: str, m: int, n: int, times: list[float], predicted: float) -> Any:
    """A run of a known time."""
    run = {"subject": "wavefront/vector/match", "values": {}, "m": m, "n": n, "seconds": times}
    return {**run, "predicted": predicted, "use": use}


def profile() -> Profile:
    """A device of four units: B of 2 to 16 and two values of alpha; times with predictions; a run
    that failed."""
    runs = [
        searched("wavefront/vector", blocks, alpha, [(1 + alpha) / blocks, (2 + alpha) / blocks])
        for blocks in (2, 4, 6, 8, 16)
        for alpha in (8, 16)
    ]
    runs += [searched("wavefront/vector", 32, 16, []), searched("rowscan/vector", 4, 8, [0.5])]
    runs += [modelled("calibration", 10**3, 10**4, [0.9, 1.0, 1.3], 1.1)]
    runs += [{**searched("wavefront/vector", 64, 16, [1.0]), "predicted": 1.0, "use": "other"}]
    runs += [modelled("check", 10**5, 10**3, [9.0, 10.0, 12.0], 8.0)]
    chosen = {"groups": 2.0, "T": 64.0, "alpha": 16.0, "chunk": 256.0}
    return Profile(
        identity=Identity(name="a $device$", compute_units=UNITS),
        parameters={"wavefront/vector": chosen},
        spread=0.25,
        runs=tuple(runs),
    )


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The figures that are drawn, which are not written."""
    pytest.importorskip("matplotlib")
    figures: list[Any] = []
    monkeypatch.setattr(profile_plot, "save", lambda figure, path: figures.append(figure))
    return figures


def lines(axes: Any) -> list[list[tuple[float, float]]]:
    """The points of each line of a picture that is more than a name in the legend."""
    return [
        list(zip(line.get_xdata(), line.get_ydata(), strict=True))
        for line in axes.lines
        if len(line.get_xdata())
    ]


def words(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_time_over_b_is_that_of_the_chosen_values(drawn: list[Any]) -> None:
    plot_tuning(profile(), "x.png")
    rowscan, wavefront = drawn[0].axes
    found = lines(wavefront)
    middles = [(blocks, pytest.approx(17.5 / blocks)) for blocks in (2, 4, 6, 8, 16)]
    assert middles in found
    multiples = [x[0][0] for x in found if [y for _, y in x] == [0, 1]]
    assert multiples == [8, 4, 8, 12, 16]  # the chosen B, then the multiples
    assert "chosen: B = 8" in words(wavefront)
    assert "T = 64, alpha = 16, chunk = 256" in words(wavefront)
    assert "multiples of the 4 compute units" in words(wavefront)
    assert wavefront.get_title() == "wavefront/vector, 1,000 x 1,000 letters"
    assert [(4, 0.5)] in lines(rowscan)
    assert not [text for text in words(rowscan) if "chosen" in text]


def test_units_that_are_given_count(drawn: list[Any]) -> None:
    plot_tuning(profile(), "x.png", 3)
    assert "chosen: B = 6" in words(drawn[0].axes[1])


def test_many_multiples_are_thinned_out(drawn: list[Any]) -> None:
    runs = [searched("a/b", blocks, 8, [1.0]) for blocks in (1, 1000)]
    plot_tuning(Profile(runs=tuple(runs)), "x.png", 1)
    axes = drawn[0].axes[0]
    assert "multiples of 63" in words(axes)
    assert len([x for x in lines(axes) if [y for _, y in x] == [0, 1]]) == 15


def test_predicted_and_measured_times_and_the_error_between_them(drawn: list[Any]) -> None:
    plot_model(profile(), "x.svg")
    above, below = drawn[0].axes
    assert [(1e7, 1.0)] in lines(above) and [(1e7, 1.1)] in lines(above)
    assert [(1e8, 10.0)] in lines(above) and [(1e8, 8.0)] in lines(above)
    assert [(1e7, pytest.approx(10))] in lines(below)
    assert not [x for x in lines(above) if x[0][0] == 1e6]  # neither fitted nor held out
    assert [(1e8, pytest.approx(-20))] in lines(below)
    assert above.get_xscale() == above.get_yscale() == "log"
    assert words(below) == ["nine of ten within 25%"]
    of = "wavefront/vector/match"
    assert words(above) == ["predicted", f"{of}, fitted", f"{of}, held out"]


@pytest.mark.parametrize(("plot", "suffix"), [(plot_tuning, ".png"), (plot_model, ".svg")])
def test_the_file_is_a_picture(plot: Any, suffix: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    file = tmp_path / f"picture{suffix}"
    plot(profile(), file)
    assert file.read_bytes().startswith(MAGIC[suffix])


@pytest.mark.parametrize("plot", PLOTS)
def test_a_profile_without_runs(plot: Any, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    failed = searched("wavefront/vector", 2, 8, [])
    empty = Profile(identity=Identity(name="some device"), runs=(failed,))
    with pytest.raises(ProfileError, match=r"some device holds no runs.*tune the device"):
        plot(empty, tmp_path / "x.png")


@pytest.mark.parametrize("plot", PLOTS)
def test_a_file_that_cannot_be_written(plot: Any, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    with pytest.raises(FormatError, match="cannot be written"):
        plot(profile(), tmp_path / "no" / "x.png")
    with pytest.raises(InputError, match="no picture of this format"):
        plot(profile(), tmp_path / "x.nothing")


@pytest.mark.parametrize("plot", PLOTS)
def test_without_matplotlib(plot: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match="a picture needs matplotlib"):
        plot(profile(), "x.png")
