# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether this machine is a guest, and of which hypervisor, as systemd-detect-virt and lscpu do."""

import re
from typing import Optional

from lowlat.base import resources
from lowlat.host.root import Root

#: Patterns of DMI text, by hypervisor.
_DMI_SIGNS = resources.texts("probe/signs.ini")["dmi"]

_TREE = "/proc/device-tree"

#: The machine's own BIOS information: "virtual machine" is bit 4 of the second byte of its extended
#: characteristics (SMBIOS 3, 7.1.2.2). Not every guest has it set, but no hardware has.
_BIOS, _EXTENDED, _IS_GUEST = "/sys/firmware/dmi/entries/0-0/raw", 0x13, 0x10


def read_hypervisor(root: Root, cpuinfo: str) -> Optional[str]:
    """The hypervisor of this guest; None on hardware, or if there is no sign of one. A Xen control
    domain ("xen-dom0") counts as a guest: Xen, not Linux, owns its idle states and clocks."""
    told = _sys_hypervisor(root) or _cpuinfo_names(cpuinfo)
    flags = re.search(r"^flags\s*:.*", cpuinfo, re.MULTILINE)
    # Every x86 hypervisor sets the flag. DMI may mislead: a cloud's bare metal has the cloud's
    # name.
    if told or (flags and not re.search(r"\bhypervisor\b", flags[0])):
        return told
    other = _x86(root) if flags else _smbios(root)
    return _dmi(root) or _device_tree(root) or _s390(root) or other


def _sys_hypervisor(root: Root) -> Optional[str]:
    kind = root.read("/sys/hypervisor/type")
    if kind == "xen" and "control_d" in (root.read("/proc/xen/capabilities") or ""):
        return "xen-dom0"
    return kind or None


def _dmi(root: Root) -> Optional[str]:
    names = ("product_name", "sys_vendor", "board_vendor", "bios_vendor", "product_version")
    texts = [(root.read(f"/sys/class/dmi/id/{name}") or "").lower() for name in names]
    if "metal" in texts[0]:
        return None
    kinds = (kind for text in texts for kind, signs in _DMI_SIGNS.items() if re.search(signs, text))
    return next(kinds, None)


def _smbios(root: Root) -> Optional[str]:
    """ARM has no flag for guests, and clouds have names of their own (Hetzner)."""
    table = root.read_bytes(_BIOS) or b""
    is_guest = len(table) > _EXTENDED and table[_EXTENDED] & _IS_GUEST
    return "unknown" if is_guest else None


def _device_tree(root: Root) -> Optional[str]:
    kind = root.read(f"{_TREE}/hypervisor/compatible")
    if kind:
        return "kvm" if "kvm" in kind else kind.replace("\0", ",")
    if re.search(r"linux,dummy-virt|-virtio\b|qemu", root.read(f"{_TREE}/compatible") or ""):
        return "qemu"
    # Logical partitions of POWER machines (lscpu-virt.c).
    if root.exists(f"{_TREE}/chosen/qemu,graphic-width"):
        return "kvm"
    if root.exists(f"{_TREE}/ibm,partition-name") and root.exists(f"{_TREE}/hmc-managed?"):
        return "powervm"
    return None


def _s390(root: Root) -> Optional[str]:
    program = re.search(r"VM\d\d Control Program:\s*(\S+)", root.read("/proc/sysinfo") or "")
    return program[1] if program else None


def _cpuinfo_names(cpuinfo: str) -> Optional[str]:
    if re.search(r"^vendor_id\s*:\s*User Mode Linux", cpuinfo, re.MULTILINE):
        return "uml"
    if re.search(r"^(model name|cpu|machine)\s*:.*\bQEMU\b", cpuinfo, re.MULTILINE | re.IGNORECASE):
        return "qemu"
    return None


def _x86(root: Root) -> str:
    clocks = root.read("/sys/devices/system/clocksource/clocksource0/available_clocksource") or ""
    return "kvm" if "kvm-clock" in clocks.split() else "unknown"
