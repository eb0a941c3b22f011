"""``pysw-cl resume``."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import PlanError
from ..results.formats.row import row_of
from .arguments import add_run, add_threads
from .asked import check_output, resources_asked, setting_asked, usage
from .output import Results, running
from .saved_pairs import resumed

if TYPE_CHECKING:
    from ..drivers.options import ResumeResources
    from ..planning.plan import Plan
    from ..results.formats.writer import Setting


def add_to(commands: Any) -> None:
    """Declare the subcommand."""
    parser = commands.add_parser(
        "resume",
        help="go on with a run that saved to a checkpoint",
        description="Go on with an alignment that was run with --checkpoint DIR and interrupted, "
        "or print its result if it is finished. Device and plan are those it began with, unless "
        "others are given; the result is the same with any.",
        examples=("resume job", "resume job --stop-after 2h -o result.paf"),
    )
    parser.add_argument("checkpoint", metavar="DIR")
    parser.group("run")("--device", help="as for align (default: as the run began)")
    add_threads(parser.group("run"))
    add_run(parser, run)


def run(args: argparse.Namespace) -> int:
    """Go on with a saved run, and print its result."""
    from ..api.align import resume_with
    from ..drivers.options import ResumeResources

    pairs = resumed(args)
    if pairs is not None:
        return int(pairs.run(pairs))
    with running(args) as to:
        with usage(args):
            given = resources_asked(args, ResumeResources, progress=to.bar)
        setting, device, plan = _look(args, given)
        to.begin(device, plan)
        results = Results(to, args.outfmt.name, setting)
        found = resume_with(given)
        to.add([found.stats])
        results.write([row_of(found)])
        results.end()
        to.end()
    return 0


def _look(args: argparse.Namespace, given: ResumeResources) -> tuple[Setting, Any, Plan]:
    """What its result is written with, the device and the plan of the saved run, which are checked
    before it goes on."""
    from ..checkpoint.store import Store
    from ..engines.registry import engine_for

    with Store.open(args.checkpoint) as store:
        job, resources = store.job, store.resources.resumed(given)
    check_output(args, job.output)
    setting = setting_asked(args, job.output, job.scoring, job.mode, job.free_ends)
    setting = replace(setting, targets=[(job.target.name, len(job.target))])
    try:
        plan = engine_for(resources.device, resources.plan).plan
    except PlanError as error:
        if args.plan is None:
            raise
        args.usage_error(str(error))
    return setting, resources.device, plan
