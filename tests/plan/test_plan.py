# SPDX-License-Identifier: GPL-2.0-or-later
"""``plan`` from outside: the contract, the settings, and the reason why each is set, left out or
refused."""

from __future__ import annotations

import hashlib
import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from lowlat import cli
from lowlat.base.errors import Refused
from lowlat.model.plan import Plan
from support.cli import lowlat
from support.machines import CONFIG, CPU, CPUINFO_X86, FLAGS, machine, write_tree

DEFAULT = [
    "isolcpus=managed_irq,domain,1-3",
    "nohz_full=1-3",
    "rcu_nocbs=1-3",
    "irqaffinity=0",
    "rcupdate.rcu_normal_after_boot=1",
    "skew_tick=1",
]


def plan(root: Path, *args: object) -> dict[str, Any]:
    answer = lowlat("plan", "--root", root, "--json", *args)
    assert answer.status == 0, answer.err
    assert answer.err == ""
    document: dict[str, Any] = answer.json()
    return document


def why(document: dict[str, Any], name: str) -> str:
    found = [item["why"] for item in document["skipped"] if item["name"] == name]
    assert found, f"{name} is not among the skipped"
    return str(found[0])


def test_the_contract(tmp_path: Path) -> None:
    document = plan(write_tree(tmp_path, machine()))
    assert list(document) == [
        "schema",
        "id",
        "profile",
        "kernel",
        "cpus",
        "cmdline",
        "runtime",
        "optional",
        "skipped",
        "warnings",
    ]
    assert document["schema"] == "lowlat.plan/1"
    cpus = ["online", "isolated", "housekeeping", "offline", "reasons", "preferred"]
    assert list(document["cpus"]) == cpus
    assert list(document["cmdline"]) == ["text", "parameters"]
    for parameter in document["cmdline"]["parameters"]:
        assert list(parameter) == ["name", "value", "why", "source", "risk"]
    for setting in document["runtime"]:
        assert list(setting) == ["name", "target", "value", "why", "source", "risk"]
    for optional in document["optional"]:
        assert list(optional) == ["name", "cost", "enable"]
    for skipped in document["skipped"]:
        assert list(skipped) == ["name", "why"]


def test_the_default_line_is_the_baseline(tmp_path: Path) -> None:
    document = plan(write_tree(tmp_path, machine()))
    assert document["cmdline"]["text"].split() == DEFAULT
    assert document["kernel"] == "6.12.107-test"
    risks = {p["name"]: p["risk"] for p in document["cmdline"]["parameters"]}
    assert {name for name, risk in risks.items() if risk != "none"} == {
        "rcupdate.rcu_normal_after_boot",
        "skew_tick",
    }
    assert {s["name"] for s in document["runtime"] if s["risk"] != "none"} == {
        "transparent_hugepage.enabled"
    }


def test_every_name_stands_in_exactly_one_group(tmp_path: Path) -> None:
    from lowlat.catalogue import CATALOGUE

    document = plan(write_tree(tmp_path, machine()))
    groups = [
        {item["name"] for item in group}
        for group in (
            document["cmdline"]["parameters"],
            document["runtime"],
            document["optional"],
            document["skipped"],
        )
    ]
    assert set().union(*groups) == {entry.name for entry in CATALOGUE}
    assert sum(map(len, groups)) == len(CATALOGUE)


def test_the_same_machine_gives_the_same_plan(tmp_path: Path) -> None:
    root = write_tree(tmp_path, machine())
    assert plan(root) == plan(root)
    assert plan(root)["id"] != plan(root, "--isolate", "3")["id"]


def test_without_no_hz_full_the_parameter_is_left_out_with_the_reason(tmp_path: Path) -> None:
    config = CONFIG.replace("CONFIG_NO_HZ_FULL=y", "# CONFIG_NO_HZ_FULL is not set")
    document = plan(write_tree(tmp_path, machine(config=config)))
    assert "nohz_full" not in document["cmdline"]["text"]
    assert why(document, "nohz_full") == "the kernel is built without CONFIG_NO_HZ_FULL"
    (warning,) = document["warnings"]
    assert "its tick interrupts the isolated CPUs" in warning and "times a second" in warning
    # Without nohz_full, a setting must keep the watchdog away.
    assert "kernel.watchdog_cpumask" in {item["name"] for item in document["runtime"]}


def test_without_a_configuration_settings_are_assumed(tmp_path: Path) -> None:
    document = plan(write_tree(tmp_path, machine(config=None)))
    assert document["cmdline"]["text"].split() == DEFAULT
    reasons = {p["name"]: p["why"] for p in document["cmdline"]["parameters"]}
    assert reasons["nohz_full"].endswith("assumed: kernel configuration not found")
    assert any("no configuration" in warning for warning in document["warnings"])


def test_the_target_kernel_decides_not_the_running_one(tmp_path: Path) -> None:
    files = machine(release="6.12.1-running")
    files["boot/config-6.1.0-other"] = CONFIG.replace("CONFIG_NO_HZ_FULL=y\n", "")
    document = plan(write_tree(tmp_path, files), "--kernel", "6.1.0-other")
    assert document["kernel"] == "6.1.0-other"
    assert "nohz_full" not in document["cmdline"]["text"]


