# SPDX-License-Identifier: GPL-2.0-or-later
"""Tuned entries through GRUB's own generator, on a host tree of their own."""

from __future__ import annotations

import configparser
import json
import re
from typing import Callable

import pytest
from hosttree import NEEDS, OLDER, RELEASE, Host, apply_and_try, linux_lines

pytest_plugins = ["hosttree"]
pytestmark = NEEDS

STOCK = "gnulinux-simple-0a1b-2c3d"


def plan_of(host: Host, release: str) -> list[str]:
    plan = json.loads(host.read(f"var/lib/lowlat/plans/{release}.json"))
    return [*plan["cmdline"]["text"].split(), f"lowlat.plan={plan['id']}"]


def entries_of(host: Host) -> dict[str, str]:
    """The tuned entry of each kernel."""
    return {item["kernel"]: item["entry"] for item in host.status()["kernels"]}


def section(config: str) -> str:
    begin = config.index("### BEGIN /etc/grub.d/99_lowlat ###")
    return config[begin : config.index("### END /etc/grub.d/99_lowlat ###")]


def refusal(host: Host, verb: str, *words: object) -> str:
    """One line, and nothing changed."""
    before = host.snapshot()
    line = host.lowlat(verb, *words).refused()
    assert host.snapshot() == before
    return line


# ------------------------------------------------------------------- apply


def test_every_kernel_gets_an_entry_with_its_own_plan(host: Host) -> None:
    stock = linux_lines(host.config)
    host.done("apply")
    lines = linux_lines(host.config)
    for release in (RELEASE, OLDER):
        base = stock[f"gnulinux-{release}-advanced-0a1b-2c3d"]
        tuned = lines[entries_of(host)[release]]
        assert tuned == [*base, *plan_of(host, release)]
        trial = lines[f"{entries_of(host)[release]}-trial"]
        assert trial[: len(tuned)] == tuned
        assert "panic=30" in trial and "systemd.wants=lowlat-trial.service" in trial
    assert plan_of(host, RELEASE) != plan_of(host, OLDER)
    assert json.loads(host.read("var/lib/lowlat/plan.json"))["kernel"] == RELEASE


def test_the_stock_part_stays_byte_for_byte_and_default(host: Host) -> None:
    before, mode = host.config, (host.path / "boot/grub/grub.cfg").stat().st_mode
    host.done("apply")
    assert (host.path / "boot/grub/grub.cfg").stat().st_mode == mode
    ours = section(host.config)
    assert host.config.replace(f"\n{ours}### END /etc/grub.d/99_lowlat ###\n", "") == before
    assert host.status()["default"] == {"entry": STOCK, "kernel": RELEASE, "ours": False}


def test_one_submenu_at_the_end_without_recovery_entries(host: Host) -> None:
    host.done("apply")
    ours = section(host.config)
    assert ours.count("submenu ") == 1 and "--id lowlat {" in ours
    assert "recovery" not in ours and "gnulinux-" not in ours
    assert host.config.rstrip().endswith("### END /etc/grub.d/99_lowlat ###")


def test_the_distribution_generates_the_same_again(host: Host) -> None:
    host.done("apply")
    applied = host.config
    said = host.update_grub()
    assert host.config == applied
    assert said.count(f"Found linux image: /boot/vmlinuz-{RELEASE}") == 1
    host.done("apply")
    assert host.config == applied


def test_what_10_linux_complains_of_is_heard(host: Host) -> None:
    host.done("apply")
    script = host.read("etc/grub.d/10_linux")
    host.write(
        "etc/grub.d/10_linux", script.replace("set -e\n", "set -e\necho odd: error >&2\n", 1)
    )
    assert host.update_grub().splitlines().count("odd: error") == 2


def test_a_new_kernel_gets_its_entry_when_its_package_updates_grub(host: Host) -> None:
    host.done("apply")
    known = entries_of(host)
    release = "6.13.1-new"
    host.write(f"boot/vmlinuz-{release}", "image\n")
    host.write(f"boot/config-{release}", host.read(f"boot/config-{RELEASE}"))
    host.update_grub()
    entries = entries_of(host)
    assert known.items() <= entries.items() and release in entries
    assert linux_lines(host.config)[entries[release]][-1] == plan_of(host, release)[-1]
    assert host.status()["default"]["kernel"] == release and not host.status()["default"]["ours"]
    (host.path / f"boot/vmlinuz-{release}").unlink()
    host.update_grub()
    assert entries_of(host) == known


