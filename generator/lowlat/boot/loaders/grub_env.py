# SPDX-License-Identifier: GPL-2.0-or-later
"""GRUB's environment block, a file in which GRUB itself stores what to boot; changed with GRUB's
own grub-editenv."""

from collections.abc import Mapping, Sequence
from typing import Optional

from lowlat.base.errors import Refused
from lowlat.base.process import Finished
from lowlat.boot import programs
from lowlat.boot.disk import Disk
from lowlat.boot.loaders.interface import BootEntry
from lowlat.host.root import Root

#: Size in bytes: GRUB overwrites the block in place and cannot enlarge it.
SIZE = 1024

#: File systems and layers on which GRUB itself cannot write (util/grub.d/00_header.in).
_READ_ONLY_FS = frozenset({"btrfs", "cpiofs", "newc", "odc", "romfs", "squash4", "tarfs", "zfs"})
_READ_ONLY_LAYERS = frozenset({"lvm", "diskfilter", "cryptodisk", "luks", "luks2"})


class Environment:
    def __init__(self, root: Root, path: str) -> None:
        self._root = root
        self._disk = Disk(root)
        self.path = path

    def read(self) -> Mapping[str, str]:
        """The stored variables; none if there is no block."""
        text = self._root.read(self.path)
        if text is None:
            return {}
        rows = (row.partition("=") for row in text.splitlines() if not row.startswith("#"))
        return {name: value for name, sign, value in rows if sign}

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
            raise Refused(f"{self.path}: {done.last_words}")

    def _edit(self, words: Sequence[str]) -> Finished:
        tool = programs.need(self._root, "grub-editenv", "grub2-editenv")
        held = self._disk.get(self.path)
        if held is None or held.link:
            return programs.run(self._root, [tool, self.path, *words])
        # grub-editenv truncates the file before it writes. A copy is edited, so that a power cut
        # leaves no empty block.
        done = programs.run(self._root, [tool, self._disk.stage(self.path, held), *words])
        if done.status == 0:
            self._disk.commit(self.path)
        return done

    def tidy(self) -> None:
        """Remove a temporary file that a crash left."""
        self._disk.unstage(self.path)

    def set_next(self, entry: Optional[BootEntry]) -> None:
        """Boot this entry next, once; None cancels that."""
        self.set("next_entry", None if entry is None else entry.name)

    def check_one_shot(self, path: str, config: str) -> None:
        """Raises Refused if GRUB would not, or could not, clear ``next_entry`` after booting it:
        the tuned entry would boot again and again."""
        if "save_env next_entry" not in config:
            raise Refused(f"{path} does not clear a one-shot entry")
        where = f"{self.path}: GRUB could not clear a one-shot entry there"
        data = self._root.read_bytes(self.path)
        if data is None or self._root.link(self.path) is not None:
            hint = f"grub-editenv {self.path} create"
            raise Refused(f"{where}, for there is no such file", hint=hint)
        if len(data) != SIZE or not data.startswith(b"# GRUB Environment Block\n"):
            raise Refused(f"{where}, for it is no environment block of {SIZE} bytes")
        tool = programs.need(self._root, "grub-probe", "grub2-probe")
        for target, bad in (("fs", _READ_ONLY_FS), ("abstraction", _READ_ONLY_LAYERS)):
            done = programs.run(self._root, [tool, f"--target={target}", self.path])
            if done.status != 0:
                raise Refused(f"{where}, for grub-probe says: {done.last_words}")
            kinds = sorted(bad.intersection(_kinds(done.stdout)))
            if kinds:
                raise Refused(
                    f"{where}, for it lies on {kinds[0]}",
                    hint="choose the entry in GRUB's menu by hand: the next boot is stock again",
                )


def _kinds(text: str) -> set[str]:
    """Words of grub-probe; "mdraid1x" and its like are one kind of "diskfilter"."""
    words = set(text.split())
    raid = any(word.startswith(("mdraid", "raid")) for word in words)
    return words | {"diskfilter"} if raid else words
