# SPDX-License-Identifier: GPL-2.0-or-later
"""What ``run --audit`` costs the program: side by side, in turns."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from support import needs
from support.cli import GEN
from support.figures import figure
from support.waits import GUARD_S

pytestmark = [
    pytest.mark.figure,
    needs.root("perf of all events"),
    needs.two_cpus(),
    needs.program("perf", "linux-perf"),
    needs.program("cc"),
]

SOURCE = Path(__file__).with_name("timed.c")
PAIRS = 5


def test_what_an_event_and_a_quiet_loop_cost(tmp_path: Path) -> None:
    program = str(tmp_path / "timed")
    subprocess.run(["cc", "-O1", "-o", program, SOURCE], check=True)
    plain, audited = zip(*(
        (run(program), run(program, "--audit", "--mark-fd", "9")) for _ in range(PAIRS)
    ))  # fmt: skip
    (call, turn), (call_audited, turn_audited) = map(least, (plain, audited))
    figure("audited_call", (call_audited - call) / 1000, "us")
    figure("audited_quiet_loop", turn_audited / turn, "ratio")


def run(program: str, *words: str) -> list[float]:
    cpu = str(max(os.sched_getaffinity(0)))
    argv = [*GEN, "run", "--cpus", cpu, *words, "--", program]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=GUARD_S, check=True)
    assert "lower bounds" not in done.stderr
    return [float(word) for word in done.stdout.split()]


def least(rows: tuple[list[float], ...]) -> list[float]:
    """The rest is what other programs and the host add."""
    return [min(column) for column in zip(*rows)]
