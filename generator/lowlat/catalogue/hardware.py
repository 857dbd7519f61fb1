# SPDX-License-Identifier: GPL-2.0-or-later
"""Idle states, frequency, clocks and machine checks: never for a guest, whose host owns them."""

from __future__ import annotations

from typing import Optional

from lowlat.catalogue.entry import (
    PHYSICAL,
    X86,
    Need,
    Reads,
    Risk,
    Row,
    Sign,
    Stage,
    Target,
    Tunable,
    config,
)

_PARAMETERS = "admin-guide/kernel-parameters.txt"


def _no_smt_isolated(target: Target) -> bool:
    cores = (core for core in target.machine.cores if core.cpus <= target.isolated)
    return all(len(core.cpus) == 1 for core in cores)


def _idle_driver(name: str) -> Need:
    def test(target: Target) -> Optional[bool]:
        driver = target.machine.power.idle_driver
        return None if driver is None else driver == name

    return Need(test, f"the idle driver here is not {name}", "assumed: idle driver not known")


def _has_performance(target: Target) -> Optional[bool]:
    power = target.machine.power
    if power.governors:
        return "performance" in power.governors
    # A machine that shows its idle driver and no frequency driver has none.
    return False if power.idle_driver and not power.frequency_driver else None


def _trusted_tsc(target: Target) -> Optional[bool]:
    machine = target.machine
    if machine.clock.current not in (None, "tsc"):
        return False
    if not machine.processor.flags_known:
        return None
    return {"constant_tsc", "nonstop_tsc"} <= machine.processor.flags


def _watchdog_off_already(target: Target) -> Optional[str]:
    # check_system_tsc_reliable(), arch/x86/kernel/tsc.c; 2 nodes is the oldest kernels' limit.
    flags = {"constant_tsc", "nonstop_tsc", "tsc_adjust"}
    if flags <= target.machine.processor.flags and 1 <= len(target.machine.nodes) <= 2:
        return "the kernel trusts this TSC (TSC_ADJUST) and runs no watchdog"
    if target.since(7, 3):
        return "from 7.3 on the watchdog stays on the CPU that boots the system"
    return None


#: arch/x86/kernel/tsc.c, mark_tsc_unstable(); kernel/time/clocksource.c
_UNSTABLE = r"Marking (TSC|clocksource 'tsc.*') (as )?unstable"

_INVARIANT_TSC = Need(
    _trusted_tsc,
    "the TSC is not invariant, or not the clock source: without a watchdog time could drift unseen",
    "assumed: TSC flags not known",
)

