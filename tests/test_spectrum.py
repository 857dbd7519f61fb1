# SPDX-License-Identifier: GPL-2.0-or-later
"""Combs in the times of events: none where there is none, each where there are some."""

from __future__ import annotations

import random

import pytest

from lowlat.measure.causes import spectrum

pytestmark = pytest.mark.skipif(not spectrum.available(), reason="no numpy (extra report)")

SIMULATIONS = 120


def noise(rng: random.Random, rate: float, span: float) -> list[float]:
    """A Poisson process."""
    times, now = [], rng.expovariate(rate)
    while now < span:
        times.append(now)
        now += rng.expovariate(rate)
    return times


def comb(rng: random.Random, frequency: float, span: float, jitter: float) -> list[float]:
    start = rng.random() / frequency
    teeth = (start + k / frequency + rng.gauss(0, jitter) for k in range(int(span * frequency)))
    return [time for time in teeth if 0 <= time < span]


def found(times: list[float], span: float) -> list[tuple[float, str]]:
    result = spectrum.analyse(sorted(times), span)
    return [(round(one.frequency_hz, 2), one.name) for one in result.combs]


def most(number: int, rate: float) -> int:
    """What a binomial variable exceeds in less than one of 10,000 repetitions."""
    p, total, count = (1 - rate) ** number, 0.0, 0
    while total + p < 1 - 1e-4:
        total += p
        p *= (number - count) / (count + 1) * rate / (1 - rate)
        count += 1
    return count


@pytest.mark.parametrize("bursts", [1, 8])
def test_events_without_period_show_none_beyond_the_stated_rate(bursts: int) -> None:
    """Poisson noise, and noise that comes in bursts of some milliseconds."""
    rng = random.Random(1)  # noqa: S311
    rate, alarms = 0.05, 0
    for _ in range(SIMULATIONS):
        first = noise(rng, 150 / bursts, 8.0)
        times = [one + rng.expovariate(300) * (n > 0) for one in first for n in range(bursts)]
        inside = sorted(time for time in times if time < 8.0)
        alarms += bool(spectrum.analyse(inside, 8.0, rate).combs)
    print(f"{alarms} of {SIMULATIONS}, at most {most(SIMULATIONS, rate)} by chance")
    assert alarms <= most(SIMULATIONS, rate)


@pytest.mark.parametrize(
    ("frequency", "name", "span", "rate"),
    [
        (1000.0, "a tick at HZ=1000", 8.0, 400.0),
        (300.0, "a tick at HZ=300", 8.0, 200.0),
        (250.0, "a tick at HZ=250", 8.0, 200.0),
        (100.0, "a tick at HZ=100", 8.0, 200.0),
        (1.0, "1 s: vmstat_update, the residual tick", 64.0, 2.0),
        (0.25, "4 s: the lockup watchdog", 128.0, 0.3),
        (37.3, "a timer", 20.0, 30.0),
    ],
)
def test_a_comb_is_found_in_noise_and_named(
    frequency: float, name: str, span: float, rate: float
) -> None:
    rng = random.Random(2)  # noqa: S311
    times = [*noise(rng, rate, span), *comb(rng, frequency, span, 5e-6)]
    ((where, what),) = found(times, span)
    assert where == pytest.approx(frequency, rel=1e-3)
    assert what == name


def test_combs_are_stripped_one_after_the_other() -> None:
    """This kernel's tick, the host's, and a second's work: none is a harmonic of another."""
    rng = random.Random(3)  # noqa: S311
    span = 64.0
    times = [
        *noise(rng, 10.0, span),
        *comb(rng, 250.0, span, 5e-6),
        *comb(rng, 300.0, span, 5e-6),
        *comb(rng, 1.0, span, 5e-6),
    ]
    where = sorted(frequency for frequency, _ in found(times, span))
    assert where == pytest.approx([1.0, 250.0, 300.0], rel=1e-3)


def test_members_are_the_events_of_the_comb() -> None:
    rng = random.Random(4)  # noqa: S311
    teeth = comb(rng, 250.0, 8.0, 5e-6)
    times = sorted([*noise(rng, 200.0, 8.0), *teeth])
    (one,) = spectrum.analyse(times, 8.0).combs
    members = {times[place] for place in one.members}
    assert len(members & set(teeth)) > 0.97 * len(teeth)
    assert len(members - set(teeth)) < 0.1 * len(teeth)
    assert one.p < 1e-6


def test_few_events_and_long_spans() -> None:
    assert spectrum.analyse([], 10.0).combs == ()
    assert spectrum.analyse([0.1] * 19, 10.0).combs == ()
    assert spectrum.analyse([0.0, 86399.0], 86400.0).span_s == spectrum.SPAN_MAX_S
