# SPDX-License-Identifier: GPL-2.0-or-later
"""Synthetic machines: a description becomes the sysfs and procfs files of such a host.

``Shape`` describes the machine, ``Shape.model()`` lays its CPUs out, ``write(model, folder)`` makes
the tree that ``--root`` reads, and ``model.machine()`` is the expected result of a probe.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Optional

from lowlat.host.archive import Contents, dump
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Cache, Core, CoreType, Cpus, Machine, Node

#: Files that a tree may lack, or odd values in them; each occurs on some real machine.
QUIRKS = frozenset(
    {
        "masks-only",  # no thread_siblings_list, no cpulist: kernels before 2.6.26
        "old-names",  # thread_siblings without core_cpus: kernels before 5.3
        "no-online-list",  # only each CPU's online file exists
        "no-topology",  # no topology folders: a uniprocessor kernel
        "no-cache",  # no cache folders: many ARM boards and guests
        "no-node",  # no node folder: a kernel without NUMA
        "package--1",  # the firmware does not report the package
        "package-65535",  # the same, printed as 16 bits
        "no-package",  # no physical_package_id at all
        "same-core-id",  # core_id 0 everywhere
    }
)


@dataclass(frozen=True)
class Kind:
    """Cores of one type in a cluster; a shape names the most capable type first. ``value`` is the
    content of the capability file."""

    cores: int
    threads: int = 1
    value: int = 1024


@dataclass(frozen=True)
class Shape:
    """What to build. Cores are counted per cluster, clusters per die, dies per package."""

    packages: int = 1
    dies: int = 1
    clusters: int = 1
    kinds: tuple[Kind, ...] = (Kind(4),)
    #: "adjacent": CPUs 0 and 1 are siblings; "far": all first threads, then all second threads;
    #: "turns": like "far", and the packages take turns.
    numbering: str = "adjacent"
    #: NUMA nodes, each with an equal share of the cores in order.
    nodes: int = 1
    node_ids: tuple[int, ...] = ()
    empty_nodes: tuple[int, ...] = ()
    #: CPUs that are in no node's list.
    nodeless: tuple[int, ...] = ()
    #: Cores that share a last-level cache; default: all cores of a die.
    cores_per_cache: Optional[int] = None
    #: The file that shows core types: perf, capacity, cppc, cpufreq.
    types_by: Optional[str] = None
    offline: tuple[int, ...] = ()
    #: CPU numbers beyond the present ones, for CPUs that could be plugged in.
    spare: int = 0
    isolated: str = ""
    quirks: frozenset[str] = frozenset()
    arch: str = "x86_64"
    cmdline: str = "BOOT_IMAGE=/vmlinuz root=/dev/vda1 ro quiet"
    config: bool = True

    def model(self) -> Model:
        """Number the CPUs, and give each its core, package, node and cache."""
        if unknown := self.quirks - QUIRKS:
            raise ValueError(f"no such quirk: {unknown}")
        seats = list(_seats(self))
        node_ids = self.node_ids or tuple(range(self.nodes))
        threads = tuple(
            Thread(
                cpu=cpu,
                core=core,
                package=seat.package,
                die=seat.die,
                cluster=seat.cluster,
                cache=seat.cache,
                kind=seat.kind,
                nodes=() if cpu in self.nodeless else (node_ids[core * self.nodes // len(seats)],),
                online=cpu not in self.offline,
            )
            for cpu, core, seat in _numbered(seats, self.numbering)
        )
        return Model(self, threads, tuple(sorted({*node_ids, *self.empty_nodes})))


@dataclass(frozen=True)
class Seat:
    """The place of a core, before its CPUs have numbers."""

    package: int
    die: int
    cluster: int
    kind: int
    threads: int
    cache: int


@dataclass(frozen=True)
class Thread:
    """One CPU."""

    cpu: int
    core: int
    package: int
    die: int
    cluster: int
    cache: int
    kind: int
    nodes: tuple[int, ...]
    online: bool = True


def _seats(shape: Shape) -> Iterator[Seat]:
    per_die = shape.clusters * sum(kind.cores for kind in shape.kinds)
    per_cache = shape.cores_per_cache or per_die
    count = 0
    for package in range(shape.packages):
        for die in range(shape.dies):
            for cluster in range(shape.clusters):
                for number, kind in enumerate(shape.kinds):
                    for _ in range(kind.cores):
                        yield Seat(package, die, cluster, number, kind.threads, count // per_cache)
                        count += 1


def _numbered(seats: Sequence[Seat], numbering: str) -> list[tuple[int, int, Seat]]:
    """Each CPU as (CPU, core, seat), sorted by CPU."""
    places = [(core, thread) for core, seat in enumerate(seats) for thread in range(seat.threads)]
    if numbering == "far":
        places.sort(key=lambda place: (place[1], place[0]))
    elif numbering == "turns":
        firsts = {seat.package: core for core, seat in reversed([*enumerate(seats)])}
        places.sort(key=lambda p: (p[1], p[0] - firsts[seats[p[0]].package], p[0]))
    elif numbering != "adjacent":
        raise ValueError(f"no such numbering: {numbering}")
    return [(cpu, core, seats[core]) for cpu, (core, _) in enumerate(places)]


@dataclass(frozen=True)
class Model:
    """A machine with numbered CPUs."""

    shape: Shape
    threads: tuple[Thread, ...]
    node_ids: tuple[int, ...]

    @property
    def online(self) -> CpuSet:
        return CpuSet.of(thread.cpu for thread in self.threads if thread.online)

    @property
    def present(self) -> CpuSet:
        return CpuSet.of(thread.cpu for thread in self.threads)

    @property
    def possible(self) -> CpuSet:
        last = max(self.present)
        return self.present | CpuSet.of(range(last + 1, last + 1 + self.shape.spare))

    def node_cpus(self, node: int) -> CpuSet:
        return CpuSet.of(t.cpu for t in self.threads if t.online and node in t.nodes)

    def machine(self) -> Machine:
        """The expected result of probing this model's tree, as far as CPUs go."""
        online = self.online
        no_node, no_cache = ("no-node" in self.shape.quirks, "no-cache" in self.shape.quirks)
        return Machine(
            arch=self.shape.arch,
            cpus=Cpus(
                online=online,
                offline=self.present - online,
                possible=self.possible,
                boot=0 if 0 in online else online.first,
                isolated=CpuSet.parse_list(self.shape.isolated),
                nohz_full=CpuSet(),
                siblings_known="no-topology" not in self.shape.quirks,
            ),
            cores=self._cores(),
            core_types=self._core_types(),
            nodes=() if no_node else tuple(self._nodes()),
            caches=() if no_cache else tuple(self._caches()),
        )

    def _nodes(self) -> Iterator[Node]:
        for position, node in enumerate(self.node_ids):
            yield Node(node, self.node_cpus(node), self.distances(position))

    def distances(self, position: int) -> tuple[int, ...]:
        return tuple(10 if other == position else 21 for other in range(len(self.node_ids)))

    def _cores(self) -> tuple[Core, ...]:
        groups = self.cores.values()
        if "no-topology" in self.shape.quirks:
            groups = {cpu: CpuSet.of([cpu]) for cpu in self.online}.values()
        return tuple(sorted(map(self._core, groups), key=lambda core: core.cpus.first))

    def _core(self, cpus: CpuSet) -> Core:
        first = self.by_cpu[cpus.first]
        quirks = self.shape.quirks
        told = "no-topology" not in quirks
        package = told and not {"package--1", "package-65535", "no-package"} & quirks
        nodes = {node for cpu in cpus for node in self.by_cpu[cpu].nodes}
        return Core(
            cpus=cpus,
            package=first.package if package else None,
            die=first.die if told else None,
            cluster=first.cluster if told else None,
            nodes=() if "no-node" in quirks else tuple(sorted(nodes)),
            cache=None if "no-cache" in quirks else self.caches[first.cache].first,
        )

    def _core_types(self) -> tuple[CoreType, ...]:
        kinds = [self.kinds[kind] for kind in sorted(self.kinds)]
        if self.shape.types_by == "perf":  # a low-power core is told by its caches
            first = self.kinds.get(0, CpuSet())
            kinds = [first, self.online - first] if len(self.shape.kinds) > 1 else []
        if self.shape.types_by is None or len(kinds) < 2:
            return ()
        return tuple(CoreType(f"kind {n}", cpus, "synthetic") for n, cpus in enumerate(kinds))

    def _caches(self) -> list[Cache]:
        found = []
        for level, kind, size, attribute in CACHES:
            groups: dict[int, CpuSet] = getattr(self, attribute)
            found += [Cache(level, kind.lower(), size, cpus) for cpus in groups.values()]
        return sorted(found, key=lambda cache: (cache.level, cache.cpus.first, cache.kind))

    @cached_property
    def by_cpu(self) -> dict[int, Thread]:
        return {thread.cpu: thread for thread in self.threads}

    # The online CPUs by what they share.

    @cached_property
    def cores(self) -> dict[int, CpuSet]:
        return _group((t.core, t.cpu) for t in self.threads if t.online)

    @cached_property
    def caches(self) -> dict[int, CpuSet]:
        return _group((t.cache, t.cpu) for t in self.threads if t.online)

    @cached_property
    def kinds(self) -> dict[int, CpuSet]:
        return _group((t.kind, t.cpu) for t in self.threads if t.online)

    @cached_property
    def packages(self) -> dict[int, CpuSet]:
        return _group((t.package, t.cpu) for t in self.threads if t.online)


