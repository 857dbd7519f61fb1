# SPDX-License-Identifier: GPL-2.0-or-later
"""The time of one piece of each kind of work: its figures, as rows."""

from collections.abc import Iterable, Iterator, Mapping

from lowlat.figures.measure import Key
from lowlat.model.cpuset import CpuSet
from lowlat.model.run import Run

MEAN = "work_mean_ns"
LONGEST = "work_max_ns"

#: Figure, its title in the table ("" if not shown), and its field in the run.
_FIGURES = (
    (MEAN, "mean", "mean_ns"),
    ("work_p50_ns", "p50", "p50_ns"),
    ("work_p99_ns", "p99", "p99_ns"),
    ("work_p99.9_ns", "p99.9", "p999_ns"),
    (LONGEST, "max", "max_ns"),
    ("work_varies_percent", "varies, %", "varies_percent"),
    ("work_variance_ns2", "", "variance_ns2"),
    ("work_late_ns", "", "late_ns"),
)
_SHOWN = [(name, title) for name, title, _ in _FIGURES if title]

#: The note below the rows.
NOTE = (
    "per piece of work; varies: standard deviation / mean; usleep and clock_nanosleep request a "
    "sleep of 100,000 ns"
)


def values(run: Run, cpus: CpuSet) -> dict[Key, float]:
    """By figure and CPU, each kind of work a row."""
    return {
        Key(name, one.cpu, f"{one.kind}-mixed" if one.mixed else one.kind): value
        for one in run.work
        if one.cpu is not None and one.cpu in cpus
        for name, _, field in _FIGURES
        if (value := getattr(one, field)) is not None
    }


def rows(
    shown: Mapping[Key, str], tested: Mapping[str, tuple[str, str]]
) -> Iterator[tuple[str, ...]]:
    """The header, then a row for each kind of work among the figures, which are given as text. Of
    the kinds that were ``tested`` also the interval of the mean's change and its p."""
    header = ("mean, 95 %", "p") if tested else ()
    yield ("work, ns", *(title for _, title in _SHOWN), *header)
    for kind in kinds(shown):
        figures = (shown.get(Key(name, row=kind), "-") for name, _ in _SHOWN)
        yield (kind, *figures, *(tested.get(kind, ("", "")) if tested else ()))


def kinds(keys: Iterable[Key]) -> list[str]:
    """The kinds of work whose mean time is among the figures."""
    return [key.row for key in keys if key.name == MEAN]
