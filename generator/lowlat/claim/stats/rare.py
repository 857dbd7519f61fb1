# SPDX-License-Identifier: GPL-2.0-or-later
"""Rare events: how many there may be on average where so few were seen."""

import math

#: The confidence of a bound.
CONFIDENCE = 0.95

#: From so many events on the approximation of Wilson and Hilferty differs by less than 1e-6.
_MANY = 10_000
_NORMAL = 1.6448536269514722


def at_most(count: int) -> float:
    """The upper bound of a Poisson mean at 95 %, exact: with this mean so few events or fewer come
    up in 5 % of the cases. 3.0 where none was seen."""
    if count >= _MANY:
        more = count + 1
        return float(more * (1 - 1 / (9 * more) + _NORMAL / (3 * math.sqrt(more))) ** 3)
    low, high = float(count), 3.0 + 2.0 * count + 10.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _chance(count, middle) > 1 - CONFIDENCE else (low, middle)
    return high


def _chance(count: int, mean: float) -> float:
    """The chance of so many events or fewer."""
    logs = (k * math.log(mean) - mean - math.lgamma(k + 1) for k in range(count + 1))
    return math.fsum(map(math.exp, logs)) if mean else 1.0
