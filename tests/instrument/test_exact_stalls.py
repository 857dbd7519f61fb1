# SPDX-License-Identifier: GPL-2.0-or-later
"""Stalls of exactly known length in the detector's loop: whether each is found, and the error of
its length."""

from __future__ import annotations

import statistics
from pathlib import Path

from disturbed import TEN_SECONDS, Exact, lowest_threshold, stalled
from programs import Programs, Tell
from stalls import SIZES, quantile, show

from support.figures import figure

pytest_plugins = ["programs", "disturbed"]


def check(exact: Exact, tell: Tell, at: str) -> None:
    least = 2 * exact.threshold_ns
    recall, errors = exact.score.recall(least), exact.score.errors()
    median, p99 = statistics.median(errors), quantile(errors, 0.99)
    tell(
        f"Exact stalls, threshold {exact.threshold_ns} ns, "
        f"one reading of the clock {exact.loop.floor / exact.loop.true_ticks_per_ns:.1f} ns\n"
        f"{show(exact.score)}\n"
        f"recall from {least} ns on: {recall}; not counted, as a foreign gap hit its end or its "
        f"begin: {exact.score.hit}\n"
        f"duration error from 100 ns on: median {median:.0f} ns, p99 {p99:.0f} ns"
    )
    figure(f"stalls_found_{at}", recall.found / recall.of, "ratio")
    figure(f"stall_error_median_{at}", median, "ns")
    figure(f"stall_error_p99_{at}", p99, "ns")


def test_each_stall_is_found_and_timed(exact: Exact, tell: Tell) -> None:
    check(exact, tell, "at_100ns")
    assert [size.ns for size in exact.score.sizes] == [*SIZES, TEN_SECONDS]


def test_each_stall_is_found_at_the_lowest_threshold(
    programs: Programs, tmp_path: Path, tell: Tell
) -> None:
    lowest = lowest_threshold(programs, tmp_path)
    check(stalled(programs, tmp_path, "lowlat", lowest), tell, "at_the_lowest")


def test_long_stalls_are_timed_at_the_right_rate(exact: Exact) -> None:
    """Another clock agrees to a millionth; the code after a long stall is cold, which costs some
    time."""
    long = [size for size in exact.score.sizes if size.ns >= 100_000_000]
    beyond = [abs(error) - size.ns / 1e6 for size in long for error in size.errors]
    figure("long_stall_error", max(beyond), "ns")