def test_the_configuration_is_found_where_fedora_keeps_it(tmp_path: Path) -> None:
    files = machine(config=None)
    files["lib/modules/6.12.107-test/config"] = CONFIG.replace("CONFIG_NO_HZ_FULL=y\n", "")
    assert "nohz_full" not in plan(write_tree(tmp_path, files))["cmdline"]["text"]


def test_idle_poll_is_offered_never_a_default(tmp_path: Path) -> None:
    root = write_tree(tmp_path, machine())
    assert "idle=poll" not in plan(root)["cmdline"]["text"]
    offers = {item["name"]: item for item in plan(root)["optional"]}
    assert "power" in offers["idle"]["cost"]
    assert "idle=poll" in plan(root, "--enable", "idle=poll")["cmdline"]["text"].split()
    assert "idle=poll" in plan(root, "--enable", "idle")["cmdline"]["text"].split()


def test_idle_poll_is_refused_with_smt_on_isolated_cores(tmp_path: Path) -> None:
    root = write_tree(tmp_path, machine(cpus=8, threads=2))
    assert "SMT" in why(plan(root), "idle")


GUEST_ONLY_HARDWARE = (
    "idle",
    "intel_idle.max_cstate",
    "processor.max_cstate",
    "cpufreq.default_governor",
    "scaling_governor",
    "pm_qos_resume_latency_us",
    "mce",
    "machinecheck.check_interval",
    "tsc",
    "clocksource",
)


@pytest.mark.parametrize("name", GUEST_ONLY_HARDWARE)
def test_nothing_physical_in_a_guest(tmp_path: Path, name: str) -> None:
    files = machine(flags="fpu lm hypervisor constant_tsc nonstop_tsc")
    root = write_tree(tmp_path, files)
    assert "virtual machine" in why(plan(root), name)
    refusal = lowlat("plan", "--root", root, "--enable", name).refused()
    assert "virtual machine" in refusal and "(--as-host " in refusal
    assert name not in {item["name"] for item in plan(root, "--as-host")["skipped"]} or (
        # hardware the test machine does not have
        "virtual machine" not in why(plan(root, "--as-host"), name)
    )


@pytest.mark.parametrize("name", ["idle", "intel_idle.max_cstate", "mce", "tsc", "clocksource"])
def test_nothing_x86_on_arm(tmp_path: Path, name: str) -> None:
    cpuinfo = "processor\t: 0\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd0c\n"
    root = write_tree(tmp_path, machine(cpuinfo=cpuinfo))
    document = plan(root)
    assert document["cmdline"]["text"].split() == DEFAULT
    assert why(document, name) == "x86 only"


def test_an_unknown_architecture_gets_a_plan_without_x86(tmp_path: Path) -> None:
    files = machine()
    del files["proc/cpuinfo"]
    document = plan(write_tree(tmp_path, files))
    assert document["cmdline"]["text"].split() == DEFAULT
    assert why(document, "mce") == "x86 only"


def test_fair_server_by_name_and_only_where_it_exists(tmp_path: Path) -> None:
    new = write_tree(tmp_path / "new", machine())
    assert "fair_server" in {item["name"] for item in plan(new)["optional"]}
    rows = [
        s for s in plan(new, "--enable", "fair_server")["runtime"] if s["name"] == "fair_server"
    ]
    assert [(row["target"], row["value"]) for row in rows] == [
        (f"/sys/kernel/debug/sched/fair_server/cpu{cpu}/runtime", "0") for cpu in (1, 2, 3)
    ]
    assert {row["risk"] for row in rows} == {"starvation"}
    old = write_tree(tmp_path / "old", machine(release="6.1.0-rt"))
    assert "before 6.12" in why(plan(old), "fair_server")


def test_a_realtime_kernel_gets_nothing_it_does_by_itself(tmp_path: Path) -> None:
    config = CONFIG + "CONFIG_PREEMPT_RT=y\n"
    document = plan(write_tree(tmp_path, machine(config=config)))
    assert "rcu_normal_after_boot" not in document["cmdline"]["text"]
    for name in ("rcupdate.rcu_normal_after_boot", "threadirqs", "preempt"):
        assert "PREEMPT_RT" in why(document, name)
    for name in ("transparent_hugepage.enabled", "kernel.numa_balancing"):
        assert "PREEMPT_RT" in why(document, name)


@pytest.mark.parametrize(
    ("release", "planned"),
    [
        ("5.10.0", True),
        ("6.8.0-31-generic", True),
        ("6.9.0", False),
        ("6.12.81", False),
        ("6.12.82", True),
        ("6.17.0-5-generic", False),
        ("6.18.23", True),
        ("6.19.12", False),
        ("7.0.0-14-generic", True),
        ("10.0.0", True),
    ],
)
def test_workqueue_masks_only_where_writing_them_is_safe(
    tmp_path: Path, release: str, planned: bool
) -> None:
    document = plan(write_tree(tmp_path, machine(release=release)))
    names = {item["name"] for item in document["runtime"]}
    assert ("workqueue.cpumask" in names) is planned
    assert ("workqueue.writeback.cpumask" in names) is planned


