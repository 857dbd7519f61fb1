# SPDX-License-Identifier: GPL-2.0-or-later
"""Effects of a boot parameter that no file or message shows directly: the running kernel's threads,
interrupts, idle states and ticks."""

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Callable, Optional

from lowlat.catalogue.entry import EvidenceKind
from lowlat.host import interrupts
from lowlat.host.root import CPU, Root, glob
from lowlat.model.cpuset import CpuSet
from lowlat.model.finding import Judged, Standing
from lowlat.model.plan import Plan
from lowlat.probe.kernel import read_running
from lowlat.runtime import journal, settings
from lowlat.runtime.journal import RuntimeRecord
from lowlat.runtime.kthreads import Threads
from lowlat.verify import clock_events
from lowlat.verify.overrides import Overrides
from lowlat.verify.readings import POSSIBLE

INTERRUPTS = "/proc/interrupts"
TIMERS = "/proc/timer_list"
_STATES = f"{CPU}/cpu[0-9]*/cpuidle/state[0-9]*"
_GROUPS = "/sys/kernel/iommu_groups/[0-9]*/type"

#: All files read in this module, as globs.
FILES = (INTERRUPTS, TIMERS, _GROUPS, f"{_STATES}/name", f"{_STATES}/usage")

#: Drivers that request no thread, so that a thread of theirs is a forced one; "irq/N-s-" is the
#: second thread of an interrupt that has one anyway (setup_irq_thread() in kernel/irq/manage.c).
_UNTHREADED = r"i8042|rtc0|ttyS\d|ttyAMA\d|uart-pl011|rtc-pl031|[eoux]hci_hcd|ata_piix|virtio\d"
_FORCED = re.compile(rf"irq/\d+-(?:s-|{_UNTHREADED})")

PHASE = re.compile(r"^cpu: (\d+)$|^ *\.last_tick *: (\d+) nsecs", re.MULTILINE)
CLOCKS = re.compile(r"^(now at|jiffies:) (\d+)", re.MULTILINE)

#: The lines of TIMERS that verify needs.
TIMER_LINES = (PHASE.pattern, CLOCKS.pattern, clock_events.LINES)

#: Possible ticks per second (kernel/Kconfig.hz).
RATES = (100, 250, 300, 1000)


