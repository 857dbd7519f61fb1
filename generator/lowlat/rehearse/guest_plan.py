# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs inside a kernel's first boot, which measures nothing: plans every arm.

Started as ``python -m lowlat.rehearse.guest_plan FOLDER``; the host shares FOLDER.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lowlat.base.errors import LowlatError, Refused
from lowlat.base.typed_json import read_value, write_value
from lowlat.host.root import Root
from lowlat.probe import probe
from lowlat.rehearse import arm, guest_tuned
from lowlat.rehearse.arm import PlannedArm
from lowlat.rehearse.exchange import ARMS, REFUSED, TASK, TUNED_LOG
from lowlat.rehearse.options import CONTROL, NOW, STOCK, RehearseOptions


@dataclass(frozen=True)
class PlanTask:
    """The guest's task; ``given`` are arms of the host's plan, which need no planning here."""

    options: RehearseOptions
    given: tuple[PlannedArm, ...]


def work(folder: Path) -> None:
    try:
        wanted: PlanTask = read_value(folder / TASK, PlanTask)
        write_value(folder / ARMS, tuple(_arms(wanted, folder)))
    except LowlatError as error:
        (folder / REFUSED).write_text(f"{error}\n")


def _arms(wanted: PlanTask, folder: Path) -> Iterator[PlannedArm]:
    root = Root()
    ours = wanted.given or tuple(arm.planned(probe(root), wanted.options))
    yield PlannedArm(STOCK)
    yield from ours
    yield from (_of_tuned(root, name, ours, folder) for name in wanted.options.tuned)
    if wanted.options.control:
        yield PlannedArm(CONTROL)
    if wanted.options.now:
        yield PlannedArm(NOW, now=arm.splitting_plan(ours).profile)


def _of_tuned(root: Root, name: str, ours: Sequence[PlannedArm], folder: Path) -> PlannedArm:
    """The arm of a TuneD profile; its line is known once TuneD has applied the profile."""
    plan = arm.splitting_plan(ours)
    _, problems = guest_tuned.apply_own(root, name, plan.isolated, folder / f"{name}-{TUNED_LOG}")
    if guest_tuned.not_applied(name) in problems:
        raise Refused(f"--tuned-profile {name}: {'; '.join(problems)}")
    return PlannedArm(name, guest_tuned.line(root), tuned=name)


if __name__ == "__main__":
    work(Path(sys.argv[1]))
