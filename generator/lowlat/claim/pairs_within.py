# SPDX-License-Identifier: GPL-2.0-or-later
"""The verdict of pairs of runs within boots, in which the settings were toggled without a reboot.

The order within each pair was drawn, so the test is that of pairs of boots (stats/flips.py). What
it is about depends on the boots: what all runs of a boot share, such as where its memory lies, is
in every pair of that boot. From six boots on, each boot therefore counts once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Callable

from lowlat.claim.blocks import Blocks
from lowlat.claim.build import Report, build, without_test
from lowlat.claim.misuse import misused
from lowlat.claim.stats.flips import ENOUGH_PAIRS
from lowlat.claim.verdict import REFUSED, TESTED
from lowlat.figures.measured_arm import Arm
from lowlat.figures.primary import primary_of
from lowlat.model.campaign import Campaign
from lowlat.model.run import Run

_Arms = tuple[Arm, Arm]


@dataclass(frozen=True)
class ToggledPair:
    """The runs of a pair in either arm, all of one boot; none in one arm if they are lost."""

    number: int
    boot_id: str
    runs: tuple[tuple[Run, ...], tuple[Run, ...]]


def judged(report: Report, arms: _Arms, campaign: Campaign) -> tuple[Report, str]:
    """The report with the verdict about the pairs of the campaign that are whole, and what it is
    about, in words ("" if no pair is whole)."""
    pairs = _pairs(arms, campaign)
    boots = len({pair.boot_id for pair in pairs if all(pair.runs)})
    if report.verdict == REFUSED:
        return report, ""
    if not boots:
        return without_test(report, "no pair of runs is of one boot"), ""
    units, size = _counted(arms, pairs, "run", lambda pair, arm: f"/{pair.number}/{arm}"), 2
    if boots >= ENOUGH_PAIRS and not misused(*units):
        units, size = _counted(arms, pairs, "boot", lambda _, arm: f"/{arm}"), 2 * campaign.within
    runs = [run for arm in arms for run in arm.runs]
    primary, why = primary_of(runs, campaign.endpoint)
    found = build(*units, primary, Blocks(campaign, size))
    left = [_left(arm, unit) for arm, unit in zip(arms, units)]
    lone = ", ".join(name for names in left for name in names)
    flags = [why] if why else []
    flags += [f"runs without a partner in their boot are left out: {lone}"] if lone else []
    unpaired = [(*names, *more) for names, more in zip(left, found.unpaired)]
    found = replace(
        found,
        boots=(boots, boots),
        unpaired=(unpaired[0], unpaired[1]),
        flags=(*flags, *found.flags),
    )
    whole = found.verdict in TESTED and boots >= ENOUGH_PAIRS
    return found, "for boots of this machine" if whole else _where(boots)


def _where(boots: int) -> str:
    return "in this boot" if boots == 1 else f"in these {boots} boots"


def _pairs(arms: _Arms, campaign: Campaign) -> list[ToggledPair]:
    """The pairs of the campaign whose runs are all of one boot."""
    one, other = (_by_pair(arm, campaign) for arm in arms)
    pairs = []
    for number in sorted(one.keys() | other.keys()):
        runs = tuple(one.get(number, ())), tuple(other.get(number, ()))
        boots = {run.boot_id for own in runs for run in own}
        if len(boots) == 1 and "" not in boots:
            pairs.append(ToggledPair(number, min(boots), runs))
    return pairs


def _by_pair(arm: Arm, campaign: Campaign) -> dict[int, list[Run]]:
    pairs: dict[int, list[Run]] = {}
    for run in arm.runs:
        if run.campaign and run.campaign.digest == campaign.digest:
            pairs.setdefault((run.campaign.number - 1) // 2, []).append(run)
    return pairs


def _counted(
    arms: _Arms, pairs: Sequence[ToggledPair], counted: str, part: Callable[[ToggledPair, int], str]
) -> _Arms:
    """The arms with the runs of these pairs, each ``part`` of a boot counted by itself."""
    one, other = (
        replace(
            arm,
            counted=counted,
            runs=tuple(
                replace(run, part=part(pair, place)) for pair in pairs for run in pair.runs[place]
            ),
        )
        for place, arm in enumerate(arms)
    )
    return one, other


def _left(arm: Arm, unit: Arm) -> tuple[str, ...]:
    kept = {run.path for run in unit.runs}
    return tuple(run.path.name for run in arm.runs if run.path not in kept)
