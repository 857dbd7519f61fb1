# SPDX-License-Identifier: GPL-2.0-or-later
"""``verify``: every state, with its evidence, on trees of files; real kernels are in tests/vm."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import MappingProxyType
from typing import Any, Optional

import pytest

from lowlat import cli
from lowlat.host.archive import Recorder
from lowlat.host.root import Root
from lowlat.host.tasks import parse
from lowlat.plan import store
from lowlat.verify import evidence
from lowlat.verify.verdict import verify
from support.cli import Answer
from support.machines import CONFIG, CPU, CPUINFO_X86, FLAGS, fair_server, machine, write_tree

LINE = (
    "quiet isolcpus=managed_irq,domain,1-3 nohz_full=1-3 rcu_nocbs=1-3 irqaffinity=0 "
    "rcupdate.rcu_normal_after_boot=1 skew_tick=1\n"
)

DMESG = """Linux version 6.12.107-test
rcu: \tOffload RCU callbacks from CPUs: 1-3.
NO_HZ: Full dynticks CPUs: 1-3.
"""

INTERRUPTS = """           CPU0       CPU1       CPU2       CPU3
  24:        900          0          0          0   PCI-MSI 1-edge      nvme0q0
 LOC:       1000       1000       1000       1000   Local timer interrupts
"""


def timers(*after: int, now_s: float = 8.0, hertz: int = 250) -> str:
    """The ticks of CPUs, this many ns after 8 s, of a kernel whose first ticks were lost."""
    jiffies = int(2**32 + (now_s - 300.9) * hertz)
    rows = (
        f"cpu: {cpu}\n clock 0:\nactive timers:\n"
        f"  .last_tick      : {8_000_000_000 + each} nsecs\njiffies: {jiffies}\n"
        for cpu, each in enumerate(after)
    )
    return f"Timer List Version: v0.10\nnow at {int(now_s * 1e9)} nsecs\n\n{''.join(rows)}"


#: Each CPU's tick comes 500 us after the one before; the last CPU has never slept.
TIMERS = timers(0, 500_000, 1_000_000, -8_000_000_000)

TUNED_BOOT = {
    "proc/cmdline": LINE,
    f"{CPU}/isolated": "1-3\n",
    f"{CPU}/nohz_full": "1-3\n",
    "sys/kernel/rcu_normal": "1\n",
    "proc/interrupts": INTERRUPTS,
    "proc/timer_list": TIMERS,
    "proc/irq/default_smp_affinity": "1\n",
    "proc/irq/24/smp_affinity": "1\n",
    "proc/sys/kernel/timer_migration": "1\n",
    "proc/sys/kernel/watchdog_cpumask": "0\n",
    "proc/sys/vm/compaction_proactiveness": "0\n",
    "sys/devices/virtual/workqueue/cpumask": "1\n",
    "sys/bus/workqueue/devices/writeback/cpumask": "1\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "var/log/dmesg": DMESG,
    **fair_server(range(1, 4)),
}


def lowlat(*words: object) -> Answer:
    """Run a command line in this process."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = cli.main([str(word) for word in words])
    return Answer(status, out.getvalue(), err.getvalue())


@pytest.fixture
def host(tmp_path: Path) -> Path:
    return planned(tmp_path)


def planned(folder: Path, *options: str, files: Mapping[str, str] = MappingProxyType({})) -> Path:
    """A machine with a plan made with these options, and booted with its line."""
    config = f"{CONFIG}CONFIG_CPUSETS=y\nCONFIG_HZ=250\n"
    root = write_tree(folder, {**machine(config=config), **files})
    answer = lowlat("plan", "--root", root, "--json", *options)
    assert answer.status == 0, answer.err
    line = f"quiet {answer.json()['cmdline']['text']}\n"
    stored = {"proc/cmdline": line, "var/lib/lowlat/plan.json": answer.out}
    return write_tree(root, {**TUNED_BOOT, **stored})


def thread(
    pid: int, comm: str, mask: str = "1", *, bound: bool = False, kernel: bool = True, cpu: int = 0
) -> dict[str, str]:
    """The files of a kernel thread, or of a user's task (proc_pid_stat(5))."""
    flags = 0x00200000 * kernel | (0x04000000 if bound else 0)
    rest = "0 " * 12 + "77 " + "0 " * 16 + f"{cpu} 0 0 0 0 0"
    return {
        f"proc/{pid}/stat": f"{pid} ({comm}) S 2 0 0 0 -1 {flags} {rest}\n",
        f"proc/{pid}/status": f"Name:\t{comm}\nCpus_allowed:\t{mask}\nCpus_allowed_list:\t?\n",
    }


