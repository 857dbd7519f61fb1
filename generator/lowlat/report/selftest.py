# SPDX-License-Identifier: GPL-2.0-or-later
"""``report --self-test``: what the test says where nothing changed, and where something did.

Two campaigns recorded in which nothing changed (or one of the user's own) are compared with
themselves as if they were two arms, and so are thousands of simulated ones that vary like them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Optional

from lowlat.base.errors import Refused
from lowlat.model.run import Run
from lowlat.report import power, recorded
from lowlat.report.arm import Arm
from lowlat.report.campaign import Nested, Variance, fit, orders, places, simulate
from lowlat.report.comparable import common_cpus, refusal
from lowlat.report.endpoint import ENOUGH_BOOTS, primary_name
from lowlat.report.figures import ENDPOINTS
from lowlat.report.stats import permutation as inference

if TYPE_CHECKING:
    from lowlat.report.campaign import Places
    from lowlat.report.stats.permutation import Array

CAMPAIGNS = 2000

#: More of them take hours, and memory.
_MOST = 100_000

#: Drift and likeness that are simulated at least, for a recording may have been lucky.
_DRIFT = 0.01
_ALIKE = 0.3

#: Draws from a recorded campaign.
_DRAWS = 1000


def told(runs: Sequence[Run], campaigns: Optional[int] = None) -> Iterator[str]:
    """The lines to print; ``runs`` are a campaign of the user's own, none for the recorded ones.

    Raises Refused where scipy is missing or the runs are too few or do not belong together.
    """
    if not inference.available():
        raise Refused("--self-test needs scipy and numpy", hint="pip install 'lowlat[report]'")
    wanted = CAMPAIGNS if campaigns is None else campaigns
    if not 1 <= wanted <= _MOST:
        raise Refused(f"--campaigns {str(campaigns)[:20]}: out of range", hint=f"from 1 to {_MOST}")
    chosen = [own(runs)] if runs else list(recorded.CAMPAIGNS)
    for number, campaign in enumerate(chosen):
        yield from [""] if number else []
        yield from _told(campaign, wanted)


def own(runs: Sequence[Run]) -> recorded.Campaign:
    """A campaign of runs as they came in time, none of which differs from the others on purpose."""
    why = refusal(runs, runs)
    if why:
        raise Refused(f"--self-test: {why}", hint="give runs of one kind")
    arm = Arm.of(runs)
    if len(arm.boots) < 2 * ENOUGH_BOOTS:
        raise Refused(
            f"--self-test: too few boots: {len(arm.boots)}",
            hint=f"give runs of at least {2 * ENOUGH_BOOTS}, nothing changed between them",
        )
    if any(boot.started is None for boot in arm.boots):
        raise Refused("--self-test: the order of the boots is not known", hint="measure again")
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

    draw = np.random.default_rng(power.SEED)
    values = _boots(campaign)
    values = values[: len(values) // 2 * 2]
    for name, order in orders(len(values)).items():
        if order:
            yield f"  recorded, {name}: {_once(values, places(order, (1, len(values)), draw)[0])}"
    rows = np.stack([draw.permutation(values)[: 2 * ENOUGH_BOOTS] for _ in range(_DRAWS)])
    rates = power.rates(rows, (), draw)
    yield (
        f"  recorded, {ENOUGH_BOOTS} and {ENOUGH_BOOTS} drawn {_DRAWS} times: false findings "
        f"{rates.false:.1%}, a fall by 20 % found {rates.found:.1%}"
    )


def _once(values: Array, where: Places) -> str:
    """What the report finds where one half of the boots is taken for an arm."""
    before, after = (values[half] for half in power.arms(where))
    (p,) = inference.p_values(before[None], after[None])
    told = f"ratio {math.exp(before.mean() - after.mean()):.4g}, p = {p:.2g}"
    if p > inference.ALPHA:
        return f"{told}, no change found"
    back = "" if power.stands(before, after, where) else ", which the report takes back"
    return f"{told}, a false finding{back}"


def _simulated(variance: Variance, campaign: Nested, campaigns: int) -> dict[str, power.Rates]:
    import numpy as np

    draw = np.random.default_rng(power.SEED)
    levels = simulate(variance, power.shape_of(campaign), campaigns, draw)
    every = orders(2 * ENOUGH_BOOTS)
    return {name: power.rates(levels, order, draw) for name, order in every.items()}


def _needed(variance: Variance, campaign: Nested) -> str:
    boots = power.boots_needed(variance, power.shape_of(campaign))
    wanted = f"a fall by 20 % is found with a chance of at least {power.POWER:.0%}"
    if boots <= power.MOST_BOOTS:
        return f"{wanted} from {boots} boots an arm on, taken in turn"
    return (
        f"{wanted} from about {boots} boots an arm on; {ENOUGH_BOOTS} are enough "
        f"where boots differ by {power.quiet():.0%}"
    )


def _boots(campaign: Nested) -> Array:
    """The logarithm of each boot's figure."""
    import numpy as np

    return np.array([np.log(np.median([np.mean(run) for run in boot])) for boot in campaign])
