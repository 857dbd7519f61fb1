# SPDX-License-Identifier: GPL-2.0-or-later
"""The Machine: what probe learned of a host, as frozen values with a JSON form.

``None`` and empty tuples mean unknown: the file was not there to be read. Only what the kernel
said is stored; every conclusion is drawn elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Optional

from lowlat.base.typed_json import decode_fields, encode_fields
from lowlat.model.cpuset import CpuSet

SCHEMA = "lowlat.machine/1"

X86 = frozenset({"x86_64", "i386", "i686"})
ARM = frozenset({"aarch64", "armv7l", "armv8l"})

#: A kernel's release, as it may stand in a file's name.
RELEASE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+~-]{0,127}")

#: Configuration options shown in the JSON form; the others only make it long.
_SHOWN = re.compile(
    r"CPU_ISOLATION|NO_HZ\w*|RCU_\w+|HZ|PREEMPT\w*|OSNOISE_TRACER|TIMERLAT_TRACER|HWLAT_TRACER|"
    r"IRQ_FORCED_THREADING|X86_MCE|NUMA_BALANCING|TRANSPARENT_HUGEPAGE\w*|\w*LOCKUP_DETECTOR"
)

#: The names of polling idle states (drivers/cpuidle/poll_state.c, POWER's drivers).
_POLLS = ("POLL", "snooze")

#: Of Ubuntu's package lowlatency-kernel: sorts late, and appends to every boot's command line.
LOWLATENCY_KERNEL = "/etc/default/grub.d/99-lowlatency.cfg"


@dataclass(frozen=True)
class Cpus:
    """The kernel's CPU sets. ``boot`` is the CPU that booted: 0 where online, else the lowest.
    ``siblings_known``: the kernel says which CPUs share a core."""

    online: CpuSet
    offline: CpuSet
    possible: CpuSet
    boot: int
    isolated: Optional[CpuSet] = None
    nohz_full: Optional[CpuSet] = None
    siblings_known: bool = True


@dataclass(frozen=True)
class Core:
    """The online hardware threads of one core, and where it lies. ``cache`` is the lowest CPU of
    its last-level cache domain; books and drawers are the packaging of s390 machines."""

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
    """CPUs of equal capability; the most capable type comes first in ``Machine.core_types``."""

    name: str
    cpus: CpuSet
    source: str


@dataclass(frozen=True)
class Node:
    """A NUMA node with its online CPUs; distances by node position as the firmware gives them."""

    id: int
    cpus: CpuSet
    distances: tuple[int, ...] = ()
    memory_kib: Optional[int] = None


@dataclass(frozen=True)
class Cache:
    """One cache and the online CPUs that share it. ``kind`` is data, instruction, unified or
    unknown; ``size`` is the kernel's text ("32768K"), "" where it is not known."""

    level: int
    kind: str
    size: str
    cpus: CpuSet


@dataclass(frozen=True)
class ClockSource:
    """The clock source in use, and those the kernel would also accept, best first."""

    current: Optional[str] = None
    available: tuple[str, ...] = ()


