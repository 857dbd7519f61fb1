# SPDX-License-Identifier: GPL-2.0-or-later
"""What words of a boot line do whoever wrote it: those that harm, mislead or change nothing, the
values that the kernel takes, and what is missing beside others. ``lint`` judges by these, by the
entries and by NEVER and ELSEWHERE, from where a rule without a reason of its own takes it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Callable, Optional

from lowlat.catalogue.entry import Target
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Machine


class WordVerdict(Enum):
    """What a word is worth; the first three are findings."""

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
    """A boot line on a machine. ``words`` are the kernel's, "-" in their names being "_", and
    ``values`` holds the value that counts of each parameter;
    ``domains``, ``tickless``, ``offloaded`` and ``managed`` are the CPUs that isolcpus takes from
    the scheduler, nohz_full, rcu_nocbs and isolcpus=managed_irq. Target.isolated joins them."""

    target: Target
    words: frozenset[str]
    values: Mapping[str, str]
    domains: CpuSet = CpuSet()
    tickless: CpuSet = CpuSet()
    offloaded: CpuSet = CpuSet()
    managed: CpuSet = CpuSet()

    def has(self, word: str) -> bool:
        name, sign, value = word.partition("=")
        return name in self.values and (not sign or self.values[name] == value)

    def built(self, option: str) -> Optional[bool]:
        """Whether the kernel is built with an option; None where its configuration is missing."""
        config = self.target.kernel.config
        return None if config is None else config.enabled(option)

    @property
    def threads(self) -> bool:
        """Whether cores have several hardware threads."""
        return any(len(core.cpus) > 1 for core in self.target.machine.cores)

    @property
    def physical_x86(self) -> bool:
        return self.target.machine.is_x86 and not self.target.guest

    @property
    def idle_driver(self) -> Optional[str]:
        return self.target.machine.power.idle_driver

    @property
    def vendor(self) -> Optional[str]:
        return self.target.machine.processor.vendor


@dataclass(frozen=True)
class WordRule:
    """``words`` is a regular expression for whole words, "-" in their names being "_"; ``when``
    says whether the rule holds on this line. Without ``why`` NEVER or ELSEWHERE tell it."""

    verdict: WordVerdict
    words: str
    why: Optional[str] = None
    fix: Optional[str] = None
    when: Callable[[BootLine], object] = lambda line: True


def _invariant_tsc(line: BootLine) -> bool:
    processor = line.target.machine.processor
    return not processor.flags_known or {"constant_tsc", "nonstop_tsc"} <= processor.flags


def _no_intel_iommu(line: BootLine) -> bool:
    by_default = line.built("INTEL_IOMMU_DEFAULT_ON")
    on = "on" in line.values.get("intel_iommu", "").split(",")
    return line.vendor == "GenuineIntel" and by_default is False and not on


def _uses_iommu(line: BootLine) -> bool:
    asking = {"iommu=pt", "iommu.passthrough=1", "intel_iommu=on"}
    return bool(asking & line.words) or any(word.startswith("vfio") for word in line.words)


def _is_not(vendor: str) -> Callable[[BootLine], object]:
    return lambda line: line.vendor is not None and line.vendor != vendor


_BAD, _IGNORED = WordVerdict.HARMFUL, WordVerdict.IGNORED
_REDUNDANT, _ASSUMED = WordVerdict.REDUNDANT, WordVerdict.ASSUMED
_DELETE = "leave it out"
_OFF = r"(?:[0nNfF].*|[oO][fF].*)"
_MITIGATION = (
    r"nopti|pti=off|kpti=(?:0|off)|nospectre_\w+|nospec\w*|spectre_\w+=off|no_stf_barrier|"
    r"spec_store_bypass_disable=off|(?:l1tf|mds|tsx_async_abort|mmio_stale_data|retbleed|srbds|"
    r"gather_data_sampling|spec_rstack_overflow|reg_file_data_sampling)=off"
)
_ALL_OFFLOADED = "RCU_NOCB_CPU_DEFAULT_ALL"
_ACPI_IDLE = "does not mean C0: it hands over to acpi_idle, which "

#: The first that holds decides.
RULES = (
    # the tick, RCU, interrupts
    WordRule(
        WordVerdict.CONTRADICTORY,
        rf"nohz={_OFF}",
        "without dynamic ticks no CPU stops its tick: it defeats nohz_full",
        _DELETE,
        lambda line: line.tickless,
    ),
    WordRule(_BAD, rf"nohz={_OFF}", "the tick goes on on every CPU, idle or not", _DELETE),
    WordRule(_REDUNDANT, r"nohz=(?:on|1|y)", "it is the default", _DELETE),
    WordRule(
        _IGNORED,
        r"nohz=(?:[1yYtT]|[oO][nN]).*",
        "misspelt; the kernel reads its first letters as on, the default: nothing changes",
        "leave it out (or nohz=on)",
    ),
    WordRule(_IGNORED, r"skew_tick(?:=(?!-?\d).*)?", "takes a number, else it is 0", "skew_tick=1"),
    WordRule(_BAD, rf"highres={_OFF}", "timers wait for the next tick, and none is stopped"),
    WordRule(_BAD, r"rcupdate\.rcu_expedited=[1-9yY].*", None, "rcupdate.rcu_normal_after_boot=1"),
    WordRule(
        _IGNORED,
        r"rcu_nocb_poll",
        "no CPU is offloaded on this line: no thread would poll",
        "rcu_nocbs= or nohz_full= beside it",
        lambda line: not (line.offloaded or line.tickless or line.built(_ALL_OFFLOADED)),
    ),
    WordRule(_REDUNDANT, r"rcupdate\.rcu_(?:expedited|normal)=0|skew_tick=0", "it is the default"),
    WordRule(_REDUNDANT, r"rcu_nocbs", "without a list no CPU is offloaded: it may be, later"),
    WordRule(
        _ASSUMED,
        r"rcutree\.kthread_prio=\d+",
        "gives RCU's threads a real-time priority, which only PREEMPT_RT kernels need",
        None,
        lambda line: line.target.kernel.realtime is False,
    ),
    WordRule(_REDUNDANT, r"acpi_irq_nobalance", "concerns the old PIC, where it is the default"),
    WordRule(
        _IGNORED,
        r"preempt=(?:none|voluntary)",
        None,
        "preempt=lazy",
        lambda line: line.target.since(7, 0),
    ),
    WordRule(
        _IGNORED,
        r"preempt=lazy",
        "kernels before 6.13 do not have it",
        None,
        lambda line: line.target.since(6, 13) is False,
    ),
    WordRule(_ASSUMED, r"preempt=lazy", "tasks may run on to the next tick before they yield"),
    WordRule(_ASSUMED, r"numa_balancing=disable", "kernel.numa_balancing=0 from the start"),
    WordRule(WordVerdict.UNKNOWN, r"cgroup_disable=(?!.*pressure).*", "switches other things off"),
    # idle states
    WordRule(
        _BAD,
        r"idle=poll",
        "a virtual machine's idle CPU burns the host's, which takes it away when it is needed",
        "cpuidle_haltpoll.force=1",
        lambda line: line.target.machine.is_x86 and line.target.guest,
    ),
    WordRule(
        _ASSUMED,
        r"idle=poll",
        "full power on every CPU, and heat; nosmt leaves no sibling to steal from",
        None,
        lambda line: line.target.machine.is_x86 and line.has("nosmt"),
    ),
    WordRule(
        _BAD,
        r"idle=poll|nohlt",
        "cores here have SMT siblings, whose execution resources a polling idle thread steals",
        "pm_qos_resume_latency_us at run time (lowlat-gen explain)",
        lambda line: line.threads and not line.target.guest,
    ),
    WordRule(
        _BAD,
        r"idle=(?:halt|nomwait)",
        None,
        "intel_idle.max_cstate=1",
        lambda line: line.idle_driver == "intel_idle",
    ),
    WordRule(
        WordVerdict.CONTRADICTORY,
        r"intel_idle\.max_cstate=.*",
        "any idle= keeps intel_idle from loading",
        "leave idle= out",
        lambda line: line.has("idle=halt") or line.has("idle=nomwait"),
    ),
    WordRule(
        _REDUNDANT,
        r"(?:intel_idle|processor)\.max_cstate=.*",
        "idle=poll leaves no idle state to bound",
        _DELETE,
        lambda line: line.physical_x86 and line.has("idle=poll"),
    ),
    WordRule(
        _ASSUMED,
        r"intel_idle\.max_cstate=0",
        f"{_ACPI_IDLE}processor.max_cstate bounds",
        None,
        lambda line: line.physical_x86 and line.has("processor.max_cstate"),
    ),
    WordRule(
        _BAD,
        r"intel_idle\.max_cstate=0",
        f"{_ACPI_IDLE}sleeps as deep as the firmware offers",
        "intel_idle.max_cstate=1",
        lambda line: line.physical_x86 and line.idle_driver != "acpi_idle",
    ),
    WordRule(
        _ASSUMED,
        r"processor\.max_cstate=\d+",
        "bounds acpi_idle, which intel_idle.max_cstate=0 puts in charge (0 means 1, not C0)",
        None,
        lambda line: line.physical_x86 and line.has("intel_idle.max_cstate=0"),
    ),
    WordRule(
        _REDUNDANT,
        r"processor\.max_cstate=\d+",
        "intel_idle chooses the idle states here, and does not ask it",
        _DELETE,
        lambda line: line.idle_driver == "intel_idle",
    ),
    # clocks
    WordRule(
        _BAD,
        r"notsc|tsc=unstable",
        "the clock counts as unstable then, and the tick never stops on any CPU (nohz_full)",
        _DELETE,
    ),
    WordRule(
        _BAD,
        r"clocksource=(?:hpet|acpi_pm|jiffies|pit|refined-jiffies)",
        "reading the time asks a slow device, or is coarse",
        "clocksource=tsc",
        lambda line: line.target.machine.is_x86,
    ),
    WordRule(
        _BAD,
        r"tsc=(?:reliable|nowatchdog)",
        "this TSC is not invariant: without a watchdog time could drift unseen",
        _DELETE,
        lambda line: line.physical_x86 and not _invariant_tsc(line),
    ),
    # fault detection, security
    WordRule(
        _BAD,
        r"mce=off|nomce",
        "uncorrected memory errors would go unnoticed and corrupt data",
        "machinecheck.check_interval=0 at run time (lowlat-gen explain)",
    ),
    WordRule(
        _REDUNDANT,
        r"nosmt(?:=force)?",
        "no core here has a second thread",
        _DELETE,
        lambda line: line.target.machine.power.smt_control in ("notsupported", "notimplemented"),
    ),
    WordRule(
        _REDUNDANT,
        _MITIGATION,
        "mitigations=off includes it",
        _DELETE,
        lambda line: line.has("mitigations=off"),
    ),
    WordRule(_REDUNDANT, r"mitigations=auto", "it is the default", _DELETE),
    WordRule(WordVerdict.UNKNOWN, r"mitigations=auto[,;].*", "chooses among mitigations"),
    WordRule(_ASSUMED, _MITIGATION, "trades security for throughput and does not reduce noise"),
    # processors and devices
    WordRule(
        _IGNORED,
        r"intel_(?:pstate|iommu)=.*|intel_idle\..*|kvm_intel\..*",
        "this is no Intel processor",
        _DELETE,
        _is_not("GenuineIntel"),
    ),
    WordRule(
        _IGNORED,
        r"amd_(?:pstate|iommu|prefcore)=.*|kvm_amd\..*",
        "this is no AMD processor",
        _DELETE,
        _is_not("AuthenticAMD"),
    ),
    WordRule(_IGNORED, r"amd_iommu=on", None, _DELETE),
    WordRule(
        WordVerdict.CONTRADICTORY,
        r"(?:intel_iommu|amd_iommu|iommu)=(?:.*,)?off(?:,.*)?",
        "it switches the IOMMU off, and other words here ask something of it",
        "leave out one of the two",
        _uses_iommu,
    ),
    WordRule(
        WordVerdict.CONTRADICTORY,
        r"iommu=nopt|iommu\.passthrough=[0nN].*",
        "iommu=pt asks for the opposite; the last one counts",
        "keep one of them",
        lambda line: "iommu=pt" in line.words,
    ),
    WordRule(
        _REDUNDANT,
        r"intel_iommu=on",
        "the kernel is built with it on",
        _DELETE,
        lambda line: line.built("INTEL_IOMMU_DEFAULT_ON"),
    ),
    WordRule(
        _REDUNDANT,
        r"iommu=pt|iommu\.passthrough=[1yo].*",
        "this kernel leaves the IOMMU off without intel_iommu=on: nothing is translated",
        "intel_iommu=on beside it, where devices go to guests or user space",
        _no_intel_iommu,
    ),
    WordRule(_REDUNDANT, r"pcie_aspm=off", None, "pcie_aspm.policy=performance"),
    WordRule(_BAD, r"pcie_aspm=force", None, "pcie_aspm.policy=performance"),
    WordRule(
        _IGNORED,
        r"elevator=.*",
        "has no effect since block devices have many queues (5.0)",
        "set queue/scheduler in sysfs (a udev rule)",
    ),
    WordRule(
        _IGNORED,
        r"kvm\.lapic_timer_advance_ns=.*",
        None,
        _DELETE,
        lambda line: line.target.since(6, 12),
    ),
    WordRule(_BAD, r"acpi=off|nosmp|maxcpus=[01]", "one CPU is all that runs then"),
    WordRule(_BAD, r"nol?apic", "interrupts go by the old controller, which places none"),
    WordRule(
        _ASSUMED, r"(?:default_)?hugepages.*", "how many huge pages the work needs, its owner knows"
    ),
)

#: The values that the kernel takes; what is missing here takes any, or is no business of ours.
VALUES = {
    "idle": r"poll|halt|nomwait",
    "intel_pstate": r"(?:disable|passive|active|no_hwp|force|hwp_only|support_acpi_ppc|no_cas|"
    r"per_cpu_perf_limits)",
    "amd_pstate": r"disable|passive|active|guided|undefined",
    "tsc": r"reliable|noirqtime|nowatchdog|unstable|recalibrate|watchdog",
    "clocksource": r"tsc|hpet|acpi_pm|kvm-clock|xen|(?:refined-)?jiffies|pit|timebase|tod|"
    r"(?:arch|hyperv|riscv)_\w+",
    "preempt": r"none|voluntary|full|lazy",
    "transparent_hugepage": r"always|madvise|never",
    "numa_balancing": r"enable|disable",
    "pcie_aspm": r"off|force",
    "nosmt": r"force|",
    "split_lock_detect": r"off|warn|fatal|ratelimit:[1-9]\d*",
    "mce": r"off|no_cmci|no_lmce|dont_log_ce|print_all|ignore_ce|bootlog|nobootlog|recovery|"
    r"bios_cmci_threshold|nobios_cmci_threshold|\d+(?:,\d+)?",
    "mitigations": r"(?:off|auto)(?:[,;].*)?",
    "audit": r"0|1|off|on",
    "selinux": r"\d+",
    "nmi_watchdog": r"(?:panic|nopanic|0|1|r\d+)(?:,.*)?",
    "hpet": r"disable|force|verbose|enable",
    "iommu": r"(?:off|force|noforce|biomerge|panic|nopanic|merge|nomerge|forcesac|allowdac|nodac|"
    r"usedac|soft|pt|nopt|calgary)(?:,.*)?",
    "amd_iommu": r"(?:off|on|fullflush|force_isolation|force_enable|pgtbl_v[12]|irtcachedis|"
    r"nohugepages|v2_pgsizes_only|,)+",
    "intel_iommu": r"(?:on|off|igfx_off|forcedac|strict|sp_off|sm_on|sm_off|tboot_noforce|,)+",
    "hugepagesz": r"\d+[kKmMgG][bB]?|\d{4,}",
    "default_hugepagesz": r"\d+[kKmMgG][bB]?|\d{4,}",
    "hugepages": r"\d+(?:,.*)?|\d+:\d+(?:,\d+:\d+)*",
    "intel_idle.max_cstate": r"\d+",
    "processor.max_cstate": r"\d+",
    "cpufreq.default_governor": r"performance|powersave|ondemand|conservative|userspace|schedutil",
    "threadirqs": "",
    "rcu_nocb_poll": "",
    "nowatchdog": "",
    "nosoftlockup": "",
    "nohlt": "",
}

#: What isolcpus does without the flags that lowlat gives it.
WITHOUT_MANAGED = "takes these CPUs out of load balancing; managed interrupts stay"
MANAGED_ONLY = "keeps managed interrupts away; a flag given, domain is not the default any more"

#: Words of other names that do what an entry does.
STANDS_FOR = {"iommu=pt": "iommu.passthrough", "nmi_watchdog=0": "kernel.nmi_watchdog"}

#: The value that turns a parameter of that name into what was meant, where it takes another one.
MEANT = {
    "pcie_aspm=performance": "pcie_aspm.policy=performance",
    "amd_iommu=pt": "iommu=pt",
    "intel_iommu=pt": "iommu=pt",
    "intel_pstate=off": "intel_pstate=disable",
}

_NONE_RESERVED = "no hugepages= follows this size: none is reserved"

#: Lists of CPUs that are to lie outside the isolated ones, and those that make these.
KEPT_LISTS = frozenset({"irqaffinity", "systemd.cpu_affinity", "workqueue.unbound_cpus"})
CPU_LISTS = KEPT_LISTS | {"isolcpus", "nohz_full", "rcu_nocbs"}

#: What the kernel does with a list that it cannot read.
UNREADABLE = {
    "isolcpus": "the kernel drops the whole parameter: no CPU is isolated",
    "nohz_full": "the kernel drops the whole parameter: every tick goes on",
    "rcu_nocbs": "the kernel then offloads every CPU",
    "irqaffinity": "interrupts stay on the CPU that boots the system, or go anywhere",
}

#: Given twice, both count; of isolcpus the kernel takes the first only, of all others the last.
REPEATED = re.compile(
    r"console|earlycon|earlyprintk|hugepages|hugepagesz|memmap|pci|iommu|intel_iommu|amd_iommu|mce|tsc|"
    r"intel_pstate|sysctl\..*|systemd\..*|rd\..*|luks\..*|modprobe\.blacklist|module_blacklist|"
    r"initrd|ip|video|dyndbg|.*\.dyndbg|trace_event|cgroup_disable|efi|acpi|loglevel|crashkernel|"
    r"vfio_pci\..*|ima_\w+|drm.*|i8042\..*|usbcore\.quirks|mem|root|rootflags|resume"
)

#: What the initramfs, the init or the boot loader reads; the kernel only passes it on.
USER_SPACE = re.compile(
    r"BOOT_IMAGE|initrd|root|rd(?:\..*)?|systemd\..*|luks\..*|udev\..*|plymouth\..*|splash|rhgb|"
    r"nosplash|vt\.handoff|boot|live.*|ostree|ds|cloud.*|ignition\..*|auto|emergency|rescue|single|"
    r"\d|-b|text|biosdevname|net\.ifnames|lowlat\.plan|fsck\..*|locale\..*|toram|persistent|"
    r"netboot|nfs.*|cryptdevice|cryptopts|zfs|bootfs|BOOTIF|ks|inst\..*|quick|maybe-ubiquity|"
    r"security|module\.sig_enforce|virtme.*|console|panic|quiet|ro|rw|fips|LANG|TERM|gpt|mount\..*"
)


def missing(line: BootLine) -> Iterator[tuple[str, str]]:
    """What the line lacks beside what it has, each with the reason."""
    target, at_hand = line.target, line.target.isolated
    hz = target.kernel.config.options.get("HZ") if target.kernel.config else None
    if line.domains - line.tickless and line.built("NO_HZ_FULL") is not False:
        yield (
            f"nohz_full={line.domains | line.tickless}",
            f"isolcpus keeps tasks away, not the tick: {hz or '100 to 1000'} interrupts a second "
            "go on on each of these CPUs",
        )
    if line.tickless - line.domains:
        yield (
            f"isolcpus=managed_irq,domain,{line.domains | line.tickless}",
            "nohz_full alone leaves these CPUs to the scheduler: a second task there, and the tick "
            "is back",
        )
    elif line.domains - line.managed and target.since(5, 6) is not False:
        yield (
            f"isolcpus=managed_irq,domain,{line.domains}",
            "without the flag managed_irq, queues of disks and network cards interrupt these CPUs",
        )
    if at_hand - line.tickless - line.offloaded and line.built("RCU_NOCB_CPU") is not False:
        yield (
            f"rcu_nocbs={at_hand}",
            "RCU callbacks run in softirqs on these CPUs; nohz_full would include it",
        )
    if at_hand and target.housekeeping and "irqaffinity" not in line.values:
        yield (
            f"irqaffinity={target.housekeeping}",
            "interrupts may be set up on isolated CPUs, whatever moves them later",
        )
    if _no_intel_iommu(line) and line.has("iommu=pt") and not target.guest:
        yield "intel_iommu=on", "iommu=pt has no IOMMU to pass through: this kernel leaves it off"


def hugepages(words: list[tuple[str, str]]) -> Iterator[tuple[int, str, str]]:
    """Of (name, value) in order: the place of each word about huge pages that the kernel ignores,
    why, and what to write (mm/hugetlb.c: a count belongs to the size before it)."""
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
    """Why the huge pages of these (name, value) leave the system too little; None where they do
    not, or the machine's memory is not known."""
    memory = [node.memory_kib for node in machine.nodes if node.memory_kib is not None]
    sizes = dict(words)
    size, asked = _kib(sizes.get("default_hugepagesz", "2M")), 0
    for name, value in words:
        if name == "hugepagesz":
            size = _kib(value)
        elif name == "hugepages":
            counts = [count.rpartition(":")[2] for count in value.split(",")]
            asked += size * sum(int(count) for count in counts if count.isdecimal())
    if not memory or asked <= sum(memory) * 0.8:
        return None
    share = f"{asked >> 10} MiB of huge pages, of {sum(memory) >> 10} MiB in all"
    return f"{share}: too little is left for everything else, and the boot may fail"


def _kib(size: str) -> int:
    found = re.match(r"(\d{1,9})([kKmMgG]?)", size)
    if not found:
        return 0
    unit = {"": 0, "k": 10, "m": 20, "g": 30}[found[2].lower()]
    return int(found[1]) << unit >> 10
