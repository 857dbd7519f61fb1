# SPDX-License-Identifier: GPL-2.0-or-later
"""Run-time settings are applied only when booted from a lowlat entry; ``status`` shows that."""

from __future__ import annotations

import json
import re

import pytest

from support.hosttree import (
    NEEDS,
    OLDER,
    RELEASE,
    STOCK,
    Host,
    apply_and_try,
    entries_of,
    plan_of,
    refusal,
)

pytest_plugins = ["support.hosttree"]
pytestmark = NEEDS


def test_the_run_time_half_follows_the_boot(host: Host) -> None:
    before = {name: host.read(f"etc/tuned/{name}") for name in ("active_profile", "profile_mode")}
    apply_and_try(host)
    assert host.read("etc/tuned/active_profile") == "lowlat-local\n"
    assert host.read("etc/tuned/profile_mode") == "manual\n"
    host.boot(STOCK, "boot-2")
    assert host.status()["missing"] == ["boot"]
    host.done("boot", "start")
    assert {name: host.read(f"etc/tuned/{name}") for name in before} == before
    assert host.status()["missing"] == []


@pytest.mark.parametrize(
    "name", [f"plans/{RELEASE}.json", "journal.json", "decision.json", "trials.json", "plan.json"]
)
def test_what_is_damaged_leaves_nothing_of_ours_in_a_stock_boot(host: Host, name: str) -> None:
    apply_and_try(host)
    assert host.read("etc/tuned/active_profile") == "lowlat-local\n"
    host.write(f"var/lib/lowlat/{name}", "{")
    host.boot(STOCK, "boot-2")
    answer = host.lowlat("boot", "start")
    assert answer.status == 0 or "trials.json is damaged" in answer.refused()
    assert host.read("etc/tuned/active_profile") == "balanced\n"
    assert host.read("etc/tuned/profile_mode") == "auto\n"


def test_the_administrators_own_choice_is_left_alone(host: Host) -> None:
    apply_and_try(host)
    host.write("etc/tuned/active_profile", "powersave\n")
    host.boot(STOCK, "boot-2")
    host.done("boot", "start")
    assert host.read("etc/tuned/active_profile") == "powersave\n"


def test_another_kernels_boot_makes_its_plan_the_applied_one(host: Host) -> None:
    host.done("apply")
    host.done("trial", "--kernel", OLDER)
    host.boot(host.status()["next"]["entry"], "boot-1")
    host.done("boot", "start")
    assert json.loads(host.read("var/lib/lowlat/plan.json"))["kernel"] == OLDER
    assert plan_of(host, OLDER)[-1].partition("=")[2] in host.read(
        "etc/tuned/lowlat-local/tuned.conf"
    )
    host.done("rollback")
    assert not (host.path / "etc/tuned/lowlat-local").exists()


def test_without_the_run_time_half_tuned_is_not_touched(host: Host) -> None:
    before = {name: entry for name, entry in host.snapshot().items() if "tuned" in name}
    said = " ".join(host.done("apply", "--runtime", "none").split())
    assert {name: entry for name, entry in host.snapshot().items() if "tuned" in name} == before
    assert re.search(r"note: nothing sets .*kernel\.timer_migration, .*'lowlat-gen runtime", said)
    host.boot(entries_of(host)[RELEASE], "boot-1")
    assert "run-time values are as planned" in host.lowlat("runtime", "start").out


def test_the_run_time_half_is_taken_out_again(host: Host) -> None:
    before = {name for name in host.snapshot() if "tuned" in name or "systemd" in name}
    host.done("apply")
    link = host.path / "etc/systemd/system/tuned.service.wants/lowlat-boot.service"
    assert link.is_symlink() and (host.path / "etc/tuned/lowlat-local/tuned.conf").exists()
    host.done("apply", "--runtime", "none")
    assert not link.is_symlink()
    after = {name for name in host.snapshot() if name.startswith("etc/tuned/")}
    assert not [name for name in after - before if name.endswith((".conf", ".sh"))]


def test_the_run_time_half_is_not_taken_out_while_it_is_in_effect(host: Host) -> None:
    """Nothing would restore the administrator's profile in a later stock boot."""
    apply_and_try(host)
    assert "lowlat-local" in refusal(host, "apply", "--runtime", "none")
    host.boot(STOCK, "boot-2")
    host.done("boot", "start")
    host.done("apply", "--runtime", "none")


# ------------------------------------------------------------------ status


def test_status_names_what_somebody_edited(host: Host) -> None:
    assert host.status()["state"] == "none"
    host.done("apply")
    assert host.status()["edited"] == []
    host.write("etc/lowlat/boot.conf", "# mine\n")
    assert host.status()["edited"] == ["/etc/lowlat/boot.conf"]
    assert "edited since" in refusal(host, "apply")
    kept = host.lowlat("rollback")
    assert kept.status == 1 and "/etc/lowlat/boot.conf" in kept.err
    assert host.read("etc/lowlat/boot.conf") == "# mine\n"
    assert "lowlat" not in host.config


def test_status_tells_which_half_is_missing(host: Host) -> None:
    apply_and_try(host)
    assert host.status()["running"]["ours"] and host.status()["missing"] == []
    host.write("etc/tuned/active_profile", "balanced\n")
    assert host.status()["missing"] == ["runtime"]
    assert "the run-time settings are not in effect" in host.done("status")
    host.write("etc/tuned/active_profile", "lowlat-local\n")
    host.boot(STOCK, "boot-2")
    assert host.status()["missing"] == ["boot"]
    assert "the boot parameters are not in effect" in host.done("status")


def test_status_has_the_documented_fields(host: Host) -> None:
    host.done("apply")
    document = host.status()
    assert list(document) == [
        "schema",
        "state",
        "loader",
        "decision",
        "default",
        "next",
        "running",
        "kernels",
        "edited",
        "missing",
        "notes",
        "loaded",
        "now",
    ]
    assert document["schema"] == "lowlat.status/1" and document["loader"] == "GRUB"
