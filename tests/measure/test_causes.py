# SPDX-License-Identifier: GPL-2.0-or-later
"""Gaps are joined with their causes, from the kernel's text."""

from __future__ import annotations

import json
import tempfile
import tracemalloc
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowlat.base.errors import LowlatError
from lowlat.measure.causes.attribution import attach
from lowlat.measure.causes.capture import GapTimes
from lowlat.measure.causes.join import Join
from lowlat.measure.causes.timeline import Contexts
from lowlat.measure.causes.wakers import Wakers
from lowlat.model.cpuset import CpuSet
from lowlat.trace.clock import ClockPair
from lowlat.trace.ftrace import parse, parse_switch
from lowlat.trace.senders import Senders

#: The detector's thread in the texts below; one tick is one ns.
SPINNER = 77
CLOCK = ClockPair((0, 0), (10**9, 10**9))


def line(at: int, what: str, pid: int = SPINNER, comm: str = "lowlat-measure", cpu: int = 1) -> str:
    return f"  {comm}-{pid}   [{cpu:03d}] d.h.. {at}: {what}"


def switch(at: int, before: tuple[str, int], after: tuple[str, int]) -> str:
    what = (
        f"sched_switch: prev_comm={before[0]} prev_pid={before[1]} prev_prio=120 prev_state=R "
        f"==> next_comm={after[0]} next_pid={after[1]} next_prio=120"
    )
    return line(at, what, before[1], before[0])


SPIN = ("lowlat-measure", SPINNER)


def explained(
    folder: Path,
    lines: list[str],
    gaps: list[tuple[int, int]],
    *,
    sent: list[str] | None = None,
    entries: dict[str, float] | None = None,
    told: Mapping[str, Any] | None = None,
    window: Mapping[str, int] | None = None,
    policy: str = "other",
    **more: Any,
) -> dict[str, Any]:
    """One CPU of a run of one second with these gaps and this trace."""
    cpu = {"cpu": 1, "thread": SPINNER, "begin": 0, "end": 10**9}
    capture = {
        "schema": "lowlat.run-capture/1", "observer": "trace", "clock": "x86-tsc",
        "first": [0, 0], "last": [10**9, 10**9], "begin_raw_ns": 0, "end_raw_ns": 10**9,
        "counted_ns": 10**9,
        "cpus": [{**cpu, "lost": 0, **more}],
        "missing": [], "senders_lost": 0,
    }  # fmt: skip
    (folder / "capture.json").write_text(json.dumps({**capture, **(window or {})}))
    (folder / "trace.1").write_text("# tracer: nop\n" + "\n".join(lines) + "\n")
    (folder / "trace.senders").write_text("\n".join(sent or []) + "\n")
    rows = "".join(f"1,{begin},{end}\n" for begin, end in gaps)
    (folder / "gaps.csv").write_text(f"cpu,begin,end\n{rows}")
    own = {"cpu": 1, "interrupts_per_s": entries or {}, **(told or {})}
    document: dict[str, Any] = {"policy": policy, "cpus": [own]}
    attach(document, folder, folder / "gaps.csv")
    found: dict[str, Any] = document["cpus"][0]
    found["notes"] = document["attribution"]["notes"]
    found["longest_gap"] = document.get("longest_gap")
    return found


def named(cpu: dict[str, Any]) -> list[tuple[str, int, int]]:
    """The classes, with how many events the kernel counted and how many the trace has."""
    classes = cpu["attribution"]["classes"].items()
    return [(kind, one["counted"], one["recorded"]) for kind, one in classes]


def table(cpu: dict[str, Any]) -> dict[str, tuple[int, int]]:
    return {
        f"{one['class']}: {one['cause']}": (one["events"], one["time_ns"]) for one in cpu["causes"]
    }


def test_interrupts_are_counted_for_as_long_as_the_counters_grew(tmp_path: Path) -> None:
    """On a busy host, time passes between a moment and the read of the counters."""
    lines = [
        line(1100, "local_timer_entry: vector=236"),
        line(1400, "local_timer_exit: vector=236"),
    ]
    window = {"end_raw_ns": 10 * 10**9}
    cpu = explained(tmp_path, lines, [(1000, 2000)], entries={"LOC": 1.0}, window=window)
    assert named(cpu) == [("irq", 1, 1)]


