# SPDX-License-Identifier: GPL-2.0-or-later
"""One claim over many hosts; statistically, a round of boots on all hosts is the unit."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lowlat.base.errors import Refused
from lowlat.model.run import Run
from lowlat.report import pairing, verdict
from lowlat.report.arm import Arm, named
from lowlat.report.build import Report
from lowlat.report.campaign import WrittenDown
from lowlat.report.comparison import compare
from lowlat.report.pair import Pair
from lowlat.report.pairing import Pairing
from lowlat.report.pooling import typical
from lowlat.report.stats.pairs import Pairs
from lowlat.report.stats.rounds import infer_rounds
from lowlat.report.verdict import DESCRIPTIVE, TESTED

#: The fewest hosts for a claim; a single host has its own report.
_HOSTS = 2


@dataclass(frozen=True)
class Host:
    """One host with runs before and after, and its own report."""

    name: str
    arms: tuple[Arm, Arm]
    report: Report

    @property
    def claimed(self) -> bool:
        """Whether the claim includes this host: its own runs can be tested."""
        return self.report.verdict in TESTED

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
    hosts = []
    for name in sorted(sides[0].keys() & sides[1].keys()):
        own = [tuple(side[name]) for side in sides]
        roles = named("before", own[0]), named("after", own[1])
        roles = roles if roles[0] != roles[1] else ("before", "after")
        arms = Arm(roles[0], own[0]), Arm(roles[1], own[1])
        written = WrittenDown.of([*own[0], *own[1]])
        hosts.append(Host(name, arms, written.beside(compare(*arms).reports[0], arms)))
    if not hosts:
        raise Refused("no host has runs before and after", hint="give both with --against AFTER")
    both = Arm("before", tuple(before)), Arm("after", tuple(after))
    claim = _registered(_claim(hosts), hosts, both)
    return FleetReport(claim, tuple(hosts), tuple(sorted(sides[0].keys() ^ sides[1].keys())))


def _registered(claim: Report, hosts: Sequence[Host], both: tuple[Arm, Arm]) -> Report:
    """The claim with what its campaign says of it. Where each host has a campaign of its own, that
    stands beside the host."""
    digests = {host.report.campaign and host.report.campaign.digest for host in hosts}
    if len(digests) > 1 and None not in digests:
        return claim
    runs = [run for arm in both for run in arm.runs]
    return WrittenDown.of(runs if len(digests) == 1 else ()).beside(claim, both)


def _by_host(runs: Sequence[Run]) -> dict[str, list[Run]]:
    by_host: dict[str, list[Run]] = {}
    for run in runs:
        if not run.host.name:
            raise Refused(f"{run.path}: does not tell its host", hint="'lowlat-gen measure' does")
        by_host.setdefault(run.host.name, []).append(run)
    return by_host


def _claim(hosts: Sequence[Host]) -> Report:
    claimed = [host.report for host in hosts if host.claimed]
    primaries = [one.primary for one in claimed if one.primary]
    boots = sum(one.boots[0] for one in claimed), sum(one.boots[1] for one in claimed)
    why = f"{len(claimed)} of {len(hosts)} hosts can be tested; a claim over hosts takes {_HOSTS}"
    frame = replace(
        (claimed or [hosts[0].report])[0],
        verdict=DESCRIPTIVE,
        why=why,
        boots=boots,
        endpoints=(),
        flags=(),
        pairs=0,
        unpaired=((), ()),
        more_pairs=None,
    )
    if len({one.key for one in primaries}) > 1:
        return replace(frame, why="the primary endpoint is not the same on all hosts")
    tested = [
        (own.samples(), paired.pairs)
        for host in hosts
        if host.claimed
        and (primary := host.report.primary)
        and (paired := Pairing.of(*host.arms))
        and (own := Pair.of(paired.before, paired.after, primary.key).figures[primary.key]).known
    ]
    if len(tested) < _HOSTS:
        return frame
    rounds = min(len(own.boots) for _, own in tested)
    order = _order([own for _, own in tested])
    samples = [own for own, _ in tested]
    ratio, result = infer_rounds(samples, drawn=order == pairing.DRAWN)
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
    over = pairing.over(f"{rounds} rounds on {len(tested)} hosts", order)
    concluded = verdict.of(primary, over)
    frame = replace(frame, pairs=rounds, order=order)
    return replace(frame, verdict=concluded.word, why=concluded.why, endpoints=(primary,))


def _order(hosts: Sequence[Pairs]) -> str:
    """The order within the rounds: that of the host whose order says least."""
    orders = {pairing.order_words(own) for own in hosts}
    return next(one for one in (pairing.UNKNOWN, pairing.NOT_DRAWN, pairing.DRAWN) if one in orders)
