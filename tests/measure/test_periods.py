# SPDX-License-Identifier: GPL-2.0-or-later
"""Periods in the times of events: each present period is found, and no other."""

from __future__ import annotations

import random

import pytest

from lowlat.measure.causes import periods

pytestmark = pytest.mark.slow

SIMULATIONS = 20


def noise(rng: random.Random, rate: float, span: float) -> list[float]:
    """A Poisson process."""
    times, now = [], rng.expovariate(rate)
    while now < span:
        times.append(now)
        now += rng.expovariate(rate)
    return times


def comb(rng: random.Random, frequency: float, span: float, kept: float = 1.0) -> list[float]:
    """Events at one frequency, of which only a share is kept, each shifted by some microseconds."""
    start = rng.random() / frequency
    teeth = (start + k / frequency + rng.gauss(0, 5e-6) for k in range(int(span * frequency)))
    return [time for time in teeth if 0 <= time < span and rng.random() < kept]


def found(times: list[float], span: float) -> list[float]:
    return [one.frequency_hz for one in periods.find(sorted(times), span)]


def most(number: int, rate: float) -> int:
    """A binomial variable exceeds this in less than one of 10,000 repetitions."""
    p, total, count = (1 - rate) ** number, 0.0, 0
    while total + p < 1 - 1e-4:
        total += p
        p *= (number - count) / (count + 1) * rate / (1 - rate)
        count += 1
    return count


@pytest.mark.parametrize("bursts", [1, 8])
@pytest.mark.parametrize(("rate", "span"), [(150.0, 8.0), (20.0, 60.0), (1.0, 600.0)])
def test_events_without_period_show_none_beyond_the_stated_rate(
    bursts: int, rate: float, span: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Poisson noise, and noise in bursts of some milliseconds."""
    monkeypatch.setattr(periods, "FALSE_ALARM_RATE", 0.05)
    rng = random.Random(1)  # noqa: S311
    alarms = 0
    for _ in range(SIMULATIONS):
        first = noise(rng, rate / bursts, span)
        times = [one + rng.expovariate(300) * (n > 0) for one in first for n in range(bursts)]
        alarms += bool(found([time for time in times if time < span], span))
    print(f"{alarms} of {SIMULATIONS}, at most {most(SIMULATIONS, 0.05)} by chance")
    assert alarms <= most(SIMULATIONS, 0.05)


#: In seconds: ticks, a device, a screen, agents, real-time throttling, the fair server.
LENGTHS = (0.001, 1 / 300, 0.004, 0.007, 1 / 60, 0.1, 0.25, 1.0, 2.0, 4.194304, 15.0, 60.0)


@pytest.mark.parametrize("seconds", LENGTHS)
def test_a_period_of_any_length_is_found_in_noise(seconds: float) -> None:
    rng = random.Random(2)  # noqa: S311
    span = max(32 * seconds, 8.0)
    times = [*noise(rng, 0.8 / seconds, span), *comb(rng, 1 / seconds, span)]
    assert found(times, span) == [pytest.approx(1 / seconds, rel=1.1e-3)]


@pytest.mark.parametrize("seconds", LENGTHS)
def test_a_tenth_of_the_span_is_long_enough(seconds: float) -> None:
    rng = random.Random(7)  # noqa: S311
    span = max(10.5 * seconds, 0.1)
    assert found(comb(rng, 1 / seconds, span), span) == [pytest.approx(1 / seconds, rel=1.1e-3)]


def test_a_tick_that_shows_now_and_then_is_found() -> None:
    """The case of a shared CPU, which shows a tick in a third of its periods."""
    rng = random.Random(3)  # noqa: S311
    times = [*noise(rng, 100.0, 20.0), *comb(rng, 250.0, 20.0, kept=0.3)]
    (one,) = periods.find(sorted(times), 20.0)
    assert one.frequency_hz == pytest.approx(250.0, rel=1e-3)
    assert one.rate_per_s == pytest.approx(75.0, rel=0.2)


def test_two_ticks_are_told_apart() -> None:
    """This kernel's tick and the host's: neither is a harmonic of the other."""
    rng = random.Random(4)  # noqa: S311
    times = [*noise(rng, 10.0, 16.0), *comb(rng, 250.0, 16.0), *comb(rng, 300.0, 16.0)]
    assert sorted(found(times, 16.0)) == [pytest.approx(each, rel=1e-3) for each in (250.0, 300.0)]


def test_members_are_the_events_of_the_period() -> None:
    rng = random.Random(6)  # noqa: S311
    teeth = comb(rng, 250.0, 8.0)
    times = sorted([*noise(rng, 200.0, 8.0), *teeth])
    (one,) = periods.find(times, 8.0)
    members = {times[place] for place in one.members}
    assert len(members & set(teeth)) > 0.97 * len(teeth)
    assert len(members - set(teeth)) < 0.1 * len(teeth)


def test_few_events_and_short_spans() -> None:
    assert found([], 10.0) == []
    assert found([0.1] * 19, 10.0) == []
    assert found([0.5, 1.5, 2.5], 3.0) == []
