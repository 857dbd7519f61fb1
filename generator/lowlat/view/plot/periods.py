# SPDX-License-Identifier: GPL-2.0-or-later
"""The spectrum of the gaps: every comb that was found, at its frequency, with its name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from lowlat.base.terminal import plain
from lowlat.model.cpuset import CpuSet
from lowlat.model.run import Comb
from lowlat.report.wording import number
from lowlat.view.arm import ViewArm
from lowlat.view.plot.axis import END, FLOOR, LEFT, TOP, Log, short
from lowlat.view.plot.figure import Data, Figure

#: Combs with a number of their own; the file has all.
_MOST = 12

#: So many arms are told of one by one.
_FEW = 6


@dataclass(frozen=True)
class ArmComb:
    """A comb on one arm: in how many of the runs of its CPUs it was found, how far it stood out in
    the typical one, and how often a second it came there."""

    arm: ViewArm
    found: int
    of: int
    power: float
    rate_per_s: float


@dataclass(frozen=True)
class ComparedComb:
    """A comb with what mostly makes it, and its teeth, a arm each."""

    frequency_hz: float
    name: str
    cause: str
    teeth: tuple[ArmComb, ...]

    @property
    def power(self) -> float:
        return max(tooth.power for tooth in self.teeth)


def figure(arms: Sequence[ViewArm], cpus: CpuSet) -> tuple[Figure, ...]:
    """One drawing, or none where no comb was found."""
    named = sorted(_named(arms, cpus), key=lambda comb: comb.power, reverse=True)
    if not named:
        return ()
    shown = named[:_MOST]
    told = [_told(comb) for comb in shown]
    teeth = [tooth for comb in shown for tooth in comb.teeth]
    chart = {
        "label": f"Spectrum of the gaps: {'; '.join(told)}.",
        "upward": Log.around([tooth.power for tooth in teeth], FLOOR, TOP),
        "across": Log.around([comb.frequency_hz for comb in shown], LEFT, END),
        "combs": shown,
        "told": told,
    }
    left = len(named) - len(shown)
    caption = f"The {len(shown)} strongest; {left} more in the data." if left else ""
    return (Figure("spectrum", "Spectrum of the gaps", caption, chart, _data(named)),)


def _named(arms: Sequence[ViewArm], cpus: CpuSet) -> Iterator[ComparedComb]:
    every = [(arm, comb) for arm in arms for comb in _combs(arm, cpus)]
    for name in dict.fromkeys(comb.name for _, comb in every):
        alike = [(arm, comb) for arm, comb in every if comb.name == name]
        causes = [comb.cause for _, comb in alike if comb.cause]
        yield ComparedComb(
            frequency_hz=median(comb.frequency_hz for _, comb in alike),
            name=name,
            cause=max(causes, key=causes.count) if causes else "",
            teeth=tuple(_teeth(arms, alike, cpus)),
        )


def _combs(arm: ViewArm, cpus: CpuSet) -> Iterator[Comb]:
    for cpu in (run.cpu(place) for run in arm.runs for place in cpus):
        yield from (comb for comb in cpu.combs or () if comb.frequency_hz > 0)


def _teeth(
    arms: Sequence[ViewArm], alike: Sequence[tuple[ViewArm, Comb]], cpus: CpuSet
) -> Iterator[ArmComb]:
    for arm in arms:
        own = [comb for owner, comb in alike if owner is arm]
        if own:
            yield ArmComb(
                arm=arm,
                found=len(own),
                of=sum(run.cpu(cpu).combs is not None for run in arm.runs for cpu in cpus),
                power=max(median(comb.power for comb in own), 1.0),
                rate_per_s=fmean(comb.rate_per_s for comb in own),
            )


def _told(comb: ComparedComb) -> str:
    arms = ", ".join(map(_found, comb.teeth))
    if len(comb.teeth) > _FEW:
        arms = f"{_found(comb.teeth[0])}, and in {len(comb.teeth) - 1} other arms"
    cause = f", mostly {comb.cause}" if comb.cause else ""
    return plain(f"{short(round(comb.frequency_hz, 3))} Hz, {comb.name}{cause}: {arms}")


def _found(tooth: ArmComb) -> str:
    runs = f"{tooth.found} of {tooth.of} CPU runs"
    return f"{tooth.arm.name} in {runs}, {number(tooth.rate_per_s)} a second"


def _data(named: Sequence[ComparedComb]) -> Data:
    rows = [
        (
            *(comb.frequency_hz, comb.name, comb.cause, tooth.arm.name),
            *(tooth.found, tooth.of, tooth.power, tooth.rate_per_s),
        )
        for comb in named
        for tooth in comb.teeth
    ]
    header = (
        *("frequency, Hz", "name", "cause", "side"),
        *("CPU runs with it", "CPU runs", "power", "a second"),
    )
    return Data("spectrum.csv", header, rows)