#: Level, type, size and sharing, in the order of sysfs's index folders.
CACHES = (
    (1, "Data", "32K", "cores"),
    (1, "Instruction", "32K", "cores"),
    (2, "Unified", "1024K", "cores"),
    (3, "Unified", "32768K", "caches"),
)


def _group(pairs: Iterable[tuple[int, int]]) -> dict[int, CpuSet]:
    found: dict[int, set[int]] = {}
    for key, cpu in pairs:
        found.setdefault(key, set()).add(cpu)
    return {key: CpuSet.of(cpus) for key, cpus in found.items()}


# ------------------------------------------------------------------ the tree

RELEASE = "6.12.0-synthetic"
_CPU = "sys/devices/system/cpu"
_NODE = "sys/devices/system/node"
_CLOCK = "sys/devices/system/clocksource/clocksource0"

_FLAGS = """
fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush dts acpi mmx
fxsr sse sse2 ss ht tm pbe syscall nx pdpe1gb rdtscp lm constant_tsc art arch_perfmon pebs
bts rep_good nopl xtopology nonstop_tsc cpuid aperfmperf tsc_known_freq pni pclmulqdq dtes64
monitor ds_cpl vmx smx est tm2 ssse3 sdbg fma cx16 xtpr pdcm pcid dca sse4_1 sse4_2 x2apic
movbe popcnt tsc_deadline_timer aes xsave avx f16c rdrand lahf_lm abm 3dnowprefetch
cpuid_fault epb cat_l3 cdp_l3 ssbd mba ibrs ibpb stibp tpr_shadow flexpriority ept vpid
fsgsbase tsc_adjust bmi1 avx2 smep bmi2 erms invpcid cqm rdt_a avx512f avx512dq rdseed adx
smap clflushopt clwb intel_pt avx512cd sha_ni avx512bw avx512vl xsaveopt xsavec xgetbv1
xsaves cqm_llc cqm_occup_llc dtherm ida arat pln pts hwp hwp_act_window hwp_epp pku ospke
"""

