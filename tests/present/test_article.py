# SPDX-License-Identifier: GPL-2.0-or-later
"""``report --article``: the table of the article on osnoise, from runs under several policies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.cli import lowlat
from support.runs import ReportBench, arm, cpu_run


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> ReportBench:
    return ReportBench(tmp_path, capsys)


def runs(name: str, noise: float, longest: float, policy: str) -> list[dict[str, Any]]:
    """Two boots whose noise differs by a tenth, with two kinds of causes."""
    causes = [
        {"class": "irq", "cause": "irq 24 eth0", "events": 60, "time_ns": noise * 60_000},
        {"class": "thread", "cause": "kworker", "events": 30, "time_ns": noise * 60_000},
    ]
    boots = arm(name, (noise, 1.1 * noise), policy=policy)
    for boot in boots:
        value = boot["cpus"][0]["noise_ppm"]
        kept = {"causes": causes, "max_ns": longest}
        boot["cpus"] = [cpu_run(cpu, 10.0, value, **kept) for cpu in (2, 3)]
        boot["label"] = f"{name}-{policy.replace(':', '')}"  # as measure has it
        boot["started"] = boot["started"].replace(":00:00", f":{len(policy)}0:00")
    return boots


def given(bench: ReportBench) -> list[str]:
    """As it is: 0.5 %, 13 ms; tuned: 0.0001 %, 4 us under FIFO."""
    stock = [*runs("stock", 5000.0, 13_000_000, "other"), *runs("stock", 5000, 9_000_000, "fifo:1")]
    tuned = [*runs("tuned", 2.0, 60_000, "other"), *runs("tuned", 1.0, 4_000, "fifo:1")]
    return [*bench.runs("b", *stock), "--against", *bench.runs("a", *tuned)]


def cells(text: str, name: str) -> list[str]:
    (row,) = [line for line in text.splitlines() if line.startswith((f"{name} ", f"| {name} |"))]
    return [cell.strip() for cell in row.strip("| ").split("|" if "|" in row else "  ") if cell]


def test_a_row_for_each_set_up(bench: ReportBench) -> None:
    words = given(bench)
    status, text = bench.call(*words, "--article")
    assert status == 0
    set_ups = ("stock-other", "tuned-other", "stock-fifo1", "tuned-fifo1")
    names = [line.split()[0] for line in text.splitlines() if line.startswith(("stock-", "tuned-"))]
    assert tuple(dict.fromkeys(names)) == set_ups
    header = next(line for line in text.splitlines() if line.startswith("set-up"))
    assert all(word in header for word in ("noise, %", "longest, us", "IRQ (ms)", "thread (ms)"))
    row = cells(text, "stock-other")
    assert row[1:4] == ["2", "0.50", "0.55"] and "13,000" in row
    assert "4.00" in cells(text, "tuned-fifo1")
    _, ticket = bench.call(*words, "--article", "--markdown")
    assert cells(ticket, "stock-other") == row and ticket.startswith("**OS noise by set-up")


def test_the_range_of_the_boots_holds_their_noise(bench: ReportBench) -> None:
    boots = [*arm("stock", (100.0, 100.0, 1000.0)), *arm("stock", (50.0,))]
    for boot in boots[:3]:
        boot["boot_id"] = "first"
    _, text = bench.call(*bench.runs("b", *boots), "--article", "--markdown")
    told = dict(zip(cells(text, "set-up"), cells(text, "stock")))
    assert [told[name] for name in ("boots", "least, %", "greatest, %")] == ["2", "0.005", "0.04"]
    assert told["noise, %"] == "0.031"


def test_the_longest_event_of_each_class(bench: ReportBench) -> None:
    boots = runs("stock", 5000.0, 13_000_000, "other")
    for place, cpu in enumerate(cpu for boot in boots for cpu in boot["cpus"]):
        most = {"irq": 1000 * (place + 1), "thread": 70_000 - 10_000 * place}
        cpu["causes"] = [{**cause, "max_ns": most[cause["class"]]} for cause in cpu["causes"]]
    _, text = bench.call(*bench.runs("b", *boots), "--article", "--markdown")
    title = "the longest by class, us"
    told = dict(zip(cells(text, title), cells(text.partition(title)[2], "stock-other")))
    assert (told["IRQ"], told["thread"]) == ("4.00", "70.0")
    # Runs of older versions do not tell them.
    del boots[0]["cpus"][0]["causes"][0]["max_ns"]
    _, text = bench.call(*bench.runs("b", *boots), "--article", "--markdown")
    assert title not in text


def test_the_page_has_all_set_ups(bench: ReportBench, tmp_path: Path) -> None:
    status, text = bench.call(*given(bench), "--article", "--html", str(tmp_path / "page.html"))
    assert status == 0 and "Page: " in text
    page = (tmp_path / "page.html").read_text()
    assert all(name in page for name in ("all set-ups", "stock-other", "tuned-fifo1"))


def test_what_the_runs_lack_is_told(bench: ReportBench) -> None:
    boots = arm("stock", (5000.0,))
    for boot in boots:
        boot["cpus"] = [cpu_run(2, 10.0, 5000.0, causes=None)]
    _, text = bench.call(*bench.runs("b", *boots), "--article")
    assert "measure --causes" in text and "--policy other,fifo:1" in text
    assert cells(text, "stock")[1:4] == ["1", "0.50", "0.50"]


def test_emulated_time_makes_no_table(bench: ReportBench) -> None:
    (path,) = bench.runs("b", *arm("stock", (5000.0,), emulated=True))
    told = lowlat("report", path, "--article").refused()
    assert "durations mean nothing" in told and "measure on hardware" in told
    assert "leave the other forms" in lowlat("report", path, "--article", "--json").refused()


def test_a_cpu_that_not_every_run_measured_is_named(bench: ReportBench) -> None:
    boots = arm("stock", (100.0, 100.0))
    boots[1]["cpus"] = boots[1]["cpus"][:1]
    _, text = bench.call(*bench.runs("b", *boots), "--article")
    assert "not every run of stock measured CPU 3" in text
