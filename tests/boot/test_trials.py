# SPDX-License-Identifier: GPL-2.0-or-later
"""``trial`` and ``promote``, and the results of a trial."""

from __future__ import annotations

import pytest

from support.cli import lowlat
from support.hosttree import (
    NEEDS,
    OLDER,
    RELEASE,
    SETTINGS,
    STOCK,
    Host,
    apply_and_try,
    entries_of,
    linux_lines,
    refusal,
)

pytest_plugins = ["support.hosttree"]
pytestmark = NEEDS


def test_promote_is_refused_before_the_trial_came_up(host: Host) -> None:
    assert "nothing is applied" in refusal(host, "promote")
    host.done("apply")
    assert "not tried yet" in refusal(host, "promote")
    host.done("trial")
    assert "not tried yet" in refusal(host, "promote")
    trial = host.status()["next"]["entry"]
    host.boot(trial, "boot-1")
    assert "not tried yet" in refusal(host, "promote")
    host.done("boot", "record")
    host.done("promote")


def test_a_trial_is_set_once_and_the_default_stays(host: Host) -> None:
    host.done("apply")
    before = host.config
    said = host.done("trial", "--dry-run")
    assert "next_entry" not in host.environment()
    said = host.done("trial")
    assert "needs a power cycle" in said
    entry = entries_of(host)[RELEASE]
    assert host.environment()["next_entry"] == f"lowlat>{entry}-trial"
    assert host.config == before
    assert host.status()["state"] == "trial-set"
    host.done("rollback")
    assert "next_entry" not in host.environment()


@pytest.mark.parametrize("armed", ["2", f"gnulinux-advanced-0a1b>gnulinux-{OLDER}-advanced"])
def test_a_trial_replaces_no_entry_that_somebody_armed(host: Host, armed: str) -> None:
    host.done("apply")
    edit = ("grub-editenv", "/boot/grub/grubenv")
    host.chroot(*edit, "set", f"next_entry={armed}")
    why = refusal(host, "trial")
    assert f"{armed} is set to boot next, once, and not by lowlat" in why
    assert host.lowlat("trial", "--dry-run").refused() == why
    assert host.done("status").startswith("applied but not tried yet: 'lowlat-gen trial --kexec'")
    host.chroot(*why.rpartition("cancel it: ")[2].rstrip(")").split())
    host.done("trial")
    assert "-trial; the one after it is stock" in host.done("trial")


def test_a_watchdog_is_armed_where_there_is_one(host: Host) -> None:
    host.write("sys/class/watchdog/watchdog0/identity", "iTCO_wdt\n")
    host.done("apply")
    trial = linux_lines(host.config)[f"{entries_of(host)[RELEASE]}-trial"]
    assert "systemd.watchdog_sec=180" in trial
    assert "the hardware watchdog resets a hang" in host.done("trial")


def test_a_virtual_watchdog_promises_nothing(host: Host) -> None:
    host.write("sys/class/watchdog/watchdog0/identity", "iTCO_wdt\n")
    host.write("sys/class/dmi/id/sys_vendor", "QEMU\n")
    host.write(
        "proc/cpuinfo", host.read("proc/cpuinfo").replace("flags\t\t:", "flags\t\t: hypervisor")
    )
    host.done("apply")
    trial = linux_lines(host.config)[f"{entries_of(host)[RELEASE]}-trial"]
    assert "systemd.watchdog_sec=180" in trial
    assert "is up to the host" in host.done("trial")


def test_a_watchdog_that_the_entry_does_not_arm_is_not_promised(host: Host) -> None:
    host.done("apply")
    host.write("sys/class/watchdog/watchdog0/identity", "iTCO_wdt\n")
    assert "needs a power cycle" in host.done("trial")
    host.done("apply")
    assert "the hardware watchdog resets a hang" in host.done("trial")


