# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether a command would be refused on this machine now, by the checks with which its verb begins.
Whatever names a next step asks here."""

import os
from collections.abc import Mapping, Sequence
from typing import Callable, Optional

from lowlat.base.errors import LowlatError, NotYet, Refused
from lowlat.host.archive import Archive
from lowlat.host.root import Root
from lowlat.plan.now import NowPlan
from lowlat.verbs import chosen_plan, options
from lowlat.verbs.options import PlanChoice

_USUAL = PlanChoice()


def refusal(command: str, root: Root) -> Optional[LowlatError]:
    """Why a command, such as "sudo lowlat-gen trial --kexec", would be refused; None if it would
    not, as far as this process can see."""
    words = command.removeprefix("sudo ").removeprefix("lowlat-gen ").split()
    known = (name for name in _CHECKS if set(name.split()) <= set(words))
    name = max(known, key=len, default="")
    check = _CHECKS.get(name)
    if words[0] in _CHANGES and not sees_boot(root):
        check = options.refuse_container
    if words[0] in _HERE and not root.live:
        check = None
    try:
        if check is not None:
            check(root)
    except LowlatError as error:
        return error
    return None


def offered_here(command: str) -> Optional[str]:
    """What to type for a command on this machine: itself; or if it would be refused, the command
    that shows what is missing. None if another step comes first."""
    step = offered_step([command], "", Root())
    return step and step[0]


def offered_step(ways: Sequence[str], why: str, root: Root) -> Optional[tuple[str, str]]:
    """A next step and its purpose: the first of these commands that would not be refused, else what
    shows what the first one lacks. None if another step comes first."""
    found = {way: refusal(way, root) for way in ways}
    usable = next((way for way, error in found.items() if error is None), None)
    if usable:
        return usable, why
    error = found[ways[0]]
    verb = ways[0].removeprefix("sudo ").split()[1]
    return None if isinstance(error, NotYet) else (f"lowlat-gen doctor {verb}", f"{why}: {error}")


def sees_boot(root: Root) -> bool:
    """Whether this process sees all that decides about a change of the boot: a capture has no boot
    files, and other users than root may not read all of them."""
    return os.geteuid() == 0 and not isinstance(root, Archive) and root.exists("/etc")


#: The verbs that change the boot, and those that work on this machine only.
_CHANGES = ("apply", "trial", "promote", "tune")
_HERE = ("rehearse", "measure", "top")


def _now(root: Root) -> NowPlan:
    return chosen_plan.make_now(_USUAL, root)[1]


def _apply(root: Root) -> None:
    from lowlat.verbs import chosen_apply

    options.refuse_container(root)
    chosen_apply.prepare_apply(_USUAL, root).check()


def _apply_now(root: Root) -> None:
    from lowlat.runtime import now

    options.refuse_container(root)
    now.check(_now(root), root)


def _trial(root: Root, *, by_kexec: bool = False) -> None:
    from lowlat.boot import kexec, promote

    options.refuse_container(root)
    if root.live or not by_kexec:
        promote.triable_entry(root, None, by_kexec)
        return
    # Of another machine, whether it could there.
    _, _, entry = promote.applied_entry(root, None)
    if why_not := kexec.why_not(root, entry.release, entry.words):
        raise Refused(why_not)


def _promote(root: Root) -> None:
    from lowlat.boot import promote

    options.refuse_container(root)
    promote.promotable_entry(root, None)


def _tune(root: Root) -> None:
    from lowlat.tune.start import TuneOptions
    from lowlat.verbs import chosen_apply

    options.refuse_container(root)
    chosen_apply.prepare_tune(_USUAL, root, TuneOptions())


def _tune_within(root: Root) -> None:
    from lowlat.tune import start, within

    options.refuse_container(root)
    start.check_none(root)
    machine, found = chosen_plan.make_now(_USUAL, root)
    within.prepare(root, machine, found, start.TuneOptions(within=start.WITHIN))


def _measure() -> None:
    from lowlat.measure.child import find_harness

    find_harness()


def _rehearse(*, fetch: bool) -> None:
    from lowlat.rehearse import ready

    ready.check(fetch=fetch)


#: The checks, by the verb and the options that change them.
_CHECKS: Mapping[str, Callable[[Root], object]] = {
    "plan": lambda root: chosen_plan.make_plan(_USUAL, root),
    "plan --now": _now,
    "cpus": lambda root: chosen_plan.here(root, _USUAL),
    "run": chosen_plan.auto_cpus,
    "apply": _apply,
    "apply --now": _apply_now,
    "trial": _trial,
    "trial --kexec": lambda root: _trial(root, by_kexec=True),
    "promote": _promote,
    "tune": _tune,
    "tune --within": _tune_within,
    "verify": lambda root: chosen_plan.in_force(None, root),
    "rehearse": lambda root: _rehearse(fetch=False),
    "rehearse --fetch-kernel": lambda root: _rehearse(fetch=True),
    "measure": lambda root: _measure(),
    "top": lambda root: _measure(),
}
