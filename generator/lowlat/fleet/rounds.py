# SPDX-License-Identifier: GPL-2.0-or-later
"""The rounds of hosts: pairs of boots that have one number in their campaign, or, without one, that
several hosts made at the same time."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Optional

from lowlat.claim import pairing
from lowlat.claim.pairing import Pairing
from lowlat.claim.stats.flips import ENOUGH_PAIRS, Result
from lowlat.claim.stats.lost import lost_pairs, weakest_result
from lowlat.claim.stats.pairs import is_lopsided
from lowlat.claim.stats.rounds import HostRounds, infer_rounds, shared_rounds
from lowlat.claim.stats.samples import TwoSamples
from lowlat.model.campaign import Campaign


@dataclass(frozen=True)
class TestedHost:
    """The pairs of a host; ``rows`` are the values of a figure in these, and with its lost boots
    counted against a fall and against a rise."""

    name: str
    pairing: Pairing
    rows: Sequence[TwoSamples]


@dataclass(frozen=True)
class Rounds:
    """The rounds of some hosts: as they are, and, if boots or hosts of the campaign are lost, with
    these counted against a fall and against a rise. ``lost`` is how many of them lack a boot."""

    hosts: Sequence[TestedHost]
    ways: Sequence[Sequence[HostRounds]]
    lost: int = 0

    @classmethod
    def of(cls, hosts: Sequence[TestedHost], campaign: Optional[Campaign]) -> "Rounds":
        """By the number in the ``campaign`` of all, or by time."""
        if campaign is None:
            times = _by_time([host.pairing for host in hosts])
            return cls(hosts, [[HostRounds(n, host.rows[0]) for n, host in zip(times, hosts)]])
        known = [HostRounds(host.pairing.pairs.blocks, host.rows[0]) for host in hosts]
        absent = campaign.hosts.keys() - {host.name for host in hosts}
        lost = {number for host in hosts for number in host.pairing.missing}
        if not absent and not lost:
            return cls(hosts, [known])
        return cls(hosts, [known, *_counted(hosts, campaign, len(absent))], len(lost))

    @property
    def count(self) -> int:
        return len(shared_rounds(self.ways[0]))

    @property
    def order(self) -> str:
        """The order within the rounds: that of the host whose order says least."""
        orders = {host.pairing.order for host in self.hosts}
        least = (pairing.UNKNOWN, pairing.NOT_DRAWN, pairing.DRAWN)
        return next(one for one in least if one in orders)

    @property
    def untested(self) -> str:
        """The reason why the rounds cannot be tested, or ""."""
        if self.count < ENOUGH_PAIRS:
            made = f"{self.count} rounds were made by at least two hosts at the same time"
            return f"{made}; a claim over hosts takes {ENOUGH_PAIRS}"
        totals = dict.fromkeys(shared_rounds(self.ways[0]), 0)
        for host, own in zip(self.hosts, self.ways[0]):
            for number, first in zip(own.rounds, host.pairing.pairs.first):
                if number in totals:
                    totals[number] += first
        signs = [(total > 0) - (total < 0) for total in totals.values()]
        if is_lopsided(signs, drawn=self.order == pairing.DRAWN):
            return "too few of the rounds have the rarer order: a test needs a quarter"
        return ""

    def infer(self) -> tuple[float, Result]:
        """The hosts' mean ratio, and what the test allows to be said with all that is lost."""
        drawn = self.order == pairing.DRAWN
        found = [infer_rounds(own, drawn=drawn) for own in self.ways]
        return found[0][0], weakest_result([result for _, result in found])


def _counted(
    hosts: Sequence[TestedHost], campaign: Campaign, absent: int
) -> Iterator[list[HostRounds]]:
    """The rounds with the lost boots and so many ``absent`` hosts against a fall, and a rise."""
    whole = range(campaign.pairs)
    stand_ins = lost_pairs([host.rows[0] for host in hosts], len(whole))
    for way, stand_in in enumerate(stand_ins, 1):
        each = []
        for host in hosts:
            lost = host.pairing.missing
            row = host.rows[way] if lost else host.rows[0]
            each.append(HostRounds((*host.pairing.pairs.blocks, *lost), row))
        yield [*each, *[HostRounds(whole, stand_in)] * absent]


def _by_time(hosts: Sequence[Pairing]) -> list[list[Optional[int]]]:
    """The number of the round of each pair of each host. Pairs that overlap in time are one round;
    those of which a host then has two are in none."""
    pairs = sorted(
        (*span, host, place)
        for host, own in enumerate(hosts)
        for place, span in enumerate(_spans(own))
    )
    rounds: list[list[Optional[int]]] = [[None] * len(own.pairs.boots) for own in hosts]
    number, until = -1, float("-inf")
    for begin, end, host, place in pairs:
        number += begin > until
        until = max(until, end)
        rounds[host][place] = number
    twice = {n for own in rounds for n, count in Counter(own).items() if count > 1}
    return [[None if n in twice else n for n in own] for own in rounds]


def _spans(pairing: Pairing) -> list[tuple[float, float]]:
    """The starts of the two boots of each pair, which are known where pairs are."""
    starts = zip(pairing.before.starts, pairing.after.starts)
    known = ([time for time in both if time is not None] for both in starts)
    return [(min(both), max(both)) for both in known]
