# SPDX-License-Identifier: GPL-2.0-or-later
"""``report ONE``: runs without a comparison, and causes in every output format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.runs import AFTER, BEFORE, ReportBench, arm, cpu_run, document, endpoint


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> ReportBench:
    return ReportBench(tmp_path, capsys)


def cause(kind: str, name: str, events: int, time_ns: int) -> dict[str, Any]:
    return {"class": kind, "cause": name, "events": events, "time_ns": time_ns}


TRACED = [cause("irq", "local_timer", 12_000, 24_000_000), cause("thread", "kworker", 3, 12_000)]


def traced(label: str, **changes: Any) -> dict[str, Any]:
    cpus = [cpu_run(n, 100.0, 1200.0, causes=TRACED) for n in (2, 3)]
    return document(label, 0, cpus=cpus, **changes)


def test_one_run_is_described(bench: ReportBench) -> None:
    status, out = bench.call(*bench.runs("x", traced("quiet")))
    lines = out.splitlines()
    assert status == 0
    assert lines[0] == (
        "quiet on CPUs 2-3, 120 s: noise 1,200 ppm (0.12 %), the longest gap 5.40 us, 100.0 "
        "interrupts/s (complete)."
    )
    row = next(line.split() for line in lines if line.startswith("2 "))
    # CPU, seconds, noise in percent, longest gap, interrupts, and for each class the number and its
    # ms.
    assert row == [
        *("2", "120", "0.12", "5.40", "100.0"),
        *("0", "0", "12,000", "(24.0)", "0", "3", "(0.012)"),
        # The rest of the noise, of which no cause is known.
        *("0", "(120.0)"),
    ]
    assert any(line.split() == ["irq:", "local_timer", "200.0"] for line in lines)


def test_the_description_in_json_and_markdown(bench: ReportBench) -> None:
    (file,) = bench.runs("x", traced("quiet", complete=False, problems=["interrupted"]))
    described = json.loads(bench.call(file, "--json")[1])
    named = (described["schema"], described["label"], described["runs"])
    assert named == ("lowlat.description/1", "quiet", 1)
    assert (described["complete"], described["flags"]) == (False, ["interrupted"])
    figures = {(one["name"], one["cpu"]): one["value"] for one in described["figures"]}
    assert figures["noise_ppm", 2] == figures["noise_ppm", "all"] == pytest.approx(1200.0)
    assert figures["cause_ppm@irq: local_timer", "all"] == pytest.approx(200.0)
    assert figures["cause_per_s@irq: local_timer", 3] == pytest.approx(100.0)
    marked = bench.call(file, "--markdown")[1]
    assert marked.startswith("**quiet on CPUs 2-3, 120 s: ") and "(PARTIAL)" in marked


def test_several_runs_are_described_together(bench: ReportBench) -> None:
    _, out = bench.call(*bench.runs("x", *arm("s", BEFORE)))
    assert out.startswith("s on CPUs 2-3, 960 s in 8 runs of 8 boots: noise 100.4 ppm")


def test_what_no_figure_can_stand_for_is_said_first(bench: ReportBench) -> None:
    """A forgotten --against pools both arms."""
    stock, tuned = arm("stock", BEFORE[:2]), arm("tuned", AFTER[:2])
    fifo = [{**run, "policy": "fifo:1"} for run in arm("stock", BEFORE[:2])]
    elsewhere = [{**run, "host": {"name": "another"}} for run in stock]
    relined = [{**run, "cmdline": "quiet nohz=off"} for run in stock]
    for other, said in (
        (tuned, "2 labels are pooled (stock, tuned): --against compares them. b0.json and 3 more"),
        (fifo, "2 scheduling policies are pooled (other, fifo:1): --article has a row for each."),
        (elsewhere, "the runs are of 2 hosts, another (o1.json) and node (b1.json)"),
        (relined, "the boots of stock have 2 command lines: 'nohz=off stock' differs."),
    ):
        files = [*bench.runs("b", *stock), *bench.runs("o", *other)]
        assert bench.call(*files)[1].startswith(said)
    status, out = bench.call(*files, "--json")
    assert status == 0 and "2 command lines" in json.loads(out)["pooled"]
    assert json.loads(bench.call(*files[:2], "--json")[1])["pooled"] == ""


def test_interrupts_of_other_cpus_are_interrupts_and_what_nobody_traced_has_no_class(
    bench: ReportBench,
) -> None:
    """The format of the kernel's osnoise tracer."""
    causes = [*TRACED, cause("ipi", "IPI reschedule", 5, 1_000_000)]
    run = document("quiet", 0, cpus=[cpu_run(2, 1.0, causes=causes)])
    described = json.loads(bench.call(*bench.runs("x", run), "--json")[1])
    figures = {(one["name"], one["cpu"]): one["value"] for one in described["figures"]}
    assert figures["osnoise_ppm@IRQ", 2] == pytest.approx(25e6 / 120e9 * 1e6)
    assert figures["osnoise_per_s@IRQ", 2] == pytest.approx(12_005 / 120)
    assert figures["osnoise_per_s@HW", 2] == figures["osnoise_ppm@NMI", 2] == 0
    switches = [cause("thread", "another", 4, 10), cause("interrupt-or-hardware", "none", 9, 90)]
    untraced = document("stock", 0, cpus=[cpu_run(2, 1.0, causes=switches)])
    _, out = bench.call(*bench.runs("y", untraced))
    (header,) = [line for line in out.splitlines() if line.startswith("CPU ") and "thread" in line]
    assert header.split("interrupts/s")[1].split() == [
        *("thread", "(ms)", "IRQ", "or", "HW", "(ms)", "not", "recorded", "(ms)")
    ]


