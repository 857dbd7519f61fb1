# SPDX-License-Identifier: GPL-2.0-or-later
"""The installed oslat, with the same stalls in its loop.

oslat has no list of events. A length therefore counts as found by the excess in its bucket over two
runs without stalls, one before and one after.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from programs import Programs, online
from stalls import late, read_truth, write_plan

#: The maximum number of its buckets, of 1 us each.
BUCKETS = 1024
WORKLOAD_BYTES = 4096
#: oslat's calls take longer than lowlat's clock reads.
LONGEST_WAIT = 1000


@dataclass(frozen=True)
class Oslat:
    """``histogram``: gaps by microseconds. ``cpu_s``: the CPU time of its process."""

    histogram: Mapping[int, int]
    seconds: float
    cpu_s: float

    @property
    def iterations(self) -> int:
        return sum(self.histogram.values())


def run_oslat(
    programs: Programs, folder: Path, seconds: int, stalls: Optional[Path] = None, work: bool = True
) -> Oslat:
    """With ``stalls`` (a plan), the truth is written to ``folder/oslat.truth``."""
    out = folder / "oslat.json"
    workload = ["-w", "memmove", "-m", f"{WORKLOAD_BYTES // 1024}K"] if work else []
    preload = {
        "STALL_PLAN": str(stalls), "STALL_TRUTH": str(folder / "oslat.truth"),
        "STALL_SIZE": str(WORKLOAD_BYTES), "LD_PRELOAD": str(programs.folder / "memmove.so"),
    }  # fmt: skip
    before = _children_s()
    done = subprocess.run(
        ["oslat", "-c", str(programs.cpu), "-C", str(online()[0]), "-D", str(seconds),
         "-b", str(BUCKETS), "-q", f"--json={out}", *workload],
        env={**os.environ, **(preload if stalls else {})},
        capture_output=True, text=True, check=False, timeout=seconds + 60,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (thread,) = json.loads(out.read_text())["thread"].values()
    histogram = {int(us): int(count) for us, count in thread["histogram"].items()}
    return Oslat(histogram, float(thread["duration"]), _children_s() - before)


def _children_s() -> float:
    spent = os.times()
    return spent.children_user + spent.children_system


def period_ns(programs: Programs, folder: Path) -> float:
    """The period of its bare loop. oslat preheats for about one second, which is left out."""
    oslat = run_oslat(programs, folder, 1, work=False)
    return oslat.cpu_s * 1e9 * oslat.seconds / (oslat.seconds + 1) / oslat.iterations


@dataclass(frozen=True)
class Bucket:
    """The result for stalls of one length. ``recall`` is None if the bucket has several lengths,
    ``error_ns`` if other gaps outnumber these."""

    ns: int
    recall: Optional[float] = None
    uncertain: float = 0.0
    error_ns: Optional[float] = None


@dataclass(frozen=True)
class Runs:
    """A run with stalls between two runs without stalls."""

    before: Oslat
    stalled: Oslat
    after: Oslat
    #: The time of the stalled run outside of stalls, s.
    free_s: float

    def background(self, us: int) -> tuple[float, float]:
        """The expected count of the bucket without stalls, and its uncertainty."""
        rates = [run.histogram.get(us, 0) / run.seconds for run in (self.before, self.after)]
        count = sum(rates) / 2 * self.free_s
        return count, abs(rates[0] - rates[1]) / 2 * self.free_s + count**0.5


def find_stalls(
    programs: Programs, folder: Path, ticks_per_ns: float, seconds: int
) -> list[Bucket]:
    plan = write_plan(folder / "plan", longest_wait=LONGEST_WAIT)
    before = run_oslat(programs, folder, seconds // 2)
    stalled = run_oslat(programs, folder, seconds, plan)
    after = run_oslat(programs, folder, seconds // 2)
    truth = read_truth(folder / "oslat.truth")
    inside = sum(stall.end - stall.begin for stall in truth) / ticks_per_ns / 1e9
    runs = Runs(before, stalled, after, max(stalled.seconds - inside, 0.0))
    counted = Counter(stall.ns for stall in truth if not late(stall, ticks_per_ns))
    return [_bucket(ns, counted[ns], runs) for ns in sorted(counted)]


def _bucket(ns: int, of: int, runs: Runs) -> Bucket:
    first = -(-ns // 1000)
    if first == 1:
        return Bucket(ns, recall=0.0)
    if first >= BUCKETS:
        return Bucket(ns)
    excess: dict[int, float] = {}
    uncertain = 0.0
    for us in (first, first + 1):
        count, doubt = runs.background(us)
        excess[us] = runs.stalled.histogram.get(us, 0) - count
        uncertain += doubt
    found, spread = sum(excess.values()) / of, uncertain / of
    if found < 3 * spread:
        return Bucket(ns, found, spread)
    return Bucket(ns, found, spread, max(excess, key=lambda us: excess[us]) * 1000 - ns)
