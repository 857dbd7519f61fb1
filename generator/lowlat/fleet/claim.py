# SPDX-License-Identifier: GPL-2.0-or-later
"""One claim over many hosts; statistically, a round of boots on all hosts is the unit."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Optional

from lowlat.base.errors import Refused
from lowlat.claim import pairing, verdict
from lowlat.claim.blocks import Blocks
from lowlat.claim.build import Report, without_test
from lowlat.claim.campaign_check import held_against, weigh_campaign, with_caveats
from lowlat.claim.caveat import Caveat, CaveatEffect, FoundCaveat
from lowlat.claim.comparison import compare
from lowlat.claim.pair import Pair
from lowlat.claim.pairing import Pairing
from lowlat.claim.stats.samples import TwoSamples
from lowlat.claim.verdict import DESCRIPTIVE, REFUSED, TESTED
from lowlat.claim.written_down import WrittenDown
from lowlat.figures.measured_arm import Arm, named
from lowlat.figures.pooling import typical
from lowlat.fleet.rounds import Rounds, TestedHost
from lowlat.model.campaign import Campaign
from lowlat.model.run import Run

#: The fewest hosts for a claim; a single host has its own report.
_HOSTS = 2


@dataclass(frozen=True)
class Host:
    """One host with runs before and after, and its own report; ``rows`` are the values of its
    primary endpoint in its pairs, and with its lost boots counted against a fall and against a
    rise; none if its runs cannot be tested."""

    name: str
    arms: tuple[Arm, Arm]
    report: Report
    pairing: Pairing
    rows: tuple[TwoSamples, ...] = ()

    @property
    def claimed(self) -> bool:
        """Whether the claim includes this host: its own runs can be tested."""
        return bool(self.rows)

    @property
    def gain(self) -> float:
        """Before/after in the host's report, 1 if unknown."""
        return (self.report.primary and self.report.primary.ratio) or 1.0


