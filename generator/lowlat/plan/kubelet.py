# SPDX-License-Identifier: GPL-2.0-or-later
"""The CPUs that a Kubernetes node needs for itself."""

from contextlib import suppress
from dataclasses import replace

from lowlat.base.errors import Refused
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Machine
from lowlat.plan.cpu_request import CpuRequest
from lowlat.plan.split import split

#: Hardware threads for the kubelet, the container runtime, network agents and other services.
_THREADS = 4


def for_kubelet(machine: Machine, request: CpuRequest, returning: CpuSet) -> CpuRequest:
    """The request, for split(), with more housekeeping cores per node, until the machine keeps four
    hardware threads for them or half of it; a request that chooses the CPUs is unchanged."""
    if request.choose or request.housekeeping_cores or request.isolate_cores:
        return request
    best = request
    with suppress(Refused):  # nothing would be left to isolate
        for cores in range(2, len(machine.cores)):
            kept = split(machine, best, returning)[0].housekeeping
            request = replace(request, housekeeping_cores=cores)
            more = split(machine, request, returning)[0].housekeeping
            if len(kept) >= _THREADS or 2 * len(more) > len(machine.cpus.online):
                break
            best = request if len(more) > len(kept) else best
    return best
