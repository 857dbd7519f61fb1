# SPDX-License-Identifier: GPL-2.0-or-later
"""In what runs depart from the campaign that was written down before the first of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lowlat.claim.blocks import arm_due, arm_of_runs, is_in, last_due, place_in_order
from lowlat.claim.caveat import Caveat, FoundCaveat
from lowlat.figures.measured_arm import Arm
from lowlat.model import cmdline
from lowlat.model.campaign import Campaign, moment
from lowlat.model.cpuset import CpuSet
from lowlat.model.run import Run

#: More files are counted, not named.
_NAMED = 4

#: A boot of a host: the host's name, and the number of the boot in the order.
_Boot = tuple[str, int]


@dataclass(frozen=True)
class LostBoots:
    """Of an arm of the campaign the boots that should have been measured, and of these those that
    have no run."""

    arm: str
    due: frozenset[_Boot]
    lost: frozenset[_Boot]


def find_departures(
    campaign: Campaign, arms: Sequence[Arm], left: Sequence[Run]
) -> Iterator[FoundCaveat]:
    """What is missing, left out, surplus, reordered or late, with its boots; of a campaign over
    hosts, of those whose runs are given. ``left`` are runs that were not given."""
    placed = [run for arm in arms for run in arm.runs if is_in(campaign, run)]
    yield from _absent(campaign, arms, left)
    for arm in arms:
        yield from _of_arm(campaign, arm)
    yield from _timed(campaign, placed)


def lost_boots(campaign: Campaign, arms: Sequence[Arm]) -> Mapping[str, LostBoots]:
    """By the campaign's name of the arm, up to the last number that was measured: what follows is
    to come."""
    ours = [run for arm in arms for run in arm.runs if is_in(campaign, run)]
    have = {(run.host.name, place_in_order(run)) for run in ours}
    hosts, last = {host for host, _ in have}, max((n for _, n in have), default=0)
    result = {}
    for arm in arms:
        own = arm_of_runs(campaign, arm.runs)
        wanted = {(host, n) for host in hosts for n in _numbers(campaign, own) if n <= last}
        result[own] = LostBoots(own, frozenset(wanted), frozenset(wanted - have))
    return result


def _numbers(campaign: Campaign, arm: str) -> list[int]:
    return [n for n, own in enumerate(campaign.order, 1) if own == arm]


def _absent(campaign: Campaign, arms: Sequence[Arm], left: Sequence[Run]) -> Iterator[FoundCaveat]:
    """Boots without a run that was given."""
    ours = [run for arm in arms for run in arm.runs if is_in(campaign, run)]
    kept = {(run.host.name, place_in_order(run)) for run in left if is_in(campaign, run)}
    each = lost_boots(campaign, arms).values()
    missing = [n for own in each for _, n in own.lost - kept]
    if missing:
        unit = campaign.unit
        most_first = sorted(each, key=lambda own: -len(own.lost - kept))
        told = [f"{len(o.lost - kept)} of {len(o.due)} {o.arm} {unit}s" for o in most_first]
        listed = _boots(campaign, missing)
        yield FoundCaveat(Caveat.MISSING, f"{' and '.join(told)} have no run: {listed}")
    out = [n for own in each for _, n in own.lost & kept]
    yield from _found_at(campaign, Caveat.LEFT_OUT, "left out", out)
    seen, last = max(map(place_in_order, ours), default=0), last_due(campaign, ours)
    kinds = {arm_of_runs(campaign, arm.runs) for arm in arms}
    later = [n for n in range(seen + 1, last + 1) if campaign.order[n - 1] in kinds]
    yield from _found_at(campaign, Caveat.NOT_ENDED, "not ended, to come", later if ours else [])


def _of_arm(campaign: Campaign, arm: Arm) -> Iterator[FoundCaveat]:
    placed = [run for run in arm.runs if is_in(campaign, run)]
    own = arm_of_runs(campaign, placed)
    names = [run.path.name for run in arm.runs if not is_in(campaign, run)]
    if names:
        text = f"of no {campaign.unit} of the campaign: {_few(names)}"
        yield FoundCaveat(Caveat.OF_NO_BOOT, text)
    against = [place_in_order(run) for run in placed if arm_due(campaign, run) != own]
    what = f"counted in {arm.name} against the order"
    yield from _found_at(campaign, Caveat.AGAINST_ORDER, what, against)
    other = [place_in_order(run) for run in placed if not _has_line(campaign, run, own)]
    yield from _found_at(campaign, Caveat.OTHER_LINE, f"without the line of {own}", other)


def _has_line(campaign: Campaign, run: Run, arm: str) -> bool:
    """Whether a run had the line of this arm: all its words, and no more of another arm's. A
    loader's variable stands for words that are not known."""
    have = {cmdline.value(word) for word in cmdline.of_kernel(run.cmdline)}
    fit = {}
    for own, line in campaign.hosts[run.host.name].items():
        known = (word for word in cmdline.of_kernel(line) if not cmdline.is_open(word))
        words = [cmdline.value(word) for word in known]
        if have.issuperset(words):
            fit[own] = len(words)
    return arm in fit and fit[arm] == max(fit.values())


def _timed(campaign: Campaign, ours: Sequence[Run]) -> Iterator[FoundCaveat]:
    """Boots that were measured twice, or after later ones of the order, which guests may be that
    are booted side by side; and whether the campaign was written before them all."""
    boots: dict[_Boot, set[str]] = {}
    for run in ours:
        boots.setdefault((run.host.name, place_in_order(run)), set()).add(run.boot_id)
    twice = [number for (_, number), own in boots.items() if len(own) > 1]
    yield from _found_at(campaign, Caveat.MEASURED_TWICE, "measured twice", twice)
    known = [
        (run.began, place_in_order(run), run.host.name)
        for run in ours
        if run.began is not None and not run.side_by_side
    ]
    late = [
        place
        for began, place, host in known
        if any(other > place and time < began for time, other, own in known if own == host)
    ]
    what = "measured late, after others of the order"
    yield from _found_at(campaign, Caveat.MEASURED_LATE, what, late)
    starts, written = [run.began for run in ours if run.began is not None], moment(campaign.written)
    if starts and written is not None and min(starts) < written:
        text = f"it was written after its first {campaign.unit}"
        yield FoundCaveat(Caveat.WRITTEN_AFTER, text)


def _found_at(
    campaign: Campaign, what: Caveat, words: str, numbers: Sequence[int]
) -> Iterator[FoundCaveat]:
    if numbers:
        yield FoundCaveat(what, f"{words}: {_boots(campaign, numbers)}")


def _boots(campaign: Campaign, numbers: Sequence[int]) -> str:
    listed = CpuSet.of(numbers)
    return f"{campaign.unit}{'s' if len(listed) > 1 else ''} {listed}"


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
