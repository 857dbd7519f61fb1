# SPDX-License-Identifier: GPL-2.0-or-later
"""The host's programs, run in the host's tree: this machine's, or the one below --root."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Optional

from lowlat.base import bounds, encode, process, trust
from lowlat.base.errors import LowlatError, Refused
from lowlat.base.process import Finished
from lowlat.boot import confinement
from lowlat.host.root import Root

#: In seconds: grub-mkconfig runs os-prober, which mounts every partition.
_LONGEST = 300.0

#: Before a program of another system's tree, which was not written for this machine: it sees and
#: ends no process of this machine, mounts nothing for it, and reaches no network.
_APART = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--net", "--ipc", "--")

_BELOW = "a dry run runs no program below --root"


class Unchecked(Refused):
    """A point stays unchecked, because the program that would tell must not run."""


def find(root: Root, *names: str) -> Optional[str]:
    """The path of the first of these programs that the tree has."""
    paths = (f"{folder}/{name}" for name in names for folder in trust.FOLDERS)
    return next((path for path in paths if root.exists(path)), None)


def need(root: Root, *names: str) -> str:
    """The path of the first of these programs. Raises Refused if the tree has none of them."""
    path = find(root, *names)
    if path is None:
        raise process.NotInstalled(" or ".join(names))
    return path


def run(
    root: Root,
    argv: Sequence[str],
    limit: float = _LONGEST,
    keep: int = bounds.OUTPUT,
    language: str = "",
) -> Finished:
    """Run a program of the tree in the system's language, or the given one (LANG), not the user's.
    Of each output the last ``keep`` bytes are kept. Raises Unchecked if the tree is not trusted,
    Refused if the program cannot be kept from this machine, LowlatError if it cannot be started or
    does not end within ``limit`` seconds."""
    if not root.trusted:
        raise Unchecked(f"{argv[0]} is not run: {_BELOW}")
    if root.live:
        return _run(root, argv, argv[0], limit, keep, language)
    done = _run(root, [*_APART, "chroot", root.path, *argv], argv[0], limit, keep, language)
    if _is_not_apart(done):
        why = f"{argv[0]} cannot be run apart from this machine: {done.last_words}"
        raise Refused(why, hint=f"'chroot {root.path} lowlat-gen' in place of --root")
    return done


def run_confined(root: Root, argv: Sequence[str], language: str = "") -> Finished:
    """Run a program as run() does, but so that it cannot change anything. Raises Unchecked below
    --root, or if that cannot be done here."""
    if not root.live:
        raise Unchecked(f"{argv[0]} is not run: {_BELOW}")
    process.judge_program(argv[0])  # unshare(1) will start it
    done = _run(root, confinement.argv(argv), argv[0], _LONGEST, bounds.OUTPUT, language)
    if done.status == confinement.NOT_CONFINED or _is_not_apart(done):
        raise Unchecked(f"{argv[0]} is not run: {done.last_words}")
    return done


def _is_not_apart(done: Finished) -> bool:
    """Whether the program did not run, because it got no namespaces of its own."""
    return done.status != 0 and done.stderr.startswith(f"{_APART[0]}: ")


def _run(
    root: Root, command: Sequence[str], name: str, limit: float, keep: int, language: str
) -> Finished:
    environment = {"PATH": ":".join(trust.FOLDERS), "HOME": "/root", **_language(root)}
    if language:
        environment["LANG"] = language
    done = process.run(command, timeout=limit, env=environment, keep=keep)
    if done.timed_out:
        raise LowlatError(f"{name} did not end within {limit:.0f} s")
    return done


def has_output(path: str) -> bool:
    """Whether a running program has this file as its standard output."""
    held = os.path.realpath(path)
    for folder in process.folders():
        with suppress(OSError):
            if str((folder / "fd/1").readlink()) == held:
                return True
    return False


def ourselves(root: Root) -> str:
    """The path of lowlat-gen for the hooks of the distribution. Raises Refused if others than root
    could replace it."""
    path = find(root, "lowlat-gen")
    if path is None and root.live:
        path = os.path.realpath(sys.argv[0]) if sys.argv[0].endswith("/lowlat-gen") else None
    if path is None:
        raise process.NotInstalled("lowlat-gen", hint=f"install the package lowlat in {root.path}")
    encode.path(path)
    hint = "install the package lowlat"
    trust.check_program(path, root.path, why="and root's boot scripts would run it", hint=hint)
    return path


def _language(root: Root) -> dict[str, str]:
    """The language of the menu's titles: the system's, as when a package writes them."""
    text = root.read("/etc/default/locale") or root.read("/etc/locale.conf") or ""
    pairs = (line.partition("=") for line in text.splitlines() if not line.startswith("#"))
    return {
        name.strip(): value.strip().strip("\"'")
        for name, _, value in pairs
        if name.strip() in ("LANG", "LANGUAGE", "LC_ALL", "LC_MESSAGES")
    }
