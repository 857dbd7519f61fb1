# SPDX-License-Identifier: GPL-2.0-or-later
"""What is wrong with the state that a line comes to, and the words that cause it."""

from collections.abc import Iterator
from functools import cache
from typing import Callable, Optional

from lowlat.catalogue import BY_NAME
from lowlat.catalogue.names import NEVER
from lowlat.catalogue.words import KEPT_LISTS, WordVerdict
from lowlat.kernel.cpus import takes_nosmt
from lowlat.kernel.idle import natural_driver
from lowlat.kernel.isolation import ISOLATING
from lowlat.kernel.line import Word
from lowlat.kernel.lists import isolcpus_flags
from lowlat.lint.booted import LintedLine
from lowlat.lint.dropped import listed
from lowlat.lint.opinion import DELETE, Opinion
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Machine

_HARMFUL, _CONTRADICTORY = WordVerdict.HARMFUL, WordVerdict.CONTRADICTORY

#: Clock sources that are slow to read, or coarse.
_SLOW = ("hpet", "acpi_pm", "jiffies", "pit", "refined-jiffies")

#: The share of memory that huge pages may take.
_MOST_PAGES = 0.8

_Isolating = Callable[[str, str], Optional[Opinion]]


def harms(line: LintedLine) -> dict[int, Opinion]:
    """By index, the opinion of each word that causes harm; the first reason of several."""
    found: dict[int, Opinion] = {}

    @cache
    def isolating(name: str, misread: str) -> Optional[Opinion]:
        """Of all lists of a name: with thousands of CPUs, each would cost half a second."""
        return next(_isolating(name, misread, line), None)

    for word in line.words:
        if line.taken(word):
            for opinion in _of(word, line, isolating):
                found.setdefault(word.at, opinion)
    return found


def _of(word: Word, line: LintedLine, isolating: _Isolating) -> Iterator[Opinion]:
    """``isolating`` has what is wrong with the lists of a name."""
    misread = line.fate(word).why
    if word.name in ISOLATING:
        found = isolating(word.name, misread if "using boot CPU" in misread else "")
        if found:
            yield found._replace(fix=_with_flags(found.fix, word))
    elif word.name == "nohz":
        yield from _ticking(line)
    elif word.name in KEPT_LISTS:
        yield from _allowing(word, line)
    elif word.name in ("idle", "nohlt"):
        yield from _polling(word, line)
    elif word.name == "intel_idle.max_cstate":
        yield from _handed_over(word, line)
    elif word.name in ("tsc", "notsc", "clocksource"):
        yield from _clock(word, line)
    elif word.name == "hugepages":
        yield from _pages(line)
    if misread and word.name in ("rcu_nocbs", "irqaffinity", "isolcpus"):
        yield Opinion(_HARMFUL, misread, listed(word, line))


def _isolating(name: str, misread: str, line: LintedLine) -> Iterator[Opinion]:
    """No CPU left for the system, or too few; the boot CPU isolated, cores split."""
    if line.boot_line.ticks_nowhere:
        return
    effect, machine = line.effect, line.machine
    cpus = effect.tickless if name == "nohz_full" else effect.unbalanced | effect.tickless
    system = effect.online - effect.isolated
    if name == "isolcpus" and not system:
        yield Opinion(_HARMFUL, "no CPU is left for the system", _whole(name, cpus, line))
    elif name == "isolcpus" and misread:
        why = f"the kernel takes another list: {misread}"
        yield Opinion(_HARMFUL, why, _whole(name, cpus, line))
    if machine.cpus.boot in effect.unbalanced and name == "isolcpus":
        why = "boots the system and keeps time: it cannot be left alone"
        yield Opinion(_HARMFUL, f"CPU {machine.cpus.boot} {why}", _whole(name, cpus, line))
    strange = line.boot_line.strange
    if strange:
        why = f"CPU {strange} comes back with this boot and may share cores with these CPUs"
        yield Opinion(_HARMFUL, why, "add nosmt" if takes_nosmt(machine) else None)
        return
    split_off = _beside(cpus, machine) - effect.isolated
    if split_off:
        why = f"splits cores: the sibling CPU {split_off} is not isolated and shares the core"
        yield Opinion(_HARMFUL, why, _whole(name, cpus, line))
    elif effect.isolated and (short := line.system_part.too_few(system)):
        own = effect.tickless if name == "nohz_full" else effect.unbalanced
        fewer = own & (line.system_part.planned or CpuSet())
        listed = f"{name}={line.boot_line.target.listed(fewer)}" if fewer else None
        yield Opinion(_HARMFUL, short, listed)


def _ticking(line: LintedLine) -> Iterator[Opinion]:
    if not line.effect.ticks_stop and line.effect.tickless:
        why = "without dynamic ticks no CPU stops its tick, so nohz_full has no effect"
        yield Opinion(_CONTRADICTORY, why, DELETE)
    elif not line.effect.ticks_stop:
        yield Opinion(_HARMFUL, "the tick keeps running on every CPU, idle or not", DELETE)


