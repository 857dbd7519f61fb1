# SPDX-License-Identifier: GPL-2.0-or-later
"""Noise and pace over the time of a run: the parts add up, cover the whole runs, and are left out
if unknown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Optional

import pytest
import sample_runs
from pages import Desk, Page


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
    assert len(lines) == 6 * 8  # noise, interrupts, and the pace of each CPU
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


def paced(desk: Desk, paces: list[float]) -> Page:
    """The page of a stock run with a constant pace, and of a tuned run in which CPU 3 has these
    paces, one for each second."""
    words = sample_runs.arms(desk.folder, boots=1, seconds=float(len(paces)))
    for path in desk.folder.glob("*.json"):
        document = json.loads(path.read_text())
        for cpu in document["cpus"]:
            own = path.stem == "tuned-00" and cpu["cpu"] == 3
            cpu["series"]["readings_per_ms"] = paces if own else [100.0] * len(paces)
            cpu["series"]["khz"] = [pace * 3e4 for pace in cpu["series"]["readings_per_ms"]]
        path.write_text(json.dumps(document))
    return desk.page(*words)


def test_the_pace_of_a_cpu_has_its_steps_marked(desk: Desk) -> None:
    page = paced(desk, [100.0] * 12 + [50.0] * 8)
    (drawn,) = (a for a in page.all("svg") if "Pace" in str(a.get("aria-label")))
    assert drawn["aria-label"] == (
        "Pace of CPU 3 over the time of a run: stock 100 to 100 readings a ms; "
        "tuned 50 to 100 readings a ms."
    )
    assert "tuned tuned-00.json: fell 2.0 times at 12 s" in page.text
    # 12 of 20 seconds, 50 of 108 readings: between the axes.
    middles = [(float(str(a["x"])) + 3.5, float(str(a["y"])) + 3.5) for a in _marks(page)][:1]
    assert middles == [pytest.approx((46 + 302 * 12 / 20, 200 - 170 * 50 / 108), abs=0.06)]
    rows = [row for row in page.csv("pace-cpu3-over-time.csv") if row["arm"] == "tuned"]
    assert [float(row["readings a ms"]) for row in rows] == [100.0] * 12 + [50.0] * 8
    assert page.text.index("Pace of CPU 3 over") < page.text.index("Frequency of CPU 3 over")
    rows = [row for row in page.csv("frequency-cpu3-over-time.csv") if row["arm"] == "tuned"]
    assert [float(row["MHz"]) for row in rows] == [3000.0] * 12 + [1500.0] * 8


def _marks(page: Page) -> list[dict[str, Optional[str]]]:
    """The marks of the tuned arm, without the legend's."""
    return [a for a in page.all("rect") if a["class"] == "mark after" and a["width"] != "10"]


def test_steps_without_a_pace_are_left_out_and_many_are_averaged(desk: Desk) -> None:
    page = paced(desk, [100.0, 80.0] * 100 + [0.0] * 4 + [60.0, 0.0] * 18)
    rows = [row for row in page.csv("pace-cpu3-over-time.csv") if row["arm"] == "tuned"]
    figures = [float(row["readings a ms"]) for row in rows]
    assert figures == [90.0] * 100 + [60.0] * 18
    assert (rows[100]["from, s"], rows[100]["to, s"]) == ("204.0", "206.0")


def test_a_pace_that_always_changes_is_marked_at_the_first_changes(desk: Desk) -> None:
    page = paced(desk, ([100.0] * 3 + [50.0] * 3) * 20)
    assert len(_marks(page)) == 20  # of the pace, and of the frequency
    assert "the first 10 of a run" in page.text


@pytest.mark.parametrize("paces", [[100.0] * 20, [0.0] * 20, [50.0], [0.0] * 19 + [50.0]])
def test_a_pace_of_one_value_is_not_drawn(desk: Desk, paces: list[float]) -> None:
    page = paced(desk, paces)
    assert "Pace of CPU" not in page.text


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
        ({}, {"readings_per_ms": [1, 2, 3]}),
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
