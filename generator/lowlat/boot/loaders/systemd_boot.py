# SPDX-License-Identifier: GPL-2.0-or-later
"""systemd-boot: bootctl sets the default and the next entry, in variables of the firmware. Stock
entries are files or unified kernel images. A lowlat entry starts such an image with a line of its
own, which the image accepts if Secure Boot is off (systemd-stub(7))."""

from __future__ import annotations

import fnmatch
import functools
import itertools
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Optional

from lowlat.base.errors import LowlatError, Refused
from lowlat.boot import places, programs
from lowlat.boot.loaders import bls_entries, version_order
from lowlat.boot.loaders.bls_entries import Snippet
from lowlat.boot.loaders.entry_files import EntryFiles
from lowlat.boot.loaders.interface import BootEntry, BootMenu, Unwritable, named
from lowlat.host import firmware, unified_image
from lowlat.host.root import Root
from lowlat.probe.kernel import running_release

#: The boot partition: XBOOTLDR before the EFI system partition.
_PLACES = ("/boot", "/efi", "/boot/efi")

#: The EFI system partition beside an XBOOTLDR at /boot.
_ESPS = ("/efi", "/boot/efi")

#: The first version that knows "preferred".
_PREFERRED = 260

#: The counter of systemd-boot in the name of a file whose tries are used up.
_SPENT = re.compile(r"\+0(-\d+)?\.(conf|efi)$")


def find(root: Root, _: str) -> Optional[SystemdBoot]:
    """systemd-boot with entries on its partitions, if bootctl can set what it boots. lowlat's lie
    beside the entry that was booted; another loader may have left some elsewhere."""
    read = [place for place in _partitions(root) if _names(root, place)]
    # A driver beside systemd-boot may read others, but only what boots shows that.
    places = [*read, *(each for each in _PLACES if each not in read and _names(root, each))]
    if not programs.find(root, "bootctl"):
        return None
    booted = bls_entries.base_name(firmware.loader_variable(root, "LoaderEntrySelected") or "")
    with_ours = (each for each in places if any(map(bls_entries.is_ours, _names(root, each))))
    with_booted = (each for each in places if booted in _names(root, each))
    release = running_release(root) or "none"
    with_running = (each for each in read if release in " ".join(_names(root, each)))
    place = next(itertools.chain(with_ours, with_booted, with_running, read), None)
    others = [each for each in read if each != place]
    return None if place is None else SystemdBoot(root, place, others)


def _names(root: Root, place: str) -> set[str]:
    """The entries of a boot partition."""
    files = [name for name in root.names(f"{place}/loader/entries") if name.endswith(".conf")]
    files += (path.rpartition("/")[2] for path in images(root, place))
    return set(map(bls_entries.base_name, files))


def _partitions(root: Root) -> list[str]:
    """Where systemd-boot may read entries: FAT file systems of fstab, and places that are not in
    it, as systemd mounts those by itself."""
    rows = (row.split() for row in (root.read("/etc/fstab") or "").splitlines())
    kinds = {row[1]: row[2] for row in rows if len(row) > 2 and not row[0].startswith("#")}
    return [place for place in _PLACES if kinds.get(place, "auto") in ("vfat", "msdos", "auto")]


def images(root: Root, place: str) -> list[str]:
    """The unified kernel images of a boot partition."""
    names = root.names(f"{place}/EFI/Linux")
    return [f"/EFI/Linux/{name}" for name in names if name.endswith(bls_entries.IMAGE)]


