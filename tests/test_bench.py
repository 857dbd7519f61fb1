# SPDX-License-Identifier: GPL-2.0-or-later
"""The part of ``make bench`` that can be judged on any machine: the memory of a report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import bench
from support import needs

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
