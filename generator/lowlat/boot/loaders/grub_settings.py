# SPDX-License-Identifier: GPL-2.0-or-later
"""The settings of grub-mkconfig as the shell reads them, checked without running any of them."""

import os
import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from typing import Optional

from lowlat.base import process
from lowlat.base.errors import Refused
from lowlat.boot import programs
from lowlat.host.root import Root

SETTINGS = "/etc/default/grub"

_SH = "/usr/bin/sh"

#: In seconds; the shell reads a small file.
_LONGEST = 10.0

#: A value, and the name of a program: what the shell may make something else of is left out.
_VALUE = re.compile(r"[A-Za-z_]\w*\+?=")
_NAME = re.compile(r"\w[\w.,-]*")
_ELSE = re.compile(r"[`;&|<>()]")


def settings_files(root: Root, mkconfig: str) -> list[str]:
    """The files that grub-mkconfig reads, in its order."""
    names = root.names(f"{SETTINGS}.d") if reads_folder(root, mkconfig) else ()
    return [SETTINGS, *(f"{SETTINGS}.d/{name}" for name in names if name.endswith(".cfg"))]


def reads_folder(root: Root, mkconfig: str) -> bool:
    return "default/grub.d" in (root.read(mkconfig) or "")


def check(root: Root, mkconfig: str) -> None:
    """Raises Refused if one of GRUB's settings files has an error that the shell would stop at."""
    for path in settings_files(root, mkconfig):
        text = root.read(path) or ""
        why = _syntax_error(root, text)
        if why:
            raise Refused(f"{path}: {why}", hint=f"mend it: {mkconfig} cannot read it")
        word = next(_stray(root, text), None)
        if word:
            why = f"{path}: the shell takes '{word}' for a command, and there is none"
            raise Refused(why, hint="put the words into the quotes of the value before them")


def _syntax_error(root: Root, text: str) -> Optional[str]:
    """What the shell says of a text that it only reads (sh -n); None also if the tree has another
    shell than this machine."""
    if root.link(_SH) != Root().link(_SH):
        return None
    with os.fdopen(os.memfd_create("settings"), "w+b") as file:
        file.write(f"{text}\n".encode())
        file.seek(0)
        done = process.run([_SH, "-n"], timeout=_LONGEST, env={}, stdin=file.fileno())
    return done.last_words.removeprefix(f"{_SH}: ") if done.status != 0 else None


def _stray(root: Root, text: str) -> Iterator[str]:
    """Each word behind a value that the shell takes for a command, and that is none."""
    held = ""
    for row in text.splitlines():
        held += f"{row}\n"
        with suppress(ValueError):  # its quotes end in a later row
            words = shlex.split(held, comments=True)
            if words and _VALUE.match(words[0]) and not _ELSE.search(held):
                word = next((each for each in words if not _VALUE.match(each)), "")
                if _NAME.fullmatch(word) and not programs.find(root, word):
                    yield word
            held = ""
