# SPDX-License-Identifier: GPL-2.0-or-later
"""Joins gaps with the contexts that ran in them."""

from __future__ import annotations

import heapq
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter, deque
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Callable

from lowlat.measure.causes.capture import GapTimes
from lowlat.measure.causes.timeline import Contexts, Stretch
from lowlat.trace.context import LOST, Context
from lowlat.trace.ftrace import TraceEvent

#: No event of the kernel: the hardware or the hypervisor took the time.
HARDWARE = ("hardware-or-hypervisor", "no kernel event")

#: The trace began only after the gap, because its buffer was too small.
NOT_RECORDED = ("not-recorded", "the trace's buffer was full")

#: The two causes that a detector's own context switches can show.
SWITCHED = ("thread", "another thread (root with --causes sees which)")
NOT_SWITCHED = ("interrupt-or-hardware", "no context switch (root with --causes sees more)")

Cause = tuple[str, str]

#: The number of longest gaps kept for each CPU, and the limit of causes for each.
_LONGEST, _LINKS = 10, 32

#: The causes shown have at least this part of a gap, more than _LINKS of them if need be.
_SHOWN = 0.9


@dataclass
class Tally:
    """The cost of one cause: its number of events, their ticks, and those of the longest in a gap;
    ``place`` is its number."""

    events: int = 0
    ticks: int = 0
    most: int = 0
    place: int = 0


@dataclass
class Joined:
    """One CPU's gaps with their causes. ``first`` is the outermost cause of each gap, in the gaps'
    order, by its place among ``causes``; ``longest`` are the longest gaps as length, begin and
    causes, the largest first."""

    causes: dict[Cause, Tally] = field(default_factory=dict)
    first: array[int] = field(default_factory=lambda: array("l"))
    longest: list[tuple[int, int, Sequence[tuple[Cause, int]]]] = field(default_factory=list)
    explained: int = 0

    def add(self, begin: int, length: int, shares: Sequence[tuple[Cause, Tally]]) -> None:
        """Count one gap, whose shares are net and add up to its length."""
        if len(self.longest) < _LONGEST or length > self.longest[0][0]:
            links = _largest(shares)
            keep = heapq.heappush if len(self.longest) < _LONGEST else heapq.heapreplace
            keep(self.longest, (length, begin, links))
        for cause, share in shares:
            tally = self.causes.setdefault(cause, Tally(place=len(self.causes)))
            tally.events += share.events
            tally.ticks += share.ticks
            tally.most = max(tally.most, share.ticks)
        ((first, _), *_) = shares
        self.first.append(self.causes[first].place)
        self.explained += first not in (HARDWARE, NOT_RECORDED, LOST, NOT_SWITCHED)


def _largest(shares: Sequence[tuple[Cause, Tally]]) -> list[tuple[Cause, int]]:
    """The ticks of a gap by cause, the largest first, and the sum of the smallest."""
    sums: Counter[Cause] = Counter()
    for cause, share in shares:
        sums[cause] += share.ticks
    links = sums.most_common()
    many, told, length = 0, 0, sum(sums.values())
    while many < len(links) and (many < _LINKS or told < _SHOWN * length):
        told += links[many][1]
        many += 1
    rest = links[many:]
    if rest:
        links[many:] = [(("others", f"{len(rest)} smaller causes"), length - told)]
    return links


class Places:
    """Finds the gaps around times, which come in order; ``slack`` (ticks) is the resolution of
    their clock."""

    def __init__(self, gaps: GapTimes, slack: int) -> None:
        self._gaps, self._slack = gaps, slack
        self._at = 0

    def reach(self, time: int) -> int:
        """The place of the first gap that ends no earlier than the time, or of none: their
        number."""
        gaps = self._gaps
        while self._at < len(gaps) and gaps.ends[self._at] < time - self._slack:
            self._at += 1
        return self._at

    def inside(self, time: int) -> bool:
        """Whether the time is in a gap."""
        at = self.reach(time)
        return at < len(self._gaps) and self._gaps.begins[at] - self._slack <= time


@dataclass
class _Taken:
    """What of the trace lies in one gap: the ticks of contexts, and those that began in it."""

    charged: dict[Context, int] = field(default_factory=dict)
    begun: list[Context] = field(default_factory=list)


