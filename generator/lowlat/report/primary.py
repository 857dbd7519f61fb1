# SPDX-License-Identifier: GPL-2.0-or-later
"""The choice of the primary endpoint, which the verdict is about."""

from collections.abc import Sequence

from lowlat.model.endpoint import NOISE
from lowlat.model.run import Run
from lowlat.report.endpoint import ENDPOINTS, INTERRUPTS, SUBJECTS
from lowlat.report.measure import Key


def primary_of(runs: Sequence[Run]) -> tuple[Key, str]:
    """The primary endpoint of compared runs, and the reason ("" for the usual one). Under emulation
    it is interrupts, because durations mean nothing; else the endpoint that the runs' plans name,
    if every run has it."""
    if runs[0].emulated:
        return Key(INTERRUPTS), ""
    noise = Key(NOISE)
    named = {run.host.judged_by: run.host.profile for run in runs if run.host.profile}
    if set(named) <= {NOISE}:
        return noise, ""
    if len(named) > 1:
        return noise, f"the primary endpoint is {NOISE}: the profiles are judged by different ones"
    ((name, profile),) = named.items()
    measure = next((one for one in ENDPOINTS if one.name == name and name in SUBJECTS), None)
    if (
        measure
        and measure.of
        and all(measure.of(cpu) is not None for run in runs for cpu in run.cpus)
    ):
        return measure.key(), f"the primary endpoint is {name}: profile {profile} is judged by it"
    why = f"profile {profile} is judged by {name}, but not every run has it"
    return noise, f"the primary endpoint is {NOISE}: {why} ('lowlat-gen measure --wakeup')"
