# SPDX-License-Identifier: GPL-2.0-or-later
"""The form of a catalogue entry: a tunable, its needs, its value and the sign of its effect."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from types import MappingProxyType
from typing import Callable, Optional

from lowlat.model.cpuset import CpuSet, CpuSetError
from lowlat.model.machine import Kernel, Machine, Node

#: The values for a text without places.
NOWHERE: Mapping[str, object] = MappingProxyType({})

PARAMETERS = "admin-guide/kernel-parameters.txt"


class Risk(Enum):
    """The price of a tunable; the default profile has none that hides faults, weakens security or
    takes a protection away."""

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
    WAYS = "ways"  # of caches, among the lines of others: L3:0=00f;1=00f; or a list of CPUs
    FLAG = "flag"  # of a module: Y, which older kernels print as 1

    def listed(self, value: str) -> str:
        """A mask as the list of its CPUs, for people; any other value unchanged."""
        if self in (Reads.MASK, Reads.WITHIN):
            with suppress(CpuSetError):
                return str(CpuSet.parse_mask(value))
        return value


@dataclass(frozen=True)
class Target:
    """The inputs of a value. ``enabled`` holds the names decided before this one; ``interrupts``
    are those of the device that the work is for."""

    machine: Machine
    kernel: Kernel
    isolated: CpuSet
    housekeeping: CpuSet
    guest: bool
    enabled: frozenset[str] = frozenset()
    interrupts: tuple[int, ...] = ()

    def places(self, path: str, parts: Mapping[str, object]) -> Iterable[Mapping[str, object]]:
        """The values for the places in a path, once for each file; ``parts`` are those of a value
        that the user chose."""
        if "{cpu}" in path:
            return [{"cpu": cpu} for cpu in self.isolated]
        if "{interrupt}" in path:
            return [{"interrupt": number} for number in self.interrupts]
        if "{package}" in path:
            fastest = self.machine.power.uncore_khz
            return [{"package": name, "khz": khz} for name, khz in fastest.items()]
        if "{node}" in path:
            return [{**parts, "node": node.id} for node in self.memory(parts.get("at"))]
        return [parts]

    def memory(self, wanted: object) -> list[Node]:
        """The memory node of that number; for None those of the isolated CPUs, else all that have
        CPUs."""
        nodes = [node for node in self.machine.nodes if node.cpus or node.id == wanted]
        near = [node for node in nodes if node.cpus & self.isolated] or nodes
        return near if wanted is None else [node for node in nodes if node.id == wanted]

    def fill(self, text: str, reads: Reads, place: Mapping[str, object] = NOWHERE) -> str:
        """A text of the catalogue with the CPUs of this machine in it, as ``reads`` says, and what
        else it has places for."""
        known = self._masks if reads in (Reads.MASK, Reads.WITHIN) else self._lists
        return text.format(**known, **place)

    @cached_property
    def _lists(self) -> Mapping[str, object]:
        return self._known(str(self.isolated), str(self.housekeeping))

    @cached_property
    def _masks(self) -> Mapping[str, object]:
        return self._known(self.isolated.mask(), self.housekeeping.mask())

    def _known(self, isolated: str, housekeeping: str) -> Mapping[str, object]:
        sleeps = self.machine.power.lightest_sleeps
        return {
            "isolated": isolated,
            "housekeeping": housekeeping,
            "isolated_or_all": isolated or "all",
            # The lowest ones: devices write into the highest.
            "few_ways": ";".join(
                f"{domain}={(1 << max(ways // 4, 2)) - 1:x}"
                for domain, ways in self.machine.power.l3_ways.items()
            ),
            # 0 would mean no bound at all.
            "wake_us": max((each.latency_us or 1 for each in sleeps), default=2),
        }

    def since(self, major: int, minor: int) -> Optional[bool]:
        """Whether the kernel is this version or newer; None where its version is not known."""
        version = self.kernel.version
        return None if version is None else version >= (major, minor)

    def sure_of(self, name: str) -> bool:
        """Whether an entry is enabled, and what it needs of the kernel's build is known."""
        return name in self.enabled and self.kernel.config is not None


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
class Value:
    """One file of the running kernel, or a glob of files, with the value it shall hold. A path with
    a place in it, such as ``{cpu}``, is one for each of what Target.places says.

    What the kernel offers by system call only has a name of its own instead of a path:
    ``kthread:GLOB:affinity`` (a CPU mask) and ``kthread:GLOB:policy`` ("other" or "fifo:N") of the
    kernel threads whose name matches.
    """

    path: str
    value: str