_CONFIG = (
    *(
        "CPU_ISOLATION",
        "NO_HZ_FULL",
        "RCU_NOCB_CPU",
        "RCU_EXPERT",
        "HIGH_RES_TIMERS",
        "PREEMPT_DYNAMIC",
        "DEBUG_FS",
    ),
    *("SMP", "NUMA", "IRQ_FORCED_THREADING", "X86_MCE", "LOCKUP_DETECTOR", "HARDLOCKUP_DETECTOR"),
    *("SOFTLOCKUP_DETECTOR", "TRANSPARENT_HUGEPAGE", "NUMA_BALANCING", "CPU_FREQ", "CPU_IDLE"),
)


def write(model: Model, folder: Path) -> Path:
    """Write the tree of a model below ``folder``; returns the folder."""
    made: set[str] = set()
    for path, text in files(model):
        parent, _, _ = path.rpartition("/")
        if parent not in made:
            (folder / parent).mkdir(parents=True, exist_ok=True)
            made.add(parent)
        (folder / path).write_text(text + "\n")
    return folder


def files(model: Model) -> Iterator[tuple[str, str]]:
    """The path and text of every file, without the final newline."""
    yield from _cpu_lists(model)
    for thread in model.threads:
        yield from _thread_files(model, thread)
    yield from _type_files(model)
    if "no-node" not in model.shape.quirks:
        yield from _node_files(model)
    yield from _proc_files(model)
    yield f"{_CLOCK}/current_clocksource", "tsc"
    yield f"{_CLOCK}/available_clocksource", "tsc hpet acpi_pm"
    if model.shape.config:
        yield f"boot/config-{RELEASE}", "\n".join(f"CONFIG_{name}=y" for name in _CONFIG)


