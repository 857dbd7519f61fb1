# SPDX-License-Identifier: GPL-2.0-or-later
"""The frequency driver that a boot line leads to."""

from typing import Optional

from lowlat.kernel.booting import Booting
from lowlat.kernel.line import Word, names_of

_PLAIN = "acpi-cpufreq"

#: By value, the driver of intel_pstate= (drivers/cpufreq/intel_pstate.c, intel_pstate_setup()) and
#: of amd_pstate= (drivers/cpufreq/amd-pstate.c, amd_pstate_param()). Values that only change how a
#: driver works are settings.
_DRIVERS = {
    "intel_pstate": {"disable": _PLAIN, "passive": "intel_cpufreq", "active": "intel_pstate"},
    "amd_pstate": {
        "disable": _PLAIN,
        "passive": "amd-pstate",
        "guided": "amd-pstate",
        "active": "amd-pstate-epp",
    },
}


def frequency_driver(boot: Booting) -> Optional[str]:
    """The driver; None if it is not known, or if a guest shows none."""
    decided = _DRIVERS.keys() & names_of(boot.machine.cmdline)
    shown = None if decided else boot.machine.power.frequency_driver
    guest = boot.machine.hypervisor is not None
    driver = shown
    for name, drivers in _DRIVERS.items():
        for word in _last(name, boot):
            driver = drivers.get(word.value, driver) if shown or not guest else None
            if shown is None and not guest:
                boot.note(word, assumed="assumed: frequency driver not known")
    return driver


def _last(name: str, boot: Booting) -> tuple[Word, ...]:
    """The last word that chooses a driver; it overrides those before it."""
    modes = tuple(word for word in boot.given(name) if word.value in _DRIVERS[name])
    if modes:
        boot.override(modes[:-1], modes[-1], "the last one counts")
    return modes[-1:]