_NOTHING = _Taken()


class Join:
    """Gives each gap the contexts that took it, each with its own time.

    The time to enter and leave the kernel, which no event covers, goes to the outermost context,
    which caused it. ``since`` (ticks) is the start of the trace, ``slack`` (ticks) the resolution
    of its clock. A gap is summed up once no later event can change its contexts, and ``settled``
    gets each context then: a trace has millions, of which only the latest are kept.
    """

    def __init__(
        self, gaps: GapTimes, since: int, slack: int, settled: Callable[[Context], None]
    ) -> None:
        self._gaps, self._since, self._slack = gaps, since, slack
        self._settled = settled
        self._begins, self._stretches = Places(gaps, slack), Places(gaps, slack)
        self._begun: deque[Context] = deque()
        self._taken: dict[int, _Taken] = {}
        self._next = 0
        self._joined = Joined()

    def of(self, contexts: Contexts, events: Iterable[TraceEvent]) -> Joined:
        """The gaps with their causes, by the contexts of these events."""
        for stretch in contexts.stretches(events):
            self._begin(contexts.begun())
            at = self._stretches.reach(stretch.begin)
            self._settle(at, contexts.changing())
            self._charge(at, stretch)
        self._begin(contexts.begun())
        self._settle(len(self._gaps), ())
        return self._joined

    def _begin(self, contexts: Iterable[Context]) -> None:
        for context in contexts:
            self._begun.append(context)
            if self._begins.inside(context.begin):
                self._take(self._begins.reach(context.begin)).begun.append(context)

    def _charge(self, at: int, stretch: Stretch) -> None:
        """Add a stretch to the gaps that it meets, from this place on."""
        for place in range(at, len(self._gaps)):
            begin, end = self._gaps.begins[place], self._gaps.ends[place]
            if begin - self._slack > stretch.end:
                break
            share = min(end, stretch.end) - max(begin, stretch.begin)
            if share >= 0 or self._slack:
                charged = self._take(place).charged
                charged[stretch.context] = charged.get(stretch.context, 0) + max(share, 0)

    def _take(self, place: int) -> _Taken:
        return self._taken.setdefault(place, _Taken())

    def _settle(self, at: int, changing: Container[Context]) -> None:
        """Sum up the gaps before this place, up to the first whose contexts may still change."""
        while self._begun and self._begun[0] not in changing:
            self._settled(self._begun.popleft())
        for place in range(self._next, at):
            taken = self._taken.get(place, _NOTHING)
            if any(context in changing for context in (*taken.charged, *taken.begun)):
                break
            self._sum_up(place, self._taken.pop(place, _NOTHING))

    def _sum_up(self, place: int, taken: _Taken) -> None:
        begin, end = self._gaps.begins[place], self._gaps.ends[place]
        shares = _shares(end - begin, taken.charged, taken.begun)
        unknown = HARDWARE if begin >= self._since else NOT_RECORDED
        self._joined.add(begin, end - begin, shares or [(unknown, Tally(1, end - begin))])
        self._next = place + 1


def _shares(
    length: int, charged: Mapping[Context, int], begun: Sequence[Context]
) -> list[tuple[Cause, Tally]]:
    """The contexts of one gap, each with its own time; the first one gets the remainder."""
    known = set(begun)
    shares = [
        ((context.kind, context.cause), Tally(int(context in known), charged.get(context, 0)))
        for context in sorted({*charged, *begun}, key=lambda context: context.begin)
    ]
    if shares:
        shares[0][1].ticks += max(length - sum(share.ticks for _, share in shares), 0)
    return shares


def join_switches(gaps: GapTimes, outs: Sequence[int]) -> Joined:
    """The gaps in which the detector was switched out, at these ticks, and the others."""
    joined = Joined()
    for begin, end in zip(gaps.begins, gaps.ends):
        count = bisect_right(outs, end) - bisect_left(outs, begin)
        cause = SWITCHED if count else NOT_SWITCHED
        joined.add(begin, end - begin, [(cause, Tally(max(count, 1), end - begin))])
    return joined
