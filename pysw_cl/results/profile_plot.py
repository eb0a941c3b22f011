"""Pictures of the runs that a profile keeps: time over B, and predicted beside measured times, as
figures 6.1, 6.2 and 6.4 of CUDAlign's thesis (Sandes 2011, University of Brasilia) show them."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Container, Mapping
from statistics import median
from typing import Any

import numpy as np

from ..errors import ProfileError
from ..planning.profiles.profile import Numbers, Profile
from .plot import require, save

Run = Mapping[str, Any]

#: The most lines at multiples of the compute units.
MOST_LINES = 16
#: Times that differ by more than this factor are drawn on a logarithmic axis.
LOG_FROM = 6
#: The other parameters of a plan that a line over B has fixed.
FIXED = "T", "alpha", "chunk"
#: What runs were made for -> the marker, whether it is filled, and how it is called.
USES = {"calibration": ("o", True, "fitted"), "check": ("D", False, "held out")}


def plot_tuning(profile: Profile, path: str | os.PathLike[str], units: int | None = None) -> None:
    """Draw the time over B of each subject of ``profile`` into a file (its suffix is the format).

    Points are runs, the line goes through the medians of those that differ from the chosen values
    in B only, and grey points are medians of the others.  Vertical lines are at multiples of
    ``units``, the device's compute units (None: those that the profile names)."""
    units = units or profile.identity.compute_units or 1
    wanted = "runs of a search over B"
    subjects = _by_subject(profile, wanted, ["search"], lambda run: _blocks(run, units))
    columns = min(2, len(subjects))
    rows = -(-len(subjects) // columns)
    figure = require()(figsize=(6.4 * columns, 0.4 + 3.9 * rows), layout="constrained")
    for number, (subject, runs) in enumerate(subjects.items(), 1):
        axes = figure.add_subplot(rows, columns, number)
        _draw_search(axes, subject, runs, profile.parameters.get(subject, {}), units)
    _save(figure, "Time over B", profile, path)


def plot_model(profile: Profile, path: str | os.PathLike[str]) -> None:
    """Draw predicted and measured times over the cells of the matrix, and below them by how much
    predictions are off, into a file (its suffix is the format).

    Of the runs of ``profile``, those of a calibration or a check are drawn, if they have a
    prediction.  Filled points were fitted, open ones held out; bars go from the fastest to the
    slowest repeat, and crosses are predictions.  The band is the profile's spread."""
    wanted = "runs with a prediction"
    subjects = _by_subject(profile, wanted, USES, lambda run: run.get("predicted"))
    figure = require()(figsize=(7.6, 7), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    for number, (subject, runs) in enumerate(subjects.items()):
        for use, (marker, filled, words) in USES.items():
            if some := [run for run in runs if run["use"] == use]:
                face = f"C{number}" if filled else "white"
                look = {"fmt": marker, "color": f"C{number}", "mfc": face, "ms": 5, "elinewidth": 1}
                cells, predicted = np.array([(x["m"] * x["n"], x["predicted"]) for x in some]).T
                times = [run["seconds"] for run in some]
                least, middle, most = np.array([[*map(of, times)] for of in (min, median, max)])
                upper, off, lower = (100 * (predicted / x - 1) for x in (least, middle, most))
                bars, label = [middle - least, most - middle], f"{subject}, {words}"
                above.errorbar(cells, middle, yerr=bars, label=label, **look)
                above.loglog(cells, predicted, "x", color="black", ms=4, zorder=5)
                below.errorbar(cells, off, yerr=[off - lower, upper - off], **look)
    above.plot([], [], "x", color="black", label="predicted")
    above.set_ylabel("seconds")
    above.grid(color="0.9")
    above.legend(fontsize="small", framealpha=0.9)
    below.axhline(0, color="0.4", linewidth=1)
    if profile.spread < 1:
        share = 100 * profile.spread
        text = f"nine of ten within {share:.2g}%"
        below.axhspan(-share, share, color="0.9", zorder=0, label=text)
        below.legend(fontsize="small", loc="best", framealpha=0.9)
    below.set(xlabel="cells of the matrix, m n", ylabel="predicted over measured, %")
    below.yaxis.set_major_formatter("{x:+g}")
    _save(figure, "Predicted and measured", profile, path)


def _draw_search(axes: Any, subject: str, runs: list[Run], chosen: Numbers, units: int) -> None:
    lines: dict[tuple[Any, ...], dict[int, list[float]]] = defaultdict(dict)
    for run in runs:
        fixed = tuple(run["values"].get(name) for name in FIXED)
        lines[fixed][_blocks(run, units)] = run["seconds"]
    best = tuple(chosen.get(name) for name in FIXED)
    if best not in lines:
        best = max(lines, key=lambda key: len(lines[key]))
    own = sorted(lines.pop(best).items())
    middles = [(blocks, median(times)) for blocks, times in own]
    points = [(blocks, seconds) for blocks, times in own for seconds in times]
    others = [(blocks, median(times)) for line in lines.values() for blocks, times in line.items()]
    said = (f"{name} = {v:g}" for name, v in zip(FIXED, best, strict=True) if v is not None)
    for places, look, more in (
        (others, ".", {"color": "0.7", "zorder": 1, "label": "other values of these"}),
        (points, ".", {"color": "C0", "alpha": 0.4, "zorder": 2}),
        (middles, "o-", {"color": "C0", "ms": 4, "zorder": 3, "label": ", ".join(said)}),
    ):
        if places:
            axes.plot(*zip(*places, strict=True), look, **more)
    if "groups" in chosen:
        taken = round(chosen["groups"] * units)
        axes.axvline(taken, color="C3", linewidth=1.5, zorder=1, label=f"chosen: B = {taken:,}")
    blocks, times = zip(*points, *others, strict=True)
    step = units * max(1, -(-max(blocks) // (units * MOST_LINES)))
    text = f"the {units:,} compute units" if step == units else f"{step:,}"
    for place in range(step, max(blocks) + 1, step):
        label = f"multiples of {text}" if place == step and step > 1 else None
        axes.axvline(place, color="0.75", linewidth=0.8, linestyle=":", zorder=0, label=label)
    if max(times) > LOG_FROM * min(times):
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.set_title(f"{subject}, {runs[0]['m']:,} x {runs[0]['n']:,} letters", fontsize="medium")
    axes.set(xlabel="B (work-groups)", ylabel="seconds")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend(fontsize="small", framealpha=0.9)


def _by_subject(
    profile: Profile, what: str, uses: Container[str], drawn: Callable[[Run], Any]
) -> dict[str, list[Run]]:
    """The timed runs of these uses that are ``drawn``, by subject; else a ProfileError."""
    found: dict[str, list[Run]] = defaultdict(list)
    for run in profile.runs:
        if run.get("seconds") and run.get("use") in uses and drawn(run):
            found[run["subject"]].append(run)
    if not found:
        raise ProfileError(
            f"the profile of {profile.identity} holds no {what}, so there is nothing to draw; "
            "tune the device and draw the profile that this gives"
        )
    return dict(sorted(found.items()))


def _blocks(run: Run, units: int) -> int:
    """B of a run; 0: it has none."""
    values: Mapping[str, float] = run.get("values", {})
    return round(values.get("B", units * values.get("groups", 0)))


def _save(figure: Any, title: str, profile: Profile, path: str | os.PathLike[str]) -> None:
    said = f"{title}: {profile.identity}".replace("$", r"\$")
    figure.suptitle(said, fontsize="medium", wrap=True)
    save(figure, path)
