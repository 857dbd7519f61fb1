# SPDX-License-Identifier: GPL-2.0-or-later
"""Values that something changed after lowlat: which, and by whom."""

from __future__ import annotations

from pathlib import Path

import pytest
from booted import SWAYED, lowlat, planned, rows, start, tuned

from support.machines import CPU, write_tree


@pytest.fixture
def host(tmp_path: Path) -> Path:
    return planned(tmp_path)


@pytest.fixture
def started(host: Path) -> Path:
    return start(host)


def test_a_widened_workqueue_mask(host: Path) -> None:
    (host / "sys/devices/virtual/workqueue/cpumask").write_text("f\n")
    row = rows(host, 1)["workqueue.cpumask"]
    assert row["state"] == "not-applied" and "is f" in row["evidence"]


def test_a_widened_mask_with_a_record_is_undone(started: Path) -> None:
    (started / "sys/devices/virtual/workqueue/cpumask").write_text("f\n")
    row = rows(started, 1)["workqueue.cpumask"]
    assert (row["state"], row["by"]) == ("undone", None)


def test_the_record_of_another_boot_counts_for_nothing(started: Path) -> None:
    (started / "proc/sys/kernel/random/boot_id").write_text("22222222-bbbb\n")
    (started / "sys/devices/virtual/workqueue/cpumask").write_text("f\n")
    assert rows(started, 1)["workqueue.cpumask"]["state"] == "not-applied"


def test_what_was_taken_back_in_order_is_not_undone(started: Path) -> None:
    assert lowlat("runtime", "stop", "--root", started).status == 0
    (started / "sys/devices/virtual/workqueue/cpumask").write_text("f\n")
    assert rows(started, 1)["workqueue.cpumask"]["state"] == "not-applied"


def test_a_sysctl_file_undid_it(started: Path) -> None:
    write_tree(started, {"etc/sysctl.d/60-ours.conf": "vm.compaction_proactiveness = 20\n"})
    (started / "proc/sys/vm/compaction_proactiveness").write_text("20\n")
    row = rows(started, 1)["vm.compaction_proactiveness"]
    assert (row["state"], row["by"]) == ("undone", "systemd (/etc/sysctl.d/60-ours.conf)")


def test_what_the_kernel_does_by_itself_is_looked_at_too(host: Path) -> None:
    """The plan leaves it out, and somebody undoes it after the boot."""
    site = "kernel.watchdog_cpumask = 0-3\nkernel.nmi_watchdog = 1\n"
    write_tree(host, {"etc/sysctl.d/50-site.conf": site, "proc/sys/kernel/nmi_watchdog": "1\n"})
    found = rows(host, 0)
    assert found["kernel.watchdog_cpumask"]["state"] == "effective"
    assert "kernel.nmi_watchdog" not in found, "it finds no isolated CPU to watch"
    write_tree(host, {"proc/sys/kernel/watchdog_cpumask": "0-3\n"})
    found = rows(host, 1)
    for name, held in (("kernel.watchdog_cpumask", "0-3"), ("kernel.nmi_watchdog", "1")):
        row = found[name]
        assert (row["state"], row["effective"]) == ("undone", held)
        assert row["by"] == "systemd (/etc/sysctl.d/50-site.conf)"
    (host / "proc/cmdline").write_text("quiet\n")
    assert "kernel.watchdog_cpumask" not in rows(host, 1), "nobody set it in this boot"


def test_a_partition_that_the_kernel_calls_invalid(tmp_path: Path) -> None:
    group = "sys/fs/cgroup/lowlat.slice"
    files = {"sys/fs/cgroup/cgroup.controllers": "cpuset\n", f"{group}/cpuset.cpus": "1-3\n"}
    root = planned(tmp_path, "--enable", "cpuset.cpus", "--enable", "cpuset.partition", files=files)
    partition = root / group / "cpuset.cpus.partition"
    partition.write_text("isolated\n")
    assert rows(root, 0)["cpuset.partition"]["state"] == "effective"
    partition.write_text("isolated invalid (Cpu list in cpuset.cpus not exclusive)\n")
    others = {"sys/fs/cgroup/kubepods.slice/cpuset.cpus": "2-3\n", "proc/9/comm": "kubelet\n"}
    write_tree(root, others)
    row = rows(root, 1)["cpuset.partition"]
    assert row["state"] == "ignored-by-kernel"
    assert "Cpu list in cpuset.cpus not exclusive" in row["evidence"]
    assert row["by"] == "kubelet, kubepods.slice"


def test_systemd_is_named_where_no_container_runtime_runs(tmp_path: Path) -> None:
    group = "sys/fs/cgroup/lowlat.slice"
    files = {"sys/fs/cgroup/cgroup.controllers": "cpuset\n", f"{group}/cpuset.cpus": "1-3\n"}
    files[f"{group}/cpuset.cpus.partition"] = "isolated\n"
    root = planned(tmp_path, "--enable", "cpuset.cpus", "--enable", "cpuset.partition", files=files)
    (root / "run/systemd/system").mkdir(parents=True)
    assert lowlat("runtime", "start", "--root", root).status == 0
    (root / group / "cpuset.cpus.partition").write_text("member\n")
    row = rows(root, 1)["cpuset.partition"]
    assert (row["state"], row["by"]) == ("undone", "systemd")


def test_a_power_daemon_is_named_for_a_governor(tmp_path: Path) -> None:
    governor = f"{CPU}/cpu1/cpufreq/scaling_governor"
    power = f"{CPU}/cpufreq/policy0/scaling_available_governors"
    files = {governor: "performance\n", power: "performance powersave\n"}
    root = planned(
        tmp_path, "--isolate", "1", "--enable", "scaling_governor", "--as-host", files=files
    )
    write_tree(root, {"proc/8/comm": "power-profiles-\n"})
    lowlat("runtime", "start", "--root", root)
    (root / governor).write_text("powersave\n")
    row = rows(root, 1)["scaling_governor"]
    assert (row["state"], row["by"]) == ("undone", "power-profiles-daemon")


@pytest.mark.parametrize(
    ("active", "profile"),
    [("mine", f"[main]\ninclude = lowlat\n{SWAYED}"), ("lowlat mine", SWAYED)],
)
def test_a_profile_that_includes_ours_may_override_it(
    started: Path, active: str, profile: str
) -> None:
    (started / "proc/sys/vm/compaction_proactiveness").write_text("20\n")
    tuned(started, active, mine=profile)
    row = rows(started, 0)["vm.compaction_proactiveness"]
    assert (row["state"], row["by"]) == ("overridden", "TuneD profile mine")


def test_another_profile_is_named(host: Path) -> None:
    (host / "proc/sys/vm/compaction_proactiveness").write_text("20\n")
    tuned(host, "other", other=SWAYED)
    row = rows(host, 1)["vm.compaction_proactiveness"]
    assert (row["state"], row["by"]) == ("not-applied", "TuneD profile other")


def test_a_profile_that_does_not_set_it_is_not_blamed(started: Path) -> None:
    (started / "proc/sys/vm/compaction_proactiveness").write_text("20\n")
    tuned(started, "mine", mine="[main]\ninclude = lowlat\n")
    row = rows(started, 1)["vm.compaction_proactiveness"]
    assert (row["state"], row["by"]) == ("undone", None)
