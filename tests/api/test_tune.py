"""`tune`: what is found, kept, resumed and saved.  Times are made up; see test_measure.py."""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from math import inf, prod
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import pysw_cl
from pysw_cl.api import calibrate, tune as tuning
from pysw_cl.api.calibrate import _scaled
from pysw_cl.api.calibrate_cases import Case
from pysw_cl.cli.main import main
from pysw_cl.drivers.progress import Stage
from pysw_cl.drivers.tuning import Subject, subjects_of
from pysw_cl.engines.plans import default_plan
from pysw_cl.engines.registry import engine_for
from pysw_cl.errors import BuildError, DeviceError, InputError, InternalError, ProfileWarning
from pysw_cl.folders import kernels_digest
from pysw_cl.opencl.device import Runtime, get_runtime
from pysw_cl.planning.model.times import GENERIC, Machine
from pysw_cl.planning.plan import Plan
from pysw_cl.planning.profiles.profile import VARIABLE, Profile, save
from pysw_cl.planning.tuning.strategies import Given, Values

pytestmark = pytest.mark.usefixtures("profile_folder")

#: Seconds of a cell, by values and what is compared.
Speed = Callable[[Values, str, bool], float]


class Clockwork:
    """A `TileTimer` that measures nothing."""

    def __init__(self, speed: Speed) -> None:
        self.speed, self.calls, self.ends_after = speed, 0, 1 << 60

    def __call__(
        self, subject: Subject, case: tuple[str, bool], m: int, n: int
    ) -> Callable[[Values], float]:
        def run(values: Values) -> float:
            self.calls += 1
            if self.calls > self.ends_after:
                raise KeyboardInterrupt
            return m * n * self.speed(values, *case)

        return run


@pytest.fixture
def clockwork(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clockwork]:
    """One group for each unit is half as fast as two, and blocks are best at 512 columns."""

    def speed(values: Values, kind: str, local: bool) -> float:
        return 1e-9 / values["groups"] * (1 + abs(values.get("chunk", 512) - 512) / 1000)

    made = Clockwork(speed)
    monkeypatch.setattr(tuning, "TileTimer", made)
    monkeypatch.setattr(tuning, "calibrated", lambda runtime, profile, *_: profile)
    yield made


@pytest.fixture
def name() -> str:
    return next(iter(subjects_of(get_runtime())))


def no_build(runtime: Runtime) -> Given:
    """Values that differ in what needs no build."""
    start = next(iter(subjects_of(runtime).values())).start
    found = [{**start, "groups": g, "chunk": c} for g in (0.5, 1, 2) for c in (128, 512)]
    return Given(tuple(found))


def test_what_is_faster_is_found_saved_and_used(
    clockwork: Clockwork, profile_folder: Path, name: str
) -> None:
    before = default_plan(get_runtime())
    assert engine_for("auto", None).plan == before
    profile = pysw_cl.tune(budget="1m")
    own = profile.parameters[name]
    assert (own["groups"], own["chunk"]) == (2, 512)
    (file,) = profile_folder.iterdir()  # the measurements are gone
    assert json.loads(file.read_text())["parameters"][name]["groups"] == 2
    after = default_plan(get_runtime())
    assert (after.B, after.chunk) == (2 * before.B, 512)
    assert engine_for("auto", None).plan == after
    assert pysw_cl.profile().parameters == profile.parameters
    assert {run["use"] for run in profile.runs} == {"search"}
    assert {"subject", "values", "m", "n", "seconds"} < set(profile.runs[0])
    assert len(profile.runs) <= tuning.KEPT_VALUES


