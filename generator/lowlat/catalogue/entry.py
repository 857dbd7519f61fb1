# SPDX-License-Identifier: GPL-2.0-or-later
"""The form of a catalogue entry: a tunable, its needs, its value and the sign of its effect."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from types import MappingProxyType
from typing import Callable, Optional

from lowlat.catalogue import huge_pages
from lowlat.kernel import facts
from lowlat.kernel.effect import Effect
from lowlat.model.cpuset import CpuSet, CpuSetError
from lowlat.model.machine import Kernel, Machine

#: In characters: the longest list that a person reads as easily as its shorter form.
_LONG_LIST = 40

#: The values for a text without placeholders.
NOWHERE: Mapping[str, object] = MappingProxyType({})

PARAMETERS = "admin-guide/kernel-parameters.txt"

#: The causes that stand for a thread by its kind, where its name tells nothing: a task that was not
#: placed there by its mask, and a thread of the kernel that the kernel lets move.
USER_TASK, UNBOUND_THREAD = "thread: of a user", "thread: of the kernel"


class Risk(Enum):
    """The price of a tunable. The default profile has no tunable that hides faults, weakens
    security or removes a protection."""

    NONE = "none"
    POWER = "power"
    THROUGHPUT = "throughput"
    DEBUGGABILITY = "debuggability"
    HIDES_FAULTS = "hides-faults"
    STARVATION = "starvation"
    SECURITY = "security"


class ValueFormat(Enum):
    """The form in which the kernel prints a value; it decides how values are compared."""

    TEXT = "text"
    LIST = "list"
    STRIDES = "strides"  # a list that the kernel's boot line may have with strides
    MASK = "mask"
    WITHIN = "within"  # a mask that contains none but planned CPUs
    COVERS = "covers"  # a list that contains all planned CPUs
    CHOICE = "choice"  # always [madvise] never
    HEX = "hex"
    WAYS = "ways"  # shares of caches, among other lines: L3:0=00f;1=00f; or a list of CPUs
    FLAG = "flag"  # a module's flag: Y, which older kernels print as 1

    def listed(self, value: str) -> str:
        """A mask as the list of its CPUs, for people; any other value unchanged."""
        if self in (ValueFormat.MASK, ValueFormat.WITHIN):
            with suppress(CpuSetError):
                return str(CpuSet.parse_mask(value))
        return value


@dataclass(frozen=True)
class Target:
    """The inputs of a value. ``enabled`` are the names of the entries enabled so far;
    ``interrupts`` are those of the device of --for-device. ``as_booted``: the settings are for the
    boot that runs, whose line cannot change. ``sets`` are the isolated CPUs by the user's names."""

    machine: Machine
    kernel: Kernel
    isolated: CpuSet
    housekeeping: CpuSet
    guest: bool
    enabled: frozenset[str] = frozenset()
    interrupts: tuple[int, ...] = ()
    as_booted: bool = False
    sets: Mapping[str, CpuSet] = field(default_factory=dict)

    def places(self, path: str, parts: Mapping[str, object]) -> Iterable[Mapping[str, object]]:
        """The values for a path's placeholders, one mapping for each file; ``parts`` come from the
        user's value."""
        if "{cpu}" in path:
            return [{"cpu": cpu} for cpu in self.isolated]
        if "{interrupt}" in path:
            return [{"interrupt": number} for number in self.interrupts]
        if "{set}" in path:
            # In a slice's name a hyphen stands for one inside another (systemd.slice(5)).
            names = {name.replace("-", r"\x2d"): cpus for name, cpus in self.sets.items()}
            kind = {"kind": "isolated", **parts}
            return [{**kind, "set": name, "members": str(cpus)} for name, cpus in names.items()]
        if "{package}" in path:
            fastest = self.machine.power.uncore_khz
            return [{"package": name, "khz": khz} for name, khz in fastest.items()]
        if "{node}" in path:
            shares = huge_pages.shares(self.machine, self.isolated, parts)
            return [{**parts, "node": node.id, "pages": pages} for node, pages in shares]
        return [parts]

    def fill(self, text: str, reads: ValueFormat, place: Mapping[str, object] = NOWHERE) -> str:
        """A catalogue text with its placeholders filled: this machine's CPUs, in the form of
        ``reads``, and the values in ``place``."""
        if reads in (ValueFormat.MASK, ValueFormat.WITHIN):
            return text.format(**self._masks, **place)
        known = self._strides if reads is ValueFormat.STRIDES else self._lists
        return text.format(**known, **place)

    @cached_property
    def _lists(self) -> Mapping[str, object]:
        return self._known(str(self.isolated), str(self.housekeeping))

    def listed(self, cpus: CpuSet) -> str:
        """A list for the boot line: plain for people, but a long one with strides, where they make
        it shorter and the kernel reads them."""
        plain = str(cpus)
        long = len(plain) > _LONG_LIST and self.has("strides in CPU lists")
        return cpus.strided() if long else plain

    @cached_property
    def _strides(self) -> Mapping[str, object]:
        return self._known(self.listed(self.isolated), self.listed(self.housekeeping))

    @cached_property
    def _masks(self) -> Mapping[str, object]:
        return self._known(self.isolated.mask(), self.housekeeping.mask())

    def _known(self, isolated: str, housekeeping: str) -> Mapping[str, object]:
        sleeps = self.machine.power.lightest_sleeps
        return {
            "isolated": isolated,
            "housekeeping": housekeeping,
            "isolated_or_all": isolated or "all",
            # The lowest ways, since devices write into the highest.
            "few_ways": ";".join(
                f"{domain}={(1 << max(ways // 4, 2)) - 1:x}"
                for domain, ways in self.machine.power.l3_ways.items()
            ),
            # 0 would mean no limit.
            "wake_us": max((each.latency_us or 1 for each in sleeps), default=2),
        }

    def has(self, fact: str) -> Optional[bool]:
        """Whether the kernel has a fact of kernel/facts.ini; None if its release does not tell."""
        return facts.has(fact, self.kernel.release)

    def sure_of(self, name: str) -> bool:
        """Whether an entry is enabled, and the kernel's configuration confirms its needs."""
        return name in self.enabled and self.kernel.config is not None


