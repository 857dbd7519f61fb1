# SPDX-License-Identifier: GPL-2.0-or-later
"""The throughput of a run that was measured alone: stress-ng's matrix, pinned, several times.

It guards against a tuning that costs throughput, as the loads' own counts cannot: how much those
got done depends on how much else ran.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Optional

from lowlat.measure.tools import stress_ng

#: The kind of work that this is in a run, and its name among the stressors.
KIND = "throughput"
NAME = "matrix alone"


@dataclass(frozen=True)
class Alone:
    """``mean`` and ``variance`` are of bogo operations per second, over ``samples`` runs.

    ``version`` is stress-ng's with its compiler: counts of differing ones don't compare.
    """

    version: str
    samples: int
    mean: float
    variance: float


def find(work: Iterable[Mapping[str, object]]) -> Optional[Alone]:
    """The throughput among a run's kinds of work; None where none was measured."""
    for entry in work:
        if entry.get("kind") == KIND:
            return _read(entry)
    return None


def _read(entry: Mapping[str, object]) -> Optional[Alone]:
    samples, mean, variance = (_number(entry.get(key)) for key in ("samples", "mean", "variance"))
    if not samples or not mean:
        return None
    told = stress_ng.parse(_first_output(entry.get("runs")))
    version = told.version or str(entry.get("version", ""))
    named = " ".join(filter(None, (version, told.compiler)))
    return Alone(named, int(samples), mean, variance)


def _first_output(runs: object) -> str:
    first = runs[0] if isinstance(runs, list) and runs else None
    output = first.get("output") if isinstance(first, dict) else None
    return output if isinstance(output, str) else ""


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0
