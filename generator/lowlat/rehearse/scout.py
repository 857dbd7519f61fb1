# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs inside the first boot of a kernel, where nothing is measured: every arm is planned in it.

Started as ``python -m lowlat.rehearse.scout FOLDER``; FOLDER is shared with the host.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lowlat.base.errors import LowlatError, Refused
from lowlat.host.root import Root
from lowlat.probe import probe
from lowlat.rehearse import arm
from lowlat.rehearse import guest_tuned as tuning
from lowlat.rehearse.arm import Arm
from lowlat.rehearse.options import CONTROL, STOCK, RehearseOptions
from lowlat.rehearse.task import ARMS, TASK, TUNED_LOG

#: Why there is no plan, where there is none.
REFUSED = "refused.txt"


@dataclass(frozen=True)
class Scouting:
    """What to plan for; ``given`` are arms that need no planning here (a plan of the host's)."""

    options: RehearseOptions
    given: tuple[Arm, ...] = ()

    def write(self, folder: Path) -> None:
        given = [known.to_json() for known in self.given]
        text = json.dumps({"options": self.options.to_json(), "given": given}, indent=2)
        (folder / TASK).write_text(f"{text}\n")

    @classmethod
    def read(cls, folder: Path) -> Scouting:
        fields = json.loads((folder / TASK).read_text())
        given = tuple(map(Arm.from_json, fields["given"]))
        return cls(RehearseOptions.from_json(fields["options"]), given)


def work(folder: Path) -> None:
    try:
        arm.write(_arms(Scouting.read(folder), folder), folder / ARMS)
    except LowlatError as error:
        (folder / REFUSED).write_text(f"{error}\n")


def _arms(wanted: Scouting, folder: Path) -> Iterator[Arm]:
    root = Root()
    ours = wanted.given or tuple(arm.planned(probe(root), wanted.options))
    yield Arm(STOCK)
    yield from ours
    yield from (_of_tuned(root, name, ours, folder) for name in wanted.options.tuned)
    if wanted.options.control:
        yield Arm(CONTROL)


def _of_tuned(root: Root, name: str, ours: Sequence[Arm], folder: Path) -> Arm:
    """TuneD tells what a profile of its own would have on the line when it applies it."""
    plan = arm.dividing(ours)
    _, problems = tuning.apply_own(root, name, plan.isolated, folder / f"{name}-{TUNED_LOG}")
    if tuning.not_applied(name) in problems:
        raise Refused(f"--tuned-profile {name}: {'; '.join(problems)}")
    return Arm(name, tuning.line(root), tuned=name)


if __name__ == "__main__":
    work(Path(sys.argv[1]))
