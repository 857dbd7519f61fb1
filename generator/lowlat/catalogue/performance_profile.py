# SPDX-License-Identifier: GPL-2.0-or-later
"""A PerformanceProfile of OpenShift, and the line that its Node Tuning Operator makes of it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Optional

from lowlat.base.errors import Refused
from lowlat.catalogue import operator
from lowlat.catalogue.operator import Version
from lowlat.host.tuned import hex_mask
from lowlat.model.cpuset import CpuSet, CpuSetError
from lowlat.model.machine import ARM, Machine

_MAKERS = {"GenuineIntel": "intel", "AuthenticAMD": "amd"}


@dataclass(frozen=True)
class ProfileCpus:
    """``spec.cpu``. No boot line carries ``offlined``: a script switches these CPUs off once the
    node is up."""

    isolated: str
    reserved: str
    shared: str = ""
    ovs: str = field(default="", metadata={"json": "ovsDpdk"})
    balanced: bool = field(default=True, metadata={"json": "balanceIsolated"})

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
        ovs = self.cpu.cpus("ovs")
        isolated = self.cpu.cpus("isolated") | ovs
        others = machine.cpus.online - isolated
        known = isolated | self.cpu.cpus("reserved") | self.cpu.cpus("shared")
        places = {
            "isolated": isolated,
            "others": ",".join(map(str, others)),
            "mask": hex_mask(others),
            "interrupts": known - ovs,
        }
        given = frozenset(self.conditions(machine))
        words = [word.format(**places) for word in operator.words(version, given)]
        return " ".join([*words, *self.pages.words(), *self.words])
