# SPDX-License-Identifier: GPL-2.0-or-later
"""GRUB's environment block, a file in which GRUB itself stores what to boot; changed with GRUB's
own grub-editenv."""

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Optional

from lowlat.base.errors import Refused
from lowlat.base.process import Finished
from lowlat.boot import programs
from lowlat.boot.disk import Disk
from lowlat.boot.loaders import grub_cfg
from lowlat.boot.loaders.interface import BootEntry
from lowlat.host.root import Root

#: Size in bytes: GRUB overwrites the block in place and cannot enlarge it.
SIZE = 1024

_TOOLS = ("grub-editenv", "grub2-editenv")
_HEAD = b"# GRUB Environment Block\n"

#: File systems and layers on which GRUB itself cannot write (util/grub.d/00_header.in), by the
#: answer of grub-probe; "mdraid1x" and its like are RAID too.
_READ_ONLY = {
    "fs": ("btrfs", "cpiofs", "newc", "odc", "romfs", "squash4", "tarfs", "zfs"),
    "abstraction": ("lvm", "diskfilter", "mdraid", "raid", "cryptodisk", "luks"),
}
_BY_KEXEC = "'lowlat-gen trial --kexec' tries the line without it"
_NAMES = {"lvm": "LVM", "diskfilter": "RAID", "mdraid": "RAID", "raid": "RAID"}

#: Variables with which other programs choose an entry for one boot, and their scripts: 00_header of
#: Ubuntu (GRUB_FORCE_PARTUUID), 00_header of GRUB 1.99, 08_fallback_counting of Fedora. They would
#: boot another entry in place of the trial, or the trial again.
_OTHERS = ("initrdfail", "prev_entry", "prev_saved_entry", "boot_counter")

#: Names a block that lies apart from the file, where btrfs reserves room and GRUB can write
#: (GRUB 2.14, util/grub-editenv.c; SUSE since 2.02). grub-editenv keeps next_entry there, if it
#: is given the file's own path.
_APART = "env_block"
_CLEARED_APART = re.compile(r"save_env\s+-f\s+\"?\$\{?env_block\}?\"?\s+next_entry")


