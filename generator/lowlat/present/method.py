# SPDX-License-Identifier: GPL-2.0-or-later
"""How the numbers were made: the instrument, the runs, and their evaluation."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from lowlat.base.terminal import plain
from lowlat.claim.comparable import tool_words
from lowlat.claim.comparison import Comparison
from lowlat.claim.verdict import TESTED
from lowlat.figures.measured_arm import Arm
from lowlat.model.run import Run
from lowlat.present import summary
from lowlat.present.plot.axis import duration
from lowlat.present.tables import Table
from lowlat.present.wording import number

#: The longest command line of a load in a table; the run has the whole line.
_LONG = 160

_FACTS: tuple[tuple[str, Callable[[Run], str]], ...] = (
    ("kernel", lambda run: run.kernel),
    ("command line", lambda run: run.cmdline),
    ("machine", lambda run: run.machine_words),
    ("measured CPUs", lambda run: str(run.measured)),
    ("tool", lambda run: tool_words((run,))),
    ("options", lambda run: _command(run)),
    ("isolated by the kernel", lambda run: "" if run.imported else str(run.isolated) or "none"),
    ("harness", lambda run: run.harness),
    ("clock", lambda run: _clock(run)),
    ("shortest gap counted", lambda run: "" if run.imported else duration(run.threshold_ns)),
    ("scheduling policy", lambda run: run.policy),
    ("duration", lambda run: f"{run.duration_s:g} s" if run.duration_s else ""),
    ("loads", lambda run: _loads(run)),
)


def facts(arms: Sequence[Arm]) -> Table:
    """The circumstances of all runs; a row for each arm if they differ."""
    return Table(("", "in the runs"), tuple(_facts(arms)))


def _facts(arms: Sequence[Arm]) -> Iterator[tuple[str, str]]:
    for name, of in _FACTS:
        values = [_listed(map(of, arm.runs)) for arm in arms]
        if len(set(values)) > 1:
            yield from (
                (f"{name}, {arm.name}", own or "not told") for arm, own in zip(arms, values)
            )
        elif values[0]:
            yield name, values[0]


def runs(arms: Sequence[Arm]) -> Table:
    """Every run with its file."""
    rows = tuple(
        (
            *(arm.name, run.started, run.boot_id[:8], run.label, run.path.name),
            *(f"{run.duration_s:g}", "; ".join(state(run))),
        )
        for arm in arms
        for run in sorted(arm.runs, key=lambda run: run.started)
    )
    return Table(("arm", "started", "boot", "label", "file", "seconds", "state"), rows)


def about(comparison: Comparison) -> dict[str, object]:
    """The number of arms tested, and the other arms with the reason."""
    untested: dict[str, list[str]] = {}
    for report in comparison.reports:
        if report.verdict not in TESTED:
            untested.setdefault(report.why, []).append(report.name)
    every = len(comparison.reports)
    return {
        "compared": bool(comparison.reports),
        "subject": summary.subject(comparison).name,
        "tool": tool_words([run for arm in comparison.arms for run in arm.runs]),
        "bets": any(report.e_value is not None for report in comparison.reports),
        "tested": every - sum(map(len, untested.values())),
        "untested": [(why, own if len(own) < every else []) for why, own in untested.items()],
    }


def _command(run: Run) -> str:
    return (run.imported.command or run.imported.options) if run.imported else ""


def _loads(run: Run) -> str:
    known = "; ".join(_clipped(load.command) for load in run.loads)
    return known or ("" if run.imported else "none")


def _clock(run: Run) -> str:
    if run.imported:
        return ""
    floor = run.clock.floor_ns
    read = f", a reading takes {number(floor)} ns" if floor is not None else ""
    return f"{run.clock.source}{read}"


def state(run: Run) -> Iterable[str]:
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
    # The clock's floor differs a little in each run: three values stand for all.
    different = list(dict.fromkeys(filter(None, values)))
    more = f" | and {len(different) - 3} more" if len(different) > 3 else ""
    return f"{' | '.join(different[:3])}{more}"
