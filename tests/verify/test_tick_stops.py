# SPDX-License-Identifier: GPL-2.0-or-later
"""Why the tick goes on, by the kernel's own event."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lowlat.model.cpuset import CpuSet
from lowlat.verify import tick_stops

CPUS = CpuSet.of([2, 3])

#: As 6.18 prints it.
TRACE = """# tracer: nop
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
          <idle>-0       [000] d..1. 29660.305954: tick_stop: success=1 dependency=NONE
            spin-77      [002] d.h1. 29660.309954: tick_stop: success=0 dependency=SCHED
            spin-77      [002] d.h1. 29660.313954: tick_stop: success=0 dependency=SCHED
 success=0 dependency=RCU-9 [002] d.h1. 29660.317954: tick_stop: success=0 dependency=PERF_EVENTS
            spin-78      [003] d.h1. 29660.317954: tick_stop: success=0 dependency=0x80
"""


def test_what_kept_the_tick_is_counted_by_cpu() -> None:
    stops = tick_stops.TickStops(tick_stops.count(TRACE))
    assert stops.found == {(2, "SCHED"): 2, (2, "PERF_EVENTS"): 1, (3, "0x80"): 1}
    told = tick_stops.words(stops, 2)
    assert told.startswith("timer:tick_stop names the scheduler: more than one task")
    assert told.endswith("(2 of 3), a perf event (1 of 3)")
    assert "0x80 (1 of 1)" in tick_stops.words(stops, 3)
    assert "never came there" in tick_stops.words(stops, 0)


def test_a_reading_keeps_it() -> None:
    stops = tick_stops.TickStops(tick_stops.count(TRACE))
    line = stops.text()
    assert tick_stops.parse(dict([line.split(" ", 1)])) == stops
    lost = tick_stops.TickStops(error="no tracefs is mounted (/x)")
    assert tick_stops.parse(dict([lost.text().split(" ", 1)])) == lost
    assert tick_stops.words(tick_stops.parse({}), 2) == "why is not known: it was not recorded"


def test_without_tracefs_it_says_so(tmp_path: Path) -> None:
    with tick_stops.recording(CPUS, (tmp_path,)) as stops:
        pass
    told = tick_stops.words(stops, 2)
    assert told == f"why is not known: no tracefs is mounted ({tmp_path})"


@pytest.fixture
def tracefs(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "tracefs"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tracefs", "none", folder], capture_output=True)
    if done.returncode:
        pytest.skip("needs tracefs")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: the kernel's trace")
def test_the_instance_is_small_and_gone_afterwards(tracefs: Path) -> None:
    cpu = CpuSet.of([max(os.sched_getaffinity(0))])
    own = tracefs / f"instances/lowlat-verify-{os.getpid()}"
    # Of a verify that was killed: no process has this number.
    left = tracefs / f"instances/lowlat-verify-{2**22 + 1}"
    left.mkdir()
    with tick_stops.recording(cpu, (tracefs,)) as stops:
        assert own.is_dir() and not left.exists()
        assert int((own / "buffer_size_kb").read_text().split()[0]) < 64
        assert CpuSet.parse_mask((own / "tracing_cpumask").read_text()) == cpu
        assert (own / "events/timer/tick_stop/enable").read_text() == "1\n"
    assert not own.exists()
    assert stops.found is not None and {where for where, _ in stops.found} <= cpu.ids
