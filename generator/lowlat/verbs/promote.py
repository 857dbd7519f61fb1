# SPDX-License-Identifier: GPL-2.0-or-later
"""``promote``: make the entry that was tried the default."""

from __future__ import annotations

from dataclasses import dataclass

from lowlat.boot import promote
from lowlat.boot.loaders.by_hand import ByHand
from lowlat.verbs import trial
from lowlat.verbs.arguments import flag


@dataclass(frozen=True)
class PromoteArguments(trial.EntryArguments):
    follow_kernels: bool = flag("newer kernels' tuned entries become the default without a trial")


def main(asked: PromoteArguments) -> int:
    root, found, entry = trial.applied_entry(asked)
    promote.check_tried(root, entry)
    if asked.dry_run:
        print(f"the default would be {entry.id}")
        return 0
    if isinstance(found, ByHand):
        print(f"this machine boots by {found.name}: lowlat leaves it to you")
        print(found.steps())
        return 0
    boot = promote.promote(root, found, entry, asked.follow_kernels)
    if boot.default is not None:
        print(f"the default is {boot.default.id}, Linux {boot.default.release}")
    print("'lowlat-gen rollback' takes it back")
    return 0
