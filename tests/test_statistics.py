# SPDX-License-Identifier: GPL-2.0-or-later
"""What the report claims: its verdicts, what forbids one, several arms, and the longest gaps."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lowlat.errors import Refused, Unmet
from lowlat.report import load
from report_runs import AFTER, BEFORE, Bench, arm, cpu_run, document, endpoint

np = pytest.importorskip("numpy", reason="the extra `report` is not installed")
pytest.importorskip("scipy", reason="the extra `report` is not installed")

#: Five boots against five have 252 relabellings, the measured one and its mirror among them.
SMALLEST = 2 / 252


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Bench:
    return Bench(tmp_path, capsys)


def compared(bench: Bench, after: Sequence[float], *words: str) -> dict[str, Any]:
    return bench.json(arm("s", BEFORE), arm("t", after, first=1), *words)


# Verdicts


def test_reduced(bench: Bench) -> None:
    result = compared(bench, AFTER)
    found = endpoint(result, "noise_ppm")
    assert result["verdict"] == "reduced"
    assert result["why"] == "p = 0.0079, 5 boots each"
    assert found["p"] == pytest.approx(SMALLEST)
    assert found["ci95"][0] < found["ratio"] < found["ci95"][1]
    assert found["ratio"] == pytest.approx(found["before"] / found["after"])


def test_increased(bench: Bench) -> None:
    result = bench.json(arm("s", AFTER), arm("t", BEFORE, first=1))
    assert result["verdict"] == "increased"
    assert endpoint(result, "noise_ppm")["ci95"][1] < 1


def test_no_measurable_change_says_what_is_excluded(bench: Bench) -> None:
    result = compared(bench, (101.0, 98.0, 103.0, 99.5, 100.5))
    low, high = endpoint(result, "noise_ppm")["ci95"]
    assert result["verdict"] == "no-measurable-change"
    assert f"ratios below {low:.3g} and above {high:.3g} are excluded (95 %)" in result["why"]
    assert low < 1 < high
    _, out = bench.call(
        *bench.runs("b", *arm("s", BEFORE)),
        "--against",
        *bench.runs("a", *arm("t", BEFORE, first=1)),
    )
    assert out.startswith("Noise on the isolated CPUs did not measurably change: 100.4 ppm before")


def test_the_text_has_interval_and_p(bench: Bench) -> None:
    files = [
        *bench.runs("b", *arm("s", BEFORE)),
        "--against",
        *bench.runs("a", *arm("t", AFTER, first=1)),
    ]
    _, out = bench.call(*files)
    assert (
        "2.0 times less (ratio 1.88 to 2.06 (95 %), p = 0.0079, 5 boots each)."
        in out.splitlines()[0]
    )
    (row,) = [line for line in out.splitlines() if line.startswith("kernel entries, /s")]
    assert row.split()[-4:] == ["1.88", "to", "2.06", "0.0079"]
    assert max(map(len, out.splitlines()[1:-4])) <= 110
    _, marked = bench.call(*files, "--markdown")
    assert "| change | ratio, 95 % | p |" in marked


def test_a_small_change_that_is_found_is_never_called_the_same(bench: Bench) -> None:
    before = bench.runs("b", *arm("s", [100.0, 100.01, 99.99, 100.02, 99.98]))
    less = bench.runs("a", *arm("t", [99.5, 99.51, 99.49, 99.52, 99.48], first=1))
    more = bench.runs("u", *arm("u", [100.5, 100.51, 100.49, 100.52, 100.48], first=1))
    _, out = bench.call(*before, "--against", *less)
    assert out.startswith(
        "Noise on the isolated CPUs fell from 100.0 ppm to 99.5 ppm: 0.5 % less "
        "(ratio 1.005 to 1.005 (95 %), p = 0.0079, 5 boots each)."
    )
    assert not [line for line in out.splitlines() if "same" in line and "0.0079" in line]
    _, out = bench.call(*before, "--against", *less, "--arm", "more", *more)
    assert out.startswith("Noise against before: after reduced (-0.5 %), more increased (+0.5 %).")


@pytest.mark.parametrize("boots", [(4, 5), (5, 4), (1, 1), (2, 9)])
def test_below_five_boots_an_arm_there_is_no_p(bench: Bench, boots: tuple[int, int]) -> None:
    before = arm("s", (BEFORE * 2)[: boots[0]], step=1)
    after = arm("t", (AFTER * 2)[: boots[1]], step=1, first=10)
    result = bench.json(before, after)
    assert result["verdict"] == "descriptive-only"
    assert {(e["ci95"], e["p"]) for e in result["endpoints"]} == {(None, None)}


@pytest.mark.parametrize("unknown", [True, False])
def test_no_softirq_at_all_is_none_and_not_an_unknown_number(bench: Bench, unknown: bool) -> None:
    before, after = arm("s", BEFORE), arm("t", AFTER, first=1)
    for run in (*before, *after):
        for cpu in run["cpus"]:
            cpu["softirqs_per_s"] = {"RCU": 2.0} if run in before else {}
    for cpu in before[0]["cpus"]:
        cpu["softirqs_per_s"] = None if unknown else {}
    result = bench.json(before, after)
    assert result["verdict"] == "reduced"
    found = endpoint(result, "softirqs_per_s")
    if unknown:
        # The rule of three, over five runs of two CPUs and 120 s.
        assert (found["before"], found["ratio_at_least"]) == (2.0, pytest.approx(2.0 * 1200 / 3))
    else:
        assert found["before"] == 1.6 and found["after"] == 0.0


def test_runs_of_a_boot_are_no_boots(bench: Bench) -> None:
    """Twenty runs in two boots an arm prove nothing; with five boots only the boots count."""
    crowd = [
        {**run, "boot_id": f"{run['label'][0]}{n % 2}"}
        for values, name in ((BEFORE * 2, "s"), (AFTER * 2, "t"))
        for n, run in enumerate(arm(name, values, step=1))
    ]
    result = bench.json(crowd[:10], crowd[10:])
    assert (result["verdict"], result["boots"]) == ("descriptive-only", {"before": 2, "after": 2})
    assert any(
        "the runs of a boot leave its noise_ppm open by a factor" in f for f in result["flags"]
    )
    again = [{**run, "label": "again"} for run in arm("t", AFTER, first=1)]
    doubled = bench.json(arm("s", BEFORE), [*arm("t", AFTER, first=1), *again])
    assert endpoint(doubled, "noise_ppm")["p"] == pytest.approx(SMALLEST)
    assert doubled["boots"] == {"before": 5, "after": 5}


def test_the_primary_stands_alone_and_the_rest_is_adjusted(bench: Bench) -> None:
    result = compared(bench, AFTER)
    claimed = [e for e in result["endpoints"] if e["p"] is not None]
    names = {e["name"] for e in claimed}
    assert names == {
        *("noise_ppm", "tw_p99.99_ns", "tw_p99.9999_ns", "kernel_entries_per_s"),
        *(f"events_per_s@{level}" for level in ("100ns", "1us", "10us", "100us")),
    }
    assert {e["cpu"] for e in claimed} == {"all", 2, 3}
    # Nothing changed in these, so nothing is found in them.
    assert endpoint(result, "tw_p99.99_ns")["p"] == 1.0
    assert endpoint(result, "softirqs_per_s@TIMER")["p"] is None


def test_under_emulation_the_primary_is_kernel_entries(bench: Bench) -> None:
    before, after = arm("s", BEFORE, emulated=True), arm("t", AFTER, first=1, emulated=True)
    result = bench.json(before, after)
    assert result["verdict"] == "reduced"
    assert endpoint(result, "kernel_entries_per_s")["primary"] is True
    assert {e["name"] for e in result["endpoints"] if e["p"] is not None} == {
        "kernel_entries_per_s"
    }


# Zero


def test_nothing_left_is_told_by_rank_and_bounded(bench: Bench) -> None:
    runs = [
        [
            {**run, "emulated": True, "cpus": [cpu_run(2, rate)]}
            for run, rate in zip(arm(*given), rates)
        ]
        for given, rates in (
            (("s", BEFORE), (250.0, 240.0, 260.0, 255.0, 245.0)),
            (("t", AFTER), [0.0] * 5),
        )
    ]
    result = bench.json(runs[0], runs[1])
    found = endpoint(result, "kernel_entries_per_s")
    assert result["verdict"] == "reduced"
    assert (found["ratio"], found["ci95"]) == (None, None)
    assert found["p"] == pytest.approx(SMALLEST)
    # None in 600 s; the least of 5 boots before takes 1/32 of the 5 %.
    assert found["ratio_at_least"] == pytest.approx(240 * 600 / -math.log(0.05 - 1 / 32))
    # Boots without a single event cannot tell how boots differ.
    assert any("holds if boots do not differ in it" in flag for flag in result["flags"])


def test_a_gate_on_a_bound_names_its_condition(bench: Bench) -> None:
    sides = [
        [
            {**run, "emulated": True, "cpus": [cpu_run(2, rate)]}
            for run in arm(name, BEFORE, first=n)
        ]
        for n, (name, rate) in enumerate((("s", 250.0), ("t", 0.0)))
    ]
    files = [*bench.runs("b", *sides[0]), "--against", *bench.runs("a", *sides[1])]
    status, out = bench.call(*files, "--require", "kernel_entries_per_s>=1000")
    assert status == 0
    assert "37,721 times fewer if boots do not differ in it (" in out.splitlines()[0]
    assert "--require takes the bound of kernel_entries_per_s, of which nothing" in out


def test_zero_in_some_boots_is_ranked(bench: Bench) -> None:
    after = (0.0, 0.0, 1.0, 0.0, 2.0)
    found = endpoint(compared(bench, after), "noise_ppm")
    assert (found["after"], found["ci95"]) == (pytest.approx(0.6), None)
    assert found["p"] == pytest.approx(SMALLEST)
    both = bench.json(arm("s", [0.0] * 5), arm("t", [0.0] * 5, first=1))
    assert both["verdict"] == "no-measurable-change"


def test_a_run_that_counted_something_is_not_nothing(bench: Bench) -> None:
    """Three runs a boot, whose median is zero in every boot: there is no bound for zero events."""
    before = [{**run, "cpus": [cpu_run(2, 250.0)]} for run in arm("s", BEFORE, emulated=True)]
    after = [
        {**run, "label": f"{n}", "cpus": [cpu_run(2, rate)]}
        for run in arm("t", AFTER, first=1, emulated=True)
        for n, rate in enumerate((0.0, 0.0, 50.0))
    ]
    found = endpoint(bench.json(before, after), "kernel_entries_per_s")
    assert (found["after"], found["ratio"], found["ratio_at_least"]) == (0.0, None, None)
    calm = [run for run in after if run["label"] != "2"]
    bound = endpoint(bench.json(before, calm), "kernel_entries_per_s")["ratio_at_least"]
    assert bound == pytest.approx(250 * 1200 / -math.log(0.05 - 1 / 32))


def test_only_time_in_which_it_was_counted_bounds_a_zero(bench: Bench) -> None:
    before = [{**run, "cpus": [cpu_run(2, 250.0)]} for run in arm("s", BEFORE, emulated=True)]
    after = [{**run, "cpus": [cpu_run(2, 0.0)]} for run in arm("t", AFTER, emulated=True)]
    blind = [
        {**run, "label": "blind", "cpus": [cpu_run(2, 0.0, kernel_entries_per_s=None)]}
        for run in after
    ]
    plain = endpoint(bench.json(before, after), "kernel_entries_per_s")
    assert endpoint(bench.json(before, [*after, *blind]), "kernel_entries_per_s") == plain


def test_ranks_and_mean_in_opposite_directions_are_no_claim(bench: Bench) -> None:
    """All boots but one fell, one to nothing; the one that rose outweighs them in the mean."""
    before, after = range(90, 98), (0, 11, 12, 13, 14, 15, 16, 100_000)
    result = bench.json(arm("s", list(before)), arm("t", list(after), first=1))
    found = endpoint(result, "noise_ppm")
    assert result["verdict"] == "descriptive-only"
    assert "most boots and the mean of noise_ppm changed in opposite directions" in result["why"]
    assert (found["p"], found["ci95"]) == (None, None)


# Spread, and what boots do not differ in


def test_a_small_p_of_arms_that_spread_unlike_is_no_claim(bench: Bench) -> None:
    """Many boots that hardly differ, few that do: relabelling takes the chance of those for a
    change, which Welch's interval does not."""
    before = [100 + 0.1 * (n % 5) for n in range(20)]
    runs = [
        document(f"s{n}", 9.0, v, started=f"2026-11-20T{n:02d}:00:00Z")
        for n, v in enumerate(before)
    ]
    wide = [
        document(f"t{n}", 9.0, v, started=f"2026-11-20T{4 * n + 1:02d}:30:00Z")
        for n, v in enumerate((97.0, 70.0, 99.0, 60.0, 103.0))
    ]
    result = bench.json(runs, wide)
    found = endpoint(result, "noise_ppm")
    assert found["p"] < 0.05
    assert found["ci95"][0] < 1 < found["ci95"][1]
    assert result["verdict"] == "no-measurable-change"
    assert "too little where the arms may spread unlike each other; ratios below" in result["why"]


