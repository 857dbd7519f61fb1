# SPDX-License-Identifier: GPL-2.0-or-later
"""The whole road of a Debian 13 machine with firmware and GRUB, walked once for all tests of a
session: installed, applied, tried, back in stock, promoted, given another kernel, rolled back,
purged. (PYTEST_DONT_REWRITE)"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import boots
import image
import powercut
import pytest
from journey import Journey, packages_or_skip, task

from lowlat.base.process import find

#: The parameters that a trial alone has.
TRIAL = {
    *("panic=30", "rd.shell=0", "rd.emergency=reboot", "systemd.crash_reboot=1"),
    *("systemd.wants=lowlat-trial.service", "systemd.watchdog_sec=180"),
}

#: What the machine's administrator has chosen in TuneD.
PROFILE = "throughput-performance"

#: The boots by name, and what is done in each; the last one's task is left by the one before.
BOOTS = {
    "stock": "setup look apply trial",
    "tuned": "look verify",
    "returned": "look promote install",
    "promoted": "look verify remove",
}


@pytest.fixture(scope="session")
def road() -> Iterator[Journey]:
    """All boots of the road, one after the other."""
    kernels = image.packages_or_skip(image.image_or_skip(), boots.OTHER_KERNEL)
    with boots.work_folder() as name:
        yield walk(Path(name), *kernels)


def walk(folder: Path, *kernels: Path) -> Journey:
    made = Journey(folder, packages_or_skip()[0], *kernels)
    (made.share / "alone").write_text(task("back", "look roll_back purge"))
    if find("cc"):
        powercut.build(made.share)
    guest = boots.installed_or_skip(folder)
    for step in BOOTS.items():
        guest = made.go(guest, *step)
    # The other kernel knows no 9p: it finds its task on the disk, and leaves its answer there.
    guest = guest.boot(made.share)
    assert guest.read("/var/tmp/share/status") == b"0\n", guest.tail
    made.keep("back", guest, guest.read("/var/tmp/share/back.json"))
    return made
