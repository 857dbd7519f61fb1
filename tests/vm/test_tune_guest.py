# SPDX-License-Identifier: GPL-2.0-or-later
"""`tune` takes a Debian 13 machine through its boots by itself: by GRUB, and past it by kexec."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, Callable

import pytest

from support.guest import boots, emulator, image
from support.guest.boots import Guest
from support.guest.journey import Journey, packages_or_skip

pytest_plugins = ["support.powercut"]
pytestmark = [pytest.mark.vm, pytest.mark.proof]

#: Of each kind; the table of times in packaging/doc/boot.md is of five.
_BOOTS = int(os.environ.get("LOWLAT_TUNE_BOOTS", "1"))

#: The loop's own unit reboots; what the host asked for waits for its end, in a stock boot.
_TASK = f"""if [ ! -e /var/tmp/begun ]; then
	set -e
	dpkg --install libjansson4_*.deb lowlat*.deb
	touch /var/tmp/begun
	lowlat-gen tune --profile lowlat --boots {_BOOTS} --reboot --duration 2s --warmup 5s HOW
	sleep infinity
fi
until lowlat-gen tune --status --json >tune.json && grep -q '"phase": "done"' tune.json &&
	! grep -q lowlat.plan /proc/cmdline; do
	sleep 5
done
lowlat-gen status --json >status.json
cat /proc/cmdline >cmdline
cp /var/lib/lowlat/runs/tune-*-[0-9]*.json .
"""

#: In CPU seconds.
_LIMIT_S = 900.0 * (2 * _BOOTS + 2)


@dataclass(frozen=True)
class Ended:
    """What the machine left when the loop was done."""

    share: Path

    def read(self, name: str) -> Any:
        return json.loads((self.share / name).read_text())

    def seconds(self) -> list[float]:
        """From one boot's measurement to the next one's."""
        runs = (Path(leg["run"]).name for leg in self.read("tune.json")["legs"])
        began = [datetime.fromisoformat(self.read(run)["started"]) for run in runs]
        return [(after - before).total_seconds() for before, after in pairwise(began)]


@pytest.fixture(scope="module", params=["", "--kexec"], ids=["reboot", "kexec"])
def ended(request: pytest.FixtureRequest) -> Iterator[Ended]:
    packages = image.packages_or_skip(image.image_or_skip(), *image.JANSSON)
    with boots.work_folder() as name:
        share = Journey(Path(name), *packages_or_skip(), *packages).share
        (share / "task").write_text(_TASK.replace("HOW", request.param))
        guest, log = Path(name) / "guest", Path(name) / "console"
        first = boots.installed_or_skip(Path(name))
        # All boots in one run of QEMU: a reset begins with the firmware again.
        argv = [word for word in Guest(guest).argv(share) if word != "-no-reboot"]

        def prepare() -> None:
            shutil.rmtree(guest, ignore_errors=True)
            shutil.copytree(first.folder, guest)

        console = emulator.run(argv, limit=_LIMIT_S, log=log, prepare=prepare)
        status = share / "status"
        assert status.is_file() and status.read_text() == "0\n", console[-4000:]
        yield Ended(share)


def test_the_loop_walks_to_its_end(ended: Ended, tell: Callable[[str], None]) -> None:
    state = ended.read("tune.json")
    assert state["outcome"] == "compared", state["why"]
    assert sorted(leg["arm"] for leg in state["legs"]) == sorted(["stock", "tuned"] * _BOOTS)
    assert "lowlat.plan" not in (ended.share / "cmdline").read_text()
    assert ended.read("status.json")["default"]["ours"] is False
    times = ended.seconds()
    how = "by kexec" if state["kexec"] else "by the firmware and GRUB"
    tell(f"{how}: {median(times):.0f} s a boot, {min(times):.0f} to {max(times):.0f} s")
