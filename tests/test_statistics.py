# SPDX-License-Identifier: GPL-2.0-or-later
"""What the report claims: the test over boots, its interval, its verdicts, and the longest gaps."""

from __future__ import annotations

import itertools
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
from lowlat.report.comparison import holm
from lowlat.report.inference import Row, infer
from report_runs import Bench, cpu_run, document, endpoint

np = pytest.importorskip("numpy", reason="the extra `report` is not installed")
pytest.importorskip("scipy", reason="the extra `report` is not installed")

#: Five boots against five have 252 relabellings, the measured one and its mirror among them.
SMALLEST = 2 / 252


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Bench:
    return Bench(tmp_path, capsys)


def arm(
    name: str, noise: Sequence[float], *, first: int = 0, step: int = 2, **changes: Any
) -> list[dict[str, Any]]:
    """A boot for each value of noise, one each hour; by default both arms may take turns."""
    return [
        document(
            f"{name}{n}",
            10 * value,
            value,
            started=f"2026-11-21T{first + step * n:02d}:00:00Z",
            **changes,
        )
        for n, value in enumerate(noise)
    ]


BEFORE = (100.0, 104.0, 97.0, 102.0, 99.0)
AFTER = (50.0, 53.0, 49.0, 51.0, 52.0)


def compared(bench: Bench, after: Sequence[float], *words: str) -> dict[str, Any]:
    return bench.json(arm("s", BEFORE), arm("t", after, first=1), *words)


# The test and its interval, against the definition


def by_hand(before: Sequence[float], after: Sequence[float]) -> float:
    """The two-sided p of the difference of mean logarithms, relabelling by relabelling."""
    values = [*map(math.log, before), *map(math.log, after)]

    def difference(chosen: Sequence[int]) -> float:
        ours = [values[n] for n in chosen]
        theirs = [value for n, value in enumerate(values) if n not in chosen]
        return sum(ours) / len(ours) - sum(theirs) / len(theirs)

    seen = difference(range(len(before)))
    all_of_them = list(itertools.combinations(range(len(values)), len(before)))
    above = sum(difference(chosen) >= seen - 1e-12 for chosen in all_of_them)
    below = sum(difference(chosen) <= seen + 1e-12 for chosen in all_of_them)
    return min(1.0, 2 * min(above, below) / len(all_of_them))


@pytest.mark.parametrize("boots", [(5, 5), (5, 7), (6, 6)])
@pytest.mark.parametrize("seed", range(4))
def test_p_and_interval_are_those_of_the_definition(boots: tuple[int, int], seed: int) -> None:
    draw = np.random.default_rng(seed)
    before = list(draw.lognormal(3, 0.3, boots[0]))
    after = list(draw.lognormal(3 - 0.4 * seed, 0.3, boots[1]))
    (found,) = infer([Row(before, after)])
    assert found.p == found.adjusted == pytest.approx(by_hand(before, after))
    assert found.ci95 is not None
    low, high = found.ci95
    # A ratio just inside the interval is not rejected, one just outside is.
    for ratio, rejected in (
        (low * 1.001, 0),
        (low * 0.999, 1),
        (high * 0.999, 0),
        (high * 1.001, 1),
    ):
        assert (by_hand(before, [value * ratio for value in after]) <= 0.05) == rejected


def test_the_interval_covers_the_truth() -> None:
    draw = np.random.default_rng(7)
    rows = [
        Row(draw.lognormal(1, 0.4, 5), draw.lognormal(1 - math.log(3), 0.4, 5)) for _ in range(800)
    ]
    inside = [low <= 3 <= high for found in infer(rows) if found.ci95 for low, high in [found.ci95]]
    assert len(inside) == 800
    assert 0.93 <= sum(inside) / 800 <= 0.98


def test_more_boots_than_can_all_be_relabelled_are_drawn_at_random() -> None:
    draw = np.random.default_rng(3)
    before, after = draw.lognormal(1, 0.2, 12), draw.lognormal(0.7, 0.2, 12)
    (found,) = infer([Row(before, after)])
    assert found.p == infer([Row(before, after)])[0].p
    assert 0.0002 <= found.p < 0.05
    assert found.ci95 is not None
    assert found.ci95[0] > 1


def test_the_adjusted_p_keeps_the_chance_of_any_false_finding() -> None:
    draw = np.random.default_rng(11)
    false, alone = 0, 0
    for _ in range(300):
        # Figures of one boot hang together: the adjustment uses that.
        shared = draw.normal(size=10) * 0.5
        values = np.exp(shared + draw.normal(size=(12, 10)) * 0.5)
        found = infer([Row(row[:5], row[5:]) for row in values])
        assert all(one.adjusted >= one.p - 1e-12 for one in found)
        false += any(one.adjusted <= 0.05 for one in found)
        alone += any(one.p <= 0.05 for one in found)
    assert false / 300 <= 0.08
    # Without the adjustment that chance is several times as large.
    assert alone / 300 > 0.2


