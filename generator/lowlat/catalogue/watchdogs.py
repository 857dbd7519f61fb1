# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's fault detection: lockup detectors, machine checks, split locks."""

from typing import Optional

from lowlat.catalogue.entry import (
    PARAMETERS,
    Evidence,
    Need,
    Risk,
    Target,
    Tunable,
    Value,
    ValueFormat,
)
from lowlat.catalogue.needs import ISOLATION, PHYSICAL, X86, config, feature

_MCE = "/sys/devices/system/machinecheck/machinecheck0"
_MITIGATE = "/proc/sys/kernel/split_lock_mitigate"


def _watchdog_gone(target: Target) -> Optional[str]:
    if target.sure_of("nohz_full"):
        return "the kernel excludes nohz_full CPUs from lockup detection by itself"
    if "kernel.watchdog_cpumask" in target.enabled:
        return "kernel.watchdog_cpumask stops lockup detection, but on the isolated CPUs only"
    return None


def _detects_split_locks(target: Target) -> Optional[bool]:
    processor = target.machine.processor
    known = {"split_lock_detect", "bus_lock_detect"}
    return bool(known & processor.flags) if processor.flags_known else None


_SPLIT_LOCKS = Need(
    _detects_split_locks,
    "this processor does not detect split locks",
    "assumed: processor flags not known",
    wants="a processor with split_lock_detect or bus_lock_detect",
)

ENTRIES = (
    Tunable(
        name="kernel.watchdog_cpumask",
        silences={
            "irq: * (*watchdog_timer_fn*": "kernel/watchdog.c watchdog_enable()",
            "thread: migration/* from watchdog_timer_fn,*": "kernel/watchdog.c softlockup_fn()",
        },
        why="keeps the lockup watchdog's timer (every four seconds) off the isolated CPUs",
        source="admin-guide/sysctl/kernel.rst watchdog_cpumask; kernel/watchdog.c",
        rows=(Value("/proc/sys/kernel/watchdog_cpumask", "{housekeeping}"),),
        reads=ValueFormat.LIST,
        needs=(ISOLATION, config("SOFTLOCKUP_DETECTOR", "HARDLOCKUP_DETECTOR")),
        unneeded=lambda target: (
            "the kernel excludes nohz_full CPUs by itself" if target.sure_of("nohz_full") else None
        ),
        # lockup_detector_init(): at boot; later anybody may write the mask.
        covered_by="nohz_full",
        cost="lockups on isolated CPUs go unreported",
    ),
    Tunable(
        name="nowatchdog",
        why="switches both lockup detectors off on every CPU",
        source=f"{PARAMETERS} nowatchdog; kernel/watchdog.c",
        value="",
        needs=(config("SOFTLOCKUP_DETECTOR", "HARDLOCKUP_DETECTOR"),),
        unneeded=_watchdog_gone,
        cost="hangs go unreported on the whole machine",
        risk=Risk.DEBUGGABILITY,
        implies=("nosoftlockup", "kernel.nmi_watchdog"),
        sign=Evidence(path="/proc/sys/kernel/watchdog", expected=lambda value: "0"),
    ),
    Tunable(
        name="nosoftlockup",
        why="switches the soft lockup detector off on every CPU",
        source=f"{PARAMETERS} nosoftlockup; kernel/watchdog.c",
        value="",
        needs=(config("SOFTLOCKUP_DETECTOR"),),
        unneeded=_watchdog_gone,
        cost="soft lockups go unreported on the whole machine",
        risk=Risk.DEBUGGABILITY,
        conflicts=("nowatchdog",),
        sign=Evidence(path="/proc/sys/kernel/soft_watchdog", expected=lambda value: "0"),
    ),
    Tunable(
        name="kernel.nmi_watchdog",
        silences={"nmi: perf_event_nmi_handler": "kernel/watchdog_perf.c"},
        why="switches off the hard lockup detector, which raises a rare non-maskable interrupt and "
        "occupies a performance counter on every CPU",
        source="admin-guide/sysctl/kernel.rst nmi_watchdog; kernel/watchdog.c",
        rows=(Value("/proc/sys/kernel/nmi_watchdog", "0"),),
        needs=(config("HARDLOCKUP_DETECTOR"),),
        unneeded=_watchdog_gone,
        covered_by="kernel.watchdog_cpumask",
        cost="a CPU that hangs with interrupts off goes unreported, and causes no panic even if "
        "one is configured",
        risk=Risk.DEBUGGABILITY,
        conflicts=("nowatchdog",),
    ),
    Tunable(
        name="mce",
        why="stops the polling of corrected machine checks and their interrupts",
        source="arch/x86/x86_64/boot-options; arch/x86/kernel/cpu/mce/core.c",
        value="ignore_ce",
        needs=(X86, PHYSICAL, config("X86_MCE")),
        cost="corrected memory errors stay unlogged: failing memory is not noticed in time",
        risk=Risk.HIDES_FAULTS,
        accepts=r"ignore_ce",
        implies=("machinecheck.check_interval",),
        sign=Evidence(path=f"{_MCE}/ignore_ce", expected=lambda value: "1"),
    ),
    Tunable(
        name="machinecheck.check_interval",
        silences={
            "softirq: TIMER (*mce_timer_fn*": "arch/x86/kernel/cpu/mce/core.c mce_start_timer()",
            "irq: MCP": "arch/x86/kernel/cpu/mce/core.c machine_check_poll()",
        },
        why="stops the per-CPU timer that polls for corrected errors every five minutes; "
        "interrupts for such errors stay on",
        source="ABI/testing/sysfs-mce; arch/x86/kernel/cpu/mce/core.c",
        rows=(Value(f"{_MCE}/check_interval", "0"),),
        reads=ValueFormat.HEX,
        needs=(X86, PHYSICAL, config("X86_MCE")),
        cost="corrected errors that raise no interrupt are found late",
        risk=Risk.HIDES_FAULTS,
        conflicts=("mce",),
    ),
    Tunable(
        name="split_lock_detect",
        why="stops the kernel from trapping atomic operations that cross a cache line, and from "
        "slowing the task that executes them",
        source=f"{PARAMETERS} split_lock_detect=; arch/x86/kernel/cpu/bus_lock.c",
        value="off",
        needs=(X86, PHYSICAL, _SPLIT_LOCKS),
        cost="any program can stall the memory bus of all CPUs unnoticed",
        risk=Risk.SECURITY,
        accepts=r"off",
        sign=Evidence(proof=r"x86/split lock detection: disabled"),
    ),
    Tunable(
        name="kernel.split_lock_mitigate",
        why="removes the 10 ms delay, and the limit of one such task at a time, for tasks whose "
        "atomic operations cross a cache line; the warning stays",
        source="admin-guide/sysctl/kernel.rst split_lock_mitigate; arch/x86/kernel/cpu/bus_lock.c",
        rows=(Value(_MITIGATE, "0"),),
        needs=(X86, PHYSICAL, _SPLIT_LOCKS, feature(_MITIGATE, "split_lock_mitigate")),
        cost="a program that often does so stalls the memory bus of all CPUs",
        risk=Risk.SECURITY,
        conflicts=("split_lock_detect",),
    ),
)
