# SPDX-License-Identifier: GPL-2.0-or-later
"""A comparison held against the campaign that was written down before its first boot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import starmap
from pathlib import Path
from typing import Optional

from lowlat.base import bounds, reader
from lowlat.base.errors import Refused
from lowlat.boot import entry_line
from lowlat.measure.run_file import campaign_file, read_campaign, read_run
from lowlat.model.campaign import WHEN_CLEAR, Campaign, Registered, moment
from lowlat.model.cpuset import CpuSet
from lowlat.model.run import Run
from lowlat.report import until_clear, within
from lowlat.report.arm import Arm
from lowlat.report.build import Report
from lowlat.report.comparison import Comparison
from lowlat.report.verdict import TESTED

#: More files are counted, not named.
_NAMED = 4

#: Beside the verdict of runs of no campaign.
NOT_REGISTERED = "not pre-registered"


@dataclass(frozen=True)
class WrittenDown:
    """The campaign of some runs, None if they are of none, and its runs that were not given."""

    campaign: Optional[Campaign]
    left: tuple[Run, ...] = ()

    @classmethod
    def of(cls, runs: Sequence[Run], named: Optional[Path] = None) -> WrittenDown:
        """The campaign in the ``named`` file, else the one that the runs name and that lies beside
        them. Raises Refused if the named file is no campaign."""
        campaign = read_campaign(named) if named else _beside(runs)
        return cls(campaign, tuple(_left_out(campaign, runs)) if campaign else ())

    def beside(self, report: Report, arms: tuple[Arm, Arm], *, alone: bool = True) -> Report:
        """The report of these arms with what the campaign says of them; ``alone`` if it is the only
        one of a comparison."""
        if self.campaign is None:
            return _worded(report, NOT_REGISTERED) if report.verdict in TESTED else report
        departed = tuple(departures(self.campaign, arms, self.left))
        claim = ""
        if self.campaign.stop == WHEN_CLEAR:
            report = until_clear.judged(report, *arms)
        elif self.campaign.within and alone:
            report, claim = within.judged(report, arms, self.campaign)
        found = Registered(self.campaign.digest, self.campaign.kexec, departed, claim)
        return _worded(replace(report, campaign=found), found.words)


def held_against(comparison: Comparison, named: Optional[Path] = None) -> Comparison:
    """The comparison, each report with what its campaign says. Raises Refused as WrittenDown.of()
    does."""
    if not comparison.reports:
        return comparison
    first, *others = comparison.arms
    found = WrittenDown.of([run for arm in comparison.arms for run in arm.runs], named)
    each = zip(comparison.reports, others)
    alone = not comparison.several
    reports = tuple(found.beside(report, (first, arm), alone=alone) for report, arm in each)
    return replace(comparison, reports=reports)


def _worded(report: Report, words: str) -> Report:
    """The report with these words beside its verdict; a table of several arms has notes only."""
    if not words:
        return report
    return replace(report, why=f"{report.why}; {words}", flags=(words, *report.flags))


def _beside(runs: Iterable[Run]) -> Optional[Campaign]:
    """The campaign that the first run with a place in one names."""
    named = ((run.path, run.campaign.digest) for run in runs if run.campaign)
    found = filter(None, starmap(campaign_file, named))
    return next(map(read_campaign, found), None)


def _left_out(campaign: Campaign, runs: Sequence[Run]) -> Iterator[Run]:
    """The runs of the campaign beside the given ones that were not given."""
    given = {run.path.resolve() for run in runs}
    mark = campaign.digest.encode()
    for folder in sorted({path.parent for path in given}):
        for path in sorted(set(folder.glob("*.json")) - given):
            with suppress(Refused, OSError):
                if mark in reader.read(path, bounds.DOCUMENT, inside=folder):
                    yield read_run(path, inside=folder)


def departures(campaign: Campaign, arms: Sequence[Arm], left: Sequence[Run]) -> Iterator[str]:
    """What is surplus, reordered, late, left out or missing, with its boots; of a campaign over
    hosts, of those whose runs are given. ``left`` are runs that were not given."""
    ours, kinds = [], set()
    for arm in arms:
        placed = [run for run in arm.runs if _in(campaign, run)]
        due = [_due(campaign, run) for run in placed]
        kind = max(due, key=due.count, default="")
        names = [run.path.name for run in arm.runs if not _in(campaign, run)]
        if names:
            yield f"of no {campaign.unit} of the campaign: {_few(names)}"
        against = [_number(run) for run, own in zip(placed, due) if own != kind]
        yield from _listed(campaign, f"counted in {arm.name} against the order", against)
        other = [_number(run) for run in placed if not _has_line(campaign, run, kind)]
        yield from _listed(campaign, f"without the line of {kind}", other)
        kinds |= {kind}
        ours += placed
    yield from _timed(campaign, ours)
    yield from _absent(campaign, ours, left, kinds)


def _in(campaign: Campaign, run: Run) -> bool:
    place = run.campaign
    ours = place and place.digest == campaign.digest and run.host.name in campaign.hosts
    return bool(ours and place and 0 < place.number <= len(campaign.order))


def _number(run: Run) -> int:
    return run.campaign.number if run.campaign else 0


def _due(campaign: Campaign, run: Run) -> str:
    return campaign.order[_number(run) - 1]


def _has_line(campaign: Campaign, run: Run, kind: str) -> bool:
    """Whether a run had the line of this arm: all its words, and no more of another arm's. A
    loader's variable stands for words that are not known."""
    have = {entry_line.value(word) for word in entry_line.of_kernel(run.cmdline)}
    fit = {}
    for arm, line in campaign.hosts[run.host.name].items():
        known = (word for word in entry_line.of_kernel(line) if not entry_line.is_open(word))
        words = [entry_line.value(word) for word in known]
        if have.issuperset(words):
            fit[arm] = len(words)
    return kind in fit and fit[kind] == max(fit.values())