def test_boots_that_are_all_alike(bench: Bench) -> None:
    result = bench.json(arm("s", [100.0] * 5), arm("t", [100.0] * 5, first=1))
    assert (result["verdict"], result["why"]) == (
        "no-measurable-change",
        "p = 1, 5 boots each; every boot shows the same",
    )


# What forbids a claim, and what only weakens it

CAUSE = {"class": "irq", "cause": "local_timer", "events": 4, "time_ns": 900}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"threshold_ns": 1000}, "the thresholds differ"),
        ({"policy": "fifo:1"}, "the scheduling policies differ"),
        ({"loads": []}, "the loads differ"),
        ({"complete": False}, "a0.json is not complete"),
        ({"boot_id": ""}, "the boot of some runs is not known"),
    ],
)
def test_no_claim_where_more_than_the_settings_differs(
    bench: Bench, changes: dict[str, Any], words: str
) -> None:
    result = bench.json(arm("s", BEFORE), arm("t", AFTER, first=1, **changes))
    assert result["verdict"] == "descriptive-only"
    assert words in result["why"]
    assert {e["p"] for e in result["endpoints"]} == {None}


def test_no_claim_with_differing_stress_ng(bench: Bench) -> None:
    after = arm("t", AFTER, first=1)
    for run in after:
        load_ = run["loads"][0]
        run["loads"] = [{**load_, "output": load_["output"].replace("0.15.06", "0.17.06")}]
    result = bench.json(arm("s", BEFORE), after)
    assert result["verdict"] == "descriptive-only"
    assert "the stress-ng versions differ" in result["why"]