def test_groups_stay_where_no_tile_fills_the_device(
    clockwork: Clockwork, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no time for one.  Groups that find no strip are no slower elsewhere."""
    monkeypatch.setattr(Subject, "fills", lambda self, m, n: False)
    profile = pysw_cl.tune(budget="1m")
    start = next(iter(subjects_of(get_runtime()).values())).start
    assert profile.parameters[name]["groups"] == start["groups"]
    assert profile.parameters[name]["chunk"] == 512
    assert {run["values"]["groups"] for run in profile.runs} == {start["groups"]}


def test_a_tile_fills_the_device_where_the_time_is_enough(
    clockwork: Clockwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the model, which knows how often as long one takes as the smallest."""
    monkeypatch.setattr(Subject, "_least", (16_384, 16_384))
    monkeypatch.setattr(Plan, "tile_cost", lambda self, m, n: m * n)
    subject = next(iter(subjects_of(get_runtime()).values()))
    for budget, fills in (("1m", True), ("1s", False)):
        (outcome,) = tuning.tuned("auto", budget)[1]
        assert subject.fills(*outcome.size) is fills
        assert outcome.size[0] >= 16_384 and outcome.size[1] >= 1024


def test_a_killed_tuning_goes_on(clockwork: Clockwork, profile_folder: Path) -> None:
    """It ends as one that was not killed, and measures nothing twice."""
    whole = pysw_cl.tune(budget=60)
    in_all, clockwork.calls, clockwork.ends_after = clockwork.calls, 0, 40
    for file in profile_folder.iterdir():
        file.unlink()
    pysw_cl.planning.profiles.profile.changes[0] += 1
    with pytest.raises(KeyboardInterrupt):
        pysw_cl.tune(budget=60)
    (file,) = profile_folder.iterdir()
    assert len(file.read_text().splitlines()) == 40
    clockwork.calls, clockwork.ends_after = 0, 1 << 60
    again = pysw_cl.tune(budget=60)
    assert clockwork.calls == in_all - 40
    assert again.parameters == whole.parameters
    assert [file.suffix for file in profile_folder.iterdir()] == [".json"]


def test_a_killed_tuning_begins_anew_where_asked(
    clockwork: Clockwork, profile_folder: Path
) -> None:
    clockwork.ends_after = 10
    with pytest.raises(KeyboardInterrupt):
        pysw_cl.tune(budget=60)
    clockwork.calls = 0
    with pytest.raises(KeyboardInterrupt):
        pysw_cl.tune(budget=60, resume=False)
    (file,) = profile_folder.iterdir()
    assert len(file.read_text().splitlines()) == 10


def test_what_fails_is_counted_and_never_chosen(clockwork: Clockwork, name: str) -> None:
    usual = clockwork.speed

    def speed(values: Values, kind: str, local: bool) -> float:
        if values["groups"] == 2:
            raise (InternalError if values["chunk"] > 300 else BuildError)("no")
        return usual(values, kind, local)

    clockwork.speed = speed
    profile, outcomes, _ = tuning.tuned("auto", 60, strategy=no_build(get_runtime()))
    assert outcomes[0].runner.failed == {"wrong": 1, "build": 1}
    assert profile.parameters[name]["groups"] == 1


def test_a_default_that_fails_stays(clockwork: Clockwork, name: str) -> None:
    def speed(values: Values, kind: str, local: bool) -> float:
        raise DeviceError("no")

    clockwork.speed = speed
    profile, (outcome,), _ = tuning.tuned("auto", 60)
    assert outcome.faster is None and name not in profile.parameters
    assert (outcome.runner.failed, outcome.why) == ({"launch": 1}, "the default fails: no")


@pytest.mark.parametrize("other", [("protein", True), ("dna", False)])
@pytest.mark.parametrize("slower", [1.1, 20.0, None])
def test_other_scores_count_as_much(
    clockwork: Clockwork, name: str, other: tuple[str, bool], slower: float | None
) -> None:
    """What is twice as fast for local DNA may be a little slower elsewhere, but not much, and it
    must not fail there."""
    usual = clockwork.speed

    def speed(values: Values, kind: str, local: bool) -> float:
        if (kind, local) != other or values["groups"] != 2:
            return 1e-9 if (kind, local) == other else usual(values, kind, local)
        if slower is None:
            raise InternalError("no")
        return 1e-9 * slower

    clockwork.speed = speed
    profile = pysw_cl.tune(budget=60)
    own = profile.parameters[name]
    assert own["groups"] == (2 if slower == 1.1 else 1)
    assert own["chunk"] == 512  # that is faster for all


def test_what_is_faster_for_one_score_only_is_not_taken(clockwork: Clockwork) -> None:
    def speed(values: Values, kind: str, local: bool) -> float:
        dna = kind == "dna" and local
        return 1e-9 * (1 if values["groups"] == 1 else 0.5 if dna else 2)

    clockwork.speed = speed
    (outcome,) = tuning.tuned("auto", 60)[1]
    assert outcome.faster is None
    assert "for sure for DNA, proteins and global ones together" in outcome.why


def test_the_default_stays_where_nothing_is_faster(clockwork: Clockwork) -> None:
    clockwork.speed = lambda values, kind, local: 1e-9
    profile, (outcome,), path = tuning.tuned("auto", 60, strategy=no_build(get_runtime()))
    assert outcome.faster is None
    assert profile.parameters == {}
    assert path is not None


def test_what_a_profile_had_is_kept(clockwork: Clockwork, name: str) -> None:
    runtime = get_runtime()
    checked = {"subject": "dna/local", "use": "check", "values": {}, "seconds": [1.0]}
    old = {"subject": name, "use": "search", "values": {"B": 1}, "seconds": [1.0]}
    had = Profile(
        runtime.identity,
        kernels_digest(),
        {"other/lanes": {"groups": 3}, name: {"alpha": 8}},
        {"call": {"call": 1.0}},
        0.2,
        runs=(checked, old),
    )
    save(had)
    profile = pysw_cl.tune(budget=60)
    assert profile.parameters["other/lanes"] == {"groups": 3}
    assert profile.parameters[name]["groups"] == 2
    assert (profile.times, profile.spread) == (had.times, 0.2)
    assert profile.runs[0] == checked and old not in profile.runs


def test_times_of_other_kernels_are_not_kept(clockwork: Clockwork, name: str) -> None:
    runtime = get_runtime()
    had = Profile(runtime.identity, "0" * 16, {name: {"alpha": 8}}, {"call": {"call": 77.0}}, 0.2)
    save(had)
    profile = pysw_cl.tune(budget=60)
    assert profile.kernels == kernels_digest() and profile.parameters[name]["alpha"] == 8
    assert profile.times.get("call", {}).get("call") != 77.0 and profile.spread != 0.2


def test_a_tuning_that_measured_nothing_is_not_saved(profile_folder: Path) -> None:
    tuning.tuned("auto", 0.001)
    assert not list(profile_folder.glob("*.json")) if profile_folder.exists() else True


@pytest.mark.parametrize("value", ["off", "a file"])
def test_a_profile_that_cannot_be_saved_is_returned(
    clockwork: Clockwork, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv(VARIABLE, "off" if value == "off" else str(tmp_path / "file"))
    with pytest.warns(ProfileWarning, match="the profile is not saved: ") as said:
        profile = pysw_cl.tune(budget=60)
    assert len(said) == 1
    assert profile.parameters[name]["groups"] == 2
    assert default_plan(get_runtime()).chunk != 512


def test_the_calibration_has_the_new_parameters(
    clockwork: Clockwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, float]] = []

    def calibrated(runtime: Runtime, profile: Profile, budget: float, *_: Any) -> Profile:
        asked.append((default_plan(runtime).B, budget))
        return replace(profile, times={"call": {"call": 2.0}})

    monkeypatch.setattr(tuning, "calibrated", calibrated)
    B = default_plan(get_runtime()).B
    assert pysw_cl.tune(budget=30).times == {"call": {"call": 2.0}}
    assert asked == [(2 * B, 5.0)]
    assert pysw_cl.tune(budget=5).times == {"call": {"call": 2.0}}
    assert len(asked) == 1  # too short


def test_what_was_measured_beside_other_work(
    profile_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Runs alone may take half as long where others had half of the processors."""
    calm = Profile(identity=get_runtime().identity, times={"call": {"call": 2.0}}, spread=0.2)
    monkeypatch.setattr(calibrate, "measure", lambda *_: None)
    monkeypatch.setattr(calibrate, "others", lambda: 0.5 * time.monotonic())
    found = calibrate.calibrated(get_runtime("cpu"), calm, 10.0, print, inf, False)
    assert (found.spread, found.others) == (1.4, 0.5)
    assert Profile.of_text(found.text().encode()) == found
    save(found)
    assert main(["predict", "100", "100"]) == 0
    assert "the user's (measured beside other work)" in capsys.readouterr().out


@pytest.mark.skipif(not hasattr(os, "sysconf"), reason="needs POSIX")
def test_what_others_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the ticks of the processors that this process may use."""
    stat, used = tmp_path / "stat", [3.0]
    monkeypatch.setattr(calibrate, "time", SimpleNamespace(process_time=lambda: used[0]))
    monkeypatch.setattr(calibrate, "STAT", stat)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 2}, raising=False)
    tick = os.sysconf("SC_CLK_TCK")

    def work(seconds: int) -> None:
        ticks = seconds * tick
        lines = (f"cpu{k} {ticks} 0 0 {9 * tick} {9 * tick} 0 0 0 7 7" for k in ("", 0, 1, 2))
        stat.write_text("\n".join([*lines, "intr 1 2"]))

    work(100)
    before = calibrate.others()
    used[0] = 8.0
    work(105)  # 5 s on each of both, of which 5 were ours
    assert calibrate.others() - before == pytest.approx(2.5)
    monkeypatch.setattr(calibrate, "STAT", tmp_path / "none")
    assert calibrate.others() == 0