def test_nested_causes_are_net_of_each_other(tmp_path: Path) -> None:
    lines = [
        line(1100, "local_timer_entry: vector=236"),
        line(1150, "hrtimer_expire_entry: hrtimer=00000000086d function=tick_nohz_handler now=5"),
        line(1400, "local_timer_exit: vector=236"),
        line(1500, "softirq_entry: vec=1 [action=TIMER]"),
        line(1520, "timer_expire_entry: timer=000000000 function=tcp_orphan_update now=1 base=2"),
        line(1600, "irq_handler_entry: irq=36 name=virtio1-req.0"),
        line(1650, "irq_handler_exit: irq=36 ret=handled"),
        line(1800, "softirq_exit: vec=1 [action=TIMER]"),
    ]
    cpu = explained(tmp_path, lines, [(1000, 2000)])
    assert table(cpu) == {
        # The outermost event gets the time of its entry, of its exit and of everything between.
        "irq: local_timer (tick_nohz_handler)": (1, 300 + 100 + 100 + 200),
        "softirq: TIMER (tcp_orphan_update)": (1, 100 + 150),
        "irq: irq 36 virtio1-req.0": (1, 50),
    }
    assert sum(one["time_ns"] for one in cpu["causes"]) == 1000
    (longest,) = cpu["longest"]
    times = [link["time_ns"] for link in longest["chain"]]
    assert times == [one[1] for one in table(cpu).values()] == sorted(times, reverse=True)
    assert longest["length_ns"] == sum(link["time_ns"] for link in longest["chain"])
    assert [f"{link['class']}: {link['cause']}" for link in longest["chain"]] == [*table(cpu)]


def test_a_long_gap_is_told_by_its_largest_causes(tmp_path: Path) -> None:
    """Each cause once, with the sum of its time; those named have nine tenths of the gap."""
    lines, at = [], 1000
    for n in range(300):
        name = ("bash", 30) if n % 3 else (f"short-{n}", 100 + n)
        lines += [switch(at, SPIN, name), switch(at + 90, name, SPIN)]
        at += 100
    (gap,) = explained(tmp_path, lines, [(1000, at)])["longest"]
    first, *others, rest = gap["chain"]
    assert first == {"class": "thread", "cause": "bash", "time_ns": 200 * 90}
    assert (rest["class"], rest["time_ns"] / gap["length_ns"] <= 0.1) == ("others", True)
    assert [one["time_ns"] for one in others] == sorted(
        (one["time_ns"] for one in others), reverse=True
    )
    assert sum(link["time_ns"] for link in gap["chain"]) == gap["length_ns"] == at - 1000


def test_the_trace_around_the_longest_gap_is_kept(tmp_path: Path) -> None:
    begin, end = 50_000_000, 50_040_000
    lines = [
        line(begin - 2_000_000, "too_early: x=1"),
        *(line(begin - 900_000 + number, f"mark: n={number}") for number in range(150)),
        line(begin + 1000, "irq_handler_entry: irq=36 name=eth0"),
        switch(begin + 20_000, SPIN, ("hog", 9)),
        line(end + 50_000, "mark: n=after"),
        line(end + 200_000, "too_late: x=1"),
    ]
    gaps = [(1000, 2000), (begin, end), (60_000_000, 60_001_000)]
    kept = explained(tmp_path, lines, gaps)["longest_gap"]
    events = kept.pop("events")
    assert kept == {"cpu": 1, "begin_s": 0.05, "length_ns": 40_000, "left_out": 50}
    assert len(events) == 103 and events[0]["text"] == "n=50"
    irq, taken, after = events[-3:]
    assert irq == {
        "at_ns": 1000,
        "task": "lowlat-measure-77",
        "event": "irq_handler_entry",
        "text": "irq=36 name=eth0",
    }
    assert (taken["at_ns"], taken["event"]) == (20_000, "sched_switch")
    assert "next_comm=hog" in taken["text"] and (after["at_ns"], after["text"]) == (
        90_000,
        "n=after",
    )


