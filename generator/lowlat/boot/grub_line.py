# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the line of GRUB's entries comes from, for GRUB and what reads its files."""

import re
from collections.abc import Mapping

from lowlat.boot import programs
from lowlat.boot.line_file import Finder, LineFile, setting
from lowlat.host import boot_loader
from lowlat.host.boot_loader import BootLoader
from lowlat.host.root import Root

ENTRIES = "/boot/loader/entries"

_XENSERVER = ("/boot/efi/EFI/xenserver/grub.cfg", "/boot/grub/grub.cfg")

#: Before the output of each script of grub-mkconfig.
_BEGIN = "### BEGIN /etc/grub.d/"


def _grub(root: Root, loader: BootLoader) -> LineFile:
    config = f"{loader.folder}/grub.cfg"
    if is_generated(root, config) and programs.find(root, "grub-mkconfig", "grub2-mkconfig"):
        script = _script_of(root, config)
        if script and not re.match(r"\d+_linux", script):
            return _generated("GRUB by a script", f"/etc/grub.d/{script}", config)
        return _generated("GRUB", settings(root), config)
    return LineFile("GRUB without grub-mkconfig", config)


def _generated(section: str, path: str, config: str) -> LineFile:
    return LineFile(section, path, {"config": config}, (config,))


def _script_of(root: Root, config: str) -> str:
    """The first script of grub-mkconfig that made an entry of the image which runs; "" if none
    did."""
    image, found = boot_loader.boot_image(root).rpartition("/")[2], dict[str, str]()
    for part in (root.read(config) or "").split(_BEGIN)[1:]:
        for row in re.findall(r"^\s*linux\w*\s+[\"']?(\S+?)[\"']?(?:\s|$)", part, re.MULTILINE):
            found.setdefault(row.rpartition("/")[2], part.partition(" ")[0])
    return found.get(image, "") if image else ""


def is_generated(root: Root, config: str) -> bool:
    """Whether a grub.cfg is there and grub-mkconfig wrote it, as far as it can be read."""
    return root.exists(config) and _BEGIN in (root.read(config) or _BEGIN)


def settings(root: Root) -> str:
    drop_ins = "/etc/default/grub.d/*.cfg"
    return setting(root, "GRUB_CMDLINE_LINUX_DEFAULT", "/etc/default/grub", drop_ins)


def _grub_bls(root: Root, _: BootLoader) -> LineFile:
    without = "" if programs.find(root, "grubby") else ", without grubby"
    return LineFile(f"GRUB with entry files{without}", ENTRIES)


def _xen(root: Root, _: BootLoader) -> LineFile:
    if root.exists("/opt/xensource/libexec/xen-cmdline"):
        return LineFile("Xen of XenServer", made=_XENSERVER)
    configs = (f"/boot/{name}/grub.cfg" for name in ("grub2", "grub"))
    own = (path for path in configs if f"{_BEGIN}20_linux_xen" in (root.read(path) or ""))
    config = next(own, "/boot/grub/grub.cfg")
    return _generated("Xen", settings(root), config)


def _petitboot(root: Root, _: BootLoader) -> LineFile:
    """It reads the files of GRUB, but knows no path of an entry through submenus."""
    kinds = {each.kind: each.source for each in boot_loader.leftovers(root)}
    if boot_loader.GRUB_BLS in kinds:
        return LineFile("Petitboot with entry files", ENTRIES)
    config = kinds.get(boot_loader.GRUB, "/boot/grub/grub.cfg")
    return _generated("Petitboot", settings(root), config)


FINDERS: Mapping[str, Finder] = {
    boot_loader.GRUB: _grub,
    boot_loader.GRUB_BLS: _grub_bls,
    boot_loader.XEN: _xen,
    boot_loader.PETITBOOT: _petitboot,
}