def test_vm_stat_interval_only_before_6_5(tmp_path: Path) -> None:
    old = plan(write_tree(tmp_path / "old", machine(release="6.1.0-9")))
    assert [s["value"] for s in old["runtime"] if s["name"] == "vm.stat_interval"] == ["120"]
    assert "6.5" in why(plan(write_tree(tmp_path / "new", machine())), "vm.stat_interval")


def test_what_never_sleeps_needs_no_bound_on_waking(tmp_path: Path) -> None:
    root = write_tree(tmp_path, machine())
    made = plan(root, "--as-host", "--profile", "lowlat-poll", "--enable", "idle")
    assert "idle is set" in why(made, "pm_qos_resume_latency_us")


def test_a_value_is_checked_against_its_grammar(tmp_path: Path) -> None:
    root = write_tree(tmp_path, machine())
    document = plan(root, "--enable", "pm_qos_resume_latency_us=5")
    rows = [s for s in document["runtime"] if s["name"] == "pm_qos_resume_latency_us"]
    assert {row["value"] for row in rows} == {"5"} and len(rows) == 3


def test_disabling_leaves_out(tmp_path: Path) -> None:
    document = plan(write_tree(tmp_path, machine()), "--disable", "skew_tick")
    assert "skew_tick" not in document["cmdline"]["text"]
    assert "disable" in why(document, "skew_tick")


def test_mce_includes_the_check_interval(tmp_path: Path) -> None:
    root = write_tree(tmp_path, machine())
    document = plan(root, "--enable", "machinecheck.check_interval")
    assert "machinecheck.check_interval" in {item["name"] for item in document["runtime"]}


def test_a_line_that_the_kernel_would_cut_is_refused(tmp_path: Path) -> None:
    files = machine(cpus=1500)
    files["proc/cmdline"] = "root=/dev/sda1 quiet\n"
    root = write_tree(tmp_path, files)
    # Every second CPU is a short list with strides; CPUs without a pattern make none.
    scattered = ",".join(str(cpu) for cpu in range(1, 1500) if pow(7, cpu, 1499) % 2)
    assert "2047" in lowlat("plan", "--root", root, "--isolate", scattered).refused()
    assert len(plan(root)["cmdline"]["text"]) < 300


def test_what_the_running_line_has_already_is_named(tmp_path: Path) -> None:
    files = machine()
    files["proc/cmdline"] = "root=/dev/sda1 isolcpus=2-3 quiet\n"
    files[f"{CPU}/isolated"] = "2-3\n"
    warnings = plan(write_tree(tmp_path, files))["warnings"]
    assert any("isolcpus=2-3" in warning for warning in warnings)


@pytest.mark.parametrize(
    ("comm", "name"),
    [
        ("tlp", "tlp"),
        ("numad", "numad"),
        ("power-profiles-", "power-profiles-daemon"),
        ("tuned-ppd", "tuned-ppd"),
    ],
)
def test_who_else_changes_settings_is_named(tmp_path: Path, comm: str, name: str) -> None:
    files = {**machine(), "proc/77/comm": f"{comm}\n"}
    warnings = plan(write_tree(tmp_path, files))["warnings"]
    assert [warning for warning in warnings if warning.startswith(f"{name} is running")]


def test_an_unstable_clock_is_named(tmp_path: Path) -> None:
    files = machine()
    files["sys/devices/system/clocksource/clocksource0/current_clocksource"] = "hpet\n"
    assert any("hpet" in w for w in plan(write_tree(tmp_path, files))["warnings"])


def test_a_users_profile_inherits_and_is_checked(tmp_path: Path) -> None:
    files = machine()
    files["etc/lowlat/profiles/mine/lowlat.conf"] = (
        "[main]\nparent = lowlat\nsummary = mine\n[cpus]\nisolate = 2-3\n"
        "[settings]\nskew_tick = off\nfair_server = on\n"
    )
    root = write_tree(tmp_path, files)
    document = plan(root, "--profile", "mine")
    assert document["profile"] == "mine"
    assert document["cpus"]["isolated"] == "2-3"
    assert "skew_tick" not in document["cmdline"]["text"]
    assert "fair_server" in {item["name"] for item in document["runtime"]}


def test_a_changed_plan_is_not_taken_back(tmp_path: Path) -> None:
    document = plan(write_tree(tmp_path, machine()))
    document["runtime"][0]["target"] = "/etc/passwd"
    changed = tmp_path / "plan.json"
    changed.write_text(json.dumps(document))
    assert "id" in lowlat("verify", "--plan", changed).refused()


