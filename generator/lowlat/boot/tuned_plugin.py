# SPDX-License-Identifier: GPL-2.0-or-later
"""The line through TuneD's bootloader plugin, for sites that require it: TuneD changes the stock
entries, and lowlat reads back what became of them."""

from __future__ import annotations

from collections.abc import Iterator

from lowlat.base.errors import Refused
from lowlat.boot import (
    apply as application,
)
from lowlat.boot import decision as decisions
from lowlat.boot import (
    entry_line as line,
)
from lowlat.boot import (
    foreign,
)
from lowlat.boot import (
    tuned_profile as selection,
)
from lowlat.boot.apply import Proposal
from lowlat.boot.loaders.interface import Boot, Entry
from lowlat.boot.transaction import Transaction
from lowlat.host.root import Root
from lowlat.model.plan import Plan
from lowlat.plan import store as planfile


def apply(proposal: Proposal, root: Root) -> None:
    """Give TuneD a profile with the line, for the administrator to select."""
    with Transaction(root) as change:
        change.write(planfile.PLAN, proposal.plan.text())
        application.write_profile(change, proposal.plan, by_plugin=True)
        decisions.keep(proposal.decision, (proposal.plan,), change)
        if not selection.selected(root):
            selection.remember(change.disk, line=True)


def check(root: Root, proposal: Proposal, boot: Boot) -> None:
    """Raises Refused where the plugin does not reach the boot loader, would double a parameter, or
    would make a line that the kernel cuts."""
    if not root.exists("/etc/grub.d/00_tuned"):
        raise Refused(
            "/etc/grub.d/00_tuned is not there: TuneD's bootloader plugin reaches no boot loader",
            hint="use --boot own",
        )
    for entry in boot.entries:
        if line.marked(entry.words):
            continue  # the plugin's own work, for the plan before this one
        for word in line.conflicting(entry.words, proposal.plan):
            raise Refused(
                f"{word} is on the stock line ({foreign.source(root, word)}): it would be doubled",
                hint="take it away there, or use --boot own",
            )
        line.check_length(entry.id, (*entry.words, *line.planned(proposal.plan)))


def faults(boot: Boot, plan: Plan) -> Iterator[str]:
    """Read back: what is wrong with the lines that TuneD wrote, in words."""
    if boot.default is None or not line.marked(boot.default.words):
        yield "TuneD has not put the line onto the default entry: 'tuned-adm profile lowlat-local'"
    for entry in marked(boot):
        try:
            line.check_planned(entry.id, entry.words, plan)
        except Refused as error:
            yield str(error)


def marked(boot: Boot) -> Iterator[Entry]:
    """The stock entries that carry a line of ours."""
    return (entry for entry in boot.entries if not entry.ours and line.marked(entry.words))
