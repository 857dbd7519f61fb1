# SPDX-License-Identifier: GPL-2.0-or-later
"""Interrupts of the isolated CPUs: /proc/interrupts, read twice (proc_interrupts(5)).

An idle CPU stops its tick in any case, so an ordinary task spins on each idle CPU meanwhile; a CPU
that runs a user's work is only observed.
"""

import os
import re
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Optional

from lowlat.base import process, resources
from lowlat.host import interrupts
from lowlat.host.cpu_idle import idle_ticks
from lowlat.host.root import CPU, Root
from lowlat.model.cpuset import CpuSet, CpuSetError
from lowlat.verify import clock_events, tasks, traced
from lowlat.verify.tasks import TaskSeen
from lowlat.verify.traced import Traced

_INTERRUPTS = "/proc/interrupts"

#: The words that begin the further parts of a reading.
_SOFTIRQS, _TASKS = "softirqs", "tasks"

#: Lists of CPUs that the kernel isolates.
ISOLATED = (*(f"{CPU}/isolated", f"{CPU}/nohz_full"), "/sys/fs/cgroup/cpuset.cpus.isolated")

#: Rows that count for the whole machine, not for a CPU.
_NO_CPU = ("ERR", "MIS")

#: The rows of most interest, if the architecture has them.
_SHOWN = re.compile(r"LOC|HVS|RES|CAL|TLB|IWI|IPI\d+|arch_timer|riscv-timer")

#: x86's and POWER's names of the rows that other architectures number (IPI0, IPI1), by their first
#: word.
_CALLS: Mapping[tuple[str, ...], str] = {
    ("Rescheduling",): "RES",
    ("Function",): "CAL",
    ("Timer",): "BCT",
}

#: Seconds to observe whether a CPU is idle, for the spinners to settle, and for them to start
#: (Python alone takes seconds on an emulated CPU); and until they end by their own limit.
_LOOK, _SETTLE, _START, _SPARE = 0.5, 1.0, 30.0, 60

#: Counts by label and CPU.
Rows = Mapping[str, Mapping[int, int]]


@dataclass(frozen=True)
class Reading:
    """The kernel's counts at one time, and the tasks that might run on the CPUs."""

    interrupts: Rows
    softirqs: Rows
    tasks: tuple[TaskSeen, ...]


@dataclass(frozen=True)
class Counted:
    """Two readings, and the load between them: lowlat's spinner on ``spinning``, a user's work on
    ``watching``, none on the other CPUs. ``traced`` is the kernel's trace of that time."""

    seconds: float
    spinning: CpuSet
    watching: CpuSet
    before: Reading
    after: Reading
    traced: Traced

    def rates(self, cpu: int) -> dict[str, float]:
        """Interrupts per second on one CPU, by label; empty if it was not online."""
        return self._rates(self.before.interrupts, self.after.interrupts, cpu)

    def softirqs(self, cpu: int) -> dict[str, float]:
        """Softirqs per second on one CPU, by name; empty if they were not counted."""
        return self._rates(self.before.softirqs, self.after.softirqs, cpu)

    def _rates(self, before: Rows, after: Rows, cpu: int) -> dict[str, float]:
        rates = {}
        for label, counts in after.items():
            begin = before.get(label, {}).get(cpu)
            if begin is not None and cpu in counts:
                # The kernel's counters are 32 bits wide.
                rates[label] = (counts[cpu] - begin) % (1 << 32) / self.seconds
        return rates


def words(rates: Mapping[str, float]) -> str:
    """A text of the rates that show noise."""
    shown = [f"{label} {rate:.1f}" for label, rate in rates.items() if _SHOWN.fullmatch(label)]
    return f"{', '.join(shown)}; in all {sum(rates.values()):.1f} per second"


def parse_interrupts(text: str) -> dict[str, dict[int, int]]:
    """Counts by label and CPU. A numbered row is labelled with its number and device
    ("30:nvme0q1"), but one that counts a clock event device with its device ("arch_timer")."""
    rows: dict[str, dict[int, int]] = {}
    for interrupt in interrupts.parse(text):
        if interrupt.label not in _NO_CPU:
            row = rows.setdefault(_label(interrupt), dict.fromkeys(interrupt.cpus, 0))
            for cpu, count in interrupt.counts():
                row[cpu] += count
    return rows


