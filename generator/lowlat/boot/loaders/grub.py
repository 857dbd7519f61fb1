# SPDX-License-Identifier: GPL-2.0-or-later
"""GRUB whose configuration grub-mkconfig generates: Debian, Ubuntu, openSUSE Leap.

lowlat's script in /etc/grub.d makes the entries; grub.cfg is always generated, checked and then
renamed, never edited.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Optional

from lowlat.base import encode
from lowlat.base.errors import Refused
from lowlat.boot import decision as decisions
from lowlat.boot import entry_line, hooks, line_files, programs
from lowlat.boot.loaders import grub_cfg, grub_entries, grub_language, grub_words
from lowlat.boot.loaders.grub_config import GrubConfig
from lowlat.boot.loaders.grub_env import Environment
from lowlat.boot.loaders.grub_menu import GrubEntry, Menu
from lowlat.boot.loaders.interface import (
    BootEntry,
    BootMenu,
    Loader,
    Unwritable,
    check_entry,
    refuse_pending,
)
from lowlat.boot.transaction import Transaction
from lowlat.host.root import Root
from lowlat.model.plan import Plan
from lowlat.probe import kernel_image
from lowlat.render.hooks import GRUB as SCRIPT

DEFAULT = "/etc/default/grub.d/zz-lowlat.cfg"

_LINUX = "/etc/grub.d/10_linux"

#: The tuned entry of the newest kernel: the first one in the submenu is a stock entry.
_NEWEST = f"{grub_entries.SUBMENU}>1"


def find(root: Root, folder: str) -> Optional[Grub]:
    """GRUB whose grub.cfg lies in this folder, if its tools are there and wrote it."""
    names = sorted(("grub", "grub2"), key=lambda name: not folder.endswith(f"/{name}"))
    mkconfig = programs.find(root, *(f"{name}-mkconfig" for name in names))
    check = programs.find(root, *(f"{name}-script-check" for name in names))
    if mkconfig and check and line_files.is_generated(root, f"{folder}/grub.cfg"):
        return Grub(root, GrubConfig(root, folder, mkconfig, check))
    return None


class Grub(Loader):
    # Nothing to refresh: kernel packages call grub-mkconfig, which runs lowlat's script.
    name = "GRUB"

    def __init__(self, root: Root, config: GrubConfig) -> None:
        self._root = root
        self._config = config
        self._environment = Environment(root, f"{config.folder}/grubenv")

    def check(self) -> None:
        if os.geteuid() != 0:
            raise Refused("grub-mkconfig runs for root only", hint="run as root")
        if not self._root.exists(_LINUX):
            raise Refused(f"{_LINUX}: is not there", hint="is GRUB installed in full?")
        programs.check_writable(self._root, self._config.folder)

    def check_new(self) -> None:
        # lowlat's entries come of 10_linux, which leaves a root on ZFS to 10_linux_zfs on Ubuntu.
        live = self._config.live()
        if "menuentry" in live and "menuentry" not in grub_cfg.section(live, "10_linux"):
            raise Unwritable(f"{_LINUX} makes no entry on this system")

    def describe(self) -> BootMenu:
        return self._boot(grub_cfg.parse(self._config.live()))

    def _boot(self, menu: Menu) -> BootMenu:
        kept = self._environment.read()
        entries = {item: _entry(self._root, item, menu) for item in menu.entries}
        name = menu.filled(menu.default, kept)
        default = menu.find(name) if name is not None else None
        following = menu.find(kept["next_entry"]) if kept.get("next_entry") else None
        chosen = (None if item is None else entries[item] for item in (default, following))
        return BootMenu(tuple(entries.values()), *chosen)

    def pending(self, *, dry: bool = False) -> Sequence[str]:
        # lowlat's own section is no pending change: an interrupted apply left it out.
        made = self._config.preview() if dry else self._config.generate()
        live, fresh = map(_without_ours, (self._config.live(), made))
        return self._changes(live, fresh)

    def _changes(self, live: str, fresh: str) -> Sequence[str]:
        what = (self._config.path, "as it would be generated now")
        return tuple(grub_language.changes(live, fresh, what))

    def write(self, change: Transaction, plans: Sequence[Plan], accept: bool) -> BootMenu:
        before = self.describe()

        def make() -> tuple[str, BootMenu]:
            # Without lowlat's section; accepted changes of others are part of it.
            bare = _without_ours(self._config.generate() if accept else self._config.live())
            hooks.write_grub(change)
            # The text that will be installed.
            text = self._config.generate()
            if not _is_tried(before, self._boot(grub_cfg.parse(text))):
                # The promoted line is no longer generated, so the default that names it goes.
                change.put_back(DEFAULT)
                text = self._config.generate()
                bare = grub_cfg.with_default_of(bare, text)
            fresh = _without_ours(text)
            if accept and fresh != bare:
                raise Refused(f"{SCRIPT}: changes what other scripts of /etc/grub.d write")
            refuse_pending(self.name, self._changes(bare, fresh))
            return text, self._check(text, plans)

        return self._config.put(make)

    def _check(self, text: str, plans: Sequence[Plan]) -> BootMenu:
        """The resulting menu. Raises Refused if lowlat's entries are not the last ones, each with
        the stock line of its kernel and its plan."""
        menu = grub_cfg.parse(text)
        boot = self._boot(menu)
        by_release = {plan.kernel: plan for plan in plans}
        for entry in (*boot.tuned(), *boot.tuned(trial=True)):
            stock, plan = boot.stock(entry.release), by_release.get(entry.release)
            # lowlat's script stored the plan of a kernel that was installed meanwhile.
            plan = plan or decisions.stored(self._root, entry.release)
            if stock is None or plan is None:
                raise Refused(f"{entry.id}: there is no stock entry or no plan of that kernel")
            check_entry(self._root, entry, stock, plan)
        made = {entry.release for entry in boot.tuned()}
        for plan in plans:
            if plan.kernel not in made:
                raise Refused(f"{SCRIPT} made no entry for kernel {plan.kernel}")
        _check_last(menu)
        return boot

    def check_one_shot(self) -> None:
        self._environment.check_one_shot(self._config.path, self._config.live())

    def one_shot(self, entry: Optional[BootEntry]) -> None:
        self._environment.set_next(entry)

    def make_default(
        self, change: Transaction, entry: Optional[BootEntry], follow: bool
    ) -> BootMenu:
        return self._config.put(lambda: self._made_default(change, entry, follow))

    def _made_default(
        self, change: Transaction, entry: Optional[BootEntry], follow: bool
    ) -> tuple[str, BootMenu]:
        # Before this change, for comparison: all other changes are in it.
        bare = _without_ours(self._config.generate())
        if entry is None:
            change.put_back(DEFAULT)
        else:
            if "default/grub.d" not in (self._root.read(self._config.mkconfig) or ""):
                why = f"{self._config.mkconfig} reads no files in /etc/default/grub.d"
                raise Refused(why, hint=f"set GRUB_DEFAULT='{entry.name}' in /etc/default/grub")
            change.write(DEFAULT, self._default_file(entry, follow))
        text = self._config.generate()
        if _without_ours(text) != grub_cfg.with_default_of(bare, text):
            raise Refused(f"{DEFAULT}: changes more than the default")
        boot = self._boot(grub_cfg.parse(text))
        wanted = next(boot.tuned(), None) if follow else entry
        if wanted is not None and (boot.default is None or boot.default.id != wanted.id):
            hint = f"what sets GRUB_DEFAULT after it? {_later(self._root)}"
            raise Refused(f"{DEFAULT} does not make {wanted.id} the default", hint=hint)
        return text, boot

    def _default_file(self, entry: BootEntry, follow: bool) -> str:
        """The file that sets GRUB_DEFAULT, as long as the entry can be generated."""
        menu = grub_cfg.parse(self._config.live()).entries
        lines = (item.line for item in menu if item.id_path == entry.name)
        images = (line.split()[0].rpartition("/")[2] for line in lines)
        image = encode.shell(f"/boot/{next(images, '')}")
        kernel = "" if follow else f" && [ -e {image} ]"
        gone = f"99_lowlat{'' if follow else f' or Linux {encode.shell(entry.release)}'}"
        return (
            "# SPDX-License-Identifier: GPL-2.0-or-later\n"
            "# Written by 'lowlat-gen promote'; 'lowlat-gen rollback' removes it.\n"
            f"if [ -x {SCRIPT} ] && [ -x {_LINUX} ]{kernel}; then\n"
            f"\tGRUB_DEFAULT={encode.shell(_NEWEST if follow else entry.name)}\n"
            "else\n"
            f"\techo lowlat: {gone} is gone: the default is what it was before promote >&2\n"
            "fi\n"
        )

    def remove(self) -> None:
        self._config.tidy()
        self._environment.tidy()
        following = self._environment.read().get("next_entry", "")
        if following.startswith(f"{grub_entries.SUBMENU}>"):
            self.one_shot(None)
        self._config.put(lambda: (self._config.generate(), None))


def _entry(root: Root, item: GrubEntry, menu: Menu) -> BootEntry:
    """One menu entry. A lowlat entry with several linux lines has no line that counts."""
    ours = item.path[0] == grub_entries.SUBMENU and item.id != entry_line.STOCK
    image, *written = grub_words.split(item.line) or [""]
    release = kernel_image.release(root, "".join(grub_words.passed(image, {})))
    line = "" if ours and len(item.lines) != 1 else " ".join(written)
    words, unfilled = (grub_words.passed(line, each) for each in (menu.variables, {}))
    trial = ours and item.id.endswith(entry_line.trial_id(""))
    foreign = item.script != "10_linux" or not grub_entries.is_stock(item.id)
    return BootEntry(item.id_path, release, words, ours, trial, foreign, unfilled)


def _without_ours(text: str) -> str:
    """The configuration without the section of lowlat's script."""
    return grub_cfg.without_section(text, SCRIPT.rpartition("/")[2])


def _is_tried(before: BootMenu, after: BootMenu) -> bool:
    """Whether the default is a stock entry, or every earlier line is still there: if the default
    follows new kernels it is a number, which another line may have now."""
    if after.default is None or not after.default.ours:
        return True
    return {entry.id for entry in before.tuned()} <= {entry.id for entry in after.tuned()}


def _check_last(menu: Menu) -> None:
    """Raises Refused if a default given as a number would now mean another entry."""
    places = [item.places[0] for item in menu.entries if item.path[0] == grub_entries.SUBMENU]
    first = menu.default.partition(">")[0]
    if places and first.isdigit() and int(first) >= places[0]:
        why = f"GRUB_DEFAULT={menu.default} would mean an entry of lowlat's, or one after them"
        raise Refused(why, hint="name the default by its id instead")


def _later(root: Root) -> str:
    own = DEFAULT.rpartition("/")[2]
    later = [name for name in root.names("/etc/default/grub.d") if name > own]
    return ", ".join(later) or "or a script does"
