# SPDX-License-Identifier: GPL-2.0-or-later
"""The claims of the report: its verdicts, their preconditions, and the gate that uses them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lowlat.base.errors import Unmet
from support import needs
from support.runs import AFTER, BEFORE, SMALLEST, ReportBench, arm, cpu_run, endpoint
from support.waits import GUARD_S

needs.module("scipy", "the extra `report` is not installed")

#: Names and noise of three arms.
_ARMS = (("s", BEFORE), ("t", AFTER), ("u", AFTER))


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> ReportBench:
    return ReportBench(tmp_path, capsys)


def compared(bench: ReportBench, after: Sequence[float], *words: str) -> dict[str, Any]:
    return bench.json(arm("s", BEFORE), arm("t", after, first=1), *words)


# Verdicts


def test_reduced(bench: ReportBench) -> None:
    result = compared(bench, AFTER)
    figure = endpoint(result, "noise_ppm")
    assert result["verdict"] == "reduced"
    assert result["why"] == "p = 0.013, 8 pairs, order not known to be drawn; not pre-registered"
    assert (result["pairs"], result["order"]) == (8, "not known")
    assert figure["p"] == pytest.approx(SMALLEST)
    assert figure["ci95"][0] < figure["ratio"] < figure["ci95"][1]
    assert figure["ratio"] == pytest.approx(figure["before"] / figure["after"])


def test_increased(bench: ReportBench) -> None:
    result = bench.json(arm("s", AFTER), arm("t", BEFORE, first=1))
    assert result["verdict"] == "increased"
    assert endpoint(result, "noise_ppm")["ci95"][1] < 1


def test_no_measurable_change_says_what_is_excluded(bench: ReportBench) -> None:
    result = compared(bench, (101.0, 98.0, 103.0, 99.5, 100.5, 99.0, 102.0, 98.0))
    low, high = endpoint(result, "noise_ppm")["ci95"]
    assert result["verdict"] == "no-measurable-change"
    assert f"ratios below {low:.3g} and above {high:.3g} are excluded (95 %)" in result["why"]
    assert low < 1 < high
    _, out = bench.call(
        *bench.runs("b", *arm("s", BEFORE)),
        "--against",
        *bench.runs("a", *arm("t", BEFORE, first=1)),
    )
    assert out.startswith(
        "Noise on the isolated CPUs did not measurably change: 100.4 ppm (0.010 %) in s, "
        "100.4 ppm (0.010 %) in t (p = 1, 8 pairs, order not known to be drawn; both boots of each "
        "pair show the same value"
    )


def test_the_text_has_interval_and_p(bench: ReportBench) -> None:
    files = [
        *bench.runs("b", *arm("s", BEFORE)),
        "--against",
        *bench.runs("a", *arm("t", AFTER, first=1)),
    ]
    _, out = bench.call(*files)
    assert " ".join(out.split()).startswith(
        "Noise on the isolated CPUs fell from 100.4 ppm (0.010 %) in s to 51.0 ppm (0.0051 %) in "
        "t: 1.97 times less (1.93 to 2.01 with 95 % confidence; p = 0.013, 8 pairs, order not "
        "known to be drawn; not pre-registered)."
    )
    (row,) = [line for line in out.splitlines() if line.startswith("interrupts, /s")]
    assert row.split()[-7:] == ["1.97", "times", "fewer", "1.92", "to", "2.02", "0.013"]
    _, marked = bench.call(*files, "--markdown")
    assert "| s | t | change | 95 % | p |" in marked
    assert "| 1,004 | 510.0 | 1.97 times fewer | 1.92 to 2.02 | 0.013 |" in marked


@pytest.mark.parametrize("width", [40, 60, 80, 140])
def test_tables_are_as_wide_as_the_terminal(bench: ReportBench, width: int) -> None:
    bench.columns = width
    cause = {"class": "irq", "cause": f"the interrupt of {'a long name ' * 9}", "events": 4}
    arms = [arm(name, values, first=n) for n, (name, values) in enumerate(_ARMS)]
    for run in (run for one in arms for run in one):
        run["cpus"] = [{**cpu, "causes": [{**cause, "time_ns": 900}]} for cpu in run["cpus"]]
    one, other, third = (bench.runs(own[0]["label"], *own) for own in arms)
    for files in (
        one,
        [*one, "--against", *other],
        [*one, "--against", *other, "--arm", "u", *third],
    ):
        _, out = bench.call(*files)
        # Drawings take up to 80 columns.
        drawn = r"\n(?:gaps by length|[^\n]*: boots \(\.\))"
        lines = (out if width >= 80 else re.split(drawn, out)[0]).splitlines()
        assert max(map(len, lines)) <= width
        assert lines.index("") <= 8 or width < 80, "the finding, the next step and notes"
        # What does not fit beside the first columns is below, for the rows that have it.
        if width == 80 and "--against" in files and "--arm" not in files:
            rows = [line.split()[2:] for line in lines if line.startswith(("int", "soft"))]
            assert rows[::2][:2] == [
                ["1,004", "510.0", "1.97", "times", "fewer"],
                ["1.92", "to", "2.02", "0.013"],
            ]
        _, marked = bench.call(*files, "--markdown")
        numbers = re.findall(r"[0-9][0-9,.]*", "".join(marked.splitlines()[2:]))
        assert {*numbers} <= {*re.findall(r"[0-9][0-9,.]*", out)}


def test_a_small_change_that_is_found_is_never_called_the_same(bench: ReportBench) -> None:
    before = bench.runs("b", *arm("s", [100.0, 100.01, 99.99, 100.02, 99.98, 100.0, 100.0]))
    less = bench.runs("a", *arm("t", [99.5, 99.51, 99.49, 99.52, 99.48, 99.5, 99.5], first=1))
    more = bench.runs(
        "u", *arm("u", [100.5, 100.51, 100.49, 100.52, 100.48, 100.5, 100.5], first=1)
    )
    _, out = bench.call(*before, "--against", *less)
    assert " ".join(out.split()).startswith(
        "Noise on the isolated CPUs fell from 100.0 ppm (0.0100 %) in s to 99.5 ppm (0.0099 %) in "
        "t: 1.01 times less (1.01 to 1.01 with 95 % confidence; p = 0.025, 7 pairs, order not "
        "known to be drawn; not pre-registered)."
    )
    _, out = bench.call(*before, "--against", *less, "--arm", "more", *more)
    assert out.startswith(
        "Noise against s: t reduced (1.01 times less), more increased (1.01 times more)."
    )


@pytest.mark.parametrize("boots", [(5, 6), (6, 5), (1, 1), (2, 9)])
def test_below_six_boots_an_arm_there_is_no_p(bench: ReportBench, boots: tuple[int, int]) -> None:
    before = arm("s", (BEFORE * 2)[: boots[0]], step=1)
    after = arm("t", (AFTER * 2)[: boots[1]], step=1, first=10)
    result = bench.json(before, after)
    assert result["verdict"] == "descriptive-only"
    assert {(e["ci95"], e["p"]) for e in result["endpoints"]} == {(None, None)}


@pytest.mark.parametrize("unknown", [True, False])
def test_no_softirq_at_all_is_none_and_not_an_unknown_number(
    bench: ReportBench, unknown: bool
) -> None:
    before, after = arm("s", BEFORE), arm("t", AFTER, first=1)
    for run in (*before, *after):
        for cpu in run["cpus"]:
            cpu["softirqs_per_s"] = {"RCU": 2.0} if run in before else {}
    for cpu in before[0]["cpus"]:
        cpu["softirqs_per_s"] = None if unknown else {}
    result = bench.json(before, after)
    assert result["verdict"] == "reduced"
    figure = endpoint(result, "softirqs_per_s")
    if unknown:
        assert (figure["before"], figure["counts"]) == (2.0, None)
    else:
        assert figure["before"] == 1.75 and figure["after"] == 0.0


def test_runs_of_a_boot_are_no_boots(bench: ReportBench) -> None:
    """Sixteen runs in two boots an arm prove nothing; with eight boots, only the number of boots
    counts."""
    crowd = [
        {**run, "boot_id": f"{name}{n // 4}"}
        for values, name, first in ((BEFORE, "s", 0), (AFTER, "t", 8))
        for n, run in enumerate(arm(name, values, first=first, step=1))
    ]
    result = bench.json(crowd[:8], crowd[8:])
    assert (result["verdict"], result["boots"]) == ("descriptive-only", {"before": 2, "after": 2})
    again = [{**run, "label": "again"} for run in arm("t", AFTER, first=1)]
    doubled = bench.json(arm("s", BEFORE), [*arm("t", AFTER, first=1), *again])
    assert endpoint(doubled, "noise_ppm")["p"] == pytest.approx(SMALLEST)
    assert doubled["boots"] == {"before": 8, "after": 8}


def test_the_primary_stands_alone_and_the_rest_is_adjusted(bench: ReportBench) -> None:
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


def test_under_emulation_the_primary_is_interrupts(bench: ReportBench) -> None:
    before, after = arm("s", BEFORE, emulated=True), arm("t", AFTER, first=1, emulated=True)
    result = bench.json(before, after)
    assert result["verdict"] == "reduced"
    assert endpoint(result, "interrupts_per_s")["primary"] is True
    assert {e["name"] for e in result["endpoints"] if e["p"] is not None} == {"interrupts_per_s"}


def test_the_longest_gap_is_never_claimed_by_another_name(bench: ReportBench) -> None:
    """In a run of 10 s, a millionth of the time is 10 us: p99.9999 lies within a gap of 30 us."""
    arms = [
        arm(name, values, first=n) for n, (name, values) in enumerate((("s", BEFORE), ("t", AFTER)))
    ]
    told = endpoint(bench.json(arms[0], arms[1]), "tw_p99.9999_ns")
    assert told["p"] is not None
    for run in (*arms[0], *arms[1]):
        run["duration_s"] = 10
        for cpu in run["cpus"]:
            cpu.update(runtime_ns=10_000_000_000, max_ns=30_000)
    result = bench.json(arms[0], arms[1])
    figure = endpoint(result, "tw_p99.9999_ns")
    assert (figure["p"], figure["ci95"]) == (None, None)
    why = "delay at p99.9999: not tested, it lies within the longest gap"
    assert why in " ".join(result["flags"])
    assert endpoint(result, "tw_p99.99_ns")["p"] is not None
    assert [e["p"] for e in result["endpoints"] if e["name"] == "max_ns"] == [None] * 3


# Zero


def counted(bench: ReportBench, before: Sequence[float], after: Sequence[float]) -> dict[str, Any]:
    """Arms of one emulated CPU, with this number of interrupts in each boot of 120 s."""
    sides = [
        [
            {**run, "cpus": [cpu_run(2, events / 120)]}
            for run, events in zip(arm(name, [1.0] * len(own), first=n, emulated=True), own)
        ]
        for n, (name, own) in enumerate((("s", before), ("t", after)))
    ]
    return bench.json(sides[0], sides[1])


def test_a_bound_never_exceeds_its_ratio_and_a_gate_asks_the_bound(bench: ReportBench) -> None:
    """Eight boots in each arm; a single storm in the second arm causes most of the few events."""
    after = (1, 1, 1, 0, 0, 0, 92, 1)
    result = counted(bench, [9228 + n for n in range(8)], after)
    figure = endpoint(result, "interrupts_per_s")
    assert result["verdict"] == "reduced"
    assert figure["counts"] == [9228 * 8 + 28, 96]
    assert figure["ratio"] == pytest.approx(9231.5 / 12)
    assert figure["ci95"][0] == figure["ratio_at_least"] < figure["ratio"] < figure["ci95"][1]
    files = [str(bench.folder / f"{name}{n}.json") for name in "ba" for n in range(8)]
    words = [*files[:8], "--against", *files[8:], "--require"]
    with pytest.raises(Unmet, match="measured 769.3, at least"):
        bench.call(*words, "interrupts_per_s>=700")
    assert bench.call(*words, f"interrupts_per_s>={figure['ratio_at_least'] * 0.999:.3f}")[0] == 0


def test_nothing_left_is_bounded_as_if_events_came_in_bunches(bench: ReportBench) -> None:
    """For Poisson events, no event in six boots leaves a rate of 0.5 a boot possible (95 %)."""
    result = counted(bench, (30_000, 28_800, 31_200, 30_600, 29_400, 30_000), [0] * 6)
    figure = endpoint(result, "interrupts_per_s")
    assert result["verdict"] == "reduced"
    assert (figure["ratio"], figure["ci95"], figure["counts"]) == (None, None, [180_000, 0])
    assert 30_000 / 10 < figure["ratio_at_least"] < 30_000 / 3.7


def test_no_estimand_changes_where_a_boot_counts_nothing(bench: ReportBench) -> None:
    """The only difference is one event or none in one boot: the ratio and its bound hardly
    differ."""
    before = (3100, 3000, 3200, 3150, 3050, 3100)
    none, one = (
        endpoint(counted(bench, before, (2, 1, few, 3, 2, 4)), "interrupts_per_s") for few in (0, 1)
    )
    assert none["ratio"] == pytest.approx(3100 / 2) and one["ratio"] == pytest.approx(18_600 / 13)
    assert none["ratio_at_least"] == pytest.approx(one["ratio_at_least"], rel=0.35)


def test_runs_of_a_boot_add_up(bench: ReportBench) -> None:
    """Three runs a boot, one of which counted an event."""
    before = [{**run, "cpus": [cpu_run(2, 250.0)]} for run in arm("s", BEFORE, emulated=True)]
    after = [
        {**run, "label": f"{n}", "cpus": [cpu_run(2, rate)]}
        for run in arm("t", AFTER, first=1, emulated=True)
        for n, rate in enumerate((0.0, 0.0, 60.0))
    ]
    figure = endpoint(bench.json(before, after), "interrupts_per_s")
    assert (figure["after"], figure["counts"]) == (20.0, [240_000, 57_600])


def test_no_noise_at_all_is_as_much_as_a_run_can_tell(bench: ReportBench) -> None:
    """Less than one gap at the threshold cannot be distinguished: 100 ns in 240 s of two CPUs. A
    boot below that opens the interval on its side."""
    figure = endpoint(compared(bench, (0.0, 0.0, 1.0, 0.0, 2.0, 0.0, 0.0, 0.0)), "noise_ppm")
    assert figure["after"] == pytest.approx((0.1 / 240) ** 0.75 * 2**0.125)
    assert figure["ratio"] == pytest.approx(figure["before"] / figure["after"])
    assert figure["p"] == pytest.approx(SMALLEST)
    assert figure["ci95"] is None and figure["ratio_at_least"] > 1
    files = [str(bench.folder / f"{name}{n}.json") for name in "ba" for n in range(8)]
    told = bench.call(*files[:8], "--against", *files[8:])[1].partition("\n")[0]
    assert re.search(r"times less \(at least [\d,.]+ with 95 % confidence; p = 0.013", told)
    both = bench.json(arm("s", [0.0] * 6), arm("t", [0.0] * 6, first=1))
    assert both["verdict"] == "no-measurable-change"
    assert "no ratio is excluded, for the figures lie below what the runs can tell" in both["why"]
    assert endpoint(both, "noise_ppm")["ratio"] is None


@pytest.mark.parametrize("least", [0.0, 1e-7])
def test_where_no_boot_shows_any_noise_there_is_a_bound_and_no_ratio(
    bench: ReportBench, least: float
) -> None:
    words = []
    for before, after in ((BEFORE, [least] * 8), ([least] * 8, BEFORE)):
        result = bench.json(arm("s", before), arm("t", after, first=1))
        figure = endpoint(result, "noise_ppm")
        assert figure["ratio"] is None
        files = [str(bench.folder / f"{name}{n}.json") for name in "ba" for n in range(8)]
        words.append(bench.call(*files[:8], "--against", *files[8:])[1].partition(" (p =")[0])
    assert " fell from 100.4 ppm" in words[0] and "times less" in words[0]
    assert " rose from " in words[1] and "times more" in words[1]
    assert all(": at least " in one for one in words), words


def test_few_gaps_vary_by_chance_and_so_does_the_noise_that_they_make(bench: ReportBench) -> None:
    """About four gaps a boot, all of the same length: the interval of the noise is no narrower than
    that of the gaps."""
    sides = [
        [
            {**run, "cpus": [cpu_run(2, 9.0, count / 10, rates_per_s={"100ns": count / 120})]}
            for run, count in zip(arm(name, counts, first=n), counts)
        ]
        for n, (name, counts) in enumerate(
            (("s", (400, 410, 390, 405, 395, 400)), ("t", (4, 4, 4, 5, 4, 4)))
        )
    ]
    result = bench.json(sides[0], sides[1])
    ends = [endpoint(result, name)["ci95"] for name in ("noise_ppm", "events_per_s@100ns")]
    widths = [high / low for low, high in ends]
    assert result["verdict"] == "reduced"
    assert widths[0] == pytest.approx(widths[1], rel=0.1) and widths[0] > 1.9


def test_one_boot_that_outweighs_the_others_is_no_claim(bench: ReportBench) -> None:
    """All boots but one decreased; the one that increased dominates the mean."""
    result = counted(bench, range(90, 98), (0, 11, 12, 13, 14, 15, 16, 100_000))
    low, high = endpoint(result, "interrupts_per_s")["ci95"]
    assert result["verdict"] == "no-measurable-change"
    assert low < 1 < high


# The spread, and figures in which boots do not differ


def test_boots_that_are_all_alike(bench: ReportBench) -> None:
    result = bench.json(arm("s", [100.0] * 6), arm("t", [100.0] * 6, first=1))
    assert (result["verdict"], result["why"]) == (
        "no-measurable-change",
        "p = 1, 6 pairs, order not known to be drawn; both boots of each pair show the same value; "
        "not pre-registered",
    )


# Conditions that forbid a claim, and conditions that only weaken it

CLOCK = {"hz": 2e9, "floor_ns": 18.4, "loop_period_ns": 18.6}
CAUSE = {"class": "irq", "cause": "local_timer", "events": 4, "time_ns": 900}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"threshold_ns": 1000}, "the thresholds differ"),
        ({"policy": "fifo:1"}, "the scheduling policies differ"),
        ({"loads": []}, "the loads differ"),
        ({"complete": False}, "a0.json is not complete"),
        ({"duration_s": 60}, "the durations differ"),
        ({"harness": "9"}, "the harness builds differ"),
        ({"clock": {**CLOCK, "source": "clock_gettime"}}, "the clocks differ"),
        ({"attribution": {"observer": "trace"}}, "the observers differ"),
        ({"cpus": [cpu_run(n, 500.0, 50.0, causes=[CAUSE]) for n in (2, 3)]}, "observers differ"),
        ({"boot_id": ""}, "the boot of some runs is not known"),
    ],
)
def test_no_claim_where_more_than_the_settings_differs(
    bench: ReportBench, changes: dict[str, Any], words: str
) -> None:
    result = bench.json(arm("s", BEFORE), arm("t", AFTER, first=1, **changes))
    assert result["verdict"] == "descriptive-only"
    assert words in result["why"]
    assert {e["p"] for e in result["endpoints"]} == {None}


def test_no_claim_with_differing_stress_ng(bench: ReportBench) -> None:
    after = arm("t", AFTER, first=1)
    for run in after:
        load_ = run["loads"][0]
        run["loads"] = [{**load_, "output": load_["output"].replace("0.15.06", "0.17.06")}]
    result = bench.json(arm("s", BEFORE), after)
    assert result["verdict"] == "descriptive-only"
    assert "the stress-ng versions differ" in result["why"]


def test_no_claim_within_a_boot(bench: ReportBench) -> None:
    after = arm("t", AFTER, first=1)
    after[2]["boot_id"] = "boot-s2"
    result = bench.json(arm("s", BEFORE), after)
    assert result["verdict"] == "descriptive-only"
    assert "both sides have runs of the same boot" in result["why"]


def test_an_invalid_run_is_refused_but_not_under_emulation(bench: ReportBench) -> None:
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
        ({"cpus": [cpu_run(3, 500.0, 50.0)]}, "measured CPUs differ"),
        (
            {
                "complete": False,
                "problems": ["rtla is not installed, so there is no second opinion"],
            },
            "rtla is not installed",
        ),
        ({"attribution": {"observer": "switches"}}, ""),
    ],
)
def test_a_claim_with_a_warning(bench: ReportBench, changes: dict[str, Any], words: str) -> None:
    result = bench.json(arm("s", BEFORE), arm("t", AFTER, first=1, **changes))
    assert result["verdict"] == "reduced"
    assert not words or any(words in flag for flag in result["flags"])


def test_boots_with_more_runs_are_flagged(bench: ReportBench) -> None:
    after = arm("t", AFTER, first=1)
    more = [{**run, "label": f"{run['label']}-{n}"} for run in after for n in range(2)]
    flags = bench.json(arm("s", BEFORE), [*after, *more])["flags"]
    assert any("the boots have 1 to 3 runs" in flag for flag in flags)
    assert not any("the boots have" in f for f in bench.json(arm("s", BEFORE), after)["flags"])


@pytest.mark.parametrize("changes", [{"threshold_ns": 1000}, {"duration_s": 60}])
def test_threshold_and_duration_do_not_touch_interrupts(
    bench: ReportBench, changes: dict[str, Any]
) -> None:
    after = arm("t", AFTER, first=1, emulated=True, **changes)
    assert bench.json(arm("s", BEFORE, emulated=True), after)["verdict"] == "reduced"


def test_a_load_that_did_less_is_told_beside_the_fall(bench: ReportBench) -> None:
    after = arm("t", AFTER, first=1)
    for run in after:
        load = run["loads"][0]
        run["loads"] = [{**load, "output": re.sub(r"(real-time: +)\d", r"\1", load["output"])}]
    result = bench.json(arm("s", BEFORE), after)
    assert result["verdict"] == "reduced"
    assert "work in t than in s: part of the change may come from the load" in result["why"]
    assert result["flags"][0] in result["why"]
    same = bench.json(arm("s", BEFORE), arm("t", AFTER, first=1))
    assert "the load did" not in same["why"]


def test_ticks_that_an_emulators_host_swallowed_are_told_beside_the_number(
    bench: ReportBench,
) -> None:
    host = {"hz": 250}
    lost = [
        {**run, "host": host, "cpus": [cpu_run(2, 140.0)]}
        for run in arm("s", BEFORE, emulated=True)
    ]
    after = [
        {**run, "host": host, "cmdline": "nohz_full=2", "cpus": [cpu_run(2, 1.0)]}
        for run in arm("t", AFTER, first=1, emulated=True)
    ]
    words = "the host swallowed ticks of s: 105 a second on a CPU whose kernel makes 250"
    result = bench.json(lost, after)
    assert words in result["why"] and words in result["flags"][:2]
    whole = [{**run, "cpus": [cpu_run(2, 335.0)]} for run in lost]
    assert "swallowed" not in bench.json(whole, after)["why"]


def _without_scipy(bench: ReportBench, *words: str) -> subprocess.CompletedProcess[str]:
    program = (
        "import sys; sys.modules['scipy'] = None; from lowlat.cli import main; sys.exit(main())"
    )
    command = [sys.executable, "-c", program, "report", *words]
    return subprocess.run(
        command, cwd=bench.folder, capture_output=True, text=True, timeout=GUARD_S
    )


def test_without_scipy_the_report_describes(bench: ReportBench) -> None:
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
    assert endpoint(result, "noise_ppm")["ratio"] == pytest.approx(1.968, abs=0.001)


# The gate


def test_the_gate_wants_the_low_end_of_the_interval(bench: ReportBench) -> None:
    files = [
        *bench.runs("b", *arm("s", BEFORE)),
        "--against",
        *bench.runs("a", *arm("t", AFTER, first=1)),
    ]
    assert bench.call(*files, "--require", "noise_ppm>=1.92")[0] == 0
    with pytest.raises(Unmet) as caught:
        bench.call(*files, "--require", "noise_ppm>=1.95")
    assert str(caught.value).endswith("noise_ppm>=1.95, measured 1.969, at least 1.928 (95 %)")


def test_a_gate_on_a_claim_that_is_not_made_is_missed(bench: ReportBench) -> None:
    before, after = bench.runs("b", *arm("s", BEFORE)), arm("t", AFTER, first=1)
    other = [{**run, "policy": "fifo:1"} for run in after]
    with pytest.raises(Unmet, match="noise_ppm>=1.5, but there is no bound of it: 8 boots each"):
        bench.call(*before, "--against", *bench.runs("a", *other), "--require", "noise_ppm>=1.5")
    files = [*before, "--against", *bench.runs("a", *after)]
    with pytest.raises(
        Unmet, match="max_ns>=0.5, but there is no bound of it: it is never claimed"
    ):
        bench.call(*files, "--require", "max_ns>=0.5")
