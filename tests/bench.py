# SPDX-License-Identifier: GPL-2.0-or-later
"""``make bench``: the time and memory of lowlat-gen, here and on thousands of CPUs; the cost of
``watch`` in the background; and the harness's loop compared with a bare read of the clock.

`make bench` only prints figures: a time limit in a test would fail on a busy machine and pass a
slow program. The figures are medians of 20 starts, each in a new process.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Optional

from lowlat.base.errors import Refused
from lowlat.host.root import Root
from lowlat.measure.child import find_harness
from lowlat.model.plan import Plan
from lowlat.plan.planner import Options, make_plan
from lowlat.plan.profile import load_packaged
from lowlat.plan.store import IN_USE
from lowlat.probe import probe
from lowlat.runtime.journal import JOURNAL
from lowlat.runtime.settings import inspect
from lowlat.verify.watch import Watch
from support import runs, synthetic

#: The default interval of ``watch``, in seconds.
INTERVAL_S = 60.0

#: lowlat-gen with one more line at its end: its peak memory in KiB. wait4 would also count the
#: memory of the parent, which the process had until its exec.
GEN = [
    *(sys.executable, "-c"),
    """
import sys
from lowlat.__main__ import main
try:
    sys.exit(main())
finally:
    with open("/proc/self/status") as status:
        print("", *(line.split()[1] for line in status if line.startswith("VmHWM")), sep="\\n")
