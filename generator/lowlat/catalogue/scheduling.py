# SPDX-License-Identifier: GPL-2.0-or-later
"""Scheduler: preemption, priorities, protection from starvation, placement of tasks."""

from typing import Optional

from lowlat.catalogue.entry import (
    PARAMETERS,
    Evidence,
    EvidenceKind,
    Need,
    Risk,
    Target,
    Tunable,
    Value,
    ValueFormat,
)
from lowlat.catalogue.needs import (
    ISOLATION,
    REALTIME,
    built_in,
    config,
    done_by,
    done_by_realtime,
    feature,
)
from lowlat.kernel import facts
from lowlat.model.machine import Kernel

FAIR_SERVER = "/sys/kernel/debug/sched/fair_server"

#: The causes of the fair server's interrupts on isolated CPUs.
_BY_SERVER = dict.fromkeys(
    ("irq: * (*dl_task_timer*", "ipi: * from *dl_task_timer*", "ipi: * from start_dl_timer*"),
    "kernel/sched/deadline.c dl_server_start()",
)
_SERVED = (
    ISOLATION,
    config("DEBUG_FS"),
    feature(FAIR_SERVER, "deadline server"),
    # Seen in 6.12.118: a warning of task_non_contending(), and then refusals.
    Need(
        lambda target: not (target.as_booted and "cpuset.partition" in target.enabled),
        "the kernel miscounts the server's bandwidth if the CPU is busy, as it may be when it is "
        "isolated without a boot (kernel/sched/debug.c sched_fair_server_write())",
        wants="CPUs isolated since the boot",
    ),
    Need(
        lambda target: target.machine.firmware.locked_down is not True,
        "the kernel is locked down, for example by Secure Boot: debugfs cannot be written",
        wants="a kernel that is not locked down",
    ),
)


def _full_already(target: Target) -> Optional[str]:
    config = target.kernel.config
    if config is not None and config.options.get("PREEMPT") == "y":
        return "the kernel is built fully preemptible"
    return "PREEMPT_RT kernels are fully preemptible" if target.kernel.realtime else None


_THROTTLES = "real-time tasks are throttled"


def throttles(kernel: Kernel) -> bool:
    """Whether this kernel throttles real-time tasks by sched_rt_runtime_us."""
    groups = kernel.config is not None and kernel.config.enabled("RT_GROUP_SCHED")
    return groups or facts.has(_THROTTLES, kernel.release) is not False


def _throttles_nothing(target: Target) -> Optional[str]:
    if throttles(target.kernel):
        return None
    since = f"since Linux {facts.bound(_THROTTLES)}"
    return f"{since}, no real-time task is throttled (kernel/sched/rt.c): see fair_server"


