# SPDX-License-Identifier: GPL-2.0-or-later
"""Limit what a guest can reach of this host. Under root, its QEMU has none of root's rights;
in folders that only root can enter, it sees just the paths that it needs.

``python -I -m lowlat.rehearse.enclosure PATH... -- PROGRAM...`` runs a program this way; unshare(1)
starts it in a mount namespace, where closed folders then hold only these paths.
"""

import os
import stat
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Optional

from lowlat.base import process
from lowlat.base.errors import LowlatError, Refused

#: QEMU's user instead of root: nobody, who owns nothing.
USER = 65534

_TRY_S = 20.0


def argv(paths: Iterable[Path], command: Sequence[str]) -> list[str]:
    """The command that starts a guest's program so that it can reach these paths."""
    shown = [str(path) for path in _both(paths) if closed(path)]
    if not shown:
        return list(command)
    alone = ("unshare", "--mount", "--propagation", "private", "--")
    # Isolated: else a module of the current folder, whose ever that is, would run as root.
    return [*alone, sys.executable, "-I", "-m", __name__, *shown, "--", *command]


def check(paths: Sequence[Path]) -> None:
    """Raises Refused if a guest could not read the paths that it needs."""
    if os.geteuid() != 0:
        return
    for path in _both(paths):
        wanted = stat.S_IROTH | (stat.S_IXOTH if path.is_dir() else 0)
        if path.stat().st_mode & wanted != wanted:
            why = f"{path}: others than root cannot read it, and the guest is run by nobody"
            raise Refused(why, hint=f"chmod -R go+rX {path}")
    tried = process.run(argv(paths, ["true"]), timeout=_TRY_S)
    if tried.status:
        where = next((shut for path in paths if (shut := closed(path))), "")
        why = f"{where}: only root can enter it, and nothing can be mounted here"
        raise Refused(why, hint="keep lowlat, kernels and results in folders open to others")


def closed(path: Path) -> Optional[Path]:
    """The topmost of the folders above a path that others than root cannot enter, or None; None for
    an ordinary user, since QEMU runs as that user."""
    if os.geteuid() != 0:
        return None
    above = [folder for folder in reversed(path.parents) if folder.is_dir()]
    return next((one for one in above if not one.stat().st_mode & stat.S_IXOTH), None)


def chown_to_guest_user(folder: Path) -> None:
    """Let a guest write in a folder that this process created for it."""
    if os.geteuid() == 0:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, USER, USER, follow_symlinks=False)


def _both(paths: Iterable[Path]) -> list[Path]:
    """Each path as named and with links resolved, the topmost first."""
    named = [path.absolute() for path in paths]
    return sorted({*named, *(path.resolve() for path in named)})


def _enclose(paths: Sequence[Path]) -> None:
    """Hide folders that are closed to others. Raises LowlatError or OSError if that fails."""
    os.umask(0o022)
    held = {path: os.open(path, os.O_PATH) for path in paths}
    for folder in sorted({folder for path in paths if (folder := closed(path))}):
        _mount("-t", "tmpfs", "-o", "nosuid,nodev,mode=755", "tmpfs", folder)
    os.chdir("/")
    for path, fd in held.items():
        if not os.path.lexists(path):  # a folder shown before may already contain it
            path.parent.mkdir(parents=True, exist_ok=True)
            make = path.mkdir if stat.S_ISDIR(os.fstat(fd).st_mode) else path.touch
            make()
            _mount("--no-canonicalize", "--rbind", f"/proc/{os.getpid()}/fd/{fd}", path)
        os.close(fd)


def _mount(*words: object) -> None:
    ended = process.run(["mount", *map(str, words)], timeout=_TRY_S)
    if ended.status:
        raise LowlatError(f"cannot mount {words[-1]}: {ended.last_words}")


def main(words: Sequence[str]) -> None:
    """Become the program. Raises LowlatError if that fails."""
    end = words.index("--")
    try:
        _enclose([Path(word) for word in words[:end]])
        process.exec_judged(words[end + 1 :])
    except OSError as error:
        raise LowlatError(f"cannot enclose {words[end + 1]}: {error.strerror}") from error


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except LowlatError as refusal:
        sys.exit(str(refusal))
