# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs in a guest under a mixed load: ``apply --now`` isolates CPU 2-3, and is taken back.

    python3 now.py FOLDER [SECONDS]

FOLDER/now.json has what was counted before, during and after, and what differed after each
rollback. Values are read without lowlat.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from lowlat import cli

CPUS = (2, 3)

#: In seconds; Python starts slowly on an emulated CPU.
_LIMIT_S = 300.0

#: irqbalance looks at the interrupts every ten seconds.
BALANCED_S = 25.0

_PF_KTHREAD, _PF_NO_SETAFFINITY = 0x00200000, 0x04000000

_FILES = (
    "/proc/irq/[0-9]*/smp_affinity",
    "/proc/irq/default_smp_affinity",
    "/proc/sys/kernel/timer_migration",
    "/proc/sys/kernel/watchdog_cpumask",
    "/proc/sys/vm/compaction_proactiveness",
    "/proc/sys/vm/stat_interval",
    "/sys/devices/virtual/workqueue/cpumask",
    "/sys/bus/workqueue/devices/writeback/cpumask",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/kernel/debug/sched/fair_server/cpu*/*",
    "/sys/fs/cgroup/cgroup.subtree_control",
    "/sys/fs/cgroup/*/cpuset.cpus",
    "/sys/fs/cgroup/*/cpuset.cpus.partition",
    "/run/systemd/system/irqbalance.service.d/*",
)

#: Nobody placed the first ones, and the last asked for an isolated CPU.
_BUSY = "while :; do :; done"
_WRITES = "while :; do dd if=/dev/zero of=/var/tmp/load bs=64k count=64 conv=fsync; done"
_READS = "while :; do cat now.py /proc/interrupts; done"

#: In seconds after the first write of a verb: when it is killed.
_KILLS = (0.0, 1.0)

_JOURNAL = Path("/run/lowlat/runtime.json")


def run(*argv: str) -> tuple[int, str]:
    ended = subprocess.run(
        argv,
        check=False,
        capture_output=True,
        text=True,
        timeout=_LIMIT_S,
        stdin=subprocess.DEVNULL,
    )
    said = (ended.stdout + ended.stderr).strip()
    print(f"{' '.join(argv)}: {ended.returncode}", flush=True)
    return ended.returncode, said


def begin(*words: str) -> tuple[int, Path]:
    """Start a command line of lowlat-gen in a fork of this process, for Python starts slowly here;
    its number and the file of what it says."""
    out = Path(tempfile.mkstemp()[1])
    child = os.fork()
    if child == 0:
        with out.open("w") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
            status = cli.main(list(words))
            sys.stdout.flush()
            os._exit(status)
    return child, out


def lowlat(*words: str) -> tuple[int, str]:
    child, out = begin(*words)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    said = out.read_text().strip()
    print(f"lowlat-gen {' '.join(words)}: {status}", said if status else "", flush=True)
    return status, said


# -------------------------------------------------------------------- values


def read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None


def threads() -> Iterator[tuple[int, str, bool, bool, int]]:
    """Each process: its number, name, whether it is the kernel's, whether that binds it, its
    CPU."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        comm, _, rest = (read(path) or "").partition("(")[2].rpartition(")")
        if rest:
            fields = rest.split()
            flags = int(fields[6])
            kernel, bound = bool(flags & _PF_KTHREAD), bool(flags & _PF_NO_SETAFFINITY)
            yield int(path.parent.name), comm, kernel, bound, int(fields[36])


def affinity(pid: int) -> str | None:
    with suppress(OSError):
        return f"{sum(1 << cpu for cpu in os.sched_getaffinity(pid)):x}"
    return None


def banned() -> str | None:
    """irqbalance's ban list, as irqbalance-ui asks for it."""
    for path in Path("/run/irqbalance").glob("irqbalance*.sock"):
        with suppress(OSError), socket.socket(socket.AF_UNIX) as to:
            to.settimeout(BALANCED_S)
            to.connect(str(path))
            who = struct.pack("3i", os.getpid(), os.getuid(), os.getgid())
            to.sendmsg([b"setup"], [(socket.SOL_SOCKET, socket.SCM_CREDENTIALS, who)])
            match = re.search(r"BANNED ([0-9a-f,]+)", to.recv(1 << 16).decode())
            return match[1] if match else None
    return None


