# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel threads as run-time targets: read from support import needs
from trees, and moved or refused by the live kernel."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Optional

import pytest

from lowlat.host import tasks
from lowlat.host.root import Root
from lowlat.runtime import targets
from lowlat.runtime.kthreads import Threads
from support import needs
from support.cli import lowlat
from support.machines import machine, write_tree

ROOT_ONLY = needs.root("changes a kernel thread")

KERNEL = 0x00200000
BOUND = KERNEL | 0x04000000


def stat(pid: int, comm: str, flags: int = KERNEL, rt: int = 0, policy: int = 0) -> str:
    """A line of /proc/PID/stat, its 52 fields (proc_pid_stat(5))."""
    fields = ["0"] * 52
    fields[0], fields[1], fields[2], fields[3] = str(pid), f"({comm})", "S", "2"
    fields[8], fields[21], fields[39], fields[40] = str(flags), str(pid * 10), str(rt), str(policy)
    return " ".join(fields) + "\n"


def thread(
    pid: int, comm: str, mask: str = "f", flags: int = KERNEL, rt: int = 0, policy: int = 0
) -> dict[str, str]:
    return {
        f"proc/{pid}/stat": stat(pid, comm, flags, rt, policy),
        f"proc/{pid}/status": f"Name:\t{comm}\nCpus_allowed:\t{mask}\nCpus_allowed_list:\t0\n",
    }


THREADS = {
    **thread(2, "kthreadd"),
    **thread(16, "rcu_preempt", mask="1", rt=1, policy=1),
    **thread(17, "ksoftirqd/1", mask="2", flags=BOUND),
    **thread(30, "kworker/u8:0-events_unbound", flags=BOUND),
    **thread(31, "irq/24-nvme (0)", rt=50, policy=1),
    **thread(900, "bash", flags=0x00400000),
    "proc/\u00b2/stat": "a digit, and no number\n",
}


@pytest.fixture
def host(tmp_path: Path) -> Path:
    return write_tree(tmp_path, {**machine(), **THREADS})


def held(host: Path, target: str) -> dict[str, Optional[str]]:
    root = Root(str(host))
    return {path: value for path, value, _ in targets.look(target, root, Threads(root))}


def test_a_glob_names_kernel_threads_and_no_others(host: Path) -> None:
    assert held(host, "kthread:*:affinity") == {
        "kthread:kthreadd:2:20:affinity": "f",
        "kthread:rcu_preempt:16:160:affinity": "1",
        "kthread:ksoftirqd/1:17:170:affinity": "2",
        "kthread:kworker/u8:0-events_unbound:30:300:affinity": "f",
    }
    assert held(host, "kthread:ksoftirqd/2:policy") == {}


def test_an_interrupts_thread_is_left_where_the_kernel_puts_it(host: Path) -> None:
    """The thread follows its interrupt; if it is moved by hand, the next interrupt moves it
    back."""
    assert held(host, "kthread:irq/*:affinity") == {}
    assert held(host, "kthread:irq/*:policy") == {
        "kthread:irq/24-nvme (0):31:310:policy": "fifo:50"
    }


def test_policies_are_told_in_words(host: Path) -> None:
    assert held(host, "kthread:rcu*:policy") == {"kthread:rcu_preempt:16:160:policy": "fifo:1"}
    assert held(host, "kthread:ksoftirqd/1:policy") == {
        "kthread:ksoftirqd/1:17:170:policy": "other"
    }


@pytest.mark.parametrize(
    "path",
    [
        "kthread:irq/24-nvme (0):31:310:affinity",
        # A worker's name changes with its work.
        "kthread:kworker/u8:0:30:300:affinity",
    ],
)
def test_a_path_names_one_thread(host: Path, path: str) -> None:
    assert targets.is_path(path)
    assert targets.read(Root(str(host)), path) == "f"
    assert not targets.gone(Root(str(host)), path)


