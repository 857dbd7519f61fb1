# SPDX-License-Identifier: GPL-2.0-or-later
"""Boot parameters: what the kernel shows of each, and what it made of the line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from booted import DMESG, LINE, about, lowlat, planned, rows, start, thread, tuned

from support.machines import CONFIG, CPU, CPUINFO_X86, FLAGS, machine, write_tree


@pytest.fixture
def host(tmp_path: Path) -> Path:
    return planned(tmp_path)


@pytest.fixture
def started(host: Path) -> Path:
    return start(host)


@pytest.mark.parametrize(
    ("said", "state"),
    [
        (', forced by "nopvspin" parameter', "effective"),
        (" with KVM_HINTS_REALTIME hints", "effective"),
        (", no host support", "ignored-by-kernel"),
    ],
)
def test_plain_spin_locks_are_those_that_the_kernel_was_made_to_take(
    tmp_path: Path, said: str, state: str
) -> None:
    files = machine(config=f"{CONFIG}CONFIG_PARAVIRT_SPINLOCKS=y\n", flags=f"{FLAGS} hypervisor")
    files["sys/class/dmi/id/sys_vendor"] = "KVM\n"
    root = planned(tmp_path, "--enable", "nopvspin", files=files)
    (root / "var/log/dmesg").write_text(f"{DMESG}kvm-guest: PV spinlocks disabled{said}\n")
    (row,) = about(root, int(state != "effective"), "nopvspin")
    assert row["state"] == state, row


def test_a_flag_that_was_skipped_counts_though_the_list_holds(host: Path) -> None:
    text = "Housekeeping: nohz_full= must match isolcpus=\nisolcpus: Skipped unknown flag xyz\n"
    (host / "var/log/dmesg").write_text(DMESG + text)
    row = rows(host, 1)["isolcpus"]
    assert row["state"] == "ignored-by-kernel" and "Skipped unknown flag" in row["evidence"]


def test_a_missing_parameter(host: Path) -> None:
    (host / "proc/cmdline").write_text(LINE.replace("nohz_full=1-3 ", ""))
    assert rows(host, 1)["nohz_full"]["state"] == "not-applied"


def test_a_second_isolcpus(host: Path) -> None:
    (host / "proc/cmdline").write_text(LINE.strip() + " isolcpus=2\n")
    said = "Housekeeping: nohz_full= must match isolcpus=\n"
    said += 'Unknown kernel command line parameters "isolcpus=2", will be passed to user space.\n'
    (host / "var/log/dmesg").write_text(f"{DMESG}{said}")
    row = rows(host, 0)["isolcpus"]
    assert row["state"] == "effective" and "isolcpus=2 is dropped" in row["evidence"]


def test_a_kernel_without_the_feature(host: Path) -> None:
    (host / CPU / "nohz_full").unlink()
    text = DMESG.replace("NO_HZ: Full dynticks CPUs: 1-3.", "")
    text += "Housekeeping: nohz unsupported. Build with CONFIG_NO_HZ_FULL\n"
    (host / "var/log/dmesg").write_text(text)
    row = rows(host, 1)["nohz_full"]
    assert row["state"] == "ignored-by-kernel" and "CONFIG_NO_HZ_FULL" in row["evidence"]


def test_the_kernel_reads_another_list(host: Path) -> None:
    (host / CPU / "isolated").write_text("\n")
    assert rows(host, 1)["isolcpus"]["state"] == "ignored-by-kernel"


def test_an_unknown_parameter(host: Path) -> None:
    text = 'Unknown kernel command line parameters "skew_tick=1", will be passed to user space.\n'
    (host / "var/log/dmesg").write_text(DMESG + text)
    found = rows(host, 1)
    assert found["skew_tick"]["state"] == "ignored-by-kernel"
    assert found["isolcpus"]["state"] == "effective"


def test_a_parameter_that_the_kernel_reads_before_it_knows_any(tmp_path: Path) -> None:
    """The kernel calls split_lock_detect unknown, but obeys it."""
    cpuinfo = f"{CPUINFO_X86}flags\t\t: {FLAGS} split_lock_detect\n"
    host = planned(tmp_path, "--enable", "split_lock_detect", files=machine(cpuinfo=cpuinfo))
    unknown = 'Unknown kernel command line parameters "split_lock_detect=off", will be passed\n'
    (host / "var/log/dmesg").write_text(DMESG + unknown)
    assert rows(host, 1)["split_lock_detect"]["state"] == "ignored-by-kernel"
    (host / "var/log/dmesg").write_text(f"{DMESG}{unknown}x86/split lock detection: disabled\n")
    assert rows(host, 0)["split_lock_detect"]["state"] == "effective"


def test_managed_interrupts_beside_a_partition_show_in_no_file(tmp_path: Path) -> None:
    files = {
        **machine(config=f"{CONFIG}CONFIG_CPUSETS=y\n"),
        "sys/fs/cgroup/cgroup.controllers": "\n",
    }
    host = planned(tmp_path, "--profile", "lowlat-hpc", files=files)
    (host / CPU / "isolated").write_text("\n")
    row = next(
        r
        for r in lowlat("verify", "--root", host, "--json").json()["settings"]
        if r["name"] == "isolcpus"
    )
    assert row["planned"].startswith("managed_irq,") and row["state"] == "unverifiable"


def test_without_the_start_of_the_messages_nothing_is_called_good(host: Path) -> None:
    (host / "var/log/dmesg").write_text("later messages only\n")
    found = rows(host, 0)
    assert found["rcu_nocbs"]["state"] == "unverifiable"
    assert found["isolcpus"]["state"] == "effective"


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("isolcpus", f"{CPU}/isolated"),
        ("rcupdate.rcu_normal_after_boot", "sys/kernel/rcu_normal"),
        ("skew_tick", "proc/timer_list"),
        ("irqaffinity", "proc/interrupts"),
        ("irqaffinity", "run/lowlat/runtime.json"),
    ],
)
def test_what_cannot_be_seen_is_not_called_effective(started: Path, name: str, file: str) -> None:
    (started / file).unlink()
    assert rows(started, 0)[name]["state"] == "unverifiable"


def test_what_the_run_time_half_wrote_proves_no_parameter(started: Path) -> None:
    """A value that the run-time half should write, but found in place, does prove one."""
    path = started / "run/lowlat/runtime.json"
    record = json.loads(path.read_text())
    record["old"]["/proc/irq/default_smp_affinity"] = "f"
    path.write_text(json.dumps(record))
    row = rows(started, 1)["irqaffinity"]
    assert row["state"] == "ignored-by-kernel" and "'runtime start' wrote" in row["evidence"]


def test_what_a_mask_says_is_told_as_the_plan_writes_it(started: Path) -> None:
    row = rows(started, 0)["irqaffinity"]
    assert row["planned"] == row["effective"] == "0"


def test_what_another_manager_writes_proves_no_parameter(host: Path) -> None:
    tuned(host, "mine", mine="[sysfs]\n/proc/irq/default_smp_affinity=1\n")
    row = rows(host, 0)["irqaffinity"]
    assert row["state"] == "unverifiable" and "TuneD profile mine writes too" in row["evidence"]


@pytest.mark.parametrize("word", ["nohz=off", "nohz=0"])
def test_a_foreign_word_that_undoes_nohz_full_is_told_without_a_count(
    host: Path, word: str
) -> None:
    (host / "proc/cmdline").write_text(f"{LINE.strip()} {word}\n")
    row = about(host, 1, "nohz_full", "--duration", "0s")[0]
    assert row["state"] == "ignored-by-kernel" and word in row["evidence"]


def test_the_list_of_one_parameter_is_out_of_range(host: Path) -> None:
    (host / CPU / "isolated").write_text("\n")
    text = DMESG + "Housekeeping: nohz_full= or isolcpus= incorrect CPU range\n"
    (host / "var/log/dmesg").write_text(text)
    found = rows(host, 1)
    assert found["isolcpus"]["state"] == "ignored-by-kernel"
    assert "incorrect CPU range" in found["isolcpus"]["evidence"]
    # The message is about one of the two; the other list is in effect.
    assert found["nohz_full"]["state"] == "effective"


def test_an_option_that_the_kernel_could_not_read(host: Path) -> None:
    (host / "var/log/dmesg").write_text(DMESG + "Malformed early option 'irqaffinity'\n")
    assert rows(host, 1)["irqaffinity"]["state"] == "ignored-by-kernel"


def test_a_parameter_that_nobody_planned_is_shown_and_no_finding(host: Path) -> None:
    (host / "proc/cmdline").write_text(f"{LINE.strip()} idle=poll\n")
    row = rows(host, 0)["idle"]
    assert (row["state"], row["effective"]) == ("not-planned", "poll")


def test_a_kernel_thread_is_a_sign_where_the_messages_are_gone(host: Path) -> None:
    (host / "var/log/dmesg").write_text("later messages only\n")
    write_tree(host, thread(2, "kthreadd"))
    assert rows(host, 1)["rcu_nocbs"]["state"] == "ignored-by-kernel"
    for cpu in (1, 2, 3):
        assert rows(host, 1)["rcu_nocbs"]["state"] == "ignored-by-kernel"
        write_tree(host, thread(30 + cpu, f"rcuop/{cpu}"))
    row = rows(host, 0)["rcu_nocbs"]
    assert row["state"] == "effective" and "of CPU 1-3 exist" in row["evidence"]
    # From 5.17 on, the other CPUs have such a thread too, which offloads nothing.
    write_tree(host, thread(30, "rcuop/0"))
    assert rows(host, 0)["rcu_nocbs"]["state"] == "unverifiable"


def test_one_line_of_a_file_is_the_sign(tmp_path: Path) -> None:
    root = planned(tmp_path, "--disable", "isolcpus", "--enable", "systemd.cpu_affinity")
    status = "Name:\tsystemd\nCpus_allowed:\t1\nCpus_allowed_list:\t0\n"
    write_tree(root, {"proc/1/status": status})
    assert rows(root, 0)["systemd.cpu_affinity"]["state"] == "effective"
    write_tree(root, {"proc/1/status": status.replace("list:\t0", "list:\t0-3")})
    row = rows(root, 1)["systemd.cpu_affinity"]
    assert (row["state"], row["effective"]) == ("ignored-by-kernel", "0-3")


def test_a_boot_without_any_of_it_misses_the_boot_half(host: Path) -> None:
    (host / "proc/cmdline").write_text("quiet\n")
    (host / "run/lowlat").mkdir(parents=True)
    (host / "var/lib/lowlat/plan.json").rename(host / "run/lowlat/plan.json")
    plan = json.loads((host / "run/lowlat/plan.json").read_text())
    found = rows(host, 1)
    for parameter in plan["cmdline"]["parameters"]:
        row = found[parameter["name"]]
        assert row["state"] == "not-applied"
        assert f"does not carry lowlat.plan={plan['id']}" in row["evidence"]
    printed = lowlat("verify", "--root", host).out.splitlines()
    assert printed[1].startswith("This boot has none of the plan's boot parameters. ")
    for parameter in plan["cmdline"]["parameters"]:
        (line,) = [line for line in printed if line.split()[:1] == [parameter["name"]]]
        assert line.endswith(f"  planned {parameter['value']}")
    assert max(map(len, printed)) <= 80
    assert found["workqueue.cpumask"]["state"] == "effective"
