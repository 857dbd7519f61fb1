# SPDX-License-Identifier: GPL-2.0-or-later
"""One loop at a time: two measuring at once would measure each other."""

from __future__ import annotations

from contextlib import AbstractContextManager

from lowlat.base.errors import Refused
from lowlat.host import runstate
from lowlat.host.root import Root

#: Goes with the boot. The file stays; the lock goes with its process.
_LOCK = f"{runstate.FOLDER}/tune.lock"


def alone(root: Root) -> AbstractContextManager[None]:
    """For the one run that takes the loop on. Raises Refused where another one does."""
    taken = Refused("another 'lowlat-gen tune' is at work", hint="--status tells, --abort ends it")
    return runstate.locked(root, _LOCK, taken)
