# SPDX-License-Identifier: GPL-2.0-or-later
"""Interrupt counters: the figures read from /proc/interrupts, and a live count on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowlat.host.root import Root
from lowlat.model.cpuset import CpuSet
from lowlat.verify import clock_events, counters
from support import needs, waits

X86 = """            CPU0       CPU2
   8:          1          0   IO-APIC   8-edge      rtc0
 LOC:       1000       2000   Local timer interrupts
 RES:          5          6   Rescheduling interrupts
 ERR:          7
 MIS:          0
"""

ARM = """           CPU0       CPU1
 11:       2512       1024     GICv3  27 Level     arch_timer
 12:          0          0     GICv3  30 Level     kvm guest vtimer
IPI0:        30         40       Rescheduling interrupts
IPI1:        50         60       Function call interrupts
Err:          0
"""


def test_rows_by_label_and_cpu() -> None:
    rows = counters.parse_interrupts(X86)
    assert rows["LOC"] == {0: 1000, 2: 2000}
    assert set(rows) == {"8:rtc0", "LOC", "RES"}


def test_the_timer_of_arm64_is_a_numbered_row() -> None:
    rows = counters.parse_interrupts(ARM)
    assert rows["arch_timer"] == {0: 2512, 1: 1024}
    assert [label for label in rows if clock_events.is_row(label)] == ["arch_timer"]
    assert (rows["RES"], rows["CAL"]) == ({0: 30, 1: 40}, {0: 50, 1: 60}), "as x86 calls them"
    shown = counters.words({"12": 1.0, "arch_timer": 2.0, "IPI0": 0.5})
    assert shown == "arch_timer 2.0, IPI0 0.5; in all 3.5 per second"


def told(before: str, after: str, seconds: str = "10.00", spinning: str = "2") -> str:
    head = f"seconds {seconds}\nspinning {spinning}\nwatching \n"
    return f"{head}before\n{before}after\n{after}"


def test_rates_are_differences_by_the_second() -> None:
    counted = counters.parse(told(X86, X86.replace("2000", "2040")))
    assert counted is not None
    assert counted.rates(2) == {"8:rtc0": 0.0, "LOC": 4.0, "RES": 0.0}
    assert counted.rates(1) == {}
    assert (str(counted.spinning), str(counted.watching)) == ("2", "")


def test_a_counter_that_wrapped_went_on() -> None:
    before, after = X86.replace("2000", f"{2**32 - 10}"), X86.replace("2000", "30")
    counted = counters.parse(told(before, after))
    assert counted is not None and counted.rates(2)["LOC"] == 4.0


@pytest.mark.parametrize(
    "text", ["", "seconds 0\n", "nothing", told(X86, X86, "inf"), "\nbefore\n"]
)
def test_what_is_no_count_is_none(text: str) -> None:
    assert counters.parse(text) is None


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    counters.parse_interrupts(text)
    counters.parse(text)
    counters.parse(told(text, text))


@pytest.fixture
def cpu() -> int:
    """A CPU that this process may use and can leave."""
    own = os.sched_getaffinity(0)
    if len(own) < 2:
        needs.absent("needs two CPUs")
    return max(own)


def test_a_live_count_ends_all_it_started(cpu: int) -> None:
    own, others = os.sched_getaffinity(0), _children()
    counted = counters.read(Root(), CpuSet.of([cpu]), 0.2)
    assert counted is not None and counted.seconds >= 0.2
    # The CPU may be idle or busy here; on a busy host the spinner may come too late.
    assert not counted.spinning & counted.watching
    assert any(map(clock_events.is_row, counted.rates(cpu)))
    assert os.sched_getaffinity(0) == own
    assert _children() <= others


def test_where_somebody_works_nothing_spins(cpu: int) -> None:
    code = f"import os\nos.sched_setaffinity(0, {{{cpu}}})\nwhile True:\n    pass"
    with subprocess.Popen([sys.executable, "-c", code]) as work:
        try:
            waits.until(lambda: os.sched_getaffinity(work.pid) == {cpu})
            counted = counters.read(Root(), CpuSet.of([cpu]), 0.2)
        finally:
            work.kill()
    assert counted is not None and str(counted.watching) == str(cpu)


def test_nothing_is_counted_of_no_cpu_and_in_no_time(tmp_path: Path) -> None:
    assert counters.read(Root(), CpuSet(), 1.0) is None
    assert counters.read(Root(), CpuSet.of([0]), 0.0) is None
    assert counters.read(Root(str(tmp_path)), CpuSet.of([0]), 1.0) is None


def _children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())
