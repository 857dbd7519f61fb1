# SPDX-License-Identifier: GPL-2.0-or-later
"""Which CPUs serve the system (housekeeping) and which the latency-critical work (isolated).

A pure function of a Machine. The rules, in order of force: only whole cores; the boot CPU's core is
housekeeping; every NUMA node with online CPUs keeps a housekeeping core, and two hardware threads
if devices are busy there; the least capable core type is housekeeping; housekeeping cores lie near
the busiest devices, within as few last-level caches as possible; ties go to the lowest id.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Callable, Optional

from lowlat.base.errors import Refused
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Core, CoreType, Machine, Node
from lowlat.model.plan import PlannedCpus, RoleReason
from lowlat.plan import locality
from lowlat.plan.cpu_request import NONE, CpuRequest, by_lists
from lowlat.plan.locality import Near, busy_device, local_interrupts, local_to, near_device

#: Values of cpu/smt/control while no sibling runs.
_NO_SIBLINGS = ("off", "forceoff", "notsupported")

#: From this number of CPUs on, the system gets two hardware threads.
_TWO_THREADS_FROM = 6


#: The decision, and warnings about it.
Split = tuple[PlannedCpus, tuple[str, ...]]


def split(machine: Machine, request: CpuRequest) -> Split:
    """Divide the online CPUs. Raises Refused if a request breaks a rule or nothing can be
    isolated."""
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
        boot = CpuSet.of([machine.cpus.boot])
        kept = [
            RoleReason(boot, "housekeeping", "boots the system"),
            RoleReason(machine.cpus.online - isolated - boot, "housekeeping", why),
        ]
        chosen = [
            RoleReason(cpus, "isolated", f"{name}, {why}" if name else why)
            for name, cpus in sets.items()
        ]
        names = {name: cpus for name, cpus in sets.items() if name}
        return _finish(machine, isolated, [*kept, *chosen], warnings, names or None)
    return _choose(machine, request)


def _nothing(machine: Machine, request: CpuRequest) -> Split:
    if request != CpuRequest(isolate=NONE):
        raise Refused(
            f"nothing is to be isolated ('{NONE}'), and yet CPUs are to be chosen",
            hint="leave out one of the two",
        )
    why = "nothing is to be isolated: every CPU stays with the system"
    return _finish(machine, CpuSet(), [RoleReason(machine.cpus.online, "housekeeping", why)], ())


def _choose(machine: Machine, request: CpuRequest) -> Split:
    near: Optional[Near] = None
    warnings: tuple[str, ...] = ()
    if request.for_device is not None:
        near, warnings = near_device(machine, request.for_device)
    mixed = len(machine.core_types) > 1 and not request.keep_efficiency_cores
    least = machine.core_types[-1] if mixed else None
    choice = _Choice(machine, request, near, least)
    if choice.full and least:
        choice = _Choice(machine, request, near, None)
    if choice.full:
        raise _nothing_left(machine, request, near)
    isolated = machine.cpus.online - choice.kept
    return _finish(
        machine, isolated, [*choice.reasons(), *_why_isolated(choice, isolated)], warnings
    )


def _nothing_left(machine: Machine, request: CpuRequest, near: Optional[Near]) -> Refused:
    if near is not None:
        return Refused(
            f"every core of {near.place} is needed for housekeeping, none is left near "
            f"{near.device.address}",
            hint="leave out --for-device, or name the CPUs with --isolate LIST",
        )
    if request.housekeeping_cores is not None:
        return Refused(
            f"--housekeeping-cores {request.housekeeping_cores}: leaves nothing to isolate of "
            f"{len(machine.cores)} cores",
            hint="give a smaller number",
        )
    return Refused(
        f"every core is needed for housekeeping ({len(machine.cores)} cores, "
        f"{len(_nodes(machine))} NUMA nodes, at least one core each)",
        hint="name the CPUs with --isolate LIST to leave a node without housekeeping",
    )


class _Choice:
    """The housekeeping cores, by their lowest CPU, with the reason for each."""

    def __init__(
        self, machine: Machine, request: CpuRequest, near: Optional[Near], least: Optional[CoreType]
    ) -> None:
        self.machine = machine
        self.near = near
        self.least = least
        self._why: dict[int, str] = {}
        self._caches: set[int] = set()
        # Nodes may share CPUs: the cores kept for the smallest node count for a larger one too, in
        # whatever order the nodes are numbered.
        self._nodes = sorted(_nodes(machine), key=lambda node: (len(node.cpus), list(node.cpus)))
        self._cores = {node.id: _cores(machine, node) for node in self._nodes}
        self._nodes_of = _inverted(self._cores)
        self._taken = Counter[int]()
        self._preference = _preference(machine, near)
        self._take(machine.core_of(machine.cpus.boot), "")
        why_least = "" if least is None else _why_least(machine, least)
        for core in machine.cores:
            if near is not None and not core.cpus <= near.cpus:
                self._take(core, f"not of {near.place}, where {near.device.address} is")
            elif least is not None and core.cpus <= least.cpus:
                self._take(core, why_least)
        for node in self._nodes:
            self._fill(node, request.housekeeping_cores)
        if request.housekeeping_cores is None:
            self._add_threads()
            self._complete_caches()

    @property
    def full(self) -> bool:
        return len(self._why) == len(self.machine.cores)

    @property
    def kept(self) -> CpuSet:
        return CpuSet.of(cpu for first in self._why for cpu in self.machine.core_of(first).cpus)

    def reasons(self) -> Iterable[RoleReason]:
        boot = self.machine.cpus.boot
        yield RoleReason(CpuSet.of([boot]), "housekeeping", "boots the system")
        for first, why in self._why.items():
            cpus = self.machine.core_of(first).cpus - CpuSet.of([boot])
            same_core = f"same core as CPU {boot}, which boots the system"
            yield RoleReason(cpus, "housekeeping", why or same_core)

    def _take(self, core: Core, why: str) -> None:
        first = core.cpus.first
        if first not in self._why:
            self._why[first] = why
            self._taken.update(self._nodes_of[first])
        if core.cache is not None:
            self._caches.add(core.cache)

    def _fill(self, node: Node, wanted: Optional[int]) -> None:
        """Take housekeeping cores of a node until it has as many as it needs."""
        cores = self._cores[node.id]
        wanted = min(wanted or default_housekeeping_cores(len(cores)), len(cores))
        free = self._free(cores)
        missing = wanted - (len(cores) - len(free))
        for core in self._in_order(free)[: max(missing, 0)]:
            self._take(core, self._why_taken(node, core, wanted, len(cores)))

    def _add_threads(self) -> None:
        """Add cores until the system has two hardware threads: on each node with busy devices, and
        on the whole machine. A single thread would carry their interrupts, the RCU callbacks of all
        isolated CPUs and every kernel thread."""
        if len(self.machine.cpus.online) < _TWO_THREADS_FROM:
            return
        for node in self._nodes:
            device = busy_device(self.machine, node)
            if device is not None:
                why = f"a second thread for interrupts such as those of {device.address}"
                taken = (core for core in self._cores[node.id] if core.cpus.first in self._why)
                kept = sum(len(core.cpus & node.cpus) for core in taken)
                self._add_thread(node, kept, why)
        for node in self._nodes if len(self.kept) < 2 else ():
            self._add_thread(node, len(self.kept), "a second thread for the system")

    def _add_thread(self, node: Node, kept: int, why: str) -> None:
        """Take a core of the node if less than two CPUs are kept."""
        if kept < 2:
            free = self._free(self._cores[node.id])
            free = [core for core in free if self._leaves_half([core])]
            if free:
                self._take(self._in_order(free)[0], why)

    def _complete_caches(self) -> None:
        """Give the system the rest of each last-level cache that it already uses, if that costs at
        most an eighth of the machine's cores."""
        rest = [core for core in self._free(self.machine.cores) if core.cache in self._caches]
        if 8 * len(rest) <= len(self.machine.cores) and self._leaves_half(rest):
            for core in rest:
                self._take(
                    core, "so that no isolated CPU shares a last-level cache with the system"
                )

    def _leaves_half(self, more: Sequence[Core]) -> bool:
        """Whether every node can lose its cores among these free ones and still keep half of its
        cores isolated."""
        lost = Counter(node for core in more for node in self._nodes_of[core.cpus.first])
        return all(
            2 * (self._taken[node] + count) <= len(self._cores[node])
            for node, count in lost.items()
        )

    def _free(self, cores: Iterable[Core]) -> list[Core]:
        return [core for core in cores if core.cpus.first not in self._why]

    def _in_order(self, free: Iterable[Core]) -> list[Core]:
        """The cores by preference. Among equals come first those that share a cache with a core
        already taken, then one cache after another."""
        lowest: dict[tuple[_Key, Optional[int]], int] = {}
        keyed = [(self._preference(core), core) for core in free]
        for key, core in keyed:
            first = core.cpus.first
            lowest[key, core.cache] = min(lowest.get((key, core.cache), first), first)

        def order(item: tuple[_Key, Core]) -> tuple[_Key, bool, int, int]:
            key, core = item
            first = core.cpus.first
            domain = first if core.cache is None else lowest[key, core.cache]
            return (key, core.cache not in self._caches, domain, first)

        return [core for _, core in sorted(keyed, key=order)]

    def _why_taken(self, node: Node, core: Core, wanted: int, cores: int) -> str:
        where = f" on NUMA node {node.id}" if len(self.machine.nodes) > 1 else ""
        why = f"kept for the system{where} ({wanted} of {cores} cores)"
        device = local_to(self.machine, self.near, node, core)
        return f"{why}, where the interrupts of {device.address} are local" if device else why