def test_no_claim_within_a_boot(bench: Bench) -> None:
    after = arm("t", AFTER, first=1)
    after[2]["boot_id"] = "boot-s2"
    result = bench.json(arm("s", BEFORE), after)
    assert result["verdict"] == "descriptive-only"
    assert "come from the same boot" in result["why"]


def test_an_invalid_run_is_refused_but_not_under_emulation(bench: Bench) -> None:
    after = arm("t", AFTER, first=1)
    after[3]["valid"] = False
    result = bench.json(arm("s", BEFORE), after)
    assert (result["verdict"], result["endpoints"]) == ("refused", [])
    assert "a3.json is not a valid run" in result["why"]
    runs = [[{**run, "emulated": True} for run in side] for side in (arm("s", BEFORE), after)]
    assert bench.json(runs[0], runs[1])["verdict"] == "descriptive-only"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kernel": "6.1.0-rt"}, "kernels differ"),
        ({"duration_s": 60}, "durations differ"),
        ({"harness": "9"}, "versions of the harness differ"),
        ({"cpus": [cpu_run(3, 500.0, 50.0)]}, "measured CPUs differ"),
        (
            {"cpus": [cpu_run(n, 500.0, 50.0, causes=[CAUSE]) for n in (2, 3)]},
            "observers differ: before none, after causes; what observes makes noise",
        ),
    ],
)
def test_a_claim_with_a_warning(bench: Bench, changes: dict[str, Any], words: str) -> None:
    result = bench.json(arm("s", BEFORE), arm("t", AFTER, first=1, **changes))
    assert result["verdict"] == "reduced"
    assert any(words in flag for flag in result["flags"])


