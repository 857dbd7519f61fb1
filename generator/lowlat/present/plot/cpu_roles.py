# SPDX-License-Identifier: GPL-2.0-or-later
"""The measured machine with the roles of its CPUs, as far as the runs record it."""

from dataclasses import replace

from lowlat.draw.layout import arrange
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Core
from lowlat.model.run import Run
from lowlat.present.plot.figure import Data, Figure


def figure(run: Run) -> tuple[Figure, ...]:
    """The machine in the boot of a run; none if the run records no CPU, or is another tool's
    file, which tells no machine."""
    machine, online = run.machine, run.machine.cpus.online
    if not online or run.imported:
        return ()
    isolated = run.isolated & online
    cores = machine.cores or tuple(Core(CpuSet.of([cpu])) for cpu in online)
    picture = arrange(replace(machine, cores=cores), isolated or None, roomy=True)
    caption = _caption(run, isolated, online - isolated)
    return (Figure("machine", picture.title, caption, {"picture": picture}, _data(run, isolated)),)


def _caption(run: Run, isolated: CpuSet, others: CpuSet) -> str:
    words = [
        f"CPU {isolated} isolated by the kernel, CPU {others} housekeeping."
        if isolated
        else f"No CPU of {others} was isolated by the kernel."
    ]
    if not run.machine.cores:
        words.append("The runs tell only the CPUs' numbers: each is drawn as a core of its own.")
    return " ".join(words)


def _data(run: Run, isolated: CpuSet) -> Data:
    rows = tuple(
        (
            cpu,
            ("isolated" if cpu in isolated else "housekeeping") if isolated else "",
            "yes" if cpu in run.measured else "no",
        )
        for cpu in run.machine.cpus.online
    )
    return Data("roles.csv", ("CPU", "role", "measured"), rows)
