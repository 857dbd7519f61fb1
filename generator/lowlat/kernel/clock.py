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
    away. ``unchecked``: nothing checks the TSC, at the boot or later, the timer of
    arch/x86/kernel/tsc_sync.c included, which compares TSC_ADJUST every ten minutes. ``watchdog``
    are the CPUs on which the clock source's own timer checks it, twice a second."""

    source: Optional[str]
    unstable: bool = False
    unchecked: bool = False
    watchdog: CpuSet = CpuSet()


def timekeeping(boot: Booting) -> Timekeeping:
    """The clock by clocksource= (kernel/time/clocksource.c), tsc= and notsc (arch/x86/kernel/
    tsc.c, tsc_setup() and notsc_setup())."""
    machine = boot.machine
    words = boot.given("tsc", "notsc")
    if machine.arch is not None and not machine.is_x86:
        for word in words:
            boot.drop(word, "kernels of this architecture do not have it", absent=True)
        return Timekeeping(_source(boot, ()))
    unstable = any(word.name == "notsc" or word.value == "unstable" for word in words)
    available = tuple(name for name in machine.clock.available if not (unstable and name == "tsc"))
    source = _source(boot, available)
    reliable = any(word.value == "reliable" for word in words)
    unchecked = reliable or "tsc_reliable" in machine.processor.flags
    trusted = unchecked or any(word.value == "nowatchdog" for word in words)
    watched = not (trusted or unstable or trusts_tsc(boot.kernel, machine))
    cpus = CpuSet()
    if watched and (not available or "tsc" in available):
        first = boot.has("clock watchdog on the boot CPU")
        cpus = CpuSet.of([boot.cpu]) if first else boot.online
    return Timekeeping(source, unstable, unchecked and not unstable, cpus)


def trusts_tsc(kernel: Kernel, machine: Machine) -> bool:
    """Whether the kernel trusts this TSC by itself and runs no watchdog
    (check_system_tsc_reliable()): with TSC_ADJUST, on at most four packages; older kernels allow
    four nodes, or two."""
    flags, release = machine.processor.flags, kernel.release
    if "tsc_reliable" in flags:
        return True
    packages = {core.package for core in machine.cores}
    by_package = facts.has("packages decide on the watchdog", release) and None not in packages
    parts = len(packages) if by_package else len(machine.nodes)
    most = 4 if by_package or facts.has("four nodes without a watchdog", release) else 2
    known = facts.has("a watchdog less by TSC_ADJUST", release) is not False
    return known and _INVARIANT | {"tsc_adjust"} <= flags and 1 <= parts <= most


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
        boot.fail(word, f"the kernel offers no such clock source here (it offers {offered})")
        return usual
    if not available and boot.machine.is_x86:
        boot.note(word, assumed="assumed: clock sources not known")
    return word.value
