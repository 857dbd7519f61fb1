# SPDX-License-Identifier: GPL-2.0-or-later
"""The Machine: what probe read from a host, as frozen values with a JSON form.

``None`` and empty tuples mean unknown: the file could not be read. Only what the kernel reported is
stored; other modules draw the conclusions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Optional

from lowlat.base.amounts import readable
from lowlat.base.typed_json import decode_fields, encode_fields
from lowlat.model.cpuset import CpuSet

SCHEMA = "lowlat.machine/1"

X86 = frozenset({"x86_64", "i386", "i686"})
ARM = frozenset({"aarch64", "armv7l", "armv8l"})

#: A kernel's release; safe in a file name.
RELEASE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+~-]{0,127}")

#: Configuration options in the JSON form; all others would only make it long.
_SHOWN = re.compile(
    r"CPU_ISOLATION|NO_HZ\w*|RCU_\w+|HZ|PREEMPT\w*|OSNOISE_TRACER|TIMERLAT_TRACER|HWLAT_TRACER|"
    r"IRQ_FORCED_THREADING|X86_MCE|NUMA_BALANCING|TRANSPARENT_HUGEPAGE\w*|\w*LOCKUP_DETECTOR"
)

#: Intel's processors with HBM. In flat mode their HBM nodes are those without CPUs (Intel Xeon CPU
#: Max Series Configuration and Tuning Guide).
_WITH_HBM = re.compile(r"\bXeon\b.*\bMax\b")

#: The distance of nodes that cannot reach each other; no other is longer (ACPI, SLIT).
_UNKNOWN = 255

#: The names of polling idle states (drivers/cpuidle/poll_state.c, POWER's drivers).
_POLLS = ("POLL", "snooze")

#: From Ubuntu's package lowlatency-kernel: read late, it appends to every boot's command line.
LOWLATENCY_KERNEL = "/etc/default/grub.d/99-lowlatency.cfg"


@dataclass(frozen=True)
class Cpus:
    """The kernel's CPU sets. ``boot`` is the boot CPU: 0 if online, else the lowest.
    ``siblings_known``: the kernel reports which CPUs share a core."""

    online: CpuSet
    offline: CpuSet
    possible: CpuSet
    boot: int
    isolated: Optional[CpuSet] = None
    nohz_full: Optional[CpuSet] = None
    siblings_known: bool = True


@dataclass(frozen=True)
class Core:
    """The online hardware threads of one core, and its place. ``cache`` is the lowest CPU of its
    last-level cache domain; books and drawers are the packaging of s390 machines."""

    cpus: CpuSet
    package: Optional[int] = None
    die: Optional[int] = None
    cluster: Optional[int] = None
    nodes: tuple[int, ...] = ()
    cache: Optional[int] = None
    book: Optional[int] = None
    drawer: Optional[int] = None


@dataclass(frozen=True)
class CoreType:
    """CPUs of equal capability; the most capable type comes first in ``Machine.core_types``.
    ``source`` is "" for CPUs of which nothing tells the type."""

    name: str
    cpus: CpuSet
    source: str

    @property
    def words(self) -> str:
        return readable(self.name)


@dataclass(frozen=True)
class Node:
    """A NUMA node with its online CPUs; the firmware's distances, by node position."""

    id: int
    cpus: CpuSet
    distances: tuple[int, ...] = ()
    memory_kib: Optional[int] = None


@dataclass(frozen=True)
class Cache:
    """One cache and the online CPUs that share it. ``kind`` is data, instruction, unified or
    unknown; ``size`` is the kernel's text ("32768K"), or "" if unknown."""

    level: int
    kind: str
    size: str
    cpus: CpuSet


@dataclass(frozen=True)
class ClockSource:
    """The clock source in use, and those that the kernel would accept, best first."""

    current: Optional[str] = None
    available: tuple[str, ...] = ()


@dataclass(frozen=True)
class Interrupt:
    """A numbered row of /proc/interrupts; ``count`` is the sum over all CPUs since boot.

    ``settable`` is False if the affinity cannot be set (the file lacks write permission, from 6.12
    on). Then ``managed`` gives the reason: True if the kernel spreads a device's queues itself,
    False if the interrupt cannot be moved at all, None if the kernel does not say.
    """

    number: int
    chip: str
    actions: str
    affinity: Optional[CpuSet] = None
    effective: Optional[CpuSet] = None
    settable: Optional[bool] = None
    managed: Optional[bool] = None
    count: int = 0


