# SPDX-License-Identifier: GPL-2.0-or-later
"""Housekeeping that a kubelet can live on."""

from contextlib import suppress
from dataclasses import replace

from lowlat.base.errors import Refused
from lowlat.model.machine import Machine
from lowlat.plan.cpu_request import CpuRequest
from lowlat.plan.split import split

#: The kubelet, the container runtime, the network's agents and all that the node ran before.
_THREADS = 4


def for_kubelet(machine: Machine, request: CpuRequest) -> CpuRequest:
    """The request with as many housekeeping cores a node as make four hardware threads, or as
    leave the work half of the machine; one that chooses by itself stays as it is."""
    if request.choose or request.housekeeping_cores:
        return request
    best = request
    with suppress(Refused):  # nothing would be left to isolate
        for cores in range(2, len(machine.cores)):
            kept = split(machine, best).housekeeping
            request = replace(request, housekeeping_cores=cores)
            more = split(machine, request).housekeeping
            if len(kept) >= _THREADS or 2 * len(more) > len(machine.cpus.online):
                break
            best = request if len(more) > len(kept) else best
    return best
