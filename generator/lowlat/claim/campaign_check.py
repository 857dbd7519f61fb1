# SPDX-License-Identifier: GPL-2.0-or-later
"""A comparison held against the campaign that was written down before its first boot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Optional

from lowlat.claim import pairs_within, until_clear
from lowlat.claim.build import Report, without_test
from lowlat.claim.caveat import Caveat, CaveatEffect, FoundCaveat
from lowlat.claim.comparison import Comparison, compare, set_ups
from lowlat.claim.departures import find_departures, lost_boots
from lowlat.claim.verdict import TESTED, UNCHANGED
from lowlat.claim.written_down import WrittenDown
from lowlat.figures.measured_arm import Arm
from lowlat.model.campaign import WHEN_CLEAR, Campaign, Registered

#: Beside the verdict of runs of no campaign.
NOT_REGISTERED = "not pre-registered"


def compare_registered(*arms: Arm, named: Optional[Path] = None) -> Comparison:
    """The comparison of these arms, held against their campaign: the one in the ``named`` file, or
    the one in the folder of the runs. Raises Refused as compare() and WrittenDown.of() do."""
    if len(arms) == 1:
        return compare(*arms)
    written = WrittenDown.of([run for arm in arms for run in arm.runs], named)
    return held_against(compare(*arms, campaign=written.campaign), written)


def set_ups_registered(*arms: Arm) -> Iterator[tuple[str, Comparison]]:
    """The comparisons of set_ups(), each held against the campaign beside the runs."""
    written = WrittenDown.of([run for arm in arms for run in arm.runs])
    for title, comparison in set_ups(*arms, campaign=written.campaign):
        yield title, held_against(comparison, written)


def held_against(comparison: Comparison, written: WrittenDown) -> Comparison:
    """The comparison, each report with what its campaign says."""
    first, *others = comparison.arms
    each = zip(comparison.reports, others)
    alone = not comparison.several
    reports = tuple(
        weigh_campaign(report, (first, arm), written, alone=alone) for report, arm in each
    )
    return replace(comparison, reports=reports)


def weigh_campaign(
    report: Report, arms: tuple[Arm, Arm], written: WrittenDown, *, alone: bool = True
) -> Report:
    """The report of these arms with what the campaign says of them; ``alone`` if it is the only one
    of a comparison. What departs from the campaign may leave no claim."""
    campaign, claim = written.campaign, ""
    if campaign is None:
        return with_caveats(report, [*_unregistered(report, written)])
    if campaign.stop == WHEN_CLEAR:
        report = until_clear.judged(report, *arms, campaign)
    elif campaign.within and alone:
        report, claim = pairs_within.judged(report, arms, campaign)
    found = [*find_departures(campaign, arms, written.left), *_endpoint(campaign, report)]
    lost = {name: len(boots.lost) for name, boots in lost_boots(campaign, arms).items()}
    texts = tuple(one.text for one in found)
    own = Registered(campaign.digest, campaign.kexec, texts, claim, campaign.discard, lost)
    return with_caveats(
        replace(report, campaign=own), [*found, *_of_its_boots(campaign)], own.words
    )


def with_caveats(report: Report, found: list[FoundCaveat], words: Optional[str] = None) -> Report:
    """The report with these caveats, and with their ``words`` beside its verdict; without a verdict
    if one of them forbids it, or boots are lost and the claim does not hold with them."""
    said = "; ".join(one.text for one in found) if words is None else words
    report = replace(report, caveats=(*found, *report.caveats))
    effects = {one.kind.effect for one in found}
    if CaveatEffect.FORBIDS in effects and (report.verdict in TESTED or report.e_value is not None):
        report = without_test(report, "no claim is made")
    elif CaveatEffect.COUNTED in effects and report.verdict == UNCHANGED:
        report = without_test(report, "counted against a claim, the lost boots leave none")
    return _worded(report, said)


def _worded(report: Report, words: str) -> Report:
    """The report with these words beside its verdict; a table of several arms has notes only."""
    if not words:
        return report
    return replace(report, why=f"{report.why}; {words}", flags=(words, *report.flags))


def _unregistered(report: Report, written: WrittenDown) -> Iterator[FoundCaveat]:
    if written.gone:
        text = f"the campaign that the runs name ({written.gone[:8]}…) is not here or was changed"
        yield FoundCaveat(Caveat.CAMPAIGN_GONE, text)
    elif report.verdict in TESTED:
        yield FoundCaveat(Caveat.NOT_REGISTERED, NOT_REGISTERED)


def _endpoint(campaign: Campaign, report: Report) -> Iterator[FoundCaveat]:
    """Whether the verdict is about what was written down."""
    primary = report.primary
    if primary is not None and primary.key.text != campaign.endpoint:
        written, judged = campaign.endpoint, primary.key.text
        text = f"it was written for {written}, which not every run has: this is about {judged}"
        yield FoundCaveat(Caveat.OTHER_ENDPOINT, text)


def _of_its_boots(campaign: Campaign) -> Iterator[FoundCaveat]:
    """What the campaign itself says of its boots."""
    if campaign.kexec:
        yield FoundCaveat(Caveat.KEXEC, "kexec boots")
    if campaign.discard:
        yield FoundCaveat(Caveat.DISCARD, "the first boot after each change is discarded")