class Shows(Enum):
    """The kind of evidence that the kernel does what a parameter asks for, not just reads it."""

    STATE = "state"  # the file holds what the kernel works with
    COPY = "copy"  # the file is read when something is made, if at all: no proof
    MESSAGE = "message"  # the message proves it; the file may only contradict
    MANAGED_IRQ = "managed interrupts"
    DEVICE_IRQS = "device interrupts"
    CALLBACK_THREADS = "callback threads"
    FORCED_THREADS = "forced threads"
    THREAD_PRIORITY = "thread priority"
    IDLE_STATES = "idle states"
    IDLE_USAGE = "idle usage"
    TICKS_APART = "ticks apart"
    IOMMU_GROUPS = "IOMMU groups"


@dataclass(frozen=True)
class Sign:
    """How the effect of a setting shows, by what it cannot fake.

    ``path`` is a file that holds ``expected(value)``, of which ``part`` (a regular expression with
    one group) may name the line that counts, unless no file shows that value (None). What the file
    is worth, and what else is looked at, says ``shows``. ``proof`` is a kernel message; a group in
    it holds ``expected(value)``, and of several messages the last one counts. ``contradiction``
    is one that tells against it; so does a boot word that matches ``spoiled``. ``gone`` is what
    the kernel makes unless the parameter holds.

    Of a run-time setting ``path`` is a file beside the one that is written, or a glob of others, in
    which the kernel shows what it made of the value: ``expected``, or what the file ``like`` beside
    it holds.
    """

    path: Optional[str] = None
    part: Optional[str] = None
    shows: Shows = Shows.STATE
    reads: Reads = Reads.TEXT
    expected: Callable[[str], Optional[str]] = lambda value: value
    proof: Optional[str] = None
    contradiction: Optional[str] = None
    spoiled: Optional[str] = None
    gone: Optional[str] = None
    like: Optional[str] = None


@dataclass(frozen=True)
class Tunable:
    """One tunable, declared once.

    ``why`` says which noise it removes and how; ``cost`` what it takes away; ``note`` what is to be
    known besides. Exactly one of ``value`` (boot; "" for a flag without value) and ``rows`` is
    given; {isolated} and {housekeeping} in them stand for these CPUs, {wake_us} for how long the
    isolated ones wake from their lightest sleep, {few_ways} for a quarter of each last-level cache.
    ``instead`` are values that take the place of ``value``, each where its test holds. Of rows that
    are ``either``, only the first file that is there is set. ``evidence`` tells how to see the
    effect where ``sign`` and ``rows`` do not. ``unneeded`` answers why the setting would change
    nothing here. ``accepts`` is the grammar of values a user may give instead; ``parts`` takes such
    a value apart, for places of these names, ``refuses`` says why it (None: the entry's own) is
    impossible on this machine, and ``example`` is one, where the entry has none of its own.
    ``implies`` names entries whose effect this one includes. An entry with ``tuned``, a section of
    TuneD's, has the same value on every machine, and TuneD sets it itself; ``tolerant`` ones may
    fail for single files. ``cgroup`` is the control group (v2), or the group of resctrl, whose
    files the rows are: it is made before they are written, and removed with them.
    ``silences`` are patterns (fnmatch) of the causes of noise that the entry removes, "class:
    cause" as in a run.
    """

    name: str
    why: str
    source: str
    evidence: str = ""
    note: str = ""
    value: Optional[str] = None
    instead: tuple[tuple[str, Callable[[Target], bool]], ...] = ()
    rows: tuple[Value, ...] = ()
    either: bool = False
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
    tolerant: bool = False
    cgroup: Optional[str] = None
    parts: Callable[[str], Mapping[str, object]] = lambda given: NOWHERE
    refuses: Callable[[Target, Optional[str]], Optional[str]] = lambda target, given: None
    example: str = ""
    silences: tuple[str, ...] = ()

    @property
    def at_boot(self) -> bool:
        """Whether it is set on the kernel's command line, and not in the running kernel."""
        return self.value is not None

    def own_value(self, target: Target) -> str:
        """The value of the boot parameter on this machine."""
        value = next((text for text, test in self.instead if test(target)), self.value)
        return target.fill(value or "", Reads.LIST)

    def settings(self, target: Target, given: Optional[str] = None) -> Iterator[Value]:
        """The files to write in the running kernel; ``given`` is a value that a user chose."""
        there = [row for row in self.rows if row.path in target.kernel.features]
        rows = there[:1] or self.rows if self.either else self.rows
        parts = self.parts(given) if given else NOWHERE
        for place in target.places("".join(row.path for row in rows), parts):
            for row in rows:
                own = target.fill(row.value, self.reads, place)
                yield Value(row.path.format(**place), own if parts or given is None else given)

    @property
    def usage(self) -> str:
        """How a user asks for it."""
        return self.parameter(self.example)

    def parameter(self, value: str) -> str:
        """The boot parameter as it stands on the command line."""
        return f"{self.name}={value}" if value else self.name
