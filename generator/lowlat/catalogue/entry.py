# SPDX-License-Identifier: GPL-2.0-or-later
"""What an entry of the catalogue is: a tunable, its needs, its value and the sign of its effect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Callable, Optional

from lowlat.cpuset import CpuSet
from lowlat.machine import Kernel, Machine


class Stage(Enum):
    """Where a tunable is set: on the kernel's command line, or in a file of the running kernel."""

    BOOT = "boot"
    RUNTIME = "runtime"


class Risk(Enum):
    """What a tunable may cost; the default profile holds entries of class NONE only."""

    NONE = "none"
    POWER = "power"
    THROUGHPUT = "throughput"
    DEBUGGABILITY = "debuggability"
    HIDES_FAULTS = "hides-faults"
    STARVATION = "starvation"
    SECURITY = "security"


class Reads(Enum):
    """How the kernel prints a value back, which decides whether it equals the planned one."""

    TEXT = "text"
    LIST = "list"
    MASK = "mask"
    WITHIN = "within"  # a mask that names none but the planned CPUs
    CHOICE = "choice"  # always [madvise] never
    HEX = "hex"


@dataclass(frozen=True)
class Target:
    """What a value may depend on. ``enabled`` holds the names decided before this one."""

    machine: Machine
    kernel: Kernel
    isolated: CpuSet
    housekeeping: CpuSet
    guest: bool
    enabled: frozenset[str] = frozenset()

    def since(self, major: int, minor: int) -> Optional[bool]:
        """Whether the kernel is this version or newer; None where its version is not known."""
        version = self.kernel.version
        return None if version is None else version >= (major, minor)


@dataclass(frozen=True)
class Need:
    """A condition. ``test`` answers None where the machine does not tell: then the setting is
    emitted with ``assumed`` beside its reason."""

    test: Callable[[Target], Optional[bool]]
    missing: str
    assumed: str = ""


@dataclass(frozen=True)
class Row:
    """One file of the running kernel, or a glob of files, with the value it shall hold."""

    path: str
    value: str


@dataclass(frozen=True)
class Sign:
    """How the effect of a boot parameter shows: a file that holds ``expected(value)``, and kernel
    messages (regular expressions) that prove or contradict it."""

    path: Optional[str] = None
    reads: Reads = Reads.TEXT
    expected: Callable[[str], str] = lambda value: value
    proof: Optional[str] = None
    contradiction: Optional[str] = None


@dataclass(frozen=True)
class Tunable:
    """One tunable, declared once.

    ``why`` says which noise it removes and how; ``cost`` what it takes away. Exactly one of
    ``value`` (boot; "" for a flag without value) and ``rows`` is given. ``unneeded`` answers why
    the setting would change nothing here. ``accepts`` is the grammar of values a user may give
    instead. An entry with ``tuned``, a section of TuneD's, and ``native``, the same value on every
    machine, is set by TuneD itself; ``tolerant`` ones may fail for single files.
    """

    name: str
    stage: Stage
    why: str
    source: str
    evidence: str
    value: Optional[Callable[[Target], str]] = None
    rows: Optional[Callable[[Target], Sequence[Row]]] = None
    reads: Reads = Reads.TEXT
    needs: tuple[Need, ...] = ()
    unneeded: Callable[[Target], Optional[str]] = lambda target: None
    cost: str = "none"
    risk: Risk = Risk.NONE
    sign: Sign = field(default_factory=Sign)
    accepts: Optional[str] = None
    conflicts: tuple[str, ...] = ()
    tuned: Optional[str] = None
    native: Optional[str] = None
    tolerant: bool = False

    def parameter(self, value: str) -> str:
        """The boot parameter as it stands on the command line."""
        return f"{self.name}={value}" if value else self.name


# ------------------------------------------------------------------- needs


def config(*names: str) -> Need:
    """Built with at least one of these configuration options."""

    def test(target: Target) -> Optional[bool]:
        known = target.kernel.config
        return None if known is None else any(known.enabled(name) for name in names)

    options = " or ".join(f"CONFIG_{name}" for name in names)
    return Need(
        test, f"the kernel is built without {options}", "assumed: kernel configuration not found"
    )


def since(major: int, minor: int) -> Need:
    return Need(
        lambda target: target.since(major, minor),
        f"kernels before {major}.{minor} do not have it",
        "assumed: kernel version not known",
    )


PHYSICAL = Need(
    lambda target: not target.guest, "this is a virtual machine: the host decides about hardware"
)

X86 = Need(lambda target: target.machine.is_x86, "x86 only")

NOT_REALTIME = Need(
    lambda target: None if target.kernel.realtime is None else not target.kernel.realtime,
    "PREEMPT_RT kernels do not have it",
    "assumed: not known whether the kernel is PREEMPT_RT",
)
