# SPDX-License-Identifier: GPL-2.0-or-later
"""``boot``: called by the distribution's hooks and units, not by people."""

import sys
from dataclasses import dataclass
from functools import partial
from typing import Callable, Optional

from lowlat.base.arguments import option, positional
from lowlat.base.errors import LowlatError
from lowlat.base.terminal import Encoded
from lowlat.boot import (
    at_boot,
    decision,
    entry_line,
    foreign,
    hooks,
    journal,
    places,
    promote,
    trials,
)
from lowlat.boot.decision import Planner
from lowlat.boot.disk import Disk
from lowlat.boot.loaders import grub_entries
from lowlat.boot.loaders.detect import detect
from lowlat.boot.transaction import PATIENT_S, Transaction, lock
from lowlat.host.archive import open_root
from lowlat.host.root import Root
from lowlat.model.plan import Plan
from lowlat.plan import store
from lowlat.probe import kernel_image
from lowlat.verbs import options


@dataclass(frozen=True)
class BootArguments:
    action: str = positional(
        None,
        "grub: read 10_linux's output, print the tuned entries; kernel: a kernel was installed or "
        "removed; start: select TuneD's profile for this boot; health: run the checks of a trial; "
        "record: note that this trial came up; upgrade: rewrite the hooks for this version",
        choices=("grub", "kernel", "start", "health", "record", "upgrade"),
    )
    default: str = option("NAME", "grub: the value of GRUB_DEFAULT", "", empty=True)
    root: str = options.root()


def main(args: BootArguments) -> int:
    root = open_root(args.root, trusted=True)
    if args.action == "record":
        print(promote.record(root))
    elif args.action == "health":
        for note in at_boot.check_health(root):
            print(note)
    elif args.action == "start":
        print(at_boot.select(root))
    elif args.action == "kernel":
        _kernel(root)
    elif args.action == "upgrade":
        _upgrade(root)
    else:
        _grub(root, args.default)
    return 0


def _grub(root: Root, default: str) -> None:
    submenu, _, promoted = default.partition(">")
    promoted = promoted if submenu == grub_entries.SUBMENU else ""
    text = sys.stdin.buffer.read().decode("utf-8", "replace")
    plan_of = _plans(root)
    trial = entry_line.trial_words(root)
    known = foreign.tuned_variables(root)
    release_of = partial(kernel_image.release, root)
    made = grub_entries.submenu(text, release_of, plan_of, trial, known, promoted)
    sys.stdout.write(Encoded(made))
    _tell(grub_entries.lost(made, promoted))


def _kernel(root: Root) -> None:
    if root.absent(store.DECISION):
        return
    places.check(root)
    with lock(Disk(root), PATIENT_S):
        if not root.absent(store.DECISION):  # no rollback came first
            _tell(detect(root).refresh(_plans(root), _follow(root)))


def _upgrade(root: Root) -> None:
    if not root.absent(journal.JOURNAL):
        with Transaction(root, PATIENT_S) as change:
            for note in hooks.upgrade(change):
                _tell(note)


def _follow(root: Root) -> bool:
    try:
        return trials.read(root).follow
    except LowlatError as error:
        _tell(str(error))
        return False


def _tell(note: str) -> None:
    """Print a note to stderr, which the hook's caller shows."""
    if note:
        print(f"lowlat: {note}", file=sys.stderr)


def _plans(root: Root) -> Callable[[str], Optional[Plan]]:
    """The plan of each kernel, by its release. A kernel without a plan gets no entry: on any error
    the hook's caller continues, and a note tells the reason. Without a readable decision, these are
    the stored plans."""
    known: Callable[[str], Optional[Plan]] = partial(decision.stored, root)
    try:
        if applied := decision.read(root):
            known = Planner(applied, root).plan_and_keep
    except LowlatError as error:
        _tell(f"no tuned entry for new kernels: {error}")

    def plan_of(release: str) -> Optional[Plan]:
        try:
            return known(release)
        except LowlatError as error:
            _tell(f"no tuned entry for Linux {release}: {error}")
            return None

    return plan_of