def rows(root: Path, status: int) -> dict[str, dict[str, Any]]:
    answer = lowlat("verify", "--root", root, "--json")
    assert answer.status == status, answer.out
    document = answer.json()
    assert list(document) == ["schema", "settings"]
    assert document["schema"] == "lowlat.verify/1"
    for row in document["settings"]:
        assert list(row) == ["name", "where", "planned", "effective", "state", "by", "evidence"]
    return {row["name"]: row for row in document["settings"]}


def test_all_in_effect(started: Path) -> None:
    found = rows(started, 0)
    assert {row["state"] for row in found.values()} == {"effective"}
    assert "Offload RCU callbacks" in found["rcu_nocbs"]["evidence"]
    assert len(found) == 15


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


def test_a_widened_workqueue_mask(host: Path) -> None:
    (host / "sys/devices/virtual/workqueue/cpumask").write_text("f\n")
    row = rows(host, 1)["workqueue.cpumask"]
    assert row["state"] == "not-applied" and "is f" in row["evidence"]


def test_an_interrupt_moved_back_and_one_that_cannot_move(host: Path) -> None:
    (host / "proc/irq/24/smp_affinity").write_text("f\n")
    lowlat_rows = lowlat("verify", "--root", host, "--json").json()["settings"]
    row = next(row for row in lowlat_rows if row["where"] == "/proc/irq/[0-9]*/smp_affinity")
    assert row["state"] == "not-applied" and "/proc/irq/24/" in row["evidence"]
    (host / "proc/irq/24/smp_affinity").chmod(0o444)
    lowlat_rows = lowlat("verify", "--root", host, "--json").json()["settings"]
    row = next(row for row in lowlat_rows if row["where"] == "/proc/irq/[0-9]*/smp_affinity")
    assert row["state"] == "effective" and "keeps these" in row["evidence"]
    assert lowlat("verify", "--root", host).status == 0


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


def test_a_device_that_came_to_an_isolated_cpu_leaves_irqaffinity_open(started: Path) -> None:
    text = INTERRUPTS.replace("        900          0", "        900          7")
    (started / "proc/interrupts").write_text(text)
    row = rows(started, 0)["irqaffinity"]
    assert row["state"] == "unverifiable"
    assert "irq 24 nvme0q0 came to CPU 1 7 times" in row["evidence"]
    (started / "proc/irq/24/smp_affinity").chmod(0o444)
    assert "nvme0q0" not in rows(started, 0)["irqaffinity"]["evidence"]


def test_ticks_at_once_are_not_apart(host: Path) -> None:
    (host / "proc/timer_list").write_text(TIMERS.replace("8000500000", "8004000000"))
    row = rows(host, 1)["skew_tick"]
    assert row["state"] == "ignored-by-kernel" and "/proc/timer_list" in row["evidence"]


@pytest.mark.parametrize(
    ("now_s", "hertz", "state"),
    [
        (8.0, 1000, "ignored-by-kernel"),
        (86400.0, 1000, "ignored-by-kernel"),
        (86400.0, 250, "effective"),
        (310.0, 250, "unverifiable"),
        (86400.0, 77, "unverifiable"),
    ],
)
def test_ticks_are_apart_by_less_than_a_period(
    host: Path, now_s: float, hertz: int, state: str
) -> None:
    config = host / "boot/config-6.12.107-test"
    config.write_text(re.sub("CONFIG_HZ=.*", "", config.read_text()))
    (host / "proc/timer_list").write_text(timers(0, 1_000_000, now_s=now_s, hertz=hertz))
    assert rows(host, int(state == "ignored-by-kernel"))["skew_tick"]["state"] == state


def test_where_the_kernels_options_are_known_ticks_are_told_apart_at_any_time(host: Path) -> None:
    """After 300 s the count of ticks says nothing."""
    (host / "proc/timer_list").write_text(timers(0, 1_000_000, now_s=310.0, hertz=250))
    assert rows(host, 0)["skew_tick"]["state"] == "effective"


def test_a_managed_interrupt_on_an_isolated_cpu_is_told(host: Path) -> None:
    for number, told in ((30, "too few managed interrupts"), (31, "2 managed interrupts")):
        folder = f"proc/irq/{number}"
        write_tree(host, {f"{folder}/smp_affinity": "7\n", f"{folder}/effective_affinity": "1\n"})
        (host / folder / "smp_affinity").chmod(0o444)
        row = rows(host, 0)["isolcpus"]
        assert row["state"] == "effective" and told in row["evidence"]
    write_tree(host, {"proc/irq/30/effective_affinity": "4\n"})
    row = rows(host, 1)["isolcpus"]
    assert row["state"] == "ignored-by-kernel"
    assert "irq 30 may go to CPU 0-2 and goes to the isolated CPU 2" in row["evidence"]


