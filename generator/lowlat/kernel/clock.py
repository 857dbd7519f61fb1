# SPDX-License-Identifier: GPL-2.0-or-later
"""The clock source, its trust and its watchdog."""

from dataclasses import dataclass
from typing import Optional

from lowlat.kernel import facts
from lowlat.kernel.booting import Booting
from lowlat.kernel.line import Word, names_of
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Kernel, Machine

_INVARIANT = frozenset({"constant_tsc", "nonstop_tsc"})


@dataclass(frozen=True)
class Timekeeping:
    """``source`` is None if it is not known. ``unstable``: the line itself takes the TSC's trust
    away. ``watchdog`` are the CPUs on which a timer checks the TSC."""

    source: Optional[str]
    unstable: bool = False
    watchdog: CpuSet = CpuSet()


def timekeeping(boot: Booting) -> Timekeeping:
    """The clock by clocksource= (kernel/time/clocksource.c), tsc= and notsc (arch/x86/kernel/
    tsc.c, tsc_setup() and notsc_setup())."""
    machine = boot.machine
    words = boot.given("tsc", "notsc")
    if not machine.is_x86:
        for word in words:
            boot.drop(word, "kernels of this architecture do not have it")
        return Timekeeping(_source(boot, ()))
    unstable = any(word.name == "notsc" or word.value == "unstable" for word in words)
    available = tuple(name for name in machine.clock.available if not (unstable and name == "tsc"))
    source = _source(boot, available)
    trusted = any(word.value in ("reliable", "nowatchdog") for word in words)
    watched = not (trusted or unstable or trusts_tsc(boot.kernel, machine))
    watched = watched and (not available or "tsc" in available) and machine.hypervisor is None
    if not watched:
        return Timekeeping(source, unstable)
    first = boot.has("clock watchdog on the boot CPU")
    return Timekeeping(source, unstable, CpuSet.of([boot.cpu]) if first else boot.online)


def trusts_tsc(kernel: Kernel, machine: Machine) -> bool:
    """Whether the kernel trusts this TSC by itself and runs no watchdog
    (check_system_tsc_reliable(); up to 6.17 nodes count, of which it allows two or four)."""
    flags, release = machine.processor.flags, kernel.release
    if "tsc_reliable" in flags:
        return True
    most = 4 if facts.has("four nodes without a watchdog", release) else 2
    known = facts.has("a watchdog less by TSC_ADJUST", release) is not False
    return known and _INVARIANT | {"tsc_adjust"} <= flags and 1 <= len(machine.nodes) <= most


def _source(boot: Booting, available: tuple[str, ...]) -> Optional[str]:
    """The best source, or the one that clocksource= names, if the kernel offers it."""
    word = boot.last("clocksource")
    decided = {"clocksource", "tsc", "notsc"} & names_of(boot.machine.cmdline)
    usual = boot.machine.clock.current if not decided else None
    if available and usual not in available:
        usual = available[0]
    if word is None:
        return usual
    return _named(word, usual, available, boot)


def _named(
    word: Word, usual: Optional[str], available: tuple[str, ...], boot: Booting
) -> Optional[str]:
    if available and word.value not in available:
        offered = ", ".join(available)
        boot.drop(word, f"the kernel offers no such clock source here (it offers {offered})")
        return usual
    if not available and boot.machine.is_x86:
        boot.note(word, assumed="assumed: clock sources not known")
    return word.value
