# SPDX-License-Identifier: GPL-2.0-or-later
"""Run a program of this machine so that it can change nothing here, such as the boot loader's
generator with all the scripts that others added to it.

It runs in namespaces of its own and without capabilities. Every file system is read-only; /run,
where services listen, is empty, as are /tmp and /var/tmp. Block devices can be read: grub-probe
finds the file systems in them. ``python -I confinement.py PROGRAM...`` prepares this inside the
namespaces. It imports nothing of lowlat's, so no variable and no folder of the user's counts.
"""

import ctypes
import os
import re
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

_NAMESPACES = ("--mount", "--pid", "--net", "--ipc", "--uts")

#: include/uapi/linux/mount.h: MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND.
_READ_ONLY, _NO_SUID, _NO_DEVICES, _REMOUNT, _BIND = 1, 2, 4, 32, 4096

#: include/uapi/linux/prctl.h: PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS.
_DROP, _NO_NEW_PRIVILEGES = 24, 38

#: Empty and writable there. The program's /dev is made in the first one.
_EMPTY = ("/run", "/tmp", "/var/tmp")  # noqa: S108
_MADE = "/run/dev"

#: Devices that are no block devices, and yet of use.
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")

_NOBODY = 65534

#: The exit status if the program cannot be confined.
NOT_CONFINED = 125

_libc = ctypes.CDLL(None, use_errno=True)


def argv(command: Sequence[str]) -> list[str]:
    """The command with which root runs a program so. Its exit status is the program's, or
    NOT_CONFINED."""
    alone = ["unshare", *_NAMESPACES, "--fork", "--kill-child", "--mount-proc", "--"]
    return [*alone, sys.executable, "-I", __file__, *command]


def _confine() -> None:
    """Raises OSError if a file system stays writable, or rights would stay."""
    for folder in map(Path, _EMPTY):
        if folder.is_dir() and not folder.is_symlink():
            _mount("tmpfs", str(folder), "tmpfs", _NO_SUID | _NO_DEVICES)
    Path(_MADE).mkdir()
    _mount("tmpfs", _MADE, "tmpfs", _NO_SUID)
    _copy_devices(Path("/dev"), Path(_MADE))
    _mount(_MADE, "/dev", "", _BIND)
    for place in _mounts():
        if place not in _EMPTY:
            _make_read_only(place)
    if not os.statvfs("/").f_flag & os.ST_RDONLY:
        raise OSError("/ stays writable")
    _call("prctl", _NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    for capability in range(int(Path("/proc/sys/kernel/cap_last_cap").read_text()) + 1):
        _call("prctl", _DROP, capability, 0, 0, 0)


def _copy_devices(source: Path, target: Path) -> None:
    """Folders, links, and nodes of block devices that can be opened for reading only. The nodes
    belong to the user "nobody". The program runs as root without capabilities, so that their mode
    holds for it."""
    for path in source.iterdir():
        held, copy = path.lstat(), target / path.name
        if path.is_symlink():
            copy.symlink_to(path.readlink())
        elif path.is_dir() and not path.is_mount():
            copy.mkdir()
            _copy_devices(path, copy)
        elif stat.S_ISBLK(held.st_mode):
            os.mknod(copy, stat.S_IFBLK | 0o444, held.st_rdev)
            os.chown(copy, _NOBODY, _NOBODY)
        elif path.name in _DEVICES:
            os.mknod(copy, stat.S_IFCHR, held.st_rdev)
            copy.chmod(0o666)


def _mounts() -> Iterator[str]:
    """Where file systems are mounted (proc_pid_mountinfo(5)), without automounts: a look at one
    would mount something."""
    for row in Path("/proc/self/mountinfo").read_bytes().splitlines():
        mount, _, kind = row.partition(b" - ")
        place = re.sub(rb"\\(\d{3})", lambda code: bytes([int(code[1], 8)]), mount.split()[4])
        if kind.split()[0] != b"autofs":
            yield os.fsdecode(place)


def _make_read_only(place: str) -> None:
    flags = _NO_SUID | (0 if place in ("/dev", _MADE) else _NO_DEVICES)
    try:
        _mount("", place, "", _REMOUNT | _BIND | _READ_ONLY | flags)
    except OSError:
        # Under another mount, or closed to all but its owner, it is out of the program's reach.
        if os.path.ismount(place):
            raise


def _mount(source: str, target: str, kind: str, flags: int) -> None:
    words = [ctypes.c_char_p(os.fsencode(word)) for word in (source, target, kind)]
    _call("mount", *words, ctypes.c_ulong(flags), None)


def _call(name: str, *words: object) -> None:
    if _libc[name](*words) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


if __name__ == "__main__":
    try:
        _confine()
        os.execvp(sys.argv[1], sys.argv[1:])  # noqa: S606
    except OSError as error:
        print(f"it cannot be confined: {error}", file=sys.stderr)
        sys.exit(NOT_CONFINED)