def test_boots_with_more_runs_are_flagged(bench: Bench) -> None:
    after = arm("t", AFTER, first=1)
    more = [{**run, "label": f"{run['label']}-{n}"} for run in after for n in range(2)]
    flags = bench.json(arm("s", BEFORE), [*after, *more])["flags"]
    assert any("the boots have 1 to 3 runs" in flag for flag in flags)
    assert not any("the boots have" in f for f in bench.json(arm("s", BEFORE), after)["flags"])


def test_the_threshold_does_not_touch_kernel_entries(bench: Bench) -> None:
    after = arm("t", AFTER, first=1, emulated=True, threshold_ns=1000)
    assert bench.json(arm("s", BEFORE, emulated=True), after)["verdict"] == "reduced"


def _without_scipy(bench: Bench, *words: str) -> subprocess.CompletedProcess[str]:
    program = (
        "import sys; sys.modules['scipy'] = None; from lowlat.cli import main; sys.exit(main())"
    )
    command = [sys.executable, "-c", program, "report", *words]
    return subprocess.run(command, cwd=bench.folder, capture_output=True, text=True, timeout=120)


def test_without_scipy_the_report_describes(bench: Bench) -> None:
    files = [
        *bench.runs("b", *arm("s", BEFORE)),
        "--against",
        *bench.runs("a", *arm("t", AFTER, first=1)),
    ]
    ended = _without_scipy(bench, *files, "--json")
    assert (ended.returncode, ended.stderr) == (0, "")
    result = json.loads(ended.stdout)
    assert result["verdict"] == "descriptive-only"
    assert "scipy and numpy are not installed" in result["why"]
    assert any("scipy and numpy are not installed" in flag for flag in result["flags"])
    assert endpoint(result, "noise_ppm")["ratio"] == pytest.approx(1.968, abs=0.001)
    refused = _without_scipy(bench, "--self-test")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert len(refused.stderr.splitlines()) == 1


# The gate


def test_the_gate_wants_the_low_end_of_the_interval(bench: Bench) -> None:
    files = [
        *bench.runs("b", *arm("s", BEFORE)),
        "--against",
        *bench.runs("a", *arm("t", AFTER, first=1)),
    ]
    assert bench.call(*files, "--require", "noise_ppm>=1.88")[0] == 0
    with pytest.raises(Unmet) as caught:
        bench.call(*files, "--require", "noise_ppm>=1.95")
    assert str(caught.value).endswith(
        "noise_ppm>=1.95, measured 1.969, between 1.885 and 2.06 (95 %)"
    )
    assert "--require takes" not in bench.printed.out


def test_a_gate_without_an_interval_says_so(bench: Bench) -> None:
    files = [
        *bench.runs("b", *arm("s", BEFORE[:2])),
        "--against",
        *bench.runs("a", *arm("t", AFTER[:2])),
    ]
    _, out = bench.call(*files, "--require", "noise_ppm>=1.9")
    assert "--require takes the ratio of noise_ppm as it is: there is no interval of it" in out


def test_a_gate_on_a_claim_that_is_not_made_is_missed(bench: Bench) -> None:
    """From five boots on the ratio alone is not enough, whatever keeps it from being tested."""
    before, after = bench.runs("b", *arm("s", BEFORE)), arm("t", AFTER, first=1)
    other = [{**run, "policy": "fifo:1"} for run in after]
    with pytest.raises(Unmet, match="noise_ppm>=1.5, but there is no interval of it: 5 boots each"):
        bench.call(*before, "--against", *bench.runs("a", *other), "--require", "noise_ppm>=1.5")
    assert "--require takes" not in bench.printed.out
    zeros = bench.runs("z", *arm("z", (0, 0, 1, 0, 2), first=1))
    with pytest.raises(Unmet, match="no interval of it: some boot has a zero"):
        bench.call(*before, "--against", *zeros, "--require", "noise_ppm>=1.5")
    # What is never claimed has its ratio only, and that is told.
    files = [*before, "--against", *bench.runs("a", *after)]
    assert bench.call(*files, "--require", "max_ns>=0.5")[0] == 0
    assert "--require takes the ratio of max_ns as it is" in bench.printed.out


