# SPDX-License-Identifier: GPL-2.0-or-later
"""Facts beside the CPUs: architecture, clock, power control, firmware. Also other
managers of this system: TuneD's profile, control groups, page merging, and the boot parameters of
Ubuntu's package lowlatency-kernel."""

import os
import re
from collections.abc import Iterable
from typing import Optional

from lowlat.base import resources
from lowlat.host import interrupt_movers
from lowlat.host.root import CPU, Root
from lowlat.model import cmdline
from lowlat.model.machine import (
    LOWLATENCY_KERNEL,
    ClockSource,
    Firmware,
    IdleState,
    PowerControl,
    Services,
)
from lowlat.probe.topology import numbered

_RESCTRL = "/sys/fs/resctrl"
_CLOCK = "/sys/devices/system/clocksource/clocksource0"

#: Patterns of lines in /proc/cpuinfo that only one architecture prints.
_ARCH_SIGNS = resources.texts("probe/signs.ini")["cpuinfo"]


def read_arch(root: Root, cpuinfo: str) -> Optional[str]:
    """The architecture as ``uname -m`` prints it; None if there is no sign of it."""
    arch = root.read("/proc/sys/kernel/arch")  # since 6.1
    arch = arch or root.answer("arch", lambda it: os.uname().machine if it.live else "")
    if arch:
        return arch
    for name, sign in _ARCH_SIGNS.items():
        if re.search(sign, cpuinfo, re.MULTILINE):
            return name
    return None


def read_clock(root: Root) -> ClockSource:
    return ClockSource(
        current=root.read(f"{_CLOCK}/current_clocksource"),
        available=tuple((root.read(f"{_CLOCK}/available_clocksource") or "").split()),
    )


def read_power(root: Root, boot: int, examples: Iterable[int]) -> PowerControl:
    """Idle driver, frequency driver and its governors, the SMT control, and the idle states of one
    example CPU of each core type."""
    policies = (f"{CPU}/cpu{boot}/cpufreq", f"{CPU}/cpufreq/policy{boot}", f"{CPU}/cpufreq/policy0")
    policy = next((path for path in policies if root.exists(path)), policies[-1])
    return PowerControl(
        idle_driver=root.read(f"{CPU}/cpuidle/current_driver"),
        frequency_driver=root.read(f"{policy}/scaling_driver"),
        governors=tuple((root.read(f"{policy}/scaling_available_governors") or "").split()),
        smt_control=root.read(f"{CPU}/smt/control"),
        idle_states=tuple(state for cpu in examples for state in _idle_states(root, cpu)),
        uncore_khz={name: khz for name, khz in _uncores(root) if khz},
        l3_ways=dict(_cache_ways(root)),
    )


def _cache_ways(root: Root) -> Iterable[tuple[str, int]]:
    """Each L3 cache's id and number of ways (filesystems/resctrl.rst)."""
    mask = root.read(f"{_RESCTRL}/info/L3/cbm_mask") or ""
    line = re.search(r"^\s*L3:(.*)$", root.read(f"{_RESCTRL}/schemata") or "", re.MULTILINE)
    if line and re.fullmatch(r"[0-9a-f]{1,16}", mask):
        for domain in re.findall(r"\b(\d{1,9})=", line[1]):
            yield domain, bin(int(mask, 16)).count("1")


def _uncores(root: Root) -> Iterable[tuple[str, Optional[int]]]:
    """Each uncore and its highest frequency (admin-guide/pm/intel_uncore_frequency_scaling.rst)."""
    folder = f"{CPU}/intel_uncore_frequency"
    for name in root.names(folder):
        if re.fullmatch(r"package_\d{1,4}_die_\d{1,4}|uncore\d{1,4}", name, re.ASCII):
            yield name, root.read_int(f"{folder}/{name}/initial_max_freq_khz")


def _idle_states(root: Root, cpu: int) -> Iterable[IdleState]:
    folder = f"{CPU}/cpu{cpu}/cpuidle"
    for number in numbered(root.names(folder), "state"):
        state = f"{folder}/state{number}"
        disabled = root.read_int(f"{state}/disable")
        yield IdleState(
            cpu=cpu,
            name=root.read(f"{state}/name") or f"state{number}",
            latency_us=root.read_int(f"{state}/latency"),
            disabled=None if disabled is None else disabled != 0,
        )


def read_firmware(root: Root, vendor: Optional[str], boot: int) -> Firmware:
    """Whether EFI booted the system, whether system management interrupts can be counted, and
    whether the kernel is locked down (kernel_lockdown(7))."""
    efi = True if root.exists("/sys/firmware/efi") else None
    if efi is None and root.names("/sys/firmware"):
        efi = False
    # MSR_SMI_COUNT is Intel's; the device exists only with the msr module.
    counts = vendor == "GenuineIntel" and root.exists(f"/dev/cpu/{boot}/msr")
    lockdown = root.read("/sys/kernel/security/lockdown")
    return Firmware(
        efi=efi,
        smi_counter=True if counts else None,
        locked_down=None if lockdown is None else "[none]" not in lockdown,
    )


def read_services(root: Root) -> Services:
    ksm = root.read_int("/sys/kernel/mm/ksm/run")
    return Services(
        cgroup=_cgroup(root),
        tuned_profile=root.read("/etc/tuned/active_profile") or None,
        ksm=None if ksm is None else ksm == 1,
        lowlatency_kernel=root.answer("lowlatency-kernel", _lowlatency_kernel) or None,
        ban_list=interrupt_movers.read_ban_list(root),
        link_files=interrupt_movers.read_link_files(root),
    )


def _lowlatency_kernel(root: Root) -> str:
    # One question, so that a capture records nothing else of the file.
    return " ".join(parse_drop_in(root.read(LOWLATENCY_KERNEL) or ""))


def parse_drop_in(text: str) -> list[str]:
    """The parameters that a file of /etc/default/grub.d adds to GRUB_CMDLINE_LINUX_DEFAULT or
    GRUB_CMDLINE_LINUX."""
    rows = re.findall(r"^\s*GRUB_CMDLINE_LINUX(?:_DEFAULT)?=(.*)$", text, re.MULTILINE)
    words = (word for line in rows for word in cmdline.parse(line.strip().strip("\"'")))
    return [word for word in words if not word.startswith("$")]


def _cgroup(root: Root) -> Optional[str]:
    if root.exists("/sys/fs/cgroup/cgroup.controllers"):
        return "v2"
    if root.exists("/sys/fs/cgroup/unified/cgroup.controllers"):
        return "hybrid"
    return "v1" if root.names("/sys/fs/cgroup") else None
