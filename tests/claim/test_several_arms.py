# SPDX-License-Identifier: GPL-2.0-or-later
"""More than two arms: each is compared with the first one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lowlat.base.errors import Refused, Unmet
from lowlat.claim.comparison import holm, pairs_needed
from support import needs
from support.runs import AFTER, BEFORE, SMALLEST, ReportBench, arm, endpoint

needs.module("scipy", "the extra `report` is not installed")


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> ReportBench:
    return ReportBench(tmp_path, capsys)


def arms(bench: ReportBench, *more: str) -> list[str]:
    poll = bench.runs("p", *arm("p", [value / 100 for value in AFTER], first=1))
    same = bench.runs("q", *arm("q", BEFORE[::-1], first=1))
    files = [
        *bench.runs("b", *arm("s", BEFORE)),
        "--against",
        *bench.runs("a", *arm("t", AFTER, first=1)),
    ]
    return [*files, "--arm", "poll", *poll, "--arm", "same", *same, *more]


def test_each_arm_against_the_first_with_adjusted_p(bench: ReportBench) -> None:
    status, out = bench.call(*arms(bench, "--json"))
    result = json.loads(out)
    assert status == 0
    assert list(result) == ["schema", "first", "arms"]
    assert (result["schema"], result["first"]) == ("lowlat.comparison/1", "s")
    reports = {one["name"]: one["report"] for one in result["arms"]}
    assert [*reports] == ["t", "poll", "same"]
    assert all(report["schema"] == "lowlat.report/1" for report in reports.values())
    p = {name: endpoint(report, "noise_ppm")["p"] for name, report in reports.items()}
    assert p["t"] == p["poll"] == pytest.approx(3 * SMALLEST)
    verdicts = [report["verdict"] for report in reports.values()]
    assert verdicts == ["reduced", "reduced", "no-measurable-change"]
    assert "p is adjusted for 3 arms" in reports["poll"]["why"]


def alike(bench: ReportBench, count: int, pairs: int) -> list[str]:
    """The arguments of a report on this many equal arms with so many pairs."""
    words = bench.runs("b", *arm("s", (BEFORE * 2)[:pairs]))
    for n in range(count):
        runs = arm(f"x{n}", (AFTER * 2)[:pairs], first=1)
        words += ["--arm", f"x{n}", *bench.runs(f"x{n}-", *runs)]
    return words


def several(bench: ReportBench, count: int, pairs: int) -> list[dict[str, Any]]:
    """The reports of such arms."""
    _, out = bench.call(*alike(bench, count, pairs), "--json")
    return [one["report"] for one in json.loads(out)["arms"]]


def test_what_is_no_change_among_several_arms_excludes_nothing(bench: ReportBench) -> None:
    """Tested alone, each of the first three would be a finding, with an interval beyond 1."""
    words = bench.runs("b", *arm("s", BEFORE))
    for n, noise in enumerate(
        (
            *((93, 97, 98, 95, 92, 95, 94, 98), (93, 97, 98, 95, 92, 100, 94, 98)),
            *((96, 98.5, 97.1, 95, 92, 99, 97, 98), (100, 101, 99, 98, 103, 99, 98, 103)),
        )
    ):
        words += ["--arm", f"x{n}", *bench.runs(f"x{n}-", *arm(f"x{n}", noise, first=1))]
    reports = [one["report"] for one in json.loads(bench.call(*words, "--json")[1])["arms"]]
    assert {report["verdict"] for report in reports} == {"no-measurable-change"}
    for n, report in enumerate(reports):
        low, high = endpoint(report, "noise_ppm")["ci95"]
        assert (low > 1) is (n < 3)
        assert ("are excluded" in report["why"]) is (low < 1 < high)
        assert ("alone this would be a finding" in report["why"]) is (n < 3)
    assert "one that excludes 1 may be no finding" in bench.call(*words)[1]
    # Nor is it one for a gate, which says how many were asked; a bound below 1 asks for no change.
    with pytest.raises(Unmet) as caught:
        bench.call(*words, "--require", "x0:noise_ppm>=1.01", "--require", "x3:noise_ppm>=0.9")
    assert str(caught.value).endswith(
        "not met (1 of 2 gates): x0: noise_ppm>=1.01, measured 1.054, at least 1.021 (95 %), but "
        "the test finds no change (p = 0.1)"
    )
    assert "2 gates asked, 1 met" in bench.printed.out
    with pytest.raises(Unmet, match=r"\(4 of 4 gates\): x0: noise_ppm>=1,"):
        bench.call(*words, "--require", "noise_ppm>=1", "--json")
    gates = json.loads(bench.printed.out)["gates"]
    assert [one["arm"] for one in gates] == [f"x{n}" for n in range(4)]
    assert {(one["gate"], one["met"]) for one in gates} == {("noise_ppm>=1", False)}


def test_as_many_pairs_as_arms_take(bench: ReportBench) -> None:
    """Seven arms at the smallest p exceed 5 %, however clear the change: no test is possible."""
    for report in several(bench, 7, 8):
        assert report["verdict"] == "descriptive-only"
        assert report["why"] == "8 pairs; a test of 7 arms needs 9 pairs of each"
        assert {e["p"] for e in report["endpoints"]} == {None}
        # Each arm has its own interval.
        assert endpoint(report, "noise_ppm")["ci95"][0] > 1.5
    for gate in ("x0:noise_ppm>=1.5", "x0:noise_ppm>=0.5"):
        with pytest.raises(Unmet, match="no bound of it: 8 pairs; a test of 7 arms needs 9"):
            bench.call(*alike(bench, 7, 8), "--require", gate)
    (four, *_) = several(bench, 4, 8)
    assert four["verdict"] == "reduced"
    assert endpoint(four, "noise_ppm")["p"] == pytest.approx(4 * SMALLEST)
    assert [pairs_needed(arms, drawn=False) for arms in (1, 2, 3, 4, 5)] == [6, 7, 8, 8, 9]
    assert [pairs_needed(arms) for arms in (1, 2, 3, 4, 6, 7, 12, 13)] == [6, 7, 7, 8, 8, 9, 9, 10]
    assert pairs_needed(10_000) is None


def test_the_p_of_all_figures_allow_for_the_arms(bench: ReportBench) -> None:
    alone = bench.json(arm("s", BEFORE), arm("t", AFTER, first=1))
    (report, *_) = several(bench, 3, 8)
    for name in ("interrupts_per_s", "events_per_s@1us"):
        assert endpoint(report, name)["p"] == pytest.approx(3 * endpoint(alone, name)["p"])
    assert endpoint(report, "tw_p99.99_ns")["p"] == 1.0


def test_what_is_said_of_work_allows_for_the_arms_too(bench: ReportBench) -> None:
    """Six pairs are enough for one arm, and too few for two."""

    def timed(name: str, values: Sequence[float], mean_ns: float, **how: Any) -> list[str]:
        runs = arm(name, values[:6], **how)
        for n, run in enumerate(runs):
            took = {"kind": "memory", "cpus": "2", "samples": 9, "mean_ns": mean_ns + n}
            run["work"] = [took]
        return bench.runs(name, *runs)

    stock = timed("s", BEFORE, 1000.0)
    others = [timed(name, AFTER, 500.0, first=1) for name in ("t", "u")]
    finding = "latency of work reduced"
    _, alone = bench.call(*stock, "--against", *others[0], "--json")
    assert any(finding in flag for flag in json.loads(alone)["flags"])
    _, both = bench.call(*stock, "--arm", "t", *others[0], "--arm", "u", *others[1], "--json")
    for one in json.loads(both)["arms"]:
        assert one["report"]["verdict"] == "descriptive-only"
        assert not any(finding in flag for flag in one["report"]["flags"])


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def test_arms_in_one_table(bench: ReportBench) -> None:
    _, out = bench.call(*arms(bench))
    lines = out.splitlines()
    assert (
        lines[0] == "Noise against s: t reduced (1.97 times less), poll reduced (197 times less), "
        "same no measurable change."
    )
    (row,) = [line for line in lines if line.startswith("poll ") and "8 / 8" in line]
    assert row.split()[-2:] == ["0.038", "reduced"]
    assert sum(line.startswith("Note: same: no measurable change: p = 1") for line in lines) == 1
    # The noise in percent with the range of the boots.
    at = next(n for n, line in enumerate(lines) if line.startswith("noise, % of the time"))
    assert [line.split()[0] for line in lines[at + 1 : at + 5]] == ["s", "t", "poll", "same"]
    mean, least, greatest = map(float, lines[at + 1].split()[1:4])
    assert least <= mean <= greatest
    _, marked = bench.call(*arms(bench, "--markdown"))
    assert "| s | boots | noise, of the time | change | 95 % | p | verdict |" in marked


def test_kernels_of_different_hz_are_arms(bench: ReportBench) -> None:
    """The tick rate is a choice like any other: each arm has it in its name, and is tested."""
    ticks = [arm("k", BEFORE, first=0, host={"hz": 250})]
    for hz, entries in ((1000, [4 * one for one in BEFORE]), (100, AFTER)):
        kernel = f"6.12.9-{hz}hz"
        ticks.append(arm(f"k{hz}-", entries, first=1, kernel=kernel, host={"hz": hz}))
    files = [*bench.runs("b", *ticks[0])]
    for name, runs in zip(("hz1000", "hz100"), ticks[1:]):
        files += ["--arm", name, *bench.runs(name, *runs)]
    status, out = bench.call(*files)
    assert status == 0
    kernels = [line for line in out.splitlines() if line.startswith("Note: Linux ")]
    assert kernels == [
        "Note: Linux 6.12.9-amd64, HZ=250 in k",
        "Note: Linux 6.12.9-1000hz, HZ=1000 in hz1000",
        "Note: Linux 6.12.9-100hz, HZ=100 in hz100",
    ]
    assert "hz1000: the tick rates differ: k HZ=250, hz1000 HZ=1000" in out
    arms = json.loads(bench.call(*files, "--json")[1])["arms"]
    assert [one["report"]["verdict"] for one in arms] == ["increased", "reduced"]
    assert arms[0]["report"]["kernels"]["after"] == "Linux 6.12.9-1000hz, HZ=1000"
    for form in ("--markdown", "--json"):
        assert "Linux 6.12.9-amd64, HZ=250" in bench.call(files[0], form)[1]


def test_a_gate_for_one_arm_or_for_all(bench: ReportBench) -> None:
    assert bench.call(*arms(bench, "--require", "poll:noise_ppm>=150"))[0] == 0
    with pytest.raises(Unmet, match="t: noise_ppm>=150.*same: noise_ppm>=150"):
        bench.call(*arms(bench, "--require", "noise_ppm>=150"))
    with pytest.raises(Refused, match="no arm 'pole'") as caught:
        bench.call(*arms(bench, "--require", "pole:noise_ppm>=150"))
    assert (caught.value.status, bench.printed.out) == (2, "")
    with pytest.raises(Refused, match="oslat_max_us is not in the report of 'poll'") as caught:
        poll = [{**run, "oslat": None} for run in arm("p", AFTER, first=1)]
        files = ["--arm", "poll", *bench.runs("p", *poll), "--require", "poll:oslat_max_us>=1"]
        bench.call(*bench.runs("b", *({**r, "oslat": None} for r in arm("s", BEFORE))), *files)
    assert (caught.value.status, bench.printed.out) == (2, "")


def test_a_gate_for_an_arm_takes_the_low_end_of_its_interval(bench: ReportBench) -> None:
    """The check of a pipeline: an arm's interrupts fell to between 1/191 and 1/203."""
    low = endpoint(
        json.loads(bench.call(*arms(bench, "--json"))[1])["arms"][1]["report"],
        "interrupts_per_s",
    )["ci95"][0]
    gate = f"poll:interrupts_per_s>={low - 0.01:.2f}"
    assert bench.call(*arms(bench, "--require", gate))[0] == 0
    with pytest.raises(Unmet, match="poll: interrupts_per_s>=.*, measured 19.*, at least 19"):
        bench.call(*arms(bench, "--require", f"poll:interrupts_per_s>={low + 0.01:.2f}"))


def test_an_arm_that_cannot_be_compared_fails_alone(bench: ReportBench) -> None:
    other = bench.runs("e", *arm("e", AFTER, first=1, emulated=True))
    status, out = bench.call(*arms(bench, "--arm", "guest", *other))
    assert status == 1
    assert "guest refused" in out.splitlines()[0]
    assert "Note: guest: refused: some runs were made under emulation" in out
    assert "t reduced (1.97 times less), poll reduced" in out
