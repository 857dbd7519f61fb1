# SPDX-License-Identifier: GPL-2.0-or-later
"""The reasons why the tick runs, and the CPUs that interrupt other CPUs, from the kernel's own
events."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from lowlat.model.cpuset import CpuSet
from lowlat.trace import ftrace
from lowlat.trace.clock import ClockPair
from lowlat.trace.ftrace import TraceEvent
from lowlat.verify import traced
from support import needs, waits

CPUS = CpuSet.of([2, 3])

#: The format of 6.18; the masks have the format of include/trace/events/ipi.h.
TRACE = """# tracer: nop
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
          <idle>-0       [000] d..1. 29660.305954: tick_stop: success=1 dependency=NONE
            spin-77      [002] d.h1. 29660.309954: tick_stop: success=0 dependency=SCHED
            spin-77      [002] d.h1. 29660.313954: tick_stop: success=0 dependency=SCHED
 success=0 dependency=RCU-9 [002] d.h1. 29660.317954: tick_stop: success=0 dependency=PERF_EVENTS
            spin-78      [003] d.h1. 29660.317954: tick_stop: success=0 dependency=0x80
     kworker/0:1-123     [000] ...1. 29661.100001: ipi_send_cpu: cpu=2 callsite=rcu_exp_sel_wait\
_wake+0x1f/0x60 callback=rcu_exp_handler+0x0/0x10
     kworker/0:1-123     [000] ...1. 29661.100002: ipi_send_cpu: cpu=2 callsite=rcu_exp_sel_wait\
_wake+0x1f/0x60 callback=rcu_exp_handler+0x0/0x10
      a from b-9 [1]-200 [001] ...1. 29661.100003: ipi_send_cpumask: cpumask=d callsite=on_e\
ach_cpu_cond_mask+0x20/0x60 callback=generic_smp_call_function_single_interrupt+0x0/0x10
            bash-31497   [000] d..4. 29661.100004: ipi_send_cpu: cpu=3 callsite=wakeup_preempt+0x\
42/0x90 callback=0x0
            bash-31497   [000] d..4. 29661.100005: ipi_send_cpu: cpu=1 callsite=wakeup_preempt+0x\
42/0x90 callback=0x0
"""


def events() -> Iterator[TraceEvent]:
    return ftrace.parse(TRACE.splitlines(), ClockPair((0, 0), (1, 1)))


def found() -> traced.Traced:
    return traced.Traced(traced.seen(events(), CPUS))


def test_what_kept_the_tick_is_counted_by_cpu() -> None:
    assert found().of(2, "TICK") == {"SCHED": 2, "PERF_EVENTS": 1}
    assert found().of(3, "TICK") == {"0x80": 1}
    told = traced.stop_words(found(), 2)
    assert told.startswith("timer:tick_stop names the scheduler: more than one task")
    assert told.endswith("(2 of 3), a perf event (1 of 3)")
    assert "0x80 (1 of 1)" in traced.stop_words(found(), 3)
    assert "never came there" in traced.stop_words(found(), 0)


def test_who_interrupts_is_told_with_cpu_task_and_call_site() -> None:
    assert traced.sender_words(found(), 2, "CAL") == (
        "sent by CPU 0, kworker/0:1 (123) from rcu_exp_sel_wait_wake (rcu_exp_handler) (2 of 3); "
        "CPU 1, a from b-9 [1] (200) from on_each_cpu_cond_mask (1 of 3)"
    )
    assert traced.origin(found(), 2, "CAL") == " from rcu_exp_sel_wait_wake (rcu_exp_handler)"
    assert traced.origin(found(), 3, "CAL") == " from on_each_cpu_cond_mask"
    told = traced.sender_words(found(), 3, "RES")
    assert told == "sent by CPU 0, bash (31497) from wakeup_preempt (1 of 1)"
    assert traced.sender_words(found(), 2, "RES") == "the kernel's trace names no sender"
    assert traced.origin(found(), 2, "RES") == ""
    assert {cpu for cpu, _, _ in found().seen} == {2, 3}, "nobody asked for the others"


def test_only_the_most_frequent_senders_are_named() -> None:
    many = Counter({(2, "RES", f"CPU 0, task{n} ({n})"): n for n in range(1, 7)})
    told = traced.sender_words(traced.Traced(many), 2, "RES")
    assert told.startswith("sent by CPU 0, task6 (6) (6 of 21); ") and told.endswith(" and 3 more")


def test_a_reading_keeps_it() -> None:
    assert traced.parse(found().text()) == found()
    lost = traced.Traced(errors={"TICK": "no tracefs is mounted (/x)", "RES": "no such event"})
    assert traced.parse(lost.text()) == lost
    nothing = traced.parse("seconds 1\n")
    assert traced.stop_words(nothing, 2) == "why is not known: it was not recorded"
    told = traced.sender_words(nothing, 2, "RES")
    assert told == "who sends it is not known: it was not recorded"


def test_without_tracefs_it_says_so(tmp_path: Path) -> None:
    with traced.recording(CPUS, (tmp_path,)) as nothing:
        pass
    why = f"is not known: no tracefs is mounted ({tmp_path})"
    assert traced.stop_words(nothing, 2) == f"why {why}"
    assert traced.sender_words(nothing, 2, "CAL") == f"who sends it {why}"


@pytest.fixture
def tracefs(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "tracefs"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tracefs", "none", folder], capture_output=True)
    if done.returncode:
        needs.absent("needs tracefs")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.mark.root
@needs.root("the kernel's trace")
def test_the_instance_is_small_and_gone_afterwards(tracefs: Path) -> None:
    cpu = CpuSet.of([max(os.sched_getaffinity(0))])
    own = tracefs / f"instances/lowlat-verify-{os.getpid()}"
    # The instance of a killed verify: no process has this number.
    left = tracefs / f"instances/lowlat-verify-{2**22 + 1}"
    left.mkdir()
    with traced.recording(cpu, (tracefs,)) as seen:
        assert own.is_dir() and not left.exists()
        assert int((own / "buffer_size_kb").read_text().split()[0]) < 64
        assert (own / "events/timer/tick_stop/enable").read_text() == "1\n"
        assert "success == 0" in (own / "events/timer/tick_stop/filter").read_text()
    assert not own.exists()
    assert seen.errors == {} and {where for where, _, _ in seen.seen} <= cpu.ids


#: A process on two CPUs that unmaps pages until it is killed: each time, one CPU must interrupt the
#: other, which computes without Python's lock.
SHOOT_DOWNS = """
import hashlib, mmap, os, sys, threading, time
here, there = map(int, sys.argv[1:])
def compute():
    os.sched_setaffinity(0, [there])
    while True: hashlib.pbkdf2_hmac("sha256", b"", b"", 10**7)
