# SPDX-License-Identifier: GPL-2.0-or-later
"""Workqueues: the CPUs that run the kernel's deferred work."""

from typing import Optional

from lowlat.catalogue.entry import (
    PARAMETERS,
    Evidence,
    EvidenceKind,
    Target,
    Tunable,
    Value,
    ValueFormat,
)
from lowlat.catalogue.needs import ISOLATION, built_in, done_by, feature, without_fault
from lowlat.kernel import facts

_MASK = "/sys/devices/virtual/workqueue/cpumask"
_REQUESTED = "/sys/devices/virtual/workqueue/cpumask_requested"
_WRITEBACK = "/sys/bus/workqueue/devices/writeback/cpumask"


#: A kernel whose release does not tell counts as affected. A partition's CPUs leave these masks
#: too, and come back with its removal (workqueue_unbound_exclude_cpumask()).
SAFE_MASKS = without_fault(
    "workqueue stall",
    "isolcpus and nohz_full keep unbound work off the isolated CPUs without such a change",
)


_EFFICIENT = "nohz_full makes workqueues power efficient"


def _efficient_already(target: Target) -> Optional[str]:
    if target.has(_EFFICIENT) and "nohz_full" in target.enabled:
        first = facts.bound(_EFFICIENT)
        return f"from Linux {first} on, nohz_full switches this on (kernel/workqueue.c)"
    return built_in("WQ_POWER_EFFICIENT_DEFAULT", "with this on")(target)


ENTRIES = (
    Tunable(
        name="workqueue.unbound_cpus",
        why="keeps unbound kernel work off the isolated CPUs from the start",
        source=f"{PARAMETERS} workqueue.unbound_cpus; kernel/workqueue.c",
        value="{housekeeping}",
        reads=ValueFormat.STRIDES,
        needs=(ISOLATION, feature(_REQUESTED, "workqueue.unbound_cpus")),
        stands_in=("workqueue.cpumask",),
        unneeded=done_by(
            ("cpuset.partition", "isolcpus", "nohz_full"),
            "{} keeps unbound work off the isolated CPUs",
        ),
        sign=Evidence(
            path=_MASK,
            reads=ValueFormat.MASK,
            cpus=lambda effect: effect.unbound,
            contradiction=r"workqueue.unbound_cpus: incorrect CPU range",
        ),
    ),
    Tunable(
        name="workqueue.power_efficient",
        silences={
            "thread: kworker/* (*gc_worker*": "net/netfilter/nf_conntrack_core.c",
            "thread: kworker/* (*neigh_periodic_work*": "net/core/neighbour.c",
            "thread: kworker/* (*check_lifetime*": "net/ipv4/devinet.c",
            "thread: kworker/* (*phy_state_machine*": "drivers/net/phy/phy.c",
            "thread: kworker/* (*disk_events_workfn*": "block/disk-events.c",
        },
        why="makes workqueues unbound if they are per CPU only for cache locality "
        "(WQ_POWER_EFFICIENT): like all unbound work, their work then stays off the isolated CPUs",
        source=f"{PARAMETERS} workqueue.power_efficient; kernel/workqueue.c",
        value="1",
        needs=(ISOLATION,),
        unneeded=_efficient_already,
        cost="a little throughput, as such work may run far from its data",
        sign=Evidence(
            path="/sys/module/workqueue/parameters/power_efficient",
            expected=lambda value: "Y",
            shows=EvidenceKind.COPY,
        ),
    ),
    Tunable(
        name="workqueue.cpumask",
        silences={"thread: kworker/u*": "kernel/workqueue.c workqueue_set_unbound_cpumask()"},
        why="keeps unbound kernel work off the isolated CPUs",
        source="core-api/workqueue.rst; kernel/workqueue.c",
        rows=(Value(_MASK, "{housekeeping}"),),
        reads=ValueFormat.MASK,
        needs=(ISOLATION, SAFE_MASKS),
        # workqueue_init_early(): at boot.
        covered_by="nohz_full",
    ),
    Tunable(
        name="workqueue.writeback.cpumask",
        silences={"thread: kworker/u* (*wb_workfn*": "mm/backing-dev.c bdi_wq, fs/fs-writeback.c"},
        why="keeps the writeback of dirty pages off the isolated CPUs",
        source="core-api/workqueue.rst; mm/backing-dev.c",
        rows=(Value(_WRITEBACK, "{housekeeping}"),),
        reads=ValueFormat.MASK,
        needs=(ISOLATION, SAFE_MASKS),
    ),
)
