# SPDX-License-Identifier: GPL-2.0-or-later
"""The machine as a boot with a line finds it: CPUs that are offline now come back, others stay off.

A pure transform of a Machine. A CPU that comes back is where its siblings are. A core that comes
back as a whole is on the node of the CPUs next to it by number on both sides, if they agree; its
type and caches are not known.
"""

from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Callable, Optional, TypeVar

from lowlat.base.errors import Refused
from lowlat.kernel.cpus import boot_cpu, cpus_after, is_power, takes_nosmt, threads_after
from lowlat.model import cmdline
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Core, CoreType, Machine
from lowlat.plan.siblings import whole_cores
from lowlat.plan.untold import TYPE, untold

_T = TypeVar("_T")


def boot_machine(line: str, machine: Machine) -> tuple[Machine, tuple[str, ...]]:
    """The machine after a boot with this line, and warnings about its CPUs. Its offline CPUs are
    those that the line keeps off. Raises Refused if nothing tells whose siblings the CPUs are that
    come back."""
    threads = threads_after(line, machine)
    if machine.arch == "s390x" and threads != threads_after(machine.cmdline or "", machine):
        why = "the line changes the threads of each core, and with them the numbers of the CPUs"
        raise Refused(why, hint="boot once with that word alone, then plan again")
    if not machine.cpus.offline and cpus_after(line, machine) == machine.cpus.online:
        return machine, ()
    known = whole_cores(machine)
    change = _CpuChange(machine, known.cores)
    online = cpus_after(line, replace(machine, cores=change.cores))
    back = online & machine.cpus.offline
    strange = back - CpuSet.of(known.cores)
    if strange:
        raise UnknownSiblings(machine, strange)
    same = (online, boot_cpu(machine)) == (machine.cpus.online, machine.cpus.boot)
    made = machine if same else change.to(online)
    unknown = untold(made, back)
    notes = []
    if told := back - unknown[TYPE]:
        notes.append(f"CPU {told} is offline now and comes back with this boot: {known.relied}")
    notes += [
        f"nothing tells the {what} of CPU {cpus}, offline now: 'chcpu -e {cpus}' first does"
        for what, cpus in unknown.items()
        if cpus
    ]
    kept = (machine.cpus.online | machine.cpus.offline) - online
    if kept and cmdline.values(line, "maxcpus"):
        notes.append(
            f"maxcpus= keeps CPU {kept} off at the boot alone: once online they take tasks of the "
            "system, so nothing may switch them on"
        )
    return made, tuple(notes)


class UnknownSiblings(Refused):
    """``cpus`` come back with a boot, and nothing tells whose siblings they are."""

    def __init__(self, machine: Machine, cpus: CpuSet) -> None:
        self.cpus = cpus
        why = f"CPU {cpus} comes back with this boot, and nothing tells whose siblings they are"
        super().__init__(why, hint=", or ".join(_ways_out(machine, cpus)))


def _ways_out(machine: Machine, back: CpuSet) -> Iterator[str]:
    way = f"'chcpu -e {back}'"
    if machine.power.smt_control == "off":
        way = "'echo on > /sys/devices/system/cpu/smt/control'"
    elif machine.power.smt_control == "forceoff":  # cannot be undone before a reboot
        way = "a reboot"
    yield f"{way} brings them online to plan again"
    if takes_nosmt(machine):
        yield "'--enable nosmt' plans a boot without them"
    elif is_power(machine):
        threads = max(len(core.cpus) for core in machine.cores)
        yield f"smt-enabled={threads} on the stock line keeps them off"


