# SPDX-License-Identifier: GPL-2.0-or-later
"""Wake-up latency in every output format of the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lowlat.report import load
from support.runs import AFTER, BEFORE, SMALLEST, ReportBench, arm, cpu_run, endpoint


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> ReportBench:
    return ReportBench(tmp_path, capsys)


def woken(
    name: str, noise: tuple[float, ...], us: float, *, first: int = 0, interval: int = 1_000_000
) -> list[dict[str, Any]]:
    """Runs in which both CPUs had this p99.9 wake-up latency, and cyclictest half of it."""
    chain = [{"class": "thread", "cause": f"hog of {name}", "time_ns": us * 4000}]
    late = {
        "interval_ns": interval,
        "late_ns": {
            "p50": 100 * us,
            "p99": 500 * us,
            "p99.9": 1e3 * us,
            "p99.99": 2e3 * us,
            "max": 4e3 * us,
        },
        "skipping_ns": {"p99.9": 700 * us},
        "longest": [{"begin_s": 1.5, "length_ns": us * 4000, "chain": chain}],
    }
    times = [
        {
            "cpu": cpu,
            "max_us": most,
            "samples": 1,
            "range_us": us,
            "counts": [[us / 4, us * 0.75, 1]],
        }
        for cpu, most in ((2, us * 3), (3, us * 4))
    ]
    cross_check = {"tool": "cyclictest", "parsed": {"version": "2.40", "times": times}}
    runs = arm(name, noise, first=first)
    for run, ppm in zip(runs, noise):
        run["cpus"] = [cpu_run(cpu, 10.0, ppm, wakeup=late) for cpu in (2, 3)]
        run["second_opinions"] = [cross_check]
    return runs


def test_p999_is_a_figure_of_the_claim(bench: ReportBench) -> None:
    result = bench.json(woken("s", BEFORE, 80), woken("t", AFTER, 20, first=1))
    figure = endpoint(result, "wakeup_p99.9_ns")
    assert (figure["before"], figure["after"], figure["ratio"]) == (80_000, 20_000, 4.0)
    assert figure["p"] is not None and figure["ratio_at_least"] > 1
    assert endpoint(result, "wakeup_max_ns", 3)["after"] == 80_000
    assert endpoint(result, "cyclictest_p99.9_us")["before"] == 40
    assert endpoint(result, "cyclictest_max_us")["before"] == 320
    latest = [gap for gap in result["longest_gaps"] if gap["wakeup"]]
    assert [gap["chain"][0]["cause"] for gap in latest] == ["hog of s", "hog of t"]


def test_the_gate_takes_it(bench: ReportBench) -> None:
    files = [
        bench.runs("b", *woken("s", BEFORE, 80)),
        bench.runs("a", *woken("t", AFTER, 20, first=1)),
    ]
    status, _ = bench.call(*files[0], "--against", *files[1], "--require", "wakeup_p99.9_ns>=2")
    assert status == 0


def test_it_stands_beside_cyclictest_with_their_agreement(bench: ReportBench) -> None:
    files = [
        bench.runs("b", *woken("s", BEFORE, 80)),
        bench.runs("a", *woken("t", AFTER, 20, first=1)),
    ]
    _, out = bench.call(*files[0], "--against", *files[1])
    lines = [line.split() for line in out.splitlines()]
    at = next(
        n
        for n, words in enumerate(lines)
        if words[:2] == ["wake-up", "latency,"] and "p50" in words
    )
    assert lines[at + 1][-5:] == ["8.00", "40.0", "80.0", "160.0", "320.0"]
    assert lines[at + 2][-3] == "56.0"
    assert lines[at + 3] == ["-", "cyclictest", *["40.0"] * 4, "320.0"]
    assert lines[at + 4][:5] == ["-", "agreement", "-", "-", "1.40"]
    assert "s, CPU 2 at 1.500 s: the latest wake-up" in out
    status, alone = bench.call(*files[0])
    assert status == 0 and "- cyclictest" in alone and "the latest wake-up" in alone


def test_other_intervals_do_not_compare(bench: ReportBench) -> None:
    other = woken("t", AFTER, 20, first=1, interval=200_000)
    result = bench.json(woken("s", BEFORE, 80), other)
    assert any("intervals of wake-ups differ" in flag for flag in result["flags"])
    assert result["verdict"] == "descriptive-only"


# As the primary endpoint


def judged(runs: list[dict[str, Any]], profile: str = "lowlat-rt", **changes: Any) -> Any:
    """Runs of boots of a profile that is judged by wake-ups."""
    host = {"profile": profile, "judged_by": "wakeup_p99.9_ns"}
    return [{**run, "host": host, **changes} for run in runs]


def primary(result: dict[str, Any]) -> str:
    (found,) = [e for e in result["endpoints"] if e["primary"]]
    assert found["cpu"] == "all"
    return str(found["name"])


def test_it_is_what_the_verdict_is_about_where_the_profile_is_judged_by_it(
    bench: ReportBench,
) -> None:
    """The noise decreased, but threads wake up later: the profile is judged by wake-ups."""
    before, after = woken("s", BEFORE, 20), judged(woken("t", AFTER, 80, first=1))
    result = bench.json(before, after)
    assert (primary(result), result["verdict"]) == ("wakeup_p99.9_ns", "increased")
    page = bench.folder / "page.html"
    files = bench.runs("b", *before), bench.runs("a", *after)
    bench.call(*files[0], "--against", *files[1], "--html", str(page))
    assert "The settings made it worse: undo them." in page.read_text()
    assert endpoint(result, "noise_ppm")["primary"] is False
    # For comparison, a run without a profile: the noise decides.
    noise = bench.json(before, woken("t", AFTER, 80, first=1))
    assert (primary(noise), noise["verdict"]) == ("noise_ppm", "reduced")
    assert not any("primary" in flag for flag in noise["flags"])
    # The p of the primary endpoint is not adjusted.
    assert endpoint(result, "wakeup_p99.9_ns")["p"] == pytest.approx(SMALLEST)


def test_every_form_says_which_it_is_and_why(bench: ReportBench) -> None:
    before = bench.runs("b", *woken("stock", BEFORE, 80))
    after = bench.runs("a", *judged(woken("tuned", AFTER, 20, first=1)))
    page = bench.folder / "page.html"
    _, out = bench.call(*before, "--against", *after, "--html", str(page))
    why = "the primary endpoint is wake-up latency (p99.9): profile lowlat-rt is judged by it"
    finding = "Wake-up latency (p99.9) on the isolated CPUs fell from 80.0 us in stock to 20.0 us"
    assert out.startswith(finding)
    assert f"Note: {why}" in out
    assert "; the primary endpoint is wake-up latency (p99.9); the p of the others" in out
    assert "change of wake-up latency (p99.9)" in out
    told = page.read_text()
    for words in (finding, why, "Wake-up latency (p99.9), us", "how late a thread woke"):
        assert words in told
    assert "us, p99.9 of each CPU" in told and "<strong>80.0</strong>" in told
    _, markdown = bench.call(*before, "--against", *after, "--markdown")
    assert markdown.startswith(f"**{finding}") and f"- {why}" in markdown.replace("\\_", "_")


def test_of_several_arms_all_are_about_the_same(bench: ReportBench) -> None:
    arms = [
        bench.runs(name, *runs)
        for name, runs in (
            ("stock", woken("stock", BEFORE, 80)),
            ("plain", woken("plain", AFTER, 60, first=1)),
            ("rt", judged(woken("rt", AFTER, 20, first=1))),
        )
    ]
    words = [*arms[0], "--arm", "plain", *arms[1], "--arm", "rt", *arms[2]]
    status, out = bench.call(*words)
    assert status == 0
    assert out.startswith("Wake-up latency (p99.9) against stock: ")
    assert "80.0 -> 60.0 us" in out and "80.0 -> 20.0 us" in out
    assert "Wake-up latency (p99.9), us: boots" in out


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        # Some runs lack these figures, and some CPUs do.
        ({"lacks": True}, {}, "but not every run has it"),
        ({}, {"lacks": True}, "but not every run has it"),
        # Another profile.
        ({"host": {"profile": "lowlat"}}, {}, "judged by different ones"),
        ({"host": {"profile": "mine", "judged_by": "nonsense"}}, {}, "judged by different ones"),
    ],
)
def test_else_the_noise_is_and_the_report_says_why(
    bench: ReportBench, before: dict[str, Any], after: dict[str, Any], why: str
) -> None:
    one = [{**run, **before} for run in woken("s", BEFORE, 80)]
    other = judged(woken("t", AFTER, 20, first=1), **after)
    for run in (run for run in (*one, *other) if "lacks" in run):
        run["cpus"] = [{**cpu, "wakeup": None} for cpu in run["cpus"]]
    result = bench.json(one, other)
    assert primary(result) == "noise_ppm"
    (flag,) = [flag for flag in result["flags"] if "primary endpoint" in flag]
    assert flag.startswith("the primary endpoint is noise: ") and why in flag


def test_an_endpoint_that_nobody_knows_is_none(bench: ReportBench) -> None:
    runs = judged(woken("t", AFTER, 20, first=1))
    for run in runs:
        run["host"]["judged_by"] = "nonsense"
    assert primary(bench.json(woken("s", BEFORE, 80), runs)) == "noise_ppm"


def test_under_emulation_interrupts_decide_as_ever(bench: ReportBench) -> None:
    before = [{**run, "emulated": True} for run in woken("s", BEFORE, 80)]
    result = bench.json(before, judged(woken("t", AFTER, 20, first=1), emulated=True))
    assert primary(result) == "interrupts_per_s"
    assert not any("primary" in flag for flag in result["flags"])


def test_a_notebook_has_it(bench: ReportBench) -> None:
    (path, *_) = bench.runs("b", *woken("s", BEFORE, 80))
    assert [row["wakeup_p99.9_ns"] for row in load(path).cpus] == [80_000, 80_000]
