# SPDX-License-Identifier: GPL-2.0-or-later
"""The short form of `make soak`: many gaps a second, none lost."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from support.waits import GUARD_S

pytestmark = pytest.mark.harness

SOURCE = Path(__file__).resolve().parents[2] / "measure"
BUILD = os.environ.get("LOWLAT_MEASURE_BUILD", "build")

_SAID = re.compile(
    r"(\d+) s, (\d+) stalls per own second, (\d+) gaps, (\d+) in the histogram, (\d+) logged, "
    r"(\d+) beyond the log, longest (\S+) us, resident (\d+) then at most (\d+) pages"
)


def test_a_flood_of_gaps_loses_none() -> None:
    """Its exit status tells of the rate and the memory too, which are this machine's."""
    argv = ["make", "-s", "-C", str(SOURCE), f"BUILD={BUILD}", "tools"]
    subprocess.run(argv, capture_output=True, timeout=GUARD_S, check=True)
    argv = [str(SOURCE / BUILD / "tests/soak"), "5"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=GUARD_S, check=False)
    found = _SAID.search(done.stdout)
    assert found, done.stdout + done.stderr
    seconds, _, gaps, kept, logged, beyond = map(int, found.groups()[:6])
    assert (kept, logged + beyond) == (gaps, gaps)
    assert beyond > 0, "the log was never full"
    assert gaps > seconds
