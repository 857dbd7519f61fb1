# SPDX-License-Identifier: GPL-2.0-or-later
"""The boot line that OpenShift's Node Tuning Operator makes of a PerformanceProfile."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Optional

from lowlat.base.errors import Refused
from lowlat.base.typed_json import decode
from lowlat.catalogue import operator
from lowlat.catalogue.operator import Version
from lowlat.lint.tuned_profile import hex_mask
from lowlat.model.cpuset import CpuSet, CpuSetError
from lowlat.model.machine import ARM, Machine

_MAKERS = {"GenuineIntel": "intel", "AuthenticAMD": "amd"}


@dataclass(frozen=True)
class _ProfileCpus:
    """``spec.cpu`` without ``offlined``, which no boot line carries: a script switches these CPUs
    off once the node is up."""

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
class _Page:
    size: str
    count: int
    node: Optional[int] = None


@dataclass(frozen=True)
class _Pages:
    default: str = field(default="", metadata={"json": "defaultHugepagesSize"})
    pages: tuple[_Page, ...] = ()

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
class _Spec:
    cpu: _ProfileCpus
    pages: _Pages = field(default=_Pages(), metadata={"json": "hugepages"})
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


def is_performance_profile(text: str) -> bool:
    return bool(re.search(r'(?m)^[ \t{]*"?kind"?:[ \t]*"?PerformanceProfile\b', text))


def operators_line(text: str, machine: Machine, version: Version) -> str:
    """The line that the operator of a release makes of a profile on this machine, without the mode
    of intel_pstate where TuneD chooses it. Raises Refused if the profile is damaged."""
    return line_of(document(text, "the PerformanceProfile"), machine, version)


def line_of(profile: Mapping[str, object], machine: Machine, version: Version) -> str:
    """The same of a profile that was read."""
    spec = decode(_Spec, profile.get("spec"), "spec")
    ovs = spec.cpu.cpus("ovs")
    isolated = spec.cpu.cpus("isolated") | ovs
    others = machine.cpus.online - isolated
    known = isolated | spec.cpu.cpus("reserved") | spec.cpu.cpus("shared")
    places = {
        "isolated": isolated,
        "others": ",".join(map(str, others)),
        "mask": hex_mask(others),
        "interrupts": known - ovs,
    }
    given = frozenset(spec.conditions(machine))
    words = [word.format(**places) for word in operator.words(version, given)]
    return " ".join([*words, *spec.pages.words(), *spec.words])


def document(text: str, what: str) -> Mapping[str, object]:
    """The only object of a YAML or JSON file. Raises Refused if it is damaged or has several."""
    try:
        found = json.loads(text) if text.lstrip().startswith("{") else _yaml(text)
    except ImportError as error:
        hint = "install python3-yaml, or give it as JSON"
        raise Refused(f"PyYAML, which reads {what}, is missing", hint=hint) from error
    except Exception as error:  # PyYAML raises ValueError, RecursionError and its own errors
        why = f"{what} is not YAML, or has aliases"
        raise Refused(why, hint="give one alone, written out") from error
    return found if isinstance(found, dict) else {}


def _yaml(text: str) -> object:
    """Without aliases and merge keys: a kilobyte of them keeps PyYAML 6.0.1 at work for minutes."""
    import yaml  # only this needs it

    for event in yaml.parse(text, yaml.SafeLoader):
        if isinstance(event, yaml.AliasEvent) or getattr(event, "value", "") == "<<":
            raise ValueError("an alias or a merge key")
    return yaml.safe_load(text)