@dataclass(frozen=True)
class Need:
    """A condition. ``test`` returns None if the machine does not tell; the setting is then emitted
    with ``assumed`` beside its reason. ``wants`` states the requirement for the documentation;
    ``features`` are the files whose existence on the running kernel the test checks; ``fault`` is
    the name in kernel/facts.ini of a fault of kernels that the setting brings out. ``of_kernel``:
    without it the kernel itself does not take the setting; else only lowlat would not set it."""

    test: Callable[[Target], Optional[bool]]
    missing: str
    assumed: str = ""
    wants: str = ""
    features: tuple[str, ...] = ()
    fault: str = ""
    of_kernel: bool = False


@dataclass(frozen=True)
class Value:
    """One file of the running kernel, or a glob of files, with its planned value. A path with a
    placeholder, such as ``{cpu}``, stands for one file for each result of Target.places.

    A setting that the kernel offers by system call only has a name instead of a path:
    ``kthread:GLOB:affinity`` (a CPU mask) or ``kthread:GLOB:policy`` ("other" or "fifo:N"), for the
    kernel threads whose names match.
    """

    path: str
    value: str


class EvidenceKind(Enum):
    """The kind of evidence that the kernel does what a parameter asks, and did not only read it."""

    STATE = "state"  # the file holds the value that the kernel uses
    COPY = "copy"  # the file is a copy that the kernel reads at creation or never: no proof
    MESSAGE = "message"  # the message proves it; the file can only contradict
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
class Evidence:
    """How the effect of a setting shows, by evidence that a mere copy of the value cannot give.

    ``path`` is a file that contains ``expected(value)``; None from ``expected`` means that no file
    shows this value. Of a list it contains the CPUs that ``cpus`` picks from the line's effect, and
    shows nothing if these are none. ``part`` (a regular expression with one group) selects the
    relevant text. ``shows`` tells how much the file proves, and what else is checked. ``proof`` is
    a kernel message; its group, if any, contains ``expected(value)``, and the last of several
    messages counts. ``contradiction`` is a message that disproves the effect. ``gone`` is a path
    that exists unless the parameter holds.

    For a run-time setting, ``path`` is a file beside the written one, or a glob of others, in which
    the kernel shows the result: ``expected``, or the content of the file ``like`` beside it.
    """

    path: Optional[str] = None
    part: Optional[str] = None
    shows: EvidenceKind = EvidenceKind.STATE
    reads: ValueFormat = ValueFormat.TEXT
    expected: Callable[[str], Optional[str]] = lambda value: value
    cpus: Optional[Callable[[Effect], CpuSet]] = None
    proof: Optional[str] = None
    contradiction: Optional[str] = None
    gone: Optional[str] = None
    like: Optional[str] = None