# Several arms


def arms(bench: Bench, *more: str) -> list[str]:
    poll = bench.runs("p", *arm("p", [value / 100 for value in AFTER], first=1))
    same = bench.runs("q", *arm("q", BEFORE[::-1], first=1))
    files = [
        *bench.runs("b", *arm("s", BEFORE)),
        "--against",
        *bench.runs("a", *arm("t", AFTER, first=1)),
    ]
    return [*files, "--arm", "poll", *poll, "--arm", "same", *same, *more]


def test_each_arm_against_the_first_with_adjusted_p(bench: Bench) -> None:
    status, out = bench.call(*arms(bench, "--json"))
    result = json.loads(out)
    assert status == 0
    assert list(result) == ["schema", "first", "arms"]
    assert (result["schema"], result["first"]) == ("lowlat.comparison/1", "before")
    reports = {one["name"]: one["report"] for one in result["arms"]}
    assert [*reports] == ["after", "poll", "same"]
    assert all(report["schema"] == "lowlat.report/1" for report in reports.values())
    p = {name: endpoint(report, "noise_ppm")["p"] for name, report in reports.items()}
    assert p["after"] == p["poll"] == pytest.approx(3 * SMALLEST)
    verdicts = [report["verdict"] for report in reports.values()]
    assert verdicts == ["reduced", "reduced", "no-measurable-change"]
    assert "p is adjusted for 3 arms" in reports["poll"]["why"]


def several(
    bench: Bench, count: int, before: Sequence[float], after: Sequence[float]
) -> list[dict[str, Any]]:
    """The reports of so many arms that are all alike."""
    words = bench.runs("b", *arm("s", before, step=1))
    for n in range(count):
        words += ["--arm", f"x{n}", *bench.runs(f"x{n}-", *arm(f"x{n}", after, first=1, step=3))]
    _, out = bench.call(*words, "--json")
    return [one["report"] for one in json.loads(out)["arms"]]


def test_what_is_no_change_among_several_arms_excludes_nothing(bench: Bench) -> None:
    """Alone each of the first three would be a finding, with an interval beyond 1."""
    words = bench.runs("b", *arm("s", [100, 104, 97, 102, 99]))
    for n, noise in enumerate(
        (
            *((93, 97, 91, 95, 92), (93.1, 99.8, 91, 95, 92.3), (96, 98.5, 94, 95, 92)),
            *((100, 101, 99, 98, 103), (102, 98, 99, 100, 101)),
        )
    ):
        words += ["--arm", f"x{n}", *bench.runs(f"x{n}-", *arm(f"x{n}", noise, first=1))]
    reports = [one["report"] for one in json.loads(bench.call(*words, "--json")[1])["arms"]]
    assert {report["verdict"] for report in reports} == {"no-measurable-change"}
    for n, report in enumerate(reports):
        low, high = endpoint(report, "noise_ppm")["ci95"]
        assert (low > 1) is (n < 3)
        assert ("are excluded" in report["why"]) is (low < 1 < high)
        assert ("alone this would be a change" in report["why"]) is (n < 3)
    assert "the intervals are not: one beyond 1 may be no finding" in bench.call(*words)[1]


def test_too_many_arms_for_five_boots(bench: Bench) -> None:
    """Seven arms at 2/252 are above 5 %, however clear the change: that is no test."""
    for report in several(bench, 7, BEFORE, AFTER):
        assert report["verdict"] == "descriptive-only"
        assert report["why"] == "5 boots each; a test of 7 arms needs 6 boots an arm"
        assert {e["p"] for e in report["endpoints"]} == {None}
        # The interval is each arm's own.
        assert endpoint(report, "noise_ppm")["ci95"][0] > 1.5
    assert {report["verdict"] for report in several(bench, 6, BEFORE, AFTER)} == {"reduced"}


def test_seventeen_arms_of_six_boots(bench: Bench) -> None:
    """As many as there are settings to leave out: six boots an arm tell them apart."""
    (report, *_) = several(bench, 17, (*BEFORE, 101.0), (*AFTER, 50.0))
    assert report["verdict"] == "reduced"
    assert endpoint(report, "noise_ppm")["p"] == pytest.approx(17 * 2 / 924)


def test_more_boots_of_the_first_arm_serve_all_others(bench: Bench) -> None:
    """Twenty boots before and five of each of eight arms."""
    (report, *_) = several(bench, 8, BEFORE * 4, AFTER)
    assert (report["verdict"], report["boots"]) == ("reduced", {"before": 20, "after": 5})
    assert endpoint(report, "noise_ppm")["p"] == pytest.approx(8 * 2 / 10_000)


