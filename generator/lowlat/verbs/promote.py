# SPDX-License-Identifier: GPL-2.0-or-later
"""``promote``: make the tried entry the default."""

from dataclasses import dataclass

from lowlat.base.arguments import flag
from lowlat.boot import promote, trials
from lowlat.boot.loaders.by_hand import ByHand
from lowlat.boot.loaders.interface import line_of
from lowlat.verbs import options


@dataclass(frozen=True)
class PromoteArguments(options.EntryArguments):
    follow_kernels: bool = flag("tuned entries of newer kernels become the default without a trial")


def main(args: PromoteArguments) -> int:
    root = args.open()
    loader, boot, entry = promote.applied_entry(root, args.kernel)
    promote.check_tried(root, entry)
    as_asked = trials.read(root).follow is args.follow_kernels and boot.default == entry
    if args.dry_run:
        said = [f"the default would be {entry.id}"]
    elif isinstance(loader, ByHand):
        said = [f"this machine boots with {loader.name}: lowlat leaves it to you"]
        said += loader.steps().splitlines()
    else:
        entry = promote.promote(root, loader, entry, args.follow_kernels).default or entry
        said = [f"the default is {entry.id}, Linux {entry.release}"]
        said.append("'lowlat-gen rollback' undoes it")
    changed = not isinstance(loader, ByHand) and not as_asked
    options.show_change(args.json, changed, said, line_of(boot.default), line_of(entry))
    return 0
