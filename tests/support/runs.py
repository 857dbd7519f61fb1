# SPDX-License-Identifier: GPL-2.0-or-later
"""Synthetic runs for the tests of the report, and calls of the verb in-process."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lowlat import cli
from lowlat.verbs import report

DATA = Path(__file__).parents[1] / "data/runs"
OSLAT_TEXT = (DATA / "oslat-2.4.txt").read_text().replace("Core:\t 0 1", "Core:\t 2 3")
STRESS = (DATA / "stress-ng-0.15.06.yaml").read_text()


#: Tells runs and their CPUs apart.
_MADE = itertools.count()


def cpu_run(number: int, entries: float, noise: float = 100.0, **changes: Any) -> dict[str, Any]:
    """One CPU of a run: 120 s in which most interrupts were timer interrupts. No two lost exactly
    the same time."""
    cpu = {
        "cpu": number,
        "runtime_ns": 120_000_000_000,
        "noise_ns": noise and noise * 120_000 + next(_MADE) / 1e3,
        "noise_ppm": noise,
        "dead_ns": 0,
        "events": 100,
        "lost_events": 0,
        "max_ns": 5400,
        "rates_per_s": {"100ns": entries * 2, "1us": entries, "10us": entries / 10, "100us": 0},
        "time_weighted_ns": {"p99": 0, "p99.9": 0, "p99.99": 20000, "p99.9999": 900000},
        "histogram": {"unit": "ns", "counts": [[100, 200, 5]]},
        "page_faults": 0,
        "causes": [],
        "interrupts_per_s": {"LOC": entries * 0.75, "24": entries * 0.25, "total": entries},
        "softirqs_per_s": {"TIMER": entries / 2, "RCU": 1.0},
        "switches_per_s": entries / 4,
        "pace": None,
    }
    return {**cpu, **changes}


def document(label: str, entries: float, noise: float = 100.0, **changes: Any) -> dict[str, Any]:
    """A run of CPUs 2 and 3, each with the same figures, later than the one made before."""
    began = datetime(2026, 11, 21) + next(_MADE) * timedelta(minutes=10)
    run = {
        "schema": "lowlat.run/1",
        "label": label,
        "started": f"{began:%Y-%m-%dT%H:%M:%SZ}",
        "boot_id": f"boot-{label}",
        "kernel": "6.12.9-amd64",
        "cmdline": f"quiet {label.rstrip('.0123456789')}",
        "duration_s": 120,
        "threshold_ns": 100,
        "policy": "other",
        "seed": 1,
        "emulated": False,
        "complete": True,
        "valid": True,
        "problems": [],
        "isolated": "2-3",
        "clock": {"source": "tsc", "hz": 2e9, "floor_ns": 18.4, "loop_period_ns": 18.6},
        "cpus": [cpu_run(2, entries, noise), cpu_run(3, entries, noise)],
        "loads": [
            {
                "tool": "stress-ng",
                "version": "0.15.06",
                "command": ["stress-ng", "--fault", "1", "--yaml", f"/tmp/{label}.yaml"],
                "output": STRESS,
            }
        ],
        "oslat": {"version": "2.40", "command": ["oslat"], "output": OSLAT_TEXT},
        "work": [],
        "harness": "0.1.0",
        "host": {"name": "node"},
        "added_later": {"is": "ignored"},
    }
    cpus: list[dict[str, Any]] = changes.pop("cpus", run["cpus"])
    return {**run, **changes, "cpus": [_apart(cpu) for cpu in cpus]}


def _apart(cpu: dict[str, Any]) -> dict[str, Any]:
    return {**cpu, "noise_ns": cpu["noise_ns"] and cpu["noise_ns"] + next(_MADE) / 1e3}


BEFORE = (100.0, 104.0, 97.0, 102.0, 99.0, 100.4, 101.0, 99.8)
AFTER = (50.0, 53.0, 49.0, 51.0, 52.0, 51.0, 50.0, 52.0)

#: The signs of eight pairs can be flipped in 256 ways; two of these are as extreme as the measured
#: one. No campaign drew the order, so p is 1.6 times as large.
SMALLEST = 1.6 * 2 / 256

#: In which pairs the boot of the second arm comes first.
DRAWN = (0, 1, 1, 0, 1, 0, 0, 1, 0, 1)


def arm(
    name: str, noise: Sequence[float], *, first: int = 0, step: int = 2, **changes: Any
) -> list[dict[str, Any]]:
    """A boot for each value of noise, one per hour. An arm with ``first`` 0 and one with 1 are
    pairs in the order of DRAWN; with another ``step`` the boots are so many hours apart."""
    drawn = DRAWN * len(noise) if step == 2 else (0,) * len(noise)
    return [
        document(
            f"{name}{n}",
            10 * value,
            value,
            started=f"2026-11-{21 + hour // 24}T{hour % 24:02d}:00:00Z",
            **changes,
        )
        for n, value in enumerate(noise)
        for hour in [step * n + (first ^ drawn[n])]
    ]


class ReportBench:
    """Writes runs and calls the verb on them, on a terminal of so many ``columns``: most tests read
    whole rows."""

    columns = 200

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys

    def write(self, name: str, content: object) -> str:
        path = self.folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    def runs(self, arm: str, *documents: dict[str, Any]) -> list[str]:
        """Write runs; those that name no host are of "node"."""
        named = ({**run, "host": {"name": "node", **run.get("host", {})}} for run in documents)
        return [self.write(f"{arm}{n}.json", run) for n, run in enumerate(named)]

    def call(self, *words: str) -> tuple[int, str]:
        try:
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("COLUMNS", str(self.columns))
                status = report.main(cli.arguments("report", words))
        finally:
            self.printed = self._capsys.readouterr()
        assert self.printed.err == ""
        return status, self.printed.out

    def json(
        self, before: list[dict[str, Any]], after: list[dict[str, Any]], *words: str
    ) -> dict[str, Any]:
        status, out = self.call(
            *self.runs("b", *before), "--against", *self.runs("a", *after), "--json", *words
        )
        result: dict[str, Any] = json.loads(out)
        assert status == (1 if result["verdict"] == "refused" else 0)
        return result


def endpoint(result: dict[str, Any], name: str, cpu: object = "all") -> dict[str, Any]:
    (found,) = [e for e in result["endpoints"] if e["name"] == name and e["cpu"] == cpu]
    return dict(found)