""",
]


#: Synthetic trees have up to 130,000 files, which are fastest in memory.
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


@dataclass(frozen=True)
class Start:
    """The cost of one run of a command: wall-clock and CPU time in seconds, and resident memory in
    KiB, 0 if unknown."""

    seconds: float
    cpu: float
    out: str
    kib: int = 0


@dataclass(frozen=True)
class Cost:
    starts: tuple[Start, ...]

    @property
    def cpu(self) -> float:
        return statistics.median(start.cpu for start in self.starts)

    def __str__(self) -> str:
        seconds = [start.seconds for start in self.starts]
        peak = max(start.kib for start in self.starts) / 1024
        told = f"{statistics.median(seconds):6.3f} s, best {min(seconds):6.3f} s"
        return f"{told}, CPU time {self.cpu:6.3f} s, {peak:5.1f} MiB"


def cost(words: Sequence[str], runs: int) -> Cost:
    return Cost(tuple(start_gen(words) for _ in range(runs)))


def start_gen(words: Sequence[str]) -> Start:
    """Run lowlat-gen to its end."""
    found = start([*GEN, *words])
    out, _, kib = found.out.rstrip("\n").rpartition("\n")
    return replace(found, out=out, kib=int(kib))


def start(argv: list[str]) -> Start:
    """Run a command to its end."""
    begin = time.perf_counter()
    read, write = os.pipe()
    wired = [(os.POSIX_SPAWN_DUP2, write, 1)]
    child = os.posix_spawn(argv[0], argv, os.environ, file_actions=wired)
    os.close(write)
    with os.fdopen(read) as stream:
        out = stream.read()
    # wait4 reports on this child alone, getrusage(RUSAGE_CHILDREN) on all.
    _, status, usage = os.wait4(child, 0)
    seconds = time.perf_counter() - begin
    if os.waitstatus_to_exitcode(status) not in (0, 2):
        raise SystemExit(f"{' '.join(argv)}: status {os.waitstatus_to_exitcode(status)}")
    return Start(seconds, usage.ru_utime + usage.ru_stime, out)


def bench_here(runs: int) -> None:
    print(f"This machine ({os.cpu_count()} CPUs), medians of {runs}:")
    for words in (
        ["--version"],
        ["probe", "--json"],
        ["plan", "--json"],
        ["cpus", "isolated", "--planned"],
    ):
        print(f"  {' '.join(words):14} {cost(words, runs)}", flush=True)


def plan_cost(size: int, runs: int) -> Cost:
    """The cost of a plan for a machine with this number of CPUs."""
    with tempfile.TemporaryDirectory(prefix="lowlat-bench-", dir=MEMORY) as folder:
        synthetic.write(synthetic.grown(size).model(), Path(folder))
        return cost(["plan", "--root", folder, "--json"], runs)


def bench_synthetic(runs: int, sizes: Sequence[int]) -> None:
    print(f"Synthetic machines, plan --json, 256 CPUs a node, medians of {runs}:")
    before: tuple[int, float] = (0, 0.0)
    for size in sizes:
        spent = plan_cost(size, runs)
        line = len(json.loads(spent.starts[0].out)["cmdline"]["text"])
        print(f"  {size:4} CPUs      {spent}, line of {line} bytes", end="")
        if before[0]:
            each = (spent.cpu - before[1]) / (size - before[0])
            print(f", {each * 1e6:.0f} us for each CPU more", end="")
        print(flush=True)
        before = (size, spent.cpu)


#: The size that a report must handle: this many runs in two arms, with this many gaps in total.
RUNS = 20
GAPS = 10_000_000


def bench_report(runs: int) -> None:
    with tempfile.TemporaryDirectory(prefix="lowlat-bench-", dir=MEMORY) as folder:
        words = write_runs(Path(folder))
        size = sum(file.stat().st_size for file in Path(folder).iterdir()) / (1 << 20)
        spent = cost([*words, "--json"], runs)
    verdict = json.loads(spent.starts[0].out)["verdict"]
    what = f"{RUNS} runs with {GAPS:,} gaps in all ({size:.0f} MiB)"
    print(f"report on {what}, {verdict}, medians of {runs}:\n  {spent}")


def write_runs(folder: Path) -> list[str]:
    """Write the runs; returns the arguments of a report on them."""
    files = [_write_run(folder / f"{n}.json", n) for n in range(RUNS)]
    return ["report", *files[::2], "--against", *files[1::2]]


def _write_run(path: Path, number: int) -> str:
    """Write two CPUs with gaps in the harness's buckets: 512 for each power of two."""
    import numpy as np

    draw = np.random.default_rng(number)
    cpus = []
    for cpu in (2, 3):
        gaps = 100 + draw.exponential(3000, GAPS // RUNS // 2)
        histogram = {"unit": "ns", "counts": _buckets(gaps)}
        noise = draw.normal(1000 - 200 * (number % 2), 30)
        changes = {"histogram": histogram, "events": len(gaps)}
        cpus.append(runs.cpu_run(cpu, noise / 5, noise, **changes))
    # Stock first, then tuned first: turns, not a row of them.
    hour = f"2026-11-21T{number ^ number // 2 % 2:02d}:00:00Z"
    path.write_text(json.dumps(runs.document(str(number), 0, cpus=cpus, started=hour)))
    return str(path)


def _buckets(gaps: Any) -> list[list[int]]:
    """The histogram of these sizes in ns: lower end, upper end, count."""
    import numpy as np

    whole = gaps.astype(int)
    wide = 1 << np.maximum(np.frexp(whole)[1] - 10, 0)
    limits, counts = np.unique(np.stack([whole // wide * wide, wide]), axis=1, return_counts=True)
    return np.stack([limits[0], limits.sum(axis=0), counts], axis=1).tolist()  # type: ignore[no-any-return]


class InUse(Root):
    """This machine with a plan that only seems to be in use, so nothing has to be set."""

    def __init__(self, plan: Plan) -> None:
        super().__init__("/")
        self._files: dict[str, bytes] = {}
        done = {item.path: item.value or "" for item in inspect(plan.runtime, self)}
        self._files = {
            IN_USE: json.dumps(plan.to_json()).encode(),
            JOURNAL: json.dumps({"done": done}).encode(),
        }

    def read_bytes(self, path: str) -> Optional[bytes]:
        return self._files.get(path) or super().read_bytes(path)

    def absent(self, path: str) -> bool:
        return path in self._files or super().absent(path)


def bench_watch(runs: int) -> None:
    machine = probe(Root())
    try:
        plan = make_plan(machine, machine.kernel, load_packaged("lowlat"), Options())
    except Refused as error:
        print(f"watch: not on this machine, {error}")
        return
    watch = Watch(InUse(plan))
    spent = [_look(watch) for _ in range(runs + 1)][1:]  # the first check loads and compiles
    median, share = statistics.median(spent), statistics.median(spent) / INTERVAL_S * 100
    print(
        f"watch, a look every {INTERVAL_S:.0f} s: CPU time {median * 1e3:.1f} ms a look (median of "
        f"{runs}, most {max(spent) * 1e3:.1f} ms), {share:.3f} % of one CPU"
    )


def _look(watch: Watch) -> float:
    begin = time.process_time()
    list(watch.look())
    return time.process_time() - begin


def bench_harness(runs: int) -> None:
    try:
        program = find_harness()
    except Refused as error:
        print(f"lowlat-measure: {error}")
        return
    print(f"lowlat-measure, loop period / bare reading of the clock, medians of {runs} x 300 ms:")
    for threshold in ("50ns", "100ns", "1us"):
        words = ["--duration", "300ms", "--warmup", "0s", "--no-oslat", "--threshold", threshold]
        found = [start([program, *words, "--json"]) for _ in range(runs)]
        clocks = [json.loads(each.out)["clock"] for each in found]
        ratio = statistics.median(clock["loop_period_ns"] / clock["floor_ns"] for clock in clocks)
        floor = statistics.median(clock["floor_ns"] for clock in clocks)
        print(f"  above {threshold:5}     {ratio:.3f}, reading {floor:.1f} ns", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="Print what lowlat-gen costs.")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--sizes", default="64,256,1024,4096", help="CPUs of synthetic machines")
    args = parser.parse_args()
    bench_here(args.runs)
    bench_harness(args.runs)
    bench_watch(args.runs)
    bench_report(args.runs)
    bench_synthetic(args.runs, [int(size) for size in args.sizes.split(",")])
    return 0


if __name__ == "__main__":
    sys.exit(main())
