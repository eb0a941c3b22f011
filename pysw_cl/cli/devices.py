"""``pysw-cl devices``, ``prepare`` and ``demo``, which try one, and ``profile``."""

from __future__ import annotations

import json
import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..errors import DeviceError, ProfileError, printable
from ..results.formats.files import written
from .asked import usage
from .output import in_columns, progress_of
from .parser import DEVICE

if TYPE_CHECKING:
    from ..planning.profiles.profile import Found, Identity

#: The files that are aligned, in the folder of examples.
DEMO = ("NC_012920.1.fasta", "GU112745.1.fasta")
#: Lines that are shown: the header and three blocks of the pairwise text.
DEMO_LINES = 7 + 3 * 4
#: Units of times, in seconds.
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"), (1e-12, "ps"))


def add_to(commands: Any) -> None:
    what = "list the OpenCL devices and what keeps one out"
    commands.add_parser("devices", run=_devices, help=what, examples=("devices",))


def _devices(args: Namespace) -> None:
    from ..opencl.listing import devices, hint

    found = devices()
    rows = [("device", "kind", "units", "name", "platform", "usable")]
    for device in found:
        usable = "yes" if device.usable else f"no: {device.reason}"
        units = str(device.compute_units)
        rows.append((device.index, device.kind, units, device.name, device.platform, usable))
    if found:
        print(in_columns(rows))
    if not any(device.usable for device in found):
        raise DeviceError(
            f"no usable OpenCL device; {hint(' '.join(device.platform for device in found))}"
        )


def add_prepare_to(commands: Any) -> None:
    what = "build the kernels of a device now, for images, clusters and tests"
    examples = ("prepare", "prepare --device gpu --for dna,many")
    parser = commands.add_parser("prepare", run=_prepare, help=what, examples=examples)
    parser.declare("run", DEVICE)
    parser.declare("options", "--for -q")


def _prepare(args: Namespace) -> None:
    from ..api.prepare import prepare
    from ..opencl.device import get_runtime

    started = time.perf_counter()
    with progress_of(sys.stderr, args.quiet) as bar, usage(args):
        programs = prepare(args.device, [kind.strip() for kind in args.kinds.split(",")], bar)
    name = get_runtime(args.device).info.name
    print(f"{programs} programs are ready on {name} ({time.perf_counter() - started:.1f} s)")


def add_demo_to(commands: Any) -> None:
    what = "align the human and the chimpanzee mitochondrion"
    parser = commands.add_parser("demo", run=_demo, help=what, examples=("demo",))
    parser.declare("run", DEVICE)
    parser.declare("options", "-q")


def _demo(args: Namespace) -> None:
    from .. import align
    from ..folders import shipped
    from ..sequences.reading import read_sequences

    human, chimp = (next(read_sequences(shipped("examples", name))) for name in DEMO)
    with progress_of(sys.stderr, args.quiet) as bar:
        result = align(human, chimp, device=args.device, progress=bar)
    lines = str(result).splitlines()
    print("\n".join(lines[:DEMO_LINES]))
    print(f"\n... and {len(lines) - DEMO_LINES:,} more lines.\n")
    print("Query: the human mitochondrion; target: the chimpanzee's. The chimpanzee record starts")
    print("576 bases later on the circle, so the first 576 human bases belong to its far end, and")
    print("a local alignment leaves them out. The first run on a device takes longer, because it")
    print("builds kernels, which are kept.\n")
    print(f"# time:        {result.stats.seconds:.2f} s, {result.stats.gcups:.2f} GCUPS")
    print(f"# plan:        {result.plan}")


def add_profile_to(commands: Any) -> None:
    parser = commands.add_parser(
        "profile",
        help="show, store and remove what was tuned and measured of a device",
        description="What was tuned and measured of a device, by which plans are made and times "
        "predicted. The user's profiles are files in the cache folder of pysw-cl; "
        "PYSW_CL_PROFILES in the environment names another folder, or says off. A device without "
        "one has the profile that ships for its kind.",
        examples=("profile show", "profile export mine.json", "profile import mine.json"),
    )
    actions = parser.add_subparsers(metavar="ACTION")
    show = actions.add_parser("show", run=_show, help="print the profile that a device has")
    show.add_argument("--json", action="store_true", help="as JSON, with all that was measured")
    what = "write the user's profile of a device to a file"
    out = actions.add_parser("export", run=_export, help=what)
    out.add_argument("file", metavar="FILE", help="- is standard output")
    what = "store the profile in a file as the user's"
    into = actions.add_parser("import", run=_import, help=what)
    into.add_argument("file", metavar="FILE", help="- is standard input")
    what = "remove the user's profiles of a device"
    for action in (show, out, actions.add_parser("reset", run=_reset, help=what)):
        action.declare("options", DEVICE)


