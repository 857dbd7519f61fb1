# SPDX-License-Identifier: GPL-2.0-or-later
"""Which CPUs serve the system (housekeeping) and which the latency-critical work (isolated).

A pure function of a Machine and a request, which names the CPUs, or leaves the choice to
plan/housekeeping.py.
"""

from collections.abc import Iterable, Mapping
from typing import Optional

from lowlat.base.errors import Refused
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Machine
from lowlat.model.plan import PlannedCpus, RoleReason
from lowlat.plan import reasons, worth
from lowlat.plan.choice import choose
from lowlat.plan.cpu_request import NONE, CpuRequest, by_lists
from lowlat.plan.locality import Near
from lowlat.plan.system_cores import core_shortage, least_cores

#: Values of cpu/smt/control while no sibling runs.
_NO_SIBLINGS = ("off", "forceoff", "notsupported")

_NONE = CpuSet()

#: The decision, and warnings about it.
Split = tuple[PlannedCpus, tuple[str, ...]]


def split(machine: Machine, request: CpuRequest, returning: CpuSet = _NONE) -> Split:
    """Divide the online CPUs, of which ``returning`` are offline before the boot that the split is
    for. Raises Refused if a request breaks a rule or nothing can be isolated."""
    if request.isolate == NONE:
        return _nothing(machine, request)
    if len(machine.cores) < 2:
        raise Refused(
            f"this machine has one core online (CPU {machine.cpus.online}); "
            "isolating it would leave none for the system",
            hint="nothing can be isolated here",
        )
    named = by_lists(machine, request)
    if named is not None:
        isolated, why, warnings, sets = named
        short = core_shortage(machine, machine.cpus.online - isolated, least_cores(machine))
        warnings = (*warnings, *([short] if short else []))
        boot = CpuSet.of([machine.cpus.boot])
        kept = [
            RoleReason(boot, "housekeeping", "boots the system"),
            RoleReason(machine.cpus.online - isolated - boot, "housekeeping", why),
        ]
        told = [*worth.shares_told(machine, isolated, why)]
        chosen = [
            RoleReason(one.cpus & cpus, "isolated", f"{name}, {one.why}" if name else one.why)
            for name, cpus in sets.items()
            for one in told
        ]
        names = {name: cpus for name, cpus in sets.items() if name}
        return _finish(machine, isolated, [*kept, *chosen], warnings, sets=names or None)
    choice = choose(machine, request, returning)
    return _finish(machine, choice.isolated, choice.reasons, choice.warnings, choice.near)


def _nothing(machine: Machine, request: CpuRequest) -> Split:
    if request != CpuRequest(isolate=NONE):
        raise Refused(
            f"nothing is to be isolated ('{NONE}'), and yet CPUs are to be chosen",
            hint="leave out one of the two",
        )
    why = "nothing is to be isolated: every CPU stays with the system"
    return _finish(machine, CpuSet(), [RoleReason(machine.cpus.online, "housekeeping", why)], ())


def _finish(
    machine: Machine,
    isolated: CpuSet,
    why: Iterable[RoleReason],
    warnings: tuple[str, ...],
    near: Optional[Near] = None,
    sets: Optional[Mapping[str, CpuSet]] = None,
) -> Split:
    offline = machine.cpus.offline
    every = [*why, RoleReason(offline, "offline", "not online: left out of every list")]
    order = worth.preferred(machine, isolated, near)
    if isolated:
        unlike = worth.unlike(machine, isolated, order[0])
        warnings = (*warnings, *_siblings(machine), *unlike)
    online = machine.cpus.online
    told = reasons.merged(every)
    return PlannedCpus(online, isolated, online - isolated, offline, told, order, sets), warnings


def _siblings(machine: Machine) -> Iterable[str]:
    """Warnings about SMT siblings, which no list can take into account."""
    if not machine.cpus.siblings_known and machine.power.smt_control not in _NO_SIBLINGS:
        yield (
            "which CPUs are siblings of one core (SMT) is not known: where cores have two threads, "
            "work of the system may disturb an isolated CPU from within its core; give --isolate "
            "whole cores"
        )
