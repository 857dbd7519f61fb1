# SPDX-License-Identifier: GPL-2.0-or-later
"""The noise over the time of a run: that it adds up, reaches as far as the runs do, and is left out
where nobody knows it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import sample_runs
from pages import Desk


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(tmp_path, capsys)


@pytest.mark.parametrize(("seconds", "stretches"), [(60.0, 60), (1.6, 2), (7200.0, 113)])
def test_noise_over_the_time_of_a_run_adds_up_to_it(
    desk: Desk, seconds: float, stretches: int
) -> None:
    words = sample_runs.arms(desk.folder, boots=1, seconds=seconds, cpu={"scale": 60 / seconds})
    page = desk.page(*words)
    for label in ("stock", "tuned"):
        document = json.loads(next(desk.folder.glob(f"{label}-*.json")).read_text())
        for name, key, unit in (
            ("noise", "noise_ns", "ppm of the time"),
            ("interrupts", "interrupts", "a second"),
        ):
            rows = [row for row in page.csv(f"{name}-over-time.csv") if row["arm"] == label]
            assert len(rows) == stretches
            drawn = sum(
                float(row[unit]) * (float(row["to, s"]) - float(row["from, s"])) for row in rows
            )
            scale = 1e-3 if name == "noise" else 1.0
            told = sum(sum(cpu["series"][key]) for cpu in document["cpus"]) / 4 * scale
            assert drawn == pytest.approx(told, rel=1e-3)


def test_every_run_has_a_line(desk: Desk) -> None:
    page = desk.page(*sample_runs.arms(desk.folder, boots=4))
    rows = page.csv("noise-over-time.csv")
    assert len({(row["arm"], row["file"]) for row in rows}) == 8
    lines = [a for a in page.all("polyline") if str(a.get("class")).startswith("run ")]
    assert len(lines) == 2 * 8  # noise and interrupts
    assert not [a for a in lines if "nan" in str(a["points"])]


def test_runs_of_differing_lengths_are_drawn_as_far_as_they_reach(desk: Desk) -> None:
    before = sample_runs.write(desk.folder, "stock", 1, sample_runs.STOCK, seconds=20.0)
    after = sample_runs.write(desk.folder, "tuned", 1, sample_runs.TUNED, first=1, seconds=10.0)
    rows = desk.page(*before, "--against", *after).csv("noise-over-time.csv")
    ends = {row["arm"]: float(row["to, s"]) for row in rows}
    assert ends == {"stock": 20.0, "tuned": 10.0}


def test_runs_without_a_series_are_drawn_as_whole_runs(desk: Desk) -> None:
    words = sample_runs.arms(desk.folder, boots=1, changes={"series": None})
    page = desk.page(*words)
    assert not [a for a in page.all("a") if "over-time" in str(a.get("download"))]


def test_interrupts_that_nobody_counted_by_steps_are_not_drawn(desk: Desk) -> None:
    words = sample_runs.arms(desk.folder, boots=1)
    for path in desk.folder.glob("tuned-*.json"):
        document = json.loads(path.read_text())
        document["cpus"][0]["series"]["interrupts"] = None
        path.write_text(json.dumps(document))
    page = desk.page(*words)
    assert {row["arm"] for row in page.csv("interrupts-over-time.csv")} == {"stock"}
    assert {row["arm"] for row in page.csv("noise-over-time.csv")} == {"stock", "tuned"}


@pytest.mark.parametrize(
    ("whole", "own"),
    [
        ({"ends_s": [1.0, 1.0]}, {}),
        ({"ends_s": [1.0, "2"]}, {}),
        ({"ends_s": 3}, {}),
        ({}, {"gaps": [1]}),
        ({}, {"noise_ns": [1, -1]}),
        ({}, {"interrupts": [1, 2, 3]}),
        ({}, {"interrupts": {}}),
    ],
)
def test_a_damaged_series_is_refused_in_one_line(
    desk: Desk, whole: dict[str, Any], own: dict[str, Any]
) -> None:
    words = sample_runs.arms(desk.folder, boots=1, seconds=2.0)
    for path in desk.folder.glob("tuned-*.json"):
        document = json.loads(path.read_text())
        document["series"].update(whole)
        document["cpus"][0]["series"].update(own)
        path.write_text(json.dumps(document))
    status, out, err = desk.call(*words)
    assert (status, out) == (2, "")
    assert len(err.splitlines()) == 1 and "measure again" in err
