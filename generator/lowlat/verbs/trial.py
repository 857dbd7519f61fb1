# SPDX-License-Identifier: GPL-2.0-or-later
"""``trial``: boot the tuned entry once; the boot after it is stock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from lowlat.boot import entry_line, promote
from lowlat.boot.loaders.detect import detect
from lowlat.boot.loaders.interface import BootEntry, Loader
from lowlat.host.root import Root
from lowlat.probe.hypervisor import read_hypervisor
from lowlat.verbs import options
from lowlat.verbs.arguments import flag, option


@dataclass(frozen=True)
class EntryArguments(options.HostArguments):
    kernel: Optional[str] = option("RELEASE", "whose entry; default: the running one")


@dataclass(frozen=True)
class TrialArguments(EntryArguments):
    kexec: bool = flag("load it for 'systemctl kexec': past the boot loader, which stays as it is")


def main(asked: TrialArguments) -> int:
    root, found, entry = applied_entry(asked)
    promote.check_returns(root, found, asked.kexec)
    name = entry_line.trial_id(entry.id)
    if asked.dry_run:
        print(
            f"would load {name} for kexec"
            if asked.kexec
            else f"the next boot would be {name}, once"
        )
        return 0
    trial = promote.try_once(root, found, entry, asked.kexec)
    if asked.kexec:
        print(f"{name} is loaded: 'systemctl kexec' boots it; any reset boots the stock entry")
    else:
        print(f"the next boot is {name}; the one after it is stock again")
    print("a panic or a boot that does not get through reboots by itself")
    print(_hard_hang(root, trial))
    start = "run 'systemctl kexec'" if asked.kexec else "reboot"
    print(f"{start} when it suits, then 'lowlat-gen promote'")
    return 0


def applied_entry(asked: EntryArguments) -> tuple[Root, Loader, BootEntry]:
    """The tree, its boot loader, and the tuned entry of --kernel.

    Raises Refused where nothing is applied, or where the loader or its entries are not as needed.
    """
    root = asked.open()
    promote.check_applied(root)
    found = detect(root)
    found.check()
    return root, found, promote.pick(found.describe(), root, asked.kernel)


def _hard_hang(root: Root, trial: BootEntry) -> str:
    if not entry_line.is_watched(root, trial.words):
        return "no hardware watchdog guards that boot: a hard hang needs a power cycle"
    # That of QEMU's q35 up to 7.2 resets nothing, and its driver cannot tell.
    if read_hypervisor(root, root.read("/proc/cpuinfo") or ""):
        return "a virtual watchdog guards that boot: whether it resets a hang is up to the host"
    return "the hardware watchdog resets a hang once its driver is loaded"
