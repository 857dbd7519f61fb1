# SPDX-License-Identifier: GPL-2.0-or-later
"""Applying a decision: what is written, in which order, and what is told about it."""

from __future__ import annotations

from dataclasses import dataclass

from lowlat.base import encode
from lowlat.base.errors import LowlatError, Refused
from lowlat.boot import decision as decisions
from lowlat.boot import entry_line, foreign, programs, units
from lowlat.boot.decision import Decision, Planner
from lowlat.boot.loaders.interface import BootMenu, Loader
from lowlat.boot.transaction import Transaction
from lowlat.host import tuned
from lowlat.host.root import Root
from lowlat.model.plan import Plan
from lowlat.plan import store
from lowlat.probe.kernel import read_installed
from lowlat.render import files


@dataclass(frozen=True)
class Proposal:
    """What ``apply`` would do: the plan of the kernel it was asked for, the plans of all kernels
    that get an entry, and what there is to say."""

    decision: Decision
    plan: Plan
    plans: tuple[Plan, ...]
    notes: tuple[str, ...]


def propose(decision: Decision, plan: Plan, boot: BootMenu, root: Root) -> Proposal:
    """Plan for every kernel that the loader boots. Raises Refused where the one that was asked for
    is not among them."""
    stock = {entry.release: entry for entry in reversed(boot.entries) if not entry.ours}
    plans, notes = [], []
    planner = Planner(decision, root)
    for release, entry in stock.items():
        try:
            made = plan if release == plan.kernel else planner.plan(release)
        except LowlatError as error:
            # Another system's kernels, and rescue images, are none of this one's.
            if read_installed(root, release) is not None:
                notes.append(f"no tuned entry for Linux {release}: {error}")
            continue
        plans.append(made)
        words = entry_line.expanded(entry.words, foreign.tuned_variables(root))
        for word in entry_line.conflicting(words, made):
            notes.append(
                f"{word} on the stock line ({foreign.source(root, word)}) is left out of the tuned "
                "entries: the plan sets it"
            )
    if plan not in plans:
        raise Refused(
            f"the boot loader has no entry for kernel {plan.kernel}",
            hint="name an installed one with --kernel",
        )
    return Proposal(decision, plan, tuple(plans), tuple(dict.fromkeys(notes)))


def apply(proposal: Proposal, loader: Loader, root: Root) -> BootMenu:
    """Write it all, or nothing. The default stays what it is."""
    with Transaction(root) as change:
        by_tuned = proposal.decision.runtime == "tuned"
        if by_tuned:
            write_profile(change, proposal.plan)
        else:
            _drop_profiles(change)
        units.write(change, tuned=by_tuned)
        change.write(store.PLAN, proposal.plan.text())
        decisions.keep(proposal.decision, proposal.plans, change)
        return loader.write(change, proposal.plans)


def write_profile(change: Transaction, plan: Plan, *, by_plugin: bool = False) -> None:
    """TuneD's profile of this machine, ``by_plugin`` with the line too. The one it includes is
    written only where no package brought the same."""
    for file in files.render(plan, change.root, programs.ourselves(change.root)):
        if "/tuned/" not in file.path:
            continue
        held = change.disk.get(file.path)
        if file.path.startswith("/usr/") and held and held.content == file.content.encode():
            continue
        path = file.path.replace("/usr/lib/", "/etc/", 1)
        local = path.endswith(f"/{tuned.LOCAL}/tuned.conf")
        more = (
            f"\n[bootloader]\ncmdline_lowlat=+{encode.ini(plan.boot_line)}\n"
            if by_plugin and local
            else ""
        )
        change.write(path, file.content + more, file.mode)


def _drop_profiles(change: Transaction) -> None:
    for path in tuple(change.journal.entries):
        if path.startswith("/etc/tuned/"):
            change.put_back(path)