def _cores(machine: Machine, node: Node) -> list[Core]:
    return list({(c := machine.core_of(cpu)).cpus.first: c for cpu in node.cpus}.values())


def _inverted(cores: Mapping[int, Iterable[Core]]) -> Mapping[int, Sequence[int]]:
    """The nodes of each core, by its lowest CPU."""
    nodes: defaultdict[int, list[int]] = defaultdict(list)
    for node, members in cores.items():
        for core in members:
            nodes[core.cpus.first].append(node)
    return nodes


#: The rank of the core type, and the interrupts of busy devices, both negated: lowest first.
_Key = tuple[int, int]


def _preference(machine: Machine, near: Optional[Near]) -> Callable[[Core], _Key]:
    """The sort key of housekeeping cores: the least capable first, then those nearest to the most
    interrupts of busy devices."""
    rank = {cpu: place for place, kind in enumerate(machine.core_types) for cpu in kind.cpus.ids}
    local = local_interrupts(machine, near)

    def key(core: Core) -> _Key:
        first = core.cpus.first
        return (-rank.get(first, 0), -sum(count for cpus, count in local if first in cpus))

    return key


def default_housekeeping_cores(cores: int) -> int:
    """Housekeeping cores of a node: 1 up to 16 cores, 2 up to 64, above that one per 32."""
    if cores <= 16:
        return 1
    return 2 if cores <= 64 else -(-cores // 32)


def _why_least(machine: Machine, least: CoreType) -> str:
    cores = sum(core.cpus <= least.cpus for core in machine.cores)
    return (
        f"of the least capable core type, which serves the system ({cores} of "
        f"{len(machine.cores)} cores; --keep-efficiency-cores leaves them to the work)"
    )


def _nodes(machine: Machine) -> Sequence[Node]:
    return [node for node in machine.nodes if node.cpus] or [Node(0, machine.cpus.online)]


def _why_isolated(choice: _Choice, isolated: CpuSet) -> Iterable[RoleReason]:
    machine, near, least = choice.machine, choice.near, choice.least
    if near is not None:
        why = f"cores of {near.place}, the place of {near.device.address}"
    elif least is not None and not isolated.ids & least.cpus.ids:
        best = machine.core_types[0].words
        why = f"the more capable cores ({best} first)"
    else:
        kept = sum(not core.cpus.ids & isolated.ids for core in machine.cores)
        stay = "stays" if kept == 1 else "stay"
        why = f"{kept} of {len(machine.cores)} cores {stay} for the system"
    shared = locality.sharing(machine, isolated)
    if shared == isolated:
        shared = CpuSet()  # all isolated CPUs are equal then
    if shared:
        note = "these CPUs share a last-level cache with the system's, so they are used last"
        yield RoleReason(shared, "isolated", f"{why}; {note}")
    yield RoleReason(isolated - shared, "isolated", why)


def _finish(
    machine: Machine,
    isolated: CpuSet,
    reasons: Iterable[RoleReason],
    warnings: tuple[str, ...],
    sets: Optional[Mapping[str, CpuSet]] = None,
) -> Split:
    offline = machine.cpus.offline
    every = [*reasons, RoleReason(offline, "offline", "not online: left out of every list")]
    if isolated:
        warnings = (*warnings, *_siblings(machine), *locality.unequal(machine))
    online, preferred = machine.cpus.online, locality.preferred(machine, isolated)
    kept = online - isolated
    return PlannedCpus(online, isolated, kept, offline, _merge(every), preferred, sets), warnings


def _siblings(machine: Machine) -> Iterable[str]:
    """Warnings about SMT siblings, which no list can take into account."""
    if not machine.cpus.siblings_known and machine.power.smt_control not in _NO_SIBLINGS:
        yield (
            "which CPUs are siblings of one core (SMT) is not known: where cores have two threads, "
            "work of the system may disturb an isolated CPU from within its core; give --isolate "
            "whole cores"
        )


def _merge(reasons: Iterable[RoleReason]) -> tuple[RoleReason, ...]:
    merged: dict[tuple[str, str], set[int]] = {}
    for reason in reasons:
        merged.setdefault((reason.role, reason.why), set()).update(reason.cpus.ids)
    return tuple(
        RoleReason(CpuSet.of(ids), role, why) for (role, why), ids in merged.items() if ids
    )