def test_arms_in_one_table(bench: Bench) -> None:
    _, out = bench.call(*arms(bench))
    lines = out.splitlines()
    assert (
        lines[0] == "Noise against before: after reduced (2.0x less), poll reduced (197x less), "
        "same no measurable change."
    )
    (row,) = [line for line in lines if line.startswith("poll ") and "5 / 5" in line]
    assert row.split()[-2:] == ["0.024", "reduced"]
    assert sum("what was in effect was not checked" in line for line in lines) == 1
    _, marked = bench.call(*arms(bench, "--markdown"))
    assert (
        "| before | boots | noise, ppm of the time | change | ratio, 95 % | p | verdict |" in marked
    )


def test_a_gate_for_one_arm_or_for_all(bench: Bench) -> None:
    assert bench.call(*arms(bench, "--require", "poll:noise_ppm>=150"))[0] == 0
    with pytest.raises(Unmet, match="after: noise_ppm>=150.*same: noise_ppm>=150"):
        bench.call(*arms(bench, "--require", "noise_ppm>=150"))
    with pytest.raises(Refused, match="no arm 'pole'") as caught:
        bench.call(*arms(bench, "--require", "pole:noise_ppm>=150"))
    assert (caught.value.status, bench.printed.out) == (2, "")
    with pytest.raises(Refused, match="oslat_max_us is not in the report of 'poll'") as caught:
        poll = [{**run, "oslat": None} for run in arm("p", AFTER, first=1)]
        files = ["--arm", "poll", *bench.runs("p", *poll), "--require", "poll:oslat_max_us>=1"]
        bench.call(*bench.runs("b", *({**r, "oslat": None} for r in arm("s", BEFORE))), *files)
    assert (caught.value.status, bench.printed.out) == (2, "")


def test_a_gate_for_an_arm_takes_the_low_end_of_its_interval(bench: Bench) -> None:
    """As a pipeline asks it: an arm's kernel entries, which fell to between 1/188 and 1/206."""
    low = endpoint(
        json.loads(bench.call(*arms(bench, "--json"))[1])["arms"][1]["report"],
        "kernel_entries_per_s",
    )["ci95"][0]
    gate = f"poll:kernel_entries_per_s>={low - 0.01:.2f}"
    assert bench.call(*arms(bench, "--require", gate))[0] == 0
    with pytest.raises(Unmet, match="poll: kernel_entries_per_s>=.*, measured 19.*, between 18"):
        bench.call(*arms(bench, "--require", f"poll:kernel_entries_per_s>={low + 0.01:.2f}"))


@pytest.mark.parametrize("name", ["after", "before", "a b", "", "x" * 65])
def test_a_bad_name_of_an_arm(bench: Bench, name: str) -> None:
    (file,) = bench.runs("b", document("s", 4.0))
    with pytest.raises(Refused, match="not a name of its own"):
        bench.call(file, "--against", file, "--arm", name, file)


def test_an_arm_that_cannot_be_compared_fails_alone(bench: Bench) -> None:
    other = bench.runs("e", *arm("e", AFTER, first=1, emulated=True))
    status, out = bench.call(*arms(bench, "--arm", "guest", *other))
    assert status == 1
    assert "guest refused" in out.splitlines()[0]
    assert "Note: guest: not comparable: some runs were made under emulation" in out
    assert "after reduced (2.0x less), poll reduced" in out


# The longest gaps


def gaps(
    name: str, sizes: Sequence[Sequence[float]], seconds: float = 120.0
) -> list[dict[str, Any]]:
    """A boot for each list of gaps in ns, seen on one CPU, counted by whole ns."""
    result = []
    for n, values in enumerate(sizes):
        whole, counts = np.unique(np.floor(values), return_counts=True)
        rows = [[low, low + 1, count] for low, count in zip(whole.tolist(), counts.tolist())]
        histogram = {"unit": "ns", "counts": rows}
        cpu = cpu_run(2, 10.0, runtime_ns=seconds * 1e9, histogram=histogram)
        result.append(document(f"{name}{n}", 0, cpus=[cpu], duration_s=seconds))
    return result


def exponential(seed: int, mean: float, boots: int = 3, count: int = 4000) -> list[Any]:
    draw = np.random.default_rng(seed)
    return [100 + draw.exponential(mean, count) for _ in range(boots)]


def test_a_return_level_is_the_known_one(bench: Bench) -> None:
    result = bench.json(gaps("s", exponential(1, 8000)), gaps("t", exponential(2, 1000)))
    found = endpoint(result, "return_level_ns@1h")
    # 4000 gaps in 120 s are 120,000 an hour, of which one is above mean * ln(120000).
    for arm_, mean in (("before", 8000), ("after", 1000)):
        assert found[arm_] == pytest.approx(100 + mean * math.log(120_000), rel=0.2)
    assert (found["unit"], found["ci95"], found["p"], found["primary"]) == ("ns", None, None, False)
    assert any("360 s before, 360 s after, each CPU" in flag for flag in result["flags"])
    assert any("bursts are told apart by event logs" in flag for flag in result["flags"])


def test_a_return_level_reaches_no_further_than_ten_times_the_time(bench: Bench) -> None:
    runs = [gaps(name, exponential(3, 1000, 1), 20.0) for name in "st"]
    names = {e["name"] for e in bench.json(runs[0], runs[1])["endpoints"]}
    assert "return_level_ns@200s" in names
    assert "return_level_ns@1h" not in names


