# SPDX-License-Identifier: GPL-2.0-or-later
"""The short form of `make soak`: many gaps a second, constant memory, nothing lost."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.harness

SOURCE = Path(__file__).resolve().parents[2] / "measure"
BUILD = os.environ.get("LOWLAT_MEASURE_BUILD", "build")

_SAID = re.compile(
    r"(\d+) s, (\d+) stalls per own second, (\d+) gaps, (\d+) in the histogram, (\d+) logged, "
    r"(\d+) beyond the log, longest (\S+) us, resident (\d+) then at most (\d+) pages"
)


def test_a_flood_of_gaps_loses_none_and_takes_no_memory() -> None:
    argv = ["make", "-s", "-C", str(SOURCE), f"BUILD={BUILD}", "soak", "SOAK_SECONDS=5"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = _SAID.search(done.stdout)
    assert found, done.stdout
    seconds, per_s, gaps, kept, logged, beyond = map(int, found.groups()[:6])
    assert (kept, logged + beyond) == (gaps, gaps)
    assert beyond > 0, "the log was never full"
    # A share of its own CPU time, which is less than the whole time on a busy host.
    assert per_s >= 90_000
    assert gaps > seconds


def _resident_kib(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    return int(found[1]) if found else 0


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one CPU")
def test_the_harness_keeps_its_memory_while_it_measures(tmp_path: Path) -> None:
    """The log and the histogram exist from the start."""
    program = os.environ.get("LOWLAT_MEASURE") or str(SOURCE / BUILD / "lowlat-measure")
    process = subprocess.Popen(
        [program, "--duration", "30s", "--warmup", "0s", "--no-oslat", "--threshold", "50ns",
         "--events", str(tmp_path / "events"), "--json", str(tmp_path / "run.json")],
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        time.sleep(1)
        sizes = []
        for _ in range(8):
            sizes.append(_resident_kib(process.pid))
            time.sleep(0.25)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    finally:
        process.kill()
        process.wait()
    assert sizes[0] > 1000
    assert max(sizes) - min(sizes) <= 64, sizes
