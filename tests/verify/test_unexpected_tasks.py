# SPDX-License-Identifier: GPL-2.0-or-later
"""Tasks on isolated CPUs: who they are, who put them there, and what moves them."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from pathlib import Path

import pytest
from booted import (
    DISK,
    INTERRUPTS,
    QUIET,
    count,
    lowlat,
    planned,
    rows,
    start,
    thread,
    unexpected_interrupts,
    unexpected_tasks,
)

from lowlat.host.tasks import parse
from lowlat.model.cpuset import CpuSet
from lowlat.verify.tasks import TaskSeen
from support.machines import write_tree


@pytest.fixture
def host(tmp_path: Path) -> Path:
    return planned(tmp_path)


@pytest.fixture
def started(host: Path) -> Path:
    return start(host)


def test_a_task_on_an_isolated_cpu_is_named_with_what_mends_it(started: Path) -> None:
    write_tree(started, thread(70, "busy", "f", kernel=False, cpu=2))
    (row,) = unexpected_tasks(started, 1)
    assert (row["name"], row["state"], row["where"]) == ("isolcpus", "not-applied", "/proc/70")
    assert row["effective"] == "busy (70) on CPU 2"
    assert (
        "isolcpus is in effect and does not bind a task whose own mask has these CPUs"
        in row["evidence"]
    )
    assert "mend: taskset -p -c 0 70; this lasts until the task ends" in row["evidence"]


@pytest.mark.parametrize("group", ["docker-0123456789abcdef.scope", "db.service", "app.slice"])
def test_the_manager_of_an_unexpected_task_is_named(started: Path, group: str) -> None:
    """It is no target of the remedy: its other tasks stay where they are."""
    write_tree(started, thread(70, "busy", "6", kernel=False, cpu=2))
    assert unexpected_tasks(started, 0) == [], (
        "pinned to isolated CPUs alone: that is what they are for"
    )
    write_tree(started, thread(70, "busy", "7", kernel=False, cpu=2))
    write_tree(started, {"proc/70/cgroup": f"0::/system.slice/{group}\n"})
    (row,) = unexpected_tasks(started, 1)
    lasting = f"this lasts until the task ends: set the CPUs in what started it ({group})"
    assert row["by"] == group and f"mend: taskset -p -c 0 70; {lasting}" in row["evidence"]


def test_a_thread_beside_placed_ones_is_moved_by_its_own_number(host: Path) -> None:
    """DPDK places its workers; its control thread has the mask with which the program began."""
    listed = (
        "900 900 user other 1 1 {0} 0 upf.service dpdk",
        "901 900 user other 1 0-3 {0} 0 upf.service rte_mp_handle",
        "902 900 user fifo:1 2 2 {0} 0 upf.service lcore-2",
    )
    ran = [_tasks(*(line.format(runs) for line in listed)) for runs in (0, 90)]
    count(host, QUIET, tasks=(ran[0], ran[1]))
    (row,) = unexpected_tasks(host, 1)
    assert row["effective"].startswith("rte_mp_handle (thread 901 of 900) on CPU 1, 9.0 runs")
    assert "mend: taskset -p -c 0 901; " in row["evidence"]
    assert "process 900 has threads that were placed on these CPUs" in row["evidence"]


#: Masks of CPU 0 (housekeeping) and 1-3 (isolated).
MASKS = ("0", "1", "2-3", "1-3", "0-1", "0-3")


def some_tasks(rng: random.Random) -> list[TaskSeen]:
    """Processes of services, containers and slices, each with threads that were placed or not."""
    tasks = []
    groups = ("-", "db.service", "app.slice", "docker-0123456789abcdef.scope", "cri-1.scope")
    for pid in range(100, 100 + 30 * rng.randint(1, 6), 30):
        group = rng.choice(groups)
        for tid in range(pid, pid + rng.choice([1, 1, 2, 3, 25])):
            allowed = CpuSet.parse_list(rng.choice(MASKS))
            at = rng.choice([*allowed])
            tasks.append(TaskSeen(tid, pid, "user", "other", at, allowed, 0, 0, group, "work"))
    tasks.append(TaskSeen(50, 50, "kernel", "other", 1, CpuSet.parse_list("0-3"), 0, 0, "-", "kx"))
    return tasks


def commands(evidence: str) -> list[list[str]]:
    """The commands of a printed remedy, each as a shell would start it."""
    text = evidence.partition("mend: ")[2]
    loop = re.match(r"for t in ([\d ]+); do (.*?); done", text)
    if loop:
        return [loop[2].replace("$t", tid).split() for tid in loop[1].split()]
    return [text.partition(";")[0].split()] if text else []


def moved(argv: list[str], tasks: list[TaskSeen]) -> list[TaskSeen]:
    """The tasks after a command (taskset(1); sched_setaffinity(2); cpuset.cpus)."""
    if argv[0] == "taskset":
        *options, cpus, number = argv[1:]
        every, kept = "a" in "".join(options), CpuSet.parse_list(cpus)
        which = [t for t in tasks if int(number) in ((t.tid, t.pid) if every else (t.tid,))]
        new = {t.tid: kept for t in which}
    elif argv[0] == "docker":
        kept = CpuSet.parse_list(argv[3])
        new = {t.tid: t.allowed & kept or kept for t in tasks if f"docker-{argv[4]}" in t.group}
    else:
        assert argv[:2] == ["systemctl", "set-property"]
        kept = CpuSet.parse_list(argv[3].partition("=")[2])
        new = {t.tid: t.allowed & kept or kept for t in tasks if t.group == argv[2]}
    return [replace(t, allowed=new.get(t.tid, t.allowed)) for t in tasks]


def test_a_remedy_moves_the_threads_of_its_finding_alone(host: Path) -> None:
    """25 sets of tasks; each printed remedy is applied to them. Threads with isolated CPUs alone
    keep their masks, threads of other processes and those on the housekeeping CPUs too."""
    rng = random.Random(1)
    isolated, remedies = CpuSet.parse_list("1-3"), 0
    for _ in range(25):
        tasks = some_tasks(rng)
        seen = [one for one in tasks if one.allowed & isolated]
        ran = [tuple(f"{replace(one, runs=n).line()}\n" for one in seen) for n in (0, 90)]
        count(host, QUIET, tasks=(ran[0], ran[1]))
        for row in lowlat("verify", "--root", host, "--json").json()["settings"]:
            if row["planned"] != "no other task runs on the CPU" or row["where"] == "/proc":
                continue
            after = tasks
            for argv in commands(row["evidence"]):
                after = moved(argv, after)
            pid = int(row["where"].rpartition("/")[2])
            strays = [t for t in seen if t.pid == pid and (t.kernel or not t.allowed <= isolated)]
            changed = {new.tid for old, new in zip(tasks, after) if old.allowed != new.allowed}
            named = {one.tid for one in strays}
            assert changed <= named and (changed == named or len(changed) == 16), row
            remedies += bool(changed)
    assert remedies > 40


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
    count(host, QUIET, tasks=(ran[0], ran[1]), _30=(DISK, [9, 0, 50, 0]), _44=queue)
    for line in listed:
        pid, _, kind, *_, comm = line.split()
        flags = {"kernel": True, "bound": kind == "bound"} if kind != "user" else {"kernel": False}
        write_tree(host, thread(int(pid), comm, "f", **flags))
    rows = f"  30: 0 0 0 0 {DISK}\n  44: 0 0 0 0 {queue[0]}\n"
    write_tree(host, {"proc/interrupts": INTERRUPTS + rows})
    write_tree(host, {"proc/irq/44/smp_affinity": "f\n", "proc/irq/30/smp_affinity": "f\n"})
    (host / "proc/irq/44/smp_affinity").chmod(0o444)
    told = [row["evidence"] for row in unexpected_tasks(host, 1) + unexpected_interrupts(host, 1)]
    mends = [text.partition("mend: ")[2].partition(";")[0] for text in told]
    for argv in (mend.split() for mend in mends if mend):
        if argv[0] == "echo":
            file = host / argv[2].removeprefix(">/")
            assert file.stat().st_mode & 0o200 and int(argv[1], 16) == 1
        else:
            assert argv[0] == "taskset"
            task = parse((host / f"proc/{argv[-1]}/stat").read_text())
            assert task is not None and not task.bound and argv[1:-1] == ["-p", "-c", "0"]
    assert sorted(mend.split()[0] for mend in mends if mend) == [
        *("echo", "echo", "taskset", "taskset", "taskset", "taskset")
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
    count(host, QUIET, tasks=(before, after))
    daemon, thread = unexpected_tasks(host, 1)
    assert daemon["effective"] == (
        "ptp4l (thread 71 of 70, fifo:50) on CPU 3, 2.0 runs a second, 20.0 %"
    )
    assert daemon["by"] == "ptp.service"
    assert thread["effective"] == "ksoftirqd/2 (40) on CPU 2, 40.0 runs a second, 9.0 %"
    assert thread["state"] == "no-setting"
    assert "the kernel binds it to CPU 2" in thread["evidence"]


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


def test_known_sources_of_noise_are_told_and_are_no_findings(started: Path) -> None:
    write_tree(started, {"proc/70/comm": "turbostat\n"})
    row = rows(started, 0)["noise"]
    assert (row["where"], row["effective"]) == ("turbostat", "turbostat runs")
    assert row["state"] == "no-setting"
    assert "turbostat reads registers of every CPU" in row["evidence"]
    assert lowlat("verify", "--root", started, "--strict").status == 0
    (started / "run/.containerenv").write_text("")
    assert "noise" not in rows(started, 0)
