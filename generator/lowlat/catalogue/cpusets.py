# SPDX-License-Identifier: GPL-2.0-or-later
"""Isolation by a cpuset partition (control groups v2), which can be undone without a reboot."""

from lowlat.catalogue.entry import Evidence, Need, Tunable, Value, ValueFormat
from lowlat.catalogue.needs import ISOLATION, config
from lowlat.catalogue.workqueues import SAFE_MASKS
from lowlat.kernel import facts

GROUP = "/sys/fs/cgroup/lowlat.slice"

_SET = f"{GROUP}/lowlat-{{set}}.slice"

_ISOLATED = "/sys/fs/cgroup/cpuset.cpus.isolated"

# If these fail, isolcpus= isolates instead. Unknown therefore counts as missing, so that one of the
# two always isolates.
_UNIFIED = Need(
    lambda target: target.machine.services.cgroup == "v2",
    "this machine is not known to use control groups v2",
    wants="control groups v2",
)


_TYPE, _KEEPS_AWAY = "isolated partitions", "partitions keep unbound work away"
_FIRST = facts.bound(_KEEPS_AWAY)

_PARTITIONS = Need(
    lambda target: _ISOLATED in target.kernel.features or bool(target.has(_TYPE)),
    f"the kernel is not known to be {facts.bound(_TYPE)} or newer, which has isolated partitions",
    wants=f"Linux {facts.bound(_TYPE)}, or an older kernel with {_ISOLATED}",
    features=(_ISOLATED,),
)

# In the boot that runs, workqueue.cpumask does what an older partition does not; for another boot
# isolcpus is the better choice there.
_WITHOUT_UNBOUND_WORK = Need(
    lambda target: (
        target.as_booted or _ISOLATED in target.kernel.features or bool(target.has(_KEEPS_AWAY))
    ),
    f"the kernel is not known to be {_FIRST} or newer: before {_FIRST}, an isolated partition only "
    "ends load balancing, and unbound work stays",
    wants=f"for a boot Linux {_FIRST}, or an older kernel with {_ISOLATED}",
    features=(_ISOLATED,),
)

_TYPES = r"isolated|root"

_NEEDS = (ISOLATION, config("CPUSETS"), _UNIFIED, _PARTITIONS, _WITHOUT_UNBOUND_WORK, SAFE_MASKS)

ENTRIES = (
    Tunable(
        name="cpuset.cpus",
        why="assigns the isolated CPUs to the control group lowlat.slice, in which the work runs",
        source="admin-guide/cgroup-v2.rst cpuset.cpus",
        rows=(Value(f"{GROUP}/cpuset.cpus", "{isolated}"),),
        reads=ValueFormat.LIST,
        sign=Evidence(path="cpuset.cpus.effective", reads=ValueFormat.LIST),
        needs=_NEEDS,
        cost="the latency-critical work must be started in lowlat.slice",
        cgroup=GROUP,
    ),
    Tunable(
        name="cpuset.partition",
        why="takes the isolated CPUs out of load balancing, wake-up placement and unbound "
        "workqueues, as isolcpus does, but can be undone without a reboot; the effects of "
        "nohz_full and isolcpus=managed_irq last until the next boot",
        note="from Linux 7.0 on, kernel threads and timers also stay off the partition: there, a "
        "partition is the better choice for work that can run in lowlat.slice",
        source="admin-guide/cgroup-v2.rst cpuset.cpus.partition; kernel/cgroup/cpuset.c; "
        "admin-guide/cpu-isolation.rst",
        rows=(Value(f"{GROUP}/cpuset.cpus.partition", "isolated"),),
        accepts=_TYPES,
        needs=(
            *_NEEDS,
            Need(
                lambda target: "cpuset.cpus" in target.enabled,
                "it needs cpuset.cpus to be enabled too",
                wants="cpuset.cpus enabled too",
            ),
        ),
        cost="tasks started before the partition may still run on these CPUs; managed interrupts "
        "may still arrive; a hotplugged CPU or another group can invalidate the partition later",
        cgroup=GROUP,
    ),
    Tunable(
        name="cpuset.sets",
        why="gives each named set of isolated CPUs a partition of its own inside lowlat.slice, "
        "which its threads cannot leave",
        note="'lowlat-gen run --set NAME' starts a program in lowlat-NAME.slice. Threads of a pool "
        "that the kernel shall balance inside their set need the type root",
        source="admin-guide/cgroup-v2.rst cpuset.cpus.partition",
        rows=(
            Value(f"{_SET}/cpuset.cpus", "{members}"),
            Value(f"{_SET}/cpuset.cpus.partition", "{kind}"),
        ),
        needs=(
            Need(
                lambda target: bool(target.sets),
                "no set of CPUs has a name",
                wants="named sets (--isolate NAME=LIST)",
            ),
            Need(
                lambda target: "cpuset.partition" in target.enabled,
                "it needs cpuset.partition to be enabled too",
                wants="cpuset.partition enabled too",
            ),
        ),
        cost="the work of each set must be started in its slice",
        accepts=_TYPES,
        parts=lambda given: {"kind": given},
        cgroup=GROUP,
    ),
)
