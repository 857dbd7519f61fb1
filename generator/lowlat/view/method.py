# SPDX-License-Identifier: GPL-2.0-or-later
"""How the numbers were made: the instrument, the runs, and what was done with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from lowlat.base.terminal import plain
from lowlat.model.run import Run
from lowlat.report import summary
from lowlat.report.comparison import ArmReport, Comparison
from lowlat.report.tables import Table
from lowlat.report.verdict import TESTED
from lowlat.report.wording import number
from lowlat.view.arm import ViewArm, many
from lowlat.view.plot.axis import duration

#: A command line of a load in a table; the run has it in full.
_LONG = 160

_FACTS: tuple[tuple[str, Callable[[Run], str]], ...] = (
    ("kernel", lambda run: run.kernel),
    ("command line", lambda run: run.cmdline),
    ("machine", lambda run: run.machine),
    ("measured CPUs", lambda run: str(run.measured)),
    ("isolated by the kernel", lambda run: str(run.isolated) or "none"),
    ("harness", lambda run: run.harness),
    ("clock", lambda run: _clock(run)),
    ("shortest gap counted", lambda run: duration(run.threshold_ns)),
    ("scheduling policy", lambda run: run.policy),
    ("duration", lambda run: f"{run.duration_s:g} s"),
    ("loads", lambda run: "; ".join(_clipped(load.command) for load in run.loads) or "none"),
)


def facts(sides: Sequence[ViewArm]) -> Table:
    """What was the same in all runs of a side, and what was not."""
    rows = [(name, *(_listed(map(of, side.runs)) for side in sides)) for name, of in _FACTS]
    known = tuple(row for row in rows if any(row[1:]))
    if many(sides):
        return Table(("", "in the runs"), tuple(_upright(known, [side.name for side in sides])))
    return Table(("", *(side.name for side in sides)), known)


def _upright(rows: Iterable[Sequence[str]], names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Once what is the same everywhere, else a row for each side."""
    for name, *values in rows:
        if len(set(values)) == 1:
            yield name, values[0]
        else:
            yield from ((f"{name}, {side}", value) for side, value in zip(names, values))


def runs(sides: Sequence[ViewArm]) -> Table:
    """Every run, with its file."""
    rows = tuple(
        (
            *(side.name, run.started, run.boot_id[:8], run.label, run.path.name),
            *(f"{run.duration_s:g}", "; ".join(_state(run))),
        )
        for side in sides
        for run in side.runs
    )
    return Table(("side", "started", "boot", "label", "file", "seconds", "state"), rows)


def sentences(found: Comparison) -> Iterator[str]:
    """The method in words."""
    yield (
        "On each measured CPU a pinned thread reads the clock without pause. Every step of the "
        "clock longer than the shortest gap counted is noise: for that time something else ran."
    )
    if summary.of_interrupts(found):
        yield (
            "The figure the verdict is about is the growth of all rows of /proc/interrupts on "
            "these CPUs; a TLB shootdown on x86 is in two of them, TLB and CAL. Under emulation it "
            "is what keeps its meaning: time there is the host's, so no duration is told."
        )
    else:
        yield "The figure the verdict is about is the share of the time that was lost, in ppm."
    yield (
        "A boot is one observation: its runs are taken together by their median, and boots by "
        "their geometric mean, the plain one where only some of them counted nothing. Runs of one "
        "boot are too much alike to count on their own."
    )
    tested = sum(map(_tested, found.arms))
    if tested:
        yield (
            "The test tries every way to deal the boots to the two sides (an exact permutation "
            "test; of more than 20,000 ways 9,999 drawn at random). The interval is the same test "
            "turned around, and never narrower than Welch's, which allows for boots of one side "
            "that spread more. The p of all figures but the first allows for their number."
        )
    if tested > 1:
        yield "The p of the first figure of each arm allows for the number of arms."
    yield from _untested(found)


def _tested(arm: ArmReport) -> bool:
    return arm.report.verdict in TESTED


def _untested(found: Comparison) -> Iterator[str]:
    """Of which arms no test was made, and why."""
    reasons: dict[str, list[str]] = {}
    for arm in found.arms:
        if not _tested(arm):
            reasons.setdefault(arm.report.why, []).append(arm.name)
    for why, names in reasons.items():
        which = f" of {', '.join(names)}" if len(names) < len(found.arms) else ""
        yield f"No test was made{which}: {why}."


def _clock(run: Run) -> str:
    floor = run.clock.floor_ns
    read = f", a reading takes {number(floor)} ns" if floor is not None else ""
    return f"{run.clock.source}{read}"


def _state(run: Run) -> Iterable[str]:
    if run.complete and run.valid and not run.problems:
        yield "complete, valid"
    if not run.complete:
        yield "not complete"
    if not run.valid:
        yield "not valid"
    yield from run.problems


def _clipped(text: str) -> str:
    shown = plain(text)
    return shown if len(shown) <= _LONG else f"{shown[:_LONG]} …"


def _listed(values: Iterable[str]) -> str:
    # The clock's floor differs a little in each run: three stand for all.
    different = list(dict.fromkeys(filter(None, values)))
    more = f" | and {len(different) - 3} more" if len(different) > 3 else ""
    return f"{' | '.join(different[:3])}{more}"