@pytest.mark.parametrize("word", ["nohz=off", "nohz=0"])
def test_a_foreign_word_that_undoes_nohz_full_is_told_without_a_count(
    host: Path, word: str
) -> None:
    (host / "proc/cmdline").write_text(f"{LINE.strip()} {word}\n")
    row = about(host, 1, "nohz_full", "--duration", "0s")[0]
    assert row["state"] == "ignored-by-kernel" and word in row["evidence"]


# ----------------------------------------------------------------- the boot half


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


# ---------------------------------------------------------------------- the tick


def ticks(root: Path, status: int) -> dict[str, dict[str, Any]]:
    answer = lowlat("verify", "--root", root, "--json")
    assert answer.status == status, answer.out
    found = (row for row in answer.json()["settings"] if row["where"].startswith("/proc/int"))
    return {row["where"]: row for row in found if row["name"] == "nohz_full"}


def count(
    root: Path,
    rates: list[float],
    spinning: str = "1-3",
    watching: str = "",
    softirqs: Mapping[str, list[float]] = MappingProxyType({}),
    tasks: tuple[tuple[str, ...], tuple[str, ...]] = ((), ()),
    stops: str = "",
    **others: tuple[str, list[float]],
) -> None:
    """Plant readings with that many timer interrupts a second on each CPU, 10 s apart; ``others``
    are further rows by label, with their words and rates, ``tasks`` the lines of both readings,
    ``stops`` what the kernel's trace said of the ticks."""
    head = "           CPU0       CPU1       CPU2       CPU3\n"
    rows = {"LOC": ("Local timer interrupts", rates), **others}

    def row(label: str, words: str, rates: list[float], seconds: int) -> str:
        counts = " ".join(f"{1000 + round(seconds * rate):10}" for rate in rates)
        return f"{label.lstrip('_')}: {counts}   {words}\n"

    def reading(seconds: int) -> str:
        text = head + "".join(row(label, *each, seconds) for label, each in rows.items())
        soft = head + "".join(row(label, "", each, seconds) for label, each in softirqs.items())
        listed = "".join(tasks[seconds > 0])
        return f"{text}ERR:          0\n\nsoftirqs\n{soft}\ntasks\n{listed}"

    about = f"seconds 10.00\nspinning {spinning}\nwatching {watching}\n{stops}"
    text = f"{about}before\n{reading(0)}after\n{reading(10)}"
    write_tree(root, {".lowlat/counters": text})


def test_a_stopped_tick_is_effective(host: Path) -> None:
    count(host, [250, 1, 4, 0], spinning="1-2", watching="3")
    found = ticks(host, 0)
    assert set(found) == {f"/proc/interrupts CPU {cpu}" for cpu in (1, 2, 3)}
    assert {row["state"] for row in found.values()} == {"effective"}
    row = found["/proc/interrupts CPU 2"]
    assert (row["name"], row["planned"]) == ("nohz_full", "the tick stops")
    assert row["effective"].startswith("LOC 4.0")


def test_a_tick_that_runs_is_ignored_by_the_kernel(host: Path) -> None:
    with (host / "boot/config-6.12.107-test").open("a") as config:
        config.write("CONFIG_HZ=250\n")
    count(host, [250, 1, 250, 1])
    found = ticks(host, 1)
    row = found["/proc/interrupts CPU 2"]
    assert row["state"] == "ignored-by-kernel"
    assert "LOC 250.0 per second" in row["evidence"] and "250 times (HZ)" in row["evidence"]
    assert found["/proc/interrupts CPU 1"]["state"] == "effective"


@pytest.mark.parametrize(
    ("stops", "words"),
    [
        (
            "traced\nseen 2 TICK 9 SCHED\nseen 2 TICK 90 PERF_EVENTS\nseen 1 TICK 3 RCU\n",
            "timer:tick_stop names a perf event (90 of 99), the scheduler: more than one task, or "
            "a deadline or round-robin task (9 of 99)",
        ),
        ("traced\n", "the kernel did not try to stop it"),
        (
            "traced\nunseen TICK no tracefs is mounted (/sys/kernel/tracing)\n",
            "no tracefs is mounted",
        ),
        ("", "why is not known: it was not recorded"),
    ],
)
def test_why_a_tick_runs_is_read_not_guessed(host: Path, stops: str, words: str) -> None:
    count(host, [250, 1, 250, 1], stops=stops)
    row = ticks(host, 1)["/proc/interrupts CPU 2"]
    assert words in row["evidence"]
    assert "likely" not in row["evidence"]