class SystemdBoot(EntryFiles):
    name = "systemd-boot"

    def __init__(self, root: Root, place: str, others: Sequence[str] = ()) -> None:
        super().__init__(root, f"{place}/loader/entries")
        self._place = place
        self._others = others

    def check(self) -> None:
        places.check_writable(self._root, self._place)
        if os.geteuid() != 0:
            raise Refused("bootctl sets what boots for root only", hint="run as root")

    def check_new(self) -> None:
        if firmware.secure_boot(self._root) and images(self._root, self._place):
            raise Unwritable("Secure Boot is on: a unified kernel image takes no line but its own")

    def describe(self) -> BootMenu:
        return self._menu(self._snippets())

    def _menu(self, snippets: Sequence[Snippet]) -> BootMenu:
        # The loader fills in no variables.
        entries = tuple(bls_entries.entry(snippet, {}) for snippet in snippets)
        meant = (_meant(entries, value) for value in self._wanted())
        default = next(filter(None, meant), None) or next(iter(entries), None)
        return BootMenu(entries, default, _match(entries, self._next()))

    def _check_stays(self, before: BootEntry, made: Mapping[str, str]) -> None:
        fresh = [bls_entries.parse(file, text) for file, text in made.items()]
        kept = [each for each in self._snippets() if each.file not in made]
        after = self._menu(self._ordered([*kept, *fresh])).default
        if after is None or after.name != before.name:
            why = f"{self.path}: the default would not stay {before.name}"
            raise Refused(why, hint=f"bootctl set-{self._setting()} {_file(before.name)}")

    def _read(self) -> list[Snippet]:
        others = (
            replace(each, elsewhere=True) for place in self._others for each in self._at(place)
        )
        return [*self._at(self._place), *(each for each in others if not each.ours)]

    def _at(self, place: str) -> list[Snippet]:
        own = (self._image(place, path) for path in images(self._root, place))
        files = bls_entries.read(self._root, f"{place}/loader/entries")
        return [*files, *(each for each in own if each.release)]

    def _ordered(self, snippets: Sequence[Snippet]) -> list[Snippet]:
        return sorted(snippets, key=functools.cmp_to_key(_order))

    def _image(self, place: str, path: str) -> Snippet:
        held = unified_image.read(self._root, place + path)
        rows = (("title", held.system), ("version", held.release), ("options", held.line))
        name = path.rpartition("/")[2]
        pairs = (("efi", path), *(row for row in rows if row[1]))
        return Snippet(bls_entries.base_name(name), name, pairs)

    def _likely(self, snippet: Snippet) -> int:
        names = self._first_default(), *(value or "" for value in self._wanted())
        for rank, name in enumerate(names):
            exact = bls_entries.base_name(name) == snippet.name
            if exact or fnmatch.fnmatchcase(_file(snippet.name), name):
                return rank
        return len(names)

    def _wanted(self) -> list[Optional[str]]:
        """What names the default; the first that names an entry counts."""
        named = (*self._named("preferred"), *self._named("default"))
        return [self._chosen(value) for value in named]

    def _setting(self) -> str:
        """The setting that decides: "preferred" outranks "default"."""
        return "preferred" if any(self._named("preferred")) else "default"

    def _named(self, setting: str) -> tuple[Optional[str], Optional[str]]:
        """The values of a setting: of the variable, and of loader.conf."""
        version = re.match(
            r"systemd-boot (\d+)", firmware.loader_variable(self._root, "LoaderInfo") or ""
        )
        if setting == "preferred" and version and int(version[1]) < _PREFERRED:
            return None, None
        return self._variable(setting.capitalize()), self._pattern(setting)

    def _pattern(self, setting: str) -> Optional[str]:
        """An id or a pattern of ids in loader.conf. That file is on the EFI system partition, even
        if the entries are on XBOOTLDR."""
        paths = [f"{place}/loader/loader.conf" for place in (*_ESPS, self._place)]
        text = next(filter(None, map(self._root.read, paths)), "")
        match = re.search(rf"^\s*{setting}\s+(\S+)", text, re.MULTILINE)
        return None if match is None else match[1]

    def _chosen(self, pattern: Optional[str]) -> Optional[str]:
        """The entry for "@saved": the one last chosen in the menu, never a one-shot entry."""
        return self._variable("LastBooted") if pattern == "@saved" else pattern

    def _variable(self, name: str) -> Optional[str]:
        return firmware.loader_variable(self._root, f"LoaderEntry{name}")

    def _new_file(self, name: str) -> str:
        """With the counter of systemd-boot if new entries get one."""
        tries = self._root.read("/etc/kernel/tries") or ""
        return f"{name}{f'+{tries}' if tries.isdecimal() else ''}.conf"

    def _default(self) -> Optional[str]:
        return self._variable(self._setting().capitalize())

    def _set_default(self, name: Optional[str]) -> None:
        self._bootctl(f"set-{self._setting()}", name)

    def _restore(self) -> None:
        first = self._first_default()
        before = None if bls_entries.is_ours(first) else first
        super()._restore()
        # Which setting decides may have changed since.
        for setting in ("preferred", "default"):
            if bls_entries.is_ours(self._variable(setting.capitalize()) or ""):
                self._bootctl(f"set-{setting}", before or None)

    def _next(self) -> str:
        return self._variable("OneShot") or ""

    def _cancel(self) -> str:
        return "bootctl set-oneshot ''"

    def one_shot(self, entry: Optional[BootEntry]) -> None:
        self._bootctl("set-oneshot", None if entry is None else entry.name)

    def _tool(self) -> str:
        return programs.need(self._root, "bootctl")

    def _bootctl(self, verb: str, name: Optional[str]) -> None:
        whole = name is None or name.endswith(".conf") or name.startswith("@")
        ident = (name or "") if whole else _file(name or "")
        done = programs.run(self._root, [self._tool(), verb, ident])
        if done.status != 0:
            raise LowlatError(f"bootctl {verb} {ident}: {done.last_words}")


def _order(a: Snippet, b: Snippet) -> int:
    """boot_entry_compare() in src/boot/boot.c of systemd: negative if ``a`` stands first. Entries
    with a sort key stand before those without; those whose tries are used up are the last."""
    keyed = bool(a.values("sort-key")) and bool(b.values("sort-key"))
    one, two = _rank(a, keyed), _rank(b, keyed)
    if one != two:
        return -1 if one < two else 1
    newer = version_order.uapi(a.release, b.release) if keyed else 0
    return -(newer or version_order.uapi(_file(a.name), _file(b.name)))


def _rank(each: Snippet, keyed: bool) -> tuple[object, ...]:
    names = ("sort-key", "machine-id") if keyed else ()
    spent = _SPENT.search(each.file) is not None
    return (spent, not each.values("sort-key"), *(each.values(name)[:1] for name in names))


def _match(entries: Sequence[BootEntry], pattern: Optional[str]) -> Optional[BootEntry]:
    """The entry with this name, else the first that matches the pattern."""
    exact = named(entries, bls_entries.base_name(pattern or ""))
    fitting = (each for each in entries if fnmatch.fnmatchcase(_file(each.name), pattern or ""))
    return exact or next(fitting, None)


def _meant(entries: Sequence[BootEntry], value: Optional[str]) -> Optional[BootEntry]:
    """The entry that a default means: one of these, or one that systemd-boot makes by itself for
    another system (loader.conf(5), auto-entries)."""
    found = _match(entries, value)
    if found is None and value and value.startswith("auto-"):
        return BootEntry(value, "", (), foreign=True)
    return found


def _file(name: str) -> str:
    """An entry's id for the loader: its file's name without a counter."""
    return name if name.endswith(bls_entries.IMAGE) else f"{name}.conf"
