# SPDX-License-Identifier: GPL-2.0-or-later
"""One loop at a time: two measuring at once would measure each other."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from lowlat.base.errors import Refused
from lowlat.host.root import Root

#: Goes with the boot. The file stays; the lock goes with its process.
_LOCK = "/run/lowlat/tune.lock"


class Turn:
    """Held by the one run that takes the loop on. Raises Refused where another one does."""

    def __init__(self, root: Root) -> None:
        self._path = Path(root.host(_LOCK))
        self._fd = -1

    def __enter__(self) -> Turn:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            self._path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            self._fd = os.open(self._path, flags, 0o600)
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.__exit__()
            raise Refused(
                "another 'lowlat-gen tune' is at work", hint="--status tells, --abort ends it"
            ) from error
        except OSError as error:
            self.__exit__()
            raise Refused(f"{_LOCK}: {error.strerror}", hint="run as root") from error
        return self

    def __exit__(self, *_: object) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
