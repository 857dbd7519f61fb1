# SPDX-License-Identifier: GPL-2.0-or-later
"""The setting named for a cause is one that the kernel lets remove it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lowlat.catalogue import CATALOGUE, remedies, remedy
from lowlat.catalogue.remedies import Remedies, Thread
from lowlat.host.root import Root
from lowlat.probe.devices import read_interrupts
from support.machines import write_tree

#: A cause, and its setting: "" where none of lowlat's removes it. The places are the kernel's.
CAUSES = {
    "thread: sugov:4": "scaling_governor",  # bound to its CPUs: kernel/sched/cpufreq_schedutil.c
    "thread: cpuhp/4": "",  # bound to its CPU: kernel/cpu.c
    "thread: migration/4": "",
    "thread: migration/4 from sched_exec, woken by sh on CPU 0": "isolcpus",
    "thread: migration/4 from sched_balance_rq, woken by task 0 on CPU 0": "isolcpus",
    "thread: migration/4 from watchdog_timer_fn, woken by x on CPU 4": "kernel.watchdog_cpumask",
    "thread: migration/4 from affine_move_task, woken by taskset on CPU 0": "",  # someone's wish
    "thread: cpuhp/4 (smpboot_park_threads) from _cpu_down, woken by bash on CPU 0": "",
    "thread: ksoftirqd/4": "",
    "thread: idle": "kernel.sched_rt_runtime_us",  # real-time throttling: kernel/sched/rt.c
    "thread: irq/45-eth0": "irq.smp_affinity",  # follows its interrupt: kernel/irq/manage.c
    "thread: ksmd": "ksm.run",
    "thread: khugepaged": "khugepaged.defrag",
    "thread: kcompactd0": "vm.compaction_proactiveness",
    "thread: rcu_preempt": "kthread.affinity",
    "thread: rcuop/4": "kthread.affinity",  # rcu_nocbs makes it
    "thread: rcuc/4": "rcu_nocbs",
    "thread: postgres": "",  # the name alone tells nothing
    "thread: kworker/4:1 (vmstat_update)": "vm.stat_interval",
    "thread: kworker/4:1 (lru_add_drain_per_cpu)": "",  # queued to this CPU: mm/swap.c
    "thread: kworker/4:1 (drain_local_stock)": "",  # mm/memcontrol.c
    "thread: kworker/4:1 (dbs_work_handler)": "scaling_governor",
    "thread: kworker/4:1 (gc_worker)": "workqueue.power_efficient",
    "thread: kworker/1:2 (intel_gt_retire_work_handler)": "",  # a bound worker: no mask applies
    "thread: kworker/u17:2 (intel_runtime_pm_work)": "workqueue.cpumask",
    "thread: kworker/u8:0 (wb_workfn)": "workqueue.writeback.cpumask",
    "nmi: perf_event_nmi_handler": "kernel.nmi_watchdog",
    "nmi: nmi_cpu_backtrace_handler": "",  # someone asked for it: lib/nmi_backtrace.c
    "nmi: hpwdt_pretimeout": "",  # a card: drivers/watchdog/hpwdt.c
    "irq: local_timer (tick_nohz_handler)": "nohz_full",
    "irq: local_timer (tick_sched_timer)": "nohz_full",
    "irq: local_timer (watchdog_timer_fn)": "kernel.watchdog_cpumask",
    "irq: local_timer (dl_task_timer)": "fair_server",
    "irq: local_timer (perf_mux_hrtimer_handler)": "",  # pinned: kernel/events/core.c
    "irq: local_timer (sched_rt_period_timer)": "kernel.sched_rt_runtime_us",
    "irq: hyperv_stimer0": "nohz_full",  # the tick: drivers/clocksource/hyperv_timer.c
    "irq: irq 0 timer": "nohz_full",  # its mask refuses writes: arch/x86/kernel/time.c
    "irq: irq 130 nvme0q5": "isolcpus",  # managed: its mask refuses writes
    "irq: irq 36 eth0": "irq.smp_affinity",
    "irq: THR": "",
    "softirq: TIMER": "nohz_full",
    "softirq: TIMER (clocksource_watchdog)": "tsc",
    "softirq: TIMER (mce_timer_fn)": "machinecheck.check_interval",
    "softirq: TIMER (some_pinned_timer)": "",
    "softirq: NET_RX": "irq.smp_affinity",
    "softirq: RCU": "rcu_nocbs",
    "ipi: IPI reschedule": "",
    "ipi: IPI function call from smp_call_function_single (__rdmsr_on_cpu)": "",
    "ipi: IPI function call from smp_call_function_many_cond (do_kernel_range_flush)": "",
    "ipi: IPI function call (rcu_exp_handler)": "rcupdate.rcu_normal_after_boot",
    "hardware-or-hypervisor: no kernel event": "",
    "exception: page fault user": "",
}


def test_each_cause_has_the_setting_that_removes_it() -> None:
    assert {cause: remedy(cause) or "" for cause in CAUSES} == CAUSES


@pytest.mark.parametrize("kind", ["irq", "softirq", "nmi", "thread", "exception", "ipi"])
def test_no_class_has_a_setting_for_whatever_is_in_it(kind: str) -> None:
    assert [remedy(f"{kind}: {name}") for name in ("", "x", "another one", "9", "x (y)")] == [
        None
    ] * 5


def test_each_pattern_tells_its_place_in_the_kernel_and_can_match() -> None:
    classes = ("irq: ", "softirq: ", "nmi: ", "thread: ", "ipi: ")
    patterns = {pattern: place for one in CATALOGUE for pattern, place in one.silences.items()}
    assert [pattern for pattern in patterns if not pattern.startswith(classes)] == []
    assert [
        pattern for pattern, place in patterns.items() if not re.search(r"\w\.[ch]\b", place)
    ] == []


@pytest.mark.parametrize(
    ("name", "thread", "setting"),
    [
        ("postgres", Thread.USER, "isolcpus"),
        ("ksmd", Thread.USER, "isolcpus"),  # a user's program may have any name
        ("jbd2/sda1-8", Thread.UNBOUND, "kthread.affinity"),
        ("ksmd", Thread.UNBOUND, "ksm.run"),
        ("cryptd", Thread.BOUND, None),
        ("kswapd0", Thread.BOUND, None),
        ("sugov:4", Thread.BOUND, "scaling_governor"),
        ("kworker/u9:0", Thread.BOUND, "workqueue.cpumask"),
    ],
)
def test_a_thread_of_a_known_kind_has_what_moves_its_kind(
    name: str, thread: Thread, setting: str | None
) -> None:
    assert Remedies().of_thread(name, thread) == setting
    assert Remedies(threads={name: thread}).of("thread", name) == setting
    if setting:
        assert Remedies(frozenset({setting})).of_thread(name, thread) != setting


def test_a_host_tells_its_threads_and_the_interrupts_that_stay(tmp_path: Path) -> None:
    def stat(pid: int, name: str, flags: int) -> dict[str, str]:
        text = f"{pid} ({name}) S 2 0 0 0 -1 {flags} {'0 ' * 36}\n"
        return {f"proc/{pid}/task/{pid}/stat": text}

    rows = ("44: 1 PCI-MSIX-0 4-edge mpi3mr0", "45: 1 PCI-MSIX-0 5-edge eth0", "8: 1 IO-APIC rtc0")
    masks = {f"proc/irq/{number}/smp_affinity": "1\n" for number in (44, 45, 8)}
    tree = {"proc/interrupts": "CPU0\n" + "".join(f" {row}\n" for row in rows), **masks}
    tree |= stat(9, "jbd2", 0x200000) | stat(10, "both", 0x200000) | stat(11, "both", 0)
    tree |= stat(12, "cryptd", 0x4200000) | stat(13, "postgres", 0)
    for number in (44, 8):
        (write_tree(tmp_path, tree) / f"proc/irq/{number}/smp_affinity").chmod(0o444)
    root = Root(str(tmp_path))
    fixed = remedies.fixed(read_interrupts(root))
    known = Remedies(frozenset({"nohz_full"}), fixed, remedies.threads(root))
    causes = [
        *(("irq", f"irq {number} x") for number in (44, 45, 8)),
        *(("thread", name) for name in ("irq/44-x", "jbd2", "both", "cryptd", "postgres")),
        ("softirq", "TIMER"),
    ]
    assert [known.of(*cause) for cause in causes] == [
        *("isolcpus", "irq.smp_affinity", None),
        *("isolcpus", "kthread.affinity", None, None, "isolcpus"),
        None,
    ]
