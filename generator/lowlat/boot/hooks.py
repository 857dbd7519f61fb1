# SPDX-License-Identifier: GPL-2.0-or-later
"""The hooks through which the distribution asks for a new kernel's entry: a script of GRUB's, and a
plugin of kernel-install's. Both do nothing until /etc/lowlat/boot.conf says where lowlat-gen is."""

from __future__ import annotations

from collections.abc import Iterator

from lowlat.base import resources
from lowlat.base.errors import Refused
from lowlat.boot import programs, units
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
        path, mode, content = _plugin()
        change.write(path, content, mode)


def upgrade(change: Transaction) -> Iterator[str]:
    """Write anew what an earlier version of lowlat put outside of its package. Yields what to say
    about files that stay as they are, for somebody edited them."""
    files = (*hooks.grub(programs.ourselves(change.root)), _plugin(), *units.files(change.root))
    for path, mode, content in files:
        try:
            if path in change.journal.entries and change.disk.get(path) is not None:
                change.write(path, content, mode)
        except Refused as error:
            yield f"{error.message}: it stays as it is"


def _plugin() -> tuple[str, int, str]:
    return f"{_OWN}/{_PLUGIN}", 0o755, resources.template(f"kernel-install/{_PLUGIN}")


def _packaged(root: Root) -> bool:
    return root.exists(f"{_PACKAGED}/{_PLUGIN}")