@pytest.mark.parametrize(
    "files",
    [
        {"watchdog0/identity": "Software Watchdog\n"},
        # systemd opens the first one.
        {"watchdog0/identity": "Software Watchdog\n", "watchdog1/identity": "iTCO_wdt\n"},
    ],
)
def test_the_kernels_own_watchdog_is_no_hardware(host: Host, files: dict[str, str]) -> None:
    for name, text in files.items():
        host.write(f"sys/class/watchdog/{name}", text)
    host.done("apply")
    trial = linux_lines(host.config)[f"{entries_of(host)[RELEASE]}-trial"]
    assert "systemd.watchdog_sec=180" not in trial
    assert "needs a power cycle" in host.done("trial")


def test_a_trial_names_the_entry_that_boots_after_it(host: Host) -> None:
    entry = apply_and_try(host)
    assert "the one after it is stock again" in host.done("trial", "--json") + host.done("trial")
    assert "'lowlat-gen status' tells the next step" in host.done("plan")
    host.done("promote")
    assert f"the one after it is {entry} again" in host.done("trial")


def test_a_trial_that_did_not_come_up_is_told(host: Host) -> None:
    host.done("apply")
    host.done("trial")
    host.boot(STOCK, "boot-2")
    host.done("boot", "start")
    status = host.status()
    assert status["state"] == "applied"
    assert any("did not come up" in note for note in status["notes"])
    assert "not tried yet" in refusal(host, "promote")


def test_a_trial_that_booted_with_another_line_does_not_count(host: Host) -> None:
    host.done("apply")
    host.done("trial")
    host.boot(host.status()["next"]["entry"], "boot-1")
    host.write("proc/cmdline", host.read("proc/cmdline").replace("nohz_full=1-3", "nohz_full=1-2"))
    assert "differs" in host.done("boot", "record")
    assert "not tried yet" in refusal(host, "promote")


def test_only_the_line_that_was_tried_is_promoted(host: Host) -> None:
    entry = apply_and_try(host)
    text = host.read("etc/default/grub").replace('"net.ifnames=0"', '"net.ifnames=0 other"')
    host.write("etc/default/grub", text)
    host.update_grub()
    assert entries_of(host)[RELEASE] != entry
    assert "its line changed" in refusal(host, "promote")


def test_applying_anew_takes_the_promotion_back_with_the_line(host: Host) -> None:
    entry = apply_and_try(host)
    host.done("promote")
    host.done("apply")
    assert host.status()["default"]["entry"] == entry
    said = host.done_as_foreseen("apply", "--isolate", "3")
    assert f"{entry} was promoted and is gone" in said and "the default is lowlat-stock" in said
    assert linux_lines(host.config)["lowlat-stock"] == linux_lines(host.config)[STOCK]
    assert "its line changed" in refusal(host, "promote")


def test_an_untried_kernel_is_default_only_where_kernels_are_followed(host: Host) -> None:
    entry = apply_and_try(host)
    host.done("promote")
    release = "6.13.1-new"
    host.write(f"boot/vmlinuz-{release}", "image\n")
    host.write(f"boot/config-{release}", host.read(f"boot/config-{RELEASE}"))
    host.update_grub()
    assert host.status()["default"]["entry"] == entry
    tried = {item["kernel"]: item["tried"] for item in host.status()["kernels"]}
    assert tried == {release: False, RELEASE: True, OLDER: False}
    host.done("promote", "--follow-kernels")
    assert host.status()["default"]["entry"] == entries_of(host)[release]


