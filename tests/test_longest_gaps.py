# SPDX-License-Identifier: GPL-2.0-or-later
"""The longest gaps: what is expected once an hour, and where nothing can be said of it."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lowlat.base.errors import Refused
from report_runs import Bench, cpu_run, document, endpoint

np = pytest.importorskip("numpy", reason="the extra `report` is not installed")
pytest.importorskip("scipy", reason="the extra `report` is not installed")


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Bench:
    return Bench(tmp_path, capsys)


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
    assert any("3 x 120 s before, 3 x 120 s after, each CPU" in flag for flag in result["flags"])
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
