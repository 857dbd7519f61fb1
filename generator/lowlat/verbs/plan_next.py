# SPDX-License-Identifier: GPL-2.0-or-later
"""The next step after a plan: what ``apply`` would do with it on that machine."""

from collections.abc import Iterator

from lowlat.base.errors import LowlatError
from lowlat.base.terminal import filled
from lowlat.host.root import Root
from lowlat.verbs import options, refusals
from lowlat.verbs.options import PlanChoice


def boot_step(choice: PlanChoice, root: Root) -> Iterator[str]:
    """The command that has the plan booted, with what it does, or why it would be refused."""
    if not refusals.sees_boot(root):
        yield f"Next{_there(root)}, to see what it would change:"
        yield f"  sudo {options.command('apply --dry-run', choice)}"
        return
    # Imported late: a script that takes the JSON form does not wait for it.
    from lowlat.verbs import chosen_apply

    try:
        options.refuse_container(root)
        chosen = chosen_apply.prepare_apply(choice, root)
        chosen.check()
    except LowlatError as error:
        yield from _refused("apply", error)
        return
    if chosen.by_hand:
        what = "to store the plan and print the line, which you add to the boot loader"
    else:
        what = "to add a boot entry to try"
    yield f"Next{_there(root)}, {what}:"
    yield f"  sudo {options.command('apply', choice)}"
    if root.live and refusals.refusal("rehearse", root) is None:
        yield "'lowlat-gen rehearse' boots it in a virtual machine first."


def now_step(choice: PlanChoice, root: Root) -> Iterator[str]:
    """The command that sets the plan without a boot."""
    if refusals.sees_boot(root) and (error := refusals.refusal("apply --now", root)):
        yield from _refused("apply --now", error)
        return
    yield f"Next{_there(root)}, to set this until 'rollback' or the next boot takes it back:"
    yield f"  sudo {options.command('apply --now', choice)}"


def _there(root: Root) -> str:
    return "" if root.live else ", on that machine"


def _refused(command: str, error: LowlatError) -> Iterator[str]:
    yield from filled(f"'{command}' would be refused here: {error}")