class Environment:
    def __init__(self, root: Root, path: str) -> None:
        self._root = root
        self._disk = Disk(root)
        self.path = path

    def read(self) -> Mapping[str, str]:
        """The stored variables; none if there is no block. Those that lie apart from the file are
        left out where grub-editenv cannot read them: without root, and below another root."""
        held = self._held()
        if _APART not in held or not self._root.trusted or os.geteuid() != 0:
            return held
        tool = programs.need(self._root, *_TOOLS)
        done = programs.run(self._root, [tool, self.path, "list"])
        return _variables(done.stdout) if done.status == 0 else held

    def _held(self) -> Mapping[str, str]:
        """The variables of the file alone."""
        return _variables(self._root.read(self.path) or "")

    def set(self, name: str, value: Optional[str]) -> None:
        """Store a value, or remove it (None). Raises Refused if it does not fit."""
        if self.read().get(name) == value:
            return
        words = ["unset", name] if value is None else ["set", f"{name}={value}"]
        try:
            done = self._edit(words)
        finally:
            self.tidy()
        if done.status != 0 or self.read().get(name) != value:
            raise self._refused(done.last_words)

    def _refused(self, why: str) -> Refused:
        hint = f"'{self.command('list')}' shows what fills it, unset what is not needed"
        return Refused(f"{self.path}: {why}", hint=hint)

    def check_room(self, name: str, value: str) -> None:
        """Raises Refused if this value does not fit into the file, or nothing can write it."""
        programs.need(self._root, *_TOOLS)
        data = self._root.read_bytes(self.path)
        if data is None:
            return
        old = self._held().get(name)
        less = 0 if old is None else len(f"{name}={old}\n".encode())
        if len(data.rstrip(b"#")) - less + len(f"{name}={value}\n".encode()) > len(data):
            raise self._refused(f"it has no room for {name}={value}")

    def _edit(self, words: Sequence[str]) -> Finished:
        tool = programs.need(self._root, *_TOOLS)
        held = self._disk.get(self.path)
        if held is None or held.link or _APART in self._held():
            return programs.run(self._root, [tool, self.path, *words])
        # grub-editenv truncates the file before it writes. A copy is edited, so that a power cut
        # leaves no empty block.
        done = programs.run(self._root, [tool, self._disk.stage(self.path, held), *words])
        if done.status == 0:
            self._disk.commit(self.path)
        return done

    def command(self, *words: str) -> str:
        """A command line for a person."""
        tool = (programs.find(self._root, *_TOOLS) or _TOOLS[0]).rpartition("/")[2]
        return " ".join((tool, self.path, *words))

    def tidy(self) -> None:
        """Remove a temporary file that a crash left."""
        self._disk.unstage(self.path)

    def next_entry(self) -> str:
        """The name of the entry to boot next, once; "" for none."""
        return self.read().get("next_entry", "")

    def set_next(self, entry: Optional[BootEntry]) -> None:
        """Boot this entry next, once; None cancels that."""
        self.set("next_entry", None if entry is None else entry.name)
        if entry is not None and self._held().keys() >= {_APART, "next_entry"}:
            self.set("next_entry", None)
            tool = programs.need(self._root, *_TOOLS)
            why = f"{tool} knows no {_APART}: GRUB could not clear a one-shot entry in {self.path}"
            raise Refused(why, hint=_BY_KEXEC)

    def check_one_shot(self, path: str, config: str) -> None:
        """Raises Refused if GRUB would not, or could not, clear ``next_entry`` after booting it:
        the tuned entry would boot again and again."""
        if "save_env next_entry" not in config:
            raise Refused(f"{path} does not clear a one-shot entry")
        script = grub_cfg.sets_default_again(config, ("next_entry", *_OTHERS))
        if script:
            why = f"{path}: {script} sets the default after the entry for one boot was chosen"
            raise Refused(why, hint=f"take 'set default=' out of it; {_BY_KEXEC}")
        self._check_block()
        for name in _OTHERS:
            value = self.read().get(name)
            if value and re.search(rf"\$\{{?{name}\b", config):
                why = f"{self.path}: another program's {name}={value[:60]} decides what boots next"
                raise Refused(why, hint=self._disarming(name, value))
        self._check_writable(config)

    def _disarming(self, name: str, value: str) -> str:
        unset = self.command("unset", name)
        if name != "prev_saved_entry":
            return unset
        return f"{self.command('set', f'saved_entry={shlex.quote(value)}')} && {unset}"

    def _check_block(self) -> None:
        """Raises Refused unless the block is a file as grub-editenv makes it."""
        data, create = self._root.read_bytes(self.path), self.command("create")
        target = self._root.link(self.path)
        if target is not None:
            hint = f"rm {self.path} && {create}"
            if data is not None:
                hint = f'cp --remove-destination "$(readlink -f {self.path})" {self.path}'
            why = (
                f"{self.path} is a link to {target}, and GRUB may not find, or write, what it names"
            )
            raise Refused(why, hint=hint)
        if data is None:
            raise Refused(f"{self.path}: there is no such file for a one-shot entry", hint=create)
        if len(data) != SIZE or not data.startswith(_HEAD):
            kind = f"has {len(data)} bytes, not {SIZE}" if len(data) != SIZE else "has another head"
            why = f"{self.path} is no environment block: it {kind}"
            raise Refused(why, hint=f"{create}, then set again what it held")

    def _check_writable(self, config: str) -> None:
        """Raises Refused if GRUB cannot write where the block lies."""
        if os.geteuid() != 0:
            raise programs.Unchecked("grub-probe runs for root only")
        where = f"{self.path}: GRUB could not clear a one-shot entry there"
        tool = programs.need(self._root, "grub-probe", "grub2-probe")
        for target, bad in _READ_ONLY.items():
            done = programs.run(self._root, [tool, f"--target={target}", self.path])
            if done.status != 0:
                raise Refused(f"{where}, for grub-probe says: {done.last_words}")
            found = (kind for word in done.stdout.split() for kind in bad if word.startswith(kind))
            kind = next(found, None)
            if kind is not None:
                self._check_apart(config, f"{where}, for it lies on {_NAMES.get(kind, kind)}", kind)

    def _check_apart(self, config: str, why: str, kind: str) -> None:
        """Raises Refused unless GRUB writes apart from the file, on this file system."""
        if kind != "btrfs" or not _CLEARED_APART.search(config):
            raise Refused(why, hint=_BY_KEXEC)
        if _APART not in self._held():  # grub-editenv reserves the room when it first changes some
            raise Refused(why, hint=self.command("unset", "next_entry"))


def _variables(text: str) -> Mapping[str, str]:
    rows = (row.partition("=") for row in text.splitlines() if not row.startswith("#"))
    return {name: value for name, sign, value in rows if sign}
