# SPDX-License-Identifier: GPL-2.0-or-later
"""GRUB whose configuration grub-mkconfig generates: Debian, Ubuntu, openSUSE Leap.

lowlat's script in /etc/grub.d makes the entries; grub.cfg is always generated, checked and then
renamed, never edited.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Optional

from lowlat.base.errors import Refused
from lowlat.boot import decision as decisions
from lowlat.boot import entry_line, foreign, grub_line, hooks, places, programs
from lowlat.boot.foreseen import Foreseen
from lowlat.boot.loaders import (
    grub_cfg,
    grub_default,
    grub_entries,
    grub_language,
    grub_settings,
    grub_words,
)
from lowlat.boot.loaders.grub_config import GrubConfig, check_sourced, check_unsigned
from lowlat.boot.loaders.grub_env import Environment
from lowlat.boot.loaders.grub_menu import GrubEntry, Menu
from lowlat.boot.loaders.interface import (
    BootEntry,
    BootMenu,
    Loader,
    check_entry,
    refuse_pending,
)
from lowlat.boot.transaction import Transaction
from lowlat.host.root import Root
from lowlat.model.plan import Plan
from lowlat.probe import kernel_image
from lowlat.render.hooks import GRUB as SCRIPT

_TUNED = "/etc/grub.d/00_tuned"


def find(root: Root, folder: str) -> Optional[Grub]:
    """GRUB whose grub.cfg lies in this folder, if its tools are there and wrote it."""
    names = sorted(("grub", "grub2"), key=lambda name: not folder.endswith(f"/{name}"))
    mkconfig = programs.find(root, *(f"{name}-mkconfig" for name in names))
    check = programs.find(root, *(f"{name}-script-check" for name in names))
    if mkconfig and check and grub_line.is_generated(root, f"{folder}/grub.cfg"):
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
        self._config.check_script(grub_default.LINUX)
        places.check_writable(self._root, self._config.folder)

    def check_new(self) -> None:
        check_unsigned(self._root, self._config.folder)
        check_sourced(self._root, self._config.folder, self._config.live())
        bare = grub_cfg.parse(_without_ours(self._config.live()))
        self._check_default(bare, bare)

    def _check_default(self, menu: Menu, bare: Menu) -> None:
        """Raises Refused if lowlat's entries, in ``menu`` or behind the ``bare`` one, could be what
        a default means."""
        places = [item.places[0] for item in menu.entries if item.path[0] == grub_entries.SUBMENU]
        behind = 1 + max((item.places[0] for item in bare.entries), default=-1)
        file, write = grub_default.setting(self._root), f"{self._config.mkconfig} -o"
        remedy = {
            "GRUB_DEFAULT": f"GRUB_DEFAULT={{}} in {file}, then {write} {self._config.path}",
            "saved_entry": self._environment.command("set", "saved_entry={}"),
        }
        kept = self._environment.read()
        grub_default.check(bare, kept, min(places, default=behind), remedy)

    def describe(self) -> BootMenu:
        return self._boot(self._menu(), grub_entries.edited(self._config.live()))

    def _menu(self) -> Menu:
        return grub_cfg.parse(self._config.live())

    def _boot(self, menu: Menu, edited: Collection[str] = ()) -> BootMenu:
        kept = self._environment.read()
        made = {item: _entry(self._root, item, menu) for item in menu.entries}
        entries = {item: replace(each, edited=each.id in edited) for item, each in made.items()}
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

    def shows_pending(self) -> bool:
        return self._config.can_preview()

    def generator(self) -> str:
        config = self._config
        there = programs.find(self._root, "update-grub")
        return "update-grub" if there else f"{config.mkconfig} -o {config.path}"

    def taken_along(self) -> Iterator[str]:
        new = self._root.exists(_TUNED) and not _has_tuned(self._config.live())
        if new and not any(foreign.tuned_variables(self._root).values()):
            yield f"{_TUNED} of TuneD's package is generated too: its variables are empty"

    def _changes(self, live: str, fresh: str) -> Sequence[str]:
        what = (self._config.path, "as it would be generated now")
        fresh = fresh if _has_tuned(live) else grub_cfg.without_empty_tuned(fresh)
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
                change.put_back(grub_default.OWN)
                text = self._config.generate()
                bare = grub_cfg.with_default_of(bare, text)
            fresh = _without_ours(text)
            if accept and fresh != bare:
                raise Refused(f"{SCRIPT}: changes what other scripts of /etc/grub.d write")
            refuse_pending(self, self._changes(bare, fresh))
            return text, self._check(text, plans)

        return self._config.put(make)

    def foresee(self, change: Foreseen, plans: Sequence[Plan]) -> None:
        boot, markers = self.describe(), {plan.marker for plan in plans}
        made = {word for entry in boot.tuned() for word in entry.words if entry_line.marked([word])}
        if plans:
            hooks.write_grub(change)
            own = self._root.read(grub_default.OWN) or ""
            names = (grub_default.NEWEST, *(_entry_id(boot, plan) for plan in plans))
            if made - markers and any(name in own for name in names):
                change.put_back(grub_default.OWN)
        if boot.next and boot.next.ours and markers.isdisjoint(boot.next.words):
            change.ways[f"{self._config.folder}/grubenv"] = "change"
        if change.ways or made != markers:
            change.ways[self._config.path] = "generate"

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
        self._check_default(menu, grub_cfg.parse(_without_ours(text)))
        return boot

    def check_one_shot(self) -> None:
        check_sourced(self._root, self._config.folder, self._config.live())
        self._environment.check_one_shot(self._config.path, self._config.live())

    def _next(self) -> str:
        return self._environment.next_entry()

    def _cancel(self) -> str:
        return self._environment.command("unset", "next_entry")

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
            change.put_back(grub_default.OWN)
        else:
            self._write_default(change, entry, follow)
        text = self._config.generate()
        if _without_ours(text) != grub_cfg.with_default_of(bare, text):
            raise Refused(f"{grub_default.OWN}: changes more than the default")
        boot = self._boot(grub_cfg.parse(text))
        wanted = entry and boot.promoted(entry, follow)
        if wanted and (boot.default is None or boot.default.id != wanted.id):
            raise grub_default.not_own(self._root, self._config.mkconfig, wanted)
        return text, boot

    def _write_default(self, change: Transaction, entry: BootEntry, follow: bool) -> None:
        if grub_settings.reads_folder(self._root, self._config.mkconfig):
            images = (item.image for item in self._menu().entries if item.id_path == entry.name)
            image = next(images, "").rpartition("/")[2]
            change.write(grub_default.OWN, grub_default.own(entry, image, follow))

    def foresee_default(self, change: Foreseen, entry: BootEntry, follow: bool) -> None:
        boot, mkconfig = self.describe(), self._config.mkconfig
        wanted = boot.promoted(entry, follow)
        theirs = grub_default.theirs(self._root, mkconfig)
        if theirs is not None:
            kept = self._environment.read()
            item = self._menu().find(kept.get("saved_entry", "") if theirs == "saved" else theirs)
            if item is None or item.id != wanted.id:
                raise grub_default.not_own(self._root, mkconfig, wanted)
        self._write_default(change, entry, follow)
        if change.ways or boot.default != wanted:
            change.ways[self._config.path] = "generate"

    def outlasting(self) -> Iterator[str]:
        return grub_default.outlasting(self._root, self._config, self._environment)

    def remove(self) -> None:
        self._config.tidy()
        self._environment.tidy()
        for name in ("next_entry", "prev_entry"):
            if self._environment.read().get(name, "").startswith(f"{grub_entries.SUBMENU}>"):
                self._environment.set(name, None)
        self._config.put(lambda: (self._config.generate(), None))


def _entry(root: Root, item: GrubEntry, menu: Menu) -> BootEntry:
    """One menu entry. A lowlat entry with several linux lines has no line that counts."""
    ours = item.path[0] == grub_entries.SUBMENU and item.id != entry_line.STOCK
    release = kernel_image.release(root, item.image)
    line = "" if ours and len(item.lines) != 1 else item.text
    words, unfilled = (grub_words.passed(line, each) for each in (menu.variables, {}))
    trial = ours and item.id.endswith(entry_line.trial_id(""))
    foreign = item.script != "10_linux" or not grub_entries.is_stock(item.id)
    files = (item.image, *grub_words.passed(item.initrd, menu.variables))
    return BootEntry(item.id_path, release, words, ours, trial, foreign, unfilled, files)


def _entry_id(boot: BootMenu, plan: Plan) -> str:
    """The id of the tuned entry that a plan gets."""
    stock = boot.stock(str(plan.kernel))
    words = (stock.unfilled or stock.words) if stock else ()
    return entry_line.entry_id(str(plan.kernel), entry_line.tuned(words, plan))


def _has_tuned(text: str) -> bool:
    """Whether this configuration has the section of TuneD's script."""
    return f" {_TUNED} ###\n" in text


def _without_ours(text: str) -> str:
    """The configuration without the section of lowlat's script."""
    return grub_cfg.without_section(text, SCRIPT.rpartition("/")[2])


def _is_tried(before: BootMenu, after: BootMenu) -> bool:
    """Whether the default is a stock entry, or every earlier line is still there: if the default
    follows new kernels it is a number, which another line may have now."""
    if after.default is None or not after.default.ours:
        return True
    return {entry.id for entry in before.tuned()} <= {entry.id for entry in after.tuned()}