def _cpu_lists(model: Model) -> Iterator[tuple[str, str]]:
    if "no-online-list" not in model.shape.quirks:
        yield f"{_CPU}/online", str(model.online)
    yield f"{_CPU}/offline", str(model.possible - model.online)
    yield f"{_CPU}/present", str(model.present)
    yield f"{_CPU}/possible", str(model.possible)
    yield f"{_CPU}/isolated", model.shape.isolated
    yield f"{_CPU}/nohz_full", "(null)"


def _thread_files(model: Model, thread: Thread) -> Iterator[tuple[str, str]]:
    folder, quirks = f"{_CPU}/cpu{thread.cpu}", model.shape.quirks
    if thread.cpu or not thread.online:
        yield f"{folder}/online", str(int(thread.online))
    # The kernel removes the rest when a CPU goes offline.
    if not thread.online:
        return
    if "no-topology" not in quirks:
        yield from _topology_files(model, thread, f"{folder}/topology")
    if "no-cache" not in quirks:
        for index, (level, kind, size, attribute) in enumerate(CACHES):
            shared = getattr(model, attribute)[getattr(thread, attribute[:-1])]
            cache = f"{folder}/cache/index{index}"
            yield f"{cache}/level", str(level)
            yield f"{cache}/type", kind
            yield f"{cache}/size", size
            yield from _both(model, cache, "shared_cpu_list", "shared_cpu_map", shared)


def _topology_files(model: Model, thread: Thread, folder: str) -> Iterator[tuple[str, str]]:
    quirks = model.shape.quirks
    siblings, package = model.cores[thread.core], model.packages[thread.package]
    names = {"thread_siblings": siblings, "core_siblings": package}
    if "old-names" not in quirks:
        names.update(core_cpus=siblings, package_cpus=package)
    for name, cpus in names.items():
        yield from _both(model, folder, f"{name}_list", name, cpus)
    yield f"{folder}/core_id", "0" if "same-core-id" in quirks else str(thread.core)
    yield f"{folder}/die_id", str(thread.die)
    yield f"{folder}/cluster_id", str(thread.cluster)
    unknown = "-1" if "package--1" in quirks else "65535"
    if "no-package" not in quirks:
        told = not {"package--1", "package-65535"} & quirks
        yield f"{folder}/physical_package_id", str(thread.package) if told else unknown


def _both(
    model: Model, folder: str, lst: str, mask: str, cpus: CpuSet
) -> Iterator[tuple[str, str]]:
    if "masks-only" not in model.shape.quirks:
        yield f"{folder}/{lst}", str(cpus)
    yield f"{folder}/{mask}", cpus.mask()


#: The file below a CPU's folder that shows its type.
_TYPE_FILES = {
    "capacity": "cpu_capacity",
    "cppc": "acpi_cppc/highest_perf",
    "cpufreq": "cpufreq/cpuinfo_max_freq",
}


def _type_files(model: Model) -> Iterator[tuple[str, str]]:
    by = model.shape.types_by
    if by == "perf":
        for kind, unit in enumerate(("cpu_core", "cpu_atom", "cpu_lowpower")):
            if kind < len(model.shape.kinds):
                yield f"sys/devices/{unit}/cpus", str(model.kinds.get(kind, CpuSet()))
    elif by is not None:
        for thread in model.threads:
            if thread.online:
                value = model.shape.kinds[thread.kind].value
                yield f"{_CPU}/cpu{thread.cpu}/{_TYPE_FILES[by]}", str(value)


def _node_files(model: Model) -> Iterator[tuple[str, str]]:
    yield f"{_NODE}/online", str(CpuSet.of(model.node_ids))
    for position, node in enumerate(model.node_ids):
        folder, cpus = f"{_NODE}/node{node}", model.node_cpus(node)
        yield from _both(model, folder, "cpulist", "cpumap", cpus)
        yield f"{folder}/distance", " ".join(map(str, model.distances(position)))


def _proc_files(model: Model) -> Iterator[tuple[str, str]]:
    yield "proc/cmdline", model.shape.cmdline
    yield "proc/version", f"Linux version {RELEASE} (build@example) #1 SMP PREEMPT_DYNAMIC"
    yield "proc/sys/kernel/osrelease", RELEASE
    yield "proc/sys/kernel/arch", model.shape.arch
    yield "proc/cpuinfo", "\n\n".join(_cpuinfo(model))
    yield "proc/interrupts", "\n".join(_interrupts(model))
    for number in (24, 25):
        yield f"proc/irq/{number}/smp_affinity_list", str(model.online)
        yield f"proc/irq/{number}/effective_affinity_list", str(model.online.first)