def test_a_worker_is_named_by_its_work_and_one_more_work_is_one_more_cause(tmp_path: Path) -> None:
    worker = ("kworker/1:1", 9)
    work = "workqueue_execute_start: work struct 00000000f1: function {}"
    done = "workqueue_execute_end: work struct 00000000f1: function {}"
    lines = [
        switch(1100, SPIN, worker),
        line(1200, work.format("vmstat_update"), 9, "kworker/1:1"),
        line(1300, done.format("vmstat_update"), 9, "kworker/1:1"),
        line(1400, work.format("gc_worker [nf_conntrack]"), 9, "kworker/1:1"),
        line(1600, "local_timer_entry: vector=236", 9, "kworker/1:1"),
        line(1610, "local_timer_exit: vector=236", 9, "kworker/1:1"),
        switch(1700, worker, ("bash -1 [001] d", 12)),
        switch(1900, ("bash -1 [001] d", 12), worker),
        line(1950, done.format("gc_worker"), 9, "kworker/1:1"),
        switch(1980, worker, SPIN),
    ]
    assert table(explained(tmp_path, lines, [(1000, 2000)])) == {
        "thread: kworker/1:1 (vmstat_update)": (1, 100 + 300 + 20),
        "thread: kworker/1:1 (gc_worker)": (2, 200 + 90 + 80),
        "irq: local_timer": (1, 10),
        "thread: bash -1 [001] d": (1, 200),
    }


def test_an_interrupt_of_another_cpu_tells_where_it_was_sent(tmp_path: Path) -> None:
    sent = [
        line(900, "ipi_send_cpu: cpu=1 callsite=wakeup_preempt+0x92/0xa0 callback=0x0", 5, cpu=0),
        line(4000, "ipi_send_cpumask: cpumask=00000000,00000006 "
             "callsite=on_each_cpu_cond_mask+0x1d/0x30 callback=flush_tlb_func+0x0/0x1", 5, cpu=0),
        line(4100, "ipi_send_cpu: cpu=3 callsite=elsewhere+0x1/0x2 callback=0x0", 5, cpu=0),
    ]  # fmt: skip
    lines = [
        line(1100, "reschedule_entry: vector=253"),
        line(1200, "reschedule_exit: vector=253"),
        line(5100, "call_function_entry: vector=252"),
        line(5200, "call_function_exit: vector=252"),
        line(800_000_100, "call_function_entry: vector=252"),
        line(800_000_200, "call_function_exit: vector=252"),
    ]
    gaps = [(1000, 2000), (5000, 6000), (800_000_000, 800_001_000)]
    flush = " from on_each_cpu_cond_mask (flush_tlb_func)"
    assert table(explained(tmp_path, lines, gaps, sent=sent)) == {
        "ipi: IPI reschedule from wakeup_preempt, sent by lowlat-measure on CPU 0": (1, 1000),
        f"ipi: IPI function call{flush}, sent by lowlat-measure on CPU 0": (1, 1000),
        "ipi: IPI function call": (1, 1000),  # the interrupt has arrived and is not sent again
    }


def test_an_interrupt_of_arm64_is_named_by_its_reason(tmp_path: Path) -> None:
    lines = [
        line(1100, "irq_handler_entry: irq=1 name=IPI"),
        line(1120, "ipi_entry: (Rescheduling interrupts)"),
        line(1140, "ipi_exit: (Rescheduling interrupts)"),
        line(1160, "irq_handler_exit: irq=1 ret=handled"),
        line(1200, "irq_handler_entry: irq=11 name=arch_timer"),
        line(1220, "hrtimer_expire_entry: hrtimer=0 function=watchdog_timer_fn now=1"),
        line(1300, "irq_handler_exit: irq=11 ret=handled"),
    ]
    entries = {"IPI0": 1.0, "11:arch_timer": 1.0}
    cpu = explained(tmp_path, lines, [(1000, 2000)], entries=entries)
    assert table(cpu) == {
        "ipi: IPI rescheduling": (1, 900),
        "irq: irq 11 arch_timer (watchdog_timer_fn)": (1, 100),
    }
    assert [one["remedy"] for one in cpu["causes"]] == [None, "kernel.watchdog_cpumask"]
    assert named(cpu) == [("ipi", 1, 1), ("irq", 1, 1)]


