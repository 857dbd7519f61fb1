# SPDX-License-Identifier: GPL-2.0-or-later
"""SMT siblings of the measured CPUs: how busy they were, and the hardware's share of the noise."""

from collections.abc import Iterator, Mapping
from statistics import fmean

from lowlat.figures.figures import CLASSES
from lowlat.figures.measure import Key
from lowlat.figures.measured_arm import Arm
from lowlat.model.cpuset import CpuSet
from lowlat.model.plan import NOISE
from lowlat.model.run import Run

#: An SMT sibling that was busy for this share of the time is reported.
_BUSY = 0.05


def shares(run: Run, cpus: CpuSet) -> Mapping[int, float]:
    """For each of these CPUs with SMT siblings: the share of the time in which the busiest of them
    was busy."""
    result = {}
    for core in run.host.layout:
        for cpu in core.cpus & cpus:
            names = {str(other) for other in core.cpus if other != cpu}
            if known := [share for name, share in run.host.busy.items() if name in names]:
                result[cpu] = max(known)
    return result


def busy(run: Run) -> Iterator[str]:
    """Messages about isolated CPUs whose SMT sibling was busy."""
    for cpu, share in shares(run, run.isolated & run.measured).items():
        if share >= _BUSY:
            yield (
                f"CPU {cpu} is isolated, but its SMT sibling was busy for {100 * share:.0f} % of "
                "the time"
            )


def compared(
    before: Arm, after: Arm, cpus: CpuSet, figures: Mapping[Key, tuple[float, float]]
) -> Iterator[str]:
    """The hardware's share of the noise, if the siblings were idle in one arm and busy in the
    other."""
    arms = (before, after)
    known = [[s for run in arm.runs for s in shares(run, cpus).values()] for arm in arms]
    if not all(known) or len({fmean(own) >= _BUSY for own in known}) < 2:
        return
    each = [f"{100 * fmean(own):.0f} % of the time in {arm.name}" for own, arm in zip(known, arms)]
    hardware, noise = (figures.get(key) for key in (Key(CLASSES, row="HW"), Key(NOISE)))
    traced = all(run.attribution.observer == "trace" for arm in arms for run in arm.runs)
    told = "the hardware's share of the noise is unknown without a trace (--causes)"
    if hardware and noise and traced:
        parts = zip(hardware, noise, arms)
        told = "the hardware made " + " and ".join(
            f"{own:,.1f} of {whole:,.1f} ppm of noise in {arm.name}" for own, whole, arm in parts
        )
    yield f"the SMT siblings were busy for {' and '.join(each)}: {told}"