@pytest.mark.parametrize(
    ("noise_ns", "worst"),
    [
        ([1e6, 3e6, 4e6], 3000.0),
        # A gap of 1.2 s began in the second before.
        ([1e6, 1.2e9, 0], 1e6),
        ([4e8, 1e6, 2.3e9], 1e6),
        ([1e6, 1e6, 1e9], 5e5),
    ],
)
def test_the_worst_second_is_the_noisiest_step_by_its_length(
    bench: ReportBench, noise_ns: list[float], worst: float
) -> None:
    series = {"noise_ns": noise_ns, "gaps": [1, 1, 1], "interrupts": None}
    cpus = [cpu_run(2, 1.0, runtime_ns=4e9, series=series)]
    # The recorder woke late: the last step ends with the detector.
    run = document("quiet", 0, cpus=cpus, series={"ends_s": [1.0, 2.0, 5.5]})
    described = json.loads(bench.call(*bench.runs("x", run), "--json")[1])
    figures = {(one["name"], one["cpu"]): one["value"] for one in described["figures"]}
    assert figures["worst_second_ppm", 2] == figures["worst_second_ppm", "all"] == worst


def test_the_longest_gaps_have_their_causes_in_order_with_their_times(bench: ReportBench) -> None:
    chain = [
        {"class": "irq", "cause": "local_timer", "time_ns": 2_000},
        {"class": "softirq", "cause": "TIMER", "time_ns": 5_000},
        *({"class": "thread", "cause": f"t{n}", "time_ns": 10_000 + n} for n in range(6)),
    ]
    gaps = [{"begin_s": 0.5 * n, "length_ns": 70_000 + n, "chain": chain} for n in range(5)]
    run = document("quiet", 0, cpus=[cpu_run(2, 1.0, longest=gaps, causes=TRACED)])
    run["host"] = {"sets": {"feed": "2", "engine": "3"}}
    (file,) = bench.runs("x", run)
    described = json.loads(bench.call(file, "--json")[1])
    assert [one["begin_s"] for one in described["longest_gaps"]] == [2.0, 1.5, 1.0]
    assert described["longest_gaps"][0]["chain"] == chain
    assert described["sets"] == {"feed": "2", "engine": "3"}
    lines = bench.call(file)[1].splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("quiet, CPU 2 feed at 2.000 s"))
    assert lines[at].split()[-1] == "70.0"
    assert lines[at + 1].split() == ["-", "thread:", "t0", "10.0"]
    assert lines[at + 7].split() == ["-", "2", "shorter", "causes", "7.00"]
    assert any(line.startswith("2 feed ") for line in lines)
    other = bench.runs("y", document("tuned", 0, cpus=[cpu_run(2, 1.0, causes=TRACED)]))
    both = json.loads(bench.call(file, "--against", *other, "--json")[1])
    assert [(one["arm"], one["cpu"]) for one in both["longest_gaps"]] == [("quiet", 2)] * 3
    out = bench.call(file, "--against", *other)[1]
    rows = [line.split() for line in out.splitlines()]
    (row,) = [row for row in rows if row[:3] == ["2", "feed", "tuned"]]
    assert row[3] == "120" and row[-2:] == ["3", "(0.012)"]


