# SPDX-License-Identifier: GPL-2.0-or-later
"""Clocks and timers."""

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
from lowlat.catalogue.needs import PHYSICAL, X86
from lowlat.host.kmsg import UNSTABLE_CLOCK
from lowlat.kernel import facts
from lowlat.kernel.clock import trusts_tsc


def _trusted_tsc(target: Target) -> Optional[bool]:
    machine = target.machine
    if machine.clock.current not in (None, "tsc"):
        return False
    return machine.processor.invariant_tsc


_STAYS = "clock watchdog on the boot CPU"


def _watchdog_off_already(target: Target) -> Optional[str]:
    if trusts_tsc(target.kernel, target.machine):
        return "the kernel trusts this TSC (TSC_ADJUST) and runs no watchdog"
    if target.has(_STAYS):
        return f"from Linux {facts.bound(_STAYS)} on, the watchdog stays on the boot CPU"
    return None


_INVARIANT_TSC = Need(
    _trusted_tsc,
    "the TSC is not invariant, or not the clock source: without a watchdog, time could drift",
    "assumed: TSC flags not known",
    wants="an invariant TSC that is the clock source",
)

_OFFERS_TSC = Need(
    lambda target: (
        "tsc" in target.machine.clock.available if target.machine.clock.available else None
    ),
    "the kernel does not offer the TSC as a clock source: it found the TSC unstable",
    "assumed: clock sources not known",
    wants="a TSC that the kernel offers as a clock source",
)

ENTRIES = (
    Tunable(
        name="skew_tick",
        why="staggers the ticks of the CPUs that still tick, so that they do not contend for the "
        "same locks at the same instant",
        source=f"{PARAMETERS} skew_tick; kernel/time/tick-sched.c",
        value="1",
        cost="a little more power on idle systems",
        risk=Risk.POWER,
        evidence="/proc/timer_list: the ticks of no two CPUs fall on the same instant",
        sign=Evidence(shows=EvidenceKind.TICKS_APART),
    ),
    Tunable(
        name="kernel.timer_migration",
        why="lets timers migrate to busy housekeeping CPUs; with 0, which some profiles set, "
        "timers armed on an isolated CPU stay there",
        note="from 6.9 on it moves high-resolution timers only. From 6.9 to 6.18 a busy CPU takes "
        "all other timers of idle CPUs over, and of the isolated CPUs nohz_full alone stays out",
        source="admin-guide/sysctl/kernel.rst; kernel/time/hrtimer.c, timer_migration.c",
        rows=(Value("/proc/sys/kernel/timer_migration", "1"),),
        tuned="sysctl",
    ),
    Tunable(
        name="tsc",
        silences={"softirq: TIMER (*clocksource_watchdog*": "kernel/time/clocksource.c"},
        why="stops the clocksource watchdog, a timer that moves on to the next CPU twice a second "
        "and also runs on isolated CPUs",
        source=f"{PARAMETERS} tsc=; arch/x86/kernel/tsc.c; kernel/time/clocksource.c",
        evidence="nothing shows it; a kernel message that the TSC is unstable disproves it",
        # reliable would also skip the checks at boot.
        value="nowatchdog",
        needs=(X86, PHYSICAL, _INVARIANT_TSC),
        unneeded=_watchdog_off_already,
        cost="a drifting TSC goes unnoticed",
        risk=Risk.HIDES_FAULTS,
        accepts=r"nowatchdog",
        # The clock source is the TSC even without this.
        sign=Evidence(shows=EvidenceKind.COPY, contradiction=UNSTABLE_CLOCK),
    ),
    Tunable(
        name="clocksource",
        why="reads time from the time-stamp counter, which needs no device access",
        source=f"{PARAMETERS} clocksource=",
        value="tsc",
        needs=(X86, PHYSICAL, _OFFERS_TSC),
        unneeded=lambda target: (
            "the TSC is already the clock source" if target.machine.clock.current == "tsc" else None
        ),
        cost="the time is wrong if the firmware breaks the TSC",
        risk=Risk.HIDES_FAULTS,
        accepts=r"tsc",
        sign=Evidence(path="/sys/devices/system/clocksource/clocksource0/current_clocksource"),
    ),
)
