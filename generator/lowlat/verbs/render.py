# SPDX-License-Identifier: GPL-2.0-or-later
"""``render``: write the files of a plan below a folder, or the plan in another system's format."""

from dataclasses import dataclass
from typing import Optional

from lowlat.base.arguments import option
from lowlat.base.terminal import section
from lowlat.host.archive import open_root
from lowlat.host.root import Root
from lowlat.model.plan import Plan
from lowlat.plan import store
from lowlat.render import exports, files
from lowlat.render.exports import FORMATS, KUBERNETES
from lowlat.verbs import chosen_plan, options
from lowlat.verbs.options import PlanChoice


@dataclass(frozen=True)
class RenderArguments:
    out: str = option("DIR", "folder for the files", required=True)
    format: Optional[str] = option(
        None,
        "write the form of another system, and print what that form cannot carry; for Kubernetes "
        "the system keeps at least four CPUs, unless you choose the CPUs or a plan is applied",
        choices=tuple(FORMATS),
    )
    plan: Optional[str] = option("FILE", "render this plan, in its JSON form")
    root: str = options.root()
    fresh: PlanChoice = PlanChoice()


def main(args: RenderArguments) -> int:
    root = open_root(args.root)
    plan = _plan(args, root)
    alone = () if args.format else files.render(plan, root)
    rendered, gaps = exports.export(args.format, plan) if args.format else (alone, ())
    for path in files.write(rendered, args.out):
        print(path)
    title = f"What {args.format} leaves out, and what the other side adds"
    warnings = section("Warnings", options.bullets(plan.warnings))
    options.show(False, dict, (*warnings, *section(title, options.bullets(gaps))))
    return 0


def _plan(args: RenderArguments, root: Root) -> Plan:
    if args.plan:
        options.refuse_plan_options(args.fresh, f"--plan {args.plan}")
        return store.read(args.plan, root)
    chosen = chosen_plan.make_plan(args.fresh, root, kubelet=args.format in KUBERNETES)
    chosen_plan.note(chosen.other)
    return chosen.plan
