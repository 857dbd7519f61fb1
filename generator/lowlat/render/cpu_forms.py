# SPDX-License-Identifier: GPL-2.0-or-later
"""A set of CPUs as other programs take it: an option, an element, a row of a configuration."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Callable, Optional

from lowlat.base.errors import Unmet
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Core, Machine
from lowlat.model.plan import Plan
from lowlat.render import files
from lowlat.runtime.launch import Launch

#: DPDK's RTE_MAX_LCORE in its default configuration (config/meson.build).
_LCORES = 128


@dataclass(frozen=True)
class ChosenCpus:
    """The CPUs of a plan to be written, and the machine that it was made for. ``group`` is the
    control group that a program needs to get them."""

    cpus: CpuSet
    plan: Plan
    machine: Machine
    group: Optional[str]

    @property
    def order(self) -> list[int]:
        """The CPUs in the order in which threads get them."""
        return [cpu for cpu in self.plan.preferred if cpu in self.cpus] or list(self.cpus)

    @property
    def system(self) -> bool:
        return self.cpus == self.plan.housekeeping


def _docker(chosen: ChosenCpus) -> Iterator[str]:
    yield f"--cpuset-cpus={chosen.cpus}"


def _dpdk(chosen: ChosenCpus) -> Iterator[str]:
    # A worker polls: on a core's second thread it would slow the first one down.
    firsts = (min(core.cpus & chosen.cpus, default=None) for core in chosen.machine.cores)
    main = min(chosen.plan.housekeeping)
    workers = sorted({cpu for cpu in firsts if cpu is not None} - {main})
    if len(workers) >= _LCORES:
        why = f"DPDK runs on {_LCORES} CPUs at most, and these are {len(workers)} cores"
        raise Unmet(why, hint="name a part of them: 'lowlat-gen plan --isolate NAME=LIST'")
    if max(main, *workers) < _LCORES:
        yield f"-l {CpuSet.of([main, *workers])} --main-lcore {main}"
    else:
        pins = ",".join(f"{number}@{cpu}" for number, cpu in enumerate([main, *workers]))
        yield f"--lcores {pins} --main-lcore 0"


def _libvirt(chosen: ChosenCpus) -> Iterator[str]:
    yield "<cputune>"
    yield from (f"  <vcpupin vcpu='{n}' cpuset='{cpu}'/>" for n, cpu in enumerate(chosen.order))
    yield f"  <emulatorpin cpuset='{chosen.plan.housekeeping}'/>"
    yield "</cputune>"


def _systemd(chosen: ChosenCpus) -> Iterator[str]:
    yield files.systemd_drop_in(Launch(chosen.cpus, group=chosen.group)).rstrip()


def _slurm(chosen: ChosenCpus) -> Iterator[str]:
    _system_only(chosen, "slurm", "CpuSpecList")
    if len({len(core.cpus) for core in chosen.machine.cores}) > 1:
        why = "Slurm numbers CPUs by cores with the same number of threads, and these differ"
        raise Unmet(why, hint="slurmd -C shows what Slurm sees here")
    listed = [cpu for core in _in_hwlocs_order(chosen.machine) for cpu in core.cpus]
    numbers = CpuSet.of(n for n, cpu in enumerate(listed) if cpu in chosen.cpus)
    yield f"CpuSpecList={','.join(map(str, numbers))}"


def _kubelet(chosen: ChosenCpus) -> Iterator[str]:
    _system_only(chosen, "kubelet", "reservedSystemCPUs")
    yield f'reservedSystemCPUs: "{chosen.cpus}"'


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


def rows(form: str, chosen: ChosenCpus) -> Iterator[str]:
    """The rows of a form. Raises Unmet where these CPUs cannot be written in it."""
    return _FORMS[form](chosen)
