# SPDX-License-Identifier: GPL-2.0-or-later
"""Applying a decision: what is written, in which order, and what is told about it."""

from __future__ import annotations

from dataclasses import dataclass

from lowlat.base.errors import LowlatError, Refused
from lowlat.boot import decision as decisions
from lowlat.boot import entry_line as line
from lowlat.boot import foreign, units
from lowlat.boot import tuned_profile as selection
from lowlat.boot.decision import Decision, Planner
from lowlat.boot.loaders.interface import Boot, Loader
from lowlat.boot.transaction import Transaction
from lowlat.host import tuned
from lowlat.host.root import Root
from lowlat.model.plan import Plan
from lowlat.plan import store as planfile
from lowlat.probe.kernel import read_installed
from lowlat.render import files as render


@dataclass(frozen=True)
class Proposal:
    """What ``apply`` would do: the plan of the kernel it was asked for, the plans of all kernels
    that get an entry, and what there is to say."""

    decision: Decision
    plan: Plan
    plans: tuple[Plan, ...]
    notes: tuple[str, ...]


def propose(decision: Decision, plan: Plan, boot: Boot, root: Root) -> Proposal:
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
        words = line.expanded(entry.words, foreign.tuned_variables(root))
        for word in line.conflicting(words, made):
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


def apply(proposal: Proposal, loader: Loader, root: Root) -> Boot:
    """Write it all, or nothing. The default stays what it is."""
    with Transaction(root) as change:
        by_tuned = proposal.decision.runtime == "tuned"
        if by_tuned:
            write_profile(change, proposal.plan)
        else:
            _drop_profiles(change)
        units.write(change, tuned=by_tuned)
        change.write(planfile.PLAN, proposal.plan.text())
        decisions.keep(proposal.decision, proposal.plans, change)
        return loader.write(change, proposal.plans)


def write_profile(change: Transaction, plan: Plan, *, by_plugin: bool = False) -> None:
    """TuneD's profile of this machine, ``by_plugin`` with the line too. The one it includes is
    written only where no package brought the same."""
    for file in render.render(plan, change.root):
        if "/tuned/" not in file.path:
            continue
        held = change.disk.get(file.path)
        if file.path.startswith("/usr/") and held and held.content == file.content.encode():
            continue
        path = file.path.replace("/usr/lib/", "/etc/", 1)
        local = path.endswith(f"/{selection.LOCAL}/tuned.conf")
        more = f"\n[bootloader]\ncmdline_lowlat=+{plan.boot_line}\n" if by_plugin and local else ""
        change.write(path, file.content + more, file.mode)


def _drop_profiles(change: Transaction) -> None:
    for path in tuple(change.journal.entries):
        if path.startswith("/etc/tuned/"):
            change.put_back(path)


def check_way(root: Root, boot: str) -> None:
    """Raises Refused where the line is applied by the other way: both would put it on."""
    made = decisions.read(root)
    if made is not None and made.boot != boot:
        raise Refused(
            f"--boot {made.boot} is applied here, and {boot} would double the line",
            hint="'lowlat-gen rollback' first",
        )


def check_tuned(root: Root, runtime: str) -> None:
    """Raises Refused where TuneD shall do the run-time half and is not there, or shall not any more
    and has it in effect: no later boot would take that back."""
    if runtime == "none" and selection.selected(root):
        raise Refused(
            f"--runtime none: TuneD has {selection.LOCAL} selected in this boot",
            hint="boot the stock entry first, or take everything back with 'lowlat-gen rollback'",
        )
    if runtime == "tuned" and tuned.state(root) == "absent":
        raise Refused(
            "TuneD is not installed, which does the run-time half",
            hint="install the package tuned, or apply --runtime none",
        )
