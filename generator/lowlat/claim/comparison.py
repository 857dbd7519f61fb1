# SPDX-License-Identifier: GPL-2.0-or-later
"""Several arms against the first: set-ups, profiles, or one parameter left out at a time; or one
arm by itself."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Optional

from lowlat.claim import pairing, verdict, work_words
from lowlat.claim.blocks import Blocks
from lowlat.claim.build import Report, build
from lowlat.claim.description import Description, describe
from lowlat.claim.limits import Observed
from lowlat.claim.requirement import Asked
from lowlat.claim.stats import flips
from lowlat.claim.stats.samples import ALPHA
from lowlat.figures import primary
from lowlat.figures.measured_arm import Arm
from lowlat.model.campaign import Campaign

SCHEMA = "lowlat.comparison/1"

#: More pairs do not make the smallest p smaller: flips are drawn at random then.
_MOST = 20


@dataclass(frozen=True)
class Comparison:
    """The arms, and a report of each one except the first, the reference. If there are several, the
    p of each endpoint is adjusted for their number, and the verdicts follow; all else in a report
    depends on its own arm alone. A single arm has no report and is ``described``.
    ``limits`` are what the arms showed of the limits that were asked for, ``gates`` which of the
    reductions that were required are met."""

    arms: tuple[Arm, ...]
    reports: tuple[Report, ...]
    described: Optional[Description] = None
    limits: tuple[Observed, ...] = ()
    gates: tuple[Asked, ...] = ()

    @property
    def first(self) -> str:
        return self.arms[0].name

    @property
    def several(self) -> bool:
        return len(self.reports) > 1


def compare(*arms: Arm, campaign: Optional[Campaign] = None) -> Comparison:
    """Build a report for each arm except the first, all about the same endpoint, that of the
    ``campaign``, whose numbers make the pairs. Raises Refused if a single arm has no CPU that was
    measured in all runs."""
    if len(arms) == 1:
        return Comparison(arms, (), describe(arms[0]))
    runs = [run for arm in arms for run in arm.runs]
    name, why = primary.primary_of(runs, campaign.endpoint if campaign else "")
    blocks = Blocks.of(campaign) if campaign else None
    reports = [build(arms[0], after, name, blocks) for after in arms[1:]]
    if why:
        reports = [replace(report, flags=(why, *report.flags)) for report in reports]
    return Comparison(arms, _adjusted(reports))


def set_ups(*arms: Arm, campaign: Optional[Campaign] = None) -> Iterator[tuple[str, Comparison]]:
    """The comparisons of arms that were measured under the same scheduling policies, with their
    titles. For one policy the title is "". For several, all set-ups come first, each against the
    first of them; then come the arms under each policy, which claims are about."""
    split = [arm.by_policy() for arm in arms]
    common = [policy for policy in split[0] if all(policy in own for own in split)]
    if len(common) < 2:
        yield "", compare(*arms, campaign=campaign)
        return
    each = [own[policy] for policy in common for own in split]
    yield "all set-ups", compare(*each, campaign=campaign)
    for policy in common:
        yield policy, compare(*(own[policy] for own in split), campaign=campaign)


def holm(values: Sequence[float]) -> list[float]:
    """Holm's adjustment: the chance that any of these is a false finding stays below p."""
    order = sorted(range(len(values)), key=values.__getitem__)
    result = [1.0] * len(values)
    least = 0.0
    for rank, index in enumerate(order):
        least = max(least, min(1.0, (len(values) - rank) * values[index]))
        result[index] = least
    return result


def _adjusted(reports: Sequence[Report]) -> tuple[Report, ...]:
    tested = {report.name: report for report in reports if report.verdict in verdict.TESTED}
    many = len(tested)
    if many < 2:
        return tuple(reports)
    tests = [report.primary for report in tested.values()]
    adjusted = holm([one.p for one in tests if one is not None and one.p is not None])
    least = max(
        flips.smallest_p(one.pairs, drawn=one.order == pairing.DRAWN) for one in tested.values()
    )
    for report, p in zip(tuple(tested.values()), adjusted):
        few = least * many > ALPHA
        tested[report.name] = _untested(report, many) if few else _with(report, p, many)
    return tuple(tested.get(report.name, report) for report in reports)


def pairs_needed(arms: int, *, drawn: bool = True) -> Optional[int]:
    """The pairs of boots that a test of so many arms needs, whose order was ``drawn`` or not; None
    if no number is enough."""
    tried = range(flips.ENOUGH_PAIRS, _MOST)
    least = {pairs: flips.smallest_p(pairs, drawn=drawn) for pairs in tried}
    return next((pairs for pairs, p in least.items() if arms * p <= ALPHA), None)


def _untested(report: Report, arms: int) -> Report:
    """A report without a test: among so many arms, not even the clearest change would be found."""
    pairs = pairs_needed(arms, drawn=report.order == pairing.DRAWN)
    needs = f"needs {pairs} pairs of each" if pairs else "cannot be made"
    why = f"{report.pairs} pairs; a test of {arms} arms {needs}"
    endpoints = tuple(replace(endpoint, p=None) for endpoint in report.endpoints)
    flags = work_words.anew(report.flags, report.endpoints, endpoints)
    return replace(report, verdict=verdict.DESCRIPTIVE, why=why, endpoints=endpoints, flags=flags)


def _with(report: Report, p: float, arms: int) -> Report:
    """The p of the primary endpoints is Holm's; those of the others, which are adjusted for one
    another already, are adjusted after Bonferroni."""
    endpoints = tuple(
        e if e.p is None else replace(e, p=p if e.primary else min(arms * e.p, 1.0))
        for e in report.endpoints
    )
    (tested,) = (endpoint for endpoint in endpoints if endpoint.primary)
    over = pairing.over(f"{report.pairs} pairs", report.order, report.lost_pairs)
    concluded = verdict.of(tested, over)
    why = f"{concluded.why}; p is adjusted for {arms} arms"
    if concluded.word != report.verdict:
        why = f"{why}: alone this would be a finding, among so many arms it is not"
    flags = work_words.anew(report.flags, report.endpoints, endpoints)
    return replace(report, verdict=concluded.word, why=why, endpoints=endpoints, flags=flags)