def test_progress(clockwork: Clockwork) -> None:
    told: list[tuple[int, int, Stage]] = []
    pysw_cl.tune(budget=30, progress=lambda done, total, stage: told.append((done, total, stage)))
    assert {total for _, total, _ in told} == {3000}
    done = [done for done, _, _ in told]
    assert done == sorted(done) and done[-1] == 3000
    assert str(told[0][2]).startswith("tuning wavefront/") and "," not in str(told[0][2])
    for done_now, _, stage in told:  # a share and the time left
        assert stage.work_done == done_now and stage.work_left == 3000 - done_now
        assert stage.predicted_speed == 100


def test_a_tuning_ends_in_time(clockwork: Clockwork) -> None:
    """Tiles are small where the budget is."""
    names = list(subjects_of(get_runtime()))
    began = time.monotonic()
    _, outcomes, _ = tuning.tuned("auto", 0.05, names)
    assert [one.subject.name for one in outcomes] == names
    assert time.monotonic() - began < 5
    assert prod(outcomes[0].size) < 1 << 26


@pytest.mark.parametrize("budget", [0, -1, "soon", "0s", True, None, float("nan")])
def test_a_budget_that_is_none(budget: Any) -> None:
    with pytest.raises(InputError):
        pysw_cl.tune(budget=budget)