def test_the_smallest_adjusted_p_is_that_of_one_figure() -> None:
    draw = np.random.default_rng(5)
    rows = [Row(draw.lognormal(0, 0.3, 5), draw.lognormal(0, 0.3, 5)) for _ in range(20)]
    found = infer([Row(BEFORE, AFTER), *rows])
    assert found[0].adjusted == pytest.approx(SMALLEST)
    assert max(one.adjusted for one in found) > 0.5


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


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


@pytest.mark.parametrize("boots", [(4, 5), (5, 4), (1, 1), (2, 9)])
def test_below_five_boots_an_arm_there_is_no_p(bench: Bench, boots: tuple[int, int]) -> None:
    before = arm("s", (BEFORE * 2)[: boots[0]], step=1)
    after = arm("t", (AFTER * 2)[: boots[1]], step=1, first=10)
    result = bench.json(before, after)
    assert result["verdict"] == "descriptive-only"
    assert {(e["ci95"], e["p"]) for e in result["endpoints"]} == {(None, None)}


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


def test_zero_in_some_boots_is_ranked(bench: Bench) -> None:
    after = (0.0, 0.0, 1.0, 0.0, 2.0)
    found = endpoint(compared(bench, after), "noise_ppm")
    assert (found["after"], found["ci95"]) == (pytest.approx(0.6), None)
    assert found["p"] == pytest.approx(SMALLEST)
    both = bench.json(arm("s", [0.0] * 5), arm("t", [0.0] * 5, first=1))
    assert both["verdict"] == "no-measurable-change"


# Order and drift


def test_arms_one_after_the_other_are_flagged(bench: Bench) -> None:
    words = "the boots did not take turns"
    turns = compared(bench, AFTER)
    assert not any(words in flag for flag in turns["flags"])
    blocks = bench.json(arm("s", BEFORE, step=1), arm("t", AFTER, step=1, first=10))
    assert any(words in flag for flag in blocks["flags"])
    assert blocks["verdict"] == "reduced"


def test_a_drift_that_explains_the_change_takes_it_back(bench: Bench) -> None:
    wanders = [100 * 0.95**n * (1.001 if n % 2 else 1) for n in range(10)]
    result = bench.json(arm("s", wanders[:5], step=1), arm("t", wanders[5:], step=1, first=10))
    assert result["verdict"] == "descriptive-only"
    assert "-5.1 % a boot is the trend within the arms, and the order" in result["why"]
    assert {(e["ci95"], e["p"]) for e in result["endpoints"]} == {(None, None)}
    # In turn the same drift makes no finding, and is told.
    turns = bench.json(arm("s", wanders[::2]), arm("t", wanders[1::2], first=1))
    assert turns["verdict"] == "no-measurable-change"
    assert any("is the trend within the arms" in flag for flag in turns["flags"])


def test_without_turns_a_change_within_a_possible_trend_is_no_finding(bench: Bench) -> None:
    before, after = (100, 108, 97, 105, 99), (92, 85, 91, 84, 90)
    turns = bench.json(arm("s", before), arm("t", after, first=1))
    assert turns["verdict"] == "reduced"
    result = bench.json(arm("s", before, step=1), arm("t", after, step=1, first=10))
    assert result["verdict"] == "descriptive-only"
    assert "did not take turns, and a trend of 2.9 % a boot is possible" in result["why"]


def test_a_change_far_beyond_the_drift_stays(bench: Bench) -> None:
    before = [100 * 0.99**n * (1.0005 if n % 2 else 1) for n in range(5)]
    after = [10 * 0.99**n * (1.0005 if n % 2 else 1) for n in range(5)]
    result = bench.json(arm("s", before, step=1), arm("t", after, step=1, first=10))
    assert result["verdict"] == "reduced"
    assert any("is the trend within the arms" in flag for flag in result["flags"])


def test_an_unknown_order_is_flagged(bench: Bench) -> None:
    words = "the order of the boots is not known"
    result = bench.json(arm("s", BEFORE, step=0), arm("t", AFTER, step=0))
    assert any(words in flag for flag in result["flags"])
    unread = [{**run, "started": "yesterday"} for run in arm("t", AFTER)]
    assert any(words in flag for flag in bench.json(arm("s", BEFORE), unread)["flags"])