def test_a_softirq_in_a_thread_is_taken_off_the_cpu_with_it(tmp_path: Path) -> None:
    """The case of PREEMPT_RT, where an interrupt's thread runs softirqs and may be preempted."""
    thread = ("irq/36-virtio1", 40)
    lines = [
        switch(1100, SPIN, thread),
        line(1200, "softirq_entry: vec=4 [action=BLOCK]", 40, "irq/36-virtio1"),
        switch(1300, thread, ("rcuc/1", 20)),
        switch(1500, ("rcuc/1", 20), thread),
        line(1600, "softirq_exit: vec=4 [action=BLOCK]", 40, "irq/36-virtio1"),
        switch(1700, thread, SPIN),
    ]
    window = {"realtime": True}
    assert table(explained(tmp_path, lines, [(1000, 1700)], window=window)) == {
        "thread: irq/36-virtio1": (2, 100 + 100 + 100),
        "softirq: BLOCK": (1, 200),
        "thread: rcuc/1": (1, 200),
    }


def test_nmi_fault_and_nothing_at_all(tmp_path: Path) -> None:
    lines = [
        line(1900, "nmi_handler: perf_event_nmi_handler() delta_ns: 600 handled: 1"),
        line(3100, "page_fault_user: address=0x7f ip=0x5 error_code=0x4"),
        switch(5100, SPIN, ("grep", 5)),
        line(5200, "page_fault_user: address=0x7f ip=0x5 error_code=0x4", 5, "grep"),
        switch(5300, ("grep", 5), SPIN),
    ]
    cpu = explained(tmp_path, lines, [(1000, 2000), (3000, 4000), (5000, 5400), (9000, 9500)])
    assert table(cpu) == {
        "nmi: perf_event_nmi_handler": (1, 1000),
        "exception: page fault user": (1, 1000),
        "thread: grep": (1, 400),  # the time of its own fault is its own
        "hardware-or-hypervisor: no kernel event": (1, 500),
    }
    assert cpu["attribution"]["gaps_with_cause"] == 3
    assert cpu["attribution"]["kernel_events"] == cpu["attribution"]["kernel_events_in_gaps"] == 5


def test_what_the_buffer_lost_is_told_by_class_and_blamed_on_nobody(tmp_path: Path) -> None:
    lines = [
        line(5100, "local_timer_exit: vector=236"),
        line(5200, "softirq_entry: vec=1 [action=TIMER]"),
        line(5300, "softirq_exit: vec=1 [action=TIMER]"),
        line(5400, "reschedule_entry: vector=253"),
        line(5500, "reschedule_exit: vector=253"),
        switch(7010, SPIN, ("bash", 5)),
        switch(7050, ("bash", 5), SPIN),
    ]
    told = {
        "softirqs_per_s": {"TIMER": 3.0, "RCU": 2.0},
        "switches_per_s": 4.0,
        "runtime_ns": 2 * 10**9,
    }
    gaps = [(1000, 2000), (5000, 6000), (7000, 7100), (9000, 9100)]
    entries = {"LOC": 5.0, "36:eth0": 1.0, "RES": 1.0, "total": 7.0}
    cpu = explained(tmp_path, lines, gaps, lost=12, entries=entries, told=told)
    # The second gap began before the first kept event.
    assert table(cpu)["not-recorded: the trace's buffer was full"] == (1, 1000)
    assert table(cpu)["hardware-or-hypervisor: no kernel event"] == (1, 100)
    full, senders = cpu["notes"][-2:]
    assert full == (
        "CPU 1: 12 records were lost: the buffer was full; the trace has 0 of 6 of class irq, "
        "1 of 5 of class softirq, 1 of 8 of class thread"
    )
    assert senders == "CPU 1: the senders of 0 of 1 IPIs are known"
    sums = cpu["attribution"]
    assert (sums["records_lost"], sums["ipis"], sums["ipis_with_sender"]) == (12, 1, 0)
    # Lost before the measurement, they are none of its events.
    whole = explained(tmp_path, [lines[3], lines[4]], gaps, lost=3, entries={"RES": 1.0})
    assert whole["notes"][0].endswith("the buffer was full; each class is whole")


