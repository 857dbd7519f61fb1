# SPDX-License-Identifier: GPL-2.0-or-later
"""The firmware of a Raspberry Pi. It reads config.txt, which names the file with the kernel's line.
If the tryboot flag is set it reads tryboot.txt once, and clears the flag before it starts the
kernel (raspberrypi/documentation, bootflow-eeprom.adoc). The stock line's file is never written:
lowlat's files lie beside it, and config.txt or tryboot.txt names one of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Optional

from lowlat.base.errors import LowlatError, Refused
from lowlat.boot import config_txt, entry_line, hooks, line_files, places, programs
from lowlat.boot.disk import FileSnapshot
from lowlat.boot.foreseen import Foreseen
from lowlat.boot.loaders import bls_entries, version_order
from lowlat.boot.loaders.bls_entries import Snippet
from lowlat.boot.loaders.entry_files import EntryFiles
from lowlat.boot.loaders.interface import BootEntry, BootMenu, PlanOf, Unwritable, named
from lowlat.boot.transaction import Transaction
from lowlat.host.root import Root
from lowlat.model.plan import Plan
from lowlat.probe.kernel import running_release

_STOCK = "cmdline"

#: Stands for the words that the firmware puts before the file's, by the devices that it finds.
_FIRMWARE = "${firmware}"

#: The firmware replaces these names of serial lines by the board's own (raspberrypi-sys-mods#18).
_SERIAL = re.compile(r"=(?:serial[01]|ttyAMA0|ttyS0)\b")

#: lowlat's section at the end of config.txt and tryboot.txt; it is removed byte for byte.
_PART = "\n# lowlat: begin\n[all]\ncmdline={file}\n{more}# lowlat: end\n"
_PARTS = re.compile(r"\n# lowlat: begin\n(?:.*\n)*?# lowlat: end\n")

#: The firmware starts the watchdog, and Linux feeds it for at most 60 s until systemd opens it.
_WATCHDOG = "kernel_watchdog_timeout=60\n"

#: The mailbox's tags (include/soc/bcm2835/raspberrypi-firmware.h) and its device, which only
#: Raspberry Pi's own kernels have. A plain reboot keeps a flag that was set this way
#: (rpi_firmware_notify_reboot() in their drivers/firmware/raspberrypi.c).
_GET_FLAGS, _SET_FLAGS = "0x00030064", "0x00038064"
_MAILBOX = "/dev/vcio"


def cannot_try(root: Root) -> str:
    """The reason why this kernel cannot boot an entry once; "" if it can."""
    if not root.exists(_MAILBOX):
        return f"this kernel has no {_MAILBOX} to set the tryboot flag, as Raspberry Pi's own have"
    lacks = "vcmailbox is missing; install raspi-utils, then apply again"
    return "" if programs.find(root, "vcmailbox") else lacks


def find(root: Root, path: str) -> Optional[RaspberryPi]:
    """None if no entry can be tried once, unless lowlat entries exist."""
    there = any(map(bls_entries.is_ours, root.names(path)))
    return RaspberryPi(root, path) if there or not cannot_try(root) else None


class RaspberryPi(EntryFiles):
    name = line_files.RASPBERRY_PI
    unsets_default = True

    def check(self) -> None:
        places.check_writable(self._root, self.path)

    def check_new(self) -> None:
        for key, default in (("cmdline", f"{_STOCK}.txt"), ("os_prefix", "")):
            self._check_setting(key, default)
        if "tryboot_a_b" in (self._root.read(f"{self.path}/autoboot.txt") or ""):
            raise Unwritable(f"{self.path}/autoboot.txt: tryboot changes between two systems here")
        if self._is_others():
            raise Unwritable(f"{self.path}/tryboot.txt is another program's")

    def _is_others(self) -> bool:
        return self._root.exists(f"{self.path}/tryboot.txt") and not self._tried()

    def _check_setting(self, key: str, default: str) -> None:
        """Whether both a stock boot and a trial find the files where lowlat expects them."""
        board = config_txt.read_board(self._root)
        for tried in (False, True):
            read = self._without_ours
            for each in config_txt.possible(read, board, key, default, tried=tried):
                if each.value != default:
                    may = f"may set {key}= ({each.doubt})" if each.doubt else f"sets {key}="
                    raise Unwritable(f"{self.path}/{each.file} {may}: its line is somewhere else")

    def describe(self) -> BootMenu:
        entries = tuple(self._entry(snippet) for snippet in self._snippets())
        default = named(entries, self._default() or _STOCK)
        return BootMenu(entries, default, named(entries, self._next()))

    def _entry(self, snippet: Snippet) -> BootEntry:
        entry = bls_entries.entry(snippet, {})
        words = (_SERIAL.sub("=${serial}", word) for word in entry.words)
        return replace(entry, words=(_FIRMWARE, *words), unfilled=entry.words)

    def _ordered(self, snippets: Sequence[Snippet]) -> list[Snippet]:
        return list(snippets)

    def _read(self) -> list[Snippet]:
        ours = (name for name in self._root.names(self.path) if bls_entries.is_ours(name))
        files = [f"{_STOCK}.txt", *sorted(name for name in ours if name.endswith(".txt"))]
        return [self._snippet(file) for file in files]

    def _snippet(self, file: str) -> Snippet:
        name = file[: -len(".txt")]
        release = entry_line.release_of(name.replace("-trial", "")) or self._release()
        line = (self._root.read(f"{self.path}/{file}") or "").partition("\n")[0]
        pairs = (("version", release), ("linux", "kernel"), ("options", line))
        return Snippet(name, file, pairs)

    def _release(self) -> str:
        """The kernel that the next boot starts: the newest of the running one's flavour, because
        they share one image name."""
        running = running_release(self._root) or ""
        number = r"[\d.]+(?:[-+]\d+)*"
        kind = re.sub(f"^{number}", "", running)
        alike = re.compile(f"{number}{re.escape(kind)}")
        releases = filter(alike.fullmatch, self._root.names("/lib/modules"))
        return version_order.newest((running, *releases))

    def _new_file(self, name: str) -> str:
        return f"{name}.txt"

    def _content(self, stock: Snippet, words: Sequence[str], trial: bool) -> str:
        return f"{' '.join(words)}\n"

    def _hook(self, change: Transaction) -> None:
        hooks.write_kernel_scripts(change)

    def _default(self) -> Optional[str]:
        return _named(self._text("config.txt"))

    def _set_default(self, name: Optional[str]) -> None:
        part = _PART.format(file=f"{name}.txt", more="") if name and name != _STOCK else ""
        self._put_text("config.txt", self._without_ours("config.txt") + part)

    def _settings(self, name: str = "") -> Sequence[str]:
        return [f"{self.path}/config.txt"] if name or self._default() else []

    def foresee(self, change: Foreseen, plans: Sequence[Plan]) -> None:
        super().foresee(change, plans)
        if change.ways.get(f"{self.path}/{self._tried()}.txt") == "remove":
            change.ways[f"{self.path}/tryboot.txt"] = "remove"

    def _next(self) -> str:
        armed = self._has_mailbox() and self._mailbox(_GET_FLAGS, 0) & 1
        return (self._tried() or "") if armed else ""

    def check_unarmed(self) -> None:
        if self._is_others():
            why = f"{self.path}/tryboot.txt is another program's, and a trial would replace it"
            raise Refused(why, hint="move it away first")

    def check_one_shot(self) -> None:
        if not self._root.live:
            why = "the flag for one boot is in the firmware of the machine that runs"
            raise Refused(why, hint="try the entry there, without --root")
        why = cannot_try(self._root)
        if why:
            raise Refused(why)

    def one_shot(self, entry: Optional[BootEntry]) -> None:
        if entry is not None:
            self._put_text("tryboot.txt", self._for_trial(entry.name))
            self._mailbox(_SET_FLAGS, 1)
            return
        # The flag first: while it is set, tryboot.txt must exist.
        if self._has_mailbox():
            self._mailbox(_SET_FLAGS, 0)
        if self._tried():
            self._disk.remove(f"{self.path}/tryboot.txt")

    def _for_trial(self, name: str) -> str:
        """The configuration that boots this entry once."""
        watchdog = _WATCHDOG if entry_line.has_watchdog(self._root) else ""
        part = _PART.format(file=f"{name}.txt", more=watchdog)
        return self._without_ours("config.txt") + part

    def differing(self) -> Iterator[str]:
        name = self._next()
        if name and self._text("tryboot.txt") != self._for_trial(name):
            why = "is not config.txt with the line of the trial any more"
            yield f"{self.path}/tryboot.txt {why}: 'lowlat-gen trial' writes it again"

    def refresh(self, plan_of: PlanOf, follow: bool) -> str:
        ours = self._set_last()
        lost = self._default() is None and self._root.exists(line_files.RASPI_FIRMWARE)
        if lost and ours and named(self.describe().entries, ours):
            self._set_default(ours)
        before = self._default()
        said = super().refresh(plan_of, follow)
        if before and self._default() is None:
            return f"{before} was promoted and is gone: {_STOCK} is the default"
        return said

    def _remove(self, names: Iterable[str]) -> None:
        # If the named file is missing, the kernel gets no line and finds no root disk.
        gone = list(names)
        if f"{self._tried()}.txt" in gone:
            self.one_shot(None)
        if f"{self._default()}.txt" in gone:
            self._set_default(None)
        super()._remove(gone)

    def remove(self) -> None:
        super().remove()
        if self._tried():
            self.one_shot(None)
        for name in ("config.txt", "tryboot.txt"):
            self._disk.unstage(f"{self.path}/{name}")

    def _tried(self) -> Optional[str]:
        return _named(self._text("tryboot.txt"))

    def _has_mailbox(self) -> bool:
        """Whether the firmware can be asked: it is this machine's, not that of a tree."""
        return self._root.live and not cannot_try(self._root)

    def _mailbox(self, tag: str, value: int) -> int:
        """The flags; ``tag`` reads or sets them."""
        tool = programs.need(self._root, "vcmailbox")
        done = programs.run(self._root, [tool, tag, "4", "0", str(value)])
        # Length, code, tag, size of the buffer, length of the answer; then the answer.
        words = done.stdout.split()
        if done.status != 0 or len(words) < 6:
            raise LowlatError(f"vcmailbox {tag}: {done.last_words}")
        return int(words[5], 16)

    def _text(self, name: str) -> str:
        return (self._root.read_bytes(f"{self.path}/{name}") or b"").decode("latin-1")

    def _without_ours(self, name: str) -> str:
        return _PARTS.sub("", self._text(name))

    def _put_text(self, name: str, text: str) -> None:
        path = f"{self.path}/{name}"
        held = self._disk.get(path) or FileSnapshot(b"")
        self._disk.put(path, replace(held, content=text.encode("latin-1")))


def _named(text: str) -> Optional[str]:
    """The entry that lowlat's section of a configuration names."""
    part = _PARTS.search(text)
    match = re.search(r"^cmdline=(.+)\.txt$", part[0], re.MULTILINE) if part else None
    return match[1] if match else None
