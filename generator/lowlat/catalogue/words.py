# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules for the words of any boot line that its effect cannot tell: security, cost, what a word is
for; and words that others require. ``lint`` judges by the effect (kernel/effect.py), these rules,
the entries, and NEVER and ELSEWHERE, which have the reason for a rule without one. words.ini has
the rules and the tables."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Callable, Optional

from lowlat.base import resources
from lowlat.catalogue.entry import Risk, Target
from lowlat.kernel import facts
from lowlat.kernel.booting import End
from lowlat.kernel.effect import Effect
from lowlat.kernel.idle import natural_driver
from lowlat.kernel.lists import isolcpus_flags
from lowlat.model.cpuset import CpuSet, CpuSetError
from lowlat.model.machine import Machine


class WordVerdict(Enum):
    """The verdict on a word; the first three verdicts are findings."""

    CONTRADICTORY = "contradictory"
    HARMFUL = "harmful"
    IGNORED = "ignored"
    REDUNDANT = "redundant"
    EFFECTIVE = "effective"
    ASSUMED = "assumed"
    UNKNOWN = "unknown"

    @property
    def bad(self) -> bool:
        return self in (WordVerdict.CONTRADICTORY, WordVerdict.HARMFUL, WordVerdict.IGNORED)


@dataclass(frozen=True)
class BootLine:
    """A boot line on a machine. ``target.machine`` is the machine in the boot with this line, and
    ``effect`` what that boot comes to; ``strange`` are CPUs that are offline now, come back with
    that boot, and may be siblings of any others."""

    target: Target
    effect: Effect
    strange: CpuSet = CpuSet()

    @cached_property
    def values(self) -> Mapping[str, str]:
        """The values of the words that the kernel takes."""
        fates = zip(self.effect.words, self.effect.fates)
        return {word.name: word.value for word, fate in fates if fate.end is End.TAKEN}

    @cached_property
    def words(self) -> frozenset[str]:
        """The words that the kernel takes, with "_" for "-" in their names."""
        fates = zip(self.effect.words, self.effect.fates)
        return frozenset(word.normal for word, fate in fates if fate.end is End.TAKEN)

    def has(self, word: str) -> bool:
        name, sign, value = word.partition("=")
        return name in self.values and (not sign or self.values[name] == value)

    def built(self, option: str) -> Optional[bool]:
        """Whether the kernel is built with an option; None if its configuration is missing."""
        config = self.target.kernel.config
        return None if config is None else config.enabled(option)

    @property
    def machine(self) -> Machine:
        return self.target.machine

    @cached_property
    def ticks_nowhere(self) -> bool:
        """Whether the line asks for no tick on any CPU, or on any but the boot CPU and not its
        siblings, which is no choice of CPUs to isolate: the kernel clears the boot CPU anyway."""
        try:
            cpus = CpuSet.parse_list(self.values.get("nohz_full", ""), last=max(self.effect.online))
        except CpuSetError:
            return False
        boot = CpuSet.of([self.machine.cpus.boot])
        beside = any(core.cpus & boot and core.cpus & cpus for core in self.machine.cores)
        return self.effect.online - boot <= cpus and beside and not self.effect.unbalanced


@dataclass(frozen=True)
class WordRule:
    """``words`` is a regular expression for whole words, with "_" for "-" in their names; ``when``
    tells whether the rule applies to a line. Without ``why``, NEVER or ELSEWHERE has the reason.
    ``risk`` is the word's price."""

    verdict: WordVerdict
    words: str
    why: Optional[str] = None
    fix: Optional[str] = None
    when: Callable[[BootLine], object] = lambda line: True
    risk: Risk = Risk.NONE


def _no_intel_iommu(line: BootLine) -> bool:
    by_default = line.built("INTEL_IOMMU_DEFAULT_ON")
    on = "on" in line.values.get("intel_iommu", "").split(",")
    return line.machine.processor.vendor == "GenuineIntel" and by_default is False and not on


def _uses_iommu(line: BootLine) -> bool:
    asking = {"iommu=pt", "iommu.passthrough=1", "intel_iommu=on"}
    return bool(asking & line.words) or any(word.startswith("vfio") for word in line.words)


def _normal_after_boot(line: BootLine) -> bool:
    """Whether grace periods are normal once the boot is over (kernel/rcu/update.c)."""
    words = ("rcupdate.rcu_normal_after_boot", "rcupdate.rcu_normal")
    default = "1" if line.target.kernel.realtime else "0"
    given = (line.values.get(words[0], default), line.values.get(words[1], "0"))
    return any(re.match("[1-9yY]", value) for value in given)


def _hands_over(line: BootLine) -> bool:
    """Whether acpi_idle runs where intel_idle would without this line."""
    natural = natural_driver(line.machine)
    return line.effect.idle.driver == "acpi_idle" and natural == "intel_idle"


#: The conditions of rules, by their names in words.ini.
_CONDITIONS: Mapping[str, Callable[[BootLine], object]] = {
    "grace periods become normal after the boot": _normal_after_boot,
    "grace periods stay expedited": lambda line: not _normal_after_boot(line),
    "no CPU keeps its tick": lambda line: line.ticks_nowhere,
    "not real-time": lambda line: line.target.kernel.realtime is False,
    "hardware with nosmt": lambda line: line.has("nosmt") and not line.target.guest,
    "intel_idle stays away anyway": lambda line: natural_driver(line.machine) != "intel_idle",
    "the line bounds acpi_idle": lambda line: (
        _hands_over(line) and line.effect.idle.deepest is not None
    ),
    "the line puts acpi_idle in charge": _hands_over,
    "iommu=pt": lambda line: "iommu=pt" in line.words,
    "pcie_aspm=off": lambda line: "pcie_aspm=off" in line.words,
    "something uses the IOMMU": _uses_iommu,
    "no IOMMU of Intel's": _no_intel_iommu,
}


