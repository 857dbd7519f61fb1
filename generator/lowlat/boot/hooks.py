# SPDX-License-Identifier: GPL-2.0-or-later
"""The files that lowlat installs beside boot entries. Through a script of GRUB's or a plugin of
kernel-install the distribution requests a new kernel's entry; both do nothing until
/etc/lowlat/boot.conf names lowlat-gen. Two systemd units: one selects TuneD's profile in every
boot, the other records a trial."""

from collections.abc import Iterable, Iterator
from typing import Optional

from lowlat.base.errors import Refused
from lowlat.boot.transaction import Transaction
from lowlat.host.root import Root
from lowlat.render import hooks
from lowlat.render.hooks import RenderedFile

#: What OpenRC, runit, s6 and sysvinit have while they run.
_OTHER_INITS = ("/run/openrc", "/run/runit", "/run/s6", "/run/initctl")


def has_systemd(root: Root) -> bool:
    """Whether this system boots with systemd."""
    return not has_other_init(root) and any(root.exists(folder) for folder in hooks.UNITS)


def has_other_init(root: Root) -> bool:
    """Whether another init runs this system. Packages install systemd's units beside it too, so
    only what runs tells (sd_booted(3))."""
    return not root.exists("/run/systemd/system") and any(map(root.exists, _OTHER_INITS))


def write_grub(change: Transaction) -> None:
    _write(change, hooks.grub(change.program))


def write_plugin(change: Transaction) -> None:
    """Install the plugin unless a package installed it."""
    _write(change, [hooks.settings(change.program)])
    _write(change, [hooks.plugin()], hooks.PLUGINS)


def write_kernel_scripts(change: Transaction) -> None:
    _write(change, [hooks.settings(change.program), *hooks.scripts()])


def write_units(change: Transaction, *, tuned: bool) -> None:
    """Install the units unless a package installed them; ``tuned`` enables the first one."""
    if not has_systemd(change.root):
        return
    _write(change, hooks.units(change.program), hooks.UNITS)
    own = f"{hooks.OWN_UNITS}/{hooks.BOOT}"
    wanted = f"{hooks.OWN_UNITS}/tuned.service.wants/{hooks.BOOT}"
    if tuned:
        change.link(wanted, _packaged(change.root, hooks.BOOT, hooks.UNITS) or own)
    else:
        change.put_back(wanted)


def upgrade(change: Transaction) -> Iterator[str]:
    """Rewrite the files that an earlier lowlat installed outside its package. Yields messages about
    edited files, which stay."""
    for file in hooks.every(change.program):
        try:
            if file.path in change.journal.entries and change.disk.get(file.path) is not None:
                _write(change, [file])
        except Refused as error:
            yield f"{error.message}: it stays as it is"


def _write(
    change: Transaction, files: Iterable[RenderedFile], packaged: Iterable[str] = ()
) -> None:
    for file in files:
        if _packaged(change.root, file.path.rpartition("/")[2], packaged) is None:
            change.write(file.path, file.content, file.mode)


def _packaged(root: Root, name: str, folders: Iterable[str]) -> Optional[str]:
    paths = (f"{folder}/{name}" for folder in folders)
    return next((path for path in paths if root.exists(path)), None)
