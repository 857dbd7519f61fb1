# SPDX-License-Identifier: GPL-2.0-or-later
"""What a Debian 13 machine with firmware and GRUB did on its road. And what hangs comes back."""

from __future__ import annotations

import re

import pytest

from support.guest import hangs, results
from support.guest.journey import Journey, differing
from support.guest.road import PROFILE, TRIAL, check_kernels

pytest_plugins = ["support.guest.road"]
pytestmark = pytest.mark.vm

_FULL = pytest.mark.proof

#: What apply puts outside of /usr and its own state: nothing else changes, and all of it is new.
ADDED = {
    "/etc/grub.d/99_lowlat",
    "/etc/lowlat",
    "/etc/lowlat/boot.conf",
    "/etc/systemd/system/tuned.service.wants",
    "/etc/systemd/system/tuned.service.wants/lowlat-boot.service",
    "/etc/tuned/profiles/lowlat-local",
    "/etc/tuned/profiles/lowlat-local/script.sh",
    "/etc/tuned/profiles/lowlat-local/tuned.conf",
}


def _without_us(config: str) -> str:
    """grub.cfg without our script's part."""
    part = r"(?ms)^\n### BEGIN \S*/99_lowlat ###$.*?^### END \S*/99_lowlat ###\n"
    return re.sub(part, "", config)


def test_installing_changes_nothing(road: Journey) -> None:
    found = road.found["stock"]
    assert found["setup"][0] == 0, found["setup"]
    assert [path for path in found["installed"] if not path.startswith("/usr/")] == []
    assert {path for path, pair in found["installed"].items() if pair[0] is not None} == set()
    assert "enabled" not in found["units"][1].split()[1::3], found["units"]
    assert found["status"]["state"] == "none"


def test_apply_only_adds(road: Journey) -> None:
    found = road.found["stock"]
    assert found["apply"][0] == 0, found["apply"]
    added = {path for path in found["applied"] if not path.startswith("/var/lib/lowlat")}
    assert added == ADDED
    assert all(before is None for before, _ in found["applied"].values())
    status, after = found["status after apply"], found["loader after apply"]
    assert (status["state"], status["default"]["ours"]) == ("applied", False)
    assert _without_us(after["config"]) == found["loader at first"]["config"]
    assert after["environment"] == found["loader at first"]["environment"]


def test_a_trial_is_for_one_boot(road: Journey) -> None:
    found = road.found["stock"]
    assert PROFILE in found["boot"]["tuned"][1]
    assert found["trial"][0] == 0, found["trial"]
    assert "a virtual watchdog guards that boot" in found["trial"][1]
    status = found["status after trial"]
    assert (status["state"], status["default"]["ours"]) == ("trial-set", False)


def test_the_trial_is_tuned(road: Journey) -> None:
    stock, found = road.found["stock"]["boot"], road.found["tuned"]
    line = set(found["boot"]["line"])
    assert road.marker("tuned")
    assert line >= TRIAL
    assert {word for word in stock["line"] if word not in line} == set()
    assert found["boot"]["tuned"] == ["active", "Current active profile: lowlat-local"]
    assert found["status"]["running"]["trial"]
    assert found["status"]["state"] == "tried"
    assert found["status"]["default"]["ours"] is False


@pytest.mark.parametrize("name", ["tuned", "promoted"])
def test_a_tuned_boot_is_in_effect(road: Journey, name: str) -> None:
    found = road.found[name]
    fine = ("effective", "no-setting")
    rows = [row for row in found["verify"]["settings"] if row["state"] not in fine]
    # Kernel threads that the kernel lets run anywhere, and that stay where they are.
    wrong = [row for row in rows if (row["where"], row["state"]) != ("/proc", "unverifiable")]
    # On the administrator's own line.
    assert [(row["state"], row["name"]) for row in wrong] == [("not-planned", "tsc")], wrong
    assert found["runtime"][0] == 0, found["runtime"]


@pytest.mark.security
@pytest.mark.parametrize("how", ["tells", "restores"])
def test_the_watch_runs_in_its_sandbox(road: Journey, how: str) -> None:
    found = road.found["promoted"]["watch"][how]
    assert (found["started"][0], found["active"]) == (0, "active"), found
    assert "workqueue.cpumask: " in found["log"], found
    assert found["kept"] is (how == "restores"), found
    assert found["stopped"][0] == 0, found


def test_the_boot_after_the_trial_is_stock(road: Journey) -> None:
    """Every run-time value is what it was, and the administrator's profile is back."""
    before, tuned, found = (road.found[name]["boot"] for name in ("stock", "tuned", "returned"))
    assert found["line"] == before["line"]
    assert differing(before["values"], tuned["values"]), "the tuned boot changed something"
    assert differing(before["values"], found["values"]) == {}
    assert found["tuned"] == ["active", f"Current active profile: {PROFILE}"]
    status = road.found["returned"]["status"]
    assert (status["state"], status["next"], status["missing"]) == ("tried", None, [])
    remark = f"GRUB, one try: the boot after it was stock, {len(found['values'])} values as before"
    results.add(found["kernel"], "lowlat", "all", remark)


def test_promote_is_for_every_boot(road: Journey) -> None:
    before, found = road.found["returned"], road.found["promoted"]
    assert before["promote"][0] == 0, before["promote"]
    assert before["status after promote"]["state"] == "promoted"
    assert road.marker("tuned") == road.marker("promoted") is not None
    assert not TRIAL.intersection(found["boot"]["line"])
    assert found["boot"]["tuned"] == ["active", "Current active profile: lowlat-local"]


@pytest.mark.proof
def test_the_entries_follow_the_kernels(kernels: Journey) -> None:
    check_kernels(kernels)


def test_rollback_leaves_what_was_there(road: Journey) -> None:
    found = road.found["promoted"]
    assert found["rollback"][0] == 0, found["rollback"]
    assert found["status after rollback"]["state"] == "none"
    assert found["rolled back"] == {}
    assert "lowlat" not in found["loader after rollback"]["config"]


def test_purge_leaves_nothing(road: Journey) -> None:
    found = road.found["promoted"]
    assert found["purge"][0] == 0, found["purge"]
    assert found["purged"] == {}
    assert found["units"][1] == ""
    assert found["loader at last"] == found["loader after rollback"]
    assert found["generated"] == [0, found["loader at last"]["config"].strip()]


# --------------------------------------------------------------------- hangs


@pytest.mark.parametrize(
    ("hang", "said", "told"),
    [
        pytest.param(hangs.panics, "Kernel panic - not syncing: sysrq", None, id="panic"),
        pytest.param(
            hangs.has_no_root,
            "ALERT!  /dev/missing does not exist",
            None,
            id="initramfs",
            marks=_FULL,
        ),
        pytest.param(hangs.never_ends, "", True, id="unit that never ends", marks=_FULL),
        pytest.param(hangs.crashes_systemd, "", True, id="crash of systemd", marks=_FULL),
        pytest.param(hangs.takes_every_cpu, "", False, id="watchdog", marks=_FULL),
        pytest.param(hangs.loses_power, "", None, id="power cut"),
    ],
)
def test_a_hang_comes_back_by_itself(
    road: Journey, hang: hangs.Hang, said: str, told: bool | None
) -> None:
    hangs.comes_back(road, hang, said, told)
