# SPDX-License-Identifier: GPL-2.0-or-later
"""How CPUs idle: the driver, whether they poll, and the deepest state."""

import re
from dataclasses import dataclass
from typing import Optional

from lowlat.kernel.booting import Booting
from lowlat.kernel.line import Word, names_of
from lowlat.model.machine import Machine

_INTEL, _ACPI, _NONE = "intel_idle", "acpi_idle", "none"

#: The values of idle= (arch/x86/kernel/process.c idle_setup(); ARM's, which lead to no driver).
_X86_VALUES = ("poll", "halt", "nomwait")
_ARM_VALUES = ("wfi", "yield", "nop")


@dataclass(frozen=True)
class Idling:
    """``driver`` is None if it is not known. ``deepest`` is the highest number of a sleep that CPUs
    may enter, 1 the lightest and 0 none; None without a bound. ``mwait``: they may enter it with
    that instruction."""

    driver: Optional[str]
    polls: bool = False
    deepest: Optional[int] = None
    mwait: bool = True


def idling(boot: Booting) -> Idling:
    """The driver that the line leads to, and its bound."""
    override, polls = _override(boot)
    natural = natural_driver(boot.machine)
    if natural is None:
        for word in boot.given("intel_idle.max_cstate", "processor.max_cstate"):
            boot.note(word, assumed="assumed: idle driver not known")
    driver = _off(boot) or _driver(natural, override, boot)
    intel = _number(boot.last("intel_idle.max_cstate"), boot)
    acpi = _number(boot.last("processor.max_cstate"), boot)
    deepest = None
    if driver == _INTEL and intel is not None:
        deepest = intel
    elif driver == _ACPI and acpi is not None:
        # acpi_processor_power_init() in drivers/acpi/processor_idle.c takes 0 for 1.
        deepest = max(acpi, 1)
    elif driver == _NONE:
        deepest = 1
    known = deepest_of(boot.machine) if driver == boot.machine.power.idle_driver else None
    if deepest is not None and known is not None and deepest >= known and driver != _NONE:
        deepest = None
    return Idling(driver, polls, 0 if polls else deepest, polls or override is None)


def _override(boot: Booting) -> tuple[Optional[str], bool]:
    """boot_option_idle_override, and whether idle CPUs poll. The last valid idle= decides the
    first; poll adds to a counter that no other word lowers (cpu_idle_poll_ctrl() in
    kernel/sched/idle.c)."""
    arch, x86 = boot.machine.arch, boot.machine.is_x86
    values = (
        *(_X86_VALUES if x86 or arch is None else ()),
        *(_ARM_VALUES if not x86 and (arch is None or boot.has("idle= on ARM")) else ()),
    )
    for word in boot.given("idle"):
        if word.value not in values:
            boot.drop(word, f"'{word.value[:30]}' is not a value of this parameter here")
    words = boot.given("idle")
    polling = [word for word in words if word.value == "poll"]
    others = [word for word in words if word.value != "poll"]
    if polling:
        boot.override(others, polling[0], "idle=poll wins in any order")
        boot.override(polling[:-1], polling[-1], "the last one counts")
    elif others:
        boot.last("idle")
    return (words[-1].value if words else None), bool(polling) or _nohlt(boot)


def _nohlt(boot: Booting) -> bool:
    """cpu_idle_poll_setup() in kernel/sched/idle.c: the last of nohlt and hlt decides."""
    words = boot.given("nohlt", "hlt")
    if boot.machine.is_x86:
        for word in words:
            boot.drop(word, "kernels of this architecture do not have it", absent=True)
        return False
    if not boot.needs("GENERIC_IDLE_POLL_SETUP", *words):
        return False
    last = boot.last("nohlt", "hlt")
    return last is not None and last.name == "nohlt"


def _off(boot: Booting) -> Optional[str]:
    """cpuidle.off= (drivers/cpuidle/cpuidle.c)."""
    word = boot.last("cpuidle.off")
    off = word is not None and (word.flag or re.match("[1-9yYtT]", word.value) is not None)
    return _NONE if off else None


def _driver(natural: Optional[str], override: Optional[str], boot: Booting) -> Optional[str]:
    """Any idle= keeps intel_idle out (intel_idle_init() in drivers/idle/intel_idle.c), poll and
    halt acpi_idle too (disabled_by_idle_boot_param() in drivers/acpi/processor_idle.c)."""
    words = boot.given("intel_idle.max_cstate")
    if natural == _INTEL:
        limit = words[-1].value if words else ""
        refused = re.fullmatch(r"0+|0[xX]0+", limit) is not None
        if override in ("halt", "nomwait"):
            by = boot.given("idle")
            if by and not refused:
                boot.override(words, by[-1], "any idle= parameter keeps intel_idle from loading")
        if override is None and not refused:
            return _INTEL
        natural = _ACPI
    if natural in (_ACPI, "haltpoll", None) and override in ("poll", "halt"):
        return _NONE
    if natural == "haltpoll" and override:
        return _ACPI
    return natural


def _number(word: Optional[Word], boot: Booting) -> Optional[int]:
    if word is None:
        return None
    try:
        return int(word.value, 0)
    except ValueError:
        boot.drop(word, f"'{word.value[:30]}' is not a number")
        return None


def natural_driver(machine: Machine) -> Optional[str]:
    """The idle driver of a boot without any word about it: the one that the machine shows, unless
    its own line decides that; else by the vendor."""
    about = {"idle", "intel_idle.max_cstate", "cpuidle.off", "nohlt", "acpi"}
    words = names_of(machine.cmdline)
    shown = machine.power.idle_driver
    bounded = words & about == {"intel_idle.max_cstate"} and shown == _INTEL
    if shown and (not words & about or bounded):
        return shown
    if machine.hypervisor is None and machine.is_x86 and words & about:
        return _INTEL if machine.processor.vendor == "GenuineIntel" else _ACPI
    return None


def deepest_of(machine: Machine) -> Optional[int]:
    """The number of the deepest sleep in the table of the machine's idle driver; None if the
    machine does not show it, or its line bounds it."""
    bounds = {"intel_idle.max_cstate", "processor.max_cstate", "intel_idle.states_off"}
    if bounds & names_of(machine.cmdline):
        return None
    states = [state for state in machine.power.idle_states if not state.polls]
    if not states:
        return None
    first = states[0].cpu
    return sum(state.cpu == first for state in states) + skips_first(machine)


def skips_first(machine: Machine) -> bool:
    """Whether the lightest sleep is number 2 in intel_idle's table, which also counts states that
    are switched off. On Alder Lake and similar CPUs C1 is one of these (adl_cstates: C1E has 2 us;
    a C1E that is number 1 has 1 us)."""
    lightest = machine.power.lightest_sleeps
    return any(state.name == "C1E" and (state.latency_us or 0) > 1 for state in lightest)
