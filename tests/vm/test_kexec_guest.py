# SPDX-License-Identifier: GPL-2.0-or-later
"""A trial by kexec on a Debian 13 machine: the tuned line is started past GRUB, no file of the boot
changes, and a panic there leads back to the stock entry."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.guest import boots, hangs
from support.guest.boots import Guest
from support.guest.journey import Journey, differing, packages_or_skip, task
from support.guest.road import PROFILE, TRIAL

pytestmark = pytest.mark.vm

#: In one run of QEMU: the stock boot, then the one that kexec starts.
_TWICE = """if [ ! -e /var/tmp/first ]; then
	python3 steps.py . {first} {stock}
	touch /var/tmp/first
	# When the step's answer is written: this stops the task too.
	systemctl --no-block kexec
	umount -l /run/share
	sleep infinity
fi
"""


def _through(made: Journey, guest: Guest, names: tuple[str, str], stock: str, tuned: str) -> Guest:
    """Two boots without a reset between them; the second one panics in the end."""
    after = _into_the_second(made, guest, names, stock, tuned)
    assert "Kernel panic - not syncing: sysrq" in after.console, after.tail
    for name in names:
        made.keep(name, after, (made.share / f"{name}.json").read_bytes())
    return after


def _into_the_second(
    made: Journey, guest: Guest, names: tuple[str, str], stock: str, tuned: str
) -> Guest:
    (made.share / "task").write_text(
        _TWICE.format(first=names[0], stock=stock) + task(names[1], tuned) + "sleep infinity\n"
    )
    return guest.boot(made.share)


@pytest.fixture(scope="module")
def way() -> Iterator[Journey]:
    with boots.work_folder() as name:
        made = Journey(Path(name), packages_or_skip()[0])
        guest = boots.installed_or_skip(Path(name))
        stock, tuned = "setup health look apply kexec", "look told_of_trial verify panic"
        guest = _through(made, guest, ("stock", "tuned"), stock, tuned)
        made.go(guest, "returned", "look promote")
        yield made


def test_loading_the_trial_changes_no_file(way: Journey) -> None:
    found = way.found["stock"]
    assert found["trial"][0] == 0, found["trial"]
    assert found["changed"] == {}
    assert found["loader after trial"] == found["loader after apply"]
    status = found["status after trial"]
    assert (status["state"], status["loaded"], status["next"]) == ("trial-set", True, None)


def test_the_kernel_that_kexec_started_is_tuned(way: Journey) -> None:
    stock, found = way.found["stock"]["boot"], way.found["tuned"]
    assert set(found["boot"]["line"]) >= TRIAL
    assert found["boot"]["tuned"] == ["active", "Current active profile: lowlat-local"]
    assert (found["status"]["state"], found["status"]["running"]["trial"]) == ("tried", True)
    lost = {word for word in stock["line"] if word not in found["boot"]["line"]}
    assert {word.partition("=")[0] for word in lost} <= {"BOOT_IMAGE"}
    assert "/etc/lowlat/health.d/50-up: passed" in found["log of trial"]
    wrong = [row for row in found["verify"]["settings"] if row["state"] == "not-applied"]
    assert wrong == []


def test_a_panic_leads_back_to_stock(way: Journey) -> None:
    before, found = way.found["stock"]["boot"], way.found["returned"]
    assert found["boot"]["line"] == before["line"]
    assert differing(before["values"], found["boot"]["values"]) == {}
    assert found["boot"]["tuned"] == ["active", f"Current active profile: {PROFILE}"]


def test_what_kexec_tried_can_be_promoted(way: Journey) -> None:
    assert way.found["returned"]["promote"][0] == 0, way.found["returned"]["promote"]
    assert way.found["returned"]["status after promote"]["state"] == "promoted"


@pytest.mark.proof
def test_what_kexec_tried_grub_boots(way: Journey) -> None:
    way.go(way.after["returned"], "promoted", "look verify roll_back")
    found = way.found["promoted"]
    assert way.marker("promoted") == way.marker("tuned")
    assert not TRIAL.intersection(found["boot"]["line"])
    assert (found["rollback"][0], found["rolled back"]) == (0, {}), found["rollback"]


@pytest.mark.proof
def test_a_loader_that_lowlat_does_not_write() -> None:
    with boots.work_folder() as name:
        made = Journey(Path(name), packages_or_skip()[0])
        guest = boots.installed_or_skip(Path(name))
        names = ("stock", "tuned")
        guest = _through(made, guest, names, "setup nixos look apply kexec", "look verify panic")
        guest = made.go(guest, "returned", "look by_hand")
        made.go(guest, "promoted", "look verify roll_back")
        assert "NixOS" in made.found["stock"]["apply"][1], made.found["stock"]["apply"]
        assert made.found["tuned"]["status"]["state"] == "tried"
        assert made.found["promoted"]["status"]["state"] == "promoted"
        assert made.marker("promoted") == made.marker("tuned") is not None
        assert "has the words of plan" in made.found["promoted"]["rollback"][1]


@pytest.mark.proof
def test_a_hang_comes_back_by_the_watchdog() -> None:
    """Real-time tasks take every CPU: the watchdog that the trial's line has armed resets it."""
    with boots.work_folder() as name:
        made = Journey(Path(name), packages_or_skip()[0])
        guest = boots.installed_or_skip(Path(name))
        guest = guest.planted(hangs.takes_every_cpu(guest, ""))
        names = ("stock", "hung")
        hung = _into_the_second(made, guest, names, "setup look apply kexec", "look")
        assert not (made.share / "hung.json").exists(), f"it came up: {hung.tail}"
        assert "reboot: Restarting system" not in hung.console, hung.tail
        assert hung.read("/var/tmp/hung"), hung.tail
        made.keep("stock", hung, (made.share / "stock.json").read_bytes())
        made.go(hung, "returned", "look")
        found = made.found["returned"]
        assert found["boot"]["line"] == made.found["stock"]["boot"]["line"]
        assert [note for note in found["status"]["notes"] if "did not come up" in note]