@dataclass(frozen=True)
class Interrupt:
    """A numbered row of /proc/interrupts; ``count`` is how often it came, on all CPUs.

    ``settable`` is False where the affinity cannot be set (file without write permission, from
    6.12 on). ``managed`` then tells why: True where the kernel spreads the queues of a device
    itself, False where the interrupt cannot be moved at all; None where the kernel does not tell.
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
    network, nvme, storage, display, accelerator, usb or other. ``names`` are its network
    interfaces or controllers (eth0, nvme0). ``node`` is None where the firmware does not say, and
    ``cpus`` are the online CPUs near it. ``interrupts`` are numbers of ``Machine.interrupts``.
    ``model`` is the hardware database's, else vendor and device number.
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
    """Of /proc/cpuinfo: the first CPU's vendor, model name and microcode version, and the flags
    that change a plan."""

    vendor: Optional[str] = None
    model: Optional[str] = None
    flags: frozenset[str] = frozenset()
    flags_known: bool = False
    microcode: Optional[str] = None


@dataclass(frozen=True)
class IdleState:
    """An idle state of ``cpu``, which stands for all CPUs of its core type. ``latency_us`` is the
    time to wake up from it; ``disabled`` is what cpuN/cpuidle/stateM/disable says."""

    cpu: int
    name: str
    latency_us: Optional[int] = None
    disabled: Optional[bool] = None


@dataclass(frozen=True)
class PowerControl:
    """Idle and frequency control as the running kernel offers it. ``uncore_khz`` is the highest
    frequency of each uncore, by the name of its folder; ``l3_ways`` how many ways resctrl can
    divide of each last-level cache, by the number it has there."""

    idle_driver: Optional[str] = None
    frequency_driver: Optional[str] = None
    governors: tuple[str, ...] = ()
    smt_control: Optional[str] = None
    idle_states: tuple[IdleState, ...] = ()
    uncore_khz: Mapping[str, int] = field(default_factory=dict)
    l3_ways: Mapping[str, int] = field(default_factory=dict)

    @property
    def lightest_sleeps(self) -> tuple[IdleState, ...]:
        """The idle state of each core type that is the quickest to wake from, polling aside."""
        sleeps = [s for s in self.idle_states if s.name not in _POLLS and s.latency_us is not None]
        sleeps.sort(key=lambda state: (state.cpu, state.latency_us or 0))
        return tuple({state.cpu: state for state in reversed(sleeps)}.values())


@dataclass(frozen=True)
class Firmware:
    """``efi``: booted by EFI. ``smi_counter``: the processor counts system management interrupts,
    and the device to read the counter is there; it is not read here. ``locked_down``: the kernel
    guards itself against root, as it does after a Secure Boot."""

    efi: Optional[bool] = None
    smi_counter: Optional[bool] = None
    locked_down: Optional[bool] = None


@dataclass(frozen=True)
class Services:
    """The other managers of this system: the version of control groups ("v1", "v2", "hybrid"),
    TuneD's active profile, whether kernel samepage merging runs, and the parameters that Ubuntu's
    package lowlatency-kernel adds to the command line of every boot."""

    cgroup: Optional[str] = None
    tuned_profile: Optional[str] = None
    ksm: Optional[bool] = None
    lowlatency_kernel: Optional[str] = None


@dataclass(frozen=True)
class Config:
    """A kernel's build configuration; ``options`` maps names without CONFIG_ to y, m or a value."""

    path: str
    options: Mapping[str, str]

    def to_json(self) -> dict[str, Any]:
        shown = {k: v for k, v in sorted(self.options.items()) if _SHOWN.fullmatch(k)}
        return {"path": self.path, "options": shown}

    def enabled(self, name: str) -> bool:
        return self.options.get(name) in ("y", "m")


@dataclass(frozen=True)
class Kernel:
    """One kernel, running or installed. ``version`` is (major, minor), never a float.

    ``features`` are those files of the running kernel that are there, of all that the catalogue
    asks for; of an installed kernel, those that its module parameters will make.
    """

    release: Optional[str] = None
    realtime: Optional[bool] = None
    config: Optional[Config] = None
    features: frozenset[str] = frozenset()

    @property
    def version(self) -> Optional[tuple[int, int]]:
        found = re.match(r"(\d+)\.(\d+)", self.release or "")
        return (int(found[1]), int(found[2])) if found else None

    @property
    def hz(self) -> Optional[int]:
        """Ticks a second (CONFIG_HZ)."""
        text = self.config.options.get("HZ", "") if self.config else ""
        return int(text) if text.isdecimal() else None

    @property
    def words(self) -> str:
        """Its release and, where they are known, its preemption and its tick."""
        words = f"{self.release or 'unknown'}{' PREEMPT_RT' if self.realtime else ''}"
        return f"{words}, HZ={self.hz}" if self.hz else words


@dataclass(frozen=True)
class Machine:
    """Everything probe learned. ``cores`` are in order of their lowest CPU; ``core_types`` has two
    entries at least or none; ``nodes`` includes those without online CPUs. ``hypervisor`` is the
    one this machine is a guest of, None on hardware; ``managers`` are running daemons that also
    move CPUs, interrupts or frequencies; ``cmdline`` is the running kernel's own."""

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

    @property
    def is_x86(self) -> bool:
        return self.arch in X86

    def core_of(self, cpu: int) -> Core:
        """The core of an online CPU. Raises KeyError for another."""
        return self._cores_by_cpu[cpu]

    @cached_property
    def _cores_by_cpu(self) -> Mapping[int, Core]:
        return {cpu: core for core in self.cores for cpu in core.cpus.ids}

    @classmethod
    def from_json(cls, document: object) -> Machine:
        """Read it back. Raises Mistyped, which names what is wrong."""
        return decode_fields(cls, document, "machine")

    def to_json(self) -> dict[str, Any]:
        return {"schema": SCHEMA, **encode_fields(self)}
