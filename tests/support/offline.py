# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a program in a network of its own that has only ``lo``: python3 offline.py PROGRAM...

Only root may make one; another user's program keeps the host's network.
"""

import ctypes
import fcntl
import os
import socket
import struct
import sys

_CLONE_NEWNET = 0x40000000
_SIOCSIFFLAGS, _IFF_UP_AND_RUNNING = 0x8914, 0x41


def main() -> None:
    if os.geteuid() == 0:
        _leave()
    os.execvp(sys.argv[1], sys.argv[1:])  # noqa: S606


def _leave() -> None:
    # Not os.unshare(), which is new in Python 3.12.
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNET):
        print(
            f"offline: no network of its own ({os.strerror(ctypes.get_errno())})", file=sys.stderr
        )
        return
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh", b"lo", _IFF_UP_AND_RUNNING))


if __name__ == "__main__":
    main()
