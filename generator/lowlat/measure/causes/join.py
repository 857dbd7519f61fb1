# SPDX-License-Identifier: GPL-2.0-or-later
"""Gaps joined with what ran in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lowlat.measure.causes.capture import Gap
from lowlat.measure.causes.context import Context
from lowlat.measure.causes.timeline import Piece

#: Nothing of the kernel's ran: the machine below it took the time.
HARDWARE = ("hardware-or-hypervisor", "no kernel event")

#: The trace began only after the gap, because its buffer was too small.
NOT_RECORDED = ("not-recorded", "the trace's buffer was full")

#: All that a detector's own context switches tell.
SWITCHED = ("thread", "another thread (root with --causes sees which)")
NOT_SWITCHED = ("interrupt-or-hardware", "no context switch (root with --causes sees more)")

Cause = tuple[str, str]


@dataclass
class Tally:
    """What one cause took: how often, and ticks."""

    events: int = 0
    ticks: int = 0


@dataclass
class Joined:
    """One CPU's gaps with their causes. ``chains`` has each distinct chain with its number of gaps
    and ticks, ``first`` the outermost cause of each gap, in the gaps' order."""

    causes: dict[Cause, Tally] = field(default_factory=dict)
    chains: dict[tuple[Cause, ...], Tally] = field(default_factory=dict)
    first: list[Cause] = field(default_factory=list)
    explained: int = 0

    def add(self, gap: Gap, shares: Sequence[tuple[Cause, Tally]]) -> None:
        """Count one gap, whose shares are net and add up to its length."""
        chain = tuple(dict.fromkeys(cause for cause, _ in shares))
        for cause, share in shares:
            tally = self.causes.setdefault(cause, Tally())
            tally.events += share.events
            tally.ticks += share.ticks
        whole = self.chains.setdefault(chain, Tally())
        whole.events += 1
        whole.ticks += gap[1] - gap[0]
        self.first.append(chain[0])
        self.explained += chain[0] not in (HARDWARE, NOT_RECORDED, NOT_SWITCHED)


def join(
    gaps: Sequence[Gap], pieces: Iterable[Piece], entered: list[Context], since: int, slack: int
) -> Joined:
    """Give each gap the contexts that took it, each with its own time.

    Entering and leaving the kernel, which no event covers, goes to the outermost context, whose
    doing it is. ``since`` (ticks) is where the trace begins, ``slack`` how coarse its clock is.
    ``entered`` is read after ``pieces`` has been consumed.
    """
    times = _charge(gaps, pieces, slack)
    starts: dict[int, list[Context]] = {}
    for context, index in _located(gaps, entered, slack):
        starts.setdefault(index, []).append(context)
    joined = Joined()
    for index, gap in enumerate(gaps):
        joined.add(gap, _shares(gap, times.get(index, {}), starts.get(index, []), since))
    return joined


def _charge(
    gaps: Sequence[Gap], pieces: Iterable[Piece], slack: int
) -> dict[int, dict[Context, int]]:
    """The ticks of each gap, by its place, by context; pieces come in order."""
    times: dict[int, dict[Context, int]] = {}
    at = 0
    for piece in pieces:
        while at < len(gaps) and gaps[at][1] + slack < piece.begin:
            at += 1
        for index in range(at, len(gaps)):
            begin, end = gaps[index]
            if begin - slack > piece.end:
                break
            share = min(end, piece.end) - max(begin, piece.begin)
            if share >= 0 or slack:
                charged = times.setdefault(index, {})
                charged[piece.context] = charged.get(piece.context, 0) + max(share, 0)
    return times


def _located(
    gaps: Sequence[Gap], contexts: Iterable[Context], slack: int
) -> Iterable[tuple[Context, int]]:
    """Each context that begins in a gap, with that gap's place."""
    at = 0
    for context in sorted(contexts, key=lambda found: found.begin):
        while at < len(gaps) and gaps[at][1] + slack < context.begin:
            at += 1
        if at < len(gaps) and gaps[at][0] - slack <= context.begin:
            yield context, at


def _shares(
    gap: Gap, charged: Mapping[Context, int], begun: Sequence[Context], since: int
) -> list[tuple[Cause, Tally]]:
    length = gap[1] - gap[0]
    contexts = sorted({*charged, *begun}, key=lambda found: found.begin)
    if not contexts:
        return [(HARDWARE if gap[0] >= since else NOT_RECORDED, Tally(1, length))]
    known = set(begun)
    shares = [
        ((context.kind, context.cause), Tally(int(context in known), charged.get(context, 0)))
        for context in contexts
    ]
    shares[0][1].ticks += max(length - sum(share.ticks for _, share in shares), 0)
    return shares


def inside(gaps: Sequence[Gap], times: Iterable[int], slack: int) -> Counter[bool]:
    """How many of the times, which are in order, lie inside a gap."""
    found: Counter[bool] = Counter()
    at = 0
    for time in times:
        while at < len(gaps) and gaps[at][1] + slack < time:
            at += 1
        found[at < len(gaps) and gaps[at][0] - slack <= time] += 1
    return found


def join_switches(gaps: Sequence[Gap], switches: Sequence[tuple[int, bool]]) -> Joined:
    """The gaps in which the detector was taken off its CPU, and the others; ``switches`` are in
    ticks, the two clocks fitted to each other."""
    joined = Joined()
    outs = [time for time, out in switches if out]
    at = 0
    for gap in gaps:
        while at < len(outs) and outs[at] < gap[0]:
            at += 1
        count = 0
        while at < len(outs) and outs[at] <= gap[1]:
            at, count = at + 1, count + 1
        cause = SWITCHED if count else NOT_SWITCHED
        joined.add(gap, [(cause, Tally(max(count, 1), gap[1] - gap[0]))])
    return joined
