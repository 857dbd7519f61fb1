# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules for the words of any boot line: harmful, misleading and ineffective words, the values that
the kernel accepts, and words that others require. ``lint`` judges by these rules, by the entries,
and by NEVER and ELSEWHERE, which have the reason for a rule without one. words.ini has the rules
and the tables."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Callable, Optional

from lowlat.base import resources
from lowlat.base.amounts import readable
from lowlat.catalogue.entry import Target
from lowlat.kernel import facts
from lowlat.model.cpuset import CpuSet
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
    """A boot line on a machine. ``words`` are the kernel's words, with "_" for "-" in their names;
    ``values`` has the effective value of each parameter. ``domains``, ``tickless``, ``offloaded``
    and ``managed`` are the CPUs of isolcpus (scheduler domains), nohz_full, rcu_nocbs and
    isolcpus=managed_irq. Target.isolated joins them. ``target.machine`` is the machine in the boot
    with this line; ``strange`` are CPUs that are offline now, come back with that boot, and may be
    siblings of any others."""

    target: Target
    words: frozenset[str]
    values: Mapping[str, str]
    domains: CpuSet = CpuSet()
    tickless: CpuSet = CpuSet()
    offloaded: CpuSet = CpuSet()
    managed: CpuSet = CpuSet()
    strange: CpuSet = CpuSet()

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

    @property
    def physical_x86(self) -> bool:
        return self.machine.is_x86 and not self.target.guest


@dataclass(frozen=True)
class WordRule:
    """``words`` is a regular expression for whole words, with "_" for "-" in their names; ``when``
    tells whether the rule applies to a line. Without ``why``, NEVER or ELSEWHERE has the reason."""

    verdict: WordVerdict
    words: str
    why: Optional[str] = None
    fix: Optional[str] = None
    when: Callable[[BootLine], object] = lambda line: True


def _no_intel_iommu(line: BootLine) -> bool:
    by_default = line.built("INTEL_IOMMU_DEFAULT_ON")
    on = "on" in line.values.get("intel_iommu", "").split(",")
    return line.machine.processor.vendor == "GenuineIntel" and by_default is False and not on


def _uses_iommu(line: BootLine) -> bool:
    asking = {"iommu=pt", "iommu.passthrough=1", "intel_iommu=on"}
    return bool(asking & line.words) or any(word.startswith("vfio") for word in line.words)