def test_entries_are_compared_with_what_the_kernel_counted(tmp_path: Path) -> None:
    lines = [
        line(1100, "local_timer_entry: vector=236"),
        line(1200, "local_timer_exit: vector=236"),
        line(1300, "call_function_single_entry: vector=251"),
        line(1400, "call_function_single_exit: vector=251"),
    ]
    entries = {"LOC": 1.0, "CAL": 1.0, "TLB": 1.0, "36:eth0": 2.0, "total": 5.0}
    # A TLB shoot-down is one of the function calls; the two interrupts of irq 36 have no event.
    assert named(explained(tmp_path, lines, [(1000, 2000)], entries=entries)) == [
        ("irq", 3, 1),
        ("ipi", 1, 1),
    ]


#: The stack of a wake-up as the kernel prints it (6.18).
STACK = """ => trace_event_raw_event_sched_wakeup_template
 => try_to_wake_up
 => cpu_stop_queue_work
 => stop_one_cpu
 => {}.isra.0
 => bprm_execve
"""


def test_a_stopper_and_a_hotplug_thread_tell_who_called_them(tmp_path: Path) -> None:
    stopper, hotplug = ("migration/1", 20), ("cpuhp/1", 21)
    woken = "sched_waking: comm={} pid={} prio=0 target_cpu=001"
    sent = [
        line(900, woken.format(*stopper), 5, "sh", cpu=0),
        line(905, woken.format("migration/2", 30), 6, "elsewhere", cpu=2),
        line(910, "<stack trace>", 5, "sh", cpu=0),
        STACK.format("sched_exec").rstrip(),
        line(2900, woken.format(*stopper), 8, "<...>", cpu=0),
        line(4900, woken.format(*hotplug), 9, "bash", cpu=0),
        line(4910, "<stack trace>", 9, "bash", cpu=0),
        " => try_to_wake_up\n => __cpuhp_kick_ap\n => _cpu_down",
    ]
    step = "cpuhp_enter: cpu: 0001 target:  42 step: 38 (smpboot_park_threads)"
    lines = [
        switch(1100, SPIN, stopper), switch(1200, stopper, SPIN),
        switch(3100, SPIN, stopper), switch(3200, stopper, SPIN),
        switch(5100, SPIN, hotplug),
        line(5120, step, 21, "cpuhp/1"),
        switch(5200, hotplug, SPIN),
        switch(7100, SPIN, stopper), switch(7200, stopper, SPIN),
    ]  # fmt: skip
    gaps = [(1000, 2000), (3000, 4000), (5000, 6000), (7000, 8000)]
    cpu = explained(tmp_path, lines, gaps, sent=sent)
    assert table(cpu) == {
        "thread: migration/1 from sched_exec, woken by sh on CPU 0": (1, 1000),
        "thread: migration/1, woken by task 8 on CPU 0": (1, 1000),
        "thread: cpuhp/1 (smpboot_park_threads) from _cpu_down, woken by bash on CPU 0": (1, 1000),
        "thread: migration/1": (1, 1000),  # each wake-up is one stay's
    }
    remedies = {one["cause"].partition(",")[0]: one["remedy"] for one in cpu["causes"]}
    assert (remedies["migration/1 from sched_exec"], remedies["migration/1"]) == ("isolcpus", None)


@pytest.mark.parametrize(
    ("policy", "setting"), [("other", None), ("fifo:1", "kernel.sched_rt_runtime_us")]
)
def test_an_idle_cpu_is_throttled_only_under_a_real_time_policy(
    tmp_path: Path, policy: str, setting: str | None
) -> None:
    lines = [switch(1100, SPIN, ("swapper/1", 0)), switch(1900, ("swapper/1", 0), SPIN)]
    (cause,) = explained(tmp_path, lines, [(1000, 2000)], policy=policy)["causes"]
    assert (cause["cause"], cause["remedy"]) == ("idle", setting)


def test_a_clock_in_microseconds_is_converted_and_given_its_slack(tmp_path: Path) -> None:
    """The case without the TSC: the kernel truncates CLOCK_MONOTONIC_RAW to microseconds."""
    (event,) = parse(["  x-77  [001] d.h.. 2.000004: reschedule_entry: vector=253"], CLOCK)
    assert event.time == 2_000_004_000
    arm = ClockPair((500, 1_000_000_000), (24_000_500, 2_000_000_000))  # 24 MHz
    (event,) = parse(["  x-77  [001] d.h.. 1.500000: ipi_entry: (Rescheduling interrupts)"], arm)
    assert event.time == 12_000_500


