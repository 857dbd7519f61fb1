# SPDX-License-Identifier: GPL-2.0-or-later
"""The parts of ``make bench`` that can be judged on any machine: the memory of a report, and what a
plan costs on many CPUs compared with fewer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import bench
from support import needs
from support.figures import figure

pytestmark = pytest.mark.slow

needs.module("numpy", "the extra `report` is not installed")
needs.module("scipy", "the extra `report` is not installed")

#: The limit in KiB.
MOST = 500e6 / 1024


def test_the_memory_is_that_of_the_program_alone() -> None:
    """The figure does not depend on the memory of the process that starts the program."""
    alone = bench.start_gen(["--version"])
    large = bytearray(b"x") * (100 << 20)
    beside = bench.start_gen(["--version"])
    assert beside.out == alone.out
    assert 0 < beside.kib < 1.2 * alone.kib < len(large) / 1024


def test_a_report_bears_ten_million_gaps(tmp_path: Path) -> None:
    found = bench.start_gen([*bench.write_runs(tmp_path), "--json"])
    assert json.loads(found.out)["verdict"] == "reduced"
    assert found.kib < MOST


@pytest.mark.figure
def test_a_plan_costs_time_and_memory_linear_in_the_cpus() -> None:
    small, large = (bench.plan_cost(size, 3) for size in (1024, 4096))
    figure("plan_4096_by_1024_cpus", large.cpu / small.cpu, "ratio")
    figure("plan_4096_cpus", large.cpu, "s")
    figure("plan_4096_cpus_memory", max(start.kib for start in large.starts) / 1024, "MiB")