def test_of_several_arms_each_that_compares_has_a_row_of_classes(bench: ReportBench) -> None:
    (stock,) = bench.runs("s", traced("stock"))
    (tuned,) = bench.runs("t", traced("tuned", boot_id="another"))
    (guest,) = bench.runs("g", traced("guest", emulated=True))
    _, out = bench.call(stock, "--against", guest, "--arm", "third", tuned)
    lines = [line.split() for line in out.splitlines()]
    at = next(n for n, words in enumerate(lines) if words[:3] == ["CPU,", "by", "class"])
    assert [words[:3] for words in lines[at + 1 : at + 3]] == [
        ["all", "stock", "120"],
        ["all", "third", "120"],
    ]
    assert lines[at + 1][-4:-2] == lines[at + 2][-4:-2] == ["3", "(0.012)"]


def test_the_figures_of_one_arm_as_a_table_for_programs(bench: ReportBench) -> None:
    table = bench.folder / "table.csv"
    bench.call(*bench.runs("x", traced("quiet")), "--csv", str(table))
    header, *rows = table.read_text().splitlines()
    assert header == "arm,name,unit,cpu,value"
    assert "quiet,noise_ppm,ppm,2,1200" in {row.removesuffix(".0") for row in rows}


def test_causes_are_in_every_form_of_a_comparison(bench: ReportBench) -> None:
    before = arm("s", BEFORE, cpus=[cpu_run(2, 100.0, 1200.0, causes=TRACED)])
    after = arm("t", AFTER, first=1, cpus=[cpu_run(2, 1.0, 10.0, causes=TRACED[1:])])
    result = bench.json(before, after)
    figure = endpoint(result, "cause_ppm@irq: local_timer")
    assert (figure["before"], figure["after"], figure["p"]) == (pytest.approx(200.0), 0.0, None)
    assert endpoint(result, "cause_per_s@thread: kworker", 2)["ratio"] == pytest.approx(1.0)
    files = [*bench.runs("b", *before), "--against", *bench.runs("a", *after)]
    table = str(bench.folder / "table.csv")
    out = bench.call(*files, "--csv", table)[1]
    (row,) = [line for line in out.splitlines() if line.startswith("irq: local_timer")]
    assert row.split()[2:] == ["200.0", "(100.0)", "0", "-"]
    assert r"| irq: local\_timer | 200.0 (100.0) | 0 | - |" in bench.call(*files, "--markdown")[1]
    assert "cause_ppm@irq: local_timer,ppm,all,200" in Path(table).read_text()


def test_a_cause_that_is_gone_keeps_its_row(bench: ReportBench) -> None:
    before = arm("s", BEFORE, cpus=[cpu_run(2, 100.0, 1200.0, causes=TRACED)])
    after = arm("t", AFTER, first=1, cpus=[cpu_run(2, 0.0, 0.0, causes=[])])
    traced_too = [{**run, "attribution": {"observer": "trace"}} for run in after]
    row = endpoint(bench.json(before, traced_too), "cause_ppm@irq: local_timer")
    assert (row["before"], row["after"]) == (pytest.approx(200.0), 0.0)
