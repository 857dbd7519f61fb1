# SPDX-License-Identifier: GPL-2.0-or-later
"""A machine that booted with its plan, as a tree of files, and what verify says of it."""

from __future__ import annotations

import io
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import MappingProxyType
from typing import Any

from lowlat import cli
from support.cli import Answer
from support.machines import CONFIG, CPU, fair_server, machine, write_tree

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


QUIET: list[float] = [250, 0.1, 0.1, 0.1]

DISK = "IR-PCI-MSIX-0000:01:00.0    1-edge      eth0-rx-1"


def unexpected_interrupts(root: Path, status: int) -> list[dict[str, Any]]:
    answer = lowlat("verify", "--root", root, "--json")
    assert answer.status == status, answer.out
    found = answer.json()["settings"]
    return [row for row in found if row["planned"] == "nothing interrupts the CPU"]


def unexpected_tasks(root: Path, status: int, *options: str) -> list[dict[str, Any]]:
    answer = lowlat("verify", "--root", root, "--json", *options)
    assert answer.status == status, answer.out
    found = answer.json()["settings"]
    return [row for row in found if row["planned"] == "no other task runs on the CPU"]


def about(root: Path, status: int, name: str, *options: str) -> list[dict[str, Any]]:
    answer = lowlat("verify", "--root", root, "--json", *options)
    assert answer.status == status, answer.out
    return [row for row in answer.json()["settings"] if row["name"] == name]


def tuned(root: Path, active: str, **profiles: str) -> None:
    ours = Path(__file__).parents[2] / "profiles/lowlat/tuned.conf"
    files = {f"etc/tuned/{name}/tuned.conf": text for name, text in profiles.items()}
    files["usr/lib/tuned/lowlat/tuned.conf"] = ours.read_text()
    write_tree(root, {**files, "etc/tuned/active_profile": f"{active}\n"})


SWAYED = "[sysctl]\nvm.compaction_proactiveness = 20\n"


def start(host: Path) -> Path:
    """The same host in a boot in which the run-time half was started."""
    write_tree(host, {"proc/sys/kernel/random/boot_id": "11111111-aaaa\n"})
    assert lowlat("runtime", "start", "--root", host).status == 0
    rows(host, 0)
    return host
