"""Options and resources: which command has which, and what each refuses, before any work."""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import numpy as np
import pytest
from helpers import spy
from saving import REFERENCE, TINY, interrupted, key, options as small_job, pair, related, tight

import pysw_cl
from pysw_cl.checkpoint.store import StoredResources
from pysw_cl.drivers import options
from pysw_cl.drivers.job import canonical
from pysw_cl.drivers.options import (
    FIELDS,
    AlignOptions,
    ManyOptions,
    Options,
    Resources,
    TopOptions,
)
from pysw_cl.drivers.problem import MODES
from pysw_cl.drivers.resources import AlignResources, ResumeResources
from pysw_cl.errors import InputError, ScoringError
from pysw_cl.sequences.view import STRANDS

#: What each command makes of its arguments.
KINDS: dict[str, tuple[type[Any], ...]] = {
    "align": (AlignOptions, AlignResources),
    "align_many": (ManyOptions, Resources),
    "align_top": (TopOptions, Resources),
    "resume": (ResumeResources,),
}
#: The commands that have an option.
ASKED = {
    "sub_score gap_cost wildcard unknown allow_odd_scoring output": "align align_many align_top",
    "iupac": "align align_many align_top",
    "mode free_ends second_best": "align align_many",
    "strand left_align": "align align_many align_top",
    "query_range target_range": "align align_top",
    "k": "align_top",
    "min_score": "align_many align_top",
}
#: The commands that have a resource.
COMPUTED_WITH = {
    "device plan progress kernel_times cluster": "align align_many align_top resume",
    "checkpoint disk_size stop_after": "align resume",
    "prune max_cost timeline": "align",
}


def given(kind: type[Any]) -> dict[str, Any]:
    """The fields that users give, and their defaults."""
    return {field.name: field.default for field in dataclasses.fields(kind) if field.init}


#: What has no argument: rows of an array have no statistics, few alignments need no cluster.
HIDDEN: dict[str, dict[str, Any]] = {
    "align_many": {"kernel_times": False},
    "align_top": {"cluster": None},
}


@pytest.mark.parametrize("command", KINDS)
def test_fields_are_the_arguments_of_the_command(command: str) -> None:
    """With the same defaults."""
    signature = inspect.signature(getattr(pysw_cl, command)).parameters.values()
    arguments = {one.name: one.default for one in signature if one.name not in ("a", "b", "pairs")}
    arguments |= HIDDEN.get(command, {})
    found: dict[str, Any] = {}
    for kind in KINDS[command]:
        assert not found.keys() & given(kind).keys()
        found |= given(kind)
    empty = {inspect.Parameter.empty: dataclasses.MISSING}
    assert found == {name: empty.get(value, value) for name, value in arguments.items()}


@pytest.mark.parametrize("command", KINDS)
def test_which_command_has_which_option(command: str) -> None:
    for table, is_kind in ((ASKED, Options), (COMPUTED_WITH, Resources)):
        having = [names for names, where in table.items() if command in where.split()]
        kinds = [kind for kind in KINDS[command] if issubclass(kind, is_kind)]
        found = sorted(name for kind in kinds for name in given(kind))
        assert found == sorted(" ".join(having).split())


@pytest.mark.parametrize(
    ("made", "name"),
    [
        (AlignOptions(), "mode"),
        (AlignOptions(), "scoring"),
        (ManyOptions(), "output"),
        (TopOptions(), "k"),
        (Resources(), "device"),
        (AlignResources(), "prune"),
        (ResumeResources(checkpoint="x"), "checkpoint"),
        (StoredResources.of(AlignResources(), "local"), "plan"),
    ],
)
def test_nothing_changes_afterwards(made: Any, name: str) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(made, name, getattr(made, name))


# Checks

