# SPDX-License-Identifier: GPL-2.0-or-later
"""The gate's side of the tests: a skip fails unless it is listed, and each outcome is recorded.

A pytest plugin, and a program that reads the records:

    python tests/support/gate.py slowest|flaky|unused
"""

from __future__ import annotations

import json
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any, Optional

import pytest

TESTS = Path(__file__).resolve().parents[1]
SKIPS = TESTS / "skips.ini"
RECORDS = TESTS.parent / "build" / "gate.jsonl"

#: The name of this run of .ci/run, which sets it.
RUN = os.environ.get("LOWLAT_GATE", "")

#: The facts that excuse a skip, by the section of skips.ini.
_FACTS: dict[str, Callable[[], bool]] = {
    "always": lambda: True,
    "one-cpu": lambda: len(os.sched_getaffinity(0)) < 2,
    "not-root": lambda: os.geteuid() != 0,
    "not-debian": lambda: not Path("/etc/debian_version").exists(),
    "no-shared-machines": lambda: "LOWLAT_MACHINES" not in os.environ,
}

Allowed = list[tuple[str, str]]
Reports = Generator[None, Any, Any]


def allowed() -> Allowed:
    """The skips that this host may have: the beginning of the test's id, and of the reason."""
    skips: Allowed = []
    excused = True
    for line in filter(None, map(str.strip, SKIPS.read_text("utf-8").splitlines())):
        name, equals, reason = line.partition(" = ")
        if line.startswith("["):
            excused = _FACTS[line.strip("[]")]()
        elif excused and not line.startswith("#"):
            assert equals, f"{SKIPS}: not 'test = reason': {line}"
            skips.append((name, reason))
    return skips


def is_allowed(skips: Allowed, case: str, reason: str) -> bool:
    return any(case.startswith(name) and reason.startswith(words) for name, words in skips)


def _bare(reason: str) -> str:
    return reason.removeprefix("Skipped: ")


def _refuse(report: Any) -> None:
    """Turn a report of a skip that is not listed into one of a failure."""
    if not RUN or not report.skipped or hasattr(report, "wasxfail"):
        return
    reason = _bare(str(report.longrepr[2]))
    if not is_allowed(allowed(), report.nodeid, reason):
        report.outcome = "failed"
        report.longrepr = (
            f"skipped, which fails in the gate: {reason}\n"
            f"Provide what is missing, or list it: {SKIPS.relative_to(TESTS.parent)}"
        )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Reports:
    report = yield
    _refuse(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Reports:
    report = yield
    _refuse(report)
    return report


class OutcomeRecorder:
    """Appends a line for each case, with the load and the share of stolen CPU time since the line
    before."""

    def __init__(self) -> None:
        self._reports: dict[str, list[pytest.TestReport]] = defaultdict(list)
        self._before = _stolen()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._reports[report.nodeid].append(report)
        # A worker that died reports once, and no tear-down.
        if report.when not in ("setup", "call"):
            self._record(report.nodeid, self._reports.pop(report.nodeid))

    def _record(self, case: str, reports: list[pytest.TestReport]) -> None:
        now = _stolen()
        steal = (now[0] - self._before[0]) / max(1, now[1] - self._before[1])
        self._before = now
        outcomes = [report.outcome for report in reports]
        row: dict[str, Any] = {
            "gate": RUN,
            "case": case,
            "outcome": next((name for name in ("failed", "skipped") if name in outcomes), "passed"),
            "seconds": round(sum(report.duration for report in reports), 2),
            "load": round(os.getloadavg()[0], 2),
            "steal": round(steal, 3),
        }
        for report in reports:
            if report.skipped and isinstance(report.longrepr, tuple):
                row["reason"] = _bare(report.longrepr[2])
        RECORDS.parent.mkdir(exist_ok=True)
        with RECORDS.open("a") as file:
            file.write(json.dumps(row) + "\n")


def _stolen() -> tuple[int, int]:
    """The stolen and all CPU time so far, in clock ticks (proc_stat(5))."""
    times = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return times[7], sum(times)


def pytest_configure(config: pytest.Config) -> None:
    # With xdist, its first process hears of all outcomes.
    if RUN and not hasattr(config, "workerinput"):
        config.pluginmanager.register(OutcomeRecorder())


# ------------------------------------------------------------------ records


def _rows() -> list[dict[str, Any]]:
    if not RECORDS.exists():
        return []
    return [json.loads(line) for line in RECORDS.read_text().splitlines()]


def _slowest() -> Iterator[str]:
    seconds = defaultdict(list)
    for row in _rows():
        seconds[row["case"]].append(row["seconds"])
    means = sorted(((sum(all_) / len(all_), case) for case, all_ in seconds.items()), reverse=True)
    for mean, case in means[:30]:
        yield f"{mean:8.2f} s  {case}"


def _flaky() -> Iterator[str]:
    outcomes: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for row in _rows():
        outcomes[row["case"]][row["outcome"]] += 1
    for case, counts in outcomes.items():
        if len(counts) > 1:
            told = ", ".join(f"{outcome} {count}" for outcome, count in sorted(counts.items()))
            yield f"{case}: {told}"
    yield f"{len({row['gate'] for row in _rows()})} gates recorded"


def _unused() -> Iterator[str]:
    """The entries of skips.ini that no skip of the last run matched."""
    rows = _rows()
    last = [row for row in rows if row["gate"] == rows[-1]["gate"] and "reason" in row]
    for name, words in allowed():
        if not any(is_allowed([(name, words)], row["case"], row["reason"]) for row in last):
            yield f"tests/skips.ini: nothing was skipped by '{name} = {words}'"


def main(words: list[str]) -> int:
    lists = {"slowest": _slowest, "flaky": _flaky, "unused": _unused}
    wanted: Optional[Any] = lists.get(words[0]) if len(words) == 1 else None
    if wanted is None:
        print(f"gate: one of {', '.join(lists)} is wanted", file=sys.stderr)
        return 2
    print(*wanted(), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