def _label(row: interrupts.InterruptRow) -> str:
    if row.words[:1] in _CALLS:
        return _CALLS[row.words[:1]]
    device = row.words[-1] if row.words and row.label.isdecimal() else ""
    if clock_events.is_row(device):
        return device
    return f"{row.label}:{device}" if device else row.label


def parse(text: str) -> Optional[Counted]:
    """The text of measure() or of the evidence script; None if it has no counts."""
    head, _, rest = text.partition("\nbefore\n")
    before, _, after = rest.partition("\nafter\n")
    told = dict(line.partition(" ")[::2] for line in head.split("\n"))
    try:
        seconds = float(told["seconds"])
        spinning = CpuSet.parse_list(told["spinning"])
        watching = CpuSet.parse_list(told["watching"])
    except (KeyError, ValueError, CpuSetError):
        return None
    if not 0 < seconds < 1e6:
        return None
    readings = _reading(before), _reading(after)
    return Counted(seconds, spinning, watching, *readings, traced.parse(head))


def _reading(text: str) -> Reading:
    """/proc/interrupts, then, if they were read, /proc/softirqs and the tasks."""
    counts, _, others = text.partition(f"\n{_SOFTIRQS}\n")
    softirqs, _, listed = others.partition(f"\n{_TASKS}\n")
    return Reading(parse_interrupts(counts), parse_interrupts(softirqs), tasks.parse(listed))


def isolated(root: Root) -> CpuSet:
    """The CPUs that the kernel isolates, by any method."""
    cpus = CpuSet()
    for path in ISOLATED:
        cpus |= root.read_cpus(path) or CpuSet()
    return cpus


def read(root: Root, cpus: CpuSet, seconds: float) -> Optional[Counted]:
    """Count on these CPUs for so many seconds; a captured machine gives its recorded counts."""
    if not cpus or seconds <= 0:
        return None
    return parse(root.answer("counters", lambda tree: _measure(tree, cpus, seconds)))


def _measure(root: Root, cpus: CpuSet, seconds: float) -> str:
    if not root.live:
        return ""
    with process.aside(cpus):
        idle = _idle(root, cpus)
        with _spinners(idle, seconds) as spinning:
            time.sleep(_SETTLE)
            with traced.recording(cpus) as told:
                begin, before = time.monotonic(), _read_now(root, cpus)
                time.sleep(seconds)
                took, after = time.monotonic() - begin, _read_now(root, cpus)
    head = f"seconds {took:.3f}\nspinning {spinning}\nwatching {cpus - idle}\n{told.text()}"
    return f"{head}\nbefore\n{before}\nafter\n{after}\n"


def now(root: Root, cpus: CpuSet) -> Reading:
    """The counts of this moment, and the tasks that may run on these CPUs."""
    return _reading(_read_now(root, cpus))


def _read_now(root: Root, cpus: CpuSet) -> str:
    counts, softirqs = root.read(_INTERRUPTS), root.read("/proc/softirqs")
    return f"{counts}\n{_SOFTIRQS}\n{softirqs}\n{_TASKS}\n{tasks.listing(root, cpus)}"


def _idle(root: Root, cpus: CpuSet) -> CpuSet:
    """The CPUs among these that are idle for at least 90 % of a short time."""
    before = idle_ticks(root)
    time.sleep(_LOOK)
    least = 0.9 * _LOOK * os.sysconf("SC_CLK_TCK")
    after = idle_ticks(root)
    return CpuSet.of(cpu for cpu in cpus if after.get(cpu, 0) - before.get(cpu, 0) >= least)


@contextmanager
def _spinners(cpus: CpuSet, seconds: float) -> Iterator[CpuSet]:
    """Runs a spinning task on each of the CPUs; yields the CPUs where one runs."""
    if not cpus:
        yield cpus
        return
    limit = str(int(seconds + _SETTLE + _START) + _SPARE)
    program = resources.template("spinners.txt")
    argv = [sys.executable, "-I", "-S", "-c", program, limit, *map(str, cpus)]
    child = process.start(argv, stderr=process.NOWHERE)
    try:
        yield _started(child, len(cpus))
    finally:
        process.end_group(child)


def _started(child: process.Child, count: int) -> CpuSet:
    """The CPUs that the spinners report, once all of them have reported."""
    deadline = time.monotonic() + _START
    said = b""
    while said.count(b"\n") < count:
        data = process.read(child, max(deadline - time.monotonic(), 0))
        if not data:
            break
        said += data
    return CpuSet.of(int(word) for word in said.split() if word.isdigit())