@pytest.mark.parametrize("order", [[1, 2], [1, 2, 2], [1, 2, 4], ["1", 2, 3], "123"])
def test_preferred_cpus_that_are_not_the_isolated_ones_are_refused(
    tmp_path: Path, order: object
) -> None:
    document = plan(write_tree(tmp_path, machine()))
    content = {key: value for key, value in document.items() if key not in ("schema", "id")}
    content["cpus"]["preferred"] = order
    text = json.dumps(content, sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    with pytest.raises(Refused):
        Plan.from_json({**document, **content, "id": digest})


def test_a_folder_with_one_list_is_enough(tmp_path: Path) -> None:
    root = write_tree(tmp_path, {f"{CPU}/online": "0-3\n"})
    assert plan(root)["cpus"]["isolated"] == "1-3"


def test_in_a_boot_of_ours_the_line_is_not_counted_twice(tmp_path: Path) -> None:
    files = machine()
    stock = "root=/dev/sda1 " + " ".join(f"console=tty{n:04}" for n in range(115))
    files["proc/cmdline"] = stock
    root = write_tree(tmp_path, files)
    document = plan(root)
    line = f"{stock} {document['cmdline']['text']} lowlat.plan={document['id']}"
    assert len(line) > 1900
    (root / "proc/cmdline").write_text(line)
    assert plan(root)["cmdline"]["text"] == document["cmdline"]["text"]


def test_the_watchdog_may_be_switched_off_where_nothing_else_keeps_it_away(tmp_path: Path) -> None:
    root = write_tree(tmp_path, machine())
    off = ("--disable", "nohz_full", "--disable", "kernel.watchdog_cpumask")
    offered = {item["name"] for item in plan(root, *off)["optional"]}
    assert {"nosoftlockup", "nowatchdog"} <= offered


def test_nothing_is_said_of_nodes_that_are_not_known(tmp_path: Path) -> None:
    files = machine()
    del files["sys/devices/system/node/node0/cpulist"]
    document = plan(write_tree(tmp_path, files))
    assert "kernel.numa_balancing" in {item["name"] for item in document["runtime"]}


# -------------------------------------------------- what the kernel shows goes before its version

PATIENCE = "rcutree.nohz_full_patience_delay"


def test_a_feature_of_an_older_kernel_is_found(tmp_path: Path) -> None:
    files = machine(release="5.14.0-503.el9.x86_64")
    assert "before 6.12" in why(plan(write_tree(tmp_path / "without", files)), PATIENCE)
    files["sys/module/rcutree/parameters/nohz_full_patience_delay"] = "0\n"
    document = plan(write_tree(tmp_path / "with", files), "--enable", PATIENCE)
    assert f"{PATIENCE}=1000" in document["cmdline"]["text"].split()


def test_the_parameters_of_an_installed_kernel_are_found(tmp_path: Path) -> None:
    files = machine()
    other = "5.14.0-503.el9.x86_64"
    files[f"boot/config-{other}"] = CONFIG
    # The format of the kernel's build: entries end in NUL, and built-in code has its file's name.
    listed = "workqueue.parmtype=power_efficient:bool\0tree.parmtype=nohz_full_patience_delay:int\0"
    files[f"lib/modules/{other}/modules.builtin.modinfo"] = listed
    root = write_tree(tmp_path, files)
    assert PATIENCE in {item["name"] for item in plan(root, "--kernel", other)["optional"]}
    (root / f"lib/modules/{other}/modules.builtin.modinfo").write_text("tree.parmtype=blimit:int\0")
    assert "before 6.12" in why(plan(root, "--kernel", other), PATIENCE)


def test_a_feature_of_the_running_kernel_says_nothing_of_another(tmp_path: Path) -> None:
    files = machine()
    files["sys/kernel/debug/sched/fair_server/cpu0/runtime"] = "50000000\n"
    files["boot/config-6.1.0-other"] = CONFIG
    root = write_tree(tmp_path, files)
    assert "before 6.12" in why(plan(root, "--kernel", "6.1.0-other"), "fair_server")


def test_turbo_is_switched_where_the_driver_has_its_switch(tmp_path: Path) -> None:
    files = machine()
    files[f"{CPU}/cpufreq/policy0/scaling_driver"] = "acpi-cpufreq\n"
    without = write_tree(tmp_path / "without", files)
    assert "driver here does not offer" in why(plan(without), "turbo")
    for path, value in (("intel_pstate/no_turbo", "1"), ("cpufreq/boost", "0")):
        root = write_tree(tmp_path / path, {**files, f"{CPU}/{path}": "0\n"})
        rows = plan(root, "--enable", "turbo")["runtime"]
        found = [(row["target"], row["value"]) for row in rows if row["name"] == "turbo"]
        assert found == [(f"/{CPU}/{path}", value)]


# ------------------------------------------------------------------ other entries


def test_old_kernels_get_what_new_ones_do_by_themselves(tmp_path: Path) -> None:
    old = plan(write_tree(tmp_path / "old", machine(release="6.1.0-9")))
    assert old["cmdline"]["text"].split() == [*DEFAULT, "workqueue.power_efficient=1"]
    new = plan(write_tree(tmp_path / "new", machine()))
    assert "6.12" in why(new, "workqueue.power_efficient")


def test_kernel_threads_are_moved_where_nohz_full_does_not(tmp_path: Path) -> None:
    root = write_tree(tmp_path, machine())
    assert "nohz_full" in why(plan(root), "kthread.affinity")
    rows = plan(root, "--disable", "nohz_full")["runtime"]
    found = [(row["target"], row["value"]) for row in rows if row["name"] == "kthread.affinity"]
    assert found == [("kthread:*:affinity", "1")]


def test_from_7_0_on_scheduler_domains_decide_about_kernel_threads(tmp_path: Path) -> None:
    root = write_tree(tmp_path, machine(release="7.0.0-9"))
    assert "7.0" in why(plan(root), "kthread.affinity")
    assert "7.0" in why(plan(root, "--disable", "nohz_full"), "kthread.affinity")
    rows = plan(root, "--disable", "isolcpus")["runtime"]
    assert "kthread.affinity" in {row["name"] for row in rows}


def test_real_time_throttling_is_not_offered_where_it_is_gone(tmp_path: Path) -> None:
    name = "kernel.sched_rt_runtime_us"
    realtime = CONFIG + "CONFIG_PREEMPT_RT=y\n"
    new = plan(write_tree(tmp_path / "new", machine(config=realtime)))
    assert "fair_server" in why(new, name)
    old = plan(write_tree(tmp_path / "old", machine(release="6.1.0-9-rt", config=realtime)))
    assert name in {item["name"] for item in old["optional"]}
    grouped = machine(config=realtime + "CONFIG_RT_GROUP_SCHED=y\n")
    kept = plan(write_tree(tmp_path / "grouped", grouped))
    assert name in {item["name"] for item in kept["optional"]}


def test_a_partition_isolates_in_place_of_isolcpus(tmp_path: Path) -> None:
    files = {
        **machine(config=CONFIG + "CONFIG_CPUSETS=y\n"),
        "sys/fs/cgroup/cgroup.controllers": "\n",
    }
    document = plan(write_tree(tmp_path / "v2", files), "--profile", "lowlat-hpc")
    assert "isolcpus=managed_irq,1-3" in document["cmdline"]["text"].split()
    rows = {row["target"]: row["value"] for row in document["runtime"]}
    assert rows["/sys/fs/cgroup/lowlat.slice/cpuset.cpus"] == "1-3"
    assert rows["/sys/fs/cgroup/lowlat.slice/cpuset.cpus.partition"] == "isolated"
    del files["sys/fs/cgroup/cgroup.controllers"]
    old = plan(write_tree(tmp_path / "v1", files), "--profile", "lowlat-hpc")
    assert "control groups v2" in why(old, "cpuset.partition")
    assert "isolcpus=managed_irq,domain,1-3" in old["cmdline"]["text"].split()
    alone = lowlat("plan", "--root", tmp_path / "v2", "--enable", "cpuset.partition").refused()
    assert "cpuset.cpus" in alone


def test_a_partition_that_may_not_work_does_not_take_the_place(tmp_path: Path) -> None:
    """A partition is never assumed: without a known version and control groups, isolcpus
    isolates."""
    files = machine(config=CONFIG + "CONFIG_CPUSETS=y\n", release="unknown")
    files["sys/fs/cgroup/cgroup.controllers"] = "\n"
    document = plan(write_tree(tmp_path, files), "--profile", "lowlat-hpc")
    assert "isolcpus" in {item["name"] for item in document["cmdline"]["parameters"]}


# ------------------------------------------------------------------- nothing isolated


def test_a_profile_may_isolate_nothing(tmp_path: Path) -> None:
    document = plan(write_tree(tmp_path, machine(cpus=1)), "--profile", "lowlat-desktop")
    assert document["cpus"]["isolated"] == "" and document["cpus"]["housekeeping"] == "0"
    line = "rcu_nocbs=all rcutree.enable_rcu_lazy=0 preempt=full"
    assert document["cmdline"]["text"] == line
    assert document["runtime"] == []
    assert why(document, "nohz_full") == "no CPU is isolated here"


def test_a_plan_that_adds_nothing_says_so(tmp_path: Path) -> None:
    root = write_tree(tmp_path, machine(config="CONFIG_SMP=y\n"))
    assert plan(root, "--profile", "lowlat-desktop")["cmdline"]["text"] == ""
    assert "(nothing to add)" in lowlat("plan", "--root", root, "--profile", "lowlat-desktop").out


UBUNTU = 'GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT preempt=full rcu_nocbs=all"\n'


def test_ubuntus_package_is_named_where_it_collides(tmp_path: Path) -> None:
    files = {**machine(), "etc/default/grub.d/99-lowlatency.cfg": UBUNTU}
    root = write_tree(tmp_path, files)
    for name, shown in (
        ("lowlat-desktop", "preempt=full rcu_nocbs=all"),
        ("lowlat", "rcu_nocbs=all"),
    ):
        (said,) = [w for w in plan(root, "--profile", name)["warnings"] if "lowlatency" in w]
        assert "/etc/default/grub.d/99-lowlatency.cfg (package lowlatency-kernel)" in said
        assert f" adds {shown} to " in said
    quiet = plan(root, "--disable", "rcu_nocbs")["warnings"]
    assert not [warning for warning in quiet if "lowlatency" in warning]
    archive = tmp_path / "ubuntu.txt"
    assert lowlat("capture", "--root", root, archive).status == 0
    assert plan(archive)["warnings"] == plan(root)["warnings"]


@pytest.mark.security
@pytest.mark.parametrize("said", ["../../../etc/evil", "6.12 init=/bin/sh", "6.12'", "x" * 129])
def test_a_release_that_is_none_is_not_known(tmp_path: Path, said: str) -> None:
    root = write_tree(tmp_path, {**machine(), "proc/sys/kernel/osrelease": f"{said}\n"})
    assert plan(root)["kernel"] is None
    out = tmp_path / "out"
    assert lowlat("render", "--root", root, "--out", out).status == 0
    assert not (out / "var/lib/lowlat/plans").exists()


METAL = {"sys/class/dmi/id/product_name": "c5.metal", "sys/class/dmi/id/sys_vendor": "Amazon EC2"}
GOOGLE = {"sys/class/dmi/id/product_name": "Google Compute Engine"}


@pytest.mark.parametrize(
    ("dmi", "flags", "guest"),
    [
        (METAL, FLAGS, False),
        (METAL, None, False),
        ({**METAL, "sys/class/dmi/id/product_name": "c5.large"}, f"{FLAGS} hypervisor", True),
        # Google's bare metal has the same DMI names as its guests.
        (GOOGLE, FLAGS, False),
        (GOOGLE, f"{FLAGS} hypervisor", True),
        ({}, f"{FLAGS} hypervisor", True),
        # For a capture without flags, only the DMI decides.
        (GOOGLE, None, True),
    ],
)
def test_bare_metal_of_a_cloud_is_hardware(
    tmp_path: Path, dmi: dict[str, str], flags: str | None, guest: bool
) -> None:
    info = CPUINFO_X86 if flags is None else f"{CPUINFO_X86}flags\t\t: {flags}\n"
    root = write_tree(tmp_path, {**machine(cpuinfo=info), "proc/sys/kernel/arch": "x86_64", **dmi})
    offered = {item["name"] for item in plan(root)["optional"]}
    told = {item["name"]: item["why"] for item in plan(root)["skipped"]}
    assert ("mce" in offered) is not guest
    assert ("virtual machine" in told.get("mce", "")) is guest


def test_a_large_instance_is_offered_what_its_host_hands_on(tmp_path: Path) -> None:
    files = machine(flags=f"{FLAGS} hypervisor")
    files[f"{CPU}/cpuidle/current_driver"] = "intel_idle"
    files[f"{CPU}/cpu0/cpufreq/scaling_driver"] = "intel_pstate"
    files[f"{CPU}/cpu0/cpufreq/scaling_available_governors"] = "performance powersave"
    offered = {item["name"] for item in plan(write_tree(tmp_path, files))["optional"]}
    assert {"pm_qos_resume_latency_us", "scaling_governor"} <= offered
    assert not {"idle", "mce"} & offered


@pytest.mark.parametrize(
    "image", ["/boot/vmlinuz-", "(hd0,gpt3)/boot/ostree/rhcos-0123/vmlinuz-", "/vmlinuz-"]
)
def test_a_capture_may_know_its_kernel_from_the_boot_loader_alone(
    tmp_path: Path, image: str
) -> None:
    release = "5.14.0-427.13.1.el9_4.x86_64"
    files = {**machine(), "proc/cmdline": f"BOOT_IMAGE={image}{release} ro quiet\n"}
    del files["proc/sys/kernel/osrelease"]
    assert plan(write_tree(tmp_path, files))["kernel"] == release


def test_a_brief_plan_fits_one_screen_and_tells_what_matters_most(tmp_path: Path) -> None:
    root = write_tree(tmp_path, machine(config=None))
    told = lowlat("plan", "--root", root, "--brief", env={"COLUMNS": "100"}).out
    lines = told.splitlines()
    assert plan(root)["cmdline"]["text"] in told and "isolated CPU 1-3, housekeeping CPU 0" in told
    assert len(lines) < 10 and lines[-2] == "Next, on that machine, to see what it would change:"
    assert lines[-1] == "  sudo lowlat-gen apply --dry-run"
    assert lines[1].startswith("  Warning ") and "--all shows them" in told
    usual = lowlat("plan", "--root", root, env={"COLUMNS": "100"}).out
    whole = lowlat("plan", "--root", root, "--all", env={"COLUMNS": "100"}).out
    for text in (usual, whole):
        assert text.endswith(lines[-1] + "\n")
        assert text.index("  Warning ") < text.index("Kernel command line")
    assert usual.count("\n") <= 25 and "Left out" not in usual and "Left out" in whole
    assert lowlat("plan", "--root", root, "--brief", "--json").json() == plan(root)


@pytest.mark.parametrize(
    "asked",
    [
        ("--profile", "lowlat-hpc", "--disable", "cpuset.partition", "--disable", "isolcpus"),
        ("--isolate", "a=2,b=3", "--enable", "vm.stat_interval", "--enable", "nosoftlockup"),
        ("--now", "--housekeeping-cores", "1", "--keep-efficiency-cores", "--as-host"),
    ],
)
def test_the_next_step_repeats_what_was_asked(tmp_path: Path, asked: tuple[str, ...]) -> None:
    groups = {"sys/fs/cgroup/cgroup.controllers": "cpuset cpu\n"}
    files = machine(cpus=4, threads=1, config=f"{CONFIG}CONFIG_CPUSETS=y\nCONFIG_HZ=250\n")
    root = write_tree(tmp_path, {**files, **groups})
    for form in ((), ("--all",), ("--brief",)):
        answer = lowlat("plan", "--root", root, *asked, *form)
        assert answer.status == 0, answer.err
        sudo, name, verb, *words = shlex.split(answer.out.splitlines()[-1])
        assert (sudo, name, verb) == ("sudo", "lowlat-gen", "apply")
        words = [word for word in words if word != "--dry-run"]
        assert cli.arguments("apply", words) == cli.arguments("apply", asked)


def test_slurm_is_told_of_a_partition_that_its_jobs_are_kept_off(tmp_path: Path) -> None:
    config = f"{CONFIG}CONFIG_CPUSETS=y\n"
    more = {"sys/fs/cgroup/cgroup.controllers": "cpuset cpu\n", "proc/7/comm": "slurmd\n"}
    root = write_tree(tmp_path, {**machine(config=config), **more})
    told = [one for one in plan(root, "--profile", "lowlat-hpc")["warnings"] if "slurmd" in one]
    assert len(told) == 1 and "--disable cpuset.partition" in told[0]
    without = plan(root, "--profile", "lowlat-hpc", "--disable", "cpuset.partition")
    assert "slurmd" not in str(without["warnings"])
    (root / "proc/7/comm").write_text("bash\n")
    assert "slurmd" not in str(plan(root, "--profile", "lowlat-hpc")["warnings"])


def test_one_reason_for_many_settings_is_told_once(tmp_path: Path) -> None:
    root = write_tree(tmp_path, machine(flags=f"{FLAGS} hypervisor"))
    told = lowlat("plan", "--root", root, "--all").out
    why = "this is a virtual machine: the host controls the hardware"
    held = [item["name"] for item in plan(root)["skipped"] if item["why"] == why]
    assert len(held) > 3
    joined = " ".join(told.split())
    assert joined.count(why) == 1
    assert f"{', '.join(held)} {why}" in joined


def test_a_plan_of_before_there_was_an_order_is_read(tmp_path: Path) -> None:
    document = plan(write_tree(tmp_path, machine()))
    content = {key: value for key, value in document.items() if key not in ("schema", "id")}
    del content["cpus"]["preferred"]
    text = json.dumps(content, sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    old = Plan.from_json({**document, **content, "id": digest})
    assert old.id == digest and old.preferred == (1, 2, 3)


def test_the_tick_of_the_kernel_that_is_planned_for_is_told(tmp_path: Path) -> None:
    other = "5.14.0-503.el9.x86_64"
    files = {
        **machine(),
        "boot/config-6.12.107-test": f"{CONFIG}CONFIG_HZ=250\n",
        f"boot/config-{other}": f"{CONFIG}CONFIG_HZ=1000\n",
    }
    root = write_tree(tmp_path, files)
    first = lowlat("plan", "--root", root, "--brief").out.splitlines()[0]
    assert first.endswith("profile lowlat, kernel 6.12.107-test, HZ=250")
    first = lowlat("plan", "--root", root, "--kernel", other).out.splitlines()[0]
    assert first.endswith(f"kernel {other}, HZ=1000")
    assert "6.12.107-test, HZ=250 (/boot/config" in lowlat("probe", "--root", root).out


def test_the_text_says_which_value_is_of_which_file_and_what_an_offer_sets() -> None:
    capture = Path(__file__).parents[1] / "machines/field/gold-6242-htoff.txt.gz"
    text = " ".join(lowlat("plan", "--root", capture, "--all").out.split())
    assert "fair_server.period = runtime 209715200, period 4194304000 " in text
    assert "--enable psi sets psi=0; costs: " in text
    assert "--enable fair_server sets 0; costs: " in text
    # By the machine, or several: the reason tells.
    assert "--enable pm_qos_resume_latency_us costs: " in text


@pytest.mark.parametrize(
    ("release", "warned"), [("6.8.0", False), ("6.12.1", True), ("6.18.9", True), ("6.19.0", False)]
)
def test_timers_that_nohz_full_keeps_away_are_a_warning(
    release: str, warned: bool, tmp_path: Path
) -> None:
    root = write_tree(tmp_path, machine(4, release=f"{release}-x", config=CONFIG))
    wanted = ("--profile", "lowlat-rt", "--root", root, "--json")
    warnings = " ".join(lowlat("plan", *wanted).json()["warnings"])
    assert ("runs the timers of idle CPUs" in warnings) == warned
    warnings = " ".join(lowlat("plan", *wanted, "--enable", "nohz_full").json()["warnings"])
    assert "runs the timers of idle CPUs" not in warnings


@pytest.mark.parametrize("profile", ["lowlat", "lowlat-nfv", "lowlat-poll", "lowlat-kvm-host"])
@pytest.mark.parametrize(
    "release", ["3.10.0-1160.el7.x86_64", "4.4.189", "4.18.0-553.el8_10", "5.4.0"]
)
def test_an_old_kernel_gets_what_it_knows(profile: str, release: str, tmp_path: Path) -> None:
    """CONFIG_CPU_ISOLATION is of 4.15: before it, isolcpus was always there."""
    old = release.startswith(("3.", "4.4."))
    config = CONFIG.replace("CONFIG_CPU_ISOLATION=y\n", "") if old else CONFIG
    root = write_tree(tmp_path, machine(4, release=release, config=config))
    made = plan(root, "--profile", profile, "--as-host")
    words = made["cmdline"]["text"].split()
    assert any(word.startswith("isolcpus=") and word.endswith("1-3") for word in words)
    assert not any(word.startswith("cpufreq.default_governor") for word in words)
    again = lowlat("lint", "--root", root, made["cmdline"]["text"], "--json").json()
    assert [word for word in again["words"] if word["verdict"] == "ignored"] == []


@pytest.mark.parametrize(
    ("release", "sysctl"),
    [("5.4.0-216-generic", False), ("4.18.0-553.el8_10", True), ("5.10.1-x", True)],
)
def test_a_setting_waits_for_the_kernel_that_has_it(
    release: str, sysctl: bool, tmp_path: Path
) -> None:
    config = f"{CONFIG}CONFIG_COMPACTION=y\n"
    made = plan(write_tree(tmp_path, machine(4, release=release, config=config)))
    assert ("vm.compaction_proactiveness" in {row["name"] for row in made["runtime"]}) is sysctl


def test_a_guest_gets_the_words_that_its_kernel_has(tmp_path: Path) -> None:
    built = f"{CONFIG}CONFIG_PARAVIRT_SPINLOCKS=y\nCONFIG_HALTPOLL_CPUIDLE="
    for release, driver, words in (
        ("5.4.0-216-generic", "y", set()),
        ("5.8.1-x", "y", {"cpuidle_haltpoll.force=1"}),
        ("5.10.1-x", "y", {"cpuidle_haltpoll.force=1", "nopvspin"}),
        ("6.12.1-x", "m", {"cpuidle_haltpoll.force=1", "nopvspin"}),
    ):
        files = machine(4, release=release, config=f"{built}{driver}\n", flags="tsc lm hypervisor")
        files["sys/hypervisor/type"] = "kvm\n"
        made = plan(write_tree(tmp_path / release, files), "--profile", "lowlat-kvm-guest")
        assert words == {"cpuidle_haltpoll.force=1", "nopvspin"} & set(
            made["cmdline"]["text"].split()
        )
        told = str(made["cmdline"])
        assert ("nothing loads this driver" in told) is (driver == "m")


@pytest.mark.parametrize("profile", ["lowlat", "lowlat-rt"])
def test_a_slow_clock_source_is_told(profile: str, tmp_path: Path) -> None:
    files = machine(4, config=CONFIG)
    files["sys/devices/system/clocksource/clocksource0/current_clocksource"] = "hpet\n"
    warnings = " ".join(plan(write_tree(tmp_path, files), "--profile", profile)["warnings"])
    assert "the clock source is hpet, which is slow to read" in warnings
    assert ("the tick never stops" in warnings) is (profile == "lowlat")


def test_an_arm_guest_is_known_by_its_firmware(tmp_path: Path) -> None:
    """A cloud that names itself in DMI, and no hypervisor."""
    root = write_tree(tmp_path, {"sys/class/dmi/id/sys_vendor": "Hetzner\n"})
    write_tree(root, machine(4, cpuinfo="processor\t: 0\nCPU implementer\t: 0x41\n"))
    for bits, found in ((0x0C, None), (0x1C, "unknown")):
        table = root / "sys/firmware/dmi/entries/0-0/raw"
        table.parent.mkdir(parents=True, exist_ok=True)
        table.write_bytes(bytes(0x13) + bytes([bits]))
        assert lowlat("probe", "--root", root, "--json").json()["hypervisor"] == found


def test_a_kernel_that_cannot_isolate_is_named(tmp_path: Path) -> None:
    config = CONFIG.replace("CPU_ISOLATION=y", "CPU_ISOLATION=n").replace("FULL=y", "FULL=n")
    made = plan(write_tree(tmp_path, machine(4, config=config)))
    assert any("nothing keeps tasks off the isolated CPUs" in one for one in made["warnings"])
