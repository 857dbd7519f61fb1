# SPDX-License-Identifier: GPL-2.0-or-later
"""A PerformanceProfile of OpenShift, and the line that its Node Tuning Operator makes of it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Optional

from lowlat.base.errors import Refused
from lowlat.catalogue import operator
from lowlat.catalogue.operator import Version
from lowlat.host.tuned import hex_mask
from lowlat.model.cpuset import CpuSet, CpuSetError
from lowlat.model.machine import ARM, Machine

_MAKERS = {"GenuineIntel": "intel", "AuthenticAMD": "amd"}
_HINTS = ("realTime", "highPowerConsumption", "perPodPowerManagement")

#: By condition of operator.ini that the profile decides, what stands below its spec.
_FIELDS = {
    **{name: f"workloadHints.{name}: true" for name in _HINTS},
    **{f"!{name}": f"workloadHints.{name}: false" for name in _HINTS},
    **{"static": "cpu.balanceIsolated: false", "!static": "cpu.balanceIsolated: true"},
    **{"tuned": "hardwareTuning", "!tuned": "no hardwareTuning", "ovsDpdk": "cpu.ovsDpdk"},
}

#: What helps where a profile is for other machines.
ANOTHER_MACHINE = "give --root with a node's capture, or its sysinfo.tgz of a must-gather"

#: The lists of spec.cpu.
_LISTS = ("isolated", "reserved", "shared", "offlined", "ovs")


@dataclass(frozen=True)
class ProfileCpus:
    """``spec.cpu``. No boot line carries ``offlined``: a script switches these CPUs off once the
    node is up."""

    isolated: str
    reserved: str
    shared: str = ""
    ovs: str = field(default="", metadata={"json": "ovsDpdk"})
    balanced: bool = field(default=True, metadata={"json": "balanceIsolated"})
    offlined: str = ""

    def concerns(self, machine: Machine) -> Iterator[str]:
        """What is wrong with the lists on this machine. A CPU in two of them is refused by the
        operator (validateCPUs() of its performanceprofile_validation.go)."""
        lists = {name: self.cpus(name) for name in _LISTS}
        for one, other in combinations(lists, 2):
            if both := lists[one] & lists[other]:
                yield f"spec.cpu: CPU {both} is in {one} and in {other}, which OpenShift refuses"
        known = CpuSet.of(cpu for cpus in lists.values() for cpu in cpus)
        if left := machine.cpus.online - known:
            yield f"spec.cpu: CPU {left} is in no list: pods run on it, and nothing isolates it"
        if gone := known - machine.cpus.online - machine.cpus.offline:
            yield f"spec.cpu: this machine has no CPU {gone}; {ANOTHER_MACHINE}"

    def cpus(self, name: str) -> CpuSet:
        try:
            return CpuSet.parse_list(getattr(self, name))
        except CpuSetError as error:
            why = f"spec.cpu.{name}: {error.message}"
            raise Refused(why, hint="give a list such as 2-7") from error


@dataclass(frozen=True)
class Page:
    size: str
    count: int
    node: Optional[int] = None


@dataclass(frozen=True)
class Pages:
    default: str = field(default="", metadata={"json": "defaultHugepagesSize"})
    pages: tuple[Page, ...] = ()

    def words(self) -> Iterator[str]:
        """Those of one node are reserved once the node is up, but the size is made known."""
        if self.default:
            yield f"default_hugepagesz={self.default}"
        for page in self.pages:
            if page.node is None:
                yield from (f"hugepagesz={page.size}", f"hugepages={page.count}")
        small = [page.node is not None for page in self.pages if page.size == "2M"]
        if small and all(small) and self.default == "1G":
            yield from ("hugepagesz=2M", "hugepages=0")


@dataclass(frozen=True)
class ProfileSpec:
    """What decides the line; ``words`` are the additional ones."""

    cpu: ProfileCpus
    pages: Pages = field(default=Pages(), metadata={"json": "hugepages"})
    hints: Mapping[str, bool] = field(default_factory=dict, metadata={"json": "workloadHints"})
    tuning: Optional[Mapping[str, int]] = field(default=None, metadata={"json": "hardwareTuning"})
    words: tuple[str, ...] = field(default=(), metadata={"json": "additionalKernelArgs"})

    def conditions(self, machine: Machine) -> Iterator[str]:
        """Those of operator.ini that hold."""
        yield from (hint for hint, wanted in {"realTime": True, **self.hints}.items() if wanted)
        told = {
            "static": not self.cpu.balanced,
            "tuned": self.tuning is not None,
            "ovsDpdk": bool(self.cpu.ovs),
            "arm": machine.arch in ARM,
        }
        yield from (name for name, holds in told.items() if holds)
        yield _MAKERS.get(machine.processor.vendor or "", "another maker")

    def line(self, machine: Machine, version: Version) -> str:
        """The line on this machine, without the mode of intel_pstate where TuneD chooses it. Raises
        Refused if a list of CPUs is damaged."""
        words = operator.words(version, frozenset(self.conditions(machine)))
        places = self._places(machine)
        told = [word.format(**places) for word in words]
        return " ".join([*told, *self.pages.words(), *self.words])

    def fields(self, machine: Machine, version: Version) -> dict[str, str]:
        """By word of the line, the fields below spec that bring it; "" if the operator writes it
        for every profile."""
        places = self._places(machine)
        found = operator.conditions(version, frozenset(self.conditions(machine)))
        told = {
            word.format(**places): " and ".join(
                _FIELDS[one] for one in conditions if one in _FIELDS
            )
            for word, conditions in found.items()
        }
        told.update(dict.fromkeys(self.pages.words(), "hugepages"))
        for word in self.words:
            told[word] = " and ".join(filter(None, (told.get(word), "additionalKernelArgs")))
        return told

    def _places(self, machine: Machine) -> dict[str, object]:
        """What stands for the CPUs in operator.ini's words."""
        ovs = self.cpu.cpus("ovs")
        isolated = self.cpu.cpus("isolated") | ovs
        others = machine.cpus.online - isolated
        known = isolated | self.cpu.cpus("reserved") | self.cpu.cpus("shared")
        return {
            "isolated": isolated,
            "others": ",".join(map(str, others)),
            "mask": hex_mask(others),
            "interrupts": known - ovs,
        }
