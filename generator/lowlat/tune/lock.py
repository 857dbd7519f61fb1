# SPDX-License-Identifier: GPL-2.0-or-later
"""One loop at a time: two measuring at once would measure each other."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from lowlat.base import files
from lowlat.base.errors import Refused
from lowlat.host.root import Root

#: Goes with the boot. The file stays; the lock goes with its process.
_LOCK = "/run/lowlat/tune.lock"


@contextmanager
def alone(root: Root) -> Iterator[None]:
    """For the one run that takes the loop on. Raises Refused where another one does."""
    path = Path(root.host(_LOCK))
    with ExitStack() as held:
        try:
            path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            held.enter_context(files.locked(path, os.O_RDWR | os.O_CREAT))
        except BlockingIOError as error:
            raise Refused(
                "another 'lowlat-gen tune' is at work", hint="--status tells, --abort ends it"
            ) from error
        except OSError as error:
            raise Refused(f"{_LOCK}: {error.strerror}", hint="run as root") from error
        yield