def _beside(cpus: CpuSet, machine: Machine) -> CpuSet:
    """All threads of the cores of these CPUs."""
    return CpuSet.of(cpu for core in machine.cores if core.cpus & cpus for cpu in core.cpus)


def _whole(name: str, cpus: CpuSet, line: LintedLine) -> Optional[str]:
    wide = line.system_part.whole_cores(cpus)
    return f"{name}={line.boot_line.target.listed(wide)}" if wide else None


def _with_flags(fix: Optional[str], word: Word) -> Optional[str]:
    """The advice with the flags of the word, if it is another word."""
    name, sign, cpus = (fix or "").partition("=")
    flags = isolcpus_flags(word.value) if word.name == "isolcpus" else ""
    better = f"{name}={flags}{cpus}" if sign else fix
    return better if better != word.text else None


def _allowing(word: Word, line: LintedLine) -> Iterator[Opinion]:
    effect = line.effect
    allowed = {
        "irqaffinity": effect.interrupts,
        "systemd.cpu_affinity": effect.services,
        "workqueue.unbound_cpus": effect.unbound,
    }[word.name]
    both = (allowed & effect.isolated) - CpuSet.of([line.machine.cpus.boot])
    if both:
        why = f"it lists the CPUs that are allowed, and CPU {both} is isolated on this line"
        system = effect.online - effect.isolated
        plain = word.name == "systemd.cpu_affinity"
        kept = str(system) if plain else line.boot_line.target.listed(system)
        better = f"{word.name}={kept}"
        yield Opinion(_CONTRADICTORY, why, better if system and better != word.text else None)


def _polling(word: Word, line: LintedLine) -> Iterator[Opinion]:
    idle, machine = line.effect.idle, line.machine
    guest = machine.hypervisor is not None
    if idle.polls and guest and machine.is_x86:
        why = "an idle virtual CPU keeps a CPU of the host busy, and the host may deschedule the "
        why += "virtual CPU when work arrives"
        polls = BY_NAME["cpuidle_haltpoll.force"]
        possible = all(need.test(line.boot_line.target) is not False for need in polls.needs)
        yield Opinion(_HARMFUL, why, polls.parameter("1") if possible else DELETE)
    elif idle.polls and not guest and any(len(core.cpus) > 1 for core in machine.cores):
        why = "cores here have SMT siblings: a polling idle thread takes execution resources from "
        fix = f"{DELETE}; pm_qos_resume_latency_us limits sleep at run time (lowlat-gen explain)"
        yield Opinion(_HARMFUL, f"{why}its sibling", fix)
    elif word.value in ("halt", "nomwait") and natural_driver(line.now) == "intel_idle":
        yield Opinion(_HARMFUL, NEVER[word.normal], "intel_idle.max_cstate=1")


def _handed_over(word: Word, line: LintedLine) -> Iterator[Opinion]:
    idle = line.effect.idle
    unbounded = idle.driver == "acpi_idle" and idle.deepest is None
    if word.value == "0" and unbounded and natural_driver(line.now) == "intel_idle":
        why = "does not mean C0: it hands over to acpi_idle, which uses the firmware's deepest "
        yield Opinion(_HARMFUL, f"{why}states", "intel_idle.max_cstate=1")


def _clock(word: Word, line: LintedLine) -> Iterator[Opinion]:
    machine, clock = line.machine, line.effect.clock
    if clock.unstable and word.name != "clocksource":
        source = f"the clock source becomes {clock.source or 'another one'}"
        yield Opinion(_HARMFUL, f"the kernel gives up the TSC: {source}, slow to read", DELETE)
    elif word.name == "clocksource" and word.value in _SLOW and machine.is_x86:
        offered = "tsc" in machine.clock.available or not machine.clock.available
        why = "reads of the time access a slow device, or are coarse"
        yield Opinion(_HARMFUL, why, "clocksource=tsc" if offered else DELETE)
    elif word.value in ("reliable", "nowatchdog") and _drifts(machine):
        why = "this TSC is not invariant: without a watchdog, time could drift unnoticed"
        yield Opinion(_HARMFUL, why, DELETE)


def _drifts(machine: Machine) -> bool:
    return machine.hypervisor is None and machine.processor.invariant_tsc is False


def _pages(line: LintedLine) -> Iterator[Opinion]:
    memory = sum(node.memory_kib or 0 for node in line.machine.nodes)
    wanted = line.effect.pages.kib
    if memory and wanted > memory * _MOST_PAGES:
        share = f"{wanted >> 10} MiB of huge pages, of {memory >> 10} MiB in all"
        why = f"{share}: too little is left for everything else, and the boot may fail"
        yield Opinion(_HARMFUL, why, "fewer huge pages")
