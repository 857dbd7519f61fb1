# SPDX-License-Identifier: GPL-2.0-or-later
"""The time of one piece of each kind of work: its figures, as rows and in a sentence."""

from collections.abc import Iterable, Iterator, Mapping

from lowlat.model.cpuset import CpuSet
from lowlat.model.run import Run
from lowlat.report.measure import Key

_MEAN = "work_mean_ns"
LONGEST = "work_max_ns"

#: Figure, its title in the table ("" if not shown), and its field in the run.
_FIGURES = (
    (_MEAN, "mean", "mean_ns"),
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

#: A system call that became slower by this factor is reported.
_DEARER = 1.05

#: Before and after.
_Values = Mapping[Key, tuple[float, float]]


def values(run: Run, cpus: CpuSet) -> dict[Key, float]:
    """By figure and CPU, each kind of work a row."""
    return {
        Key(name, one.cpu, f"{one.kind}-mixed" if one.mixed else one.kind): value
        for one in run.work
        if one.cpu is not None and one.cpu in cpus
        for name, _, field in _FIGURES
        if (value := getattr(one, field)) is not None
    }


def rows(shown: Mapping[Key, str]) -> Iterator[tuple[str, ...]]:
    """The header, then a row for each kind of work among the figures, which are given as text."""
    yield ("work, ns", *(title for _, title in _SHOWN))
    for kind in _kinds_of(shown):
        yield (kind, *(shown.get(Key(name, row=kind), "-") for name, _ in _SHOWN))


def _kinds_of(keys: Iterable[Key]) -> list[str]:
    return [key.row for key in keys if key.name == _MEAN]


def sentences(known: _Values) -> Iterator[str]:
    """The change of the mean time of work, in percent. It is not tested."""
    changes = {kind: _shorter(kind, known) for kind in _kinds_of(known)}
    for word, sign in (("shorter", 1), ("longer", -1)):
        own = {kind: abs(one) for kind, one in changes.items() if round(sign * one) > 0}
        if own:
            ends = dict.fromkeys(f"{one:.0f}" for one in (min(own.values()), max(own.values())))
            span = f"{' to '.join(ends)} %"
            yield f"latency of work was {span} {word} ({', '.join(own)}), which is not tested"


def dearer_calls(known: _Values) -> Iterator[str]:
    """A message if a system call takes longer: nohz_full makes entering the kernel slower."""
    before, after = known.get(Key("work_p50_ns", row="kill"), (1.0, 1.0))
    if before and after / before >= _DEARER:
        times = f"kill: {before:.0f} ns before, {after:.0f} ns after"
        yield f"a system call takes {after / before:.2f} times as long ({times})"


def _shorter(kind: str, known: _Values) -> float:
    """The decrease of the mean in percent; of a sleep, of its time beyond the requested one."""
    before, after = known.get(Key("work_late_ns", row=kind)) or known[Key(_MEAN, row=kind)]
    return 100 * (1 - after / before) if before else 0.0