_QUIET: list[float] = [250, 0.1, 0.1, 0.1]
_DISK = "IR-PCI-MSIX-0000:01:00.0    1-edge      eth0-rx-1"


def unexpected_interrupts(root: Path, status: int) -> list[dict[str, Any]]:
    answer = lowlat("verify", "--root", root, "--json")
    assert answer.status == status, answer.out
    found = answer.json()["settings"]
    return [row for row in found if row["planned"] == "nothing interrupts the CPU"]


def test_whatever_interrupts_an_isolated_cpu_is_a_finding(host: Path) -> None:
    calls = ("Function call interrupts", [0.0, 0.0, 2000.0, 3.0])
    count(host, _QUIET, _30=(_DISK, [9, 0, 5000, 0]), CAL=calls)
    disk, *call = unexpected_interrupts(host, 1)
    assert (disk["name"], disk["where"]) == ("irq.smp_affinity", "/proc/interrupts CPU 2")
    assert disk["effective"] == "irq 30 eth0-rx-1 5000.0 per second"
    assert disk["state"] == "ignored-by-kernel"
    assert "irq.smp_affinity is effective, and yet it comes" in disk["evidence"]
    few, many = sorted(call, key=lambda row: row["where"], reverse=True)
    assert many["effective"] == "IPI function call 2000.0 per second"
    assert few["effective"] == "IPI function call 3.0 per second"
    assert (many["name"], many["state"]) == ("interrupts", "no-setting")
    assert few["state"] == "no-setting"
    assert "eth0-rx-1 5000.0" in lowlat("verify", "--root", host).out


def test_a_row_is_told_from_two_events_on_and_blames_a_setting_from_three(host: Path) -> None:
    """An interrupt may come once more after it was moved; NMI and timers come by other causes."""
    rows: dict[str, Any] = {
        "_30": (_DISK, [9, 0.1, 0.2, 0.3]),
        "RES": ("Rescheduling interrupts", [0, 0.1, 0.2, 4]),
        "THR": ("Threshold APIC interrupts", [0, 0.1, 0.2, 4]),
        "NEW": ("Interrupts of a later kernel", [0, 0.1, 0.2, 4]),
    }
    count(host, [250, 0.1, 0.4, 5], **rows)
    found = Counter((row["where"][-1], row["state"]) for row in unexpected_interrupts(host, 1))
    assert found == {
        **{("2", "unverifiable"): 1, ("2", "no-setting"): 4},
        **{("3", "ignored-by-kernel"): 1, ("3", "no-setting"): 4},
    }
    two = next(row for row in unexpected_interrupts(host, 1) if "eth0-rx-1 0.2" in row["evidence"])
    assert "too few to tell whether irq.smp_affinity fails" in two["evidence"]
    del rows["_30"]
    count(host, [250, 0.1, 0.4, 5], **rows)
    timers = [row for row in unexpected_interrupts(host, 0) if "local_timer" in row["effective"]]
    assert [row["effective"] for row in timers] == [
        "local_timer 0.4 per second",
        "local_timer 5.0 per second",
    ]


def test_calls_between_cpus_may_be_the_doing_of_the_work_there(host: Path) -> None:
    calls = ("Function call interrupts", [0.0, 0.0, 0.0, 2000.0])
    count(host, _QUIET, spinning="1-2", watching="3", CAL=calls)
    (row,) = unexpected_interrupts(host, 0)
    assert row["state"] == "unverifiable" and "the work that runs there" in row["evidence"]
    count(host, _QUIET, spinning="1-2", watching="3", _30=(_DISK, [9, 0, 0, 50]))
    assert [row["state"] for row in unexpected_interrupts(host, 1)] == ["ignored-by-kernel"]


_SENT = """traced
seen 2 CAL 8 CPU 0, kworker/0:1 (123) from rcu_exp_sel_wait_wake (rcu_exp_handler)
seen 2 CAL 2 CPU 0, bash (77) from on_each_cpu_cond_mask
seen 1 CAL 9 CPU 3, other (5) from elsewhere
"""