def test_a_kernel_that_cannot_be_planned_for_stops_nobody(host: Host) -> None:
    host.done("apply")
    host.write("boot/vmlinuz-7.9-odd", "image\n")
    host.write("boot/config-7.9-odd", "CONFIG_CPU_ISOLATION=y\n")
    host.write("var/lib/lowlat/decision.json", '{"schema": "lowlat.decision/1"')
    said = host.update_grub()
    assert "lowlat" in said and "damaged" in said
    assert "gnulinux-7.9-odd-advanced" in host.config and "lowlat-" not in host.config


def test_without_lowlat_gen_grub_goes_on(host: Host) -> None:
    host.done("apply")
    host.write("etc/lowlat/boot.conf", "LOWLAT_GEN='/usr/bin/gone'\n")
    assert "/usr/bin/gone is not there" in host.update_grub()
    assert "menuentry" not in section(host.config)


@pytest.mark.parametrize(
    ("default", "save"),
    [
        ("0", "GRUB_SAVEDEFAULT=true\n"),
        ("2", ""),
        ("1>2", ""),
        ("saved", ""),
        ("saved", "GRUB_SAVEDEFAULT=true\n"),
        ("gnulinux-advanced-0a1b-2c3d>0", ""),
    ],
)
def test_no_default_shifts_and_promote_wins_over_it(host: Host, default: str, save: str) -> None:
    with (host.path / "etc/grub.d/40_custom").open("a") as custom:
        custom.write("menuentry 'custom' {\n\tlinux\t/custom\n}\n")
    text = host.read("etc/default/grub").replace("GRUB_DEFAULT=0", f"GRUB_DEFAULT='{default}'")
    host.write("etc/default/grub", text + save)
    host.chroot("grub-editenv", "/boot/grub/grubenv", "set", "saved_entry=1>2")
    host.update_grub()
    before = host.status()["default"]
    config, settings = host.config, host.read("etc/default/grub")
    entry = apply_and_try(host)
    assert host.status()["default"] == before and not before["ours"]
    assert "savedefault" not in section(host.config)
    host.done("promote")
    assert host.status()["default"] == {"entry": entry, "kernel": RELEASE, "ours": True}
    assert f'set default="lowlat>{entry}"' in host.config
    host.done("rollback")
    assert host.config == config and host.status()["default"] == before
    assert host.read("etc/default/grub") == settings
    assert host.environment()["saved_entry"] == "1>2"


def test_what_others_put_on_the_line_is_named_and_never_doubled(host: Host) -> None:
    lowlatency = 'GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT rcu_nocbs=all"\n'
    host.write("etc/default/grub.d/99-lowlatency.cfg", lowlatency)
    host.write("etc/default/grub.d/50-cloudimg-settings.cfg", 'GRUB_CMDLINE_LINUX="skew-tick=0"\n')
    host.update_grub()
    stock = host.config
    said = host.done("apply")
    assert "rcu_nocbs=all" in said and "lowlatency-kernel" in said
    assert "skew-tick=0" in said and "50-cloudimg-settings.cfg, of the cloud image" in said
    tuned = linux_lines(host.config)[entries_of(host)[RELEASE]]
    assert [word for word in tuned if word.startswith("rcu_nocbs")] == ["rcu_nocbs=1-3"]
    assert [word for word in tuned if re.match("skew.tick", word)] == ["skew_tick=1"]
    assert "net.ifnames=0" not in tuned and "quiet" in tuned
    host.done("rollback")
    assert host.config == stock


def test_the_line_of_tuneds_bootloader_plugin_is_not_doubled(host: Host) -> None:
    host.write("etc/tuned/bootcmdline", 'TUNED_BOOT_CMDLINE="skew_tick=1 nohz=on isolcpus=3"\n')
    text = host.read("etc/default/grub")
    more = 'GRUB_CMDLINE_LINUX_DEFAULT="${GRUB_CMDLINE_LINUX_DEFAULT} \\$tuned_params"\n'
    host.write("etc/default/grub", text + more)
    host.update_grub()
    said = host.done("apply")
    assert "isolcpus=3" in said and "TuneD's bootloader plugin" in said
    tuned = linux_lines(host.config)[entries_of(host)[RELEASE]]
    assert "nohz=on" in tuned and "$tuned_params" not in tuned
    assert [word for word in tuned if word.startswith("isolcpus")] == [
        "isolcpus=managed_irq,domain,1-3"
    ]
    assert "$tuned_params" in linux_lines(host.config)[STOCK]


