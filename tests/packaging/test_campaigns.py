# SPDX-License-Identifier: GPL-2.0-or-later
"""Each campaign that is kept in the sources is read by ``report``, and has no names in it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lowlat.figures.endpoint import LEVELS
from lowlat.host.redact_runs import without_names
from support.cli import lowlat
from support.waits import GUARD_S

PACKAGING = Path(__file__).parents[2] / "packaging"
CAMPAIGNS = PACKAGING / "doc/campaigns"
FOLDERS = sorted(path for path in CAMPAIGNS.iterdir() if path.is_dir())
MADE_UP = CAMPAIGNS / "made-up"


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_campaign_is_read_and_names_nobody(folder: Path) -> None:
    stock, tuned = (sorted(folder.glob(f"*-{arm}-*.json")) for arm in ("stock", "tuned"))
    every = {path.name: json.loads(path.read_text()) for path in (*stock, *tuned)}
    assert without_names(every) == every
    table = lowlat("report", *stock, "--against", *tuned, "--article")
    assert table.status == 0 and "stock-other" in table.out and "tuned-other" in table.out
    first = [[path for path in arm if "-other" in path.name] for arm in (stock, tuned)]
    report = lowlat("report", *first[0], "--against", *first[1], "--json").json()
    assert report["verdict"] in ("reduced", "increased", "no-measurable-change", "descriptive-only")
    made_up = any("made up" in flag for flag in report["flags"])
    told = lowlat("report", *first[0], "--against", *first[1]).out.split("Next:")[0]
    for said in (made_up, "made-up-" in told, "made-up-" in table.out):
        assert said == (folder == MADE_UP), "what is made up says so, what was measured does not"
    for run in every.values():
        for cpu in run["cpus"]:
            _agrees(cpu)


def _agrees(cpu: dict[str, Any]) -> None:
    """The figures of a CPU are those of its gaps."""
    rows, seconds = cpu["histogram"]["counts"], cpu["runtime_ns"] / 1e9
    middle = sum((lower + upper - 1) / 2 * count for lower, upper, count in rows)
    assert middle == pytest.approx(cpu["noise_ns"], rel=0.005)
    assert cpu["noise_ppm"] == pytest.approx(cpu["noise_ns"] / seconds / 1000, rel=1e-3)
    assert rows[-1][0] <= cpu["max_ns"] <= rows[-1][1]
    for level, rate in cpu["rates_per_s"].items():
        longer = sum(count for lower, _, count in rows if lower >= LEVELS[level])
        assert rate == pytest.approx(longer / seconds, rel=0.02, abs=1e-3)
    delays = [*cpu["time_weighted_ns"].values()]
    assert delays == sorted(delays) and delays[-1] <= cpu["max_ns"]
    assert sum(cause["events"] for cause in cpu["causes"]) == cpu["events"]


def test_the_made_up_one_is_as_it_is_produced(tmp_path: Path) -> None:
    program = PACKAGING / "produce-campaign"
    subprocess.run([sys.executable, program, tmp_path], check=True, timeout=GUARD_S)
    made, kept = ({p.name: p.read_text() for p in f.iterdir()} for f in (tmp_path, MADE_UP))
    assert made == kept
