# SPDX-License-Identifier: GPL-2.0-or-later
"""Records the kernel's events of one CPU by the counter's clock, in its own tracefs instance.

    unshare --mount python kernel_trace.py CPU OUT

Prints ``ready`` once it records, ends with its standard input, and writes a table ``time,event`` in
ticks; the table's first line is the number of lost events. Exit 77 with a reason: impossible here.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TRACEFS = Path("/sys/kernel/tracing")
PREFIX = "instrument-"
CLOCK = "x86-tsc"
EVENTS = ("irq_vectors", "irq", "nmi", "exceptions", "ipi", "timer", "workqueue",
          "sched/sched_switch", "sched/sched_wakeup")  # fmt: skip
BUFFER_KB = "32768"
NOT_HERE = 77

_ROW = re.compile(r"\[(\d+)\] \S+ +(\d+): (\w+):")


def mount() -> None:
    if not (TRACEFS / "instances").is_dir():
        done = subprocess.run(
            ["mount", "-t", "tracefs", "tracefs", TRACEFS],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            leave(f"tracefs can't be mounted: {done.stderr.strip()}")
    if CLOCK not in (TRACEFS / "trace_clock").read_text():
        leave(f"the kernel's trace has no clock {CLOCK}")


def leave(reason: str) -> None:
    print(reason)
    sys.exit(NOT_HERE)


def remove_orphans() -> None:
    for folder in (TRACEFS / "instances").glob(f"{PREFIX}*"):
        if not Path("/proc", folder.name[len(PREFIX) :]).exists():
            folder.rmdir()


@contextmanager
def instance() -> Iterator[Path]:
    folder = TRACEFS / "instances" / f"{PREFIX}{os.getpid()}"
    folder.mkdir()
    try:
        yield folder
    finally:
        (folder / "tracing_on").write_text("0")
        folder.rmdir()


def mask(cpu: int) -> str:
    """The kernel's format: words of 32 bits, the highest word first."""
    return f"{1 << cpu % 32:x}" + ",00000000" * (cpu // 32)


def record(folder: Path, cpu: int) -> None:
    """Record the events that this kernel has."""
    (folder / "tracing_on").write_text("0")
    (folder / "trace_clock").write_text(CLOCK)
    (folder / "tracing_cpumask").write_text(mask(cpu))
    (folder / f"per_cpu/cpu{cpu}/buffer_size_kb").write_text(BUFFER_KB)
    for event in EVENTS:
        enable = folder / "events" / event / "enable"
        if enable.exists():
            enable.write_text("1")
    (folder / "tracing_on").write_text("1")


def lost(folder: Path, cpu: int) -> int:
    stats = (folder / f"per_cpu/cpu{cpu}/stats").read_text()
    counts = re.findall(r"^(?:overrun|commit overrun|dropped events): (\d+)", stats, re.M)
    return sum(map(int, counts))


def save(folder: Path, cpu: int, out: Path) -> None:
    with (folder / f"per_cpu/cpu{cpu}/trace").open() as trace, out.open("w") as file:
        file.write(f"{lost(folder, cpu)}\n")
        for line in trace:
            found = _ROW.search(line)
            if found:
                file.write(f"{found[2]},{found[3]}\n")


def main() -> None:
    cpu, out = int(sys.argv[1]), Path(sys.argv[2])
    mount()
    remove_orphans()
    with instance() as folder:
        record(folder, cpu)
        print("ready", flush=True)
        sys.stdin.read()
        (folder / "tracing_on").write_text("0")
        save(folder, cpu, out)


if __name__ == "__main__":
    main()
