# SPDX-License-Identifier: GPL-2.0-or-later
"""What others do to the boot: loaders that lowlat does not write, and managers of the line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Optional

from lowlat.host.root import Root
from lowlat.model import cmdline

_TUNED = "/etc/tuned/bootcmdline"
_SUSE = "/etc/sysconfig/bootloader"

#: Whose file it is, by what its name matches.
_OWNERS = (
    ("99-lowlatency.cfg", "the package lowlatency-kernel"),
    ("cloudimg", "the cloud image"),
    ("50-cloud", "the cloud image"),
    ("60_rt-conf", "rt-conf"),
    ("kdump", "kdump-tools"),
)


def recognise(root: Root) -> Optional[tuple[str, str]]:
    """A loader that lowlat does not write: its name, and where the line is added by hand."""
    if root.exists("/run/ostree-booted") or root.exists("/ostree/repo"):
        if root.exists("/usr/bin/bootc"):
            return "bootc", "in a file of /usr/lib/bootc/kargs.d"
        return "rpm-ostree", "with rpm-ostree kargs --append=PARAMETER"
    if root.exists("/usr/bin/sdbootutil"):
        kind = re.search(r"^LOADER_TYPE=\W?([\w-]+)", root.read(_SUSE) or "", re.MULTILINE)
        if kind and kind[1] in ("grub2-bls", "systemd-boot"):
            where = "in /etc/kernel/cmdline, then 'sdbootutil update-all-entries'"
            return f"{kind[1]} by sdbootutil", where
    for folder in ("/boot/firmware", "/boot"):
        if root.exists(f"{folder}/cmdline.txt") and root.exists(f"{folder}/config.txt"):
            return "Raspberry Pi firmware", f"at the end of the one line of {folder}/cmdline.txt"
    if root.exists("/boot/extlinux/extlinux.conf") and not root.exists("/boot/grub/grub.cfg"):
        return "U-Boot extlinux", "in U_BOOT_PARAMETERS of /etc/default/u-boot, then u-boot-update"
    for folder in ("/boot/efi", "/efi", "/boot"):
        images = [name for name in root.names(f"{folder}/EFI/Linux") if name.endswith(".efi")]
        if images:
            return "unified kernel images", "in /etc/kernel/cmdline, then rebuild the image"
    return None


def tuned_variables(root: Root) -> Mapping[str, str]:
    """The variables with which TuneD's bootloader plugin reaches the lines of GRUB."""
    found = re.search(r'^TUNED_BOOT_CMDLINE="?([^"\n]*)', root.read(_TUNED) or "", re.M)
    return {} if found is None else {"tuned_params": found[1]}


def source(root: Root, word: str) -> str:
    """Who puts this parameter onto the stock lines, as far as files tell."""
    name = re.escape(cmdline.name_of(word)).replace("_", "[-_]")
    pattern = re.compile(rf"(?<![\w.-]){name}(?![\w.-])")
    if pattern.search(tuned_variables(root).get("tuned_params", "")):
        return f"TuneD's bootloader plugin ({_TUNED})"
    folder = "/etc/default/grub.d"
    paths = [f"{folder}/{file}" for file in root.names(folder) if file.endswith(".cfg")]
    for path in reversed(["/etc/default/grub", *paths, "/etc/kernel/cmdline"]):
        if pattern.search(root.read(path) or ""):
            owner = next((who for part, who in _OWNERS if part in path), "")
            return f"{path}, of {owner}" if owner else path
    return "the stock entries themselves (grubby or a person)"
