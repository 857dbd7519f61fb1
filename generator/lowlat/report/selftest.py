# SPDX-License-Identifier: GPL-2.0-or-later
"""``report --self-test``: what the test says where nothing changed, and where something did.

Two campaigns recorded in which nothing changed (or one of the user's own) are compared with
themselves as if they were two arms, and so are thousands of simulated ones that vary like them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lowlat.errors import Refused
from lowlat.report import inference, recorded
from lowlat.report.arm import Arm
from lowlat.report.campaign import Nested, Shape, Variance, fit, orders, places, simulate
from lowlat.report.comparable import common_cpus, refusal
from lowlat.report.endpoint import ENOUGH_BOOTS, primary_name
from lowlat.report.figures import ENDPOINTS
from lowlat.report.order import Order, drift
from lowlat.run import Run

if TYPE_CHECKING:
    import numpy as np

    from lowlat.report.campaign import Places
    from lowlat.report.inference import Array

CAMPAIGNS = 2000

#: The change that is planted: the figure falls by a fifth.
_PLANTED = 0.8
_POWER = 0.8

#: Drift and likeness that are simulated at least, for a recording may have been lucky.
_DRIFT = 0.01
_ALIKE = 0.3

#: Draws from a recorded campaign; simulated campaigns for each number of boots that is tried, and
#: relabellings of each.
_DRAWS = 1000
_TRIED = 300
_RELABELLINGS = 999
_MOST_BOOTS = 100

#: Rows tested at once: memory grows with them and the relabellings.
_AT_ONCE = 200

_SEED = 20


@dataclass(frozen=True)
class Rates:
    """Shares of campaigns: with a small p although nothing changed; of them those that the report
    calls a finding; and those in which it finds the planted change."""

    significant: float
    false: float
    found: float


def told(runs: Sequence[Run], campaigns: int) -> Iterator[str]:
    """The lines to print; ``runs`` are a campaign of the user's own, none for the recorded ones.

    Raises Refused where scipy is missing or the runs are too few or do not belong together.
    """
    if not inference.available():
        raise Refused("--self-test needs scipy and numpy", hint="pip install 'lowlat[report]'")
    if campaigns < 1:
        raise Refused(f"--campaigns {campaigns}: not a number of campaigns", hint="such as 2000")
    chosen = [own(runs)] if runs else list(recorded.CAMPAIGNS)
    for number, campaign in enumerate(chosen):
        yield from [""] if number else []
        yield from _told(campaign, campaigns)


def own(runs: Sequence[Run]) -> recorded.Campaign:
    """A campaign of runs as they came in time, none of which differs from the others on purpose."""
    why = refusal(runs, runs)
    if why:
        raise Refused(f"--self-test: {why}", hint="give runs of one kind")
    arm = Arm.of(runs)
    if len(arm.boots) < 2 * ENOUGH_BOOTS or any(boot.started is None for boot in arm.boots):
        raise Refused(
            f"--self-test: {len(arm.boots)} boots are too few, or their order is not known",
            hint=f"give runs of at least {2 * ENOUGH_BOOTS} boots, nothing changed between them",
        )
    name = primary_name(runs[0].emulated)
    boots = sorted(arm.boots, key=lambda boot: boot.started or 0.0)
    cpus, measures = common_cpus(runs), [m for m in ENDPOINTS if m.name == name]
    values = [
        [Arm.of([run]).values(cpus, measures).get((name, "all"), (0.0,)) for run in boot.runs]
        for boot in boots
    ]
    if min(value for boot in values for run in boot for value in run) <= 0:
        raise Refused(f"--self-test: {name} is zero or unknown in a run", hint="measure longer")
    return recorded.Campaign(name, f"{len(boots)} boots given", values)


def _told(campaign: recorded.Campaign, campaigns: int) -> Iterator[str]:
    found = fit(campaign.boots)
    yield f"{campaign.name}: {campaign.what}"
    yield f"  varies: {found}"
    yield from _replayed(campaign.boots)
    trend = math.copysign(max(abs(found.drift), _DRIFT), found.drift)
    harsh = replace(found, drift=trend, alike=max(found.alike, _ALIKE))
    yield f"  {campaigns} simulated campaigns of {ENOUGH_BOOTS} boots an arm, that vary: {harsh}"
    yield "    boots taken            p <= 0.05   false findings   a fall by 20 % found"
    for name, rates in _simulated(harsh, campaign.boots, campaigns).items():
        yield f"    {name:<22} {rates.significant:>9.1%} {rates.false:>16.1%} {rates.found:>22.1%}"
    yield f"  {_needed(harsh, campaign.boots)}"


def _replayed(campaign: Nested) -> Iterator[str]:
    """The recorded boots against themselves, in each order once, then in random draws of them."""
    import numpy as np

    draw = np.random.default_rng(_SEED)
    values = _boots(campaign)
    values = values[: len(values) // 2 * 2]
    for name, order in orders(len(values)).items():
        if order:
            yield f"  recorded, {name}: {_once(values, places(order, (1, len(values)), draw)[0])}"
    rows = np.stack([draw.permutation(values)[: 2 * ENOUGH_BOOTS] for _ in range(_DRAWS)])
    rates = _rates(rows, (), draw)
    yield (
        f"  recorded, {ENOUGH_BOOTS} and {ENOUGH_BOOTS} drawn {_DRAWS} times: false findings "
        f"{rates.false:.1%}, a fall by 20 % found {rates.found:.1%}"
    )


def _once(values: Array, where: Places) -> str:
    """What the report finds where one half of the boots is taken for an arm."""
    before, after = (values[half] for half in _arms(where))
    (p,) = inference.p_values(before[None], after[None])
    told = f"ratio {math.exp(before.mean() - after.mean()):.3g}, p = {p:.2g}"
    if p > inference.ALPHA:
        return f"{told}, no change found"
    trend = ", which a trend explains" if _drifted(before, after, where) else ""
    return f"{told}, a false finding{trend}"


def _arms(values: Any) -> tuple[Any, Any]:
    """The two arms, the boots on the last axis."""
    middle = values.shape[-1] // 2
    return values[..., :middle], values[..., middle:]


def _drifted(before: Array, after: Array, where: Places) -> bool:
    """Whether the report would take a finding back because a trend explains it."""
    import numpy as np

    layout = Order(*(tuple(half.tolist()) for half in _arms(where)))
    found = drift(np.exp(before).tolist(), np.exp(after).tolist(), layout)
    ratio = math.exp(before.mean() - after.mean())
    return found is not None and found.explains(ratio, layout)


def _simulated(variance: Variance, campaign: Nested, campaigns: int) -> dict[str, Rates]:
    import numpy as np

    draw = np.random.default_rng(_SEED)
    levels = simulate(variance, _shape(campaign, ENOUGH_BOOTS), campaigns, draw)
    return {name: _rates(levels, order, draw) for name, order in orders(2 * ENOUGH_BOOTS).items()}


def _rates(levels: Array, order: Sequence[int], draw: np.random.Generator) -> Rates:
    where = places(order, (len(levels), levels.shape[1]), draw)
    nothing = _findings(levels, where, 1.0)
    planted = _findings(levels, where, _PLANTED)
    return Rates(
        significant=len(nothing) / len(levels),
        false=_kept(levels, where, 1.0, nothing) / len(levels),
        found=_kept(levels, where, _PLANTED, planted) / len(levels),
    )


def _findings(levels: Array, where: Places, planted: float) -> list[int]:
    """The campaigns with a small p, where the figure is so many times itself after."""
    import numpy as np

    before, after = _arms(np.take_along_axis(levels, where, axis=1))
    after = after + math.log(planted)
    found: list[int] = []
    for start in range(0, len(before), _AT_ONCE):
        rows = slice(start, start + _AT_ONCE)
        p = inference.p_values(before[rows], after[rows], _RELABELLINGS)
        found += (start + np.flatnonzero(p <= inference.ALPHA)).tolist()
    return found


def _kept(levels: Array, where: Places, planted: float, findings: Sequence[int]) -> int:
    """How many of these campaigns the report lets stand: those that no trend explains."""
    kept = 0
    for number in findings:
        before, after = _arms(levels[number][where[number]])
        kept += not _drifted(before, after + math.log(planted), where[number])
    return kept


def _needed(variance: Variance, campaign: Nested) -> str:
    boots = boots_needed(variance, _shape(campaign, ENOUGH_BOOTS))
    wanted = f"a fall by 20 % is found with a chance of at least {_POWER:.0%}"
    if boots <= _MOST_BOOTS:
        return f"{wanted} from {boots} boots an arm on, taken in turn"
    return (
        f"{wanted} from about {boots} boots an arm on; {ENOUGH_BOOTS} are enough "
        f"where boots differ by {_quiet():.0%}"
    )


def _quiet() -> float:
    """The standard deviation between boots at which the fewest of them find the planted change."""
    from scipy import optimize, stats

    free = 2 * ENOUGH_BOOTS - 2
    least = stats.t.isf(inference.ALPHA / 2, free)

    def lacking(effect: float) -> float:
        return float(stats.nct.sf(least, free, effect * math.sqrt(ENOUGH_BOOTS / 2)) - _POWER)

    return -math.log(_PLANTED) / float(optimize.brentq(lacking, 0.1, 10))


def boots_needed(variance: Variance, shape: Shape) -> int:
    """The boots an arm from which the planted change is found often enough, taken in turn.

    Tried by simulation, from half the rule of thumb for normal values on; the rule itself where
    that is more boots than are tried. A longer campaign drifts no further than a short one.
    """
    import numpy as np
    from scipy import stats

    draw = np.random.default_rng(_SEED)
    quantiles = stats.norm.isf(inference.ALPHA / 2) + stats.norm.isf(1 - _POWER)
    spread = np.std(simulate(variance, shape, _TRIED, draw), axis=1, ddof=1).mean()
    guess = 2 * (quantiles * spread / math.log(_PLANTED)) ** 2
    boots = max(ENOUGH_BOOTS, int(guess / 2))
    while boots <= _MOST_BOOTS:
        larger = Shape(boots, shape.runs, shape.blocks)
        slower = replace(variance, drift=variance.drift * shape.boots / boots)
        levels = simulate(slower, larger, _TRIED, draw)
        where = places(orders(2 * boots)["in turn (ABAB)"], (_TRIED, 2 * boots), draw)
        if len(_findings(levels, where, _PLANTED)) >= _POWER * _TRIED:
            return boots
        boots += max(1, boots // 10)
    return max(boots, math.ceil(float(guess)))


def _shape(campaign: Nested, boots: int) -> Shape:
    return Shape(boots, len(campaign[0]), len(campaign[0][0]))


def _boots(campaign: Nested) -> Array:
    """The logarithm of each boot's figure."""
    import numpy as np

    return np.array([np.log(np.median([np.mean(run) for run in boot])) for boot in campaign])
