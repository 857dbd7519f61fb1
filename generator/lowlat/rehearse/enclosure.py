# SPDX-License-Identifier: GPL-2.0-or-later
"""What a guest can reach of this host: under root its QEMU has none of root's rights, and of what
only root can enter it finds just what it runs on.

``python -m lowlat.rehearse.enclosure PATH... -- PROGRAM...`` runs a program so, in a file tree of
its own in which folders closed to others hold only these paths.
"""

from __future__ import annotations

import ctypes
import os
import stat
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Optional

from lowlat.base import process
from lowlat.base.errors import LowlatError, Refused

#: Who QEMU is instead of root: nobody, who owns nothing.
USER = 65534

# mount(2), unshare(2)
_NEW_TREE = 0x00020000
_NOSUID, _NODEV, _BIND, _RECURSIVE, _PRIVATE = 0x2, 0x4, 0x1000, 0x4000, 0x40000

_TRY_S = 20.0


def argv(paths: Iterable[Path], command: Sequence[str]) -> list[str]:
    """The command as it has to be started for a guest that runs on these paths."""
    shown = [str(path) for path in _both(paths) if closed(path)]
    if not shown:
        return list(command)
    return [sys.executable, "-m", __name__, *shown, "--", *command]


def check(paths: Sequence[Path]) -> None:
    """Raises Refused where a guest could not read what it runs on."""
    if os.geteuid() != 0:
        return
    for path in _both(paths):
        wanted = stat.S_IROTH | (stat.S_IXOTH if path.is_dir() else 0)
        if path.stat().st_mode & wanted != wanted:
            why = f"{path}: others than root cannot read it, and the guest is run by nobody"
            raise Refused(why, hint=f"chmod -R go+rX {path}")
    tried = process.run(argv(paths, ["true"]), timeout=_TRY_S)
    if tried.status:
        where = next((found for path in paths if (found := closed(path))), "")
        why = f"{where}: only root can enter it, and nothing can be mounted here"
        raise Refused(why, hint="keep lowlat, kernels and results in folders open to others")


def closed(path: Path) -> Optional[Path]:
    """The uppermost folder above a path that others than root cannot enter; none for a user, whose
    QEMU is the user."""
    if os.geteuid() != 0:
        return None
    above = [folder for folder in reversed(path.parents) if folder.is_dir()]
    return next((one for one in above if not one.stat().st_mode & stat.S_IXOTH), None)


def hand_over(folder: Path) -> None:
    """Let a guest write in a folder that is this process's own, made anew for it."""
    if os.geteuid() == 0:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, USER, USER, follow_symlinks=False)


def _both(paths: Iterable[Path]) -> list[Path]:
    """Each path as it is named and as it is without links, the uppermost first."""
    named = [path.absolute() for path in paths]
    return sorted({*named, *(path.resolve() for path in named)})


def _enclose(paths: Sequence[Path]) -> None:
    """Give this process a file tree of its own. Raises OSError where that is not possible."""
    os.umask(0o022)
    libc = ctypes.CDLL(None, use_errno=True)
    _done(libc.unshare(_NEW_TREE))
    _mount(libc, "none", Path("/"), _RECURSIVE | _PRIVATE)
    held = {path: os.open(path, os.O_PATH) for path in paths}
    for folder in sorted({folder for path in paths if (folder := closed(path))}):
        _mount(libc, "tmpfs", folder, _NOSUID | _NODEV)
        folder.chmod(0o755)
    os.chdir("/")
    for path, fd in held.items():
        if not os.path.lexists(path):  # a folder that is shown already holds it
            path.parent.mkdir(parents=True, exist_ok=True)
            make = path.mkdir if stat.S_ISDIR(os.fstat(fd).st_mode) else path.touch
            make()
            _mount(libc, f"/proc/self/fd/{fd}", path, _BIND | _RECURSIVE)
        os.close(fd)


def _mount(libc: ctypes.CDLL, source: str, target: Path, flags: int) -> None:
    kind = b"tmpfs" if source == "tmpfs" else None
    _done(libc.mount(source.encode(), os.fsencode(target), kind, ctypes.c_ulong(flags), None))


def _done(status: int) -> None:
    if status:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def main(words: Sequence[str]) -> None:
    """Become the program. Raises LowlatError where that is not possible."""
    end = words.index("--")
    try:
        _enclose([Path(word) for word in words[:end]])
        process.become(words[end + 1 :])
    except OSError as error:
        raise LowlatError(f"cannot enclose {words[end + 1]}: {error.strerror}") from error


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except LowlatError as refusal:
        sys.exit(str(refusal))
