# SPDX-License-Identifier: GPL-2.0-or-later
"""The plan of a profile for the running machine, no matter who selected the profile.

Two commands use it: ``lowlat-gen cpus``, which TuneD asks for the CPUs, and then ``lowlat-gen
runtime``.
"""

from lowlat.base.errors import Refused
from lowlat.host.root import Root
from lowlat.model.cpuset import CpuSet
from lowlat.model.plan import Plan
from lowlat.plan import planner, profile, store
from lowlat.plan.cpu_request import CpuRequest
from lowlat.plan.planner import Options
from lowlat.probe import probe


def plan(name: str, root: Root) -> Plan:
    """The applied plan, if this boot has it and it is of this profile; else a fresh plan, for the
    CPUs that the kernel already isolates, if any. Run-time settings of a fresh plan replace missing
    boot parameters as far as they can. Raises Refused if the CPUs cannot be split that way."""
    applied = store.applied(root)
    if applied is not None and applied.profile == name:
        return applied
    wanted = profile.load(name, root)
    machine = probe(root)
    isolated = (machine.cpus.isolated or CpuSet()) & machine.cpus.online
    if not isolated or not wanted.isolates:
        return planner.make_plan(machine, machine.kernel, wanted, Options(as_booted=True))
    options = Options(request=CpuRequest(isolate=str(isolated)), as_booted=True)
    try:
        return planner.make_plan(machine, machine.kernel, wanted, options)
    except Refused as error:
        why = f"this boot isolates CPU {isolated}, which lowlat cannot use: {error.message}"
        raise Refused(why, hint="change isolcpus= on the kernel command line") from error
