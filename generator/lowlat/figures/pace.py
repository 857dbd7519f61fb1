# SPDX-License-Identifier: GPL-2.0-or-later
"""The pace during a run: the times of lasting changes, with the clock rate."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from lowlat.model.run import CpuRun, Run

#: From this ratio of two paces on a CPU is called slower; the loop's own pace varies by less.
SLOWER = 1.1

#: The steps of a series that make a level, and the steps that confirm a change of it.
_LEVEL, _STAYS = 3, 2

#: The number of changes of a CPU that are reported.
_MOST = 3


@dataclass(frozen=True)
class PaceStep:
    """The start of a new ``pace``, in seconds since the start of the run, and the ratio of the
    previous pace to it: above 1 if it fell."""

    begin_s: float
    ratio: float
    pace: float

    def __str__(self) -> str:
        word, times = ("fell", self.ratio) if self.ratio > 1 else ("rose", 1 / self.ratio)
        return f"{word} {times:.1f} times at {self.begin_s:.4g} s"


def steps(ends_s: Sequence[float], paces: Sequence[float]) -> Iterator[PaceStep]:
    """The changes of the pace, given in each step of a run (0 if not known)."""
    known = [(begin, pace) for begin, pace in zip((0.0, *ends_s), paces) if pace]
    values = [pace for _, pace in known]
    start = 0
    for place in range(1, len(known) - _STAYS + 1):
        level = median(values[start : max(place, start + _LEVEL)])
        ratios = [level / value for value in values[place : place + _STAYS]]
        if min(ratios) >= SLOWER or max(ratios) <= 1 / SLOWER:
            start = place
            pace = median(values[place : place + _LEVEL])
            yield PaceStep(known[place][0], level / pace, pace)


def pace_sentences(run: Run) -> Iterator[str]:
    """A sentence for each CPU of a run whose pace changed."""
    for cpu in run.cpus:
        lasting = [*steps(run.ends_s, cpu.series.readings_per_ms)] if cpu.series else []
        if lasting:
            more = f" and changed {len(lasting) - _MOST} times more" if len(lasting) > _MOST else ""
            changes = ", ".join(map(str, lasting[:_MOST]))
            yield f"CPU {cpu.cpu}: the pace {changes}{more}; {_frequency(run, cpu, lasting[0])}"


def _frequency(run: Run, cpu: CpuRun, change: PaceStep) -> str:
    """On both sides of the change; before and after the run, where reading it during the run may
    interrupt the CPU."""
    power = cpu.power
    if cpu.series and any(cpu.series.khz):
        place = [0.0, *run.ends_s].index(change.begin_s)
        sides = (cpu.series.khz[max(place - 1, 0)], cpu.series.khz[place])
        before, after = (f"{khz / 1e3:,.0f} MHz" for khz in sides)
        return f"the frequency was {before} before that and {after} after it"
    if power and len(power.khz) == 2:
        before, after = (f"{khz / 1e3:,.0f} MHz" for khz in power.khz)
        return f"the frequency was {before} before the run and {after} after it"
    if power and power.pace is not None:
        return f"the clock ran at {100 * power.pace:.0f} % of the nominal rate on average"
    return "the frequency was not readable"
