# SPDX-License-Identifier: GPL-2.0-or-later
"""The whole life of lowlat on a Debian 13 machine with firmware and GRUB, run once for all tests of
a session: installed, applied, tried, back in stock, promoted, rolled back, purged. Another sequence
starts from the promoted machine, which gets another kernel. (PYTEST_DONT_REWRITE)"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lowlat.base.process import find
from support import powercut
from support.guest import boots, image
from support.guest.journey import Journey, packages_or_skip, task

#: The parameters that only a trial has.
TRIAL = {
    *("panic=30", "rd.shell=0", "rd.emergency=reboot", "systemd.crash_reboot=1"),
    *("systemd.wants=lowlat-trial.service", "systemd.watchdog_sec=180"),
}

#: The TuneD profile that the administrator selected.
PROFILE = "throughput-performance"

#: The boots by name, with the steps of each.
BOOTS = {
    "stock": "setup look apply trial",
    "tuned": "look verify",
    "returned": "look promote",
    "promoted": "look verify watch roll_back purge",
}


@pytest.fixture(scope="session")
def road() -> Iterator[Journey]:
    """All boots of the road, one after the other."""
    with boots.work_folder() as name:
        made = Journey(Path(name), packages_or_skip()[0])
        if find("cc"):
            powercut.build(made.share)
        guest = boots.installed_or_skip(Path(name))
        for step in BOOTS.items():
            guest = made.go(guest, *step)
        yield made


@pytest.fixture(scope="session")
def kernels(road: Journey) -> Journey:
    other_kernel(road)
    return road


def other_kernel(road: Journey) -> None:
    """Another kernel is installed on the promoted machine, and the first one removed."""
    for package in image.packages_or_skip(image.image_or_skip(), *image.OTHER_KERNEL):
        shutil.copy(package, road.share)
    (road.share / "alone").write_text(task("alone", "look roll_back"))
    guest = road.go(road.after["returned"], "comes", "look install")
    guest = road.go(guest, "goes", "look remove")
    # The other kernel lacks 9p: it finds its task on the disk, and leaves its answer there.
    guest = guest.boot(road.share)
    assert guest.read("/var/tmp/share/status") == b"0\n", guest.tail
    road.keep("alone", guest, guest.read("/var/tmp/share/alone.json"))


def check_kernels(road: Journey) -> None:
    """The other kernel got a tuned entry, and boots stock until that was tried."""
    comes, goes, last = (road.found[name] for name in ("comes", "goes", "alone"))
    first = comes["boot"]["kernel"]
    assert comes["install"][0] == 0, comes["install"]
    tuned = _tuned_kernels(comes["status after install"])
    (other,) = tuned.keys() - {first}
    assert tuned[first] | {"tried": True, "default": True} == tuned[first]
    assert tuned[other] | {"tried": False, "default": False} == tuned[other]

    assert goes["boot"]["kernel"] == first, "the newer one is not the default"
    assert goes["remove"][0] == 0, goes["remove"]
    status = goes["status after remove"]
    assert list(_tuned_kernels(status)) == [other]
    assert status["default"] | {"ours": False, "kernel": other} == status["default"]

    assert last["boot"]["kernel"] == other
    assert road.marker("alone") is None, "not tuned before its own trial"
    assert PROFILE in last["boot"]["tuned"][1]
    assert last["rollback"][0] == 0, last["rollback"]
    assert last["rolled back"] == {}


def _tuned_kernels(status: Any) -> dict[str, Any]:
    return {each["kernel"]: each for each in status["kernels"]}
