# SPDX-License-Identifier: GPL-2.0-or-later
"""What stands beside the noise of a CPU: its clock, its idle states, interruptions by the firmware,
and the periods in its gaps."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Optional

from lowlat.figures.measure import Measure, Pooling
from lowlat.model.run import CpuRun, PeriodicSource

#: Power control; the unit is in the row.
POWER = "power"
PERIODS = "period_per_s"

#: The rows of POWER beside the idle states: of the nominal clock, and system management interrupts
#: by the processor's own counter.
CLOCK = "clock_percent"
FIRMWARE = "smi_per_s"

#: In the row of an idle state, after its name: of the time.
IDLE = "_percent"

#: The most periods of a report, the most significant ones; the runs have all.
MOST_PERIODS = 12


def measures(cpus: Sequence[CpuRun]) -> Iterator[Measure]:
    """A measure for all of these that some CPU tells."""
    told = (item for cpu in cpus for item in _power(cpu).items())
    # An idle state that no CPU entered tells nothing.
    for row in dict.fromkeys(row for row, value in told if value or row == FIRMWARE):
        unit = "1/s" if row == FIRMWARE else "%"
        yield Measure(POWER, unit, partial(_of_power, row), row, Pooling.TIME)
    strongest: dict[str, float] = {}
    for source in (source for cpu in cpus for source in cpu.periods or ()):
        strongest[_row(source)] = max(strongest.get(_row(source), 0.0), source.power)
    for row in sorted(strongest, key=strongest.__getitem__, reverse=True)[:MOST_PERIODS]:
        yield Measure(PERIODS, "1/s", partial(_recurring, row), row, Pooling.TIME)


def _power(cpu: CpuRun) -> dict[str, float]:
    """By row, what the processor told."""
    if not cpu.power:
        return {}
    runtime = max(cpu.runtime_ns, 1.0)
    known = {} if cpu.power.pace is None else {CLOCK: 100 * cpu.power.pace}
    known.update({f"{state}{IDLE}": 1e5 * us / runtime for state, us in cpu.power.idle_us.items()})
    return known if cpu.power.smi is None else {**known, FIRMWARE: 1e9 * cpu.power.smi / runtime}


def _of_power(row: str, cpu: CpuRun) -> Optional[float]:
    return _power(cpu).get(row)


def _recurring(row: str, cpu: CpuRun) -> Optional[float]:
    """0 of a period that was sought and not found."""
    if cpu.periods is None:
        return None
    return sum(source.rate_per_s for source in cpu.periods if _row(source) == row)


def _row(source: PeriodicSource) -> str:
    return f"{source.name}, {source.cause}" if source.cause else source.name