def test_more_time_than_asked_about_needs_no_fit(bench: Bench) -> None:
    runs = [gaps(name, exponential(4, 1000, 2, 50_000), 2e6) for name in "st"]
    found = endpoint(bench.json(runs[0], runs[1]), "return_level_ns@1h")
    # 100,000 gaps in 4,000,000 s: one in an hour is above the size that 90 in an hour reach.
    assert found["before"] == pytest.approx(100 + 1000 * math.log(90), rel=0.05)


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ([[200.0] * 500], "needs 2000 gaps, there are 500"),
        # One threshold alone does not tell whether the level depends on it.
        (exponential(5, 1000, 1, 1900), "needs 2000 gaps, there are 1900"),
        ([[200.0] * 5000], "are not told apart"),
        ([[]], "needs 2000 gaps, there are 0"),
        ([[200.0] * 4000 + [300.0] * 5000], "are not told apart"),
        ([np.random.default_rng(6).pareto(0.4, 9000) * 100 + 100], "the tail is too heavy"),
    ],
)
def test_no_return_level_without_a_fit(bench: Bench, sizes: Any, words: str) -> None:
    result = bench.json(gaps("s", exponential(1, 1000)), gaps("t", sizes))
    assert not [e for e in result["endpoints"] if e["name"].startswith("return_level")]
    (flag,) = [flag for flag in result["flags"] if words in flag]
    assert "not known after" in flag


def test_gaps_that_come_less_than_once_an_hour(bench: Bench) -> None:
    runs = [gaps(name, exponential(4, 1000, 1, 2400), 1e7) for name in "st"]
    flags = bench.json(runs[0], runs[1])["flags"]
    assert any("fewer gaps than that, of any length" in flag for flag in flags)


def test_a_fit_that_depends_on_its_threshold_is_none(bench: Bench) -> None:
    draw = np.random.default_rng(8)
    # A second, longer kind of gap: the lowest of the thresholds takes in both.
    mixed = [100 + np.concatenate([draw.exponential(300, 9000), draw.exponential(1500, 300)])]
    result = bench.json(gaps("s", exponential(1, 1000)), gaps("t", mixed))
    assert not [e for e in result["endpoints"] if e["name"].startswith("return_level")]
    assert any("the fit depends on its threshold" in flag for flag in result["flags"])


def test_a_fit_that_the_gaps_contradict_is_none(bench: Bench) -> None:
    draw = np.random.default_rng(1)
    # Beside the many a few that are all about as long: no tail of this kind ends in a lump.
    lump = np.concatenate([draw.exponential(1500, 9000), draw.normal(15_000, 500, 60)])
    result = bench.json(gaps("s", exponential(1, 1000)), gaps("t", [100 + lump]))
    assert not [e for e in result["endpoints"] if e["name"].startswith("return_level")]
    assert any("do not follow the distribution" in flag for flag in result["flags"])


def test_bursts_are_flagged(bench: Bench) -> None:
    calm, wild = exponential(9, 300, 4, 9000), exponential(10, 3000, 1, 3000)
    result = bench.json(gaps("s", exponential(1, 1000)), gaps("t", [*calm, *wild]))
    flags = [flag for flag in result["flags"] if "come in bursts" in flag]
    assert len(flags) == 1
    assert "after" in flags[0]


def logged(bench: Bench, files: list[str], logs: Sequence[Sequence[tuple[float, float]]]) -> None:
    """Writes a log beside each run: (begin, size) of each gap in ns; a tick is half a ns."""
    for file, log in zip(files, logs):
        rows = [f"2,{round(2 * begin)},{round(2 * (begin + size))}\n" for begin, size in log]
        Path(file).with_suffix(".events").write_text("cpu,begin,end\n" + "".join(rows))


def in_bursts(draw: Any, alike: float) -> tuple[list[tuple[float, float]], Any]:
    """The log and the sizes of 800 bursts of thirty gaps, the least so much as long as the most."""
    starts = np.repeat(np.sort(draw.uniform(0, 120e9, 800)), 30)
    size = 100 + np.repeat(draw.exponential(3000, 800), 30) * np.tile(
        np.linspace(alike, 1, 30), 800
    )
    begins = starts + np.tile(np.arange(30) * 1e5, 800)
    return list(zip(begins.tolist(), size.tolist())), size


def test_an_event_log_tells_bursts_apart(bench: Bench) -> None:
    """Thirty gaps a burst, all alike: without their times they are too alike for a fit."""
    draw = np.random.default_rng(12)
    logs, sizes = zip(*(in_bursts(draw, 1.0) for _ in range(6)))
    files = [bench.runs(name, *gaps(name, sizes[at : at + 3])) for name, at in (("b", 0), ("a", 3))]
    words = [*files[0], "--against", *files[1], "--json"]
    for side, log in zip(files, (logs[:3], logs[3:])):
        # A log for some of the runs is none.
        names = {e["name"] for e in json.loads(bench.call(*words)[1])["endpoints"]}
        assert "return_level_ns@1h" not in names
        logged(bench, side, log)
    result = json.loads(bench.call(*words)[1])
    # 800 bursts in 120 s are 24,000 an hour.
    known = 100 + 3000 * math.log(24_000)
    assert endpoint(result, "return_level_ns@1h")["before"] == pytest.approx(known, rel=0.12)
    assert not any("bursts" in flag for flag in result["flags"])


