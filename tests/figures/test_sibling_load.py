# SPDX-License-Identifier: GPL-2.0-or-later
"""An isolated CPU whose SMT sibling is busy, on invented machines."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Optional

import pytest

from lowlat.host.cpu_idle import busy_shares, idle_ticks
from lowlat.host.root import Root
from support.runs import ReportBench, cpu_run, document

PAIRS = [{"cpus": "0,2"}, {"cpus": "1,3"}]


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> ReportBench:
    return ReportBench(tmp_path, capsys)


def made(label: str, busy: dict[str, float], layout: list[dict[str, str]]) -> dict[str, Any]:
    return document(label, 9.0, isolated="2-3", host={"layout": layout, "busy": busy})


def told(bench: ReportBench, run: dict[str, Any]) -> list[str]:
    _, out = bench.call(*bench.runs("b", run))
    return [line for line in out.splitlines() if "sibling" in line]


def test_a_busy_sibling_is_named(bench: ReportBench) -> None:
    run = made("stock", {"0": 0.97, "1": 0.01, "2": 1.0, "3": 1.0}, PAIRS)
    words = "CPU 2 is isolated, but its SMT sibling was busy for 97 % of the time"
    assert told(bench, run) == [f"Note: {words}"]
    idle = made("tuned", {"0": 0.01, "1": 0.0, "2": 1.0, "3": 1.0}, PAIRS)
    assert f"{words} (stock b0.json)" in bench.json([run], [idle])["flags"]


def test_siblings_that_are_both_measured_disturb_each_other(bench: ReportBench) -> None:
    pair = [{"cpus": "2-3"}, {"cpus": "0-1"}]
    assert len(told(bench, made("stock", {"2": 1.0, "3": 1.0}, pair))) == 2


@pytest.mark.parametrize("layout", [[], [{"cpus": "2"}, {"cpus": "3"}]])
def test_without_smt_there_is_none(bench: ReportBench, layout: list[dict[str, str]]) -> None:
    assert told(bench, made("stock", {"0": 1.0, "2": 1.0, "3": 1.0}, layout)) == []


# Idle in one arm and busy in the other


def beside(label: str, busy: float, noise: float, hardware: Optional[float]) -> dict[str, Any]:
    """A run of CPU 2, whose sibling was busy for this share; ``hardware`` is the hardware's part of
    the noise in ppm, None without a trace."""
    causes = [{"class": "hardware-or-hypervisor", "cause": "no kernel event", "events": 9,
               "time_ns": (hardware or 0) * 120_000}]  # fmt: skip
    observer = "switches" if hardware is None else "trace"
    return document(
        label,
        9.0,
        noise,
        cpus=[cpu_run(2, 9.0, noise, causes=[] if hardware is None else causes)],
        host={"layout": PAIRS, "busy": {"0": busy, "2": 1.0}},
        attribution={"observer": observer, "notes": []},
    )


def said(bench: ReportBench, before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    flags = bench.json([before], [after])["flags"]
    return [flag for flag in flags if flag.startswith("the SMT siblings")]


def test_the_noise_beside_a_busy_sibling_is_told_with_the_hardwares_share(
    bench: ReportBench,
) -> None:
    idle, busy = beside("idle", 0.01, 12.0, 3.0), beside("busy", 0.97, 80.0, 70.0)
    times = "the SMT siblings were busy for 1 % of the time in idle and 97 % of the time in busy"
    share = (
        "the hardware made 3.0 of 12.0 ppm of noise in idle and 70.0 of 80.0 ppm of noise in busy"
    )
    assert said(bench, idle, busy) == [f"{times}: {share}"]


def test_without_a_trace_the_hardwares_share_is_unknown(bench: ReportBench) -> None:
    (flag,) = said(bench, beside("idle", 0.0, 12.0, None), beside("busy", 0.97, 80.0, 70.0))
    assert flag.endswith("the hardware's share of the noise is unknown without a trace (--causes)")


@pytest.mark.parametrize("shares", [(0.01, 0.04), (0.97, 0.5)])
def test_siblings_that_were_alike_in_both_arms_are_no_news(
    bench: ReportBench, shares: tuple[float, float]
) -> None:
    one, other = (beside(f"r{n}", share, 12.0, 3.0) for n, share in enumerate(shares))
    assert said(bench, one, other) == []


def test_siblings_that_nobody_looked_at_were_not_idle(bench: ReportBench) -> None:
    unknown = beside("old", 0.0, 12.0, 3.0)
    del unknown["host"]["busy"]
    assert said(bench, unknown, beside("busy", 0.97, 80.0, 70.0)) == []


def test_idle_time_is_read_from_a_made_up_tree(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "stat").write_text("cpu 9 9 9 9\ncpu0 1 2 3 40 5 6\ncpu7 1 2 3 70 1 0\n")
    assert idle_ticks(Root(str(tmp_path))) == {0: 45, 7: 71}


def test_the_share_of_a_cpu_is_between_none_and_all() -> None:
    """The counters are whole ticks and may decrease: a run with a negative share could not be read
    again."""
    before, after = {0: 100, 1: 100, 2: 100, 3: 100}, {0: 102, 1: 99, 2: 100, 4: 7}
    assert busy_shares(before, after, 1.5) == {0: 0.0, 1: 1.0, 2: 1.0}
    assert busy_shares({0: 0}, {0: 30}, 100.0) == {0: 0.7}
