# SPDX-License-Identifier: GPL-2.0-or-later
"""All gaps of the arms: of the histograms, or of the event logs beside the runs, which also have
the gaps' times, so that a burst counts as the one longest gap in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Optional

from lowlat.base.errors import Refused
from lowlat.model.cpuset import CpuSet
from lowlat.model.run import Run
from lowlat.report.arm import Arm

if TYPE_CHECKING:
    from lowlat.report.stats.permutation import Array

#: RUN.events is the log that ``lowlat-measure --events`` wrote of RUN.json.
EVENTS = ".events"

#: Larger logs of an arm take longer to read than a report may take; about a million gaps.
_LARGEST = 32 << 20

#: A burst lasts until this much quiet. It is looked for among so many of an arm's longest gaps,
#: more of them until there are enough.
_QUIET_S = 1e-3
_LONGEST = (8_000, 32_000, 128_000)
_ENOUGH = 4_000


@dataclass(frozen=True)
class Gaps:
    """All gaps of an arm by size in ns, the largest first, and the CPU time they were seen in.

    ``units`` has the seconds of each run and CPU, ``of`` the unit of each size.
    """

    sizes: Array
    counts: Array
    of: Array
    units: Array
    cpus: int

    @property
    def seconds(self) -> float:
        """The time measured, on one CPU."""
        return float(self.units.sum()) / self.cpus


def gaps_of(arms: Sequence[Arm], cpus: CpuSet) -> tuple[list[Gaps], Optional[str]]:
    """The gaps of each arm, and why they are not those of the event logs, None where they are: of
    all arms or of none, for a burst's longest gap does not compare with gaps as they come.

    Raises Refused where a file lies beside a run as its event log and is none.
    """
    unused = next(filter(None, (_unused(arm.runs, cpus) for arm in arms)), None)
    tables = _counted if unused else _peaks
    return [_gaps(arm, cpus, tables(arm, cpus)) for arm in arms], unused


def _gaps(arm: Arm, cpus: CpuSet, tables: list[Array]) -> Gaps:
    import numpy as np

    measured = [run.cpu(number) for run in arm.runs for number in cpus]
    rows = np.concatenate(tables)
    units = np.repeat(np.arange(len(tables), dtype=float), [len(table) for table in tables])
    order = np.argsort(-rows[:, 1], kind="stable")
    return Gaps(
        sizes=(rows[order, 0] + rows[order, 1]) / 2,
        counts=rows[order, 2],
        of=units[order],
        units=np.array([cpu.runtime_ns / 1e9 for cpu in measured]),
        cpus=len(cpus),
    )


def _unused(runs: tuple[Run, ...], cpus: CpuSet) -> Optional[str]:
    """Why the logs of these runs are not read, None where they are."""
    logs = [run.path.with_suffix(EVENTS) for run in runs]
    if not all(map(Path.is_file, logs)):
        return f"bursts are told apart by event logs, RUN{EVENTS} beside RUN.json, of every run"
    if any(run.cpu(number).lost_events for run in runs for number in cpus):
        return "bursts cannot be told apart, some events are not in the logs"
    size = sum(log.stat().st_size for log in logs)
    if size >= _LARGEST:
        return (
            "bursts are not told apart, the event logs of a side are too large to be read in time "
            f"({size >> 20} MiB, {_LARGEST >> 20} at the most)"
        )
    return None


def _counted(arm: Arm, cpus: CpuSet) -> list[Array]:
    """The histogram of each run and CPU."""
    import numpy as np

    measured = (run.cpu(number) for run in arm.runs for number in cpus)
    return [np.array(cpu.histogram, dtype=float).reshape(-1, 3) for cpu in measured]


def _peaks(arm: Arm, cpus: CpuSet) -> list[Array]:
    """For each run and CPU the longest gap of each burst, in the form of a histogram: of as many of
    the arm's longest gaps as it takes to have enough bursts."""
    import numpy as np

    logs = [(run, _read(run)) for run in arm.runs]
    sizes = np.sort(np.concatenate([_size_of(log) for _, log in logs]))
    found: list[Array] = []
    for longest in _LONGEST:
        least = sizes[-longest] if len(sizes) > longest else 0.0
        tables = [_bursts(run, log, cpu, least) for run, log in logs for cpu in cpus]
        # Among all gaps of a busy machine it is never quiet: their bursts are few again.
        found = max(tables, found, key=_rows)
        if _rows(found) >= _ENOUGH:
            break
    return found


def _rows(tables: list[Array]) -> int:
    return sum(map(len, tables))


def _size_of(gaps: Array) -> Array:
    return gaps[:, 2] - gaps[:, 1]


def _bursts(run: Run, log: Array, cpu: int, least: float) -> Array:
    import numpy as np

    long = log[(log[:, 0] == cpu) & (_size_of(log) >= least)]
    size = _longest(long, _QUIET_S * run.clock.hz) * (1e9 / run.clock.hz)
    return np.stack([size, size, np.ones_like(size)], axis=1)


def _longest(gaps: Array, quiet: float) -> Array:
    """The longest of each burst, which ends when it was quiet for so long."""
    import numpy as np

    if not len(gaps):
        return np.empty(0)
    starts = np.flatnonzero(gaps[1:, 1] - gaps[:-1, 2] >= quiet) + 1
    longest: Array = np.maximum.reduceat(_size_of(gaps), np.concatenate([[0], starts]))
    return longest


def _read(run: Run) -> Array:
    """The log of a run: CPU, begin and end in ticks of its clock, a row each."""
    import numpy as np

    path = run.path.with_suffix(EVENTS)
    try:
        text = path.read_text()
        header, _, rows = text.partition("\n")
        if header != "cpu,begin,end" or not text.endswith("\n"):
            raise ValueError("of another kind, or cut short")
        words = rows.replace("\n", ",").split(",")[:-1]
        table = np.array(words, dtype=np.int64).reshape(-1, 3)
    except (OSError, ValueError, OverflowError) as error:
        why = getattr(error, "strerror", None) or "not an event log"
        raise Refused(f"{path}: {why}", hint="move it away, or measure again") from error
    # Ticks since the first, which a double holds exactly.
    table[:, 1:] -= table[:1, 1:2]
    return table.astype(float)
