# SPDX-License-Identifier: GPL-2.0-or-later
"""The harness's histogram compared with HdrHistogram's Python port, and with the plain values."""

from __future__ import annotations

import bisect
import os
import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hdrh.histogram import HdrHistogram

from support.waits import GUARD_S

Dump = Callable[[list[int]], tuple[list[tuple[int, int, int]], dict[float, int]]]

pytestmark = pytest.mark.place

SOURCE = Path(__file__).resolve().parents[2] / "measure"

#: The largest relative error of a value.
ERROR = 0.001

#: The end of the histogram's own range, ns.
TOP = 2**47

COUNT = 20_000


def _mixed(rng: random.Random) -> list[int]:
    """Realistic noise: many short ticks, few long preemptions."""
    ticks = [int(rng.gauss(3000, 400)) for _ in range(COUNT)]
    return [abs(value) for value in ticks] + [rng.randrange(10**5, 10**8) for _ in range(200)]


SHAPES: dict[str, Callable[[random.Random], list[int]]] = {
    "around the threshold": lambda rng: [rng.randrange(50, 3000) for _ in range(COUNT)],
    "all magnitudes": lambda rng: [int(2 ** rng.uniform(5, 46.9)) for _ in range(COUNT)],
    "exponential": lambda rng: [int(rng.expovariate(1e-5)) for _ in range(COUNT)],
    "noise": _mixed,
    "one value": lambda rng: [123_456_789],
}


@pytest.fixture(scope="module")
def dump() -> Dump:
    folder = os.environ.get("LOWLAT_MEASURE_BUILD", "build")
    argv = ["make", "-s", "-C", str(SOURCE), f"BUILD={folder}", "tools"]
    subprocess.run(argv, check=True, capture_output=True, timeout=GUARD_S)
    program = SOURCE / folder / "tests" / "hist_dump"

    def run(values: list[int]) -> tuple[list[tuple[int, int, int]], dict[float, int]]:
        text = subprocess.run(
            [program], input="\n".join(map(str, values)), capture_output=True, text=True,
            check=True, timeout=GUARD_S,
        ).stdout  # fmt: skip
        words = [line.split() for line in text.splitlines()]
        buckets = [(int(w[1]), int(w[2]), int(w[3])) for w in words if w[0] == "bucket"]
        return buckets, {float(w[1]): int(w[2]) for w in words if w[0] == "at"}

    return run


@pytest.mark.parametrize("shape", SHAPES)
def test_values_at_quantiles(dump: Dump, shape: str) -> None:
    values = SHAPES[shape](random.Random(shape))
    buckets, found = dump(values)
    # Four digits: the oracle's own error is a tenth of the allowed error.
    oracle = HdrHistogram(1, TOP, 4)
    for value in values:
        assert oracle.record_value(max(value, 1))
    assert len(found) == 10
    for quantile, value in found.items():
        want = oracle.get_value_at_percentile(100 * quantile)
        assert value == pytest.approx(want, rel=ERROR + 1e-4, abs=1), quantile
    assert found[1.0] == max(values)
    assert sum(count for _, _, count in buckets) == len(values) == oracle.get_total_count()


@pytest.mark.parametrize("shape", SHAPES)
def test_buckets_hold_what_lies_in_them(dump: Dump, shape: str) -> None:
    values = sorted(SHAPES[shape](random.Random(shape)))
    buckets, _ = dump(values)
    for lower, upper, count in buckets:
        assert upper - 1 - lower <= ERROR * lower
        assert bisect.bisect_left(values, upper) - bisect.bisect_left(values, lower) == count


def test_beyond_the_range_nothing_is_lost(dump: Dump) -> None:
    buckets, found = dump([100, TOP - 1, TOP, 2**60])
    assert buckets[-1] == (TOP, 2**60 + 1, 2)
    assert sum(count for _, _, count in buckets) == 4
    assert found[1.0] == 2**60
