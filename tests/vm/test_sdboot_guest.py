# SPDX-License-Identifier: GPL-2.0-or-later
"""A Debian 13 machine with systemd-boot: applied, tried once, back in stock, promoted,
rolled back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import boots
import hangs
import image
import pytest
import results
from journey import Journey, other_boot, packages_or_skip

pytestmark = [pytest.mark.vm, pytest.mark.full]

#: The boots by name, and what is done in each.
BOOTS = {
    "grub": "bootctl",
    "stock": "setup look apply trial",
    "tuned": "look",
    "returned": "look promote",
    "promoted": "look roll_back",
}


@pytest.fixture(scope="module")
def road() -> Iterator[Journey]:
    loader = image.packages_or_skip(image.image_or_skip(), "systemd-boot")
    with boots.work_folder() as name:
        made = Journey(Path(name), packages_or_skip()[0], *loader)
        guest = boots.installed_or_skip(Path(name))
        for step in BOOTS.items():
            guest = made.go(guest, *step)
        yield made


def test_the_machine_has_systemd_boot(road: Journey) -> None:
    found = road.found["grub"]
    assert found["packages"][0] == 0, found["packages"]
    assert found["grub"][0] == 0, found["grub"]
    assert road.found["stock"]["status"]["loader"] == "systemd-boot"


def test_apply_only_adds(road: Journey) -> None:
    found = road.found["stock"]
    assert found["apply"][0] == 0, found["apply"]
    before, after = found["loader"], found["loader after apply"]
    assert after.items() >= before.items(), "stock entries keep every byte"
    assert len(after) == len(before) + 2
    assert found["status after apply"]["default"]["ours"] is False


def test_the_trial_is_for_one_boot(road: Journey) -> None:
    assert road.found["stock"]["trial"][0] == 0, road.found["stock"]["trial"]
    assert [road.marker(name) is not None for name in BOOTS if name != "grub"] == [
        False,
        True,
        False,
        True,
    ]
    assert road.found["tuned"]["status"]["state"] == "tried"
    before, found = road.found["stock"]["boot"], road.found["returned"]["boot"]
    assert other_boot(before, found) == {}
    remark = "systemd-boot, one try: the boot after it was stock, its values as before"
    results.add(found["kernel"], "lowlat", "all", remark)


def test_promote_and_rollback(road: Journey) -> None:
    assert road.found["returned"]["promote"][0] == 0, road.found["returned"]["promote"]
    found = road.found["promoted"]
    assert found["status"]["state"] == "promoted"
    assert found["rollback"][0] == 0, found["rollback"]
    assert found["rolled back"] == {}
    assert found["loader after rollback"] == road.found["stock"]["loader"]


@pytest.mark.parametrize(
    ("hang", "said", "told"),
    [
        pytest.param(hangs.panics, "Kernel panic - not syncing: sysrq", None, id="panic"),
        pytest.param(hangs.takes_every_cpu, "", False, id="watchdog"),
    ],
)
def test_a_hang_comes_back_by_itself(
    road: Journey, hang: hangs.Hang, said: str, told: bool | None
) -> None:
    hangs.comes_back(road, hang, said, told)