#: The conditions of rules, by their names in words.ini.
_CONDITIONS: Mapping[str, Callable[[BootLine], object]] = {
    "a tick shall stop": lambda line: line.tickless,
    "no CPU is offloaded": lambda line: (
        not (line.offloaded or line.tickless or line.built("RCU_NOCB_CPU_DEFAULT_ALL"))
    ),
    "no huge pages": lambda line: line.built("HUGETLBFS") is False,
    "not real-time": lambda line: line.target.kernel.realtime is False,
    "x86": lambda line: line.machine.is_x86,
    "x86 guest": lambda line: line.machine.is_x86 and line.target.guest,
    "x86 with nosmt": lambda line: line.machine.is_x86 and line.has("nosmt"),
    "hardware with SMT": lambda line: (
        not line.target.guest and any(len(core.cpus) > 1 for core in line.machine.cores)
    ),
    "no SMT": lambda line: line.machine.power.smt_control in ("notsupported", "notimplemented"),
    "idle driver intel_idle": lambda line: line.machine.power.idle_driver == "intel_idle",
    "idle=halt or nomwait": lambda line: line.has("idle=halt") or line.has("idle=nomwait"),
    "physical x86 with idle=poll": lambda line: line.physical_x86 and line.has("idle=poll"),
    "physical x86 with processor.max_cstate": lambda line: (
        line.physical_x86 and line.has("processor.max_cstate")
    ),
    "physical x86 with intel_idle.max_cstate=0": lambda line: (
        line.physical_x86 and line.has("intel_idle.max_cstate=0")
    ),
    "physical x86 without acpi_idle": lambda line: (
        line.physical_x86 and line.machine.power.idle_driver != "acpi_idle"
    ),
    "physical x86 whose TSC is not invariant": lambda line: (
        line.physical_x86 and line.machine.processor.invariant_tsc is False
    ),
    "mitigations=off": lambda line: line.has("mitigations=off"),
    "iommu=pt": lambda line: "iommu=pt" in line.words,
    "not Intel's": lambda line: line.machine.processor.vendor not in (None, "GenuineIntel"),
    "not AMD's": lambda line: line.machine.processor.vendor not in (None, "AuthenticAMD"),
    "something uses the IOMMU": _uses_iommu,
    "IOMMU built to be on": lambda line: line.built("INTEL_IOMMU_DEFAULT_ON"),
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
    return WordRule(WordVerdict(keys["verdict"]), keys["words"].replace("\n", ""), why, fix, when)


_TOLD = resources.texts("catalogue/words.ini")
_PATTERNS = resources.unfolded(_TOLD["patterns"], "")

#: The first rule that applies decides.
RULES = tuple(_rule(keys) for keys in _TOLD.values() if "verdict" in keys)

#: The values that the kernel accepts, as patterns.
VALUES = resources.unfolded(_TOLD["values"], "")

#: Words with other names that have the effect of an entry.
STANDS_FOR = resources.unfolded(_TOLD["stands for"], "")

#: By parameter, the value that was probably meant.
MEANT = resources.unfolded(_TOLD["meant"], "")

#: The kernel's reaction to a list that it cannot read.
UNREADABLE = resources.unfolded(_TOLD["unreadable"], "")

#: Parameters that may stand on a line twice.
REPEATED = re.compile(_PATTERNS["repeated"])

#: Words that the kernel only passes on to other programs.
USER_SPACE = re.compile(_PATTERNS["user space"])

#: The effect of isolcpus without the flags that lowlat gives it.
WITHOUT_MANAGED = "takes these CPUs out of load balancing; managed interrupts stay"
MANAGED_ONLY = "keeps managed interrupts away; with a flag given, domain is no longer the default"

_NONE_RESERVED = "no hugepages= follows this size: no such page is reserved"

#: Lists of CPUs that should lie outside the isolated ones; and these with the isolating lists.
KEPT_LISTS = frozenset({"irqaffinity", "systemd.cpu_affinity", "workqueue.unbound_cpus"})
CPU_LISTS = KEPT_LISTS | {"isolcpus", "nohz_full", "rcu_nocbs"}


def missing(line: BootLine) -> Iterator[tuple[str, str]]:
    """The words that the line lacks, each with the reason."""
    target, at_hand = line.target, line.target.isolated
    if line.domains - line.tickless and line.built("NO_HZ_FULL") is not False:
        yield (
            f"nohz_full={target.listed(line.domains | line.tickless)}",
            f"isolcpus keeps tasks away, not the tick: {target.kernel.hz or '100 to 1000'} "
            "interrupts a second go on on each of these CPUs",
        )
    if line.tickless - line.domains:
        yield (
            f"isolcpus=managed_irq,domain,{target.listed(line.domains | line.tickless)}",
            "nohz_full alone leaves these CPUs to the scheduler: a second task on one of them "
            "restarts the tick",
        )
    elif line.domains - line.managed and target.has("managed_irq in isolcpus") is not False:
        yield (
            f"isolcpus=managed_irq,domain,{target.listed(line.domains)}",
            "without the flag managed_irq, queues of disks and network cards interrupt these CPUs",
        )
    if at_hand - line.tickless - line.offloaded and line.built("RCU_NOCB_CPU") is not False:
        yield (
            f"rcu_nocbs={target.listed(at_hand)}",
            "RCU callbacks run in softirqs on these CPUs; nohz_full would offload them too",
        )
    if at_hand and target.housekeeping and "irqaffinity" not in line.values:
        yield (
            f"irqaffinity={target.listed(target.housekeeping)}",
            "interrupts may start on isolated CPUs, even if something moves them later",
        )
    if _no_intel_iommu(line) and line.has("iommu=pt") and not target.guest:
        yield "intel_iommu=on", "iommu=pt has no IOMMU to pass through: this kernel leaves it off"


def hugepages(words: list[tuple[str, str]]) -> Iterator[tuple[int, str, str]]:
    """For (name, value) in order: the index of each word on huge pages that the kernel ignores, the
    reason, and what to write (mm/hugetlb.c: a count belongs to the size before it)."""
    size: Optional[int] = None
    counted = False
    for place, (name, _) in enumerate(words):
        if name == "hugepagesz":
            if size is not None and not counted:
                yield size, _NONE_RESERVED, "hugepages=N after it"
            size, counted = place, False
        elif name == "hugepages":
            if counted:
                yield (
                    place,
                    "a second count for the same size is ignored",
                    "one hugepages= per size",
                )
            counted = True
    if size is not None and not counted:
        yield size, _NONE_RESERVED, "hugepages=N after it"


def too_many_hugepages(words: list[tuple[str, str]], machine: Machine) -> Optional[str]:
    """Why huge pages by these (name, value) leave too little memory to the system; None if they do
    not, or if the machine's memory is unknown."""
    memory = [node.memory_kib for node in machine.nodes if node.memory_kib is not None]
    size, wanted = _kib(dict(words).get("default_hugepagesz", "2M")), 0
    for name, value in words:
        if name == "hugepagesz":
            size = _kib(value)
        elif name == "hugepages":
            counts = [count.rpartition(":")[2] for count in value.split(",")]
            wanted += size * sum(int(count) for count in counts if count.isdecimal())
    if not memory or wanted <= sum(memory) * 0.8:
        return None
    share = readable(f"{wanted} kB of huge pages, of {sum(memory)} kB in all")
    return f"{share}: too little is left for everything else, and the boot may fail"


def _kib(size: str) -> int:
    match = re.match(r"(\d{1,9})([kKmMgG]?)", size)
    if not match:
        return 0
    unit = {"": 0, "k": 10, "m": 20, "g": 30}[match[2].lower()]
    return int(match[1]) << unit >> 10
