# SPDX-License-Identifier: GPL-2.0-or-later
"""The measured machine with the roles of its CPUs, from what the runs tell of it."""

from __future__ import annotations

from markupsafe import Markup

from lowlat.draw.layout import arrange
from lowlat.draw.svg import svg
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Core, Cpus, Machine, Processor
from lowlat.view.plot.figure import Data, Figure
from lowlat.view.run_details import Detail


def figure(detail: Detail) -> tuple[Figure, ...]:
    """The machine of a run, in the boot it was made in; none where the run tells of no CPU."""
    if not detail.online:
        return ()
    run = detail.run
    isolated = run.isolated & detail.online
    picture = arrange(_machine(detail), isolated or None, roomy=True)
    drawing = Markup(svg(picture, style=""))  # noqa: S704  # the drawing escapes what it is given
    return (Figure("The machine", _caption(detail, isolated), drawing, _data(detail, isolated)),)


def _machine(detail: Detail) -> Machine:
    online = detail.online
    first = 0 if 0 in online else online.first
    return Machine(
        arch=None,
        cpus=Cpus(online=online, offline=CpuSet(), possible=online, boot=first),
        cores=detail.cores or tuple(Core(CpuSet.of([cpu])) for cpu in online),
        processor=Processor(model=detail.processor or None),
    )


def _caption(detail: Detail, isolated: CpuSet) -> str:
    words = [
        f"CPU {isolated} isolated by the kernel, the others housekeeping."
        if isolated
        else "No CPU was isolated by the kernel in the runs after."
    ]
    if not detail.cores:
        words.append("The runs tell only the CPUs' numbers: each is drawn as a core of its own.")
    return " ".join(words)


def _data(detail: Detail, isolated: CpuSet) -> Data:
    measured = detail.run.measured
    rows = tuple(
        (
            cpu,
            ("isolated" if cpu in isolated else "housekeeping") if isolated else "",
            "yes" if cpu in measured else "no",
        )
        for cpu in detail.online
    )
    return Data("roles.csv", ("CPU", "role", "measured"), rows)
