# SPDX-License-Identifier: GPL-2.0-or-later
"""What one piece of each kind of work took: its figures, as rows and in a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Callable

from lowlat.model.cpuset import CpuSet
from lowlat.model.run import Run
from lowlat.report.figures import Key, Measure

#: Figure, its title, and the field of the run that it is.
_FIGURES = (
    ("work_mean_ns", "mean", "mean_ns"),
    ("work_p50_ns", "p50", "p50_ns"),
    ("work_p99_ns", "p99", "p99_ns"),
    ("work_p99.9_ns", "p99.9", "p999_ns"),
    ("work_max_ns", "max", "max_ns"),
    ("work_variance_ns2", "variance, ns2", "variance_ns2"),
)

#: The mean of a sleep beyond what it asked for.
_LATE = "work_late_ns"

#: A system call that takes so many times as long is told.
_DEARER = 1.05

#: By the figure's name: before and after.
_Values = Mapping[str, tuple[float, float]]


def kinds(runs: Iterable[Run]) -> list[str]:
    """The kinds that were timed."""
    return list(dict.fromkeys(one.kind for run in runs for one in run.work if one.mean_ns))


def measures(runs: Iterable[Run]) -> Iterator[Measure]:
    for kind in kinds(runs):
        for name in (*(name for name, _, _ in _FIGURES), _LATE):
            unit = "ns2" if name == "work_variance_ns2" else "ns"
            yield Measure(f"{name}@{kind}", unit, lambda cpu: None)


def values(run: Run, cpus: CpuSet) -> dict[Key, float]:
    """By figure and CPU, and over all CPUs the mean; of the longest piece the longest."""
    found: dict[Key, float] = {}
    for kind in kinds([run]):
        own = {cpu: one for one in run.work for cpu in cpus if one.on(kind, cpu)}
        for name, _, field in _FIGURES:
            known = {cpu: v for cpu, one in own.items() if (v := getattr(one, field)) is not None}
            _add(found, f"{name}@{kind}", known)
        late = {cpu: (one.mean_ns or 0.0) - one.requested_ns for cpu, one in own.items()}
        if any(one.requested_ns for one in own.values()):
            _add(found, f"{_LATE}@{kind}", late)
    return found


def _add(found: dict[Key, float], name: str, known: Mapping[int, float]) -> None:
    found.update({(name, cpu): value for cpu, value in known.items()})
    if known:
        longest = name.startswith("work_max_ns")
        whole = max(known.values()) if longest else sum(known.values()) / len(known)
        found[name, "all"] = whole


def rows(names: Sequence[str], shown: Callable[[str], str]) -> Iterator[tuple[str, ...]]:
    """The header, then a row for each kind of which ``names`` has figures; ``shown`` is a figure in
    words."""
    yield ("work, ns", *(title for _, title, _ in _FIGURES))
    for kind in _kinds_of(names):
        yield (kind, *(shown(f"{name}@{kind}") for name, _, _ in _FIGURES))


def _kinds_of(names: Iterable[str]) -> list[str]:
    return [name.partition("@")[2] for name in names if name.startswith("work_mean_ns@")]


def sentences(known: _Values) -> Iterator[str]:
    """How much shorter the pieces became, or longer, and their variance with them."""
    changes = {kind: _changes(kind, known) for kind in _kinds_of(known)}
    for word, sign in (("improved", 1), ("worsened", -1)):
        own = {kind: one for kind, one in changes.items() if round(sign * one[0]) > 0}
        if own:
            means = _span([abs(mean) for mean, _ in own.values()])
            spread = [variance for _, variance in own.values()]
            alike = all(sign * one >= 0 for one in spread)
            by = f"by {_span([abs(one) for one in spread])}"
            by = by if alike else f"changed by {_span([-one for one in spread], '+')}"
            yield f"latency of work {word} by {means} ({', '.join(own)}), variance {by}"


def dearer_calls(known: _Values) -> Iterator[str]:
    """nohz_full makes entering the kernel dearer: that a system call takes longer."""
    before, after = known.get("work_p50_ns@kill", (1.0, 1.0))
    if before and after / before >= _DEARER:
        times = f"kill: {before:.0f} ns before, {after:.0f} ns after"
        yield f"a system call takes {after / before:.2f} times as long ({times})"


def _changes(kind: str, known: _Values) -> tuple[float, float]:
    """How many percent the mean and the variance fell."""
    mean = known.get(f"{_LATE}@{kind}") or known[f"work_mean_ns@{kind}"]
    variance = known.get(f"work_variance_ns2@{kind}", (0.0, 0.0))
    one, other = (
        100 * (1 - after / before) if before else 0.0 for before, after in (mean, variance)
    )
    return one, other


def _span(percents: Sequence[float], sign: str = "") -> str:
    ends = dict.fromkeys(f"{one:{sign}.0f}" for one in (min(percents), max(percents)))
    return f"{' to '.join(ends)} %"
