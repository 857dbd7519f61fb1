# SPDX-License-Identifier: GPL-2.0-or-later
"""Whose siblings the offline CPUs are. sysfs tells it of online CPUs only; where the rest of the
machine leaves one answer, that is it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import X86, Machine

#: The most threads that a core of the architecture has; 8 elsewhere (POWER).
_MOST_THREADS = {**dict.fromkeys(X86, 2), "s390x": 2}


@dataclass(frozen=True)
class WholeCores:
    """The whole core of each offline CPU for which the machine tells it, and in words what these
    cores are and how that is known."""

    cores: Mapping[int, CpuSet]
    relied: str = ""


def whole_cores(machine: Machine) -> WholeCores:
    offline, smt = machine.cpus.offline, machine.power.smt_control
    threads = max(len(core.cpus) for core in machine.cores)
    if not machine.cpus.siblings_known:
        return _alone(offline, "the kernel does not show which CPUs are siblings")
    if threads > 1:
        return _by_pattern(machine, threads)
    if smt == "notsupported":
        return _alone(offline, "these processors have no SMT (cpu/smt/control)")
    if smt not in (None, "notimplemented"):
        return WholeCores({})
    # With two threads a core there were at least two CPUs for each core that is seen.
    if len(offline) < len(machine.cores):
        return _alone(offline, "there are too few for a second thread of each core")
    if machine.processor.threads == 1:
        return _alone(offline, "these processors have no SMT (CPU part in /proc/cpuinfo)")
    return WholeCores({})


def _alone(cpus: CpuSet, why: str) -> WholeCores:
    return WholeCores({cpu: CpuSet.of([cpu]) for cpu in cpus}, f"a core of its own, as {why}")


def _by_pattern(machine: Machine, threads: int) -> WholeCores:
    """By the numbers of the cores that have all their threads online."""
    offline, seen = machine.cpus.offline, [core.cpus for core in machine.cores]
    whole = [cpus for cpus in seen if len(cpus) == threads]
    most = _most_threads(machine)
    if threads < most and len(whole) == len(seen) and len(offline) % len(seen) == 0:
        return WholeCores({})  # each core may have as many threads again
    patterns = {tuple(cpu - cpus.first for cpu in cpus) for cpus in whole}
    if len(patterns) == 1:
        pattern = patterns.pop()
        found = _fitted(offline, _Fit(machine, pattern, threads))
        numbers = ", ".join(f"N+{step}" if step else "N" for step in pattern)
        return WholeCores(found, f"whole cores here are CPU {numbers}, which tells its siblings")
    half = [cpus for cpus in seen if len(cpus) < threads]
    if len(half) == 1 and len(offline) == threads - len(half[0]):
        core = half[0] | offline
        return WholeCores(
            dict.fromkeys(offline, core), f"it is the sibling that CPU {half[0]} lacks"
        )
    return WholeCores({})


def _most_threads(machine: Machine) -> int:
    if "Xeon Phi" in (machine.processor.model or ""):
        return 4
    return machine.processor.threads or _MOST_THREADS.get(machine.arch or "", 8)


class _Fit:
    """The cores that CPUs may make up, by the pattern of the whole ones: these complete a core that
    is seen in part, or are all offline, where all cores are of one type."""

    def __init__(self, machine: Machine, pattern: tuple[int, ...], threads: int) -> None:
        self._pattern = pattern
        self._offline = machine.cpus.offline.ids
        whole = CpuSet.of(
            c for core in machine.cores if len(core.cpus) == threads for c in core.cpus
        )
        # Cores of a type that has no second thread anywhere are whole too.
        single = [kind.cpus.ids for kind in machine.core_types if not kind.cpus & whole]
        self._part = {
            cpu: core.cpus.ids
            for core in machine.cores
            if len(core.cpus) < threads and not any(core.cpus.ids <= kind for kind in single)
            for cpu in core.cpus
        }
        self.mixed = bool(machine.core_types)

    def cores(self, cpu: int, taken: Mapping[int, CpuSet]) -> Iterator[CpuSet]:
        for step in self._pattern:
            core = frozenset(cpu - step + other for other in self._pattern)
            seen = core - self._offline
            parts = {self._part.get(other, frozenset()) for other in seen}
            if parts <= {seen} and core.isdisjoint(taken) and (seen or not self.mixed):
                yield CpuSet(core)


def _fitted(offline: CpuSet, fit: _Fit) -> dict[int, CpuSet]:
    """The core of each CPU that fits into one only, until no other follows from that."""
    found: dict[int, CpuSet] = {}
    left: Iterable[int] = list(offline)
    while True:
        before = len(found)
        for cpu in left:
            if cpu not in found:
                cores = list(fit.cores(cpu, found))
                if len(cores) == 1:
                    found.update(dict.fromkeys(cores[0] & offline, cores[0]))
                elif not cores and fit.mixed:
                    found[cpu] = CpuSet.of([cpu])
        left = [cpu for cpu in left if cpu not in found]
        if len(found) == before:
            return found
