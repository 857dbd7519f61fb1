# SPDX-License-Identifier: GPL-2.0-or-later
"""The boot line through TuneD's bootloader plugin, for sites that require it: TuneD changes the
stock entries, and lowlat reads the result back."""

from collections.abc import Iterator, Mapping

from lowlat.base.errors import Refused
from lowlat.boot import decision as decisions
from lowlat.boot import entry_line, foreign, tuned_profile
from lowlat.boot.apply import Proposal, write_profile
from lowlat.boot.foreseen import Foreseen
from lowlat.boot.loaders.interface import BootEntry, BootMenu
from lowlat.boot.transaction import Transaction
from lowlat.host.root import Root
from lowlat.model.plan import Plan
from lowlat.plan import store


def apply(proposal: Proposal, root: Root) -> None:
    """Give TuneD a profile with the line, for the administrator to select."""
    with Transaction(root) as change:
        _write_inputs(proposal, change)
        if not tuned_profile.selected(root):
            tuned_profile.remember(change.disk, line=True)


def foresee(proposal: Proposal, root: Root) -> Mapping[str, str]:
    """What apply() would do to each file that it would change: Foreseen.ways."""
    with Foreseen(root) as change:
        _write_inputs(proposal, change)
        if not tuned_profile.selected(root):
            tuned_profile.foresee_selection(change)
    return change.with_state()


def _write_inputs(proposal: Proposal, change: Transaction) -> None:
    change.write(store.PLAN, proposal.plan.text())
    write_profile(change, proposal.plan, by_plugin=True)
    decisions.write(proposal.decision, (proposal.plan,), change)


def check(root: Root, proposal: Proposal, boot: BootMenu) -> None:
    """Raises Refused if the plugin does not reach the boot loader, would double a parameter, or
    would make a line that the kernel truncates."""
    if not root.exists("/etc/grub.d/00_tuned"):
        why = "/etc/grub.d/00_tuned is not there: TuneD's bootloader plugin reaches no boot loader"
        raise Refused(why, hint="use --boot own")
    for entry in boot.stocks():
        if entry_line.marked(entry.words):
            continue  # written by the plugin for the previous plan
        for word in entry_line.conflicting(entry.words, proposal.plan):
            why = f"{word} is on the stock line ({foreign.source(root, word)}): it would be doubled"
            raise Refused(why, hint="take it away there, or use --boot own")
        words = (*entry.words, *proposal.plan.words)
        entry_line.check_length(root, entry.id, words, entry.release)


def faults(root: Root, boot: BootMenu, plan: Plan) -> Iterator[str]:
    """Read back: messages about faults in the lines that TuneD wrote."""
    if boot.default is None or not entry_line.marked(boot.default.words):
        yield "TuneD has not put the line onto the default entry: 'tuned-adm profile lowlat-local'"
    for entry in marked(boot):
        try:
            entry_line.check_planned(entry.id, entry.words, plan)
            entry_line.check_length(root, entry.id, entry.words, entry.release)
        except Refused as error:
            yield str(error)


def marked(boot: BootMenu) -> Iterator[BootEntry]:
    """The stock entries that carry a plan's line."""
    return (entry for entry in boot.entries if not entry.ours and entry_line.marked(entry.words))