def test_a_pending_change_of_somebody_is_shown_and_refused(host: Host) -> None:
    text = host.read("etc/default/grub").replace('"quiet"', '"quiet splash"')
    host.write("etc/default/grub", text)
    assert "not lowlat's" in refusal(host, "apply") and "splash" in refusal(host, "apply")
    shown = host.done("apply", "--dry-run")
    assert "+\tlinux" in shown and "quiet splash" in shown
    assert "splash" not in host.config
    host.done("apply", "--accept-pending")
    assert "splash" in linux_lines(host.config)[entries_of(host)[RELEASE]]


def test_our_own_entries_that_are_not_generated_yet_are_no_pending_change(host: Host) -> None:
    """So an apply that a power cut ended is simply done again."""
    stock = host.config
    host.done("apply")
    applied = host.config
    host.write("boot/grub/grub.cfg", stock)
    host.done("apply")
    assert host.config == applied


def test_a_dry_run_changes_nothing(host: Host) -> None:
    before = host.snapshot()
    assert f"would add an entry for Linux {OLDER}" in host.done("apply", "--dry-run")
    assert host.snapshot() == before


def test_a_default_that_counts_beyond_the_last_entry_is_refused(host: Host) -> None:
    """GRUB boots its first entry then; with ours there it would boot ours."""
    text = host.read("etc/default/grub").replace("GRUB_DEFAULT=0", "GRUB_DEFAULT=2")
    host.write("etc/default/grub", text)
    host.update_grub()
    assert host.status()["default"]["entry"] == STOCK
    assert "GRUB_DEFAULT=2" in refusal(host, "apply")


def test_a_script_that_sorts_after_ours_is_refused_where_it_shifts_the_default(host: Host) -> None:
    late = host.path / "etc/grub.d/99_zz_late"
    late.write_text("#!/bin/sh\necho \"menuentry 'late' {\"\necho '  linux /late'\necho '}'\n")
    late.chmod(0o755)
    text = host.read("etc/default/grub").replace("GRUB_DEFAULT=0", "GRUB_DEFAULT=2")
    host.write("etc/default/grub", text)
    host.update_grub()
    assert "by its id" in refusal(host, "apply")


def test_a_line_with_what_only_grub_knows_as_on_ubuntu(host: Host) -> None:
    """Debian's 10_linux holds Ubuntu's switches: $vt_handoff on the line, recordfail, its own
    recovery."""
    for name in ("00_header", "10_linux"):
        script = host.read(f"etc/grub.d/{name}")
        for switch in ("quick_boot", "quiet_boot", "vt_handoff", "ubuntu_recovery"):
            script = script.replace(f'{switch}="0"', f'{switch}="1"')
        host.write(f"etc/grub.d/{name}", script)
    text = host.read("etc/default/grub").replace('"quiet"', '"quiet splash"')
    host.write("etc/default/grub", text.replace("Debian", "Ubuntu"))
    host.update_grub()
    stock = host.config
    host.done("apply")
    assert "recordfail" in section(host.config)
    lines = linux_lines(host.config)
    entry = entries_of(host)[RELEASE]
    assert lines[entry][-1] == "$vt_handoff" and "nohz_full=1-3" in lines[entry]
    host.done("trial")
    trial = " ".join(lines[f"{entry}-trial"])
    host.boot_line(trial.replace("$vt_handoff", "nohz_full=2"), "boot-1")
    assert "'nohz_full=2' differs" in host.done("boot", "record")
    host.done("trial")
    host.boot_line(trial.replace("$vt_handoff", "vt.handoff=7"), "boot-2")
    assert "came up" in host.done("boot", "record")
    host.done("promote")
    host.done("rollback")
    assert host.config == stock


# ------------------------------------------------------- trial and promote


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


def test_a_watchdog_is_armed_where_there_is_one(host: Host) -> None:
    host.write("sys/class/watchdog/watchdog0/identity", "iTCO_wdt\n")
    host.done("apply")
    trial = linux_lines(host.config)[f"{entries_of(host)[RELEASE]}-trial"]
    assert "systemd.watchdog_sec=180" in trial
    assert "the hardware watchdog resets a hang" in host.done("trial")


def test_a_virtual_watchdog_promises_nothing(host: Host) -> None:
    host.write("sys/class/watchdog/watchdog0/identity", "iTCO_wdt\n")
    host.write("sys/class/dmi/id/sys_vendor", "QEMU\n")
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


def _change_the_line(host: Host) -> None:
    text = host.read("etc/default/grub").replace('"net.ifnames=0"', '"net.ifnames=0 other"')
    host.write("etc/default/grub", text)


