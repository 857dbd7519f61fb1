# SPDX-License-Identifier: GPL-2.0-or-later
"""The plan of a profile for the machine as it runs now, whoever selected the profile.

``lowlat-gen cpus``, which TuneD asks for the CPUs, and ``lowlat-gen runtime``, which it then calls,
both take it from here.
"""

from lowlat.base.errors import Refused
from lowlat.host.root import CPU, Root
from lowlat.model.cpuset import CpuSet
from lowlat.model.plan import Plan
from lowlat.plan import planner, profile, store
from lowlat.plan.cpu_request import CpuRequest
from lowlat.plan.planner import Options
from lowlat.probe import probe


def plan(name: str, root: Root) -> Plan:
    """The applied plan in a boot of it, if it is that profile's; else a fresh one, for the CPUs
    that the kernel isolates already, if it does. What a boot parameter would have done and has not,
    the fresh plan's run-time half does, as far as it can. Raises Refused where the CPUs cannot be
    divided like that."""
    applied = store.applied(root)
    if applied is not None and applied.profile == name:
        return applied
    wanted = profile.load(name, root)
    machine = probe(root)
    isolated = (root.read_cpus(f"{CPU}/isolated") or CpuSet()) & machine.cpus.online
    if not isolated or not wanted.isolates:
        return planner.make_plan(machine, machine.kernel, wanted, Options(as_booted=True))
    options = Options(request=CpuRequest(isolate=str(isolated)), as_booted=True)
    try:
        return planner.make_plan(machine, machine.kernel, wanted, options)
    except Refused as error:
        why = f"this boot isolates CPU {isolated}, which lowlat cannot use: {error.message}"
        raise Refused(why, hint="change isolcpus= on the kernel command line") from error
