# SPDX-License-Identifier: GPL-2.0-or-later
"""The longest gaps: how long was looked for them, and the level reached once an hour.

A maximum grows with the time it was looked for, so it is never a claim. What compares is a return
level: the length that one CPU is expected to exceed once in a given time. It comes from a
generalised Pareto distribution fitted to the gaps above a high threshold (peaks over threshold),
is only given where the fit holds, and never for more than ten times the time that was measured.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Optional, Union

from lowlat.model.cpuset import CpuSet
from lowlat.report.arm import Arm
from lowlat.report.endpoint import Endpoint, Pair
from lowlat.report.gaps import Gaps, gaps_of
from lowlat.report.stats import permutation as inference

if TYPE_CHECKING:
    from lowlat.report.stats.permutation import Array

NAME = "return_level_ns"

_HOUR_S = 3600.0
_FURTHEST = 10.0

#: Gaps above each threshold that is tried, at least two of them: the levels they lead to may differ
#: by this factor.
_PEAKS = (400, 200, 100)
_STABLE = 1.5

#: A fit that the gaps contradict this clearly (Kolmogorov-Smirnov) is none. The test takes the
#: distribution as given; with one that was fitted to the same gaps, so small a p comes about by
#: chance less than once in 100 fits.
_CONTRADICTED = 0.1

#: Counts that spread over runs and CPUs this improbably are bursts, not single gaps.
_BURSTS = 0.01

#: Above this shape the tail has no mean: one more hour may bring anything.
_HEAVIEST = 1.0


@dataclass(frozen=True)
class Level:
    """The length in ns that a CPU is expected to exceed once in the time asked about."""

    ns: float
    bursts: bool


def endpoints(pair: Pair) -> tuple[tuple[Endpoint, ...], list[str]]:
    """The return level of both arms where it can be told, and what to know about the maxima."""
    if pair.before.runs[0].emulated:
        return (), []
    words = [_lengths(pair)]
    if not inference.available():
        return (), words
    arms, without_logs = gaps_of((pair.before, pair.after), pair.cpus)
    span = min(_HOUR_S, *(_FURTHEST * gaps.seconds for gaps in arms))
    levels = [level(gaps, span) for gaps in arms]
    words += [f"{_named(span)}: {why}" for why in _complaints(levels)]
    before, after = levels
    if not isinstance(before, Level) or not isinstance(after, Level):
        return (), words
    if without_logs:
        words.append(f"{_named(span)} takes gaps as they come: {without_logs}")
    ratio = before.ns / after.ns
    name = f"{NAME}@{_span(span)}"
    return (Endpoint(name, "ns", "all", before.ns, after.ns, ratio, None),), words


def level(gaps: Gaps, span_s: float) -> Union[Level, str]:
    """The return level of a time on one CPU, or why there is none."""
    fits = [_fitted(gaps, peaks, span_s) for peaks in _PEAKS if 10 * peaks <= gaps.counts.sum()]
    if len(fits) < 2:
        return f"needs {10 * _PEAKS[-2]} gaps, there are {gaps.counts.sum():.0f}"
    found = []
    for fit in fits:
        if isinstance(fit, str):
            return fit
        found.append(fit)
    if max(found) > _STABLE * min(found):
        listed = ", ".join(f"{ns / 1000:.3g}" for ns in found)
        return f"the fit depends on its threshold ({listed} us)"
    return Level(found[0], _in_bursts(gaps, _PEAKS[0]))


def _fitted(gaps: Gaps, peaks: int, span_s: float) -> Union[float, str]:
    import numpy as np
    from scipy import stats

    rows, threshold = _above(gaps, peaks)
    count = float(gaps.counts[:rows].sum())
    # The level is the size that so many of the gaps seen exceed.
    wanted = float(gaps.units.sum()) / span_s
    if wanted >= gaps.counts.sum():
        return "there are fewer gaps than that, of any length"
    if wanted >= peaks:
        return float(gaps.sizes[np.searchsorted(gaps.counts.cumsum(), wanted)])
    if not max(peaks / 2, wanted) <= count <= 10 * peaks:
        return f"the {peaks} longest gaps are not told apart ({count:.0f} are above the threshold)"
    excess = np.repeat(gaps.sizes[:rows], gaps.counts[:rows].astype(int)) - threshold
    fit = _pareto(excess)
    if fit is None:
        return "the distribution cannot be fitted"
    shape, scale = fit
    if shape > _HEAVIEST:
        return f"the tail is too heavy (shape {shape:.2f})"
    if stats.kstest(excess, stats.genpareto(shape, 0, scale).cdf).pvalue < _CONTRADICTED:
        return "the longest gaps do not follow the distribution (Kolmogorov-Smirnov)"
    return float(threshold + stats.genpareto.isf(wanted / count, shape, 0, scale))


def _pareto(excess: Array) -> Optional[tuple[float, float]]:
    """The shape and scale most likely to give these excesses over a threshold."""
    from scipy import stats

    with warnings.catch_warnings():
        # The search may step where the distribution has no values; what it ends with is checked.
        warnings.simplefilter("ignore")
        try:
            shape, _, scale = stats.genpareto.fit(excess, floc=0, scale=excess.mean())
        except (ValueError, RuntimeError):
            return None
    return float(shape), float(scale)


def _above(gaps: Gaps, peaks: int) -> tuple[int, float]:
    """How many sizes make up the longest gaps, about so many, and the size next below them."""
    import numpy as np

    rows = int(np.searchsorted(gaps.counts.cumsum(), peaks)) + 1
    rows = min(rows, len(gaps.sizes) - 1)
    return rows, float(gaps.sizes[rows])


def _in_bursts(gaps: Gaps, peaks: int) -> bool:
    """Whether the longest gaps crowd into some runs or CPUs more than chance explains."""
    import numpy as np
    from scipy import stats

    if len(gaps.units) < 2:
        return False
    rows, _ = _above(gaps, peaks)
    seen = np.bincount(
        gaps.of[:rows].astype(int), gaps.counts[:rows].astype(float), len(gaps.units)
    )
    expected = seen.sum() * gaps.units / gaps.units.sum()
    return bool(stats.chisquare(seen, expected).pvalue < _BURSTS)


def _complaints(levels: list[Union[Level, str]]) -> Iterator[str]:
    for name, found in zip(("before", "after"), levels):
        if isinstance(found, str):
            yield f"not known {name}: {found}"
        elif found.bursts:
            yield f"{name}, the longest gaps come in bursts, so it may be exceeded several times"


def _lengths(pair: Pair) -> str:
    ours, theirs = (_times(arm, pair.cpus) for arm in (pair.before, pair.after))
    return f"the longest gap grows with the time measured: {ours} before, {theirs} after, each CPU"


def _times(arm: Arm, cpus: CpuSet) -> str:
    number, seconds = len(arm.runs), arm.seconds(cpus) / len(cpus)
    return f"{number} x {seconds / number:.4g} s" if number > 1 else f"{seconds:.4g} s"


def _named(span_s: float) -> str:
    return f"the gap expected once in {_span(span_s)}"


def _span(span_s: float) -> str:
    return "1h" if span_s == _HOUR_S else f"{span_s:.0f}s"


def longest(name: str) -> Optional[str]:
    """The time of a return level's name, such as "1h"; None where it is another figure."""
    figure, _, span = name.partition("@")
    return span if figure == NAME else None
