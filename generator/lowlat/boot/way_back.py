# SPDX-License-Identifier: GPL-2.0-or-later
"""What only a person can take back: the words that a person added to the boot."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Optional

from lowlat.base.errors import LowlatError
from lowlat.boot import added_words, decision, entry_line, foreign
from lowlat.boot.loaders import by_hand, detect
from lowlat.boot.loaders.by_hand import ByHand
from lowlat.host import boot_loader
from lowlat.host.root import Root
from lowlat.model import cmdline
from lowlat.probe.kernel import running_release


@dataclass(frozen=True)
class WayBack:
    """The steps that take back the words of a plan; ``place`` is the file that has them, or the
    running line."""

    place: str
    plan: str
    steps: tuple[str, ...]

    @property
    def why(self) -> str:
        return f"{self.place} has the words of plan {self.plan}"


def read(root: Root) -> Optional[WayBack]:
    """None if neither the files of the loader have words of a plan, nor the running line, as far as
    a person added them there. A trial's line is gone with its boot."""
    loader = foreign.recognise(root, boot_loader.recognise(root))
    added, line = loader.added(root), root.read("/proc/cmdline") or ""
    place, words = (added.path, added.words) if added else ("", ())
    if not words and not entry_line.is_tried(line) and _is_left(root):
        place, words = "the running line", added_words.find(line)
    plan = cmdline.marker(" ".join(words))
    if plan is None:
        return None
    release = running_release(root) or ""
    steps = loader.reverse(root, words, release, _replaced(root, plan))
    return WayBack(place, plan, tuple(steps))


def _replaced(root: Root, plan: str) -> Sequence[str]:
    """The words that the step replaced; () if lowlat's record of them is gone."""
    with suppress(LowlatError):
        stored = next((each for each in decision.all_stored(root) if each.id == plan), None)
        return by_hand.replaced_words(root, stored) if stored else ()
    return ()


def _is_left(root: Root) -> bool:
    """Whether a person changes the line of this machine, also without lowlat's record: the loader
    has no entry of the running kernel's from which lowlat could make one."""
    if by_hand.is_used(root):
        return True
    with suppress(LowlatError):
        loader = detect.writer(root)
        stock = loader.describe().stock(running_release(root) or "")
        return isinstance(loader, ByHand) or stock is None
    return False
