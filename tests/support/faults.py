# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the writing calls of a program fail one by one: seccomp passes each call to the test, which
counts it, and allows it or returns an error. This includes calls of the C library and of child
processes. (PYTEST_DONT_REWRITE)
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import platform
import select
import socket
import struct
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Optional

from support import needs
from support.waits import GUARD_S


class _Syscall(NamedTuple):
    """The positions of the call's descriptor and path among its arguments, and its possible errors
    besides EIO and EROFS."""

    name: str
    fd: Optional[int] = None
    path: Optional[int] = None
    others: frozenset[str] = frozenset()


_BOTH = frozenset({"ENOSPC", "EINTR"})
_FULL_DISK = frozenset({"ENOSPC"})

#: The calls by their number on x86_64.
_CALLS: Mapping[int, _Syscall] = {
    1: _Syscall("write", fd=0, others=_BOTH),
    18: _Syscall("pwrite64", fd=0, others=_BOTH),
    20: _Syscall("writev", fd=0, others=_BOTH),
    74: _Syscall("fsync", fd=0, others=_BOTH),
    75: _Syscall("fdatasync", fd=0, others=_BOTH),
    77: _Syscall("ftruncate", fd=0, others=_BOTH),
    91: _Syscall("fchmod", fd=0),
    93: _Syscall("fchown", fd=0),
    2: _Syscall("open", path=0, others=_BOTH),
    257: _Syscall("openat", fd=0, path=1, others=_BOTH),
    76: _Syscall("truncate", path=0, others=_FULL_DISK),
    82: _Syscall("rename", path=1, others=_FULL_DISK),
    264: _Syscall("renameat", fd=2, path=3, others=_FULL_DISK),
    316: _Syscall("renameat2", fd=2, path=3, others=_FULL_DISK),
    83: _Syscall("mkdir", path=0, others=_FULL_DISK),
    258: _Syscall("mkdirat", fd=0, path=1, others=_FULL_DISK),
    86: _Syscall("link", path=1, others=_FULL_DISK),
    265: _Syscall("linkat", fd=2, path=3, others=_FULL_DISK),
    88: _Syscall("symlink", path=1, others=_FULL_DISK),
    266: _Syscall("symlinkat", fd=1, path=2, others=_FULL_DISK),
    84: _Syscall("rmdir", path=0),
    87: _Syscall("unlink", path=0),
    263: _Syscall("unlinkat", fd=0, path=1),
    90: _Syscall("chmod", path=0),
    268: _Syscall("fchmodat", fd=0, path=1),
}

FAULTS = ("EIO", "ENOSPC", "EINTR", "EROFS")

#: After the first such error all later calls fail too: the disk is full or read-only.
_LASTING = ("ENOSPC", "EROFS")

_AT_FDCWD = -100
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_CONTINUE = 1


@dataclass(frozen=True)
class Faulted:
    """The program's end, its calls below the folder, and the failed calls, by name and path."""

    status: int
    out: str
    err: str
    calls: tuple[str, ...]
    failed: tuple[str, ...]


def run(argv: Sequence[object], below: Path, fault: str = "", at: int = 0, **more: Any) -> Faulted:
    """Run a program and inject the fault in its ``at``-th writing call below the folder; 0: never.

    Standard output counts too if ``more`` directs it to a file there. Skips if this is not x86_64.
    """
    if platform.machine() != "x86_64":
        needs.absent("the numbers of the calls are known on x86_64 alone")
    ours, theirs = socket.socketpair()
    watch = _Watch(str(below), fault, at, ours)
    more = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
    with ours, theirs:
        watch.start()
        with subprocess.Popen(
            list(map(str, argv)), text=True, preexec_fn=_filter(theirs), **more
        ) as process:
            theirs.close()
            try:
                out, err = process.communicate(timeout=GUARD_S)
            finally:
                process.kill()
        watch.join(20)
    return Faulted(
        process.returncode, out or "", err or "", tuple(watch.calls), tuple(watch.failed)
    )


def _filter(to: socket.socket) -> Any:
    """For ``preexec_fn``: passes the calls on from now on; sends their listener to a socket."""
    numbers = list(_CALLS)
    steps = [(0x20, 0, 0, 0)]
    steps += [(0x15, len(numbers) - at, 0, number) for at, number in enumerate(numbers)]
    steps += [(0x06, 0, 0, 0x7FFF0000), (0x06, 0, 0, 0x7FC00000)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    filters = struct.pack("HP", len(steps), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)

    def apply() -> None:
        assert libc.prctl(38, 1, 0, 0, 0) == 0 and code  # PR_SET_NO_NEW_PRIVS
        listener = libc.syscall(317, 1, 8, filters)  # seccomp, its filter mode, a new listener
        assert listener >= 0
        socket.send_fds(to, [b"."], [listener])
        os.close(listener)

    return apply


class _Watch(threading.Thread):
    def __init__(self, below: str, fault: str, at: int, source: socket.socket) -> None:
        super().__init__(daemon=True)
        self.calls: list[str] = []
        self.failed: list[str] = []
        self._below, self._fault, self._at, self._source = below, fault, at, source

    def run(self) -> None:
        _, listeners, _, _ = socket.recv_fds(self._source, 1, 1)
        if not listeners:
            return
        poll = select.poll()
        poll.register(listeners[0], select.POLLIN)
        while not poll.poll()[0][1] & select.POLLHUP:
            request = bytearray(80)
            try:
                fcntl.ioctl(listeners[0], _RECEIVE, request)
                answer = self._answer(*struct.unpack("=QIIiIQ6Q", request))
                fcntl.ioctl(listeners[0], _SEND, answer)
            except OSError as error:
                # The calling process was killed meanwhile.
                assert error.errno == errno.ENOENT, error
        os.close(listeners[0])

    def _answer(
        self, number: int, pid: int, _flags: int, call: int, _arch: int, _at: int, *words: int
    ) -> bytes:
        made = _CALLS[call]
        path = _path(pid, made, words)
        if not path.startswith(f"{self._below}/") or not _writes(made, words):
            return struct.pack("=QqiI", number, 0, 0, _CONTINUE)
        self.calls.append(f"{made.name} {path}")
        count = len(self.calls)
        due = self._at and (count >= self._at if self._fault in _LASTING else count == self._at)
        if not due or (self._fault in _BOTH and self._fault not in made.others):
            return struct.pack("=QqiI", number, 0, 0, _CONTINUE)
        self.failed.append(self.calls[-1])
        return struct.pack("=QqiI", number, 0, -int(getattr(errno, self._fault)), 0)


def _writes(made: _Syscall, words: Sequence[int]) -> bool:
    if not made.name.startswith("open"):
        return True
    flags = words[1 if made.name == "open" else 2]
    return bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC))


def _path(pid: int, made: _Syscall, words: Sequence[int]) -> str:
    folder = "cwd"
    if made.fd is not None:
        fd = ctypes.c_int(words[made.fd] & 0xFFFFFFFF).value
        folder = "cwd" if fd == _AT_FDCWD else f"fd/{fd}"
    try:
        name = _text(pid, words[made.path]) if made.path is not None else ""
        return os.path.normpath(Path(f"/proc/{pid}/{folder}").readlink() / name)
    except OSError:
        return ""


def _text(pid: int, address: int) -> str:
    """A string in another process's memory."""
    memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
    try:
        # Read only to the end of the page, because the next page may not exist.
        text = os.pread(memory, 4096 - address % 4096, address)
        if b"\0" not in text:
            text += os.pread(memory, 4096, address + len(text))
    finally:
        os.close(memory)
    return text.split(b"\0")[0].decode(errors="replace")
