# SPDX-License-Identifier: GPL-2.0-or-later
"""Workqueues: the CPUs that run the kernel's deferred work."""

import re
from typing import Optional

from lowlat.catalogue.entry import (
    PARAMETERS,
    Evidence,
    EvidenceKind,
    Need,
    Target,
    Tunable,
    Value,
    ValueFormat,
)
from lowlat.catalogue.needs import ISOLATION, built_in, done_by, feature
from lowlat.model.cpuset import CpuSet

_MASK = "/sys/devices/virtual/workqueue/cpumask"
_WRITEBACK = "/sys/bus/workqueue/devices/writeback/cpumask"


def workqueue_masks_safe(release: str) -> Optional[bool]:
    """Whether writing unbound workqueue masks is safe; None if the release does not tell. From 6.9
    on a changed mask could stall ordered workqueues for ever; fixed by 703ccb63ae9f ("workqueue:
    Fix ordered workqueue plugging"), in 6.12.82, 6.18.23, 6.19.13 and 7.0."""
    match = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", release)
    if not match:
        return None
    major, minor, patch = int(match[1]), int(match[2]), int(match[3] or 0)
    fixed = {(6, 12): 82, (6, 18): 23, (6, 19): 13}
    if (major, minor) in fixed:
        return patch >= fixed[major, minor]
    return (major, minor) < (6, 9) or major >= 7


SAFE_MASKS = Need(
    lambda target: workqueue_masks_safe(target.kernel.release or ""),
    "changing workqueue masks can stall devices forever on this kernel (ordered workqueues, fixed "
    "by 703ccb63ae9f); isolcpus and nohz_full keep unbound work off the isolated CPUs without such "
    "a change",
    "assumed: kernel release not known",
    wants="Linux before 6.9, or 6.12.82, 6.18.23, 6.19.13, 7.0 or newer",
)


def _efficient_already(target: Target) -> Optional[str]:
    if target.since(6, 12) and "nohz_full" in target.enabled:
        return "from Linux 6.12 on, nohz_full switches this on (kernel/workqueue.c)"
    return built_in("WQ_POWER_EFFICIENT_DEFAULT", "with this on")(target)


ENTRIES = (
    Tunable(
        name="workqueue.unbound_cpus",
        silences=("thread: kworker/[0-9]*",),
        why="keeps unbound kernel work off the isolated CPUs from the start",
        source=f"{PARAMETERS} workqueue.unbound_cpus; kernel/workqueue.c",
        value="{housekeeping}",
        needs=(ISOLATION, feature("/sys/devices/virtual/workqueue/cpumask_requested", (6, 6))),
        unneeded=done_by(
            ("cpuset.partition", "isolcpus", "nohz_full"),
            "{} keeps unbound work off the isolated CPUs",
        ),
        sign=Evidence(
            path=_MASK,
            reads=ValueFormat.MASK,
            expected=lambda value: CpuSet.parse_list(value).mask(),
            contradiction=r"workqueue.unbound_cpus: incorrect CPU range",
        ),
    ),
    Tunable(
        name="workqueue.power_efficient",
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
        silences=("thread: kworker/u*",),
        why="keeps unbound kernel work off the isolated CPUs",
        source="core-api/workqueue.rst; kernel/workqueue.c",
        rows=(Value(_MASK, "{housekeeping}"),),
        reads=ValueFormat.MASK,
        needs=(ISOLATION, SAFE_MASKS),
    ),
    Tunable(
        name="workqueue.writeback.cpumask",
        silences=("thread: kworker/* (wb_workfn*",),
        why="keeps the writeback of dirty pages off the isolated CPUs",
        source="core-api/workqueue.rst; mm/backing-dev.c",
        rows=(Value(_WRITEBACK, "{housekeeping}"),),
        reads=ValueFormat.MASK,
        needs=(ISOLATION, SAFE_MASKS),
    ),
)
