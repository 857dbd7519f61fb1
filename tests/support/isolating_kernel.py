# SPDX-License-Identifier: GPL-2.0-or-later
"""A stand-in for a kernel with the task isolation patches, because no distribution packages one:
starts a program and answers its prctl() calls of these numbers through seccomp's user notification.
Prints each call with the data at its pointer; ends when the program does.

    python isolating_kernel.py FEATURES ERRNO PROGRAM [ARGUMENT]...

FEATURES is the answer to PR_ISOL_FEAT_GET, ERRNO the error of activating (0: none).
"""

import ctypes
import fcntl
import os
import platform
import select
import struct
import sys
from pathlib import Path

#: seccomp(2), prctl(2).
SECCOMP, PRCTL = {"x86_64": (317, 157), "aarch64": (277, 167)}[platform.machine()]
NEW_LISTENER, RECV, SEND = 1 << 3, 0xC0502100, 0xC0182101
FEAT_GET, CFG_SET, ACTIVATE_SET = 63, 65, 67
CALLS = range(FEAT_GET, ACTIVATE_SET + 1)


def listen() -> int:
    """Let this process and its children ask before such a call; returns the listener."""
    tell, allow = 0x7FC00000, 0x7FFF0000
    steps = [
        *((0x20, 0, 0, 0), (0x15, 0, 4, PRCTL)),  # the call's number
        *((0x20, 0, 0, 16), (0x35, 0, 2, CALLS[0]), (0x25, 1, 0, CALLS[-1])),  # its first argument
        *((0x06, 0, 0, tell), (0x06, 0, 0, allow)),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = struct.pack("HP", len(steps), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
    fd: int = libc.syscall(SECCOMP, 1, NEW_LISTENER, program)
    assert fd >= 0, os.strerror(ctypes.get_errno())
    return fd


def answer(fd: int, features: int, error: int) -> None:
    asked = bytearray(80)
    fcntl.ioctl(fd, RECV, asked)
    ident, pid = struct.unpack_from("QI", asked)
    call, *args = struct.unpack_from("5Q", asked, 32)
    pointer = {FEAT_GET: args[1], CFG_SET: args[3] or args[1]}.get(call, args[0])
    with Path(f"/proc/{pid}/mem").open("r+b", buffering=0) as memory:
        memory.seek(pointer)
        if call == FEAT_GET:
            memory.write(struct.pack("Q", features))
        words = struct.unpack("2Q", memory.read(16))
    what = [arg if arg < 100 else "pointer" for arg in args]
    print(call, *what, *words if call != FEAT_GET else (), flush=True)
    failed = -error if call == ACTIVATE_SET else 0
    fcntl.ioctl(fd, SEND, struct.pack("QqiI", ident, 0, failed, 0))


def main(features: int, error: int, command: list[str]) -> int:
    fd = listen()
    child = os.fork()
    if not child:
        os.execvp(command[0], command)  # noqa: S606
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
        if select.select([fd], [], [], 0.05)[0]:
            answer(fd, features, error)
    return os.waitstatus_to_exitcode(ended[1])


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))