@pytest.mark.parametrize(
    ("sent", "words", "name"),
    [
        (
            _SENT,
            "sent by CPU 0, kworker/0:1 (123) from rcu_exp_sel_wait_wake (rcu_exp_handler) "
            "(8 of 10); CPU 0, bash (77) from on_each_cpu_cond_mask (2 of 10)",
            "rcupdate.rcu_normal_after_boot",
        ),
        ("traced\n", "the kernel's trace names no sender", "interrupts"),
        (
            "traced\nunseen CAL this kernel does not have the event ipi:ipi_send_cpu\n",
            "who sends it is not known: this kernel does not have the event ipi:ipi_send_cpu",
            "interrupts",
        ),
        ("", "who sends it is not known: it was not recorded", "interrupts"),
    ],
)
def test_who_calls_an_isolated_cpu_is_told(host: Path, sent: str, words: str, name: str) -> None:
    """The named setting is the one that removes the cause of the calls."""
    calls = ("Function call interrupts", [0.0, 0.0, 2000.0, 0.1])
    count(host, _QUIET, stops=sent, CAL=calls)
    (row,) = unexpected_interrupts(host, 0)
    assert row["evidence"].endswith(f"; {words}") and row["state"] == "no-setting"
    assert (f"{name} is in effect and does not stop it" in row["evidence"]) == (
        name != "interrupts"
    )
    count(host, _QUIET, stops=sent, spinning="1", watching="2-3", CAL=calls)
    assert unexpected_interrupts(host, 0)[0]["evidence"].endswith(f"work that runs there; {words}")


def test_softirqs_on_an_isolated_cpu_are_findings(host: Path) -> None:
    count(host, _QUIET, softirqs={"NET_RX": [9, 0, 300, 0], "TIMER": [250, 1, 1, 1]})
    (row,) = unexpected_interrupts(host, 0)
    assert (row["where"], row["state"]) == ("/proc/softirqs CPU 2", "no-setting")
    assert row["effective"] == "softirq NET_RX 300.0 per second"
    write_tree(host, {"proc/irq/24/smp_affinity": "f\n"})
    (row,) = unexpected_interrupts(host, 1)
    assert (row["name"], row["state"]) == ("irq.smp_affinity", "not-applied")


def test_known_sources_of_noise_are_told_and_are_no_findings(started: Path) -> None:
    write_tree(started, {"proc/70/comm": "turbostat\n"})
    row = rows(started, 0)["noise"]
    assert (row["where"], row["effective"]) == ("turbostat", "turbostat runs")
    assert row["state"] == "no-setting"
    assert "turbostat reads registers of every CPU" in row["evidence"]
    assert lowlat("verify", "--root", started, "--strict").status == 0
    (started / "run/.containerenv").write_text("")
    assert "noise" not in rows(started, 0)


def unexpected_tasks(root: Path, status: int, *options: str) -> list[dict[str, Any]]:
    answer = lowlat("verify", "--root", root, "--json", *options)
    assert answer.status == status, answer.out
    found = answer.json()["settings"]
    return [row for row in found if row["planned"] == "no other task runs on the CPU"]


def test_a_task_on_an_isolated_cpu_is_named_with_what_mends_it(started: Path) -> None:
    write_tree(started, thread(70, "busy", "f", kernel=False, cpu=2))
    (row,) = unexpected_tasks(started, 1)
    assert (row["name"], row["state"], row["where"]) == ("isolcpus", "not-applied", "/proc/70")
    assert row["effective"] == "busy (70) on CPU 2"
    assert (
        "isolcpus is in effect and does not bind a task whose own mask has these CPUs"
        in row["evidence"]
    )
    assert "mend: taskset -a -p -c 0 70; this lasts until the task ends" in row["evidence"]


@pytest.mark.parametrize(
    ("group", "mend"),
    [
        (
            "/system.slice/docker-0123456789abcdef.scope",
            "docker update --cpuset-cpus 0 0123456789ab",
        ),
        ("/system.slice/db.service", "systemctl set-property db.service AllowedCPUs=0"),
    ],
)
def test_the_manager_of_an_unexpected_task_is_named(started: Path, group: str, mend: str) -> None:
    write_tree(started, thread(70, "busy", "6", kernel=False, cpu=2))
    assert unexpected_tasks(started, 0) == [], (
        "pinned to isolated CPUs alone: that is what they are for"
    )
    write_tree(started, thread(70, "busy", "7", kernel=False, cpu=2))
    write_tree(started, {"proc/70/cgroup": f"0::{group}\n"})
    (row,) = unexpected_tasks(started, 1)
    assert row["by"] == group.rpartition("/")[2] and mend in row["evidence"]


