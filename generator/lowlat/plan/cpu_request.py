# SPDX-License-Identifier: GPL-2.0-or-later
"""The user's request for the CPU split, and the rules that no request may break."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import Optional

from lowlat.base.arguments import flag, option
from lowlat.base.errors import Refused
from lowlat.model.cpuset import CpuSet, CpuSetError
from lowlat.model.machine import Machine
from lowlat.model.plan import ROLES
from lowlat.plan.caches import split_caches

#: Stands in place of a list: isolate nothing, so every CPU stays with the system.
NONE = "none"

#: What keeps housekeeping cores: each NUMA node, or the near nodes of a package together.
NODE, PACKAGE = "node", "package"

#: The beginning of a named set: "feed=2-3,engine=4-7".
_SET = re.compile(r"(?:^|,)([A-Za-z][A-Za-z0-9_-]{0,31})=")


@dataclass(frozen=True)
class CpuRequest:
    """The user's request for the split; lists in the kernel's CPU-list syntax, as typed.
    ``isolate`` may also be "none"."""

    isolate: Optional[str] = option(
        "LIST", "isolate exactly these CPUs; with names: feed=2-3,engine=4-7", once=True
    )
    housekeeping: Optional[str] = option(
        "LIST", "keep exactly these CPUs for the system", once=True
    )
    housekeeping_cores: Optional[int] = option(
        "N", "housekeeping cores per NUMA node, or per package (see --housekeeping-per)"
    )
    housekeeping_per: Optional[str] = option(
        None,
        "what keeps housekeeping cores where a package has several NUMA nodes: each node, or near "
        "nodes together, with whole caches; default: what leaves more caches to isolated CPUs",
        choices=(NODE, PACKAGE),
        once=True,
    )
    isolate_cores: Optional[int] = option("N", "isolate only the N best cores")
    keep_efficiency_cores: bool = flag("allow isolating cores of the least capable type")
    for_device: Optional[str] = option(
        "D", "isolate CPUs near this network interface, NVMe drive or PCI address", once=True
    )

    @property
    def choose(self) -> bool:
        """Whether a list or a device determines the CPUs."""
        return (self.isolate, self.housekeeping, self.for_device) != (None, None, None)


def merge(general: CpuRequest, particular: CpuRequest) -> CpuRequest:
    """Both requests joined; if they differ, ``particular`` wins. A request that chooses the CPUs
    (by a list or a device) replaces the other one's choice, and so does one that counts cores."""
    if particular.isolate_cores:
        general = replace(general, isolate=None, housekeeping=None, housekeeping_cores=None)
    if particular.isolate or particular.housekeeping or particular.housekeeping_cores:
        general = replace(general, isolate_cores=None)
    chosen = particular if particular.choose else general
    return replace(
        chosen,
        housekeeping_cores=particular.housekeeping_cores or general.housekeeping_cores,
        housekeeping_per=particular.housekeeping_per or general.housekeeping_per,
        isolate_cores=particular.isolate_cores or general.isolate_cores,
        keep_efficiency_cores=particular.keep_efficiency_cores or general.keep_efficiency_cores,
    )


#: The isolated CPUs of the user's lists, the option that chose them, warnings, and these CPUs by
#: the names of their sets; CPUs without a name have the name "".
NamedCpus = tuple[CpuSet, str, tuple[str, ...], Mapping[str, CpuSet]]


def set_lists(text: str) -> Mapping[str, str]:
    """The list of each named set; a list without names has the name "". Raises Refused if a name is
    taken, or some CPUs have no name."""
    plain, *rest = _SET.split(text)
    lists = dict(zip(rest[::2], rest[1::2]))
    taken = [name for name in rest[::2] if name in ROLES or rest[::2].count(name) > 1]
    if taken:
        raise Refused(f"{_said('--isolate', text)}: the name {taken[0]} is taken")
    if rest and plain:
        why = f"{_said('--isolate', text)}: CPU {plain} is in no set"
        raise Refused(why, hint="give every set a name, such as feed=2-3,engine=4-7")
    return lists or {"": plain}