OUTPUT = "output must be 'score', 'ends' or 'path', not {!r}"
MANY_OUTPUT = "output must be one of 'score', 'ends', 'matches', 'path', not {!r}"
MODE = "mode must be 'local' or 'global', not {!r}"
FREE = "free_ends takes one, two or four booleans, not {!r}"
ODD = "allow_odd_scoring must be True or False, not {!r}"
SECOND = "second_best must be True or False, not {!r}"
LEFT = "left_align must be True or False, not {!r}"
TIMES = "kernel_times must be True or False, not {!r}"
CLUSTER = (
    "cluster must be a Dask client or cluster, the address of a scheduler, or an Executor, not {!r}"
)
PROGRESS = "progress must be True, a function or None, not {!r}"
SIZE = "disk_size must be a whole number of bytes or None, not {!r}"
STOP = "stop_after must be a number of seconds or None, not {!r}"
COUNT = "k must be a whole number of at least 1, not {!r}"
ROWS = "min_score must be a number or None, not {!r}"
LEAST = "min_score must be a number above 0, not {!r}"
STRAND = "strand must be 'plus', 'minus' or 'both', not {!r}"
QUERY_RANGE = "query_range takes (start, end), two whole numbers, not {!r}"
TARGET_RANGE = "target_range takes (start, end), two whole numbers, not {!r}"
COST = "max_cost must be 'auto', None or a number from 0 on, not {!r}"

#: Commands, an option, values that it cannot have, and what is said of each.
REFUSED: list[tuple[str, str, list[Any], str]] = [
    ("align align_top", "output", ["all", "matches", None, ["path"]], OUTPUT),
    ("align_many", "output", ["all", None, ["path"]], MANY_OUTPUT),
    ("align align_many", "mode", ["semi", None, 1], MODE),
    ("align align_many align_top", "allow_odd_scoring", ["no", None, 2], ODD),
    ("align align_many", "second_best", ["no", None, 2], SECOND),
    ("align align_many align_top", "left_align", ["no", None, 2], LEFT),
    ("align align_many", "free_ends", [2, (True,) * 3, (), "yes"], FREE),
    ("align align_many align_top resume", "progress", [5, "bar"], PROGRESS),
    ("align align_many resume", "cluster", [5, ["tcp://a:1"], True], CLUSTER),
    ("align align_top resume", "kernel_times", ["no", None, 2], TIMES),
    ("align resume", "disk_size", [0, -1, 1.5, True, "1G"], SIZE),
    ("align resume", "stop_after", [-1, True, "2h", math.nan], STOP),
    ("align", "prune", ["no", None, 2], "prune must be True or False, not {!r}"),
    ("align", "timeline", ["x.png", None, 2], "timeline must be True or False, not {!r}"),
    ("align", "max_cost", ["much", -1, True, math.inf], COST),
    ("align", "max_cost", [3], "max_cost={!r} is for mode 'global'; in mode 'local' leave it out"),
    ("align align_many align_top", "strand", ["up", None], STRAND),
    ("align align_top", "query_range", [5, (1,), (1, 2.5)], QUERY_RANGE),
    ("align align_top", "target_range", [5, "ab"], TARGET_RANGE),
    ("align_top", "k", [0, -1, 1.5, True, "3", None], COUNT),
    ("align_many", "min_score", [math.nan, math.inf, True, "1", [1], 1j], ROWS),
    ("align_top", "min_score", [0, -1, math.nan, math.inf, True, "1", None, 1j], LEAST),
]
CASES = [
    (command, name, value, message.format(value))
    for commands, name, values, message in REFUSED
    for command in commands.split()
    for value in values
]


def unread() -> Iterator[Any]:
    """Pairs that nobody may ask for."""
    raise AssertionError("pairs were read")
    yield


def called(command: str, folder: Path, **how: Any) -> None:
    """Call a command with what would be refused later: no letters, no such plan, no checkpoint."""
    plan = {"engine": "none"}
    if command == "resume":
        pysw_cl.resume(folder, plan=plan, **how)
    elif command == "align_many":
        pysw_cl.align_many(unread(), plan=plan, **how)
    elif command == "align_top":
        pysw_cl.align_top("", "", plan=plan, **how)
    else:
        pysw_cl.align("", "", plan=plan, checkpoint=folder, **how)


