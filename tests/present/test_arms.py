# SPDX-License-Identifier: GPL-2.0-or-later
"""A page with more than two arms: an overview of all arms, each of which is distinguishable."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import sample_runs
from pages import Desk

from lowlat.present.plot.axis import Log

UNIT = "ppm of the time"


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(tmp_path, capsys)


def test_several_arms_share_the_drawings(desk: Desk) -> None:
    words = sample_runs.arms(desk.folder, boots=2)
    poll = sample_runs.write(desk.folder, "poll", 2, sample_runs.TUNED[1:], first=1)
    page = desk.page(*words, "--arm", "lowlat-poll", *poll)
    header = list(page.csv("histogram-cpu2.csv")[0])
    assert header[2:] == [f"{side}, gaps an hour" for side in ("stock", "tuned", "lowlat-poll")]
    assert {row["arm"] for row in page.csv("figures.csv")} == {"tuned", "lowlat-poll"}


def test_arms_are_seen_at_a_glance_before_anything_else(desk: Desk) -> None:
    words = sample_runs.arms(desk.folder, boots=8, seconds=20.0)
    page = desk.page(*words, *sample_runs.left_out(desk.folder, 2, boots=8, seconds=20.0))
    rows = {row["arm"]: row for row in page.csv("arms.csv")}
    figures = {row["arm"]: row for row in page.csv("figures.csv") if row["primary"] == "true"}
    assert [*rows] == ["stock", *figures] == ["stock", "tuned", "without-0", "without-1"]
    first = rows.pop("stock")
    for name, row in rows.items():
        low, value, high = (float(row[key]) for key in ("95 % from", UNIT, "95 % to"))
        assert low < value < high and value == float(figures[name]["after"])
        assert low == pytest.approx(float(first[UNIT]) / float(figures[name]["ci95_high"]))
        assert len(row["boots"].split()) == 8
    drawing = next(a for a in page.all("svg") if str(a.get("aria-label")).startswith("Noise, ppm"))
    assert re.search(r"without-1 [\d.]+, \d+ times less, reduced", str(drawing["aria-label"]))
    assert page.text.index("Noise, ppm of the time") < page.text.index("before quoting this")
    assert "The p of the first figure of each arm allows for the number of arms." in page.text
    marks = [a for a in page.all("rect") if str(a.get("class")).startswith("point verdict")]
    assert len(marks) == 3


def test_zero_has_a_place_of_its_own_on_a_logarithmic_axis() -> None:
    axis = Log.around((0.0, 0.03, 800.0), 0.0, 100.0)
    assert axis.ticks() == (0.0, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
    places = [axis.at(value) for value in axis.ticks()]
    assert places == sorted(places) and places[0] == 0.0 < places[1] and places[-1] == 100.0
    assert axis.gap is not None and places[0] < axis.gap < places[1]
    assert Log.around((0.03, 800.0), 0.0, 100.0).gap is None


def test_an_arm_is_drawn_by_what_tells_it_apart(desk: Desk) -> None:
    words = sample_runs.arms(desk.folder, boots=1)
    part = sample_runs.write(desk.folder, "part", 1, sample_runs.TUNED, first=1)
    long = f"stock-without-{'x' * 39}-nohz_full"
    page = desk.page(*words, "--arm", long, *part)
    drawn = next(a for a in page.all("svg") if str(a.get("aria-label")).startswith("Noise, ppm"))
    assert long in str(drawn["aria-label"])
    assert long in {row["arm"] for row in page.csv("arms.csv")}
    assert re.search(r"…x+-nohz_full", page.text)


def test_an_arm_with_nothing_left_is_a_bound(desk: Desk) -> None:
    words = sample_runs.arms(desk.folder, boots=7, changes={"emulated": True}, seconds=20.0)
    silent = sample_runs.write(
        desk.folder, "silent", 7, [], first=1, changes={"emulated": True}, seconds=20.0
    )
    page = desk.page(*words, "--arm", "silent", *silent)
    row = next(row for row in page.csv("arms.csv") if row["arm"] == "silent")
    before = next(row for row in page.csv("arms.csv") if row["arm"] == "stock")
    assert row["a second"] == row["95 % from"] == "0.0"
    assert 0 < float(row["95 % to"]) < float(before["a second"]) / 100


def test_of_seventeen_arms_those_are_drawn_that_differ_most(desk: Desk) -> None:
    words = sample_runs.arms(desk.folder, boots=2, seconds=20.0)
    page = desk.page(*words, *sample_runs.left_out(desk.folder, 15, seconds=20.0))
    assert (desk.folder / "report.html").stat().st_size < 3 << 20
    apart = ["tuned", *(f"without-{place}" for place in range(4))]  # the quietest
    header = list(page.csv("histogram-cpu2.csv")[0])
    assert header[2:] == [f"{arm}, gaps an hour" for arm in ("stock", *apart)]
    assert {row["arm"] for row in page.csv("noise-over-time.csv")} == {"stock", *apart}
    assert len(page.csv("arms.csv")) == 17
    assert "Of 17 arms" in page.text
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))


def test_the_test_is_told_where_some_arms_were_tested_and_whose_were_not(desk: Desk) -> None:
    words = sample_runs.arms(desk.folder, boots=6, seconds=2.0)
    # The quietest arm is not tested, the first is not comparable: the steps are about the tested.
    part = sample_runs.write(desk.folder, "part", 2, sample_runs.TUNED[1:], first=1, seconds=2.0)
    other = sample_runs.write(
        desk.folder, "other", 6, sample_runs.TUNED, first=1, cpus=(1,), seconds=2.0
    )
    page = desk.page(*words, "--arm", "other", *other, "--arm", "part", *part, status=1)
    assert "the test tries all signs" in page.text
    assert (
        "No test was made of part: 6 against 2 boots; a test needs 6 pairs of boots." in page.text
    )
    assert "The p of the first figure of each arm" not in page.text  # there is one alone
    assert (
        "Too few pairs of boots to tell a change from chance: 7 allow a test of 2 arms."
        in page.text
    )
    assert "Most of the noise in tuned comes from" in page.text
    assert "No test was made of other: no CPU was measured in every run" in page.text
    bare = desk.page(*words[:2], "--against", *part, "--arm", "other", *words[-2:])
    assert "No test was made: 2 boots each; a test needs 6 pairs of boots." in bare.text
    assert "the test tries" not in bare.text


@pytest.mark.parametrize("boots", [2, 8])
def test_so_many_arms_need_more_boots(desk: Desk, boots: int) -> None:
    words = sample_runs.arms(desk.folder, boots=boots, seconds=1.0)
    more = sample_runs.left_out(desk.folder, 6, boots=boots, seconds=1.0)
    page = desk.page(*words, *more)
    assert "9 allow a test of 7 arms." in page.text
    assert re.search(r"lowlat-gen tune --boots 9\s", page.text)


def test_what_verify_found_is_told_with_its_arm(desk: Desk) -> None:
    verified = sample_runs.verified(desk.folder / "verify.json", isolcpus="effective", mce="undone")
    words = [*sample_runs.arms(desk.folder, boots=1), "--verify", verified]
    poll = sample_runs.write(desk.folder, "poll", 1, sample_runs.TUNED[1:], first=1)
    page = desk.page(*words, "--arm", "poll", *poll)
    # The page gives a next step for this arm, though another arm is the quietest.
    assert "lowlat-gen explain mce" in page.text
    assert "tuned: 1 undone, 1 effective" in page.text
    assert "Not checked in the boots of poll." in page.text


def test_what_each_arm_has_not_is_told(desk: Desk) -> None:
    lines = {"whole": "quiet nohz_full=2 rcu_nocbs=2", "part": "quiet nohz_full=2 lowlat.plan=b"}
    runs = [
        sample_runs.write(
            desk.folder, name, 1, sample_runs.TUNED, first=n, changes={"cmdline": lines[name]}
        )
        for n, name in enumerate(lines)
    ]
    more = sample_runs.write(desk.folder, "same", 1, sample_runs.TUNED, first=1)
    page = desk.page(*runs[0], "--against", *runs[1], "--arm", "same", *more)
    assert re.search(r"beside whole\s*has\s*has not\s*part\s*rcu_nocbs=2\s", page.text)


def test_an_arm_that_does_not_compare_leaves_the_others_their_figures(desk: Desk) -> None:
    words = sample_runs.arms(desk.folder, boots=1)
    other = sample_runs.write(desk.folder, "other", 1, sample_runs.TUNED, first=1, cpus=(0, 1))
    page = desk.page(*words, "--arm", "other", *other, status=1)
    assert "other refused" in page.text
    header = list(page.csv("histogram-cpu2.csv")[0])
    assert header[2:] == [f"{side}, gaps an hour" for side in ("stock", "tuned")]
    assert "Noise over the time of a run" in page.text and "Noise by cause" in page.text
