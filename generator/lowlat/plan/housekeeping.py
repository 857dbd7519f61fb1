# SPDX-License-Identifier: GPL-2.0-or-later
"""The choice of housekeeping cores.

The rules, in order of force: only whole cores; the boot CPU's core is housekeeping; every region
keeps a housekeeping core, and two hardware threads if devices are busy there; the core types that
serve the system are housekeeping; the other housekeeping cores lie near the busiest devices, within
as few shared caches as possible; ties go to the lowest id.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Optional

from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Core, CoreType, Machine
from lowlat.model.plan import RoleReason
from lowlat.plan import reasons
from lowlat.plan.borders import Borders, Key
from lowlat.plan.caches import Level, uncached
from lowlat.plan.locality import BusyDevices, Near
from lowlat.plan.reasons import Why
from lowlat.plan.regions import Region
from lowlat.plan.untold import KEPT, untold
from lowlat.plan.worth import ranks

#: From this number of CPUs on, the system gets two hardware threads.
_TWO_THREADS_FROM = 6


@dataclass(frozen=True)
class Terms:
    """What a choice is made for: the machine, the place of a device, the core types that serve the
    system, the number of housekeeping cores of each region (None: by default), and the CPUs that
    are offline before the boot that the choice is for."""

    machine: Machine
    near: Optional[Near] = None
    serving: tuple[CoreType, ...] = ()
    cores: Optional[int] = None
    returning: CpuSet = CpuSet()


class Housekeeping:
    """The housekeeping cores, with the reason for each. ``least`` is the number without those that
    only keep caches whole. ``most`` is the number of cores up to which
    the system may complete its caches, besides an eighth of the machine; where it is given, the
    regions hold several nodes, and their caches come before the places of devices."""

    def __init__(self, terms: Terms, regions: Sequence[Region], most: Optional[int] = None) -> None:
        self.terms = terms
        self.regions = regions
        self._machine = terms.machine
        self._most = most
        self._why: dict[int, Why] = {}
        self._completed: dict[str, Level] = {}
        self._threads = 0
        self._borders = Borders(terms.machine)
        self._uncached = uncached(terms.machine)
        self._rank = ranks(terms.machine)
        self._busy = BusyDevices(terms.machine, terms.near)
        self._cores = [_cores(terms.machine, region) for region in regions]
        self._regions_of = _inverted(self._cores)
        self._taken = Counter[int]()
        self._take(terms.machine.core_of(terms.machine.cpus.boot), Why(""))
        self._take_returning()
        self._take_excluded()
        for place in range(len(regions)):
            self._fill(place)
        if terms.cores is None:
            self._add_threads()
        self.least = self.cores
        if terms.cores is None:
            self._complete_caches()

    @property
    def cores(self) -> int:
        """The number of housekeeping cores."""
        return len(self._why)

    @property
    def isolable(self) -> int:
        """The number of the other cores."""
        return len(self._machine.cores) - self.cores

    @property
    def full(self) -> bool:
        """Whether no core is left to isolate."""
        return not self.isolable

    @property
    def kept(self) -> CpuSet:
        cores = map(self._machine.core_of, self._why)
        return CpuSet.of(cpu for core in cores for cpu in core.cpus.ids)

    def reasons(self, isolated: CpuSet) -> Iterator[RoleReason]:
        """Why each core is kept, where these CPUs are isolated of the others."""
        boot = self._machine.cpus.boot
        yield RoleReason(CpuSet.of([boot]), "housekeeping", "boots the system")
        same = f"same core as CPU {boot}, which boots the system"
        found = (
            (self._machine.core_of(first).cpus - CpuSet.of([boot]), self._true(why, isolated, same))
            for first, why in self._why.items()
        )
        yield from reasons.housekeeping(found, named=len(self._machine.nodes) > 1)

    def _true(self, why: Why, isolated: CpuSet, same: str) -> Why:
        level = self._completed.get(why.text)
        if level is not None:
            beside = level.beside(self._machine.cpus.online - isolated) | self._uncached
            if beside & isolated:
                return Why(f"the rest of {level.one} that the system uses", why.step)
        return why if why.text else Why(same)

    def _take(self, core: Core, why: Why) -> None:
        first = core.cpus.first
        if first not in self._why:
            self._why[first] = why
            self._threads += len(core.cpus)
            self._taken.update(self._regions_of[first])
            self._borders.take(first)

    def _take_excluded(self) -> None:
        near, serving = self.terms.near, [kind.cpus.ids for kind in self.terms.serving]
        least = Why(_why_serving(self._machine, self.terms.serving))
        for core in self._machine.cores:
            if near is not None and not core.cpus <= near.cpus:
                self._take(core, Why(f"not of {near.place}, where {near.device.address} is"))
            elif any(core.cpus.ids <= cpus for cpus in serving):
                self._take(core, least)

    def _take_returning(self) -> None:
        """Take the cores of which nothing tells the type or the node, and those of which some CPUs
        are offline now, if they are few. Firmware may keep such a CPU off at every boot: without
        x2APIC no CPU with APIC id 255 starts."""
        unknown = untold(self._machine, self.terms.returning)
        for what in KEPT:
            for core in self._free(self._machine.cores):
                if core.cpus.ids <= unknown[what].ids:
                    self._take(core, Why(f"offline now, and nothing tells the {what}"))
        returning = self.terms.returning.ids
        free = self._free(self._machine.cores)
        cores = [core for core in free if core.cpus.ids & returning and core.cpus.ids - returning]
        if 8 * len(cores) <= len(self._machine.cores):
            for core in cores:
                off = CpuSet.of(core.cpus.ids & returning)
                self._take(core, Why(f"CPU {off} of this core is offline now, and may stay so"))

    def _fill(self, place: int) -> None:
        """Take housekeeping cores of a region until it has as many as it needs."""
        cores = self._cores[place]
        wanted = min(self.terms.cores or default_housekeeping_cores(len(cores)), len(cores))
        free = self._free(cores)
        missing = wanted - (len(cores) - len(free))
        for core in self._in_order(free)[: max(missing, 0)]:
            self._take(core, self._why_taken(self.regions[place], core, wanted, len(cores)))

    def _add_threads(self) -> None:
        """Add cores until the system has two hardware threads: in each region with busy devices,
        and on the whole machine. A single thread would carry their interrupts, the RCU callbacks of
        all isolated CPUs and every kernel thread."""
        if len(self._machine.cpus.online) < _TWO_THREADS_FROM:
            return
        for place, region in enumerate(self.regions):
            device = self._busy.on(region)
            if device is not None and self._threads_in(place) < 2:
                name = (device.names or (device.address,))[0]
                self._add_thread(place, f"for interrupts such as those of {name}")
        for place in range(len(self.regions)):
            if self._threads < 2:
                self._add_thread(place, "for the system")

    def _threads_in(self, place: int) -> int:
        taken = (core for core in self._cores[place] if core.cpus.first in self._why)
        return sum(len(core.cpus & self.regions[place].cpus) for core in taken)

    def _add_thread(self, place: int, use: str) -> None:
        free = [core for core in self._free(self._cores[place]) if self._leaves_half([core])]
        for core in self._in_order(free)[:1]:
            what = "thread" if len(core.cpus) > 1 else "core"
            self._take(core, Why(f"a second {what} {use}", 2))

    def _complete_caches(self) -> None:
        """Give the system the rest of each cache that it already uses, the innermost level first,
        if that costs at most an eighth of the machine's cores in all."""
        left = max(len(self._machine.cores) // 8, (self._most or 0) - self.cores)
        for number, level in enumerate(self._borders.levels):
            free = self._free(self._machine.cores)
            rest = [core for core in free if self._borders.is_cut(number, core)]
            if level.known and len(rest) <= left and self._leaves_half(rest):
                left -= len(rest)
                why = Why(f"so that no isolated CPU shares {level.one} with the system", 3)
                self._completed[why.text] = level
                for core in rest:
                    self._take(core, why)

    def _leaves_half(self, more: Sequence[Core]) -> bool:
        """Whether every region can lose its cores among these free ones and still keep half of its
        cores isolated."""
        lost = Counter(place for core in more for place in self._regions_of[core.cpus.first])
        return all(
            2 * (self._taken[place] + count) <= len(self._cores[place])
            for place, count in lost.items()
        )

    def _free(self, cores: Iterable[Core]) -> list[Core]:
        return [core for core in cores if core.cpus.first not in self._why]

    def _in_order(self, free: Iterable[Core]) -> list[Core]:
        """The least capable cores first, then those nearest to the most interrupts of busy devices,
        then those that share a cache with a core already taken, then one cache after another."""
        return self._borders.in_order([(self._preference(core), core) for core in free])

    def _preference(self, core: Core) -> Key:
        rank = -self._rank.get(core.cpus.first, 0)
        device, cut = -self._busy.interrupts(core), self._borders.apart(core)
        return (rank, device, cut) if self._most is None else (rank, cut, device)

    def _why_taken(self, region: Region, core: Core, wanted: int, cores: int) -> Why:
        device = self._busy.local_to(region, core)
        local = f", where the interrupts of {device.address} are local" if device else ""
        text = f"kept for the system{{}}{local}"
        return Why(text, 1, f"{wanted} of {cores} cores", region)


def _cores(machine: Machine, region: Region) -> list[Core]:
    found = {(c := machine.core_of(cpu)).cpus.first: c for cpu in region.cpus}
    return list(found.values())


def _inverted(cores: Iterable[Iterable[Core]]) -> Mapping[int, Sequence[int]]:
    """The regions of each core, by its lowest CPU."""
    regions: defaultdict[int, list[int]] = defaultdict(list)
    for place, members in enumerate(cores):
        for core in members:
            regions[core.cpus.first].append(place)
    return regions


def default_housekeeping_cores(cores: int) -> int:
    """Housekeeping cores of a region: 1 up to 16 cores, 2 up to 64, above that one per 32."""
    if cores <= 16:
        return 1
    return 2 if cores <= 64 else -(-cores // 32)


def _why_serving(machine: Machine, serving: Sequence[CoreType]) -> str:
    cores = sum(core.cpus <= kind.cpus for core in machine.cores for kind in serving)
    kinds = "type, which serves" if len(serving) == 1 else "types, which serve"
    return (
        f"of the least capable core {kinds} the system ({cores} of {len(machine.cores)} cores; "
        "--keep-efficiency-cores leaves them to the work)"
    )
