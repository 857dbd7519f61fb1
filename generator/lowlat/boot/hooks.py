# SPDX-License-Identifier: GPL-2.0-or-later
"""The hooks through which the distribution asks for a new kernel's entry: a script of GRUB's, and a
plugin of kernel-install's. Both do nothing until /etc/lowlat/boot.conf says where lowlat-gen is."""

from __future__ import annotations

from lowlat.base import resources
from lowlat.boot import programs
from lowlat.boot.transaction import Transaction
from lowlat.host.root import Root

SETTINGS = "/etc/lowlat/boot.conf"
GRUB = "/etc/grub.d/99_lowlat"
_PLUGIN = "95-lowlat.install"
_PACKAGED = "/usr/lib/kernel/install.d"
_OWN = "/etc/kernel/install.d"


def grub(lowlat_gen: str) -> tuple[tuple[str, int, str], ...]:
    """The files that make grub-mkconfig write our entries: path, mode and content."""
    return (_settings(lowlat_gen), (GRUB, 0o755, resources.template("grub/99_lowlat")))


def write_grub(change: Transaction) -> None:
    for path, mode, content in grub(programs.ourselves(change.root)):
        change.write(path, content, mode)


def write_plugin(change: Transaction) -> None:
    """Install the plugin where no package brought it."""
    path, mode, content = _settings(programs.ourselves(change.root))
    change.write(path, content, mode)
    if not _packaged(change.root):
        change.write(f"{_OWN}/{_PLUGIN}", resources.template(f"kernel-install/{_PLUGIN}"), 0o755)


def _packaged(root: Root) -> bool:
    return root.exists(f"{_PACKAGED}/{_PLUGIN}")


def _settings(lowlat_gen: str) -> tuple[str, int, str]:
    text = (
        "# SPDX-License-Identifier: GPL-2.0-or-later\n"
        "# Written by lowlat-gen; its hooks read it as a shell does.\n"
        f"LOWLAT_GEN='{lowlat_gen}'\n"
    )
    return (SETTINGS, 0o644, text)
