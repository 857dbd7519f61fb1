# SPDX-License-Identifier: GPL-2.0-or-later
"""One loop at a time: two measuring at once would measure each other."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from lowlat.base import files
from lowlat.base.errors import Refused
from lowlat.host import runstate
from lowlat.host.root import Root

#: Goes with the boot. The file stays; the lock goes with its process.
_FOLDER, _NAME = "/run/lowlat", "tune.lock"


@contextmanager
def alone(root: Root) -> Iterator[None]:
    """For the one run that takes the loop on. Raises Refused where another one does."""
    with ExitStack() as held:
        try:
            at = held.enter_context(root.folder(_FOLDER, make=True))
            held.enter_context(files.locked(_NAME, os.O_RDWR | os.O_CREAT, at))
        except BlockingIOError as error:
            raise Refused(
                "another 'lowlat-gen tune' is at work", hint="--status tells, --abort ends it"
            ) from error
        except OSError as error:
            raise runstate.refusal(f"{_FOLDER}/{_NAME}", error) from error
        yield