ENTRIES = (
    Tunable(
        name="preempt",
        why="lets the kernel be preempted nearly everywhere, which shortens scheduling delays on "
        "CPUs with several tasks; a lone task on an isolated CPU gains nothing",
        source=f"{PARAMETERS} preempt=; kernel/sched/core.c",
        value="full",
        needs=(config("PREEMPT_DYNAMIC"),),
        unneeded=_full_already,
        cost="less throughput for kernel-heavy work",
        risk=Risk.THROUGHPUT,
        # none and voluntary are rejected from 7.0 on; lazy exists from 6.13 on.
        accepts=r"full",
        sign=Evidence(
            path="/sys/kernel/debug/sched/preempt",
            part=r"\((\w+)\)",
            proof=r"Dynamic Preempt: (\w+)",
            contradiction=r"Dynamic Preempt: unsupported",
        ),
    ),
    Tunable(
        name="threadirqs",
        why="runs interrupt handlers as threads, so that their priority can be set",
        source=f"{PARAMETERS} threadirqs; include/linux/interrupt.h",
        value="",
        needs=(config("IRQ_FORCED_THREADING"),),
        unneeded=done_by_realtime("PREEMPT_RT kernels thread all interrupts"),
        cost="a context switch for each interrupt, and thread priorities that someone has to plan",
        risk=Risk.THROUGHPUT,
        evidence="kernel threads irq/N exist for drivers that create none; threads that a driver "
        "creates itself prove nothing",
        sign=Evidence(shows=EvidenceKind.FORCED_THREADS),
    ),
    Tunable(
        name="systemd.cpu_affinity",
        why="starts systemd and every service on the housekeeping CPUs",
        source="systemd(1), kernel command line; systemd-system.conf(5) CPUAffinity=",
        evidence="Cpus_allowed_list in /proc/1/status equals the housekeeping CPUs",
        value="{housekeeping}",
        stands_in=("cpuset.partition",),
        needs=(ISOLATION,),
        unneeded=done_by(
            ("cpuset.partition", "isolcpus"),
            "{} keeps unpinned tasks off the isolated CPUs",
        ),
        cost="services run on isolated CPUs only with their own CPUAffinity=; without systemd as "
        "the first process, nothing happens",
        risk=Risk.THROUGHPUT,
        sign=Evidence(
            path="/proc/1/status",
            part=r"^Cpus_allowed_list:\s*(\S+)",
            reads=ValueFormat.LIST,
            cpus=lambda effect: effect.services,
        ),
    ),
    Tunable(
        name="psi",
        silences={
            "thread: psimon*": "kernel/sched/psi.c psi_trigger_create()",
            "thread: kworker/* (*psi_avgs_work*": "kernel/sched/psi.c psi_avgs_work()",
        },
        why="switches off pressure stall accounting (PSI), which does work at every sleep and "
        "wake-up and averages every two seconds",
        source=f"{PARAMETERS} psi=; accounting/psi.rst",
        value="0",
        needs=(config("PSI"),),
        unneeded=built_in("PSI_DEFAULT_DISABLED", "with PSI off by default"),
        cost="systemd-oomd, kubelet and other programs that read /proc/pressure stop working",
        risk=Risk.DEBUGGABILITY,
        accepts=r"0",
        sign=Evidence(gone="/proc/pressure"),
    ),
    Tunable(
        name="fair_server",
        silences=_BY_SERVER,
        why="switches off the deadline server that guarantees ordinary tasks 50 ms a second on "
        "each CPU: the server's timer and its wake-ups interrupt isolated CPUs 3 times a second",
        source="kernel/sched/debug.c, kernel/sched/deadline.c (6.12 and newer)",
        rows=(Value(f"{FAIR_SERVER}/cpu{{cpu}}/runtime", "0"),),
        needs=_SERVED,
        cost="no starvation protection on the isolated CPUs: a real-time task that never sleeps "
        "starves ordinary tasks and kernel threads there forever",
        risk=Risk.STARVATION,
    ),
    Tunable(
        name="fair_server.period",
        silences=_BY_SERVER,
        why="runs the deadline server, which guarantees ordinary tasks 5 % of each CPU, every 4.2 "
        "seconds instead of every second: the server interrupts isolated CPUs a quarter as often "
        "with the same guarantee (values in ns)",
        source="kernel/sched/debug.c, kernel/sched/deadline.c (6.12 and newer)",
        # The order matters: 6.12 may miscount the bandwidth that isolated CPUs reserved; it then
        # refuses any change below the old value (__dl_overflow() in kernel/sched/deadline.c).
        rows=(
            Value(f"{FAIR_SERVER}/cpu{{cpu}}/runtime", "209715200"),
            Value(f"{FAIR_SERVER}/cpu{{cpu}}/period", "4194304000"),
        ),
        needs=_SERVED,
        conflicts=("fair_server",),
        cost="ordinary tasks that a real-time task starves on these CPUs wait up to 4 seconds, and "
        "then delay that task by 0.2 seconds",
    ),
    Tunable(
        name="kernel.sched_rt_runtime_us",
        silences={
            "thread: idle": "kernel/sched/rt.c sched_rt_runtime_exceeded()",
            "irq: * (*sched_rt_period_timer*": "kernel/sched/rt.c start_rt_bandwidth()",
        },
        why="lets real-time tasks run without a pause: before Linux 6.12 they lose 50 ms of every "
        "second by default; from 6.12 on, the deadline server (fair_server) takes this time",
        source="scheduler/sched-rt-group.rst; kernel/sched/rt.c",
        rows=(Value("/proc/sys/kernel/sched_rt_runtime_us", "-1"),),
        needs=(REALTIME,),
        unneeded=_throttles_nothing,
        cost="a real-time task that never sleeps locks up its CPU, isolated or not, until a reset",
        risk=Risk.STARVATION,
        accepts=r"-1",
    ),
)
