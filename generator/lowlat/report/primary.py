# SPDX-License-Identifier: GPL-2.0-or-later
"""The one endpoint that a verdict is about: which it is, and how it is told."""

from collections.abc import Sequence
from dataclasses import dataclass

from lowlat.model.run import NOISE, WAKEUP, Run
from lowlat.report.figures import ENDPOINTS, INTERRUPTS


@dataclass(frozen=True)
class Subject:
    """The words for an endpoint: of a sentence, of a table's column, of a drawing's axis, and below
    a large figure; ``size`` of the endpoint's own unit are one of them."""

    name: str
    column: str
    unit: str
    each: str
    size: float = 1.0


SUBJECTS = {
    NOISE: Subject("Noise", "noise, of the time", "ppm of the time", "ppm of each CPU's time lost"),
    INTERRUPTS: Subject(
        "Interrupts", "interrupts of a CPU", "a second", "interrupts a second on each CPU"
    ),
    WAKEUP: Subject(
        *("Wake-up latency (p99.9)", "wake-up latency, p99.9", "us"),
        *("us, p99.9 of each CPU's wake-ups", 1e3),
    ),
}


def chosen(runs: Sequence[Run]) -> tuple[str, str]:
    """The primary endpoint of runs that are compared, and why, "" where it is the usual one: under
    emulation durations mean nothing, else it is the one that the plans of the runs name, where
    every run knows it."""
    if runs[0].emulated:
        return INTERRUPTS, ""
    named = {run.host.judged_by: run.host.profile for run in runs if run.host.profile}
    if set(named) <= {NOISE}:
        return NOISE, ""
    if len(named) > 1:
        return NOISE, f"the primary endpoint is {NOISE}: the profiles are judged by different ones"
    ((name, profile),) = named.items()
    measure = next((one for one in ENDPOINTS if one.name == name and name in SUBJECTS), None)
    if measure and all(measure.of(cpu) is not None for run in runs for cpu in run.cpus):
        return name, f"the primary endpoint is {name}: profile {profile} is judged by it"
    why = f"profile {profile} is judged by {name}, but not every run has it"
    return NOISE, f"the primary endpoint is {NOISE}: {why} ('lowlat-gen measure --wakeup')"
