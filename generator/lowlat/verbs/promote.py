# SPDX-License-Identifier: GPL-2.0-or-later
"""``promote``: make the tried entry the default."""

from collections.abc import Iterator
from dataclasses import dataclass

from lowlat.base.arguments import flag
from lowlat.boot import promote, trials
from lowlat.boot.loaders import by_hand
from lowlat.boot.loaders.by_hand import ByHand
from lowlat.boot.loaders.interface import BootEntry, line_of
from lowlat.host.root import Root
from lowlat.verbs import options


@dataclass(frozen=True)
class PromoteArguments(options.EntryArguments):
    follow_kernels: bool = flag("tuned entries of newer kernels become the default without a trial")


def main(args: PromoteArguments) -> int:
    root = args.open()
    loader, boot, entry = promote.promotable_entry(root, args.kernel)
    if isinstance(loader, ByHand):
        said = list(_left(root, loader, entry, boot.default == entry))
        options.show_change(args.json, False, said, line_of(boot.default), line_of(entry))
        return 0
    follow, tried = args.follow_kernels, entry
    entry = boot.promoted(tried, follow)
    as_asked = trials.read(root).follow is follow and boot.default == entry
    if args.dry_run:
        said = [*options.foreseen(promote.foresee(root, loader, tried, follow))]
        said.append(f"the default would be {entry.id}, Linux {entry.release}")
    else:
        entry = promote.promote(root, loader, tried, follow).default or entry
        said = [f"the default is {entry.id}, Linux {entry.release}"]
        yours = ", but for a setting of yours, which it names" if any(loader.outlasting()) else ""
        said.append(f"'lowlat-gen rollback' undoes it{yours}")
    image = next(iter(entry.files), "")
    if image and entry.release not in image:
        said.append(
            f"note: an update puts another kernel into {image}: it would boot with this line"
        )
    options.show_change(args.json, not as_asked, said, line_of(boot.default), line_of(entry))
    return 0


def _left(root: Root, loader: ByHand, entry: BootEntry, boots: bool) -> Iterator[str]:
    """What is left to a person, once the line was tried or if it cannot be."""
    why = by_hand.no_kexec(root)
    yield f"this machine boots with {loader.name}: lowlat leaves it to you"
    if why and not boots and entry.id not in trials.read(root).seen:
        yield f"note: this line was not tried, and kexec cannot try it: {why}"
    yield from loader.steps().splitlines()