#: A condition that is a fact about the kernel's release.
_FACT = re.compile(r"the kernel (has|lacks) (.*)")


def _condition(name: str) -> Callable[[BootLine], object]:
    fact = _FACT.fullmatch(name)
    if not fact:
        return _CONDITIONS[name]
    wanted, known = fact[1] == "has", fact[2]
    facts.has(known, None)  # a name that facts.ini lacks is an error at once
    return lambda line: line.target.has(known) is wanted


def _rule(keys: Mapping[str, str]) -> WordRule:
    when = _condition(keys["when"]) if "when" in keys else lambda line: True
    why, fix = (keys[key].replace("\n", " ") if key in keys else None for key in ("why", "fix"))
    fact = _FACT.fullmatch(keys.get("when", ""))
    why = why.format(first=facts.bound(fact[2])) if why and fact else why
    words, risk = keys["words"].replace("\n", ""), Risk(keys.get("risk", "none"))
    return WordRule(WordVerdict(keys["verdict"]), words, why, fix, when, risk)


_TOLD = resources.texts("catalogue/words.ini")
_PATTERNS = resources.unfolded(_TOLD["patterns"], "")

#: No two of them apply to one word of a line.
RULES = tuple(_rule(keys) for keys in _TOLD.values() if "verdict" in keys)

#: Words with other names that have the effect of an entry.
STANDS_FOR = resources.unfolded(_TOLD["stands for"], "")

#: By parameter, the value that was probably meant.
MEANT = resources.unfolded(_TOLD["meant"], "")

#: Words that the kernel only passes on to other programs.
USER_SPACE = re.compile(_PATTERNS["user space"])

#: Releases of kernels that know more names than mainline.
PATCHED = re.compile(_PATTERNS["patched"], re.IGNORECASE)

#: The effect of isolcpus without the flags that lowlat gives it.
WITHOUT_MANAGED = "takes these CPUs out of load balancing; managed interrupts stay"
MANAGED_ONLY = "keeps managed interrupts away; with a flag given, domain is no longer the default"
TICK_ONLY = "stops the tick; with a flag given, domain is no longer the default"

#: Lists of CPUs that should lie outside the isolated ones; and these with the isolating lists.
KEPT_LISTS = frozenset({"irqaffinity", "systemd.cpu_affinity", "workqueue.unbound_cpus"})
CPU_LISTS = KEPT_LISTS | {"isolcpus", "nohz_full", "rcu_nocbs"}


def _flags(line: BootLine) -> str:
    """The flags of isolcpus that keep tasks and interrupts away; what stops the tick stays."""
    nohz = "nohz," if "nohz," in isolcpus_flags(line.values.get("isolcpus", "")) else ""
    if line.target.has("managed_irq in isolcpus") is not False:
        return f"{nohz}managed_irq,domain,"
    return f"{nohz}domain," if nohz else ""


def missing(line: BootLine) -> Iterator[tuple[str, str]]:
    """The words that the line lacks, each with the reason."""
    if line.ticks_nowhere:
        return
    target, effect = line.target, line.effect
    boot = CpuSet.of([line.machine.cpus.boot])  # never to be isolated
    domains, tickless, both = effect.unbalanced - boot, effect.tickless, effect.isolated - boot
    if domains - tickless and tickless - domains:
        both = domains  # of two lists that differ, the one that keeps tasks away
    if domains - tickless and line.built("NO_HZ_FULL") is not False:
        yield (
            f"nohz_full={target.listed(both)}",
            f"isolcpus keeps tasks away, not the tick: {target.kernel.hz or '100 to 1000'} "
            "interrupts a second go on on each of these CPUs",
        )
    elif tickless - effect.noiseless:
        yield (
            f"nohz_full={target.listed(both)}",
            "before 6.14 isolcpus=nohz stops the tick alone: timers, unbound work and kernel "
            "threads stay on these CPUs",
        )
    if effect.managed and not effect.isolated:
        yield (
            f"isolcpus=managed_irq,domain,{target.listed(effect.managed - boot)}",
            "a flag that is named replaces domain, the default: no CPU is isolated from tasks",
        )
    if tickless - domains and not domains - tickless:
        yield (
            f"isolcpus={_flags(line)}{target.listed(both)}",
            "nohz_full alone leaves these CPUs to the scheduler: a second task on one of them "
            f"restarts the tick; unpinned programs then keep CPU {effect.online - both}",
        )
    elif domains - effect.managed and target.has("managed_irq in isolcpus") is not False:
        yield (
            f"isolcpus=managed_irq,domain,{target.listed(domains)}",
            "without the flag managed_irq, queues of disks and network cards interrupt these CPUs",
        )
    if both - effect.offloaded and line.built("RCU_NOCB_CPU") is not False:
        yield (
            f"rcu_nocbs={target.listed(both)}",
            "RCU callbacks run in softirqs on these CPUs",
        )
    if both and target.housekeeping and "irqaffinity" not in line.values:
        yield (
            f"irqaffinity={target.listed(effect.online - both)}",
            "interrupts may start on isolated CPUs, even if something moves them later",
        )
    if _no_intel_iommu(line) and line.has("iommu=pt") and not target.guest:
        yield "intel_iommu=on", "iommu=pt has no IOMMU to pass through: this kernel leaves it off"