@dataclass(frozen=True)
class Device:
    """A network interface, an NVMe controller or another PCI device with interrupts.

    ``address`` is the PCI address, or the kernel's name of a device that is not on PCI. ``kind`` is
    network, nvme, storage, display, accelerator, usb or other. ``names`` are its network interfaces
    or controllers (eth0, nvme0). ``node`` is None if the firmware does not report it; ``cpus`` are
    the online CPUs near it. ``interrupts`` are numbers of ``Machine.interrupts``. ``model`` comes
    from the hardware database, else it is the vendor and device number.
    """

    address: str
    kind: str
    names: tuple[str, ...] = ()
    driver: Optional[str] = None
    node: Optional[int] = None
    cpus: Optional[CpuSet] = None
    interrupts: tuple[int, ...] = ()
    model: Optional[str] = None


@dataclass(frozen=True)
class Processor:
    """From /proc/cpuinfo: the first CPU's vendor, model name and microcode version, the flags that
    change a plan, and the ``bugs`` for which the kernel may switch SMT off. ``threads`` is the
    most that a core of these ARM parts has, None if that is not known."""

    vendor: Optional[str] = None
    model: Optional[str] = None
    flags: frozenset[str] = frozenset()
    flags_known: bool = False
    microcode: Optional[str] = None
    bugs: frozenset[str] = frozenset()
    threads: Optional[int] = None

    @property
    def invariant_tsc(self) -> Optional[bool]:
        """Whether the TSC ticks evenly in every power state; None if the flags are not known."""
        return {"constant_tsc", "nonstop_tsc"} <= self.flags if self.flags_known else None


@dataclass(frozen=True)
class IdleState:
    """An idle state of ``cpu``, which stands for all CPUs of its core type. ``latency_us`` is its
    exit latency; ``disabled`` is the value of cpuN/cpuidle/stateM/disable."""

    cpu: int
    name: str
    latency_us: Optional[int] = None
    disabled: Optional[bool] = None

    @property
    def polls(self) -> bool:
        return self.name in _POLLS


@dataclass(frozen=True)
class PowerControl:
    """Idle and frequency control as the running kernel offers it. ``uncore_khz`` is each uncore's
    highest frequency, by its folder's name; ``l3_ways`` the number of ways that resctrl can divide
    in each last-level cache, by resctrl's cache id."""

    idle_driver: Optional[str] = None
    frequency_driver: Optional[str] = None
    governors: tuple[str, ...] = ()
    smt_control: Optional[str] = None
    idle_states: tuple[IdleState, ...] = ()
    uncore_khz: Mapping[str, int] = field(default_factory=dict)
    l3_ways: Mapping[str, int] = field(default_factory=dict)

    @property
    def lightest_sleeps(self) -> tuple[IdleState, ...]:
        """For each core type, the idle state with the shortest exit latency, except polling."""
        sleeps = [s for s in self.idle_states if not s.polls and s.latency_us is not None]
        sleeps.sort(key=lambda state: (state.cpu, state.latency_us or 0))
        return tuple({state.cpu: state for state in reversed(sleeps)}.values())


@dataclass(frozen=True)
class Firmware:
    """``efi``: booted by EFI. ``smi_counter``: the processor counts system management interrupts
    and has a device to read the counter; the probe does not read it. ``locked_down``: the kernel
    restricts root, as after a Secure Boot."""

    efi: Optional[bool] = None
    smi_counter: Optional[bool] = None
    locked_down: Optional[bool] = None


@dataclass(frozen=True)
class BanList:
    """The variable in irqbalance's environment file that keeps interrupts off CPUs, a mask or a
    list; ``name`` is "" if the file sets none."""

    file: str
    name: str = ""
    value: str = ""


@dataclass(frozen=True)
class LinkFile:
    """A .link file of systemd that places the interrupts of network cards with these drivers
    (globs; none: of any): its options as written."""

    file: str
    drivers: tuple[str, ...]
    policy: str
    affinity: str = ""
    numa: str = ""


@dataclass(frozen=True)
class Services:
    """Other managers on this system: the version of control groups ("v1", "v2", "hybrid"), TuneD's
    active profile, whether kernel samepage merging runs, the parameters that Ubuntu's package
    lowlatency-kernel adds to the command line of every boot, and the files that place interrupts:
    irqbalance's and systemd's."""

    cgroup: Optional[str] = None
    tuned_profile: Optional[str] = None
    ksm: Optional[bool] = None
    lowlatency_kernel: Optional[str] = None
    ban_list: Optional[BanList] = None
    link_files: tuple[LinkFile, ...] = ()