def _show(args: Namespace) -> None:
    from ..opencl.device import get_runtime
    from ..planning.profiles.profile import profile_for

    identity = get_runtime(args.device).identity
    found = profile_for(identity)
    if args.json:
        facts = {"source": found.source, "file": found.path, **found.profile.facts()}
        print(json.dumps(facts, indent=1, default=str))
    else:
        print("\n".join(_profile_lines(identity, found)))


def _export(args: Namespace) -> None:
    from ..opencl.device import get_runtime
    from ..planning.profiles.profile import folder_to_change, profile_for

    identity = get_runtime(args.device).identity
    found = profile_for(identity)
    if found.path is None:
        raise ProfileError(
            f"there is no profile of {identity.name} to export in {folder_to_change()}; "
            "`pysw-cl tune` makes one"
        )
    with written(args.file) as stream:
        stream.write(found.profile.text())


def _import(args: Namespace) -> None:
    from ..planning.profiles.profile import MOST_BYTES, Profile, save
    from ..sequences.opening import opened

    with opened(args.file) as (file, where):
        text = file.read(MOST_BYTES + 1)
    try:
        profile = Profile.of_text(text, named=True)
    except ProfileError as error:
        raise ProfileError(
            f"{where} cannot be imported: {error}; give a file of `pysw-cl profile export`"
        ) from None
    print(f"the profile of {printable(str(profile.identity))} is stored in {save(profile)}")


def _reset(args: Namespace) -> None:
    from ..opencl.device import get_runtime
    from ..planning.profiles.profile import reset, user_folder

    identity = get_runtime(args.device).identity
    paths = reset(identity)
    for path in paths:
        print(f"removed {path}")
    if not paths:
        print(f"there is no profile of {printable(identity.name)} in {user_folder()}")


def _profile_lines(here: Identity, found: Found) -> Iterator[str]:
    """A profile as text: what it is of, then tables of parameters and times."""
    from ..folders import kernels_digest

    profile, kernels = found.profile, kernels_digest()
    same = "these" if profile.kernels == kernels else f"these are {kernels}"
    spread = f"nine of ten predictions are off by at most {profile.spread:.2%}"
    for name, text in (
        ("device", printable(str(here))),
        ("profile", found.source),
        ("file", found.path),
        ("holds for" if found.path is None else "made on", printable(str(profile.identity))),
        ("kernels", f"{printable(profile.kernels) or 'any'} ({same})"),
        ("made by", printable(profile.made)),
        ("spread", profile.times and spread),
        ("measured", profile.runs and f"{len(profile.runs):,} runs"),
    ):
        if text:
            yield f"{name:<12}{text}"
    for title, groups, shown in (
        ("parameters", profile.parameters, _number),
        ("times", profile.times, _seconds),
    ):
        if groups:
            yield f"\n{title}"
        width = max((len(printable(subject)) for subject in groups), default=0)
        for subject, numbers in sorted(groups.items()):
            values = "  ".join(f"{printable(name)} {shown(one)}" for name, one in numbers.items())
            yield f"  {printable(subject):<{width}}  {values}".rstrip()
    if not (profile.parameters or profile.times):
        yield "\nNothing was tuned or measured: plans have their defaults."


def _number(value: float) -> str:
    """A parameter: a whole one with all digits, another one in four."""
    return f"{value:.0f}" if value == int(value) else f"{value:.4g}"


def _seconds(value: float) -> str:
    """A time in a unit that suits it, in three digits."""
    if not value:
        return "0"
    size, unit = next((one for one in UNITS if abs(value) >= 0.9995 * one[0]), UNITS[-1])
    return f"{value / size:.3g} {unit}"