@dataclass(frozen=True)
class Tunable:
    """One tunable, declared once.

    ``why`` says which noise it removes and how, ``cost`` its drawbacks, ``note`` other facts to
    know. Exactly one of ``value`` (boot; "" for a flag without value) and ``rows`` is given. Their
    placeholders {isolated} and {housekeeping} stand for these CPUs, {wake_us} for the exit latency
    (us) of the isolated CPUs' lightest sleep, {few_ways} for a quarter of each last-level cache.
    ``instead`` are values that replace ``value`` if their test holds. Of ``either`` rows, only the
    first existing file is written. Of a boot parameter, ``reads`` is the form of its list.
    ``evidence`` tells how to see an effect that ``sign`` and ``rows`` do not show. ``unneeded``
    returns why the setting would have no effect here.
    ``stands_in`` names run-time entries each of which has, in a running kernel, the whole effect of
    this boot parameter; ``only_boot`` is what a boot alone gives of it beside a partition, if that
    is not all.
    ``accepts`` is the grammar of values that a user may give instead; ``parts`` splits such a value
    into placeholders, ``refuses`` returns why it (None: the entry's value) is impossible on this
    machine, ``remark`` what it comes to here, and ``example`` is one, if the entry has no value
    itself. ``implies`` names entries whose effect this one includes. ``covered_by`` names the entry
    with which this one needs no setting: a boot parameter by which the kernel makes its rows hold,
    or such a setting; verify looks at them all the same. ``tuned`` is the section of TuneD that
    sets this entry natively, with the same value on every machine. Single files of a ``tolerant``
    entry may fail. ``cgroup`` is the control group (v2) or resctrl group of the rows: it is made
    before they are written, and removed with them. ``silences`` are patterns (fnmatch) of the
    causes of noise that the entry removes, "class: cause" as in a run, each with the place in the
    kernel's sources that shows it; none matches a whole class.
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
    reads: ValueFormat = ValueFormat.TEXT
    needs: tuple[Need, ...] = ()
    unneeded: Callable[[Target], Optional[str]] = lambda target: None
    cost: str = "none"
    risk: Risk = Risk.NONE
    sign: Evidence = field(default_factory=Evidence)
    accepts: Optional[str] = None
    conflicts: tuple[str, ...] = ()
    implies: tuple[str, ...] = ()
    covered_by: Optional[str] = None
    stands_in: tuple[str, ...] = ()
    only_boot: str = ""
    tuned: Optional[str] = None
    tolerant: bool = False
    cgroup: Optional[str] = None
    parts: Callable[[str], Mapping[str, object]] = lambda given: NOWHERE
    refuses: Callable[[Target, Optional[str]], Optional[str]] = lambda target, given: None
    remark: Callable[[Target, str], str] = lambda target, given: ""
    example: str = ""
    silences: Mapping[str, str] = field(default_factory=dict)

    @property
    def faults(self) -> tuple[str, ...]:
        """The faults of kernels that a change of its values brings out, by name."""
        return tuple(need.fault for need in self.needs if need.fault)

    @property
    def at_boot(self) -> bool:
        """Whether it is set on the kernel's command line rather than in the running kernel."""
        return self.value is not None

    def own_value(self, target: Target) -> str:
        """The value of the boot parameter on this machine."""
        value = next((text for text, test in self.instead if test(target)), self.value)
        return target.fill(value or "", self.reads)

    def settings(self, target: Target, given: Optional[str] = None) -> Iterator[Value]:
        """The files to write in the running kernel; ``given`` is the user's value."""
        there = [row for row in self.rows if row.path in target.kernel.features]
        rows = there[:1] or self.rows if self.either else self.rows
        parts = self.parts(given) if given else NOWHERE
        for place in target.places("".join(row.path for row in rows), parts):
            for row in rows:
                own = target.fill(row.value, self.reads, place)
                yield Value(row.path.format(**place), own if parts or given is None else given)

    @property
    def usage(self) -> str:
        """The text with which a user enables it."""
        return self.parameter(self.example)

    def parameter(self, value: str) -> str:
        """The boot parameter as written on the command line."""
        return f"{self.name}={value}" if value else self.name