class _CpuChange:
    """A machine before and after its CPUs change: ``whole`` is the core of each offline CPU for
    which it is known, ``cores`` are all cores with these CPUs."""

    def __init__(self, machine: Machine, whole: Mapping[int, CpuSet]) -> None:
        self._before = machine
        self._online = sorted(machine.cpus.online)
        cores = dict.fromkeys(whole.values())
        self._whole = {cpu: core for core in cores for cpu in core}
        #: The offline CPUs and what they are near to, by the lowest of these.
        self._beside: dict[int, list[tuple[CpuSet, CpuSet]]] = {}
        for core in cores:
            if near := self._near(core):
                self._beside.setdefault(near.first, []).append((core, near))
        lone = [core for core in cores if not core & machine.cpus.online]
        self._lone = CpuSet.of(cpu for core in lone for cpu in core)
        made = [*map(self._grown, machine.cores), *map(self._placed, lone)]
        self.cores = tuple(sorted(made, key=lambda core: core.cpus.first))

    def to(self, online: CpuSet) -> Machine:
        """The machine with these CPUs online."""
        before, after = self._before, self._after
        present = before.cpus.online | before.cpus.offline
        nodes = (replace(node, cpus=after(node.cpus) & online) for node in before.nodes)
        caches = [replace(one, cpus=self._told(one.cpus) & online) for one in before.caches]
        types = tuple(self._types(online)) if before.core_types else ()
        return replace(
            before,
            cpus=replace(
                before.cpus, online=online, offline=present - online, boot=boot_cpu(before)
            ),
            cores=tuple(_with(online, self.cores)),
            core_types=types if len(types) > 1 else (),
            nodes=tuple(nodes),
            caches=tuple(
                sorted(
                    (cache for cache in caches if cache.cpus),
                    key=lambda cache: (cache.level, cache.cpus.first, cache.kind),
                )
            ),
            devices=tuple(
                replace(device, cpus=after(device.cpus) & online) if device.cpus else device
                for device in before.devices
            ),
        )

    def _after(self, cpus: CpuSet) -> CpuSet:
        """The CPUs of a place, with the offline ones that are near to it alone."""
        beside = (item for cpu in cpus for item in self._beside.get(cpu, ()))
        return cpus | CpuSet.of(cpu for core, near in beside if near <= cpus for cpu in core)

    def _told(self, cpus: CpuSet) -> CpuSet:
        """The CPUs of one type or cache, with their siblings."""
        return self._after(cpus) - self._lone

    def _types(self, online: CpuSet) -> Iterator[CoreType]:
        left = online
        for kind in self._before.core_types:
            cpus = self._told(kind.cpus) & online
            left = left - cpus
            if cpus:
                yield replace(kind, cpus=cpus)
        if left:
            yield CoreType("unknown", left, "")

    def _near(self, core: CpuSet) -> CpuSet:
        """The online siblings of an offline CPU; for a core that is offline, the two next CPUs on
        each side of each of its CPUs, where these tell its node: any of a single node, else none if
        a side or a whole node is offline."""
        places = [bisect(self._online, cpu) for cpu in core]
        nodes = self._before.nodes
        told = len(nodes) < 2 or (
            min(places) > 0 and max(places) < len(self._online) and all(n.cpus for n in nodes)
        )
        near = {cpu for at in places for cpu in self._online[max(at - 2, 0) : at + 2]}
        return core & self._before.cpus.online or CpuSet.of(near if told else ())

    def _grown(self, core: Core) -> Core:
        """The core with its threads that are offline now."""
        return replace(core, cpus=self._whole.get(core.cpus.first, core.cpus))

    def _placed(self, cpus: CpuSet) -> Core:
        """A core of CPUs that are all offline now."""
        near = [self._before.core_of(cpu) for cpu in self._near(cpus)]

        def common(what: Callable[[Core], _T]) -> Optional[_T]:
            values = {what(core) for core in near}
            return values.pop() if len(values) == 1 else None

        return Core(
            cpus=cpus,
            package=common(lambda core: core.package),
            die=common(lambda core: core.die),
            cluster=common(lambda core: core.cluster),
            nodes=common(lambda core: core.nodes) or (),
            book=common(lambda core: core.book),
            drawer=common(lambda core: core.drawer),
        )


def _with(online: CpuSet, cores: Iterable[Core]) -> Iterator[Core]:
    """The cores of these CPUs; a cache domain is named by its lowest one."""
    left = [replace(core, cpus=core.cpus & online) for core in cores if core.cpus & online]
    lowest: dict[int, int] = {}
    for core in left:
        if core.cache is not None:
            lowest.setdefault(core.cache, core.cpus.first)
    for core in left:
        yield core if core.cache is None else replace(core, cache=lowest[core.cache])
