# SPDX-License-Identifier: GPL-2.0-or-later
"""One arm by itself: the figures of its runs, without a comparison."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Optional

from lowlat.base.errors import Refused
from lowlat.claim import comparable, misuse, throughput
from lowlat.claim.pair import measures
from lowlat.claim.throughput import Rate
from lowlat.figures import cross_check, pace, pooling, sibling_load
from lowlat.figures.endpoint import INTERRUPTS, POOLED_NOISE, pooled_name
from lowlat.figures.measure import Cpu, Key, Pooling
from lowlat.figures.measured_arm import Arm, ArmGap
from lowlat.model.cpuset import CpuSet
from lowlat.model.plan import NOISE

SCHEMA = "lowlat.description/1"


@dataclass(frozen=True)
class DescribedFigure:
    """One figure of a CPU, or of "all" CPUs."""

    key: Key
    unit: str
    value: float
    pooling: Pooling = Pooling.BOOTS


@dataclass(frozen=True)
class Description:
    """The document ``lowlat.description/1``. ``tool`` is that whose files are described, with its
    version, and ``forms`` their forms, "" for lowlat's own runs. ``kernels`` is a text, with HZ;
    ``seconds`` is the time for which each CPU was measured in all runs; ``longest_gaps`` have their
    causes in order, ``throughput`` is the rate of stress-ng's matrix, ``sets`` are CPUs by the
    plan's names, ``pooled`` tells what the runs differ in, so that no figure stands for all of them
    ("" if they are alike), ``flags`` are the problems of the runs."""

    label: str
    tool: str
    forms: str
    kernel: str
    kernels: str
    runs: int
    boots: int
    seconds: float
    emulated: bool
    complete: bool
    valid: bool
    isolated: str
    figures: tuple[DescribedFigure, ...]
    longest_gaps: tuple[ArmGap, ...]
    throughput: Optional[Rate]
    sets: Mapping[str, CpuSet]
    pooled: str
    flags: tuple[str, ...]

    def get(self, name: str, cpu: Cpu = "all") -> Optional[float]:
        return self.by_key.get(Key(name, cpu))

    @cached_property
    def by_key(self) -> Mapping[Key, float]:
        return {figure.key: figure.value for figure in self.figures}

    def parts(self, name: str) -> dict[str, float]:
        """The rows of a figure over all CPUs, the largest first."""
        parts = {
            key.row: value
            for key, value in self.by_key.items()
            if key.name == name and key.row and key.cpu == "all"
        }
        return dict(sorted(parts.items(), key=lambda part: part[1], reverse=True))

    @property
    def primary(self) -> str:
        """The figure by which CPUs are drawn: durations mean nothing under emulation."""
        return pooled_name(self.judged)

    @property
    def judged(self) -> str:
        """The endpoint that figure is of; of other tools' files the longest time."""
        if self.emulated:
            return INTERRUPTS
        known = (one.name for one in cross_check.LONGEST.values() if self.get(one.name) is not None)
        return NOISE if self.get(POOLED_NOISE) is not None else next(known, NOISE)

    @property
    def cpus(self) -> CpuSet:
        return CpuSet.of(f.key.cpu for f in self.figures if isinstance(f.key.cpu, int))


def describe(arm: Arm) -> Description:
    """The figures of at least one run. Raises Refused if no CPU was measured in all of them."""
    cpus = comparable.common_cpus(arm.runs)
    if not len(cpus) and not all(run.imported and run.throughput for run in arm.runs):
        raise Refused(f"{arm.name}: no CPU was measured in every run", hint="give fewer runs")
    first = arm.runs[0]
    wanted = (*measures(arm.runs, cpus, emulated=first.emulated), *arm.asked)
    by_key = {one.key(cpu): one for one in wanted for cpu in ("all", *cpus)}
    tested = arm.values(cpus, wanted)
    known = {key: pooling.of_arm(boots, by_key[key]) for key, boots in tested.items()}
    known.update(arm.together(cpus, wanted))
    each = ((*sibling_load.busy(r), *pace.pace_sentences(r), *r.problems) for r in arm.runs)
    notes = (*left_out(arm), *(text for texts in each for text in texts))
    return Description(
        label=arm.name,
        tool=comparable.tool_words(arm.runs),
        forms=" and ".join(sorted({run.imported.form for run in arm.runs if run.imported})),
        kernel=first.kernel,
        kernels=arm.kernels,
        runs=len(arm.runs),
        boots=len(arm.boots),
        seconds=sum(arm.seconds(cpus)) / len(cpus)
        if cpus
        else sum(run.duration_s for run in arm.runs),
        emulated=first.emulated,
        complete=all(run.complete for run in arm.runs),
        valid=all(run.valid for run in arm.runs),
        isolated=str(first.isolated),
        figures=tuple(
            DescribedFigure(key, one.unit, known[key], one.pooling)
            for one in wanted
            for cpu in ("all", *cpus)
            if (key := one.key(cpu)) in known
        ),
        longest_gaps=tuple(arm.longest(cpus)),
        throughput=None if first.emulated else throughput.rate(arm),
        sets=arm.sets,
        pooled=misuse.pooled(arm) or "",
        flags=tuple(dict.fromkeys(notes)),
    )


def left_out(arm: Arm) -> Iterator[str]:
    """A message about the CPUs that some runs measured and others did not."""
    left = CpuSet.of(cpu for run in arm.runs for cpu in run.measured)
    left -= comparable.common_cpus(arm.runs)
    if left:
        yield (
            f"not every run of {arm.name} measured CPU {left}: no row is about it, but a limit "
            "counts every CPU of every run"
        )