def test_boots_side_by_side_take_turns(bench: Bench) -> None:
    flags = bench.json(arm("s", BEFORE), arm("t", AFTER))["flags"]
    assert not any("order of the boots" in flag or "take turns" in flag for flag in flags)


# What forbids a claim, and what only weakens it


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"threshold_ns": 1000}, "the thresholds differ"),
        ({"policy": "fifo:1"}, "the scheduling policies differ"),
        ({"loads": []}, "the loads differ"),
        ({"host": {"arch": "x86_64", "processor": "B"}}, "the machines differ"),
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
    ],
)
def test_a_claim_with_a_warning(bench: Bench, changes: dict[str, Any], words: str) -> None:
    result = bench.json(arm("s", BEFORE), arm("t", AFTER, first=1, **changes))
    assert result["verdict"] == "reduced"
    assert any(words in flag for flag in result["flags"])


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


def test_too_many_arms_for_five_boots(bench: Bench) -> None:
    """Seven arms at 2/252 are above 5 %: the verdict follows the adjusted p."""
    more = [
        word
        for n in range(6)
        for word in ("--arm", f"x{n}", *bench.runs(f"x{n}", *arm(f"x{n}", AFTER, first=1)))
    ]
    files = [
        *bench.runs("b", *arm("s", BEFORE)),
        "--against",
        *bench.runs("a", *arm("t", AFTER, first=1)),
    ]
    _, out = bench.call(*files, *more, "--json")
    verdicts = {one["report"]["verdict"] for one in json.loads(out)["arms"]}
    assert verdicts == {"no-measurable-change"}


def test_arms_in_one_table(bench: Bench) -> None:
    _, out = bench.call(*arms(bench))
    lines = out.splitlines()
    assert (
        lines[0] == "Noise against before: after reduced, poll reduced, same no measurable change."
    )
    (row,) = [line for line in lines if line.startswith("poll ")]
    assert "5 / 5" in row
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
    with pytest.raises(Refused, match="no arm 'pole'"):
        bench.call(*arms(bench, "--require", "pole:noise_ppm>=150"))


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
    assert "after reduced, poll reduced" in out


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
        ([[200.0] * 500], "needs 1000 gaps, there are 500"),
        ([[200.0] * 5000], "are not told apart"),
        ([[]], "needs 1000 gaps, there are 0"),
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
    runs = [gaps(name, exponential(4, 1000, 1, 1200), 1e7) for name in "st"]
    flags = bench.json(runs[0], runs[1])["flags"]
    assert any("fewer gaps than that, of any length" in flag for flag in flags)


def test_a_fit_that_depends_on_its_threshold_is_none(bench: Bench) -> None:
    draw = np.random.default_rng(8)
    # A second, longer kind of gap: the lowest of the thresholds takes in both.
    mixed = [100 + np.concatenate([draw.exponential(300, 9000), draw.exponential(3000, 300)])]
    result = bench.json(gaps("s", exponential(1, 1000)), gaps("t", mixed))
    assert not [e for e in result["endpoints"] if e["name"].startswith("return_level")]
    assert any("the fit depends on its threshold" in flag for flag in result["flags"])


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


def test_an_event_log_tells_bursts_apart(bench: Bench) -> None:
    """Thirty gaps a burst, all alike: without their times they are too alike for a fit."""
    draw = np.random.default_rng(12)
    logs, sizes = [], []
    for _ in range(6):
        starts = np.repeat(np.sort(draw.uniform(0, 120e9, 600)), 30)
        size = 100 + np.repeat(draw.exponential(3000, 600), 30)
        begins = starts + np.tile(np.arange(30) * 1e5, 600)
        logs.append(list(zip(begins.tolist(), size.tolist())))
        sizes.append(size)
    files = [bench.runs(name, *gaps(name, sizes[at : at + 3])) for name, at in (("b", 0), ("a", 3))]
    words = [*files[0], "--against", *files[1], "--json"]
    for side, log in zip(files, (logs[:3], logs[3:])):
        # A log for some of the runs is none.
        names = {e["name"] for e in json.loads(bench.call(*words)[1])["endpoints"]}
        assert "return_level_ns@1h" not in names
        logged(bench, side, log)
    result = json.loads(bench.call(*words)[1])
    # 600 bursts in 120 s are 18,000 an hour.
    known = 100 + 3000 * math.log(18_000)
    assert endpoint(result, "return_level_ns@1h")["before"] == pytest.approx(known, rel=0.12)
    assert not any("bursts" in flag for flag in result["flags"])


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
    assert "needs 1000 gaps, there are 0" in out


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