def test_a_task_cannot_forge_an_event() -> None:
    text = "   -1 [000] d 1: x-88   [001] d..2. 500: local_timer_entry: vector=236"
    (event,) = parse([text], CLOCK)
    assert (event.time, event.pid) == (500, 88)
    found = parse_switch(
        "prev_comm=a next_pid=1 b prev_pid=7 prev_prio=120 prev_state=R+ ==> "
        "next_comm=x ==> y next_pid=8 next_prio=98"
    )
    assert found is not None and (found.before, found.after) == (7, 8)


def test_periods_are_looked_for_in_each_class_of_causes(tmp_path: Path) -> None:
    """The tick does not hide the occasional work of a thread."""
    worker, step = ("kworker/1:1", 9), 10**9 // 250
    lines, gaps = [], []
    for at in range(10**6, 10**9, step):
        lines += [line(at, "local_timer_entry: vector=236"), line(at + 9, "local_timer_exit: x")]
        gaps.append((at - 100, at + 100))
    for at in range(3 * 10**6, 10**9, 10**8):
        lines += [switch(at, SPIN, worker), switch(at + 50, worker, SPIN)]
        gaps.append((at - 100, at + 100))
    lines.sort(key=lambda text: int(text.split(": ")[0].split()[-1]))
    cpu = explained(tmp_path, lines, sorted(gaps))
    told = [(one["name"], one["frequency_hz"], one["cause"]) for one in cpu["periods"]]
    assert told == [
        ("every 4 ms", 250.0, "irq: local_timer"),
        ("every 100 ms", 10.0, "thread: kworker/1:1"),
    ]


#: A trace in which everything has its partner: each event with the begin and the end of its stay.
PAIRED = (
    (1100, 1400, "local_timer_{}: vector=236", SPIN),
    (1500, 1800, "softirq_{}: vec=1 [action=TIMER]", SPIN),
    (1600, 1650, "irq_handler_{}: irq=36 name=virtio1-req.0 ret=handled", SPIN),
    (3000, 3800, "", ("backup", 5)),
    (3100, 3400, "softirq_{}: vec=4 [action=BLOCK]", ("backup", 5)),
    (3200, 3250, "reschedule_{}: vector=253", ("backup", 5)),
    (3800, 3900, "", ("rcuc/1", 20)),
    (5000, 5040, "local_timer_{}: vector=236", SPIN),
    (700_000, 700_090, "softirq_{}: vec=4 [action=BLOCK]", SPIN),
    (800_000, 800_050, "local_timer_{}: vector=236", SPIN),
)
PAIRED_GAPS = [(1000, 2000), (2990, 3910), (4990, 5050), (699_990, 700_100), (799_990, 800_060)]


def _paired() -> list[tuple[int, int, str]]:
    """The events in order: its time, how much a class may grow without it, and its line."""
    events = [(3900, 100, switch(3900, ("rcuc/1", 20), SPIN))]
    before = SPIN
    for begin, end, what, task in PAIRED:
        if not what:
            events.append((begin, end - begin, switch(begin, before, task)))
            before = task
            continue
        for at, half in ((begin, "entry"), (end, "exit")):
            events.append((at, end - begin, line(at, what.format(half), task[1], task[0])))
    return sorted(events)


@pytest.mark.parametrize("realtime", [False, True])
def test_without_any_one_event_no_class_gets_more_than_its_stay(
    tmp_path: Path, *, realtime: bool
) -> None:
    """A note says so where time is missing. What no event covers, the way in and out, is the
    outermost stay's."""

    def classes(lines: list[str]) -> tuple[Counter[str], list[str]]:
        window = {"realtime": realtime}
        what = "ipi_send_cpu: cpu=1 callsite=wakeup_preempt+0x92/0xa0 callback=0x0"
        sent = [line(3150, what, 5, cpu=0)]
        cpu = explained(tmp_path, lines, PAIRED_GAPS, sent=sent, window=window)
        times: Counter[str] = Counter()
        for one in cpu["causes"]:
            times[one["class"]] += one["time_ns"]
        return times, cpu["notes"]

    events = _paired()
    whole, notes = classes([text for _, _, text in events])
    assert (whole["not-recorded"], notes) == (0, [])
    for left_out, (at, stay, _) in enumerate(events):
        rest = [text for place, (_, _, text) in enumerate(events) if place != left_out]
        times, notes = classes(rest)
        (gap,) = ((begin, end) for begin, end in PAIRED_GAPS if begin <= at < end)
        ways = min(e[0] for e in events if e[0] >= gap[0]) - gap[0]
        ways += gap[1] - max(e[0] for e in events if e[0] <= gap[1])
        lost = times.pop("not-recorded", 0)
        assert not lost or "lacks the begin or the end of stays" in notes[0]
        assert all(grown <= stay + ways for grown in (times - whole).values()), (at, times - whole)
        assert lost + sum(times.values()) == sum(whole.values())


