# SPDX-License-Identifier: GPL-2.0-or-later
"""Idle states: how deep CPUs sleep, and how long waking takes. For a guest only if its host passes
them on."""

from typing import Optional

from lowlat.catalogue.entry import (
    PARAMETERS,
    Evidence,
    EvidenceKind,
    Need,
    Risk,
    Target,
    Tunable,
    Value,
)
from lowlat.catalogue.needs import ARM_ONLY, ISOLATION, OWNS_IDLE, PHYSICAL, X86, config
from lowlat.kernel.idle import skips_first

_CPU = "/sys/devices/system/cpu"
_DRIVER = f"{_CPU}/cpuidle/current_driver"


def _no_smt_isolated(target: Target) -> bool:
    cores = (core for core in target.machine.cores if core.cpus <= target.isolated)
    return all(len(core.cpus) == 1 for core in cores)


_NO_SMT = Need(
    _no_smt_isolated,
    "isolated cores have SMT siblings: a polling CPU takes execution resources from its sibling",
    wants="isolated cores without SMT siblings",
)


def _idle_driver(name: str) -> Need:
    def test(target: Target) -> Optional[bool]:
        driver = target.machine.power.idle_driver
        return None if driver is None else driver == name

    return Need(
        test,
        f"the idle driver here is not {name}",
        "assumed: idle driver not known",
        wants=f"the idle driver {name}",
    )


_FIRST_STATE = Need(
    lambda target: bool(target.machine.power.lightest_sleeps) or None,
    "the kernel shows no idle state except polling",
    "assumed: the first idle state of the driver's table is in use",
    wants="known idle states",
)


ENTRIES = (
    Tunable(
        name="idle",
        why="makes idle CPUs spin instead of sleep: no wake-up waits for an idle-state exit",
        source=f"{PARAMETERS} idle=; arch/x86/kernel/process.c; timers/no_hz.rst",
        value="poll",
        needs=(X86, PHYSICAL, _NO_SMT),
        cost="full power and heat on every CPU, and on Intel no turbo; the tick runs on idle CPUs",
        risk=Risk.POWER,
        accepts=r"poll",
        implies=(
            "intel_idle.max_cstate",
            "processor.max_cstate",
            "cpuidle.off",
            "pm_qos_resume_latency_us",
        ),
        sign=Evidence(
            path=_DRIVER,
            expected=lambda value: "none",
            # Even without the parameter there may be no driver.
            shows=EvidenceKind.MESSAGE,
            proof=r"using polling idle threads",
        ),
    ),
    Tunable(
        name="nohlt",
        why="makes idle CPUs spin instead of sleep: the ARM form of idle=poll",
        source=f"{PARAMETERS} nohlt; kernel/sched/idle.c",
        evidence="no CPU has ever entered an idle state: usage in cpuidle/stateN is 0",
        sign=Evidence(shows=EvidenceKind.IDLE_USAGE),
        value="",
        needs=(ARM_ONLY, PHYSICAL, _NO_SMT, config("GENERIC_IDLE_POLL_SETUP")),
        cost="full power and heat on every CPU; the tick runs on idle CPUs",
        risk=Risk.POWER,
        implies=("cpuidle.off", "pm_qos_resume_latency_us"),
    ),
    Tunable(
        name="cpuidle.off",
        why="keeps idle CPUs in the one shallow state that needs no driver (WFI on ARM, HLT or "
        "MWAIT C1 on x86)",
        source=f"{PARAMETERS} cpuidle.off; drivers/cpuidle/cpuidle.c",
        value="1",
        needs=(PHYSICAL, config("CPU_IDLE")),
        cost="more power; less turbo headroom for busy cores",
        risk=Risk.POWER,
        conflicts=("idle", "nohlt"),
        sign=Evidence(gone=f"{_CPU}/cpuidle"),
    ),
    Tunable(
        name="intel_idle.max_cstate",
        why="keeps CPUs in the shallowest idle state: a wake-up takes one or two microseconds",
        source="admin-guide/pm/intel_idle.rst",
        # 0 does not mean C0: it hands over to acpi_idle. Where the table has a C1 that is switched
        # off, 1 would leave only polling, even on SMT siblings.
        value="1",
        instead=(("2", lambda target: skips_first(target.machine)),),
        needs=(X86, OWNS_IDLE, _idle_driver("intel_idle"), _FIRST_STATE),
        cost="more power; less turbo headroom for busy cores",
        risk=Risk.POWER,
        accepts=r"[1-9]",
        conflicts=("idle", "cpuidle.off"),
        evidence="the driver is intel_idle, and cpuidle has no state with a higher number",
        sign=Evidence(
            path=_DRIVER, expected=lambda value: "intel_idle", shows=EvidenceKind.IDLE_STATES
        ),
    ),
    Tunable(
        name="processor.max_cstate",
        why="keeps CPUs in the shallowest idle state if ACPI manages the idle states",
        source=f"{PARAMETERS} processor.max_cstate; drivers/acpi/processor_idle.c",
        value="1",
        needs=(X86, PHYSICAL, _idle_driver("acpi_idle")),
        cost="more power; less turbo headroom for busy cores",
        risk=Risk.POWER,
        accepts=r"[1-9]",
        conflicts=("idle", "cpuidle.off"),
        evidence="the driver is acpi_idle, and cpuidle has no state with a higher number",
        sign=Evidence(
            path=_DRIVER, expected=lambda value: "acpi_idle", shows=EvidenceKind.IDLE_STATES
        ),
    ),
    Tunable(
        name="pm_qos_resume_latency_us",
        why="limits the isolated CPUs' wake-up latency, so that they enter only the shallowest "
        "idle state; the limit is its exit latency, or 2 microseconds if that is unknown",
        source="ABI/testing/sysfs-devices-power; admin-guide/pm/cpuidle.rst",
        evidence="cpuN/power/pm_qos_resume_latency_us (0 means no limit, n/a no latency at all)",
        rows=(Value(f"{_CPU}/cpu{{cpu}}/power/pm_qos_resume_latency_us", "{wake_us}"),),
        needs=(ISOLATION, OWNS_IDLE),
        cost="more power on the isolated CPUs",
        risk=Risk.POWER,
        conflicts=("idle", "nohlt"),
        accepts=r"n/a|[1-9][0-9]{0,5}",
    ),
)
