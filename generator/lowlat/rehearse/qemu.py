# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU: where it is, whether KVM works under it, and how it emulates where not."""

import os
import platform
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from lowlat.base import process
from lowlat.rehearse import enclosure

_KVM_PROBE_S = 15.0
_ASK_S = 20.0

#: virtme-ng's model of an emulated x86 CPU, less cmpxchg16b, which the kernel's allocator then does
#: without. QEMU 7.2 takes that instruction's flags from the operands of the one before it
#: (target/i386/tcg/translate.c: no gen_update_cc_op() before the helper), and where this sets the
#: flag of virtual-8086 mode, the next `pushf` faults: one boot in thirty panicked.
_X86_CPU = "max,-cx16"

#: Guest time follows executed instructions, 8 ns each (QEMU -icount): host load makes the guest
#: slower but drops no ticks, and guests side by side do not disturb each other.
_BY_INSTRUCTIONS = ("-accel", "tcg,thread=single", "-icount", "shift=3,sleep=on")

#: Where that does not work: a host thread for each CPU. A busy host then takes ticks away.
_BY_THREADS = ("-accel", "tcg,thread=multi")

#: Within so many microseconds each CPU of such a guest gets its turn: once a tick at 1000 Hz.
_ROUND_US = 1000


def program() -> str:
    """Raises Refused where it is not installed."""
    return process.need(f"qemu-system-{platform.machine()}")


def emulation(release: str, cpus: int) -> tuple[str, ...]:
    """The options for an emulated guest of this kernel, to come after virtme-ng's own."""
    model = ("-cpu", _X86_CPU) if platform.machine() == "x86_64" else ()
    if counts_instructions(release):
        return (*model, *_BY_INSTRUCTIONS, *_turns(cpus))
    return (*model, *_BY_THREADS)


def powerless() -> tuple[str, ...]:
    """The options with which QEMU gives root's rights up before its guest runs."""
    if os.geteuid() != 0:
        return ()
    user = f"{enclosure.USER}:{enclosure.USER}"
    named = _first_two(_version()) >= (9, 1)
    return ("-run-with", f"user={user}") if named else ("-runas", user)


def counts_instructions(release: str) -> bool:
    """Whether an emulated guest of this kernel can have its instructions counted for time. QEMU
    before 8.1 gives no CPU a turn while the first one spins, and kernels before 6.5 spin until the
    next CPU has come up (do_boot_cpu(), arch/x86/kernel/smpboot.c): such a guest never boots."""
    return _first_two(release) >= (6, 5) or _first_two(_version()) >= (8, 1)


@cache
def _version() -> str:
    told = process.run([program(), "--version"], timeout=_ASK_S).stdout
    found = re.search(r"version (\S+)", told)
    return found[1] if found else ""


def _first_two(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:2])


def _turns(cpus: int) -> tuple[str, ...]:
    """QEMU runs one CPU until the next timer is due, and before 8.1 the others may miss their turn
    and lose ticks. This timer belongs to an unused network and bounds each turn."""
    each = f"interval={_ROUND_US // cpus}"
    return (
        *("-netdev", "hubport,id=pace,hubid=0"),
        *("-object", f"filter-buffer,id=turns,netdev=pace,queue=rx,{each}"),
    )


@cache
def kvm_works(image: Path) -> bool:
    """Whether KVM boots this kernel: as far as the panic over its missing root file system. A
    /dev/kvm that can be opened proves nothing: under some hypervisors the guest hangs at once."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False
    ended = process.run(_probe_argv(image), timeout=_KVM_PROBE_S)
    return not ended.timed_out and ended.status == 0 and "Kernel panic" in ended.stdout


def _probe_argv(image: Path) -> Sequence[str]:
    x86 = platform.machine() == "x86_64"
    return [
        program(),
        *("-machine", "q35" if x86 else "virt,gic-version=host"),
        *("-accel", "kvm", "-cpu", "host", "-m", "512M", "-no-reboot", "-nodefaults"),
        *("-display", "none", "-serial", "stdio", "-kernel", str(image)),
        *("-append", f"panic=-1 console={'ttyS0' if x86 else 'ttyAMA0'}"),
    ]
