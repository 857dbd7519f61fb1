# SPDX-License-Identifier: GPL-2.0-or-later
"""The plan of a profile for the running machine, no matter who selected the profile.

Two commands use it: ``lowlat-gen cpus``, which TuneD asks for the CPUs, and then ``lowlat-gen
runtime``, which sets what the running boot can have of it.
"""

import os
from dataclasses import replace

from lowlat.base.errors import Refused
from lowlat.host.root import Root
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Machine
from lowlat.model.plan import Plan
from lowlat.plan import planner, profile, store
from lowlat.plan.cpu_request import CpuRequest
from lowlat.plan.planner import Options
from lowlat.plan.profile import Profile
from lowlat.probe import probe


def plan(name: str, root: Root) -> Plan:
    """The applied plan, if this boot has it and it is of this profile; else a fresh plan, for the
    CPUs that the kernel already isolates, if any, or for the next boot as ``plan`` makes it. In a
    container it isolates none but CPUs that this process may use. Raises Refused if the CPUs cannot
    be split that way."""
    applied = store.applied(root)
    if applied is not None and applied.profile == name:
        return applied
    machine, wanted = probe(root), profile.load(name, root)
    if machine.container is None and not _isolated(machine):
        return planner.make_plan(machine, machine.kernel, wanted, Options())
    made = _running(wanted, machine)
    if machine.container and root.live:
        return _within(made, CpuSet.of(os.sched_getaffinity(0)))
    return made


def settings(name: str, root: Root) -> Plan:
    """The plan whose run-time settings the running boot gets: that of plan(), for those of its CPUs
    that are online now. Run-time settings replace missing boot parameters as far as they can.
    Raises Refused as plan() does."""
    made = plan(name, root)
    if store.is_booted(made, root):
        return made
    machine, wanted = probe(root), profile.load(name, root)
    if machine.container or _isolated(machine):
        return made
    running = Options(as_booted=True)
    isolated = made.isolated & machine.cpus.online
    now = planner.make_plan(machine, machine.kernel, wanted, running, isolated)
    return replace(now, cpus=replace(now.cpus, reasons=made.cpus.reasons))


def _isolated(machine: Machine) -> CpuSet:
    """The CPUs that the kernel of this boot isolates."""
    return (machine.cpus.isolated or CpuSet()) & machine.cpus.online


def _running(wanted: Profile, machine: Machine) -> Plan:
    """A plan for the running boot, with the CPUs that it isolates."""
    isolated = _isolated(machine)
    if not isolated or not wanted.isolates:
        return planner.make_plan(machine, machine.kernel, wanted, Options(as_booted=True))
    options = Options(request=CpuRequest(isolate=str(isolated)), as_booted=True)
    try:
        return planner.make_plan(machine, machine.kernel, wanted, options)
    except Refused as error:
        why = f"this boot isolates CPU {isolated}, which lowlat cannot use: {error.message}"
        raise Refused(why, hint="change isolcpus= on the kernel command line") from error


def _within(made: Plan, allowed: CpuSet) -> Plan:
    isolated = made.isolated & allowed
    preferred = tuple(cpu for cpu in made.preferred if cpu in isolated)
    return replace(made, cpus=replace(made.cpus, isolated=isolated, preferred=preferred))
