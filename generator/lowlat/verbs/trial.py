# SPDX-License-Identifier: GPL-2.0-or-later
"""``trial``: boot the tuned entry once; the next boot is stock again."""

from collections.abc import Iterator
from dataclasses import dataclass

from lowlat.base.arguments import flag
from lowlat.boot import entry_line, promote
from lowlat.boot.loaders.interface import BootEntry, line_of
from lowlat.host.root import Root
from lowlat.probe.hypervisor import read_hypervisor
from lowlat.verbs import options


@dataclass(frozen=True)
class TrialArguments(options.EntryArguments):
    kexec: bool = flag("load the entry for 'systemctl kexec', which bypasses the boot loader")


def main(args: TrialArguments) -> int:
    root = args.open()
    loader, boot, entry, unchecked = promote.triable_entry(root, args.kernel, args.kexec)
    name = entry_line.trial_id(entry.id)
    changed = not promote.is_set(root, loader, boot, entry, args.kexec)
    if args.dry_run:
        would = f"would load {name} for kexec"
        said = [would if args.kexec else f"the next boot would be {name}, once", *unchecked]
    else:
        kept = boot.default and (boot.default.is_others or entry_line.marked(boot.default.words))
        default = boot.default.id if boot.default and kept else "stock"
        tried = promote.try_once(root, loader, entry, args.kexec)
        said = list(_said(args.kexec, root, tried, default))
    before, after = line_of(boot.next or boot.default), line_of(boot.by_id(name))
    options.show_change(args.json, changed, said, before, after)
    return 0


def _said(by_kexec: bool, root: Root, trial: BootEntry, default: str) -> Iterator[str]:
    if by_kexec:
        entry = "the stock entry" if default == "stock" else default
        yield f"{trial.id} is loaded: 'systemctl kexec' boots it; any reset boots {entry}"
    else:
        yield f"the next boot is {trial.id}; the one after it is {default} again"
    yield "a panic, or a boot that does not complete, reboots by itself"
    yield _hard_hang(root, trial)
    start = "run 'systemctl kexec'" if by_kexec else "reboot"
    yield f"{start} when convenient; in that boot 'lowlat-gen verify', then 'lowlat-gen promote'"


def _hard_hang(root: Root, trial: BootEntry) -> str:
    if not entry_line.is_watched(root, trial.words):
        return "no hardware watchdog guards that boot: a hard hang needs a power cycle"
    # The watchdog of QEMU's q35 up to 7.2 resets nothing, and its driver cannot tell.
    if read_hypervisor(root, root.read("/proc/cpuinfo") or ""):
        return "a virtual watchdog guards that boot: whether it resets a hang is up to the host"
    return "the hardware watchdog resets a hang once its driver is loaded"