@pytest.mark.parametrize(("command", "name", "value", "message"), CASES)
def test_refused_before_any_work(
    command: str, name: str, value: Any, message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        called(command, tmp_path / "new", **{name: value})
    assert type(caught.value) is InputError
    assert str(caught.value).startswith(message)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("command", ["align", "align_many", "align_top"])
@pytest.mark.parametrize(
    ("scoring", "word"),
    [
        ({"sub_score": "BLOSUM63"}, "BLOSUM63"),
        ({"gap_cost": -1}, "-1"),
        ({"wildcard": "NN"}, "NN"),
        ({"iupac": "maybe"}, "maybe"),
        ({"iupac": "match", "sub_score": "NUC.4.4"}, "a matrix"),
        ({"unknown": "XX"}, "XX"),
        ({"unknown": None}, "None"),
        ({"sub_score": (0, -1)}, "positive"),
    ],
)
def test_scorings_are_refused_as_early(
    command: str, scoring: dict[str, Any], word: str, tmp_path: Path
) -> None:
    with pytest.raises(ScoringError, match=word):
        called(command, tmp_path / "new", **scoring)


def test_options_that_do_not_go_together() -> None:
    with pytest.raises(InputError, match=r"strand='both' takes nucleotides, and the letters of"):
        AlignOptions(strand="both", sub_score="BLOSUM62")
    for alone in ({"disk_size": 1000}, {"stop_after": 5}):
        with pytest.raises(InputError, match=r"^disk_size and stop_after go with checkpoint$"):
            AlignResources(**alone)


def test_every_option_has_a_case() -> None:
    """But for those that the scoring and the engine check, and a folder."""
    checked = {(command, name) for command, name, _, _ in CASES}
    elsewhere = {"sub_score", "gap_cost", "wildcard", "iupac", "unknown", "device", "plan"}
    elsewhere.add("checkpoint")
    for command, kinds in KINDS.items():
        for name in (
            {name for kind in kinds for name in given(kind)}
            - elsewhere
            - HIDDEN.get(command, {}).keys()
        ):
            assert (command, name) in checked


# What is made of them


def test_values_are_made_once() -> None:
    """Scoring, free ends and ranges are what the work takes."""
    asked = AlignOptions(
        mode="global", free_ends=(True, False), gap_cost=(2.5, 1), query_range=np.array([2, 5])
    )
    assert asked.scoring.scale == 2
    assert asked.free == (True, True, False, False)
    assert asked.query_range == (2, 5)
    again = dataclasses.replace(asked, target_range=(0, 3))
    assert (again.query_range, again.target_range) == ((2, 5), (0, 3))
    assert TopOptions(min_score=1.25, gap_cost=(2.5, 1)).least == 3
    assert AlignResources(prune=np.bool_(False)).prune is False


def test_the_band_of_a_mode() -> None:
    for prune, cost, local, whole in (
        (True, "auto", None, "auto"),
        (False, "auto", None, None),
        (True, None, None, None),
        (False, 7, "refused", 7),
    ):
        resources = AlignResources(prune=prune, max_cost=cost)
        assert resources.band_cost("global") == whole
        if local is None:
            assert resources.band_cost("local") is None
        else:
            with pytest.raises(InputError, match="is for mode 'global'"):
                resources.band_cost("local")


def test_pairs_aligned_alone_are_not_checked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [("ACGT", "ACGA")] * 20
    made: list[Any] = []
    spy(monkeypatch, options, "made_of", after=lambda found, *_: made.append(found))
    how: dict[str, Any] = {"output": "path", "sub_score": (7, -11)}  # no other test has made it
    found = pysw_cl.align_many(pairs, plan={"engine": "reference"}, **how)
    assert len(made) == 3  # the scoring of all pairs, and options and scoring of one of them
    assert found["cigar"].tolist() == ["3="] * 20


# What a checkpoint keeps of resources


@pytest.mark.parametrize(
    ("resources", "mode", "kept"),
    [
        ({}, "local", (True, None, "auto", None, None)),
        ({}, "global", (True, "auto", "auto", None, None)),
        ({"prune": False}, "global", (False, None, "auto", None, None)),
        ({"max_cost": np.int64(7)}, "global", (True, 7.0, "auto", None, None)),
        ({"device": object(), "disk_size": 5}, "local", (True, None, "auto", None, 5)),
        (
            {"device": "0:0", "plan": {"B": np.int32(4), "form": "ticketed"}},
            "local",
            (True, None, "0:0", {"B": 4, "form": "ticketed"}, None),
        ),
    ],
)
def test_stored_resources_survive_json(
    resources: dict[str, Any], mode: str, kept: tuple[Any, ...]
) -> None:
    stored = StoredResources.of(AlignResources(checkpoint="x", **resources), mode)
    assert dataclasses.astuple(stored) == (*kept, False)
    content = dataclasses.asdict(stored)
    assert list(content) == ["prune", "max_cost", "device", "plan", "disk_size", "left_align"]
    assert StoredResources(**json.loads(json.dumps(content))) == stored


def test_a_whole_plan_is_kept_without_its_device() -> None:
    plan = pysw_cl.Plan(device="this one", B=3, alpha=5, alpha_fixed=True)
    kept = StoredResources.of(AlignResources(plan=plan), "local").plan
    assert kept is not None
    assert (kept["B"], kept["alpha"], kept["lanes"]) == (3, 5, plan.lanes)
    assert not {"device", "alpha_fixed"} & kept.keys()


def test_a_resume_takes_what_it_is_not_given() -> None:
    stored = StoredResources(False, "auto", "0:0", {"B": 4}, 500)

    def told(done: int, total: int) -> None: ...

    def resumed(**how: Any) -> AlignResources:
        return stored.resumed(ResumeResources(checkpoint="x", **how))

    assert resumed() == AlignResources(
        prune=False, device="0:0", plan={"B": 4}, checkpoint="x", disk_size=500
    )
    new = {"plan": {"B": 2}, "disk_size": 900, "stop_after": 5, "progress": told}
    assert resumed(**new) == AlignResources(prune=False, device="0:0", checkpoint="x", **new)
    assert resumed(device="cpu").plan is None  # the plan was for the other one


def change(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Write another job.json that is as sound."""
    content = json.loads((folder / "job.json").read_text())
    del content["checksum"]
    change(content)
    content["checksum"] = hashlib.sha256(canonical(content)).hexdigest()
    (folder / "job.json").write_text(json.dumps(content, indent=1))


@pytest.mark.parametrize(
    ("mode", "wishes"),
    [
        ("local", {"max_cost": None}),
        ("global", {"max_cost": "auto"}),
        ("global", {"max_cost": 12.0}),
    ],
)
def test_folders_that_were_written_before_go_on(
    mode: str, wishes: dict[str, Any], tmp_path: Path
) -> None:
    a, b = pair(120) if mode == "local" else related(120)
    plan = REFERENCE if mode == "local" else TINY
    whole = {"prune": True, **wishes, "device": "auto", "plan": plan, "disk_size": 30_000}

    def old(content: dict[str, Any]) -> None:
        assert content.keys() == {"format", "made_by", "job", "names", "minus_first", "wishes"}
        content["wishes"] = whole

    with tight():
        interrupted(tmp_path, 4, a, b, mode=mode, **small_job(plan=plan))
        change(tmp_path, old)
        found = pysw_cl.resume(tmp_path)
    assert key(found) == key(pysw_cl.align(a, b, mode=mode, plan=plan))
    assert found.plan.tile_cells == plan["tile_cells"]


def test_what_is_written(tmp_path: Path) -> None:
    a, b = pair(60)
    pysw_cl.align(a, b, checkpoint=tmp_path, device="auto", **small_job())
    kept = json.loads((tmp_path / "job.json").read_text())["wishes"]
    assert kept == {
        "prune": True,
        "max_cost": None,
        "device": "auto",
        "plan": REFERENCE,
        "disk_size": 30_000,
        "left_align": False,
    }


def test_types_of_choices() -> None:
    """What a type checker knows of them is what is accepted."""
    hints = get_type_hints(pysw_cl.align)
    assert get_args(hints["mode"]) == MODES
    assert get_args(hints["strand"]) == STRANDS
    assert get_args(hints["output"]) == tuple(AlignOptions.outputs)
    assert get_args(get_type_hints(pysw_cl.align_many)["output"]) == tuple(FIELDS)
