# SPDX-License-Identifier: GPL-2.0-or-later
"""A set of CPUs as other programs take it: an option, an element, a row of a configuration."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Callable, Optional

from lowlat.base.errors import Unmet
from lowlat.kernel import effect
from lowlat.model.cpuset import CpuSet
from lowlat.model.launch import UNBALANCED, Launch
from lowlat.model.machine import Core, Machine
from lowlat.model.plan import Plan
from lowlat.render import files

#: DPDK's RTE_MAX_LCORE in its default configuration (config/meson.build).
_LCORES = 128


@dataclass(frozen=True)
class ChosenCpus:
    """The CPUs of a plan to be written, and the machine in the boot with that plan; ``offline`` are
    the CPUs that are so now. ``group`` is the control group that a program needs to get them."""

    cpus: CpuSet
    plan: Plan
    machine: Machine
    offline: CpuSet
    group: Optional[str] = None

    @property
    def order(self) -> list[int]:
        """The CPUs in the order in which threads get them."""
        return [cpu for cpu in self.plan.preferred if cpu in self.cpus] or list(self.cpus)

    @property
    def by_core(self) -> list[list[int]]:
        """The same, but the CPUs of a core together."""
        of = {cpu: core.cpus for core in self.machine.cores for cpu in core.cpus}
        cores = dict.fromkeys(of.get(cpu, CpuSet.of([cpu])) for cpu in self.order)
        return [[*(core & self.cpus)] for core in cores]

    @property
    def unbalanced(self) -> CpuSet:
        """Those that the boot line takes out of load balancing."""
        line = effect.read(self.plan.cmdline.text, self.machine.kernel, self.machine)
        return self.cpus & line.unbalanced

    @property
    def system(self) -> bool:
        return self.cpus == self.plan.housekeeping


def _docker(chosen: ChosenCpus) -> Iterator[str]:
    yield f"--cpuset-cpus={chosen.cpus}"


def _dpdk(chosen: ChosenCpus) -> Iterator[str]:
    # A worker polls: on a core's second thread it would slow the first one down.
    main = min(chosen.plan.housekeeping)
    workers = sorted({core[0] for core in chosen.by_core} - {main})
    if len(workers) >= _LCORES:
        why = f"DPDK runs on {_LCORES} CPUs at most, and these are {len(workers)} cores"
        raise Unmet(why, hint="name a part of them: 'lowlat-gen plan --isolate NAME=LIST'")
    if max(main, *workers) < _LCORES:
        yield f"-l {CpuSet.of([main, *workers])} --main-lcore {main}"
    else:
        pins = ",".join(f"{number}@{cpu}" for number, cpu in enumerate([main, *workers]))
        yield f"--lcores {pins} --main-lcore 0"


def _libvirt(chosen: ChosenCpus) -> Iterator[str]:
    # A guest's CPUs with neighbouring numbers are the threads of a core where its topology has any.
    cores = chosen.by_core
    threads = {len(core) for core in cores}
    yield "<cputune>"
    if len(threads) == 1 and threads != {1}:
        each = f"cores='{len(cores)}' threads='{threads.pop()}'"
        yield f"  <!-- for <cpu>: <topology sockets='1' dies='1' {each}/> -->"
    pins = (cpu for core in cores for cpu in core)
    yield from (f"  <vcpupin vcpu='{n}' cpuset='{cpu}'/>" for n, cpu in enumerate(pins))
    yield f"  <emulatorpin cpuset='{chosen.plan.housekeeping}'/>"
    yield "</cputune>"


def _systemd(chosen: ChosenCpus) -> Iterator[str]:
    yield files.systemd_drop_in(Launch(chosen.cpus, group=chosen.group)).rstrip()


def _slurm(chosen: ChosenCpus) -> Iterator[str]:
    _system_only(chosen, "slurm", "CpuSpecList")
    cores = chosen.machine.cores
    uneven = {
        "cores had the same number of threads": {len(core.cpus) for core in cores},
        "packages had the same number of cores": set(
            Counter(core.package for core in cores).values()
        ),
    }
    for each, counts in uneven.items():
        if len(counts) > 1:
            why = f"Slurm numbers CPUs as if all {each}, and these differ"
            raise Unmet(why, hint="slurmd -C shows what Slurm sees here")
    listed = [cpu for core in _in_hwlocs_order(chosen.machine) for cpu in core.cpus]
    numbers = CpuSet.of(n for n, cpu in enumerate(listed) if cpu in chosen.cpus)
    yield f"CpuSpecList={','.join(map(str, numbers))}"


def _kubelet(chosen: ChosenCpus) -> Iterator[str]:
    _system_only(chosen, "kubelet", "reservedSystemCPUs")
    yield f'reservedSystemCPUs: "{chosen.cpus}"'


def _balance(chosen: ChosenCpus) -> Iterator[str]:
    if len(chosen.unbalanced) > 1:
        way = "a plan with --disable isolcpus balances them"
        yield f"{UNBALANCED}, unless the program pins each; {way}"


def _online(chosen: ChosenCpus) -> Iterator[str]:
    """Of the kubelet's rules (getReservedCPUs() in cmd/kubelet/app/server.go; CPUsPerCore() in
    pkg/kubelet/cm/cpumanager/topology, kubernetes/kubernetes#124066 and #140495)."""
    back = chosen.cpus & chosen.offline
    if back:
        yield f"the kubelet starts only if all of these are online, and CPU {back} is offline now"
    if len({len(core.cpus) for core in chosen.machine.cores}) > 1:
        yield (
            "the kubelet takes all cores to have the same number of threads, and these differ: it "
            "may give reserved CPUs to a pod"
        )


