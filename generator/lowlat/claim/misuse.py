# SPDX-License-Identifier: GPL-2.0-or-later
"""What no honest comparison of lowlat's own runs can contain: runs of other hosts, boots that one
machine cannot have made, several lines in one arm, copies. And what no figure of one arm can stand
for."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Optional

from lowlat.figures.measured_arm import Arm, stems
from lowlat.model import cmdline
from lowlat.model.run import Run

#: No machine ends one boot, starts the next and measures again in less, in seconds.
_REBOOT_S = 2.0

#: Runs tell whole seconds of their start.
_SECOND_S = 1.0

#: Runs with less noise than so many of the shortest gaps may be alike by chance.
_GAPS = 100

#: So many labels, policies and hosts are named.
_TOLD = 3


def misused(before: Arm, after: Arm) -> Optional[str]:
    """The first reason, or None. Other tools' files name neither host nor boot."""
    runs = [run for run in (*before.runs, *after.runs) if not run.imported]
    found = chain(_hosts(runs), _lines((before, after)), _times(runs), _copies(runs))
    return next(found, None)


def pooled(arm: Arm) -> Optional[str]:
    """The first reason why no figure can stand for all of these runs, or None."""
    named = [run for run in arm.runs if run.host.name]
    policies = [*dict.fromkeys(run.policy for run in arm.runs)]
    found = chain(
        _several("labels", stems(arm.runs), "--against compares them"),
        _several("scheduling policies", policies, "--article has a row for each"),
        _several_hosts(named),
        _lines((arm,)),
    )
    return next(found, None)


def _several(what: str, names: Sequence[str], hint: str) -> Iterator[str]:
    if len(names) > 1:
        told = ", ".join([*names[:_TOLD], *(["…"] if names[_TOLD:] else [])])
        yield f"{len(names)} {what} are pooled ({told}): {hint}"


def _hosts(runs: Sequence[Run]) -> Iterator[str]:
    nameless = [run.path.name for run in runs if not run.host.name]
    if nameless:
        yield (
            f"{nameless[0]} does not name its host, so that the runs may be of several "
            "(measure again: lowlat-measure now writes the name)"
        )
    yield from _several_hosts(runs)


def _several_hosts(runs: Sequence[Run]) -> Iterator[str]:
    names = {run.host.name: run.path.name for run in runs}
    if len(names) > 1:
        told = " and ".join(f"{name} ({path})" for name, path in sorted(names.items())[:_TOLD])
        yield (
            f"the runs are of {len(names)} hosts, {told}; 'lowlat-gen fleet report' compares many"
        )


def _lines(arms: Sequence[Arm]) -> Iterator[str]:
    for arm in arms:
        lines = {tuple(cmdline.settings_of_line(run.cmdline)) for run in arm.runs if run.cmdline}
        if len(lines) > 1:
            one, other, *_ = sorted(lines)
            apart = " ".join(word for word in (*one, *other) if (word in one) != (word in other))
            what = f"'{apart[:80]}' differs" if apart else "their words come in another order"
            yield f"the boots of {arm.name} have {len(lines)} command lines: {what}"


def _times(runs: Sequence[Run]) -> Iterator[str]:
    """Guests are emulated side by side, under one name."""
    timed = sorted(
        ((run.began, run) for run in runs if run.began is not None and not run.side_by_side),
        key=lambda each: each[0],
    )
    for (began, one), (later, other) in zip(timed, timed[1:]):
        left = later - began - _lasted(one)
        if one.boot_id != other.boot_id and left < _REBOOT_S:
            names = f"{one.path.name} and {other.path.name}"
            how = "overlap in time" if left < 0 else f"are {left:.1f} s apart"
            yield f"{names} {how}, and are of two boots: one machine cannot do that"
        elif one.unit != other.unit and left < -_SECOND_S:
            names = f"{one.path.name} and {other.path.name}"
            yield f"{names} overlap in time: each disturbs the other"


def _lasted(run: Run) -> float:
    """The time that was measured, in seconds: less than was asked for if the run was stopped."""
    return min(run.duration_s, max((cpu.runtime_ns for cpu in run.cpus), default=0.0) / 1e9)


def _copies(runs: Sequence[Run]) -> Iterator[str]:
    seen: dict[object, Run] = {}
    for run in runs:
        if sum(cpu.noise_ns or 0.0 for cpu in run.cpus) < _GAPS * run.threshold_ns:
            continue
        first = seen.setdefault(_events(run), run)
        if first.unit != run.unit:
            names = f"{first.path.name} and {run.path.name}"
            where = " in two boots" if first.boot_id != run.boot_id else ""
            yield f"{names} have the same events{where}: one is a copy"


def _events(run: Run) -> object:
    """All that was seen of single gaps."""
    return tuple(
        (cpu.cpu, cpu.noise_ns, cpu.max_ns, cpu.events, cpu.histogram.rows) for cpu in run.cpus
    )
