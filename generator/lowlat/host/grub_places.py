# SPDX-License-Identifier: GPL-2.0-or-later
"""Where GRUB reads its configuration: in /boot, or on the EFI partition."""

import re
from collections.abc import Iterator

from lowlat.host import firmware
from lowlat.host.root import Root

#: The kinds of a grub.cfg: its own entries, entry files, another system's files, Photon OS' own.
GRUB = "grub"
GRUB_BLS = "grub-bls"
OTHERS_GRUB = "another system's GRUB"
PHOTON = "photon"

#: Where the boot partition or the EFI system partition is mounted.
ESPS = ("/boot/efi", "/efi", "/boot")


def find(root: Root) -> Iterator[tuple[str, str]]:
    """The folder of each grub.cfg that GRUB reads, and its kind. On the EFI partition it is GRUB's
    own one (RHEL 8, Fedora up to 33), or a few rows that lead to the one in /boot."""
    booted_by_efi = root.exists("/sys/firmware/efi")
    elsewhere = next((each for each in _started(root) if _leads_elsewhere(root, each)), None)
    if elsewhere:
        yield elsewhere, OTHERS_GRUB
        return
    own = [folder for folder in _esp_folders(root) if not _leads_on(root, folder)]
    if own and (booted_by_efi or not root.exists("/sys/firmware")):
        folders = own
    else:
        names = [f"/boot/{name}" for name in ("grub2", "grub")]
        folders = [folder for folder in names if root.link(folder) is None]
    for folder in folders:
        path = f"{folder}/grub.cfg"
        if root.exists(path):
            yield folder, _kind_of(root, path)


def _esp_folders(root: Root) -> list[str]:
    """The folders with a grub.cfg on the EFI partition; where the firmware started a program in
    one of them, that one."""
    return _started(root) or _with_grub(root)


def _with_grub(root: Root) -> list[str]:
    names = (f"{esp}/EFI/{name}" for esp in ESPS for name in root.names(f"{esp}/EFI"))
    return [folder for folder in names if root.exists(f"{folder}/grub.cfg")]


def _started(root: Root) -> list[str]:
    """The folders with a grub.cfg from which the firmware started a program: one, or none."""
    started = firmware.current_program(root).lower().rpartition("/")[0]
    return [each for each in _with_grub(root) if started and each.lower().endswith(started)]


def _leads_elsewhere(root: Root, folder: str) -> bool:
    """Whether a grub.cfg without entries of its own searches another file system than the one of
    /boot, which fstab tells."""
    text = root.read(f"{folder}/grub.cfg") or "" if _leads_on(root, folder) else ""
    search = r"^\s*search(?:\.fs_uuid|\s.*--fs-uuid\b.*?)\s+([0-9A-Fa-f]{4}[0-9A-Fa-f-]{4,})"
    wanted = re.search(search, text, re.MULTILINE)
    rows = [row.split() for row in (root.read("/etc/fstab") or "").splitlines()]
    mounts = {row[1]: row[0] for row in rows if len(row) > 2 and row[1] in ("/", "/boot")}
    device = mounts.get("/boot", mounts.get("/", ""))
    own = re.match(r"(?:UUID=\"?|/dev/disk/by-uuid/)([\w-]+)", device)
    return bool(wanted and own and own[1].lower() != wanted[1].lower())


def _leads_on(root: Root, folder: str) -> bool:
    """Whether a grub.cfg has no entries of its own: its last row is "configfile" (Debian, Fedora),
    "source" or "normal" (openSUSE) with another one."""
    text = root.read(f"{folder}/grub.cfg") or ""
    return re.search(r"^\s*(?:menuentry|submenu|blscfg)\b", text, re.MULTILINE) is None


def _kind_of(root: Root, path: str) -> str:
    config = root.read(path)
    if config is None:
        # Only root may read grub.cfg on some systems.
        default = root.read("/etc/default/grub") or ""
        reads = re.search(r"^\s*GRUB_ENABLE_BLSCFG=[\"']?true", default, re.MULTILINE)
        return GRUB_BLS if reads else GRUB
    if "photon.cfg" in config:
        return PHOTON
    return GRUB_BLS if re.search(r"^\s*blscfg\b", config, re.MULTILINE) else GRUB