@pytest.mark.parametrize(
    "path",
    [
        "kthread:rcu_preempt:16:161:affinity",  # another thread got its number
        "kthread:rcu_preempt:18:160:affinity",
        "kthread:bash:900:9000:affinity",  # no kernel thread
    ],
)
def test_another_process_of_that_number_is_not_the_thread(host: Path, path: str) -> None:
    assert targets.read(Root(str(host)), path) is None
    assert targets.gone(Root(str(host)), path)
    assert targets.write(Root(), path, "1") == "is not there"


@pytest.mark.parametrize(
    "path", ["kthread:x:0:1:affinity", "kthread:x:1:2:nice", "kthread:x:y:2:policy", "kthread:1:2"]
)
def test_what_is_no_path_is_none(path: str) -> None:
    assert not targets.is_path(path)


@pytest.mark.parametrize("text", ["", "1 (x", "1 (x) S 2", "1 (x) S a b c " + "z " * 50])
def test_a_damaged_stat_is_no_thread(text: str) -> None:
    assert tasks.parse(text) is None


def test_threads_of_a_captured_machine_are_not_changed(host: Path) -> None:
    path = "kthread:rcu_preempt:16:160:affinity"
    assert "cannot be changed" in targets.write(Root(str(host)), path, "1")


def test_a_thread_that_nobody_may_move_is_no_failure(host: Path) -> None:
    """On 6.1 without nohz_full the plan moves kernel threads itself."""
    words = ("--enable", "kthread.affinity", "--disable", "nohz_full")
    plan = lowlat("plan", "--root", host, *words, "--json")
    assert plan.status == 0, plan.err
    targets_of = {item["target"]: item["value"] for item in plan.json()["runtime"]}
    assert targets_of["kthread:*:affinity"] == "1"
    write_tree(host, {"var/lib/lowlat/plan.json": plan.out})
    said = lowlat("runtime", "verify", "--root", host).out
    # On a tree no thread can be moved: verify names the threads that a host could move, and not the
    # bound ones.
    assert "affinity of kernel thread kthreadd (2) is 0-3, planned 0" in said
    assert "rcu_preempt" not in said and "ksoftirqd" not in said and "kworker" not in said


def test_a_thread_that_is_gone_needs_nothing_put_back(host: Path) -> None:
    old = {"kthread:gone/0:77:770:affinity": "3", "kthread:gone/0:77:770:policy": "fifo:1"}
    journal = json.dumps({"old": old, "refused": {}, "done": {}})
    write_tree(host, {"run/lowlat/runtime.json": journal})
    assert lowlat("runtime", "stop", "--root", host).status == 0
    assert not (host / "run/lowlat/runtime.json").exists()


# ---------------------------------------------------------- the live kernel


def live(pattern: str, what: str, bound: bool) -> str:
    """The path of a kernel thread of this host."""
    known = Threads(Root()).matching(f"kthread:{pattern}:{what}")
    found = next((path for item, path in known if item.bound is bound), None)
    if found is None:
        needs.absent(f"no kernel thread {pattern} to be seen here (a container?)")
    return found


def test_the_live_kernel_shows_its_threads() -> None:
    path = live("kthreadd", "affinity", False)
    pid = int(path.split(":")[2])
    mask = targets.read(Root(), path)
    cpus = {cpu for cpu in range(4096) if int((mask or "0").replace(",", ""), 16) >> cpu & 1}
    assert os.sched_getaffinity(pid) <= cpus
    assert targets.read(Root(), path.replace("affinity", "policy")) == "other"


@ROOT_ONLY
def test_the_live_kernel_takes_what_it_holds_already() -> None:
    """The unchanged value is written: the calls are made, and nothing changes."""
    for what in ("affinity", "policy"):
        path = live("kthreadd", what, False)
        before = targets.read(Root(), path)
        assert before is not None
        assert targets.write(Root(), path, before) == ""
        assert targets.read(Root(), path) == before


@ROOT_ONLY
def test_the_live_kernel_moves_no_thread_of_a_cpu() -> None:
    path = live("cpuhp/*", "affinity", True)
    before = targets.read(Root(), path) or ""
    assert targets.write(Root(), path, before) == os.strerror(22)
    assert targets.write(Root(), path, "x") == "'x' is no affinity"
    assert targets.read(Root(), path) == before
