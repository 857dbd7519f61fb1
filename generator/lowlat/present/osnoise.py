# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows like those of the kernel's osnoise tracer: for each CPU its noise, the longest gap and the
worst second, and the number and time of each class of causes; and the longest gaps, each with its
causes in order."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Optional

from lowlat.figures.endpoint import OSNOISE, WAKEUPS, pooled_name
from lowlat.figures.figures import CLASS_RATES, CLASSES, KINDS
from lowlat.figures.measure import Cpu, Endpoint, Key, size
from lowlat.figures.measured_arm import ArmGap
from lowlat.model.cpuset import CpuSet
from lowlat.present.wording import number

#: The number of a gap's causes that are listed.
_LINKS = 6

_WAKEUP_NAMES = tuple(
    [pooled_name(name.format(share)) for share in WAKEUPS]
    for name in ("wakeup_{}_ns", "wakeup_{}_skipping_ns", "cyclictest_{}_us")
)

#: The note below the rows of wake-ups.
WAKEUP_NOTE = (
    "cyclictest skips wake-ups that come due while it is delayed, and truncates to whole us; "
    "skipping: lowlat-measure with the same rule; agreement: skipping divided by cyclictest"
)


@dataclass(frozen=True)
class OsnoiseArm:
    """An arm: the time in seconds for which a CPU was measured, and its figures by name and CPU."""

    name: str
    seconds: float
    figures: Mapping[Key, float]

    def get(self, name: str, cpu: Cpu = "all", row: str = "") -> Optional[float]:
        return self.figures.get(Key(name, cpu, row))


def rows(
    arms: Sequence[OsnoiseArm], cpus: Sequence[Cpu], sets: Mapping[str, CpuSet]
) -> Iterator[tuple[str, ...]]:
    """The header, then a row for each CPU and arm, with the known columns."""

    def known(name: str, row: str = "") -> bool:
        return any(arm.get(name, cpu, row) is not None for arm in arms for cpu in cpus)

    columns = [one for one in OSNOISE if known(one.name, one.row)]
    kinds = [kind for kind in KINDS if known(CLASS_RATES, kind)]
    if not columns and not kinds:
        return
    named = ("arm",) if len(arms) > 1 else ()
    yield (
        "CPU, by class" if named else "CPU",
        *named,
        "seconds",
        *(one.osnoise for one in columns),
        *(f"{kind} (ms)" for kind in kinds),
    )
    for cpu in cpus:
        for arm in arms:
            own = (arm.name,) if named else ()
            figures = (cell(arm.get(*one.key(cpu)), _size(one)) for one in columns)
            took = (_took(arm, kind, cpu) for kind in kinds)
            yield (cpu_name(cpu, sets), *own, f"{arm.seconds:.4g}", *figures, *took)


def cpu_name(cpu: Cpu, sets: Mapping[str, CpuSet]) -> str:
    """A CPU with the name of its set, if it has one."""
    return " ".join((str(cpu), *(name for name, cpus in sets.items() if cpu in cpus)))


def _size(one: Endpoint) -> float:
    """Shares of the time are in percent."""
    return 1e4 if one.unit == "ppm" else size(one.unit)


def cell(value: Optional[float], unit: float = 1.0) -> str:
    """A figure in so many of its own units, "-" if it is unknown."""
    return number(value / unit) if value is not None and unit else "-"


def _took(arm: OsnoiseArm, kind: str, cpu: Cpu) -> str:
    """The number of a class's events, and their total time in ms."""
    rate, ppm = (arm.get(name, cpu, kind) for name in (CLASS_RATES, CLASSES))
    if rate is None or ppm is None:
        return "-"
    return f"{rate * arm.seconds:,.0f} ({number(ppm * arm.seconds / 1e3)})" if rate or ppm else "0"


def gaps(arm_gaps: Iterable[ArmGap], sets: Mapping[str, CpuSet]) -> Iterator[tuple[str, str]]:
    """The header, then a row for each gap with its length, and below it a row for each of its
    causes; only the longest causes, up to a limit."""
    yield "the longest gaps and their causes", "us"
    for one in arm_gaps:
        what = ": the latest wake-up" if one.wakeup else ""
        where = f"{one.arm}, CPU {cpu_name(one.cpu, sets)} at {one.begin_s:.3f} s{what}"
        yield where, number(one.length_ns / 1e3)
        longest = {*sorted(one.chain, key=lambda link: link.time_ns, reverse=True)[:_LINKS]}
        for link in one.chain:
            if link in longest:
                yield f"- {link.kind}: {link.cause}", number(link.time_ns / 1e3)
        if shorter := [link.time_ns for link in one.chain if link not in longest]:
            yield f"- {len(shorter)} shorter causes", number(sum(shorter) / 1e3)


def wakeup_rows(arms: Iterable[OsnoiseArm]) -> Iterator[tuple[str, ...]]:
    """The delay of a thread that wakes on a schedule, beside cyclictest in the same minute: the
    header, then rows for each arm that has them: its latency; then cyclictest's beside the same
    part of its own, with their ratio."""
    yield ("wake-up latency, us", *WAKEUPS)
    for arm in arms:
        own, skipping, theirs = ([arm.get(name) for name in names] for names in _WAKEUP_NAMES)
        if any(own):
            yield (arm.name, *(cell(value, 1e3) for value in own))
        if any(own) and any(theirs):
            yield ("- skipping", *(cell(value, 1e3) for value in skipping))
            yield ("- cyclictest", *map(cell, theirs))
            pairs = zip(skipping, theirs)
            yield ("- agreement", *(cell(one, 1e3 * (other or 0)) for one, other in pairs))
