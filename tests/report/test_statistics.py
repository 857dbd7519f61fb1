# SPDX-License-Identifier: GPL-2.0-or-later
"""What the report claims: its verdicts, what forbids one, and the gate on it."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lowlat.base.errors import Unmet
from report_runs import AFTER, BEFORE, SMALLEST, Bench, arm, cpu_run, document, endpoint

pytest.importorskip("scipy", reason="the extra `report` is not installed")


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
    (row,) = [line for line in out.splitlines() if line.startswith("interrupts, /s")]
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
    again = [{**run, "label": "again"} for run in arm("t", AFTER, first=1)]
    doubled = bench.json(arm("s", BEFORE), [*arm("t", AFTER, first=1), *again])
    assert endpoint(doubled, "noise_ppm")["p"] == pytest.approx(SMALLEST)
    assert doubled["boots"] == {"before": 5, "after": 5}


def test_the_primary_stands_alone_and_the_rest_is_adjusted(bench: Bench) -> None:
    result = compared(bench, AFTER)
    claimed = [e for e in result["endpoints"] if e["p"] is not None]
    names = {e["name"] for e in claimed}
    assert names == {
        *("noise_ppm", "tw_p99.99_ns", "tw_p99.9999_ns", "interrupts_per_s"),
        *(f"events_per_s@{level}" for level in ("100ns", "1us", "10us", "100us")),
    }
    assert {e["cpu"] for e in claimed} == {"all", 2, 3}
    # Nothing changed in these, so nothing is found in them.
    assert endpoint(result, "tw_p99.99_ns")["p"] == 1.0
    assert endpoint(result, "softirqs_per_s@TIMER")["p"] is None


def test_under_emulation_the_primary_is_interrupts(bench: Bench) -> None:
    before, after = arm("s", BEFORE, emulated=True), arm("t", AFTER, first=1, emulated=True)
    result = bench.json(before, after)
    assert result["verdict"] == "reduced"
    assert endpoint(result, "interrupts_per_s")["primary"] is True
    assert {e["name"] for e in result["endpoints"] if e["p"] is not None} == {"interrupts_per_s"}


@pytest.mark.parametrize("emulated", [False, True])
def test_how_long_the_longest_gaps_were_looked_for_is_told(bench: Bench, emulated: bool) -> None:
    """They are shown and never claimed; under emulation no duration is told."""
    runs = [arm(name, AFTER, first=n, emulated=emulated) for n, name in enumerate("st")]
    result = bench.json(runs[0], runs[1])
    told = (
        "the longest gap grows with the time measured: 5 x 120 s before, 5 x 120 s after, each CPU"
    )
    assert (told in result["flags"]) is not emulated
    longest = [e for e in result["endpoints"] if e["name"] == "max_ns" and e["cpu"] == "all"]
    assert [(e["after"], e["p"]) for e in longest] == ([] if emulated else [(5400, None)])


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
    found = endpoint(result, "interrupts_per_s")
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
    status, out = bench.call(*files, "--require", "interrupts_per_s>=1000")
    assert status == 0
    assert "37,721 times fewer if boots do not differ in it (" in out.splitlines()[0]
    assert "--require takes the bound of interrupts_per_s, of which nothing" in out


def test_zero_in_some_boots_is_ranked(bench: Bench) -> None:
    after = (0.0, 0.0, 1.0, 0.0, 2.0)
    result = compared(bench, after)
    found = endpoint(result, "noise_ppm")
    assert (found["after"], found["ci95"]) == (pytest.approx(0.6), None)
    assert (found["before"], found["ratio"]) == (pytest.approx(100.4), pytest.approx(100.4 / 0.6))
    assert any("the ratio is of plain means" in flag for flag in result["flags"])
    assert found["p"] == pytest.approx(SMALLEST)
    both = bench.json(arm("s", [0.0] * 5), arm("t", [0.0] * 5, first=1))
    assert both["verdict"] == "no-measurable-change"


def test_zero_in_some_boots_leaves_a_bound(bench: Bench) -> None:
    """Each of them is taken for a single event, in 120 s on one CPU."""

    def entries(name: str, rates: Sequence[float]) -> list[dict[str, Any]]:
        runs = arm(name, rates, first=int(name == "t"), emulated=True)
        return [{**run, "cpus": [cpu_run(2, rate)]} for run, rate in zip(runs, rates)]

    before, after = entries("s", [1e3 * value for value in BEFORE]), (0.0, 0.1, 0.05, 0.0, 0.2)
    result = bench.json(before, entries("t", after), "--require", "interrupts_per_s>=100000")
    found = endpoint(result, "interrupts_per_s")
    raised = bench.json(before, entries("t", [rate or 1 / 120 for rate in after]))
    (least, _) = endpoint(raised, "interrupts_per_s")["ci95"]
    assert (found["ci95"], found["ratio_at_least"]) == (None, pytest.approx(least))
    assert result["verdict"] == "reduced" and least > 100_000
    out = bench.call(*bench.runs("b", *before), "--against", *bench.runs("a", *entries("t", after)))
    assert f"(ratio at least {least:,.0f} (95 %), p = " in out[1].splitlines()[0]


def test_a_run_that_counted_something_is_not_nothing(bench: Bench) -> None:
    """Three runs a boot, whose median is zero in every boot: there is no bound for zero events."""
    before = [{**run, "cpus": [cpu_run(2, 250.0)]} for run in arm("s", BEFORE, emulated=True)]
    after = [
        {**run, "label": f"{n}", "cpus": [cpu_run(2, rate)]}
        for run in arm("t", AFTER, first=1, emulated=True)
        for n, rate in enumerate((0.0, 0.0, 50.0))
    ]
    found = endpoint(bench.json(before, after), "interrupts_per_s")
    assert (found["after"], found["ratio"], found["ratio_at_least"]) == (0.0, None, None)
    calm = [run for run in after if run["label"] != "2"]
    bound = endpoint(bench.json(before, calm), "interrupts_per_s")["ratio_at_least"]
    assert bound == pytest.approx(250 * 1200 / -math.log(0.05 - 1 / 32))


def test_only_time_in_which_it_was_counted_bounds_a_zero(bench: Bench) -> None:
    before = [{**run, "cpus": [cpu_run(2, 250.0)]} for run in arm("s", BEFORE, emulated=True)]
    after = [{**run, "cpus": [cpu_run(2, 0.0)]} for run in arm("t", AFTER, emulated=True)]
    blind = [
        {**run, "label": "blind", "cpus": [cpu_run(2, 0.0, interrupts_per_s=None)]} for run in after
    ]
    plain = endpoint(bench.json(before, after), "interrupts_per_s")
    assert endpoint(bench.json(before, [*after, *blind]), "interrupts_per_s") == plain


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


def test_the_threshold_does_not_touch_interrupts(bench: Bench) -> None:
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