def _remove_the_kernel(host: Host) -> None:
    (host.path / f"boot/vmlinuz-{RELEASE}").unlink()


@pytest.mark.parametrize("change", [_change_the_line, _remove_the_kernel])
def test_a_promoted_default_falls_back_to_stock_when_its_entry_goes(
    host: Host, change: Callable[[Host], None]
) -> None:
    """GRUB enters the submenu of the default that is gone, and boots the first entry in it."""
    apply_and_try(host)
    host.done("promote")
    change(host)
    host.update_grub()
    ours = section(host.config)
    first = next(iter(linux_lines(ours)))
    status = host.status()
    assert status["default"]["entry"] == first == "lowlat-stock"
    assert not status["default"]["ours"]
    assert linux_lines(host.config)[first] == linux_lines(host.config)[STOCK]
    assert any("not the default any more" in note for note in status["notes"])


def test_applying_anew_takes_the_promotion_back_with_the_line(host: Host) -> None:
    entry = apply_and_try(host)
    host.done("promote")
    host.done("apply")
    assert host.status()["default"]["entry"] == entry
    host.done("apply", "--isolate", "3")
    assert host.status()["default"]["entry"] == STOCK
    assert not (host.path / "etc/default/grub.d/zz-lowlat.cfg").exists()
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
    assert answer in refusal(host, "trial")
    host.write(f"etc/probe/{target}", "mdraid1x\n")
    refused = host.lowlat("trial")
    assert refused.status == (2 if target == "abstraction" else 0)


def test_a_trial_is_refused_without_room_for_its_flag(host: Host) -> None:
    host.done("apply")
    environment = host.path / "boot/grub/grubenv"
    full = ("grub-editenv", "/boot/grub/grubenv", "set", f"filler={'x' * 900}")
    assert host.chroot(*full).status == 0
    assert "grubenv" in refusal(host, "trial")
    environment.write_text("saved_entry=0\n")
    assert "environment block" in refusal(host, "trial")
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


# ------------------------------------------------------- the run-time half


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
    host.done("apply", "--runtime", "none")
    assert {name: entry for name, entry in host.snapshot().items() if "tuned" in name} == before


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
    """Nothing would put the administrator's profile back in a later stock boot."""
    apply_and_try(host)
    assert "lowlat-local" in refusal(host, "apply", "--runtime", "none")
    host.boot(STOCK, "boot-2")
    host.done("boot", "start")
    host.done("apply", "--runtime", "none")


# -------------------------------------------- by TuneD's bootloader plugin


def test_the_line_through_tuneds_plugin_leaves_the_boot_loader_alone(host: Host) -> None:
    before = host.snapshot()
    config = host.config
    host.done("apply", "--boot", "tuned")
    assert host.config == config
    assert not (host.path / "etc/grub.d/99_lowlat").exists()
    profile = configparser.ConfigParser()
    profile.read_string(host.read("etc/tuned/lowlat-local/tuned.conf"))
    assert profile["bootloader"]["cmdline_lowlat"] == "+" + " ".join(plan_of(host, RELEASE))
    for verb in ("trial", "promote"):
        assert "TuneD's bootloader plugin" in refusal(host, verb)
    # What tuned-adm does.
    host.write("etc/tuned/active_profile", "lowlat-local\n")
    host.write("etc/tuned/profile_mode", "manual\n")
    host.done("rollback")
    assert host.snapshot() == before


def test_tuneds_plugin_never_doubles_a_parameter(host: Host) -> None:
    host.write("etc/default/grub.d/50-site.cfg", 'GRUB_CMDLINE_LINUX_DEFAULT="skew_tick=0"\n')
    host.update_grub()
    refused = refusal(host, "apply", "--boot", "tuned")
    assert "skew_tick=0" in refused and "50-site.cfg" in refused


def test_tuneds_plugin_has_to_reach_the_boot_loader(host: Host) -> None:
    (host.path / "etc/grub.d/00_tuned").unlink()
    host.update_grub()
    assert "reaches no boot loader" in refusal(host, "apply", "--boot", "tuned")


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
    assert "run-time half is not in effect" in host.done("status")
    host.write("etc/tuned/active_profile", "lowlat-local\n")
    host.boot(STOCK, "boot-2")
    assert host.status()["missing"] == ["boot"]
    assert "the boot half is not in effect" in host.done("status")


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
    ]
    assert document["schema"] == "lowlat.status/1" and document["loader"] == "GRUB"
