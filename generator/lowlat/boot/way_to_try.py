# SPDX-License-Identifier: GPL-2.0-or-later
"""The command that tries the applied line on this machine."""

from typing import Optional

from lowlat.base.errors import LowlatError
from lowlat.boot import kexec
from lowlat.boot.loaders import by_hand
from lowlat.boot.loaders.by_hand import ByHand
from lowlat.boot.loaders.interface import BootMenu, Loader
from lowlat.boot.programs import Unchecked
from lowlat.host.root import Root

BY_ENTRY = "lowlat-gen trial"
BY_KEXEC = "lowlat-gen trial --kexec"

#: BY_ENTRY, or BY_KEXEC if that refuses: not all was checked.
EITHER = "lowlat-gen trial [--kexec]"


def command(root: Root, loader: Optional[Loader], boot: BootMenu) -> str:
    """The command; "" if only a person can have the line boot. Where neither way is known to work
    it is BY_ENTRY, which says why not."""
    if isinstance(loader, ByHand):
        return "" if by_hand.no_kexec(root) else BY_KEXEC
    trial = next(boot.tuned(trial=True), None)
    why_not = cannot_once(loader) if loader and trial else ""
    if trial is None or why_not == "" or kexec.why_not(root, trial.release, trial.words):
        return BY_ENTRY
    return EITHER if why_not is None else BY_KEXEC


def cannot_once(loader: Loader) -> Optional[str]:
    """The reason why the loader cannot boot an entry only once; "" if it can, None if that could
    not be checked."""
    try:
        loader.check_unarmed()
        loader.check_one_shot()
    except Unchecked:
        return None
    except LowlatError as error:
        return error.message
    return ""


def next_steps(root: Root, loader: Loader) -> str:
    """The way to a line that was tried, as a hint."""
    way = command(root, loader, loader.describe())
    if way == BY_ENTRY and (why_not := cannot_once(loader)):
        return f"no trial is possible here: {why_not}"
    if way == EITHER:
        return f"'{BY_ENTRY}' and reboot, or '{BY_KEXEC}' and 'systemctl kexec', then promote"
    start = "'systemctl kexec'" if way == BY_KEXEC else "reboot"
    return f"'{way}', {start}, then promote" if way else "'lowlat-gen promote' prints the step"