def by_lists(machine: Machine, request: CpuRequest) -> Optional[NamedCpus]:
    """The sets that ``--isolate`` and ``--housekeeping`` name; None if neither is given. Raises
    Refused if a list is malformed or breaks a rule."""
    online = machine.cpus.online
    if request.isolate is not None:
        what = _said("--isolate", request.isolate)
        sets = _sets(machine, request.isolate)
        isolated = reduce(or_, sets.values())
        if request.housekeeping is not None:
            _check_cover(machine, isolated, request.housekeeping)
    elif request.housekeeping is not None:
        what = _said("--housekeeping", request.housekeeping)
        isolated = online - parse_cpus(machine, "--housekeeping", request.housekeeping)
        sets = {"": isolated}
    else:
        return None
    if request.for_device is not None:
        why = f"--for-device {request.for_device} and {what} both choose the CPUs"
        raise Refused(why, hint="give one of the two")
    _check_rules(machine, what, isolated)
    warnings = (*_warnings(machine, isolated, online - isolated), *_shared_cores(machine, sets))
    return isolated, f"by {what}", warnings, sets


def _sets(machine: Machine, text: str) -> dict[str, CpuSet]:
    sets: dict[str, CpuSet] = {}
    for name, listed in set_lists(text).items():
        option = f"--isolate {name}:" if name else "--isolate"
        sets[name] = parse_cpus(machine, option, listed)
        for other, cpus in sets.items():
            if other != name and cpus & sets[name]:
                raise Refused(f"CPU {cpus & sets[name]} is in both {other} and {name}")
    return sets


def _shared_cores(machine: Machine, sets: Mapping[str, CpuSet]) -> Iterator[str]:
    for core in machine.cores:
        names = [name for name, cpus in sets.items() if cpus & core.cpus]
        if len(names) > 1:
            yield f"{' and '.join(names)} share the core of CPU {core.cpus}: each slows the other"


def parse_cpus(machine: Machine, option: str, text: str) -> CpuSet:
    """A user's list of online CPUs. Raises Refused, naming the option, if it is not one."""
    what = _said(option, text)
    try:
        cpus = CpuSet.parse_list(text, last=max(machine.cpus.possible | machine.cpus.online))
    except CpuSetError as error:
        raise Refused(f"{what}: {error}", hint="give a CPU list like 2-5,8") from error
    if not cpus:
        raise Refused(f"{what}: names no CPU", hint="give a CPU list like 2-5,8")
    known = machine.cpus.online | machine.cpus.offline
    if not cpus <= known:
        hint = f"online here: {machine.cpus.online}"
        raise Refused(f"{what}: there is no CPU {cpus - known}", hint=hint)
    if not cpus <= machine.cpus.online:
        why = f"{what}: CPU {cpus & machine.cpus.offline} is offline"
        raise Refused(why, hint=f"online here: {machine.cpus.online}")
    return cpus


def _said(option: str, text: str) -> str:
    """An option as typed, shortened for a message."""
    shown = text if len(text) <= 80 else f"{text[:79]}…"
    return f"{option} {shown}" if shown else f"{option} ''"


def _check_cover(machine: Machine, isolated: CpuSet, text: str) -> None:
    kept = parse_cpus(machine, "--housekeeping", text)
    if kept & isolated:
        raise Refused(f"CPU {kept & isolated} is in both --isolate and --housekeeping")
    missing = machine.cpus.online - kept - isolated
    if missing:
        why = f"CPU {missing} is neither in --isolate nor in --housekeeping"
        raise Refused(why, hint="give one of the two, or name every online CPU once")


def _check_rules(machine: Machine, what: str, isolated: CpuSet) -> None:
    if isolated == machine.cpus.online:
        hint = f"keep at least CPU {machine.cpus.boot}"
        raise Refused(f"{what}: leaves no CPU for the system", hint=hint)
    if not isolated:
        raise Refused(f"{what}: leaves nothing to isolate")
    if machine.cpus.boot in isolated:
        raise Refused(
            f"{what}: would isolate CPU {machine.cpus.boot}, which boots the system and keeps time",
            hint="leave it to housekeeping",
        )
    for core in machine.cores:
        inside, outside = core.cpus & isolated, core.cpus - isolated
        if inside and outside:
            raise Refused(
                f"{what}: splits a core, CPU {inside} is isolated but its sibling {outside} is not",
                hint=f"put CPU {core.cpus} on one side",
            )


def _warnings(machine: Machine, isolated: CpuSet, kept: CpuSet) -> Iterator[str]:
    emptied = [node.id for node in machine.nodes if node.cpus and not node.cpus & kept]
    if emptied:
        nodes = f"nodes {CpuSet.of(emptied)} have" if len(emptied) > 1 else f"node {emptied[0]} has"
        yield f"NUMA {nodes} no housekeeping CPU left: kernel work there runs on another node"
    yield from split_caches(machine, isolated)
