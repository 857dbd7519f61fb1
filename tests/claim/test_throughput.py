# SPDX-License-Identifier: GPL-2.0-or-later
"""The guard of throughput: the work done by stress-ng's matrix stressor, the loss, and
``--require``."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest

from lowlat.base.errors import Unmet
from support.runs import AFTER, BEFORE, ReportBench, arm, document

MATRIX = (Path(__file__).parents[1] / "data/tools/stress-ng-0.15.06-matrix.yaml").read_text()
TEN = (990.0, 1010.0, 995.0, 1005.0, 1000.0, 1000.0, 985.0, 1015.0, 992.0, 1008.0)


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> ReportBench:
    return ReportBench(tmp_path, capsys)


def work(rates: Sequence[float], cpus: str = "2-3", seconds: int = 2) -> list[dict[str, Any]]:
    """The throughput in the form that lowlat-measure writes."""
    part = {"exit": 0, "output": MATRIX, "log": ""}
    runs = [
        {"value": rate, "parts": [{"cpus": cpu, "value": rate / 2, **part} for cpu in "23"]}
        for rate in rates
    ]
    command = ["stress-ng", "--timeout", f"{seconds}s", "--matrix", "1"]
    return [{"kind": "throughput", "cpus": cpus, "tool": "stress-ng", "version": "0.15.06",
             "command": command,
             "unit": "bogo-ops/s", "samples": len(runs), "mean": fmean(rates),
             "variance": 4.0, "runs": runs}]  # fmt: skip


def boots(name: str, noise: Sequence[float], share: float, first: int) -> list[dict[str, Any]]:
    """Boots that take turns; each does this share of 1,000 a second, or one percent less."""
    made = arm(name, noise, first=first)
    for number, run in enumerate(made):
        run["work"] = work([share * rate * (1 - number % 2 / 100) for rate in TEN])
    return made


def of_boots(bench: ReportBench, share: float) -> list[str]:
    before, after = boots("stock", BEFORE, 1.0, 0), boots("tuned", AFTER, share, 1)
    return [*bench.runs("b", *before), "--against", *bench.runs("a", *after)]


def test_the_mean_of_the_runs_is_told_with_its_interval(bench: ReportBench) -> None:
    (path,) = bench.runs("r", document("stock", 9.0, work=work(TEN)))
    status, out = bench.call(path, "--json")
    throughput = json.loads(out)["throughput"]
    # Student's t with 9 degrees of freedom at 97.5 %.
    half = 2.2622 * stdev(TEN) / math.sqrt(10)
    assert status == 0
    assert (throughput["mean"], throughput["count"], throughput["of"]) == (1000, 10, "runs")
    assert throughput["ci95"] == pytest.approx([1000 - half, 1000 + half], abs=0.01)
    assert "1,000/s (10 runs, 95 %: 993 to 1,007)" in bench.call(path)[1]


def test_of_one_boot_each_the_runs_tell_and_nothing_is_claimed(bench: ReportBench) -> None:
    stock = document("stock", 100.0, work=work(TEN))
    tuned = document("tuned", 10.0, work=work([0.9 * rate for rate in TEN]))
    throughput = bench.json([stock], [tuned])["throughput"]
    assert throughput["lost"] == pytest.approx(0.1) and not throughput["tested"]
    assert 0.08 < throughput["least"] < 0.1 < throughput["most"] < 0.12
    files = [*bench.runs("b", stock), "--against", *bench.runs("a", tuned)]
    # The text stands beside the finding, because the loss is no accident.
    out = " ".join(bench.call(*files)[1].partition("\nNext: ")[0].split())
    assert "throughput changed by -10.0 % (95 %: -10.9 to -9.1 %, of the runs in one boot" in out
    with pytest.raises(Unmet, match=r"throughput_loss<=50%, but there is no bound of it: 1 boot"):
        bench.call(*files, "--require", "throughput_loss<=50%")


def test_not_inferior_is_what_the_far_end_of_the_interval_allows(bench: ReportBench) -> None:
    files = of_boots(bench, 0.98)
    out = bench.call(*files, "--json")[1]
    throughput = json.loads(out)["throughput"]
    assert throughput["lost"] == pytest.approx(0.02, abs=1e-4) and throughput["tested"]
    assert 0.02 < throughput["most"] < 0.05
    most = math.ceil(1000 * throughput["most"]) / 10
    assert bench.call(*files, "--require", "throughput_loss<=5%")[0] == 0
    assert bench.call(*files, "--require", f"tuned:throughput_loss <= {most} %")[0] == 0
    with pytest.raises(Unmet, match=r"throughput_loss<=2%, but throughput changed by -2.0 %"):
        bench.call(*files, "--require", "throughput_loss<=2%")


@pytest.mark.parametrize("other", [{"cpus": "3"}, {"seconds": 300}])
def test_the_sums_of_other_cpus_or_times_are_not_compared(
    bench: ReportBench, other: dict[str, Any]
) -> None:
    stock = document("stock", 100.0, work=work(TEN))
    tuned = document("tuned", 10.0, work=work(TEN, **other))
    result = bench.json([stock], [tuned])
    words = "CPUs and times of stress-ng's matrix differ"
    assert result["throughput"] is None and any(words in flag for flag in result["flags"])
    assert json.loads(bench.call(*bench.runs("r", stock, tuned), "--json")[1])["throughput"] is None


def test_the_guard_changes_no_claim(bench: ReportBench) -> None:
    with_guard = json.loads(bench.call(*of_boots(bench, 0.5), "--json")[1])
    without = bench.json(arm("stock", BEFORE), arm("tuned", AFTER, first=1))
    claims = [
        [(e["name"], e["p"], e["ci95"]) for e in one["endpoints"] if "matrix" not in e["name"]]
        for one in (with_guard, without)
    ]
    assert claims[0] == claims[1] and without["throughput"] is None


def test_under_emulation_no_throughput_is_claimed(bench: ReportBench) -> None:
    runs = [document(n, 9.0, emulated=True, work=work(TEN)) for n in ("stock", "tuned")]
    files = [*bench.runs("b", runs[0]), "--against", *bench.runs("a", runs[1])]
    assert json.loads(bench.call(*files, "--json")[1])["throughput"] is None
    with pytest.raises(Unmet, match="throughput_loss<=5%, but time means nothing under emulation"):
        bench.call(*files, "--require", "throughput_loss<=5%")