def test_what_promote_had_a_person_set_is_named_by_rollback(host: Host) -> None:
    """GRUB would boot its first entry: the setting names one that is gone."""
    before = host.config
    name = f"lowlat>{apply_and_try(host)}"
    settings = host.read("etc/default/grub").replace("DEFAULT=0", f"DEFAULT='{name}'")
    host.write("etc/default/grub", settings)
    assert "undoes it, but for a setting of yours, which it names" in host.done("promote")
    told = f"lowlat-gen: /etc/default/grub sets GRUB_DEFAULT='{name}', which goes with lowlat: "
    dry = host.lowlat("rollback", "--dry-run")
    act = host.lowlat("rollback")
    assert (dry.status, dry.err) == (act.status, act.err) and act.status == 1
    assert act.out == "the rest is as it was\n" and act.err.startswith(told)
    value, _, command = act.err.rpartition(": set ")[2].partition(" there, or what it was, then ")
    host.write("etc/default/grub", settings.replace(f"GRUB_DEFAULT='{name}'", value))
    assert host.chroot(*command.split()).status == 0
    assert host.config == before


def test_an_entry_of_lowlat_that_somebody_saved_is_named_by_rollback(host: Host) -> None:
    host.write("etc/default/grub", SETTINGS.replace("DEFAULT=0", "DEFAULT=saved"))
    host.update_grub()
    name = f"lowlat>{apply_and_try(host)}"
    host.chroot("grub-editenv", "/boot/grub/grubenv", "set", f"saved_entry={name}")
    act = host.lowlat("rollback")
    assert act.status == 1 and f"grubenv has saved_entry={name}, which goes with lowlat" in act.err
    assert host.chroot(*act.err.rpartition("lowlat: ")[2].split()).status == 0
    assert host.status()["default"]["entry"] == STOCK


def test_a_later_drop_in_that_sets_the_default_is_named(host: Host) -> None:
    host.write("etc/default/grub.d/zzz-site.cfg", "GRUB_DEFAULT=1\n")
    host.update_grub()
    apply_and_try(host)
    assert "zzz-site.cfg" in refusal(host, "promote")


@pytest.mark.parametrize(
    ("target", "answer"), [("fs", "btrfs"), ("fs", "zfs"), ("abstraction", "lvm")]
)
def test_a_trial_is_refused_where_grub_cannot_clear_its_flag(
    host: Host, target: str, answer: str
) -> None:
    host.done("apply")
    host.write(f"etc/probe/{target}", f"{answer}\n")
    assert answer in refusal(host, "trial").lower()
    host.write(f"etc/probe/{target}", "mdraid1x\n")
    refused = host.lowlat("trial")
    assert refused.status == (2 if target == "abstraction" else 0)


def test_status_and_promote_name_the_way_to_try_that_works(host: Host) -> None:
    host.done("apply")
    host.go_live()
    by_entry, by_kexec = "'lowlat-gen trial'", "'lowlat-gen trial --kexec'"
    assert by_entry in host.done("status") and by_entry in refusal(host, "promote")
    assert "--kexec" not in host.done("status")
    host.write("etc/probe/abstraction", "lvm\n")
    assert host.done("status").startswith(f"applied but not tried yet: {by_kexec}")
    assert f"({by_kexec}, 'systemctl kexec', then promote)" in refusal(host, "promote")
    # kexec cannot try it either.
    host.write("proc/sys/kernel/kexec_load_disabled", "1\n")
    assert "'lowlat-gen doctor trial' tells why" in host.done("status")
    why = "/boot/grub/grubenv"
    assert f"no trial is possible here: {why}" in refusal(host, "promote")
    told = host.lowlat("doctor", "trial")
    assert told.status == 1 and f"trial {why}" in " ".join(told.out.split())


def test_a_way_to_try_that_was_not_checked_is_none_of_two(host: Host) -> None:
    """Below a root nothing tells what GRUB's environment block lies on: apply looked."""
    host.write("etc/probe/abstraction", "lvm\n")
    host.update_grub()
    assert "\nthe boot loader cannot try the entry: " in host.done("apply")
    once = "'lowlat-gen trial', or --kexec if it refuses, boots the line once\n"
    assert once in host.done("status")
    hint = host.lowlat("promote", "--dry-run").refused()
    assert "'lowlat-gen trial' and reboot, or 'lowlat-gen trial --kexec' and" in hint
    host.write("proc/sys/kernel/kexec_load_disabled", "1\n")
    assert "--kexec" not in host.done("status")


