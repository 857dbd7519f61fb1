# SPDX-License-Identifier: GPL-2.0-or-later
"""The steps of a run on one CPU: their times, the noise in each, and how much they differ."""

from collections.abc import Sequence
from math import sqrt

from lowlat.model.run import CpuRun


def times_ns(cpu: CpuRun, ends_s: Sequence[float]) -> tuple[float, ...]:
    """The counted time of each step; ``ends_s`` are the run's step ends. They are the recorder's,
    which may wake late: the last step ends with the detector."""
    ends = [*(min(1e9 * end, cpu.runtime_ns) for end in ends_s[:-1]), cpu.runtime_ns]
    counted = cpu.counted_ns / max(cpu.runtime_ns, 1.0)
    return tuple(counted * (end - begin) for begin, end in zip((0.0, *ends), ends))


def noise_ns(cpu: CpuRun, ends_s: Sequence[float]) -> tuple[float, ...]:
    """The time lost in each step, with the sum of the series. A gap counts in the step in which it
    ended: what no step can hold was lost in the one before."""
    room = list(times_ns(cpu, ends_s))
    lost = list(cpu.series.noise_ns) if cpu.series else [0.0] * len(room)
    for here, before in zip(range(len(room) - 1, 0, -1), range(len(room) - 2, -1, -1)):
        _move(lost, here, before, room)
    for here in range(len(room) - 1):
        _move(lost, here, here + 1, room)
    return tuple(lost)


def _move(lost: list[float], here: int, there: int, room: Sequence[float]) -> None:
    over = max(lost[here] - room[here], 0.0)
    lost[here] -= over
    lost[there] += over


def worst_ppm(cpu: CpuRun, ends_s: Sequence[float]) -> float:
    """The greatest share of the time that a step lost, 0 without steps."""
    shares = _shares_ppm(cpu, ends_s)
    return max((share for share, _ in shares), default=0.0)


def deviation_ppm(cpu: CpuRun, ends_s: Sequence[float]) -> float:
    """The standard deviation of the share that a step lost, weighted by time."""
    shares = _shares_ppm(cpu, ends_s)
    time = sum(own for _, own in shares)
    mean = sum(share * own for share, own in shares) / time
    return sqrt(sum((share - mean) ** 2 * own for share, own in shares) / time)


def _shares_ppm(cpu: CpuRun, ends_s: Sequence[float]) -> list[tuple[float, float]]:
    """The share that each step lost, and its time."""
    both = zip(noise_ns(cpu, ends_s), times_ns(cpu, ends_s))
    return [(1e6 * lost / time, time) for lost, time in both if time > 0]
