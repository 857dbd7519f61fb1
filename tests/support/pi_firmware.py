# SPDX-License-Identifier: GPL-2.0-or-later
"""A stand-in for a Raspberry Pi's firmware, reduced to what lowlat needs: it reads the
configuration and starts the files that the documentation names (raspberrypi/documentation,
config_txt and bootflow-eeprom).
(PYTEST_DONT_REWRITE)"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Callable

from support.hosttree import Host

#: The words that the firmware puts before the line: the board's hardware.
_ADDED = "coherent_pool=1M vc_mem.mem_base=0x3ec00000"

_BOARD = ("[pi4]",)

#: The firmware ignores the rest of a longer row.
_LONGEST = 98

_FLAGS = "sys/firmware/flags"

#: Returns the text of a file of the boot partition, by its name.
Read = Callable[[str], str]


@dataclass(frozen=True)
class FirmwareStart:
    """The files that the firmware starts; ``initramfs`` is "" if there is none."""

    kernel: str
    initramfs: str
    cmdline: str


def add_mailbox(host: Host) -> None:
    """Give the host the device by which vcmailbox asks the firmware."""
    # The host needs only a few nodes of /dev, and this machine's /dev must not get the mailbox.
    host.mount("-t", "tmpfs", "none", host.path / "dev")
    script = "cd $1 && mknod -m 666 null c 1 3 && mknod -m 666 urandom c 1 9 && touch vcio"
    host.namespace.must("sh", "-c", script, "sh", host.path / "dev")
    forget_flags(host)


def forget_flags(host: Host) -> None:
    """Clear the flags, as on a power cut or a new machine."""
    host.write(_FLAGS, "0\n")


def take_flag(host: Host) -> bool:
    """Whether vcmailbox set the one-boot flag. The firmware clears this flag before it starts
    anything."""
    flags = int(host.read(_FLAGS))
    forget_flags(host)
    return bool(flags & 1)


def is_armed(host: Host) -> bool:
    return bool(int(host.read(_FLAGS)) & 1)


def line_of(text: str, serial: str, more: str = "") -> str:
    """The kernel's line from the text of its file. The firmware replaces the name of the serial
    line by the board's own (raspberrypi-sys-mods#18); ``more`` are further words of the
    firmware."""
    row = text.partition("\n")[0].replace("=serial0", f"={serial}")
    return " ".join([_ADDED, *more.split(), row])


def choose(read: Read, tried: bool, board: Collection[str] = _BOARD) -> FirmwareStart:
    """The files to start; ``tried`` selects the configuration for one boot. The filters ``board``
    hold."""
    holding = {*board, *(["[tryboot]"] if tried else [])}
    found: dict[str, str] = {}
    filters: dict[str, str] = {}
    for row in _rows(read, "tryboot.txt" if tried else "config.txt"):
        if row == "[all]":
            filters.clear()
        elif row.startswith("["):
            filters[_kind(row)] = row
        elif holding.issuperset(filters.values()):
            key, _, value = row.partition(" " if row.startswith("initramfs ") else "=")
            found[key.strip()] = value.strip()
    kernel, prefix = found.get("kernel", "kernel8.img"), found.get("os_prefix", "")
    initramfs, *_ = [*found.get("initramfs", "").split(), ""]
    if found.get("auto_initramfs") == "1" and not initramfs:
        initramfs = kernel.replace("kernel", "initramfs").removesuffix(".img")
    line = found.get("cmdline", "cmdline.txt")
    return FirmwareStart(prefix + kernel, initramfs and prefix + initramfs, prefix + line)


def _kind(row: str) -> str:
    """Filters of one kind replace each other."""
    name = row.strip("[]").partition("=")[0].rstrip("0123456789+")
    return "model" if name in ("pi", "cm", "board-type") else name


def _rows(read: Read, name: str) -> Iterator[str]:
    for row in read(name).splitlines():
        words = row[:_LONGEST].split()
        if words[:1] == ["include"]:
            yield from _rows(read, words[1])
        elif words and not words[0].startswith("#"):
            yield " ".join(words)
