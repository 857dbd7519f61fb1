# SPDX-License-Identifier: GPL-2.0-or-later
"""Tuned entries through GRUB's own generator, on a host tree of their own."""

from __future__ import annotations

import configparser
import json
import re

import pytest
from hosttree import (
    NEEDS,
    OLDER,
    RELEASE,
    STOCK,
    Host,
    apply_and_try,
    entries_of,
    linux_lines,
    plan_of,
    refusal,
    section,
)

pytest_plugins = ["hosttree"]
pytestmark = NEEDS


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


def test_a_kernel_that_comes_back_is_planned_for_as_any_other(host: Host) -> None:
    """Its plan is stored beside the journal, which knows another one of it."""
    host.done("apply")
    names = (f"boot/vmlinuz-{OLDER}", f"boot/config-{OLDER}")
    kept = {name: (host.path / name).read_bytes() for name in names}
    for name in names:
        (host.path / name).unlink()
    host.update_grub()
    host.done("apply", "--isolate", "3")
    for name, content in kept.items():
        (host.path / name).write_bytes(content)
    host.update_grub()
    assert "nohz_full=3" in linux_lines(host.config)[entries_of(host)[OLDER]]
    assert host.status()["edited"] == []
    host.done("apply", "--isolate", "2-3")
    assert "nohz_full=2-3" in linux_lines(host.config)[entries_of(host)[OLDER]]
    host.done("rollback")


def test_a_kernel_that_cannot_be_planned_for_stops_nobody(host: Host) -> None:
    host.done("apply")
    host.write("boot/vmlinuz-7.9-odd", "image\n")
    host.write("boot/config-7.9-odd", "CONFIG_CPU_ISOLATION=y\n")
    host.write("var/lib/lowlat/decision.json", '{"schema": "lowlat.decision/1"')
    said = host.update_grub()
    assert "lowlat" in said and "damaged" in said
    assert "gnulinux-7.9-odd-advanced" in host.config and "lowlat-7.9-odd" not in host.config
    assert f"lowlat-{RELEASE}-" in host.config  # its plan is stored


def test_without_lowlat_gen_grub_goes_on(host: Host) -> None:
    host.done("apply")
    host.write("etc/lowlat/boot.conf", "LOWLAT_GEN='/usr/bin/gone'\n")
    assert "/usr/bin/gone is not there" in host.update_grub()
    assert "menuentry" not in section(host.config)


@pytest.mark.parametrize(
    ("default", "save"),
    [
        ("0", "GRUB_SAVEDEFAULT=true\n"),
        ("1>2", ""),
        ("saved", ""),
        pytest.param("2", "", marks=pytest.mark.full),
        pytest.param("saved", "GRUB_SAVEDEFAULT=true\n", marks=pytest.mark.full),
        pytest.param("gnulinux-advanced-0a1b-2c3d>0", "", marks=pytest.mark.full),
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
    assert "+ linux /boot" in " ".join(shown.split()) and "quiet splash" in shown
    assert "splash" not in host.config
    host.done("apply", "--accept-pending")
    assert "splash" in linux_lines(host.config)[entries_of(host)[RELEASE]]


def test_a_new_script_of_grubs_is_named(host: Host) -> None:
    """As TuneD's package brings one, whose section begins with an empty line."""
    host.write("etc/grub.d/00_other", "#!/bin/sh\necho set other=1\n")
    (host.path / "etc/grub.d/00_other").chmod(0o755)
    assert "first '+### BEGIN /etc/grub.d/00_other ###'" in refusal(host, "apply")


def test_our_own_entries_that_are_not_generated_yet_are_no_pending_change(host: Host) -> None:
    """So an apply that a power cut ended is simply done again."""
    stock = host.config
    host.done("apply")
    applied = host.config
    host.write("boot/grub/grub.cfg", stock)
    host.done("apply")
    assert host.config == applied


@pytest.mark.parametrize(("words", "times"), [([], 1), (["--accept-pending"], 2)])
def test_the_configuration_is_generated_no_more_often_than_it_must(
    host: Host, words: list[str], times: int
) -> None:
    """grub-mkconfig takes a minute where it looks for other systems."""
    host.write("etc/grub.d/41_count", "#!/bin/sh\necho >>/tmp/count\n")
    (host.path / "etc/grub.d/41_count").chmod(0o755)
    host.update_grub()
    for _ in range(2):
        host.write("tmp/count", "")
        host.done("apply", *words)
        assert host.read("tmp/count") == "\n" * times


def test_a_dry_run_changes_nothing(host: Host) -> None:
    before = host.snapshot()
    assert f"would add an entry for Linux {OLDER}" in host.done("apply", "--dry-run")
    assert host.snapshot() == before


def test_a_default_that_counts_beyond_the_last_entry_is_refused(host: Host) -> None:
    """GRUB boots its first entry then; with lowlat's there it would boot that."""
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
    # The effect of tuned-adm.
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
