# SPDX-License-Identifier: GPL-2.0-or-later
"""The choice of the isolated CPUs where no list names them: all that housekeeping leaves, or the
best of them."""

from dataclasses import dataclass, replace
from typing import Optional

from lowlat.base.errors import Refused
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Machine
from lowlat.model.plan import RoleReason
from lowlat.plan import worth
from lowlat.plan.caches import clean_caches, split_caches
from lowlat.plan.cpu_request import NODE, PACKAGE, CpuRequest
from lowlat.plan.housekeeping import Housekeeping, Terms
from lowlat.plan.locality import Near, near_device
from lowlat.plan.regions import near_nodes, single_nodes
from lowlat.plan.untold import KEPT, untold


@dataclass(frozen=True)
class Choice:
    """The isolated CPUs, why each CPU has its role, warnings, and the place of ``--for-device``."""

    isolated: CpuSet
    reasons: tuple[RoleReason, ...]
    warnings: tuple[str, ...]
    near: Optional[Near]


def choose(machine: Machine, request: CpuRequest, returning: CpuSet) -> Choice:
    """The CPUs to isolate. Raises Refused if no core is left, or fewer than were asked for."""
    near: Optional[Near] = None
    warnings: tuple[str, ...] = ()
    if request.for_device is not None:
        near, warnings = near_device(machine, request.for_device)
    terms = Terms(machine, near, cores=request.housekeeping_cores, returning=returning)
    if not request.keep_efficiency_cores:
        terms = replace(terms, serving=worth.serving_types(machine))
    kept, note = _roomy(terms, request)
    if kept.full:
        raise _nothing_left(terms, len(kept.regions))
    isolated = machine.cpus.online - kept.kept
    rest = CpuSet()
    if request.isolate_cores is not None:
        best = _best(machine, isolated, near, request.isolate_cores)
        isolated, rest, note = best, isolated - best, ""
        warnings = (*warnings, *split_caches(machine, isolated))
    why = _why_isolated(kept, isolated)
    told = (
        *kept.reasons(isolated),
        RoleReason(rest, "housekeeping", f"not of the {request.isolate_cores} best cores"),
        *worth.shares_told(machine, isolated, why, note),
    )
    return Choice(isolated, told, warnings, near)


def _roomy(terms: Terms, request: CpuRequest) -> tuple[Housekeeping, str]:
    """The housekeeping cores, and a note on the other way to choose them. The types that serve the
    system do so as far as enough is left to isolate. Raises Refused if not enough can be left."""
    found = _either_way(terms, request)
    while found[0].isolable < (request.isolate_cores or 1) and terms.serving:
        terms = replace(terms, serving=terms.serving[1:])
        found = _either_way(terms, request)
    if request.isolate_cores is None or found[0].isolable >= request.isolate_cores:
        return found
    found = _either_way(replace(terms, cores=1), request)
    if found[0].isolable < request.isolate_cores:
        raise _too_many(found[0], request.isolate_cores)
    return found


def _either_way(terms: Terms, request: CpuRequest) -> tuple[Housekeeping, str]:
    """A core of each node, or whole caches of near nodes taken together: what is asked for, else
    what leaves more caches clean. The note counts both."""
    machine, per = terms.machine, request.housekeeping_per
    spread = Housekeeping(terms, single_nodes(machine))
    regions = near_nodes(machine)
    if len(regions) == len(spread.regions):
        return spread, ""
    together = Housekeeping(terms, regions, most=spread.cores)
    if together.kept == spread.kept:
        return spread, ""
    one, other = (clean_caches(machine, way.kept) for way in (spread, together))
    better = spread.full or (other.clean > one.clean and not together.full)
    if per == PACKAGE or (per is None and better):
        left = "nothing to isolate" if spread.full else one.clean
        note = f"one core of each node would leave {left} (--housekeeping-per {NODE})"
        if other.of:
            return together, f"{other} stay clean, {note}"
        return together, note if spread.full else ""
    note = "each node keeps a core near its memory"
    taken = f"near nodes taken together would leave {other.clean} (--housekeeping-per {PACKAGE})"
    return spread, f"{note}; {one} stay clean, {taken}" if one.of else note


def _best(machine: Machine, isolable: CpuSet, near: Optional[Near], cores: int) -> CpuSet:
    """The best of these cores. Threads get one CPU of each core first."""
    first = worth.preferred(machine, isolable, near)[:cores]
    return CpuSet.of(cpu for one in first for cpu in machine.core_of(one).cpus.ids)


def _too_many(kept: Housekeeping, cores: int) -> Refused:
    near = kept.terms.near
    where = f" of {near.place}, where {near.device.address} is," if near else ""
    return Refused(
        f"--isolate-cores {cores}: at most {kept.isolable} cores{where} can be isolated",
        hint=f"give a number up to {kept.isolable}" if kept.isolable else "leave it out",
    )


def _nothing_left(terms: Terms, regions: int) -> Refused:
    near, cores = terms.near, len(terms.machine.cores)
    if near is not None:
        return Refused(
            f"every core of {near.place} is needed for housekeeping, none is left near "
            f"{near.device.address}",
            hint="leave out --for-device, or name the CPUs with --isolate LIST",
        )
    unknown = untold(terms.machine, terms.returning)
    for what in KEPT:
        if cpus := unknown[what]:
            return Refused(
                f"nothing tells the {what} of CPU {cpus}, offline now and back with this boot, and "
                "the system needs every other core",
                hint=f"'chcpu -e {cpus}' before planning tells it",
            )
    if terms.cores is not None:
        return Refused(
            f"--housekeeping-cores {terms.cores}: leaves nothing to isolate of {cores} cores",
            hint="give a smaller number",
        )
    return Refused(
        f"every core is needed for housekeeping ({cores} cores, {regions} NUMA nodes, at least "
        "one core each)",
        hint="name the CPUs with --isolate LIST to leave a node without housekeeping",
    )


def _why_isolated(kept: Housekeeping, isolated: CpuSet) -> str:
    machine, near, serving = kept.terms.machine, kept.terms.near, kept.terms.serving
    if near is not None:
        note = f"; {near.note}" if near.note else ""
        return f"cores of {near.place}, the place of {near.device.address}{note}"
    if any(not isolated.ids & kind.cpus.ids for kind in serving):
        return f"the more capable cores ({machine.core_types[0].words} first)"
    system = sum(not core.cpus.ids & isolated.ids for core in machine.cores)
    stay = "stays" if system == 1 else "stay"
    return f"{system} of {len(machine.cores)} cores {stay} for the system"