def _system_only(chosen: ChosenCpus, form: str, key: str) -> None:
    if not chosen.system:
        hint = f"'lowlat-gen cpus housekeeping --as {form}'"
        raise Unmet(f"{key} takes the CPUs that work does not get", hint=hint)


def _in_hwlocs_order(machine: Machine) -> list[Core]:
    """The cores as hwloc numbers them, whose order Slurm's numbers follow
    (xcpuinfo_hwloc_topo_get() in slurmd): at each level of packages, dies, nodes and L3 caches the
    set with the lowest CPU comes first."""
    sets = [node.cpus for node in machine.nodes]
    sets += [cache.cpus for cache in machine.caches if cache.level == 3]
    for place in (lambda core: core.package, lambda core: (core.package, core.die)):
        placed: dict[object, CpuSet] = {}
        for core in machine.cores:
            placed[place(core)] = placed.get(place(core), CpuSet()) | core.cpus
        sets += placed.values()

    def key(core: Core) -> tuple[int, ...]:
        around = sorted((one for one in sets if core.cpus <= one), key=len, reverse=True)
        return (*(min(one) for one in around), min(core.cpus))

    return sorted(machine.cores, key=key)


_FORMS: dict[str, Callable[[ChosenCpus], Iterator[str]]] = {
    "docker": _docker,
    "dpdk": _dpdk,
    "libvirt": _libvirt,
    "systemd": _systemd,
    "slurm": _slurm,
    "kubelet": _kubelet,
}

#: The names of the forms; "list" is the kernel's own.
FORMS = ("list", *_FORMS)


#: Forms about which there may be more to say.
_NOTES: dict[str, Callable[[ChosenCpus], Iterator[str]]] = {
    "docker": _balance,
    "systemd": _balance,
    "kubelet": _online,
}


def notes(form: str, chosen: ChosenCpus) -> Iterator[str]:
    """Sentences on what these CPUs come to in that program."""
    yield from _NOTES[form](chosen) if form in _NOTES else ()


def rows(form: str, chosen: ChosenCpus) -> Iterator[str]:
    """The rows of a form. Raises Unmet where these CPUs cannot be written in it."""
    return _FORMS[form](chosen)