def test_a_switch_ends_a_softirq_unless_the_kernel_is_realtime(tmp_path: Path) -> None:
    """One exit that is lost makes no seconds of softirqs (kernel/softirq.c)."""
    lines = [
        line(1000, "softirq_entry: vec=4 [action=BLOCK]"),
        line(1400, "softirq_exit: vec=4 [action=BLOCK]"),
        line(1450, "softirq_entry: vec=4 [action=BLOCK]"),
        switch(1500, SPIN, ("backup", 5)),
        switch(7_000_000, ("backup", 5), SPIN),
        switch(7_500_000, SPIN, ("backup", 5)),
        switch(8_000_000, ("backup", 5), SPIN),
    ]
    cpu = explained(tmp_path, lines, [(990, 7_000_010), (7_400_000, 8_000_010)])
    assert table(cpu)["softirq: BLOCK"][1] < 600
    assert table(cpu)["thread: backup"][1] > 7_400_000
    (note,) = cpu["notes"]
    assert note.startswith("CPU 1: the trace lacks the begin or the end of stays: ")


def test_a_cause_tells_its_longest_event(tmp_path: Path) -> None:
    begins = {1000: 300, 2000: 700, 3000: 400}
    lines = [
        line(at, f"local_timer_{what}: vector=236")
        for begin, length in begins.items()
        for at, what in ((begin + 10, "entry"), (begin + length - 10, "exit"))
    ]
    gaps = [*((begin, begin + length) for begin, length in begins.items()), (5000, 5900)]
    causes = explained(tmp_path, lines, gaps)["causes"]
    assert [(one["class"], one["events"], one["time_ns"], one["max_ns"]) for one in causes] == [
        ("irq", 3, 1400, 700),
        ("hardware-or-hypervisor", 1, 900, 900),
    ]


def test_a_softirq_that_loses_its_end_later_has_no_time_in_earlier_gaps(tmp_path: Path) -> None:
    """PREEMPT_RT switches away from a softirq: gaps end before it does."""
    lines, gaps, server = [], [], ("ksoftirqd/1", 16)
    for at in range(1000, 1_200_000, 1000):
        gaps.append((at, at + 500))
        lines += [switch(at, SPIN, server), switch(at + 500, server, SPIN)]
    lines.insert(1, line(1001, "softirq_entry: vec=1 [action=TIMER]", server[1], server[0]))
    cpu = explained(tmp_path, lines, gaps, window={"realtime": True})
    assert table(cpu)["not-recorded: the trace lacks an event"] == (1, 499 + 500 * 1198)
    assert "softirq: TIMER" not in table(cpu)


def test_a_trace_is_joined_without_being_kept() -> None:
    """A trace has millions of events: what lies behind is summed up, inside gaps and between."""

    def lines(begins: range) -> Iterator[str]:
        for at in begins:
            yield line(at, "local_timer_entry: vector=236")
            yield line(at + 50, f"hrtimer_expire_entry: function=timer{at % 5} now=5")
            yield line(at + 100, "local_timer_exit: vector=236")

    def peak(count: int) -> int:
        begins = range(1000, 1000 + 1001 * count, 1001)
        gaps = GapTimes(*(array("q", (at + end for at in begins[::2])) for end in (0, 100)))
        senders = Senders([], CpuSet.of([1]), CLOCK)
        contexts = Contexts(SPINNER, senders, Wakers([]), CLOCK)
        settled: Counter[str] = Counter()
        tracemalloc.start()
        join = Join(gaps, 0, 0, lambda one: settled.update([one.cause]))
        joined = join.of(contexts, parse(lines(begins), CLOCK))
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert (joined.explained, sum(settled.values())) == (len(gaps), count)
        return most

    peak(100)
    assert peak(1200) - peak(200) < 1000 * 50