@dataclass(frozen=True)
class FleetReport:
    """``claim`` is one report on all claimed hosts. ``missing`` are hosts with runs of only one
    side."""

    claim: Report
    hosts: tuple[Host, ...]
    missing: tuple[str, ...]

    @property
    def ratios(self) -> list[tuple[float, str]]:
        """Before/after in the report of each claimed host, with its name, the least first."""
        known = ((host.report.primary, host) for host in self.hosts if host.claimed)
        return sorted((own.ratio, host.name) for own, host in known if own and own.ratio)

    def stands_out(self, host: Host) -> bool:
        """Whether the host's interval excludes the ratio of the median host."""
        own, ratios = host.report.primary, self.ratios
        if not (self.claim.primary and host.claimed and own and ratios):
            return False
        middle, _ = ratios[len(ratios) // 2]
        above = own.ratio_at_least is not None and own.ratio_at_least > middle
        return above or (own.ci95 is not None and own.ci95[1] < middle)


def fleet_report(before: Sequence[Run], after: Sequence[Run]) -> FleetReport:
    """Compare the runs host by host and over all hosts. Raises Refused if a run does not name its
    host, or no host has runs of both sides."""
    sides = [_by_host(runs) for runs in (before, after)]
    written = _shared(before, after)
    names = sorted(sides[0].keys() & sides[1].keys())
    hosts = [_host(name, sides[0][name], sides[1][name], written) for name in names]
    if not hosts:
        raise Refused("no host has runs before and after", hint="give both with --against AFTER")
    both = Arm("before", tuple(before)), Arm("after", tuple(after))
    if written is None:
        claim = _of_each(_claim(hosts, None), hosts)
    else:
        claim = weigh_campaign(_claim(hosts, written.campaign), both, written)
        claim = with_caveats(claim, [*_absent(hosts, written.campaign)])
    return FleetReport(claim, tuple(hosts), tuple(sorted(sides[0].keys() ^ sides[1].keys())))


def _shared(before: Sequence[Run], after: Sequence[Run]) -> Optional[WrittenDown]:
    """The campaign of all hosts; None if each has one of its own."""
    runs = [*before, *after]
    by_host = {run.host.name: run.campaign.digest for run in runs if run.campaign}
    own = len(set(by_host.values())) > 1 and by_host.keys() >= {run.host.name for run in runs}
    return None if own else WrittenDown.of(runs)


def _host(
    name: str, before: Sequence[Run], after: Sequence[Run], shared: Optional[WrittenDown]
) -> Host:
    own = tuple(before), tuple(after)
    roles = named("before", own[0]), named("after", own[1])
    roles = roles if roles[0] != roles[1] else ("before", "after")
    arms = Arm(roles[0], own[0]), Arm(roles[1], own[1])
    written = WrittenDown.of([*own[0], *own[1]]) if shared is None else shared
    campaign = written.campaign
    report = held_against(compare(*arms, campaign=campaign), written).reports[0]
    paired = Pairing.of(*arms, Blocks.of(campaign) if campaign else None)
    host = Host(name, arms, report, paired)
    if paired.untested or report.verdict == REFUSED or not report.primary:
        return host
    pair = Pair.of(paired.before, paired.after, report.primary.key, paired.lone, paired.neither)
    figure = pair.figures[report.primary.key]
    return replace(host, rows=tuple(figure.rows())) if figure.known else host


def _of_each(claim: Report, hosts: Sequence[Host]) -> Report:
    """The claim where each host has a campaign of its own: what departs from one departs here too,
    and a boot that is lost on one host belongs to no round."""
    found = [
        FoundCaveat(one.kind, f"{host.name}: {one.text}")
        for host in hosts
        for one in host.report.caveats
        if one.kind.effect in (CaveatEffect.COUNTED, CaveatEffect.FORBIDS)
    ]
    if found and claim.verdict in TESTED:
        claim = without_test(claim, "no claim is made: a campaign was not followed")
    return with_caveats(claim, found)


def _absent(hosts: Sequence[Host], campaign: Optional[Campaign]) -> Iterator[FoundCaveat]:
    """The hosts of the campaign that are not in the claim."""
    known = {host.name for host in hosts if host.claimed}
    names = sorted(campaign.hosts.keys() - known) if campaign and known else []
    if names:
        count = f"{len(names)} host{'s' if len(names) > 1 else ''} of the campaign"
        text = f"of {count} the claim has no value: {', '.join(names)}"
        yield FoundCaveat(Caveat.HOST_MISSING, text)


def _by_host(runs: Sequence[Run]) -> dict[str, list[Run]]:
    by_host: dict[str, list[Run]] = {}
    for run in runs:
        if not run.host.name:
            raise Refused(f"{run.path}: does not tell its host", hint="'lowlat-gen measure' does")
        by_host.setdefault(run.host.name, []).append(run)
    return by_host


def _claim(hosts: Sequence[Host], campaign: Optional[Campaign]) -> Report:
    claimed = [host for host in hosts if host.claimed]
    primaries = [host.report.primary for host in claimed if host.report.primary]
    boots = [sum(host.report.boots[arm] for host in claimed) for arm in (0, 1)]
    why = f"{len(claimed)} of {len(hosts)} hosts can be tested; a claim over hosts takes {_HOSTS}"
    frame = replace(
        (claimed or hosts)[0].report,
        verdict=DESCRIPTIVE,
        why=why,
        boots=(boots[0], boots[1]),
        endpoints=(),
        flags=(),
        pairs=0,
        unpaired=((), ()),
        more_pairs=None,
        campaign=None,
        e_value=None,
        lost_pairs=0,
        caveats=(),
    )
    if len({one.key for one in primaries}) > 1:
        return replace(frame, why="the primary endpoint is not the same on all hosts")
    if len(claimed) < _HOSTS:
        return frame
    tested = [TestedHost(host.name, host.pairing, host.rows) for host in claimed]
    rounds = Rounds.of(tested, campaign)
    if why := rounds.untested:
        return replace(frame, why=why)
    ratio, result = rounds.infer()
    primary = replace(
        primaries[0],
        before=typical([one.before for one in primaries]),
        after=typical([one.after for one in primaries]),
        ratio=ratio,
        ratio_at_least=result.ci95[0],
        ci95=result.ci95 if math.isfinite(result.ci95[1]) else None,
        p=result.p,
        counts=None,
    )
    order = rounds.order
    over = pairing.over(f"{rounds.count} rounds on {len(claimed)} hosts", order, rounds.lost)
    concluded = verdict.of(primary, over)
    return replace(
        frame,
        verdict=concluded.word,
        why=concluded.why,
        endpoints=(primary,),
        pairs=rounds.count,
        order=order,
        lost_pairs=rounds.lost,
        caveats=tuple(pairing.order_caveats(order)),
    )
