# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU: its path, whether KVM works with it, and the options for emulation without KVM."""

import os
import platform
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from lowlat.base import process
from lowlat.kernel import facts
from lowlat.rehearse import enclosure

_KVM_PROBE_S = 15.0
_ASK_S = 20.0

#: virtme-ng's model of an emulated x86 CPU without cmpxchg16b, which the kernel's allocator then
#: avoids. QEMU 7.2 takes this instruction's flags from the operands of the previous one
#: (target/i386/tcg/translate.c: no gen_update_cc_op() before the helper). If that sets the flag of
#: virtual-8086 mode, the next `pushf` faults: one boot in thirty panicked.
_X86_CPU = "max,-cx16"

#: Guest time follows executed instructions, 8 ns each (QEMU -icount): host load slows the guest
#: down but drops no ticks, and parallel guests do not disturb each other.
_BY_INSTRUCTIONS = ("-accel", "tcg,thread=single", "-icount", "shift=3,sleep=on")

#: The fallback: one host thread per CPU, where a busy host drops ticks.
_BY_THREADS = ("-accel", "tcg,thread=multi")

#: In µs, the time in which each CPU of such a guest gets its turn: one tick at 1000 Hz.
_ROUND_US = 1000


def program() -> str:
    """QEMU's path. Raises Refused if it is not installed."""
    return process.need(f"qemu-system-{platform.machine()}")


def emulation(release: str, cpus: int) -> tuple[str, ...]:
    """QEMU's options for an emulated guest of this kernel; they follow virtme-ng's options."""
    model = ("-cpu", _X86_CPU) if platform.machine() == "x86_64" else ()
    if counts_instructions(release):
        return (*model, *_BY_INSTRUCTIONS, *_turns(cpus))
    return (*model, *_BY_THREADS)


def drop_privileges_argv() -> tuple[str, ...]:
    """The options that make QEMU drop root's rights before its guest runs."""
    if os.geteuid() != 0:
        return ()
    user = f"{enclosure.USER}:{enclosure.USER}"
    named = _first_two(_version()) >= (9, 1)
    return ("-run-with", f"user={user}") if named else ("-runas", user)


def counts_instructions(release: str) -> bool:
    """Whether -icount works for an emulated guest of this kernel. QEMU before 8.1 gives no CPU a
    turn while the first one spins, and kernels before 6.5 spin until the next CPU is up
    (do_boot_cpu(), arch/x86/kernel/smpboot.c): such a guest never boots."""
    waits = facts.has("CPUs start without spinning", release)
    return bool(waits) or _first_two(_version()) >= (8, 1)


@cache
def _version() -> str:
    told = process.run([program(), "--version"], timeout=_ASK_S).stdout
    match = re.search(r"version (\S+)", told)
    return match[1] if match else ""


def _first_two(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:2])


def _turns(cpus: int) -> tuple[str, ...]:
    """Bound each CPU's turn by a timer of an unused network. QEMU runs one CPU until the next timer
    is due; before 8.1 the others may otherwise miss their turn and lose ticks."""
    each = f"interval={_ROUND_US // cpus}"
    return (
        *("-netdev", "hubport,id=pace,hubid=0"),
        *("-object", f"filter-buffer,id=turns,netdev=pace,queue=rx,{each}"),
    )


@cache
def kvm_works(image: Path) -> bool:
    """Whether KVM boots this kernel up to the panic over its missing root file system. An
    accessible /dev/kvm is no proof: under some hypervisors the guest hangs at once."""
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
