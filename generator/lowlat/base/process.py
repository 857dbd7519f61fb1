# SPDX-License-Identifier: GPL-2.0-or-later
"""Starting other programs: argument vectors only, always bounded, never a shell."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn, Optional, Union

from lowlat.base.errors import LowlatError

#: Python ignores them, and a program started from here would too.
_IGNORED = (signal.SIGPIPE, signal.SIGXFSZ)


@dataclass(frozen=True)
class Finished:
    """How a program ended: its exit status (negative: killed by that signal) and its output."""

    status: int
    stdout: str
    stderr: str
    timed_out: bool = False

    @property
    def last_words(self) -> str:
        """Why it failed, as it says itself."""
        return last_line(self.stderr) or f"exit status {self.status}"


def find(program: str) -> Optional[str]:
    """The program's path, also from /usr/sbin and /sbin, which a user's PATH often lacks."""
    path = os.environ.get("PATH", os.defpath)
    return shutil.which(program, path=f"{path}:/usr/local/sbin:/usr/sbin:/sbin")


def start(
    argv: Sequence[str],
    *,
    env: Optional[Mapping[str, str]] = None,
    cwd: Optional[str] = None,
    stdin: int = subprocess.DEVNULL,
    stdout: Union[int, IO[Any]] = subprocess.PIPE,
    stderr: Union[int, IO[Any]] = subprocess.PIPE,
) -> subprocess.Popen[bytes]:
    """Start a program as the leader of a group of its own, to be ended with end_group().

    Raises LowlatError where it cannot be started.
    """
    try:
        return subprocess.Popen(
            list(argv),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env=None if env is None else dict(env),
            cwd=cwd,
            start_new_session=True,
        )
    except OSError as error:
        raise LowlatError(f"cannot run {argv[0]}: {error.strerror}") from error


def run(
    argv: Sequence[str],
    *,
    timeout: float,
    env: Optional[Mapping[str, str]] = None,
    cwd: Optional[str] = None,
    stdin: Optional[str] = None,
) -> Finished:
    """Run a program to its end, or end it and all it started after ``timeout`` seconds.

    Raises LowlatError where it cannot be started.
    """
    given = None if stdin is None else stdin.encode()
    source = subprocess.DEVNULL if given is None else subprocess.PIPE
    timed_out = False
    child = start(argv, env=env, cwd=cwd, stdin=source)
    try:
        out, err = child.communicate(given, timeout=timeout)
    except subprocess.TimeoutExpired:
        timed_out = True
        end_group(child)
        out, err = child.communicate()
    finally:
        end_group(child)
    return Finished(child.returncode, text(out), text(err), timed_out)


def become(argv: Sequence[str]) -> NoReturn:
    """Become a program that the user named. Raises OSError where it cannot be run."""
    for number in _IGNORED:
        signal.signal(number, signal.SIG_DFL)
    os.execvp(argv[0], list(argv))  # noqa: S606


def attend(argv: Sequence[str]) -> int:
    """Start a program that the user named, in the foreground of this terminal, and return its
    number. Raises OSError where it cannot be run."""
    return os.posix_spawnp(argv[0], list(argv), os.environ, setsigmask=(), setsigdef=_IGNORED)


def text(output: bytes) -> str:
    """What a program wrote; what is no UTF-8 in it becomes a replacement character."""
    return output.decode("utf-8", "replace")


def last_line(said: str) -> str:
    """The last line that is not blank, "" where there is none."""
    return (said.strip().splitlines() or [""])[-1].strip()


def end_group(child: subprocess.Popen[bytes], grace: float = 3.0) -> None:
    """End what start() started and all of its group: asked first, then killed.

    A child that has been waited for is left alone: its number may be another's by now.
    """
    if child.returncode is not None:
        return
    # Reaped last: until then nobody else can get the group's number. The second signal goes out
    # even when the first ended the leader: it may have left others.
    for number in (signal.SIGTERM, signal.SIGKILL):
        os.killpg(child.pid, number)
        deadline = time.monotonic() + grace
        while _members(child.pid) and time.monotonic() < deadline:
            time.sleep(0.02)
    child.wait()


def _members(group: int) -> list[str]:
    """The living processes of a process group (proc_pid_stat(5), fields 3 and 5)."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text(errors="replace").rpartition(")")[2].split()
            if int(fields[2]) == group and fields[0] != "Z":
                found.append(path.parent.name)
    return found
