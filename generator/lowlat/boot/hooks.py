# SPDX-License-Identifier: GPL-2.0-or-later
"""The hooks through which the distribution asks for a new kernel's entry: a script of GRUB's, and a
plugin of kernel-install's. Both do nothing until /etc/lowlat/boot.conf says where lowlat-gen is."""

from __future__ import annotations

from lowlat.base import resources
from lowlat.boot import programs
from lowlat.boot.transaction import Transaction
from lowlat.host.root import Root
from lowlat.render import hooks

_PLUGIN = "95-lowlat.install"
_PACKAGED = "/usr/lib/kernel/install.d"
_OWN = "/etc/kernel/install.d"


def write_grub(change: Transaction) -> None:
    for path, mode, content in hooks.grub(programs.ourselves(change.root)):
        change.write(path, content, mode)


def write_plugin(change: Transaction) -> None:
    """Install the plugin where no package brought it."""
    path, mode, content = hooks.settings(programs.ourselves(change.root))
    change.write(path, content, mode)
    if not _packaged(change.root):
        change.write(f"{_OWN}/{_PLUGIN}", resources.template(f"kernel-install/{_PLUGIN}"), 0o755)


def _packaged(root: Root) -> bool:
    return root.exists(f"{_PACKAGED}/{_PLUGIN}")
