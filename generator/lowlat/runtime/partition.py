# SPDX-License-Identifier: GPL-2.0-or-later
"""The cpuset partition that owns CPUs: no task outside of it can run on them, so that what measures
them joins it."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Optional

from lowlat.base.errors import Refused
from lowlat.catalogue.cpusets import GROUP
from lowlat.host.root import Root, glob
from lowlat.model.cpuset import CpuSet, CpuSetError
from lowlat.model.machine import Core
from lowlat.plan import store
from lowlat.probe import probe


def owner(cpus: CpuSet, root: Root) -> Optional[str]:
    """The control group that owns these CPUs, or None (admin-guide/cgroup-v2.rst,
    cpuset.cpus.partition)."""
    for group in (*glob(root, f"{GROUP}/lowlat-*.slice"), GROUP):
        held = root.read_cpus(f"{group}/cpuset.cpus.effective") or CpuSet()
        state = root.read(f"{group}/cpuset.cpus.partition")
        if state in ("isolated", "root") and (cpus <= held or (group == GROUP and held & cpus)):
            return group
    return None


def measurable(isolated: CpuSet, cores: Sequence[Core]) -> CpuSet:
    """The CPUs of a partition to measure: those of the lowest core serve the harness itself, which
    runs on the partition's CPUs only. One core alone serves both."""
    lowest = next(iter(isolated))
    core = next((core.cpus for core in cores if lowest in core.cpus), CpuSet.of([lowest]))
    return isolated - core or isolated


def joined(cpus: Optional[str], root: Root) -> tuple[Optional[str], Optional[str]]:
    """The harness's --cpus and --group: the CPUs as named, by default those of a partition in use
    that can be measured, and the folder of the partition that owns them. No default and no group
    without one."""
    named = None
    with suppress(CpuSetError, Refused):
        if cpus is not None:
            named = CpuSet.parse_list(cpus)
        elif plan := store.in_use(root):
            named = plan.isolated
    group = owner(named, root) if named else None
    if named is None or group is None:
        return cpus, None
    return cpus or str(measurable(named, probe(root).cores)), root.host(group)