threading.Thread(target=compute, daemon=True).start()
os.sched_setaffinity(0, [here])
while True:
    page = mmap.mmap(-1, 4096)
    page[0] = 1
    page.close()
    time.sleep(0.001)
"""


@pytest.mark.root
@needs.root("the kernel's trace")
def test_the_kernel_names_who_sends(tracefs: Path) -> None:
    """The kernel is the oracle."""
    here, there, *_ = [*sorted(os.sched_getaffinity(0)), -1]
    if there < 0 or not (tracefs / "events/ipi/ipi_send_cpu").is_dir():
        needs.absent("needs two CPUs and a kernel from 6.4 on")
    argv = [sys.executable, "-c", SHOOT_DOWNS, str(here), str(there)]
    with subprocess.Popen(argv) as child:
        try:
            with traced.recording(CpuSet.of([there]), (tracefs,)) as seen:
                waits.until(lambda: has_sent(tracefs, child.pid), "nothing is sent")
        finally:
            child.kill()
    assert seen.errors == {}
    own = [key for key in seen.seen if f"({child.pid})" in key[2]]
    assert {cpu for cpu, _, _ in own} == {there}, seen
    assert any(who.startswith(f"CPU {here}, ") and " from " in who for _, _, who in own), own


def has_sent(tracefs: Path, pid: int) -> bool:
    """Whether the trace that is being recorded has an interrupt that the process sends."""
    recorded = tracefs / f"instances/lowlat-verify-{os.getpid()}/trace"
    lines = (line for line in recorded.read_text().splitlines() if ": ipi_send_" in line)
    return any(f"-{pid} " in line for line in lines)


def test_a_kernel_without_the_events_is_told_so(tmp_path: Path) -> None:
    """A folder that looks like the tracefs of a kernel before 6.4 and of one that has no event."""
    instance = tmp_path / f"instances/lowlat-verify-{os.getpid()}"
    instance.parent.mkdir()
    with traced.recording(CPUS, (tmp_path,)) as seen:
        (instance / "trace").write_text(TRACE)
    assert "does not have the event ipi:ipi_send_cpu" in seen.errors["CAL"]
    assert "does not have the event timer:tick_stop" in seen.errors["TICK"]
