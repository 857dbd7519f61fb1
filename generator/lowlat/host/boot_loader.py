# SPDX-License-Identifier: GPL-2.0-or-later
"""What boots this system, by the loader's own variable and the files of the boot loaders."""

import re
from typing import Optional

from lowlat.host.root import Root

GRUB = "grub"
GRUB_BLS = "grub-bls"
SYSTEMD_BOOT = "systemd-boot"
RASPBERRY_PI = "raspberry-pi"
EXTLINUX = "extlinux"
RPM_OSTREE = "rpm-ostree"

#: The loader's variables (https://systemd.io/BOOT_LOADER_INTERFACE).
VARIABLES = "/sys/firmware/efi/efivars"
_VENDOR = "4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"


def recognise(root: Root) -> Optional[str]:
    """The kind of boot loader, one of the names above; None if no file is found. Where rpm-ostree
    or bootc writes the loader's line, that is "rpm-ostree"."""
    if root.exists("/run/ostree-booted") or root.exists("/ostree/repo"):
        return RPM_OSTREE
    # If systemd-boot booted the system, a leftover grub.cfg boots nothing.
    if systemd_boot_ran(root):
        return SYSTEMD_BOOT
    if raspberry_pi_folder(root):
        return RASPBERRY_PI
    for grub in ("/boot/grub2", "/boot/grub"):
        if root.exists(f"{grub}/grub.cfg"):
            return GRUB_BLS if _reads_entry_files(root, grub) else GRUB
    if root.exists("/boot/extlinux/extlinux.conf"):
        return EXTLINUX
    for esp in ("/boot/efi", "/efi", "/boot"):
        if root.exists(f"{esp}/EFI/systemd") or root.exists(f"{esp}/loader/loader.conf"):
            return SYSTEMD_BOOT
    return None


def _reads_entry_files(root: Root, folder: str) -> bool:
    config = root.read(f"{folder}/grub.cfg")
    if config is not None:
        return re.search(r"^\s*blscfg\b", config, re.MULTILINE) is not None
    # Only root may read grub.cfg on some systems.
    default = root.read("/etc/default/grub") or ""
    return re.search(r"^\s*GRUB_ENABLE_BLSCFG=[\"']?true", default, re.MULTILINE) is not None


def systemd_boot_ran(root: Root) -> bool:
    """Whether systemd-boot booted this system, by its own variable."""
    return (variable(root, "LoaderInfo") or "").startswith("systemd-boot")


def variable(root: Root, name: str) -> Optional[str]:
    """A variable that the loader keeps in the firmware: UTF-16 behind four bytes of attributes."""
    data = root.read_bytes(f"{VARIABLES}/{name}-{_VENDOR}")
    return None if data is None else data[4:].decode("utf-16-le", "replace").strip("\0") or None


def raspberry_pi_folder(root: Root) -> Optional[str]:
    """The folder in which a Raspberry Pi's firmware reads its configuration."""
    names = ("cmdline.txt", "config.txt")
    places = ("/boot/firmware", "/boot")
    return next((at for at in places if all(root.exists(f"{at}/{name}") for name in names)), None)