def test_each_mend_can_be_done_on_the_machine(host: Path) -> None:
    """The task or the unit is there, the kernel lets the thread move, the mask can be written."""
    listed = (
        "40 40 bound other 2 2 {0} 0 - kworker/2:1",
        "41 41 bound other 1 1 {0} 0 - sugov:1",
        "42 42 kernel other 1 0-3 {0} 0 - jbd2/sda1-8",
        "43 43 kernel fifo:50 1 0-3 {0} 0 - irq/30-eth0",
        "44 44 kernel fifo:50 2 0-3 {0} 0 - irq/44-mpi3mr0",
        "70 70 user other 3 0-3 {0} 0 ptp.service ptp4l",
        "71 71 user other 3 0-3 {0} 0 cri-containerd-1f2e.scope exporter",
        "72 72 user other 3 0-3 {0} 0 - loose",
    )
    queue = ("IR-PCI-MSIX-0000:02:00.0 4-edge mpi3mr0", [0.0, 0.0, 80.0, 0.0])
    ran = [_tasks(*(line.format(runs) for line in listed)) for runs in (0, 90)]
    count(host, _QUIET, tasks=(ran[0], ran[1]), _30=(_DISK, [9, 0, 50, 0]), _44=queue)
    for line in listed:
        pid, _, kind, *_, comm = line.split()
        flags = {"kernel": True, "bound": kind == "bound"} if kind != "user" else {"kernel": False}
        write_tree(host, thread(int(pid), comm, "f", **flags))
    rows = f"  30: 0 0 0 0 {_DISK}\n  44: 0 0 0 0 {queue[0]}\n"
    write_tree(host, {"proc/interrupts": INTERRUPTS + rows})
    write_tree(host, {"proc/irq/44/smp_affinity": "f\n", "proc/irq/30/smp_affinity": "f\n"})
    (host / "proc/irq/44/smp_affinity").chmod(0o444)
    told = [row["evidence"] for row in unexpected_tasks(host, 1) + unexpected_interrupts(host, 1)]
    mends = [text.partition("mend: ")[2].partition(";")[0] for text in told]
    for argv in (mend.split() for mend in mends if mend):
        if argv[0] == "echo":
            file = host / argv[2].removeprefix(">/")
            assert file.stat().st_mode & 0o200 and int(argv[1], 16) == 1
        elif argv[0] == "taskset":
            task = parse((host / f"proc/{argv[-1]}/stat").read_text())
            assert task is not None and not task.bound and argv[1:-1] == ["-a", "-p", "-c", "0"]
        else:
            assert argv == ["systemctl", "set-property", "ptp.service", "AllowedCPUs=0"]
    assert sorted(mend.split()[0] for mend in mends if mend) == [
        *("echo", "echo", "systemctl", "taskset", "taskset", "taskset")
    ], told
    assert not [text for text in told if "should" in text and " is effective" in text]


def test_a_task_that_may_come_cannot_be_told(started: Path) -> None:
    write_tree(started, thread(70, "idler", "f", kernel=False))
    (row,) = unexpected_tasks(started, 0)
    assert row["state"] == "unverifiable" and "idler (70) may run there" in row["evidence"]
    assert unexpected_tasks(started, 1, "--strict") == [row]


def test_strict_passes_where_all_is_told(started: Path) -> None:
    assert lowlat("verify", "--root", started, "--strict").status == 0


def _tasks(*lines: str) -> tuple[str, ...]:
    return tuple(f"{line}\n" for line in lines)


def test_who_ran_on_an_isolated_cpu_is_told_with_how_much(host: Path) -> None:
    before = _tasks(
        "40 40 bound other 2 2 100 0 - ksoftirqd/2",
        "41 41 kernel other 1 1 100 0 - ksoftirqd/1",
        "71 70 user fifo:50 3 0-3 10 0 ptp.service ptp4l",
    )
    after = _tasks(
        "40 40 bound other 2 2 500 900000000 - ksoftirqd/2",
        "41 41 kernel other 1 1 103 5000 - ksoftirqd/1",
        "71 70 user fifo:50 3 0-3 30 2000000000 ptp.service ptp4l",
    )
    count(host, _QUIET, tasks=(before, after))
    daemon, thread = unexpected_tasks(host, 1)
    assert daemon["effective"] == "ptp4l (70, fifo:50) on CPU 3, 2.0 runs a second, 20.0 %"
    assert daemon["by"] == "ptp.service"
    assert thread["effective"] == "ksoftirqd/2 (40) on CPU 2, 40.0 runs a second, 9.0 %"
    assert thread["state"] == "no-setting"
    assert "the kernel binds it to CPU 2" in thread["evidence"]


