# SPDX-License-Identifier: GPL-2.0-or-later
"""Wake-up latency compared with cyclictest in the same minute, and with a hog as the known
cause."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from programs import NEEDS_ROOT, Programs, Tell

from support import needs
from support.figures import figure
from support.waits import GUARD_S

pytest_plugins = ["programs"]
pytestmark = [pytest.mark.root, NEEDS_ROOT]

PAIRS = 10
SHARES = ("p50", "p99", "p99.9")

#: Takes the CPU away for 30 ms, four times a second.
HOG = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
open("/proc/self/comm", "w").write("planted-hog")
print("ready", flush=True)
while True:
    until = time.monotonic() + 0.03
    while time.monotonic() < until:
        pass
    time.sleep(0.22)
"""


def woken(programs: Programs, out: Path, *words: str) -> Any:
    """One run of ``lowlat-gen measure`` with wake-ups."""
    program = Path(sys.executable).with_name("lowlat-gen")
    done = subprocess.run(
        [program, "measure", "--label", "woken", "--out", out, "--cpus", str(programs.cpu),
         "--warmup", "200ms", "--no-oslat", *words],
        capture_output=True, text=True, check=False, timeout=GUARD_S,
        env={**os.environ, "PATH": f"{programs.harness.parent}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    return json.loads(out.read_text())


@contextmanager
def hog(cpu: int) -> Iterator[None]:
    process = subprocess.Popen([sys.executable, "-c", HOG, str(cpu)], stdout=subprocess.PIPE)
    try:
        assert process.stdout and process.stdout.readline() == b"ready\n"
        yield
    finally:
        process.kill()
        process.wait()


def test_a_planted_hog_is_the_cause_of_the_latest_wakeup(
    programs: Programs, tmp_path: Path, tell: Tell
) -> None:
    words = ("--duration", "2s", "--policy", "fifo:1", "--wakeup=1ms", "--causes")
    with hog(programs.cpu):
        run = woken(programs, tmp_path / "run.json", *words)
    if run["attribution"]["observer"] != "trace":
        needs.absent(f"no trace: {run['attribution']['notes']}")
    found = run["cpus"][0]["wakeup"]
    (latest,), late = found["longest"], found["late_ns"]["max"]
    chain = {f"{link['class']}: {link['cause']}": link["time_ns"] for link in latest["chain"]}
    tell(f"Latest wake-up {late / 1e6:.2f} ms: {chain}")
    assert found["samples"] == 2000
    figure("planted_hog_wakeup", late / 1e6, "ms")
    figure("planted_hog_named", chain["thread: planted-hog"] / late, "ratio")


def test_ten_paired_runs_with_cyclictest(programs: Programs, tmp_path: Path, tell: Tell) -> None:
    if not shutil.which("cyclictest"):
        needs.absent("no cyclictest")
    ours: dict[str, list[float]] = {share: [] for share in SHARES}
    theirs: dict[str, list[float]] = {share: [] for share in SHARES}
    words = ("--duration", "3s", "--policy", "fifo:80", "--wakeup=200us", "--no-causes")
    for pair in range(PAIRS):
        run = woken(programs, tmp_path / f"{pair}.json", *words)
        figures = run["second_opinions"][0]["parsed"]["figures"]
        if all(share in figures for share in SHARES):
            for share in SHARES:
                ours[share].append(run["cpus"][0]["wakeup"]["skipping_ns"][share] / 1e3)
                theirs[share].append(figures[share])
    pairs = len(ours["p99.9"])
    for share in SHARES:
        ratios = sorted(one / other for one, other in zip(ours[share], theirs[share]))
        tell(
            f"{share}, {pairs} pairs: {min(ours[share]):.1f} to {max(ours[share]):.1f} us, "
            f"cyclictest {min(theirs[share]):.1f} to {max(theirs[share]):.1f} us; ratio "
            f"{statistics.median(ratios):.2f} (median), {ratios[0]:.2f} to {ratios[-1]:.2f}"
        )
        figure(f"wakeup_{share}_by_cyclictest", statistics.median(ratios), "ratio")
    figure("pairs_in_cyclictest_histogram", pairs, "pairs")