def _timed(campaign: Campaign, ours: Sequence[Run]) -> Iterator[str]:
    """Boots that were measured twice, or after later ones of the order, which guests may be that
    are booted side by side; and whether the campaign was written before them all."""
    boots: dict[tuple[str, int], set[str]] = {}
    for run in ours:
        boots.setdefault((run.host.name, _number(run)), set()).add(run.boot_id)
    twice = [number for (_, number), own in boots.items() if len(own) > 1]
    yield from _listed(campaign, "measured twice", twice)
    known = [
        (run.began, _number(run), run.host.name)
        for run in ours
        if run.began is not None and not run.side_by_side
    ]
    late = [
        number
        for began, number, host in known
        if any(other > number and time < began for time, other, own in known if own == host)
    ]
    yield from _listed(campaign, "measured late, after others of the order", late)
    starts, written = [run.began for run in ours if run.began is not None], moment(campaign.written)
    if starts and written is not None and min(starts) < written:
        yield f"it was written after its first {campaign.unit}"


def _absent(
    campaign: Campaign, ours: Sequence[Run], left: Sequence[Run], kinds: set[str]
) -> Iterator[str]:
    """Boots without a run. A sequential test may end after any pair."""
    have = {(run.host.name, _number(run)) for run in ours}
    last = len(campaign.order)
    if campaign.stop == WHEN_CLEAR:
        last = min(last, 2 * -(-max((number for _, number in have), default=0) // 2))
    wanted = [n for n in range(1, last + 1) if campaign.order[n - 1] in kinds]
    absent = {(run.host.name, n) for run in ours for n in wanted} - have
    kept = {(run.host.name, _number(run)) for run in left if _in(campaign, run)} & absent
    yield from _listed(campaign, "left out", [number for _, number in kept])
    yield from _listed(campaign, "missing", [number for _, number in absent - kept])


def _listed(campaign: Campaign, what: str, numbers: Sequence[int]) -> Iterator[str]:
    if numbers:
        listed = CpuSet.of(numbers)
        yield f"{what}: {campaign.unit}{'s' if len(listed) > 1 else ''} {listed}"


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