def test_an_idle_cpu_proves_nothing(host: Path) -> None:
    count(host, [250, 1, 1, 1], spinning="")
    assert {row["state"] for row in ticks(host, 0).values()} == {"unverifiable"}


def test_nothing_is_counted_where_nobody_wants_it(host: Path) -> None:
    count(host, [250, 250, 250, 250])
    assert lowlat("verify", "--root", host, "--duration", "0s").status == 0


def test_without_nohz_full_the_figures_are_only_shown(tmp_path: Path) -> None:
    root = planned(tmp_path, "--disable", "nohz_full")
    count(root, [250, 250, 250, 250])
    row = ticks(root, 0)["/proc/interrupts CPU 1"]
    assert row["state"] == "not-planned" and row["effective"].startswith("LOC 250.0")


def test_without_the_parameter_the_running_tick_is_no_fault_of_the_kernel(host: Path) -> None:
    (host / "proc/cmdline").write_text(LINE.replace("nohz_full=1-3 ", ""))
    count(host, [250, 250, 250, 250])
    assert {row["state"] for row in ticks(host, 1).values()} == {"not-applied"}


_FROM_ITS_START = "tsc: Marking TSC unstable due to TSCs unsynchronized"


_UNSTABLE_TSC = (
    _FROM_ITS_START,
    "clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable because",
    "TSC found unstable after boot, most likely due to broken BIOS. Use 'tsc=unstable'.",
)


@pytest.mark.parametrize("message", _UNSTABLE_TSC)
def test_an_unstable_tsc_keeps_the_tick_unless_it_is_seen_to_stop(host: Path, message: str) -> None:
    (host / "var/log/dmesg").write_text(f"{DMESG}{message}\n")
    count(host, [250, 250, 1, 1])
    boot, one, *_ = about(host, 1, "nohz_full")
    assert boot["state"] == one["state"] == "ignored-by-kernel"
    assert message in one["evidence"]
    count(host, [250, 1, 1, 1])
    boot, *_ = about(host, 0, "nohz_full")
    assert boot["state"] == "effective" and message in boot["evidence"]


@pytest.mark.parametrize(
    ("messages", "state"),
    [
        (_FROM_ITS_START, "effective"),
        (f"{_FROM_ITS_START}\nTSC found unstable after boot", "ignored-by-kernel"),
        ("sched_clock: Marking unstable (1, 2)<-(3, 4)", "ignored-by-kernel"),
    ],
)
def test_only_a_clock_that_becomes_unstable_keeps_the_tick(
    host: Path, messages: str, state: str
) -> None:
    (host / "var/log/dmesg").write_text(f"{DMESG}{messages}\n")
    row = rows(host, int(state != "effective"))["nohz_full"]
    assert row["state"] == state and messages.splitlines()[0] in row["evidence"]


@pytest.mark.parametrize("message", [*_UNSTABLE_TSC, "sched_clock: Marking unstable (1, 2)"])
def test_an_unstable_tsc_contradicts_the_trust_in_it(tmp_path: Path, message: str) -> None:
    host = planned(tmp_path, "--enable", "tsc")
    (host / "var/log/dmesg").write_text(f"{DMESG}{message}\n")
    row = rows(host, 1)["tsc"]
    assert row["state"] == "ignored-by-kernel" and message in row["evidence"]


def about(root: Path, status: int, name: str, *options: str) -> list[dict[str, Any]]:
    answer = lowlat("verify", "--root", root, "--json", *options)
    assert answer.status == status, answer.out
    return [row for row in answer.json()["settings"] if row["name"] == name]


# ------------------------------------------------------------- the run-time half


@pytest.fixture
def started(host: Path) -> Path:
    """The same host in a boot in which the run-time half was started."""
    write_tree(host, {"proc/sys/kernel/random/boot_id": "11111111-aaaa\n"})
    assert lowlat("runtime", "start", "--root", host).status == 0
    rows(host, 0)
    return host


def test_irqbalance_moved_an_interrupt_back(started: Path) -> None:
    write_tree(started, {"proc/7/comm": "irqbalance\n", "proc/irq/24/smp_affinity": "f\n"})
    row = rows(started, 1)["irq.smp_affinity"]
    assert (row["state"], row["by"]) == ("undone", "irqbalance")
    assert row["evidence"] == "/proc/irq/24/smp_affinity is f"


