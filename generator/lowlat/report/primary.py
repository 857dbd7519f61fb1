# SPDX-License-Identifier: GPL-2.0-or-later
"""The primary endpoint, which the verdict is about: its choice, and its names in text."""

from collections.abc import Sequence
from dataclasses import dataclass

from lowlat.model.endpoint import NOISE, WAKEUP
from lowlat.model.run import Run
from lowlat.report.figures import ENDPOINTS, INTERRUPTS


@dataclass(frozen=True)
class Subject:
    """The names of an endpoint: in a sentence, for a column, for a drawing's axis, and below
    a large figure; ``size``: how many of the endpoint's own units make one ``unit``."""

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
    """The primary endpoint of compared runs, and the reason ("" for the usual one). Under emulation
    it is interrupts, because durations mean nothing; else the endpoint that the runs' plans name,
    if every run has it."""
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