def test_event_logs_of_one_side_are_not_compared_with_gaps_as_they_come(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = np.random.default_rng(16)
    logs, sizes = zip(*(in_bursts(draw, 0.5) for _ in range(3)))
    files = [bench.runs(name, *gaps(name, sizes)) for name in "ba"]
    words = [*files[0], "--against", *files[1], "--json"]

    def level() -> tuple[dict[str, Any], str]:
        result = json.loads(bench.call(*words)[1])
        told = [flag for flag in result["flags"] if "takes gaps as they come" in flag]
        return endpoint(result, "return_level_ns@1h"), "".join(told)

    alone, told = level()
    logged(bench, files[1], logs)
    assert level() == (alone, told)
    assert "RUN.events beside RUN.json, of every run" in told
    # The same gaps on both sides are the same level, with logs another one.
    logged(bench, files[0], logs)
    both, told = level()
    assert (both["ratio"], told) == (1.0, "")
    assert both["before"] != pytest.approx(alone["before"], rel=0.02)
    # Logs too large on one side are read on neither, and nobody is told to add them.
    before = sum(Path(file).with_suffix(".events").stat().st_size for file in files[0])
    logged(bench, files[1], [log[:-1] for log in logs])
    monkeypatch.setattr("lowlat.report.gaps._LARGEST", before)
    small, told = level()
    assert (small["before"], small["after"]) == (alone["before"], alone["after"])
    assert "the event logs of a side are too large" in told
    assert "beside RUN.json" not in told


@pytest.mark.parametrize(
    "text", ["", "cpu,begin\n1,2\n", "cpu,begin,end\n2,5", "cpu,begin,end\n2,x,9\n"]
)
def test_what_is_no_event_log_is_refused(bench: Bench, text: str) -> None:
    files = [bench.runs(name, *gaps(name, exponential(1, 1000, 1))) for name in "ba"]
    for (file,) in files:
        Path(file).with_suffix(".events").write_text(text)
    with pytest.raises(Refused, match="b0.events: not an event log"):
        bench.call(*files[0], "--against", *files[1])
    assert bench.printed.out == ""


def test_an_event_log_without_events(bench: Bench) -> None:
    files = [bench.runs(name, *gaps(name, exponential(1, 1000, 1))) for name in "ba"]
    logged(bench, [files[0][0], files[1][0]], [[], []])
    _, out = bench.call(*files[0], "--against", *files[1])
    assert "needs 2000 gaps, there are 0" in out


def test_under_emulation_there_is_no_return_level(bench: Bench) -> None:
    runs = [[{**run, "emulated": True} for run in gaps(n, exponential(1, 1000))] for n in "st"]
    result = bench.json(runs[0], runs[1])
    assert not [e for e in result["endpoints"] if e["name"].startswith("return_level")]
    assert not any("longest gap" in flag for flag in result["flags"])


# Tables for notebooks


def test_runs_as_tidy_tables(bench: Bench) -> None:
    cause = {"class": "irq", "cause": "local_timer", "events": 4, "time_ns": 900}
    cpus = [cpu_run(2, 4.0, causes=[cause]), cpu_run(3, 8.0)]
    files = bench.runs("r", document("stock", 0, cpus=cpus), document("tuned", 2.0))
    tables = load(*files)
    assert [row["label"] for row in tables.runs] == ["stock", "tuned"]
    assert [(row["run"], row["cpu"]) for row in tables.cpus] == [
        (f, c) for f in files for c in (2, 3)
    ]
    assert tables.cpus[1]["kernel_entries_per_s"] == 8.0
    assert tables.cpus[1]["events_per_s@10us"] == 0.8
    assert tables.histogram[0] == {
        **{"run": files[0], "cpu": 2},
        **{"lower_ns": 100.0, "upper_ns": 200.0, "count": 5},
    }
    assert [(row["source"], row["per_s"]) for row in tables.entries[:2]] == [
        ("LOC", 3.0),
        ("24", 1.0),
    ]
    assert {row["source"] for row in tables.softirqs} == {"TIMER", "RCU"}
    assert tables.causes == ({"run": files[0], "cpu": 2, **cause},)
    for name in ("runs", "cpus", "histogram", "entries", "softirqs", "causes"):
        assert len({tuple(row) for row in getattr(tables, name)}) == 1


def test_a_table_that_is_none(bench: Bench) -> None:
    tables = load(*bench.runs("r", document("stock", 4.0)))
    with pytest.raises(Refused, match="no table 'cpu'"):
        tables.frame("cpu")


def test_a_table_as_a_data_frame(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = load(*bench.runs("r", document("stock", 4.0)))
    monkeypatch.setitem(sys.modules, "pandas", types.SimpleNamespace(DataFrame=tuple))
    assert tables.frame("cpus") == tables.cpus
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(Refused, match="pandas is not installed"):
        tables.frame("cpus")