@pytest.mark.parametrize("subjects", [["wavefront/none"], []])
def test_a_subject_that_does_not_exist(subjects: list[str], name: str) -> None:
    with pytest.raises(InputError, match=f"of {name}, rowscan/"):
        pysw_cl.tune(subjects=subjects)


def test_one_subject_by_its_name(clockwork: Clockwork) -> None:
    scan = list(subjects_of(get_runtime()))[1]
    clockwork.speed = lambda values, kind, local: 1e-9 * (1 + abs(values["alpha"] - 64))
    profile = pysw_cl.tune(budget=60, subjects=scan)
    assert list(profile.parameters) == [scan]
    assert profile.parameters[scan]["alpha"] == 64


def test_a_real_tuning_ends_in_time_and_is_right(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """On the device at hand, with lanes that are built soon."""
    runtime = get_runtime()
    plan = replace(default_plan(runtime), lanes="vector32", T=4, alpha=2, chunk=7, B=2)
    subject = Subject(plan, runtime)
    monkeypatch.setattr(tuning, "subjects_of", lambda runtime: {subject.name: subject})
    start = subject.start
    strategy = Given(tuple({**start, "chunk": chunk} for chunk in (16, 28)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (outcome,) = tuning.tuned("auto", 2.0, strategy=strategy)[1]
    assert outcome.runner.tried and not outcome.runner.failed  # as many as another's load lets
    assert outcome.spent < 30  # cold builds included
    assert (outcome.runner.seconds(start) or 0) > 0


@pytest.mark.long
def test_two_tunings_agree(monkeypatch: pytest.MonkeyPatch, profile_folder: Path) -> None:
    """What the second finds is as fast as what the first found, within their noise."""
    monkeypatch.setattr(tuning, "calibrated", lambda runtime, profile, *_: profile)
    speeds = []
    for _ in range(2):
        (outcome,) = tuning.tuned("auto", "60s", resume=False)[1]
        seconds = outcome.runner.seconds(outcome.faster or outcome.subject.start)
        assert seconds is not None
        speeds.append(prod(outcome.size) / seconds)
        pysw_cl.planning.profiles.profile.reset(get_runtime().identity)
    assert max(speeds) < 1.1 * min(speeds), speeds


def test_strips_of_which_some_runs_are_missing_have_their_times_scaled() -> None:
    """Where builds take too long for a whole calibration."""
    runtime = get_runtime("cpu")
    before = {"wavefront": {"column": 1e-8, "row": 3e-9, "strip_row": 2e-6}}
    known, cases = Machine({**GENERIC.by_subject, **before}), []
    generic = GENERIC.by_subject["wavefront"]
    for side in (20_000, 30_000, 40_000):
        case = Case(runtime, "dna", "local", side, side, {"alpha": 16})
        case.device = [2.5 * case.work.on_device.seconds(known)] * 3
        cases.append(case)
    (subject,) = {strips.subject for case in cases for strips in case.work.strips}
    found = _scaled(cases, {subject, "other"}, before, True)
    wanted = {name: pytest.approx(2.5 * value) for name, value in before["wavefront"].items()}
    assert found == {subject: wanted}
    assert _scaled(cases, {"other"}, before, True) == {}
    assert _scaled(cases[:2], {subject}, before, True) == {}
    (own,) = _scaled(cases[:2], {subject}, before, False).values()
    assert own["column"] / own["row"] == pytest.approx(generic["column"] / generic["row"])