def snapshot(tasks: dict[str, int]) -> dict[str, str | None]:
    """All that may be changed: files, masks of kernel threads and of these tasks, the ban list."""
    found = (path for pattern in _FILES for path in Path("/").glob(pattern[1:]))
    values = {str(path): read(path) for path in found if path.parent.name != "lowlat.slice"}
    for pid, comm, kernel, bound, _ in threads():
        # The kernel moves an interrupt's thread with its interrupt; workers come and go.
        if kernel and not bound and not comm.startswith(("irq/", "kworker/")):
            values[f"{comm} ({pid})"] = affinity(pid)
    values.update({f"task {name}": affinity(pid) for name, pid in tasks.items()})
    return {**values, "irqbalance": banned()}


def changes(before: dict[str, str | None], after: dict[str, str | None]) -> dict[str, Any]:
    """Threads come and go: only those present both times count."""
    both = (path for path in before.keys() | after.keys())
    pairs = {path: [before.get(path), after.get(path)] for path in both}
    return {
        path: pair
        for path, pair in pairs.items()
        if pair[0] != pair[1] and not (path.endswith(")") and None in pair)
    }


# -------------------------------------------------------------------- counts


def interrupts() -> dict[int, dict[str, int]]:
    """By CPU: the count of each row."""
    header, *rows = (read(Path("/proc/interrupts")) or "").splitlines()
    columns = [int(word[3:]) for word in header.split()]
    found: dict[int, dict[str, int]] = {cpu: {} for cpu in columns}
    for row in rows:
        label, _, rest = row.partition(":")
        counts = rest.split()[: len(columns)]
        if len(counts) == len(columns) and all(word.isdecimal() for word in counts):
            for cpu, count in zip(columns, counts):
                found[cpu][label.strip()] = int(count)
    return found


def count(seconds: float) -> dict[str, Any]:
    """Interrupts a second on each busy CPU of CPUS, by row; the users' tasks that were seen there
    besides the spinners, in samples a second apart; the kernel's unbound workers there."""
    before, begun = interrupts(), time.monotonic()
    strays: dict[str, int] = {}
    while time.monotonic() < begun + seconds:
        time.sleep(1)
        for pid, comm, kernel, bound, cpu in threads():
            mine = comm == "spinner" or (kernel and (bound or comm.startswith("kworker")))
            if cpu in CPUS and not mine and not _confined(pid):
                strays[comm] = strays.get(comm, 0) + 1
    passed, after = time.monotonic() - begun, interrupts()
    rates = {
        cpu: {
            label: round((count - before[cpu].get(label, 0)) / passed, 2)
            for label, count in after[cpu].items()
            if count != before[cpu].get(label, 0)
        }
        for cpu in CPUS
    }
    total = {cpu: round(sum(rows.values()), 1) for cpu, rows in rates.items()}
    print(f"interrupts a second {total}, strays {strays}", flush=True)
    return {"interrupts_per_s": total, "rows": rates, "strays": strays}


def _confined(pid: int) -> bool:
    """Whether a task sleeps where it ran last, and may not run there again."""
    with suppress(OSError):
        return not os.sched_getaffinity(pid) & set(CPUS)
    return True


# --------------------------------------------------------------------- steps


def spin(now: bool) -> list[subprocess.Popen[bytes]]:
    """A busy task on each CPU of CPUS, in the partition if there is one."""
    join = "echo $$ >/sys/fs/cgroup/lowlat.slice/cgroup.procs;" if now else ""
    script = f"{join} taskset -p -c $0 $$ >/dev/null; printf spinner >/proc/$$/comm; {_BUSY}"
    started = [subprocess.Popen(["sh", "-c", script, str(cpu)]) for cpu in CPUS]
    until = time.monotonic() + _LIMIT_S
    while {read(Path(f"/proc/{one.pid}/comm")) for one in started} != {"spinner"}:
        if time.monotonic() > until:
            raise TimeoutError("the spinners did not start")
        time.sleep(0.2)
    return started