def test_a_trial_is_refused_without_room_for_its_flag(host: Host) -> None:
    host.done("apply")
    environment = host.path / "boot/grub/grubenv"
    full = ("grub-editenv", "/boot/grub/grubenv", "set", f"filler={'x' * 900}")
    assert host.chroot(*full).status == 0
    assert "grubenv" in refusal(host, "trial")
    environment.write_text("saved_entry=0\n")
    assert "environment block" in refusal(host, "trial")
    said = host.done("apply")
    assert (
        "\nthe boot loader cannot try the entry: /boot/grub/grubenv is no environment block" in said
    )
    by_kexec = "'lowlat-gen trial --kexec' boots the tuned line once, without the boot loader"
    assert said.endswith(f"\n{by_kexec}\n")
    environment.unlink()
    assert "no such file" in refusal(host, "trial")
    environment.symlink_to("/etc/passwd")
    assert "grubenv" in refusal(host, "trial")


@pytest.mark.parametrize(
    ("name", "text"),
    [("etc/default/kexec", "LOAD_KEXEC=true\n"), ("sys/kernel/kexec_loaded", "1\n")],
)
def test_a_trial_is_refused_where_reboots_bypass_grub(host: Host, name: str, text: str) -> None:
    host.done("apply")
    host.write(name, text)
    assert "kexec" in refusal(host, "trial")


def test_a_dry_run_by_kexec_looks_for_the_images(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A tree starts no kernel, and by --root no systemd runs.
    monkeypatch.setattr("lowlat.boot.kexec.check", lambda root: None)
    monkeypatch.setattr("lowlat.boot.hooks.has_systemd", lambda root: True)
    host.done("apply")
    words = ("trial", "--kexec", "--dry-run", "--root", host.path)
    assert lowlat(*words).out.startswith("would load ")
    for image in (host.path / "boot").glob("vmlinuz-*"):
        image.unlink()
    assert "its image was not found below /boot" in lowlat(*words).refused()


def test_the_checks_of_an_administrator_decide_whether_a_trial_was_good(host: Host) -> None:
    host.write("etc/lowlat/health.d/10-good", "#!/bin/sh\ntouch /tmp/good-ran\n")
    host.write("etc/lowlat/health.d/20-bad", "#!/bin/sh\necho no carrier >&2\nexit 3\n")
    host.write("etc/lowlat/health.d/30-late", "#!/bin/sh\ntouch /tmp/late-ran\n")
    for path in (host.path / "etc/lowlat/health.d").iterdir():
        path.chmod(0o755)
    host.done("apply")
    assert host.done("boot", "health") == ""
    host.done("trial")
    host.boot(host.status()["next"]["entry"], "boot-1")
    said = host.done("boot", "health")
    assert "10-good: passed" in said and "20-bad: ended with 3: no carrier" in said
    assert (host.path / "tmp/good-ran").exists() and not (host.path / "tmp/late-ran").exists()
    assert "nothing is recorded" in host.done("boot", "record")
    host.boot(STOCK, "boot-2")
    assert [note for note in host.status()["notes"] if "20-bad: ended with 3" in note]
    assert "not tried yet" in refusal(host, "promote")


def test_a_check_that_others_can_write_is_not_run(host: Host) -> None:
    host.write("etc/lowlat/health.d/10-theirs", "#!/bin/sh\ntouch /tmp/ran\n")
    (host.path / "etc/lowlat/health.d/10-theirs").chmod(0o777)
    host.done("apply")
    host.done("trial")
    host.boot(host.status()["next"]["entry"], "boot-1")
    assert "others than root can write" in host.done("boot", "health")
    assert not (host.path / "tmp/ran").exists()
    assert "nothing is recorded" in host.done("boot", "record")
