# SPDX-License-Identifier: GPL-2.0-or-later
"""What the reports of single hosts note, for all hosts together."""

from collections.abc import Iterator, Sequence

from lowlat.claim.comparable import conditions
from lowlat.figures.measured_arm import Arm
from lowlat.fleet.claim import FleetReport

#: The most notes, and the most hosts named beside one.
_MOST, _NAMED = 12, 4


def notes(report: FleetReport) -> Iterator[str]:
    """Each note that the claim has not, once, with its hosts unless all have it; those about runs
    name some of them."""
    told: dict[str, list[str]] = {}
    for host in report.hosts:
        of_runs = {*conditions(*host.arms)}
        for flag in host.report.flags:
            if flag not in of_runs and flag not in report.claim.why:
                told.setdefault(flag, []).append(host.name)
    rows = [_row(flag, names, len(report.hosts)) for flag, names in told.items()]
    rows += conditions(*(_joined(side) for side in zip(*(host.arms for host in report.hosts))))
    yield from rows[:_MOST]
    if len(rows) > _MOST:
        yield f"{len(rows) - _MOST} more notes: --json has those of each host"


def _joined(arms: Sequence[Arm]) -> Arm:
    return Arm(arms[0].name, tuple(run for arm in arms for run in arm.runs))


def _row(flag: str, names: list[str], hosts: int) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return flag if len(names) == hosts else f"{', '.join(names[:_NAMED])}{more}: {flag}"