def quietly(script: str) -> subprocess.Popen[bytes]:
    nothing = subprocess.DEVNULL
    return subprocess.Popen(["sh", "-c", script], stdout=nothing, stderr=nothing)


def end(children: list[subprocess.Popen[bytes]]) -> None:
    for child in children:
        child.kill()
        child.wait()


def counted(seconds: float, now: bool) -> dict[str, Any]:
    spinners = spin(now)
    found = count(seconds)
    end(spinners)
    return found


def pooled(seconds: float) -> dict[str, Any]:
    """Where four busy threads were seen that a set of the type root balances."""
    group = "/sys/fs/cgroup/lowlat.slice/lowlat-pool.slice"
    script = f"echo $$ >{group}/cgroup.procs; for _ in 1 2 3 4; do ({_BUSY}) & done; wait"
    pool = subprocess.Popen(["sh", "-c", script], start_new_session=True)
    states = {name: read(Path(group, f"cpuset.cpus{name}")) for name in ("", ".partition")}
    seen: dict[int, int] = {}
    begun = time.monotonic()
    while time.monotonic() < begun + seconds:
        time.sleep(1)
        for pid in (read(Path(group, "cgroup.procs")) or "").split():
            fields = (read(Path(f"/proc/{pid}/stat")) or "").rpartition(")")[2].split()
            if fields and fields[0] == "R":
                cpu = int(fields[36])
                seen[cpu] = seen.get(cpu, 0) + 1
    os.killpg(pool.pid, signal.SIGKILL)
    pool.wait()
    return {**states, "seen": seen}


def killed(after: float, *words: str) -> int:
    """Kill a verb by force so many seconds after the journal changes; its status."""
    before = read(_JOURNAL)
    child, _ = begin(*words)
    ended, status, until = 0, 0, time.monotonic() + _LIMIT_S
    while not ended and read(_JOURNAL) == before and time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
    if not ended:
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def main(folder: Path, seconds: float) -> None:
    os.chdir(folder)
    found: dict[str, Any] = {"kernel": os.uname().release}
    found["installed"] = run("sh", "-c", "dpkg -i packages/*.deb")
    run("systemctl", "start", "irqbalance.service")
    load = [quietly(script) for script in (_BUSY, _WRITES, _READS)]
    asked = subprocess.Popen(["taskset", "-c", "2", "sleep", "infinity"])
    time.sleep(BALANCED_S)
    tasks = {"asked": asked.pid, "busy": load[0].pid}
    before = snapshot(tasks)
    apply = ("apply", "--now", "--isolate", "2-3")
    try:
        found["plan"] = lowlat("plan", "--now", "--isolate", "2-3", "--json")
        found["dry run"] = lowlat(*apply, "--dry-run")
        found["stock"] = counted(seconds, False)
        begun = time.monotonic()
        found["applied"] = lowlat(*apply)
        found["seconds"] = round(time.monotonic() - begun, 1)
        found["again"] = lowlat(*apply, "--json")
        found["status"] = lowlat("status", "--json")
        found["set"] = changes(before, snapshot(tasks))
        found["now"] = counted(seconds, True)
        found["verified"] = lowlat("verify", "--json", "--duration", "5s")
        run("systemctl", "restart", "irqbalance.service")
        time.sleep(BALANCED_S)
        found["banned after a restart"] = banned()
        found["restarted"] = counted(seconds, True)
        found["rolled back"] = lowlat("rollback")
        time.sleep(5)
        found["left"] = changes(before, snapshot(tasks))
        print("left:", found["left"], flush=True)
        found["after"] = counted(seconds, False)
        lowlat(*apply[:2], "--isolate", "pool=2-3", "--enable", "cpuset.sets=root")
        found["pool"] = pooled(seconds)
        lowlat("rollback")
        found["killed"] = []
        for after in _KILLS:
            status = killed(after, *apply)
            again = killed(after, "rollback")
            back = lowlat("rollback")
            left = changes(before, snapshot(tasks))
            found["killed"].append({"status": [status, again], "back": back, "left": left})
    finally:
        Path("now.json").write_text(json.dumps(found, indent=1))
        end([*load, asked])


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]) if sys.argv[2:] else 20.0)