@pytest.mark.parametrize(
    ("refused", "state"),
    [("Input/output error", "effective"), ("No space left on device", "not-applied")],
)
def test_only_what_the_kernel_manages_stays_where_it_is(
    started: Path, refused: str, state: str
) -> None:
    """A full vector table keeps an interrupt on an isolated CPU that could go elsewhere."""
    record = json.loads((started / "run/lowlat/runtime.json").read_text())
    path = "/proc/irq/24/smp_affinity"
    record["refused"][path] = refused
    record["done"].pop(path, None)
    write_tree(started, {"run/lowlat/runtime.json": json.dumps(record)})
    write_tree(started, {path[1:]: "2\n", "proc/irq/24/effective_affinity": "2\n"})
    row = rows(started, int(state != "effective"))["irq.smp_affinity"]
    assert row["state"] == state, row
    assert refused in row["evidence"] or "delivered to an isolated CPU" in row["evidence"]


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


def test_an_interrupt_that_has_not_moved_yet_is_told(host: Path) -> None:
    write_tree(host, {"proc/irq/24/effective_affinity": "4\n"})
    row = rows(host, 0)["irq.smp_affinity"]
    assert row["state"] == "unverifiable"
    assert "but still /proc/irq/24/effective_affinity is 4" in row["evidence"]


def test_a_kernel_thread_moved_back(tmp_path: Path) -> None:
    root = planned(tmp_path, "--disable", "nohz_full", "--disable", "cpuset.partition")
    write_tree(root, {**thread(40, "kswapd0", "1"), **thread(41, "cpuhp/1", "2", bound=True)})
    assert lowlat("runtime", "start", "--root", root).status == 0
    row = rows(root, 0)["kthread.affinity"]
    assert row["state"] == "effective" and "cpuhp/1" in row["evidence"]
    write_tree(root, thread(40, "kswapd0", "f"))
    row = rows(root, 1)["kthread.affinity"]
    assert row["state"] == "undone"
    assert row["evidence"] == "affinity of kernel thread kswapd0 (40) is f"


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


def test_nothing_is_read_that_would_interrupt_an_isolated_cpu(host: Path) -> None:
    recorder = Recorder(Root(str(host)))
    plan = store.read(None, recorder)
    verify(plan, recorder, None)
    read = {*recorder.contents.paths(), *evidence.files()}
    # In some kernels, a read of these files asks the CPU itself by an inter-processor interrupt.
    assert not [path for path in read if re.search("cpuinfo(?!_max)|cur_freq|/dev/cpu|msr", path)]
    assert "/proc/cmdline" in read


# ------------------------------------------------------------------------- TuneD


def tuned(root: Path, active: str, **profiles: str) -> None:
    ours = Path(__file__).parents[2] / "profiles/lowlat/tuned.conf"
    files = {f"etc/tuned/{name}/tuned.conf": text for name, text in profiles.items()}
    files["usr/lib/tuned/lowlat/tuned.conf"] = ours.read_text()
    write_tree(root, {**files, "etc/tuned/active_profile": f"{active}\n"})


SWAYED = "[sysctl]\nvm.compaction_proactiveness = 20\n"


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


# --------------------------------------------------------------------- in words


def test_findings_come_first_and_the_last_line_counts(started: Path) -> None:
    write_tree(started, {"proc/7/comm": "irqbalance\n", "proc/irq/24/smp_affinity": "f\n"})
    answer = lowlat("verify", "--root", started)
    said = answer.out.splitlines()
    assert answer.status == 1
    assert said[2] == "Findings"
    assert " ".join(said[3].split()) == (
        "irq.smp_affinity undone by irqbalance: /proc/irq/24/smp_affinity is f"
    )
    assert any("TuneD is not installed" in line for line in said)
    assert said[-1] == "20 settings: 19 effective, 1 undone"


@pytest.mark.parametrize("text", ["10", "2h", "s", "-1s", "10s "])
def test_a_duration_that_is_none_is_refused(host: Path, text: str) -> None:
    refusal = lowlat("verify", "--root", host, f"--duration={text}").refused()
    assert "--duration" in refusal


class _Counting(Root):
    """A tree that counts how often each file is read."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self.times: Counter[str] = Counter()

    def read_bytes(self, path: str) -> Optional[bytes]:
        self.times[path] += 1
        return super().read_bytes(path)


def test_no_two_judges_of_one_verify_read_a_fact_again(tmp_path: Path) -> None:
    host = planned(tmp_path, "--enable", "kthread.affinity")
    root = _Counting(write_tree(host, {**thread(77, "rcuop/1"), "var/log/dmesg": ""}))
    plan = store.read(None, root)
    root.times.clear()
    assert verify(plan, root)
    once = ("/proc/interrupts", "/run/lowlat/runtime.json", "/proc/77/stat")
    assert {path: root.times[path] for path in once} == dict.fromkeys(once, 1)
