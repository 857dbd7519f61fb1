# SPDX-License-Identifier: GPL-2.0-or-later
"""The choice of the primary endpoint, which the verdict is about."""

from collections.abc import Sequence
from typing import Optional

from lowlat.figures import cross_check
from lowlat.figures.endpoint import ENDPOINTS, INTERRUPTS, SUBJECTS, THROUGHPUT, in_words
from lowlat.figures.measure import Key, Measure
from lowlat.model.plan import NOISE
from lowlat.model.run import Run
from lowlat.model.tool import MoreThan

#: What an imported file is judged by, the first that every run has.
_OF_TOOLS = ("p99.9", "p99", "max")


def _of_files(runs: Sequence[Run]) -> Optional[Key]:
    """The primary endpoint of other tools' files: of wake-ups a percentile that lies within every
    histogram; else the maximum. oslat's percentiles are those of its loop, not of delays."""
    tool = runs[0].imported.tool if runs[0].imported else ""
    each = [cross_check.values((run,), run.measured) for run in runs]
    names = _OF_TOOLS if tool in ("cyclictest", "timerlat") else _OF_TOOLS[-1:]
    for name in names:
        for row in ("thread", ""):
            key = Key(f"{tool}_{name}_us", row=row)
            if all(key in own and not isinstance(own[key], MoreThan) for own in each):
                return Key(f"{tool}_boot_{name}_us", row=row)
    rates = [run.throughput.figures if run.throughput else {} for run in runs]
    row = next((row for row in rates[0] if all(row in own for own in rates)), "")
    return Key(THROUGHPUT, row=row) if row else None


def primary_of(runs: Sequence[Run], written: str = "") -> tuple[Key, str]:
    """The primary endpoint of compared runs, and the reason ("" for the usual one): the endpoint
    that was ``written`` down in their campaign, if every run has it, else the usual one."""
    usual, why = _usual(runs)
    if not written or usual.text == written:
        return usual, why
    measure = _written_measure(runs, written)
    if measure is None or (runs[0].emulated and measure.durations):
        return usual, why
    return measure.key(), f"the primary endpoint is {in_words(written)}: the campaign names it"


def _written_measure(runs: Sequence[Run], name: str) -> Optional[Measure]:
    """The endpoint of this name, if every run has it."""
    measure = next((one for one in ENDPOINTS if one.name == name and name in SUBJECTS), None)
    if measure is None or not measure.of:
        return None
    cpus = (cpu for run in runs for cpu in run.cpus)
    return measure if all(measure.of(cpu) is not None for cpu in cpus) else None


def _usual(runs: Sequence[Run]) -> tuple[Key, str]:
    """Under emulation it is interrupts, because durations mean nothing; else the endpoint that the
    runs' plans name, if every run has it."""
    if runs[0].emulated:
        return Key(INTERRUPTS), ""
    noise, own = Key(NOISE), in_words(NOISE)
    if runs[0].imported and not runs[0].imported.noise:
        return _of_files(runs) or noise, ""
    named = {run.host.judged_by: run.host.profile for run in runs if run.host.profile}
    if set(named) <= {NOISE}:
        return noise, ""
    if len(named) > 1:
        return noise, f"the primary endpoint is {own}: the profiles are judged by different ones"
    ((name, profile),) = named.items()
    if measure := _written_measure(runs, name):
        why = f"the primary endpoint is {in_words(name)}: profile {profile} is judged by it"
        return measure.key(), why
    judged = in_words(name) if name in SUBJECTS else name
    why = f"profile {profile} is judged by {judged}, but not every run has it"
    return noise, f"the primary endpoint is {own}: {why} ('lowlat-gen measure --wakeup')"
