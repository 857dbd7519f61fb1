# SPDX-License-Identifier: GPL-2.0-or-later
"""The systemd unit that takes the loop on after a reboot: in /etc while there is a loop."""

from __future__ import annotations

import re

from lowlat.base import resources
from lowlat.boot import programs
from lowlat.boot.transaction import Transaction
from lowlat.host.root import Root

NAME = "lowlat-tune.service"
PATH = f"/etc/systemd/system/{NAME}"
WANTED = f"/etc/systemd/system/multi-user.target.wants/{NAME}"


def enable(root: Root, seconds: float) -> None:
    """Have it run in the next boots, each time for at most that long."""
    text = resources.template(f"systemd/{NAME}")
    text = text.replace("/usr/bin/lowlat-gen", programs.ourselves(root))
    text = re.sub("(?m)^TimeoutStartSec=.*", f"TimeoutStartSec={seconds:.0f}", text)
    with Transaction(root) as change:
        change.write(PATH, text)
        change.link(WANTED, PATH)


def disable(root: Root) -> None:
    """Remove it; in the boot that runs it, it goes on to its end."""
    with Transaction(root) as change:
        change.put_back(WANTED)
        change.put_back(PATH)
