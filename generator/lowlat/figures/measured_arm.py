# SPDX-License-Identifier: GPL-2.0-or-later
"""One arm of a comparison: its boots, the runs nested in them, and each figure boot by boot."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import nlargest
from typing import Optional

from lowlat.figures import pooling
from lowlat.figures.measure import Key, Measure, Pooling
from lowlat.model.cpuset import CpuSet
from lowlat.model.finding import Finding
from lowlat.model.policy import word
from lowlat.model.run import ChainLink, Run

#: The names that an arm may have, as a regular expression.
NAME = r"[A-Za-z0-9._+-]{1,64}"

#: The number that distinguishes the boots of an arm in their labels.
_NUMBER = re.compile(r"[-._]?[0-9]+$")


#: The number of an arm's longest gaps that are reported.
_LONGEST = 3


@dataclass(frozen=True)
class ArmGap:
    """One of the longest gaps of an arm, or its latest ``wakeup``."""

    arm: str
    cpu: int
    begin_s: float
    length_ns: float
    chain: tuple[ChainLink, ...]
    wakeup: bool = False


@dataclass(frozen=True)
class Arm:
    """Runs of one kind, in the order in which their files were given, verify's findings in their
    boots (None: not checked), and the figures that are asked for beside the usual ones. ``counted``
    is what a test counts once: a boot, or within boots a run."""

    name: str
    runs: tuple[Run, ...]
    effect: Optional[Sequence[Finding]] = None
    asked: tuple[Measure, ...] = ()
    counted: str = "boot"

    @cached_property
    def boots(self) -> tuple[tuple[Run, ...], ...]:
        """The runs of each boot, or of each part of one that counts by itself; a run without a
        known boot counts as a separate boot."""
        boots: dict[str, list[Run]] = {}
        for number, run in enumerate(self.runs):
            boots.setdefault(run.unit or f"#{number}", []).append(run)
        return tuple(map(tuple, boots.values()))

    def of_boots(self, places: Iterable[int]) -> Arm:
        """The arm with these boots only, in this order."""
        return replace(self, runs=tuple(run for place in places for run in self.boots[place]))

    def by_policy(self) -> Mapping[str, Arm]:
        """The runs under each scheduling policy; with several, its word is in the name."""
        policies = dict.fromkeys(run.policy for run in self.runs)
        if len(policies) < 2:
            return dict.fromkeys(policies, self)
        return {
            policy: replace(
                self,
                name=f"{self.name}-{word(policy)}",
                runs=tuple(run for run in self.runs if run.policy == policy),
            )
            for policy in policies
        }

    @property
    def kernels(self) -> str:
        """A text of the kernels of the runs."""
        return " | ".join(filter(None, dict.fromkeys(run.kernel_words for run in self.runs)))

    @property
    def sets(self) -> Mapping[str, CpuSet]:
        """The CPUs by the names that the plan of the runs gave them."""
        return next((run.host.sets for run in self.runs if run.host.sets), {})

    def longest(self, cpus: CpuSet) -> list[ArmGap]:
        """The longest gaps of these CPUs with known causes, the longest first, then the latest
        wake-up; none under emulation, where durations mean nothing."""
        known = [run.cpu(cpu) for run in self.runs if not run.emulated for cpu in cpus]
        gaps = [(cpu.cpu, one) for cpu in known for one in cpu.longest]
        woken = [(cpu.cpu, one) for cpu in known if cpu.wakeup for one in cpu.wakeup.longest]
        return [
            ArmGap(self.name, cpu, one.begin_s, one.length_ns, one.chain, late)
            for candidates, most, late in ((gaps, _LONGEST, False), (woken, 1, True))
            for cpu, one in nlargest(most, candidates, key=lambda gap: gap[1].length_ns)
        ]

    @property
    def starts(self) -> list[Optional[float]]:
        """The start of the first run of each boot, in seconds; None if not known. The boots of a
        declared pair have its number in place of a time."""
        times = ([_start(run) for run in boot] for boot in self.boots)
        return [min((time for time in own if time is not None), default=None) for own in times]

    def values(self, cpus: CpuSet, measures: Sequence[Measure]) -> dict[Key, tuple[float, ...]]:
        """For each figure that is tested over boots its value in every boot that has it."""
        return pooling.of_boots(self.boots, cpus, measures)

    def together(self, cpus: CpuSet, measures: Sequence[Measure]) -> Mapping[Key, float]:
        """The other figures, of all runs together."""
        wanted = [one for one in measures if one.pooling is not Pooling.BOOTS]
        return pooling.of_runs(self.runs, cpus, wanted)

    def seconds(self, cpus: Collection[int]) -> tuple[float, ...]:
        """The measured time of these CPUs in each boot."""
        return tuple(sum(run.seconds(cpus) for run in boot) for boot in self.boots)


def named(role: str, runs: tuple[Run, ...]) -> str:
    """The common part of the runs' labels, without a number at the end and, if there are several,
    without the policies; else the role."""
    found = stems(runs)
    return found[0] if len(found) == 1 and found[0] else role


def stems(runs: Iterable[Run]) -> list[str]:
    """The labels of the runs without a number at the end and, if there are several, without the
    policies; each once."""
    known = tuple(runs)
    several = len({run.policy for run in known}) > 1
    labels = [run.label.removesuffix(f"-{word(run.policy)}" if several else "") for run in known]
    return list(dict.fromkeys(_NUMBER.sub("", label) or label for label in labels))


def _start(run: Run) -> Optional[float]:
    return run.began if run.pair is None else run.pair
