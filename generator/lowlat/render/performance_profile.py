# SPDX-License-Identifier: GPL-2.0-or-later
"""A Plan as a PerformanceProfile: what the operator of a release does not write by itself, and what
it adds."""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import and_
from typing import Optional

from lowlat.base.errors import Refused
from lowlat.catalogue import operator
from lowlat.catalogue.operator import Version
from lowlat.catalogue.performance_profile import Page, Pages, ProfileCpus, ProfileSpec
from lowlat.kernel import effect
from lowlat.kernel.effect import Effect
from lowlat.kernel.line import read_words
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Machine
from lowlat.model.plan import ROLES, Plan, PlannedSetting

_HUGE_PAGES = re.compile(r".*/node/node(\d+)/hugepages/hugepages-(\d+)kB/nr_hugepages")
_SIZES = {64: "64k", 2 << 10: "2M", 32 << 10: "32M", 512 << 10: "512M", 1 << 20: "1G"}


@dataclass(frozen=True)
class Pool:
    """The nodes of a PerformanceProfile: their machine, and the release of OpenShift, None for all
    that are known. ``ovs`` are the isolated CPUs of OVS-DPDK, ``shared`` the housekeeping CPUs that
    pods with exclusive CPUs share."""

    machine: Machine
    version: Optional[Version] = None
    ovs: CpuSet = CpuSet()
    shared: CpuSet = CpuSet()


class PerformanceProfile:
    """The profile of a plan for a pool of nodes. Raises Refused if the release lacks a field, or no
    CPU is left for one."""

    def __init__(self, plan: Plan, pool: Pool) -> None:
        self.plan = plan
        self.pool = pool
        self.realtime = bool(re.search(r"[.+-]rt", plan.kernel or ""))
        self.of_rhel = bool(re.search(r"\.el\d", plan.kernel or ""))
        isolcpus = (p.value for p in plan.parameters if p.name == "isolcpus")
        self.balanced = all(re.match(r"managed_irq,[0-9]", value) for value in isolcpus)
        _check(plan, pool)

    @property
    def spec(self) -> ProfileSpec:
        words = tuple(p.word for p in self.plan.parameters if p.word not in self._theirs)
        return replace(self._bare, words=words)

    def sets(self, setting: PlannedSetting) -> bool:
        """Whether the operator sets it too."""
        given = frozenset(self._bare.conditions(self.pool.machine))
        return all(setting.name in operator.settings(v, given) for v in self._versions)

    @property
    def releases(self) -> str:
        first, *more = self._versions
        return f"OpenShift {operator.text(first)}{' or later' if more else ''}"

    @property
    def added(self) -> tuple[str, ...]:
        """The words of the operator that make the effect of its line another one than that of the
        plan's; without a version those of any release."""
        found = (word for version in self._versions for word in self._added(version))
        return tuple(dict.fromkeys(found))

    @cached_property
    def _bare(self) -> ProfileSpec:
        """Without additional words."""
        pages = tuple(_pages(self.plan))
        cpu = ProfileCpus(
            isolated=str(self.plan.isolated - self.pool.ovs),
            reserved=str(self.plan.housekeeping - self.pool.shared),
            shared=str(self.pool.shared),
            ovs=str(self.pool.ovs),
            balanced=self.balanced,
        )
        hints = {"realTime": self.realtime, **({"mixedCpus": True} if self.pool.shared else {})}
        return ProfileSpec(cpu, Pages(pages[0].size if pages else "", pages), hints)

    @property
    def _versions(self) -> Collection[Version]:
        if self.pool.version is not None:
            return (self.pool.version,)
        wanted = [since for cpus, since in _fields(self.pool) if cpus]
        return [version for version in operator.TURNS if version >= max(wanted, default=(0, 0))]

    @cached_property
    def _theirs(self) -> frozenset[str]:
        """The words of the plan that the operator writes, in whatever form."""
        return reduce(and_, (frozenset(self._written(version)) for version in self._versions))

    def _written(self, version: Version) -> Iterator[str]:
        """The words of the plan in whose place the operator's would have the same effect."""
        theirs = read_words(self._bare.line(self.pool.machine, version))
        ours = [word.text for word in read_words(self.plan.cmdline.text)]
        whole = self._effect(ours)
        for word in read_words(self.plan.cmdline.text):
            others = [text for text in ours if text != word.text]
            instead = [one.text for one in theirs if one.name == word.name]
            if instead and self._effect([*others, *instead]) == whole:
                yield word.text

    def _added(self, version: Version) -> list[str]:
        """The words that count alone or beside the operator's others."""
        planned = [word.text for word in read_words(self.plan.cmdline.text)]
        line = read_words(self.spec.line(self.pool.machine, version))
        # TuneD's own words mean nothing to the kernel.
        told = [word.text for word in line if not word.name.startswith("tuned.")]
        theirs = [word for word in told if word not in planned]
        alone, whole = self._effect(planned), self._effect(told)
        for word in tuple(theirs):
            kept = [text for text in theirs if text != word]
            if self._effect([word, *planned]) == alone and self._effect([*kept, *planned]) == whole:
                theirs = kept
        return theirs

    def _effect(self, words: Iterable[str]) -> Effect:
        return effect.read(" ".join(words), self.pool.machine.kernel, self.pool.machine)


def _fields(pool: Pool) -> tuple[tuple[CpuSet, Version], ...]:
    """The CPUs of each optional field, and the first release that has the field."""
    return (pool.ovs, (4, 23)), (pool.shared, (4, 15))


def _check(plan: Plan, pool: Pool) -> None:
    for option, role, (cpus, since) in zip(("--ovs-dpdk", "--shared"), ROLES, _fields(pool)):
        if cpus and (pool.version or since) < since:
            why = f"{option}: a PerformanceProfile has it from OpenShift {operator.text(since)} on"
            raise Refused(why, hint=f"leave {option} out")
        most = plan.cpus_of(role)
        if cpus == most or not cpus <= most:
            why = f"{option}: CPU {cpus} is not a part of the {role} CPUs {most} that leaves one"
            raise Refused(why, hint="name fewer CPUs")


def _pages(plan: Plan) -> Iterator[Page]:
    for setting in plan.runtime:
        found = _HUGE_PAGES.fullmatch(setting.target)
        if found:
            size = _SIZES.get(int(found[2]), f"{found[2]}k")
            yield Page(size, int(setting.value), int(found[1]))
