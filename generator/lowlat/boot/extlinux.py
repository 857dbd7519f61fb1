# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of labels, as extlinux, syslinux and U-Boot read them, and what generates them."""

import re
from collections.abc import Mapping

from lowlat.boot import programs
from lowlat.boot.line_file import KERNEL_CMDLINE, Finder, LineFile, sets, setting
from lowlat.host import boot_loader
from lowlat.host.boot_loader import BootLoader
from lowlat.host.root import Root


def _extlinux(root: Root, loader: BootLoader) -> LineFile:
    text = root.read(loader.source) or ""
    if "generated automatically" not in text or not programs.find(root, "u-boot-update"):
        return LineFile("extlinux", loader.source, {"label": _default_label(text)})
    folders = ("/usr/share/u-boot-menu/conf.d/*.conf", "/etc/u-boot-menu/conf.d/*.conf")
    path = setting(root, "U_BOOT_PARAMETERS", "/etc/default/u-boot", *folders)
    by_line = sets("U_BOOT_PARAMETERS", root.read(path) or "")
    # Unset, or set to the content of that file, as Ubuntu's images for Rockchip do.
    if root.exists(KERNEL_CMDLINE) and (by_line is None or KERNEL_CMDLINE in by_line):
        section = "U-Boot extlinux by /etc/kernel/cmdline"
        return LineFile(section, KERNEL_CMDLINE, made=(loader.source,))
    return LineFile("U-Boot extlinux", path, made=(loader.source,))


def _syslinux(root: Root, loader: BootLoader) -> LineFile:
    label = _default_label(root.read(loader.source) or "")
    return LineFile("syslinux", loader.source, {"label": label})


def _alpine(root: Root, loader: BootLoader) -> LineFile:
    path = "/etc/update-extlinux.conf"
    if root.exists(path):
        return LineFile("update-extlinux", path, made=(loader.source,))
    label = _default_label(root.read(loader.source) or "")
    return LineFile("extlinux", loader.source, {"label": label})


def of_label(text: str, label: str) -> str:
    """The part of a label in a file of extlinux's; the whole text without such a label."""
    parts = re.split(r"^(?=\s*label\s)", text, flags=re.MULTILINE | re.IGNORECASE)
    named = re.compile(rf"\s*label\s+{re.escape(label)}\s*$", re.MULTILINE | re.IGNORECASE)
    return next(filter(named.match, parts), text)


def _default_label(text: str) -> str:
    """The label that extlinux boots: that of MENU DEFAULT, else of DEFAULT, else the first."""
    rows = [row.split() for row in text.splitlines()]
    labels, marked, default = [], "", ""
    for row in rows:
        key = row[0].lower() if row else ""
        if key == "label" and len(row) > 1:
            labels.append(row[1])
        elif key == "default" and len(row) > 1:
            default = row[1]
        elif [word.lower() for word in row] == ["menu", "default"] and labels:
            marked = labels[-1]
    named = default if default in labels else ""
    return marked or named or next(iter(labels), "that boots")


FINDERS: Mapping[str, Finder] = {
    boot_loader.EXTLINUX: _extlinux,
    boot_loader.ALPINE_EXTLINUX: _alpine,
    boot_loader.SYSLINUX: _syslinux,
}
