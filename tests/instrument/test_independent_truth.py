# SPDX-License-Identifier: GPL-2.0-or-later
"""lowlat-measure as users run it, against two independent witnesses: a SCHED_FIFO task that takes
its CPU away and notes the time, and the kernel's own trace."""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from disturbed import Preempted
from kernel_trace import NOT_HERE
from programs import FULL, NEEDS_ROOT, Measured, Programs, Tell, measure

from support import needs
from support.figures import figure
from support.waits import GUARD_S

pytest_plugins = ["programs", "disturbed"]
pytestmark = [pytest.mark.root, NEEDS_ROOT]

TRACE_SECONDS = 60 if FULL else 6


def test_each_preemption_is_inside_a_gap(
    preempted_harness: tuple[Measured, Preempted], tell: Tell
) -> None:
    measured, preempted = preempted_harness
    longer_us = statistics.median(preempted.longer_us)
    tell(
        f"SCHED_FIFO for 1 to 500 us: recall {preempted.recall}\n"
        f"gaps are longer by {longer_us:.1f} us (median): the switches, and who else ran"
    )
    assert measured.run["valid"]
    figure("preemptions_found", preempted.recall.found / preempted.recall.of, "ratio")


@contextmanager
def traced(cpu: int, out: Path) -> Iterator[None]:
    script = Path(__file__).with_name("kernel_trace.py")
    process = subprocess.Popen(
        ["unshare", "--mount", sys.executable, script, str(cpu), out],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout
    said = process.stdout.readline().strip()
    if said != "ready":
        _, wrong = process.communicate(timeout=GUARD_S)
        assert process.returncode == NOT_HERE, wrong
        needs.absent(said)
    try:
        yield
    finally:
        _, wrong = process.communicate("", timeout=GUARD_S)
    assert process.returncode == 0, wrong


def test_each_kernel_event_is_inside_a_gap(programs: Programs, tmp_path: Path, tell: Tell) -> None:
    trace = tmp_path / "trace"
    with traced(programs.cpu, trace):
        measured = measure(programs, tmp_path, TRACE_SECONDS)
    lost, *rows = trace.read_text().splitlines()
    begin, end = measured.gaps.window
    events = [(int(time), name) for time, _, name in (row.partition(",") for row in rows)]
    inside = [(time, name) for time, name in events if begin <= time <= end]
    missed = [name for time, name in inside if not measured.gaps.around((time, time))]
    assert len(inside) > 100
    share = 1 - len(missed) / len(inside)
    kinds = Counter(name for _, name in inside).most_common(4)
    tell(
        f"Kernel events inside a gap: {100 * share:.4f} % of {len(inside)} in {TRACE_SECONDS} s "
        f"({', '.join(f'{count} {name}' for name, count in kinds)}, ...); {lost} lost by the trace"
    )
    figure("traced_events_in_gaps", share, "ratio")
