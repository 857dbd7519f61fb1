# SPDX-License-Identifier: GPL-2.0-or-later
"""What an entry of the catalogue is: a tunable, its needs, its value and the sign of its effect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Callable, Optional

from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import ARM, Kernel, Machine

PARAMETERS = "admin-guide/kernel-parameters.txt"

#: Hypervisors that run their guests by KVM (probe/hypervisor.py names them).
_KVM = frozenset({"kvm", "amazon", "google", "alibaba"})


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
    emitted with ``assumed`` beside its reason. ``wants`` says the same as a requirement, for the
    documentation; ``features`` are the files whose presence on the running kernel it asks for."""

    test: Callable[[Target], Optional[bool]]
    missing: str
    assumed: str = ""
    wants: str = ""
    features: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """One file of the running kernel, or a glob of files, with the value it shall hold.

    What the kernel offers by system call only has a name of its own instead of a path:
    ``kthread:GLOB:affinity`` (a CPU mask) and ``kthread:GLOB:policy`` ("other" or "fifo:N") of the
    kernel threads whose name matches.
    """

    path: str
    value: str


@dataclass(frozen=True)
class Sign:
    """How the effect of a boot parameter shows: a file that holds ``expected(value)``, of which
    ``part`` (a regular expression with one group) may name the line that counts; a kernel thread
    whose name matches ``thread``; and kernel messages that prove or contradict it."""

    path: Optional[str] = None
    part: Optional[str] = None
    thread: Optional[str] = None
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
    instead. ``implies`` names entries whose effect this one includes. An entry with ``tuned``, a
    section of TuneD's, and ``native``, the same value on every machine, is set by TuneD itself;
    ``tolerant`` ones may fail for single files. ``cgroup`` is the control group (v2) whose files
    the rows are: it is made before they are written, and removed with them. ``silences`` are
    patterns (fnmatch) of the causes of noise that the entry removes, "class: cause" as in a run.
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
    implies: tuple[str, ...] = ()
    tuned: Optional[str] = None
    native: Optional[str] = None
    tolerant: bool = False
    cgroup: Optional[str] = None
    silences: tuple[str, ...] = ()

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
        test,
        f"the kernel is built without {options}",
        "assumed: kernel configuration not found",
        wants=options,
    )


def feature(path: str, since: tuple[int, int]) -> Need:
    """The kernel has this file, or is at least the version that brought it: distributions take
    features into older kernels, so the file is asked first."""
    major, minor = since

    def test(target: Target) -> Optional[bool]:
        return True if path in target.kernel.features else target.since(major, minor)

    return Need(
        test,
        f"kernels before {major}.{minor} do not have it",
        "assumed: kernel version not known",
        wants=f"Linux {major}.{minor}, or an older kernel with {path}",
        features=(path,),
    )


def before(path: str, gone: tuple[int, int]) -> Need:
    """The kernel has this file, or is older than the version that dropped it."""
    major, minor = gone

    def test(target: Target) -> Optional[bool]:
        if path in target.kernel.features:
            return True
        dropped = target.since(major, minor)
        return None if dropped is None else not dropped

    return Need(
        test,
        f"kernels from {major}.{minor} on do not have it",
        "assumed: kernel version not known",
        wants=f"Linux before {major}.{minor}",
        features=(path,),
    )


ISOLATION = Need(
    lambda target: bool(target.isolated), "no CPU is isolated here", wants="isolated CPUs"
)

PHYSICAL = Need(
    lambda target: not target.guest,
    "this is a virtual machine: the host decides about hardware",
    wants="hardware, not a virtual machine",
)

X86 = Need(lambda target: target.machine.is_x86, "x86 only", wants="x86")

ARM_ONLY = Need(lambda target: target.machine.arch in ARM, "ARM only", wants="ARM")


def _by_kvm(target: Target) -> Optional[bool]:
    if not target.guest:
        return False
    # An emulator's name, or none at all, does not tell whether KVM runs it.
    return True if target.machine.hypervisor in _KVM else None


KVM_GUEST = Need(
    _by_kvm,
    "this is no guest of KVM",
    "assumed: the hypervisor is taken for KVM",
    wants="a guest of KVM",
)

REALTIME = Need(
    lambda target: target.kernel.realtime,
    "only PREEMPT_RT kernels use it",
    "assumed: not known whether the kernel is PREEMPT_RT",
    wants="a PREEMPT_RT kernel",
)

NOT_REALTIME = Need(
    lambda target: None if target.kernel.realtime is None else not target.kernel.realtime,
    "PREEMPT_RT kernels do not have it",
    "assumed: not known whether the kernel is PREEMPT_RT",
    wants="a kernel without PREEMPT_RT",
)
