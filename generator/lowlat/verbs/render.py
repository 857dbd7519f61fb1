# SPDX-License-Identifier: GPL-2.0-or-later
"""``render``: write the files of a plan below a folder, or the plan in another system's format."""

from dataclasses import dataclass, replace
from typing import Optional

from lowlat.base.arguments import option
from lowlat.base.errors import Refused
from lowlat.base.terminal import section
from lowlat.catalogue import operator
from lowlat.host.archive import open_root
from lowlat.host.root import Root
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Processor
from lowlat.model.plan import Plan
from lowlat.plan import store
from lowlat.plan.cpu_request import parse_cpus
from lowlat.probe import probe
from lowlat.render import cpu_forms, exports, files
from lowlat.render.cpu_forms import ChosenCpus
from lowlat.render.exports import FORMATS, KUBERNETES
from lowlat.render.performance_profile import Pool
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
    openshift: Optional[str] = option(
        "VERSION", "the OpenShift that a PerformanceProfile is for; default: all from 4.11 on"
    )
    ovs_dpdk: Optional[str] = option(
        "NAME", "the set of CPUs, named with --isolate, that a PerformanceProfile gives to OVS-DPDK"
    )
    shared: Optional[str] = option(
        "LIST", "housekeeping CPUs that pods with exclusive CPUs share in a PerformanceProfile"
    )
    plan: Optional[str] = option("FILE", "render this plan, in its JSON form")
    root: str = options.root()
    fresh: PlanChoice = PlanChoice()


def main(args: RenderArguments) -> int:
    root = open_root(args.root)
    if args.format != "performance-profile" and (args.openshift or args.ovs_dpdk or args.shared):
        why = "--openshift, --ovs-dpdk and --shared are for a PerformanceProfile"
        raise Refused(why, hint="give --format performance-profile too")
    plan = _plan(args, root)
    gaps: tuple[str, ...] = ()
    if args.format:
        pool, offline = _pool(args, plan, root)
        rendered, gaps = exports.export(args.format, plan, pool)
        if args.format in KUBERNETES:
            kept = ChosenCpus(plan.housekeeping, plan, pool.machine, offline)
            gaps = (*gaps, *cpu_forms.notes("kubelet", kept))
    else:
        rendered = files.render(plan, root)
    for path in files.write(rendered, args.out):
        print(path)
    title = f"What {args.format} leaves out, and what the other side adds"
    warnings = section("Warnings", options.bullets(plan.warnings))
    options.show(False, dict, (*warnings, *section(title, options.bullets(gaps))))
    return 0


def _plan(args: RenderArguments, root: Root) -> Plan:
    if args.plan is not None:
        options.refuse_plan_options(args.fresh, f"--plan {args.plan}")
        return store.read(args.plan, root)
    chosen = chosen_plan.make_plan(args.fresh, root, kubelet=args.format in KUBERNETES)
    chosen_plan.note(chosen.other)
    return chosen.plan


def _pool(args: RenderArguments, plan: Plan, root: Root) -> tuple[Pool, CpuSet]:
    """The nodes with their machine in the boot with the plan, and its CPUs that are offline now."""
    machine = probe(root)
    now, machine = machine, chosen_plan.at_boot(plan, machine)
    if plan.cpus.online != machine.cpus.online:
        # Of a machine that is not at hand only its CPUs are known.
        cpus = replace(machine.cpus, online=plan.cpus.online, offline=plan.cpus.offline)
        now = machine = replace(machine, cpus=cpus, cores=(), processor=Processor())
    pool = Pool(
        machine,
        operator.read_version(args.openshift) if args.openshift else None,
        plan.cpus_of(args.ovs_dpdk) if args.ovs_dpdk else CpuSet(),
        parse_cpus(machine, "--shared", args.shared) if args.shared else CpuSet(),
    )
    return pool, now.cpus.offline