def _cpuinfo(model: Model) -> Iterator[str]:
    flags = f"flags\t\t: {' '.join(_FLAGS.split())}" if model.shape.arch == "x86_64" else ""
    for cpu in model.online:
        lines = [
            f"processor\t: {cpu}",
            "vendor_id\t: GenuineIntel",
            "model name\t: Synthetic",
            flags,
        ]
        yield "\n".join(filter(None, lines))


def _interrupts(model: Model) -> Iterator[str]:
    cpus = list(model.online)
    counts = " ".join(f"{0:10}" for _ in cpus)
    yield "     " + " ".join(f"{f'CPU{cpu}':>10}" for cpu in cpus)
    yield f" 24: {counts}  PCI-MSI-0000:00:02.0 0-edge virtio0-config"
    yield f" 25: {counts}  PCI-MSIX-0000:00:03.0 1-edge eth0-rx-0"
    yield f"LOC: {counts}  Local timer interrupts"
    yield "ERR:          0"


# ------------------------------------------------------------- some machines

#: Machines that no emulator can boot, and odd ones; their plans are in machines/.
NAMED = {
    "1c": Shape(kinds=(Kind(1),)),
    "1c2t": Shape(kinds=(Kind(1, 2),)),
    "4c-vm": Shape(packages=4, kinds=(Kind(1),)),
    "hybrid-6p8e": Shape(kinds=(Kind(6, 2), Kind(8)), types_by="perf"),
    "hybrid-6p8e-cppc": Shape(kinds=(Kind(6, 2, 68), Kind(8, 1, 42)), types_by="cppc"),
    "big-little-1-3-4": Shape(
        kinds=(Kind(1, value=1024), Kind(3, value=871), Kind(4, value=446)),
        types_by="capacity",
        arch="aarch64",
        quirks=frozenset({"no-node", "no-cache"}),
    ),
    "2s16c2t-far": Shape(packages=2, kinds=(Kind(16, 2),), nodes=2, numbering="far"),
    "2s16c2t-2n-offline": Shape(
        packages=2, kinds=(Kind(16, 2),), nodes=2, numbering="far", offline=(0, 5, 37, 63)
    ),
    "1s64c2t-8l3-4n": Shape(kinds=(Kind(64, 2),), nodes=4, numbering="far", cores_per_cache=8),
    "2s8c-sparse-nodes": Shape(
        packages=2, kinds=(Kind(8),), nodes=2, node_ids=(0, 8), empty_nodes=(252, 253)
    ),
    "8c-masks-only": Shape(kinds=(Kind(4, 2),), quirks=frozenset({"masks-only", "old-names"})),
    "8c-nodeless": Shape(kinds=(Kind(8),), nodeless=(6, 7)),
    "8c-isolated": Shape(
        kinds=(Kind(8),), isolated="2-7", cmdline="root=/dev/vda1 isolcpus=2-7 nohz_full=2-7"
    ),
    "4c-no-topology": Shape(
        quirks=frozenset({"no-topology", "no-cache", "no-node"}), arch="riscv64", config=False
    ),
    "4c-package-unknown": Shape(quirks=frozenset({"package--1", "same-core-id"}), arch="riscv64"),
    "16n-4096cpu": Shape(
        packages=8,
        dies=2,
        kinds=(Kind(128, 2),),
        nodes=16,
        numbering="far",
        cores_per_cache=8,
        spare=4096,
    ),
}


def grown(cpus: int) -> Shape:
    """A machine like the 4096-CPU one with another number of CPUs, at least 64."""
    nodes = max(cpus // 256, 1)
    cores = cpus // nodes // 2
    return Shape(
        packages=nodes, kinds=(Kind(cores, 2),), nodes=nodes, numbering="far", cores_per_cache=8
    )


def contents(model: Model) -> Contents:
    """The same tree as the contents of an archive."""
    found = Contents(files={f"/{name}": f"{text}\n".encode() for name, text in files(model)})
    folders: dict[str, set[str]] = {}
    for name in found.files:
        while name != "/" and name.rpartition("/")[2] not in folders.get(_parent(name), ()):
            folders.setdefault(_parent(name), set()).add(name.rpartition("/")[2])
            name = _parent(name)
    found.folders.update((folder, tuple(sorted(names))) for folder, names in folders.items())
    return found


def write_archive(model: Model, path: Path) -> Path:
    """The tree as a one-file archive, which is faster for thousands of CPUs."""
    path.write_text(dump(contents(model)))
    return path


def _parent(path: str) -> str:
    return path.rpartition("/")[0] or "/"