WHATS = (
    "local_timer_entry: vector=236", "local_timer_exit: vector=236",
    "hrtimer_expire_entry: hrtimer=0 function=tick_nohz_handler now=1",
    "irq_handler_entry: irq=3 name=eth0", "irq_handler_exit: irq=3 ret=handled",
    "softirq_entry: vec=1 [action=TIMER]", "softirq_exit: vec=1 [action=TIMER]",
    "nmi_handler: perf_event_nmi_handler() delta_ns: 300 handled: 1",
    "page_fault_user: address=0x7f ip=0x5 error_code=0x4",
    "workqueue_execute_start: work struct 0: function vmstat_update",
    "workqueue_execute_end: work struct 0: function vmstat_update",
    "reschedule_entry: vector=253", "reschedule_exit: vector=253", "something_else: a=b",
)  # fmt: skip

TASKS = (SPIN, ("kworker/1:1", 9), ("rcuc/1", 20))


@given(data=st.data())
def test_whatever_the_trace_says_the_causes_add_up_to_the_gaps(data: st.DataObject) -> None:
    """Lost events are no exception: ends without a beginning, tasks that change without a
    switch."""
    edges = sorted(data.draw(st.sets(st.integers(1, 5000), min_size=2, max_size=12)))
    gaps = list(zip(edges[::2], edges[1::2]))
    lines = []
    for at in sorted(data.draw(st.lists(st.integers(1, 5000), max_size=30))):
        task = data.draw(st.sampled_from(TASKS))
        what = data.draw(st.sampled_from((*WHATS, "switch")))
        to = data.draw(st.sampled_from(TASKS))
        plain = what != "switch"
        lines.append(line(at, what, task[1], task[0]) if plain else switch(at, task, to))
    with tempfile.TemporaryDirectory() as folder:
        cpu = explained(Path(folder), lines, gaps)
    assert sum(one["time_ns"] for one in cpu["causes"]) == sum(e - b for b, e in gaps)
    lengths = sorted((end - begin for begin, end in gaps), reverse=True)[:10]
    assert [one["length_ns"] for one in cpu["longest"]] == lengths
    assert all(one["time_ns"] >= 0 and one["events"] >= 0 for one in cpu["causes"])


@given(st.text(max_size=200))
def test_any_line_is_an_event_or_nothing(text: str) -> None:
    for event in parse(
        [text, f"x-1 [001] d 5: {text}", f"x-1 [001] d 5: sched_switch: {text}"], CLOCK
    ):
        assert isinstance(event.symbol("function") + event.field("irq") + event.work, str)
        parse_switch(event.text)


def test_where_nothing_may_be_recorded_that_is_said(tmp_path: Path) -> None:
    explained(tmp_path, [], [(1000, 2000)])
    capture = json.loads((tmp_path / "capture.json").read_text())
    (tmp_path / "capture.json").write_text(json.dumps({**capture, "observer": "none"}))
    document: dict[str, Any] = {"cpus": [{"cpu": 1}]}
    attach(document, tmp_path, tmp_path / "gaps.csv")
    assert document["cpus"][0]["causes"] == []
    assert document["attribution"]["observer"] == "none"
    assert "could not be recorded" in document["attribution"]["notes"][0]


def test_a_damaged_folder_is_named(tmp_path: Path) -> None:
    explained(tmp_path, [], [])
    (tmp_path / "gaps.csv").write_text("cpu,begin,end\n1,2\n")
    with pytest.raises(LowlatError, match=r"gaps\.csv: not a table"):
        attach({"cpus": []}, tmp_path, tmp_path / "gaps.csv")
    (tmp_path / "trace.1").unlink()
    (tmp_path / "gaps.csv").write_text("cpu,begin,end\n")
    with pytest.raises(LowlatError, match=r"trace\.1"):
        attach({"cpus": [{"cpu": 1}]}, tmp_path, tmp_path / "gaps.csv")
