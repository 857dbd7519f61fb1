# SPDX-License-Identifier: GPL-2.0-or-later
"""lowlat's detector beside sysjitter's method and oslat: same CPU, same stalls, one table."""

from __future__ import annotations

import os
import shutil
import statistics
from dataclasses import dataclass
from pathlib import Path

import pytest
from disturbed import INJECT_SECONDS, Exact, Preempted, preempted, stalled
from oslat import Bucket, find_stalls, period_ns
from programs import FULL, Measured, Programs, Tell, injector, measure, run_loop
from stalls import SIZES, name, quantile
from table import table

from support.figures import figure

pytest_plugins = ["programs", "disturbed"]

ROUNDS = 3
OSLAT_SECONDS = 50 if FULL else 5

Column = dict[str, str]

BLIND = {
    "lowlat-measure": "slow-downs without a gap (shown as work per window); what is below 1 us and "
    "comes while a gap is stored (dead time)",
    "sysjitter's method": "all of it once its log is full: no result then; rate in whole MHz",
    "oslat": "below 1 us; which length, above 1024 us; when; how much noise in all",
}


@dataclass(frozen=True)
class Period:
    """A loop's period and one bare reading of the clock, ns."""

    loop: float
    floor: float

    @property
    def ratio(self) -> float:
        return self.loop / self.floor

    def __str__(self) -> str:
        return f"{self.loop:.1f} / {self.floor:.1f} ns = {self.ratio:.2f}"


@dataclass(frozen=True)
class Periods:
    """The minimum over several rounds in which the loops take turns."""

    harness: Period
    sysjitter: Period


def harness_period(programs: Programs, folder: Path) -> Period:
    clock = measure(programs, folder, 0.5).run["clock"]
    return Period(clock["loop_period_ns"], clock["floor_ns"])


def sysjitter_period(programs: Programs, folder: Path) -> Period:
    loop = run_loop(programs, "sysjitter", folder, seconds=1)
    rate = loop.true_ticks_per_ns
    return Period(loop.spent / loop.reads / rate, loop.floor / rate)


@pytest.fixture(scope="session")
def periods(programs: Programs, tmp_path_factory: pytest.TempPathFactory) -> Periods:
    folder = tmp_path_factory.mktemp("periods")
    rounds = [
        (harness_period(programs, folder), sysjitter_period(programs, folder))
        for _ in range(ROUNDS)
    ]
    ours, theirs = zip(*rounds)
    return Periods(
        min(ours, key=lambda period: period.ratio), min(theirs, key=lambda period: period.ratio)
    )


def test_the_loop_is_as_fast_as_the_clock_can_be_read(periods: Periods, tell: Tell) -> None:
    tell(f"Loop period / floor: {periods.harness}")
    figure("instrument_period_by_floor", periods.harness.ratio, "ratio")


def exact_rows(exact: Exact) -> Column:
    rows = {}
    for size in exact.score.sizes:
        if size.ns in SIZES:
            error = f", {statistics.median(size.errors):+.0f} ns" if size.errors else ""
            rows[f"recall, {name(size.ns)}"] = f"{size.recall.share:.3f}{error}"
    errors = exact.score.errors()
    median, p99 = statistics.median(errors), quantile(errors, 0.99)
    dead_ns = exact.loop.dead / len(exact.loop.gaps) / exact.loop.true_ticks_per_ns
    return {
        **rows,
        "error, median and p99": f"{median:.0f}, {p99:.0f} ns",
        "dead time a gap": f"{dead_ns:.0f} ns",
    }


def preempted_sysjitter(programs: Programs, folder: Path) -> Preempted:
    with injector(programs, folder, INJECT_SECONDS):
        loop = run_loop(programs, "sysjitter", folder, seconds=INJECT_SECONDS)
    return preempted(loop.gaps, folder / "inject.truth", loop.true_ticks_per_ns)


def bucket_cell(bucket: Bucket) -> str:
    if bucket.recall is None:
        return "in its last bucket"
    error = "" if bucket.error_ns is None else f", {bucket.error_ns:+.0f} ns"
    return f"{bucket.recall:.2f} +-{bucket.uncertain:.2f}{error}"


def oslat_column(programs: Programs, folder: Path, floor_ns: float, ticks_per_ns: float) -> Column:
    bare = min(period_ns(programs, folder) for _ in range(ROUNDS - 1))
    buckets = find_stalls(programs, folder, ticks_per_ns, OSLAT_SECONDS)
    errors = [abs(bucket.error_ns) for bucket in buckets if bucket.error_ns is not None]
    return {
        "loop period / floor": str(Period(bare, floor_ns)),
        **{f"recall, {name(bucket.ns)}": bucket_cell(bucket) for bucket in buckets},
        "error, median and p99": f"{statistics.median(errors):.0f} ns, above 1024 us unknown",
        "recall, preemptions": "has no list of events",
    }


def test_one_table(
    programs: Programs,
    exact: Exact,
    periods: Periods,
    tmp_path: Path,
    tell: Tell,
    request: pytest.FixtureRequest,
) -> None:
    rival = stalled(programs, tmp_path, "sysjitter", exact.threshold_ns)
    ours = {"loop period / floor": str(periods.harness), **exact_rows(exact)}
    theirs = {"loop period / floor": str(periods.sysjitter), **exact_rows(rival)}
    columns = {"lowlat-measure": ours, "sysjitter's method": theirs}
    if os.geteuid() == 0:
        harness: tuple[Measured, Preempted] = request.getfixturevalue("preempted_harness")
        ours["recall, preemptions"] = f"{harness[1].recall.share:.4f}"
        theirs["recall, preemptions"] = (
            f"{preempted_sysjitter(programs, tmp_path).recall.share:.4f}"
        )
    if os.geteuid() == 0 and shutil.which("oslat"):
        rate = exact.loop.true_ticks_per_ns
        columns["oslat"] = oslat_column(programs, tmp_path, periods.harness.floor, rate)
    blind = {tool: {**column, "does not see": BLIND[tool]} for tool, column in columns.items()}
    tell(f"Same CPU, same stalls, threshold {exact.threshold_ns} ns\n{table(blind)}")
    both = zip(exact.score.sizes, rival.score.sizes)
    ahead = [one.recall.share - other.recall.share for one, other in both
             if one.ns >= 2 * exact.threshold_ns]  # fmt: skip
    figure("recall_ahead_of_sysjitter", min(ahead), "ratio")