@dataclass(frozen=True)
class Config:
    """A kernel's build configuration; ``options`` maps names without CONFIG_ to y, m or a value."""

    path: str
    options: Mapping[str, str]

    def to_json(self) -> dict[str, object]:
        shown = {k: v for k, v in sorted(self.options.items()) if _SHOWN.fullmatch(k)}
        return {"path": self.path, "options": shown}

    def enabled(self, name: str) -> bool:
        return self.options.get(name) in ("y", "m")


@dataclass(frozen=True)
class Kernel:
    """One kernel, running or installed.

    ``features`` are the files of the running kernel that exist, out of all that the catalogue asks
    for; for an installed kernel, those that its module parameters will create.
    """

    release: Optional[str] = None
    realtime: Optional[bool] = None
    config: Optional[Config] = None
    features: frozenset[str] = frozenset()

    @property
    def hz(self) -> Optional[int]:
        """Ticks a second (CONFIG_HZ)."""
        text = self.config.options.get("HZ", "") if self.config else ""
        return int(text) if text.isdecimal() else None

    @property
    def words(self) -> str:
        """The release and, if known, the preemption and the tick rate."""
        words = f"{self.release or 'unknown'}{' PREEMPT_RT' if self.realtime else ''}"
        return f"{words}, HZ={self.hz}" if self.hz else words


@dataclass(frozen=True)
class Machine:
    """All that probe read. ``cores`` are in order of their lowest CPU; ``core_types`` has at least
    two entries or none; ``nodes`` includes those without online CPUs. ``hypervisor`` names this
    guest's hypervisor, None on hardware; ``container`` names what runs this container, None if it
    is none; ``managers`` are running daemons that also move CPUs,
    interrupts or frequencies; ``cmdline`` is the running kernel's command line."""

    arch: Optional[str]
    cpus: Cpus
    cores: tuple[Core, ...]
    core_types: tuple[CoreType, ...] = ()
    nodes: tuple[Node, ...] = ()
    caches: tuple[Cache, ...] = ()
    processor: Processor = field(default_factory=Processor)
    hypervisor: Optional[str] = None
    clock: ClockSource = field(default_factory=ClockSource)
    power: PowerControl = field(default_factory=PowerControl)
    kernel: Kernel = field(default_factory=Kernel)
    cmdline: Optional[str] = None
    boot_loader: Optional[str] = None
    interrupts: tuple[Interrupt, ...] = ()
    managers: tuple[str, ...] = ()
    devices: tuple[Device, ...] = ()
    firmware: Firmware = field(default_factory=Firmware)
    services: Services = field(default_factory=Services)
    container: Optional[str] = None

    @property
    def is_x86(self) -> bool:
        return self.arch in X86

    def core_of(self, cpu: int) -> Core:
        """The core of an online CPU. Raises KeyError for any other CPU."""
        return self._cores_by_cpu[cpu]

    @cached_property
    def _cores_by_cpu(self) -> Mapping[int, Core]:
        return {cpu: core for core in self.cores for cpu in core.cpus.ids}

    def nearest(self, node: Node, others: Sequence[Node]) -> list[Node]:
        """Those of the others that are nearest to this node: itself if it is among them; all if no
        distance is known."""
        if node in others:
            return [node]
        far = {other.id: distance for other, distance in zip(self.nodes, node.distances)}
        least = min((far.get(other.id, _UNKNOWN) for other in others), default=_UNKNOWN)
        return [other for other in others if far.get(other.id, _UNKNOWN) == least]

    def memory(self, nodes: Iterable[Node]) -> list[tuple[CpuSet, str]]:
        """The memory of these nodes in words, once for those that have equally much: "16 GiB of
        HBM", "no memory", or "" if unknown."""
        amounts: dict[str, list[int]] = {}
        for node in nodes:
            words = readable(f"{node.memory_kib} kB") if node.memory_kib else "no memory"
            if node.memory_kib and not node.cpus and _WITH_HBM.search(self.processor.model or ""):
                words += " of HBM"
            amounts.setdefault("" if node.memory_kib is None else words, []).append(node.id)
        return [(CpuSet.of(ids), words) for words, ids in amounts.items()]

    @classmethod
    def from_json(cls, document: object) -> Machine:
        """Read the JSON form. Raises Mistyped, which names the wrong part."""
        return decode_fields(cls, document, "machine")

    def to_json(self) -> dict[str, object]:
        return {"schema": SCHEMA, **encode_fields(self)}