ENTRIES = (
    Tunable(
        name="idle",
        stage=Stage.BOOT,
        why="lets idle CPUs spin instead of sleeping, so that no wake-up waits for an idle state",
        source=f"{_PARAMETERS} idle=; arch/x86/kernel/process.c; timers/no_hz.rst",
        evidence="kernel message 'using polling idle threads'; cpuidle/current_driver is none",
        value=lambda target: "poll",
        needs=(
            X86,
            PHYSICAL,
            Need(
                _no_smt_isolated,
                "isolated cores have SMT siblings, whose execution resources a polling CPU steals",
            ),
        ),
        cost="full power on every CPU, heat, and on Intel no turbo; idle CPUs tick",
        risk=Risk.POWER,
        accepts=r"poll",
        sign=Sign(
            path="/sys/devices/system/cpu/cpuidle/current_driver",
            expected=lambda value: "none",
            proof=r"using polling idle threads",
        ),
    ),
    Tunable(
        name="intel_idle.max_cstate",
        stage=Stage.BOOT,
        why="keeps CPUs in the shallowest sleep, so that waking takes a microsecond or two",
        source="admin-guide/pm/intel_idle.rst",
        evidence="/sys/module/intel_idle/parameters/max_cstate",
        # 0 would not mean C0: it hands over to acpi_idle.
        value=lambda target: "1",
        needs=(X86, PHYSICAL, _idle_driver("intel_idle")),
        cost="power; turbo headroom of the busy cores",
        risk=Risk.POWER,
        accepts=r"[1-9]",
        conflicts=("idle",),
        sign=Sign(path="/sys/module/intel_idle/parameters/max_cstate"),
    ),
    Tunable(
        name="processor.max_cstate",
        stage=Stage.BOOT,
        why="keeps CPUs in the shallowest sleep where ACPI manages idle states",
        source=f"{_PARAMETERS} processor.max_cstate; drivers/acpi/processor_idle.c",
        evidence="/sys/module/processor/parameters/max_cstate",
        value=lambda target: "1",
        needs=(X86, PHYSICAL, _idle_driver("acpi_idle")),
        cost="power; turbo headroom of the busy cores",
        risk=Risk.POWER,
        accepts=r"[1-9]",
        conflicts=("idle",),
        sign=Sign(path="/sys/module/processor/parameters/max_cstate"),
    ),
    Tunable(
        name="cpufreq.default_governor",
        stage=Stage.BOOT,
        why="starts every CPU at its highest frequency, so that no work pays for a ramp-up",
        source=f"{_PARAMETERS} cpufreq.default_governor; admin-guide/pm/cpufreq.rst",
        evidence="scaling_governor of every policy is performance",
        value=lambda target: "performance",
        needs=(PHYSICAL, config("CPU_FREQ_GOV_PERFORMANCE")),
        cost="power",
        risk=Risk.POWER,
        accepts=r"performance",
        sign=Sign(path="/sys/devices/system/cpu/cpufreq/policy0/scaling_governor"),
    ),
    Tunable(
        name="scaling_governor",
        stage=Stage.RUNTIME,
        why="holds the isolated CPUs at their highest frequency",
        source="admin-guide/pm/cpufreq.rst",
        evidence="cpuN/cpufreq/scaling_governor is performance",
        rows=lambda target: [
            Row(f"/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor", "performance")
            for cpu in target.isolated
        ],
        needs=(
            PHYSICAL,
            Need(
                _has_performance,
                "no frequency driver here offers the governor performance",
                "assumed: frequency driver not known",
            ),
        ),
        cost="power of the isolated CPUs",
        risk=Risk.POWER,
    ),
    Tunable(
        name="pm_qos_resume_latency_us",
        stage=Stage.RUNTIME,
        why="bounds the wake-up time of the isolated CPUs alone, so that they take no deep sleep",
        source="ABI/testing/sysfs-devices-power; admin-guide/pm/cpuidle.rst",
        evidence="cpuN/power/pm_qos_resume_latency_us (0 means no bound, n/a no delay at all)",
        rows=lambda target: [
            Row(f"/sys/devices/system/cpu/cpu{cpu}/power/pm_qos_resume_latency_us", "2")
            for cpu in target.isolated
        ],
        needs=(PHYSICAL,),
        cost="power of the isolated CPUs",
        risk=Risk.POWER,
        accepts=r"n/a|[1-9][0-9]{0,5}",
    ),
    Tunable(
        name="tsc",
        stage=Stage.BOOT,
        why="stops the clock watchdog, a timer that hops to the next CPU twice a second, isolated "
        "ones included",
        source=f"{_PARAMETERS} tsc=; arch/x86/kernel/tsc.c; kernel/time/clocksource.c",
        evidence="on the command line, and no kernel message that the TSC is unstable",
        # reliable would also skip the checks at boot.
        value=lambda target: "nowatchdog",
        needs=(X86, PHYSICAL, _INVARIANT_TSC),
        unneeded=_watchdog_off_already,
        cost="a TSC that drifts is no longer noticed",
        risk=Risk.HIDES_FAULTS,
        accepts=r"nowatchdog",
        # The clock source is the TSC without this too: only the kernel's silence can tell.
        sign=Sign(contradiction=_UNSTABLE),
    ),
    Tunable(
        name="clocksource",
        stage=Stage.BOOT,
        why="reads time from the time-stamp counter, which needs no device access",
        source=f"{_PARAMETERS} clocksource=",
        evidence="/sys/devices/system/clocksource/clocksource0/current_clocksource",
        value=lambda target: "tsc",
        needs=(
            X86,
            PHYSICAL,
            Need(
                lambda target: (
                    "tsc" in target.machine.clock.available
                    if target.machine.clock.available
                    else None
                ),
                "the kernel does not offer the TSC as a clock source: it found it unstable",
                "assumed: clock sources not known",
            ),
        ),
        unneeded=lambda target: (
            "the clock source is the TSC already" if target.machine.clock.current == "tsc" else None
        ),
        cost="wrong time where firmware breaks the TSC",
        risk=Risk.HIDES_FAULTS,
        accepts=r"tsc",
        sign=Sign(path="/sys/devices/system/clocksource/clocksource0/current_clocksource"),
    ),
    Tunable(
        name="mce",
        stage=Stage.BOOT,
        why="stops the polling of corrected machine checks and their interrupts",
        source="arch/x86/x86_64/boot-options; arch/x86/kernel/cpu/mce/core.c",
        evidence="/sys/devices/system/machinecheck/machinecheck0/ignore_ce is 1",
        value=lambda target: "ignore_ce",
        needs=(X86, PHYSICAL, config("X86_MCE")),
        cost="corrected memory errors stay unlogged: failing memory is not noticed in time",
        risk=Risk.HIDES_FAULTS,
        accepts=r"ignore_ce",
        sign=Sign(
            path="/sys/devices/system/machinecheck/machinecheck0/ignore_ce",
            expected=lambda value: "1",
        ),
    ),
    Tunable(
        name="machinecheck.check_interval",
        stage=Stage.RUNTIME,
        why="stops the per-CPU timer that polls for corrected errors every five minutes; their "
        "interrupts stay on",
        source="ABI/testing/sysfs-mce; arch/x86/kernel/cpu/mce/core.c",
        evidence="/sys/devices/system/machinecheck/machinecheck0/check_interval is 0",
        rows=lambda target: [
            Row("/sys/devices/system/machinecheck/machinecheck0/check_interval", "0")
        ],
        reads=Reads.HEX,
        needs=(X86, PHYSICAL, config("X86_MCE")),
        cost="corrected errors that raise no interrupt are found late",
        risk=Risk.HIDES_FAULTS,
        conflicts=("mce",),
    ),
)