class Behaviour:
    """One machine, judged for one plan; each method returns None without evidence. What several
    judge by is read once: the journal, the kernel threads, and who else sets values."""

    def __init__(self, plan: Plan, root: Root) -> None:
        self.plan = plan
        self.root = root
        self.overrides = Overrides(plan, root)
        self.threads = Threads(root)
        self._looks: Mapping[EvidenceKind, Callable[[str, CpuSet], Optional[Judged]]] = {
            EvidenceKind.MANAGED_IRQ: lambda value, cpus: self._managed(),
            EvidenceKind.DEVICE_IRQS: lambda value, cpus: self._kept_away(),
            EvidenceKind.CALLBACK_THREADS: lambda value, cpus: self._offloaded(cpus),
            EvidenceKind.FORCED_THREADS: lambda value, cpus: self._forced(),
            EvidenceKind.THREAD_PRIORITY: lambda value, cpus: self._priority(value),
            EvidenceKind.IDLE_STATES: lambda value, cpus: self._shallow(value),
            EvidenceKind.IDLE_USAGE: lambda value, cpus: self._awake(),
            EvidenceKind.TICKS_APART: lambda value, cpus: self._apart(),
            EvidenceKind.IOMMU_GROUPS: lambda value, cpus: self._untranslated(),
        }

    def look(self, shows: EvidenceKind, value: str, cpus: CpuSet) -> Optional[Judged]:
        """``cpus`` are those of a planned list."""
        look = self._looks.get(shows)
        return look(value, cpus) if look else None

    @cached_property
    def journal(self) -> RuntimeRecord:
        return journal.read(self.root)

    # --------------------------------------------------------------- threads

    def _offloaded(self, wanted: CpuSet) -> Optional[Judged]:
        """From 5.17 on every CPU has these threads once one CPU is offloaded (2cf4528d6dd6)."""
        if not self.threads.all:
            return None
        named = (re.fullmatch(r"rcuo[a-fh-z]/(\d+)", thread.comm) for thread in self.threads.all)
        made = CpuSet.of(int(name[1]) for name in named if name)
        if not wanted <= made:
            what = f"there is no kernel thread rcuop/N of CPU {wanted - made}"
            return Judged(Standing.IGNORED, str(made), what)
        what = f"kernel threads rcuop/N of CPU {made} exist"
        if made - wanted or wanted == self.root.read_cpus(POSSIBLE):
            return Judged(Standing.UNVERIFIABLE, None, f"{what}, of which some may offload nothing")
        return Judged(Standing.EFFECTIVE, str(made), what)

    def _forced(self) -> Optional[Judged]:
        made = [thread.comm for thread in self.threads.all if _FORCED.match(thread.comm)]
        if made:
            what = f"the kernel thread {made[0]} exists, which no driver asks for"
            return Judged(Standing.EFFECTIVE, made[0], what)
        for row in self._devices:
            name = next((word for word in row.words if re.match(_UNTHREADED, word)), None)
            if name and self.threads.all:
                return Judged(Standing.IGNORED, None, f"irq {row.label} {name} has no thread")
        return None

    def _priority(self, value: str) -> Optional[Judged]:
        threads = [thread for thread in self.threads.all if thread.comm.startswith("rcuc/")]
        for thread in threads:
            if thread.policy != f"fifo:{value}":
                what = f"kernel thread {thread.comm} ({thread.pid}) runs as {thread.policy}"
                return Judged(Standing.IGNORED, thread.policy, what)
        if not threads:
            return None
        what = f"{len(threads)} kernel threads rcuc/N run as fifo:{value}"
        return Judged(Standing.EFFECTIVE, value, what)

    # ------------------------------------------------------------- interrupts

    @cached_property
    def _devices(self) -> tuple[interrupts.InterruptRow, ...]:
        rows = interrupts.parse(self.root.read(INTERRUPTS) or "")
        return tuple(
            row
            for row in rows
            if row.label.isdecimal() and not any(map(clock_events.is_row, row.words))
        )

    def _masks(self, number: str) -> tuple[CpuSet, CpuSet]:
        """The CPUs that an interrupt may go to, and those that it goes to."""
        paths = (f"/proc/irq/{number}/{name}" for name in ("smp_affinity", "effective_affinity"))
        may, goes = (self.root.read_cpus("", path) or CpuSet() for path in paths)
        return may, goes

    @cached_property
    def kept(self) -> frozenset[str]:
        """The numbers of interrupts whose affinity the kernel does not let change."""
        return settings.kept_interrupts(self.root, self.journal.refused)

    def _managed(self) -> Optional[Judged]:
        """irq_do_set_affinity() in kernel/irq/manage.c: a managed interrupt keeps off the isolated
        CPUs if its mask has a housekeeping CPU too."""
        seen = []
        for number in sorted(self.kept, key=int):
            mask, goes = self._masks(number)
            if not (mask & self.plan.isolated and mask & self.plan.housekeeping):
                continue
            if goes & self.plan.isolated:
                what = f"irq {number} may go to CPU {mask} and goes to the isolated CPU {goes}"
                return Judged(Standing.IGNORED, str(goes), what)
            seen.append(number)
        # The kernel spreads them evenly: without managed_irq so few may be on housekeeping CPUs.
        if len(seen) <= len(self.plan.housekeeping):
            return None
        what = f"{len(seen)} managed interrupts that may go to isolated CPUs keep off"
        return Judged(Standing.EFFECTIVE, "managed_irq", what)

    def came(self, numbers: Container[str]) -> Optional[str]:
        """A message about an interrupt among these that came to an isolated CPU since the boot."""
        return self._came(row for row in self._devices if row.label in numbers)

    def _came(self, rows: Iterable[interrupts.InterruptRow]) -> Optional[str]:
        for row in rows:
            for cpu, times in row.counts():
                if times and cpu in self.plan.isolated:
                    who = f"irq {row.label} {row.words[-1] if row.words else ''}".strip()
                    return f"{who} came to CPU {cpu} {times} times since the boot"
        return None

    def _kept_away(self) -> Optional[Judged]:
        movable = [row for row in self._devices if row.label not in self.kept]
        what = self._came(movable)
        if what:
            return Judged(Standing.UNVERIFIABLE, None, what)
        total = sum(row.total for row in movable)
        if not total:
            return None
        what = f"of {total} device interrupts since the boot none came to an isolated CPU"
        return Judged(Standing.EFFECTIVE, None, what)

    # ---------------------------------------------------------- idle and ticks

    def _shallow(self, value: str) -> Optional[Judged]:
        states = [folder.rpartition("/state") for folder in glob(self.root, _STATES)]
        numbers = [(int(number), folder) for folder, _, number in states if number.isdecimal()]
        if not numbers:
            return None
        number, folder = max(numbers)
        name = self.root.read(f"{folder}/state{number}/name") or "?"
        state = Standing.EFFECTIVE if number <= int(value) else Standing.IGNORED
        return Judged(state, name, f"the deepest idle state is {name} ({folder}/state{number})")

    def _awake(self) -> Optional[Judged]:
        usage = {path: self.root.read_int(path) for path in glob(self.root, f"{_STATES}/usage")}
        for path, times in usage.items():
            if times:
                return Judged(Standing.IGNORED, str(times), f"{path} is {times}")
        known = [times for times in usage.values() if times is not None]
        what = "no CPU has entered an idle state since the boot"
        return Judged(Standing.EFFECTIVE, "0", what) if known else None

    def _apart(self) -> Optional[Judged]:
        """tick_setup_sched_timer() in kernel/time/tick-sched.c: the tick of CPU N comes N equal
        parts of a period later; without the parameter all ticks come at once."""
        timers = self.root.read(TIMERS) or ""
        hertz = read_running(self.root).hz or _hertz(timers)
        phases = dict(_phases(timers, 10**9 // hertz)) if hertz else {}
        if len(phases) < 2:
            return None
        shown = ", ".join(f"{phase // 1000} us" for phase in list(phases.values())[:4])
        what = f"{TIMERS}: the ticks of CPU {CpuSet.of(phases)} come {shown} … into a period"
        apart = len(set(phases.values())) == len(phases)
        return Judged(Standing.EFFECTIVE if apart else Standing.IGNORED, None, what)

    # ---------------------------------------------------------------- devices

    def _untranslated(self) -> Optional[Judged]:
        """iommu_group_alloc_default_domain() in drivers/iommu/iommu.c: every group's type, which
        may be translation although the default is none (memory encryption, untrusted devices)."""
        kinds = {path: self.root.read(path) for path in glob(self.root, _GROUPS)}
        known = {path: kind for path, kind in kinds.items() if kind}
        other = [f"{path} is {kind}" for path, kind in known.items() if kind != "identity"]
        if not known:
            return None
        if not other:
            what = f"{len(known)} IOMMU groups are of type identity"
            return Judged(Standing.EFFECTIVE, "identity", what)
        state = Standing.IGNORED if len(other) == len(known) else Standing.UNVERIFIABLE
        return Judged(state, None, f"of {len(known)} IOMMU groups {len(other)} are not: {other[0]}")


def _hertz(text: str) -> Optional[int]:
    """Ticks per second: jiffies reach 2**32 at 300 s (INITIAL_JIFFIES in include/linux/jiffies.h).
    None if the text lacks them, or at 300 s ± 30 s of uptime."""
    clocks = {name: int(value) for name, value in CLOCKS.findall(text)}
    after = clocks.get("now at", 0) / 1e9 - 300
    if abs(after) < 30 or "jiffies:" not in clocks:
        return None
    seen = (clocks["jiffies:"] - 2**32) / after
    return next((rate for rate in RATES if abs(seen / rate - 1) < 0.08), None)


def _phases(text: str, period: int) -> Iterator[tuple[int, int]]:
    """The offset of each CPU's tick in the period, in ns; CPUs that never slept are left out."""
    cpu = -1
    for match in PHASE.finditer(text):
        if match[1]:
            cpu = int(match[1])
        elif int(match[2]):
            yield cpu, int(match[2]) % period
