# SPDX-License-Identifier: GPL-2.0-or-later
"""How well the runs of one boot agree: the only place for a bootstrap, which would take the runs of
one boot for boots if it looked beyond it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lowlat.report.arm import Arm, Boot
from lowlat.report.endpoint import Pair
from lowlat.report.stats import permutation as inference

#: Fewer runs than this say nothing about how they spread.
_ENOUGH_RUNS = 3

_RESAMPLES = 999
_SEED = 1


def flags(pair: Pair) -> Iterator[str]:
    """The boot whose runs agree least, in a sentence; nothing without several runs in a boot."""
    boots = (*pair.before.boots, *pair.after.boots)
    groups = [_values(pair, boot) for boot in boots if len(boot.runs) >= _ENOUGH_RUNS]
    known = [values for values in groups if len(values) >= _ENOUGH_RUNS and min(values) > 0]
    if not known or not inference.available():
        return
    low, high = max(map(interval, known), key=lambda limits: limits[1] / limits[0])
    yield (
        f"the runs of a boot leave its {pair.primary} open by a factor of {high / low:.2g} at most "
        "(95 %, bootstrap); how far boots differ is not in it"
    )


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Where the median of a boot's runs lies, with 95 % confidence."""
    import numpy as np
    from scipy import stats

    found = stats.bootstrap(
        (values,),
        np.median,
        n_resamples=_RESAMPLES,
        confidence_level=1 - inference.ALPHA,
        method="percentile",
        random_state=_SEED,
    ).confidence_interval
    return float(found.low), float(found.high)


def _values(pair: Pair, boot: Boot) -> list[float]:
    measures = [measure for measure in pair.measures if measure.name == pair.primary]
    runs = (Arm.of([run]).values(pair.cpus, measures) for run in boot.runs)
    return [values[pair.primary, "all"][0] for values in runs if (pair.primary, "all") in values]
