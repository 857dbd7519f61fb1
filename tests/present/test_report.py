# SPDX-License-Identifier: GPL-2.0-or-later
"""The report: its figures, its refusals, and its output."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from lowlat.base.errors import Refused, Unmet
from lowlat.measure.run_file import read_run
from lowlat.measure.tools import stress_ng
from support.cli import lowlat
from support.runs import (
    AFTER,
    BEFORE,
    DATA,
    OSLAT_TEXT,
    STRESS,
    ReportBench,
    arm,
    cpu_run,
    document,
    endpoint,
)

CONTRACT = ["schema", "verdict", "why", "boots", "seconds", "emulated", "endpoints"]
CONTRACT += ["not_in_effect", "flags", "labels", "longest_gaps", "sets", "kernels"]
CONTRACT += ["throughput", "pairs", "order", "unpaired", "more_pairs", "campaign", "e_value"]
CONTRACT += ["lost_pairs", "caveats"]
ENDPOINT = ["name", "unit", "cpu", "before", "after", "ratio", "ratio_at_least"]
ENDPOINT += ["ci95", "p", "primary", "pooling", "counts", "ranges", "more_than"]
DURATIONS = ("noise_ppm", "events_per_s@", "tw_", "max_ns", "oslat_")


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> ReportBench:
    return ReportBench(tmp_path, capsys)


# The contract


def test_contract_keys_in_order(bench: ReportBench) -> None:
    result = bench.json([document("stock", 236.0)], [document("tuned", 4.0)])
    assert list(result) == CONTRACT
    assert result["schema"] == "lowlat.report/1"
    assert result["boots"] == {"before": 1, "after": 1}
    assert all(list(e) == ENDPOINT for e in result["endpoints"])
    assert {(e["ci95"], e["p"]) for e in result["endpoints"]} == {(None, None)}


def test_all_endpoints_of_the_contract_per_cpu_and_in_total(bench: ReportBench) -> None:
    result = bench.json([document("stock", 236.0)], [document("tuned", 4.0)])
    names = ["noise_ppm", "tw_p99.99_ns", "tw_p99.9999_ns", "interrupts_per_s"]
    names += [f"events_per_s@{level}" for level in ("100ns", "1us", "10us", "100us")]
    for name in names:
        for cpu in ("all", 2, 3):
            assert endpoint(result, name, cpu)["unit"]
    assert [(e["name"], e["cpu"]) for e in result["endpoints"] if e["primary"]] == [
        ("noise_ppm", "all")
    ]


def test_sources_softirqs_oslat_and_throughput_are_there_too(bench: ReportBench) -> None:
    result = bench.json([document("stock", 200.0)], [document("tuned", 4.0)])
    assert endpoint(result, "interrupts_per_s@LOC")["ratio"] == pytest.approx(50)
    assert endpoint(result, "interrupts_per_s@24", 3)["after"] == 1.0
    assert endpoint(result, "softirqs_per_s@RCU")["ratio"] == 1.0
    assert endpoint(result, "oslat_max_us", 3)["after"] == 12059
    assert endpoint(result, "bogo_ops_per_s@vm")["after"] == pytest.approx(29852.752046)


# The figures


def test_total_is_the_mean_over_cpus_and_the_largest_maximum(bench: ReportBench) -> None:
    cpus = [cpu_run(2, 1.0, max_ns=100), cpu_run(3, 4.0, max_ns=700)]
    result = bench.json([document("stock", 10.0)], [document("tuned", 0, cpus=cpus)])
    assert endpoint(result, "interrupts_per_s")["after"] == 2.5
    assert endpoint(result, "interrupts_per_s")["ratio"] == 4.0
    assert endpoint(result, "max_ns")["after"] == 700


def test_several_runs_are_boots_and_their_mean_counts(bench: ReportBench) -> None:
    """Counted events have the arithmetic mean, which is the count over the whole time; all other
    figures have the geometric mean, whose ratios are tested."""
    before = [document(f"s{n}", n, n) for n in (100.0, 400.0, 200.0)]
    after = [document(f"t{n}", n, n) for n in (2.0, 32.0, 8.0)]
    result = bench.json(before, after)
    figure = endpoint(result, "interrupts_per_s")
    assert (figure["before"], figure["after"]) == (pytest.approx(700 / 3), pytest.approx(14.0))
    assert figure["counts"] == [700 * 240, 42 * 240]
    figure = endpoint(result, "noise_ppm")
    assert (figure["before"], figure["after"]) == (pytest.approx(200.0), pytest.approx(8.0))
    assert (figure["ratio"], figure["counts"]) == (pytest.approx(25.0), None)
    assert result["boots"] == {"before": 3, "after": 3}
    assert result["verdict"] == "descriptive-only"
    assert "3 boots each; a test needs 6 pairs of boots" in result["why"]


def test_runs_of_one_boot_nest_in_it(bench: ReportBench) -> None:
    after = [document(f"t{n}", n, boot_id="same") for n in (1.0, 3.0)] + [document("t", 10.0)]
    result = bench.json([document("stock", 12.0)], after)
    # Boot "same" counts as 2, and the other as 10.
    assert endpoint(result, "interrupts_per_s")["after"] == pytest.approx(6.0)
    assert result["boots"] == {"before": 1, "after": 2}
    assert any("share a boot" in flag for flag in result["flags"])


def test_zero_after_has_no_ratio_and_without_a_test_no_bound(bench: ReportBench) -> None:
    result = bench.json([document("stock", 250.0)], [document("t0", 0.0), document("t1", 0.0)])
    total = endpoint(result, "interrupts_per_s")
    assert (total["ratio"], total["ratio_at_least"]) == (None, None)
    assert total["counts"] == [60_000, 0]


def test_zero_in_some_boots_after_is_no_zero(bench: ReportBench) -> None:
    after = [document(f"t{n}", rate) for n, rate in enumerate((0.0, 0.0, 0.5))]
    result = bench.json([document("stock", 250.0)], after)
    figure = endpoint(result, "interrupts_per_s")
    assert (figure["after"], figure["ratio_at_least"]) == (pytest.approx(0.5 / 3), None)


def test_zero_before(bench: ReportBench) -> None:
    result = bench.json([document("stock", 0.0)], [document("tuned", 5.0)])
    assert endpoint(result, "interrupts_per_s")["ratio"] == 0.0
    both = bench.json([document("stock", 0.0)], [document("tuned", 0.0)])
    figure = endpoint(both, "interrupts_per_s")
    assert (figure["ratio"], figure["ratio_at_least"]) == (None, None)


def test_unknown_figures_are_left_out(bench: ReportBench) -> None:
    cpus = [cpu_run(2, 4.0, switches_per_s=None), cpu_run(3, 4.0)]
    result = bench.json([document("stock", 100.0)], [document("tuned", 0, cpus=cpus)])
    assert [e["cpu"] for e in result["endpoints"] if e["name"] == "switches_per_s"] == [3]


# Emulation


def test_emulation_leaves_out_every_duration_and_says_so_once(bench: ReportBench) -> None:
    result = bench.json(
        [document("stock", 236.0, emulated=True)], [document("tuned", 4.0, emulated=True)]
    )
    assert result["emulated"] is True
    assert not [e for e in result["endpoints"] if e["name"].startswith(DURATIONS)]
    assert endpoint(result, "interrupts_per_s")["primary"] is True
    assert sum("no durations are reported" in flag for flag in result["flags"]) == 1


def test_emulated_against_real_is_refused(bench: ReportBench) -> None:
    result = bench.json([document("stock", 236.0, emulated=True)], [document("tuned", 4.0)])
    assert list(result) == CONTRACT
    assert (result["verdict"], result["endpoints"]) == ("refused", [])
    assert "emulation" in result["why"]


# Comparability


def test_no_common_cpu_is_refused(bench: ReportBench) -> None:
    after = document("tuned", 0, cpus=[cpu_run(1, 4.0)])
    result = bench.json([document("stock", 236.0)], [after])
    assert result["verdict"] == "refused"
    assert "stock 2-3, tuned 1" in result["why"]
    assert "Not comparable: " in bench.call(*_arms(bench, document("stock", 2.0), after))[1]


def test_only_common_cpus_are_compared(bench: ReportBench) -> None:
    cpus = [cpu_run(n, 4.0 * n) for n in (1, 2, 3)]
    result = bench.json([document("stock", 236.0)], [document("tuned", 0, cpus=cpus)])
    assert endpoint(result, "interrupts_per_s")["after"] == 10.0
    assert any("measured CPUs differ" in flag for flag in result["flags"])


def test_a_primary_that_is_not_known_is_refused(bench: ReportBench) -> None:
    cpus = [cpu_run(2, 4.0, noise_ppm=None), cpu_run(3, 4.0)]
    result = bench.json([document("stock", 236.0)], [document("tuned", 0, cpus=cpus)])
    assert (result["verdict"], result["endpoints"]) == ("refused", [])
    assert result["why"] == "noise is not known for every measured CPU"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kernel": "6.1.0-rt"}, "kernels differ: stock 6.12.9-amd64, tuned 6.1.0-rt"),
        ({"threshold_ns": 1000}, "thresholds differ: stock 100 ns, tuned 1000 ns"),
        ({"harness": "0.2.0"}, "harness builds differ: stock 0.1.0, tuned 0.2.0"),
        ({"policy": "fifo:1"}, "policies differ: stock other, tuned fifo:1"),
        ({"duration_s": 10}, "durations differ: stock 120 s, tuned 10 s"),
        ({"loads": []}, "loads differ: stock stress-ng --fault 1, tuned none"),
        ({"oslat": None}, "only some runs have a result of oslat"),
        ({"host": {"arch": "x86_64", "processor": "A 1"}}, "do not name their machine"),
        ({"complete": False}, "the run is not complete (tuned a0.json)"),
        ({"valid": False}, "the run is not valid, its own checks failed (tuned a0.json)"),
        ({"problems": ["oslat is not installed"]}, "oslat is not installed (tuned a0.json)"),
        ({"boot_id": "boot-stock"}, "the same boot"),
        ({"cmdline": "quiet stock"}, "command line is the same in both arms"),
        ({"clock": {"source": "gettime", "hz": 1e9, "floor_ns": 9, "loop_period_ns": 9}}, "clocks"),
    ],
)
def test_what_weakens_a_comparison_is_flagged(
    bench: ReportBench, changes: dict[str, Any], words: str
) -> None:
    plain = bench.json([document("stock", 236.0)], [document("tuned", 4.0)])
    assert not any(words in flag for flag in plain["flags"])
    result = bench.json([document("stock", 236.0)], [document("tuned", 4.0, **changes)])
    assert any(words in flag for flag in result["flags"]), result["flags"]


def test_differing_stress_ng_leaves_throughput_out(bench: ReportBench) -> None:
    tuned = document("tuned", 4.0)
    tuned["loads"][0]["output"] = STRESS.replace("0.15.06", "0.17.06")
    result = bench.json([document("stock", 236.0)], [tuned])
    assert any("stress-ng versions differ" in flag for flag in result["flags"])
    assert not [e for e in result["endpoints"] if e["name"].startswith("bogo_ops")]


def test_a_load_that_failed_is_flagged(bench: ReportBench) -> None:
    tuned = document("tuned", 4.0)
    tuned["loads"][0]["exit"] = 2
    result = bench.json([document("stock", 236.0)], [tuned])
    words = "stress-ng ended with status 2, so its throughput may be wrong (tuned a0.json)"
    assert words in result["flags"]


def test_differing_oslat_is_left_out(bench: ReportBench) -> None:
    tuned = document("tuned", 4.0)
    tuned["oslat"]["output"] = OSLAT_TEXT.replace("V 2.40", "V 2.90")
    result = bench.json([document("stock", 236.0)], [tuned])
    assert any("oslat versions differ" in flag for flag in result["flags"])
    assert not [e for e in result["endpoints"] if e["name"].startswith("oslat")]


def test_rates_below_the_threshold_are_left_out(bench: ReportBench) -> None:
    runs = [document(name, 4.0, threshold_ns=1000) for name in ("stock", "tuned")]
    result = bench.json(runs[:1], runs[1:])
    names = {e["name"] for e in result["endpoints"]}
    assert "events_per_s@100ns" not in names
    assert "events_per_s@1us" in names


def test_an_unknown_machine_is_not_another(bench: ReportBench) -> None:
    host: Any = {"host": {"arch": "x86_64", "processor": "A 1"}}
    before = arm("s", BEFORE)
    after = arm("t", AFTER, first=1, **host)
    assert bench.json(before, after)["verdict"] == "reduced"
    result = bench.json([{**run, "host": {"arch": "aarch64"}} for run in before], after)
    assert result["verdict"] == "descriptive-only"
    assert result["why"].endswith("no test is made: the machines differ")


def test_lists_of_runs_after_add_up(bench: ReportBench) -> None:
    files = bench.runs("a", document("tuned", 4.0), document("tuned", 6.0, boot_id="other"))
    base = bench.runs("b", document("stock", 236.0))
    one = bench.call(*base, "--against", *files, "--json")[1]
    two = bench.call(*base, "--against", files[0], "--against", files[1], "--json")[1]
    assert one == two


@pytest.mark.parametrize("value", [1e-320, 1e300, -1.0])
def test_figures_that_nothing_measures_are_refused(bench: ReportBench, value: float) -> None:
    with pytest.raises(Refused, match="noise_ppm: a number, zero or above, is expected"):
        cpus = [cpu_run(2, 4.0, noise_ppm=value), cpu_run(3, 4.0)]
        bench.json([document("stock", 236.0)], [document("tuned", 4.0, cpus=cpus)])


def test_a_tool_that_did_not_run_has_no_differing_version(bench: ReportBench) -> None:
    tuned = document("tuned", 4.0, loads=[], oslat=None)
    result = bench.json([document("stock", 236.0)], [tuned])
    assert not any("versions differ" in flag for flag in result["flags"])


# Settings that were not in effect


def _verify(state: str) -> dict[str, Any]:
    row = {"name": "nohz_full", "where": "/sys", "planned": "2-3", "effective": "", "state": state}
    return {"schema": "lowlat.verify/1", "settings": [{**row, "by": None, "evidence": "empty"}]}


@pytest.mark.parametrize("state", ["ignored-by-kernel", "not-applied", "undone", "overridden"])
def test_lost_settings_are_named(bench: ReportBench, state: str) -> None:
    file = bench.write("verify.json", _verify(state))
    result = bench.json([document("s", 9.0)], [document("t", 4.0)], "--verify", file)
    why = f"{state}: planned 2-3, in effect nothing (empty)"
    assert result["not_in_effect"] == [{"name": "nohz_full", "why": why}]


@pytest.mark.parametrize("state", ["effective", "not-planned", "unverifiable"])
def test_settings_in_effect_are_not(bench: ReportBench, state: str) -> None:
    file = bench.write("verify.json", _verify(state))
    result = bench.json([document("s", 9.0)], [document("t", 4.0)], "--verify", file)
    assert result["not_in_effect"] == []
    named = any("could not be verified: nohz_full" in flag for flag in result["flags"])
    assert named == (state == "unverifiable")


def test_cpus_the_kernel_did_not_isolate(bench: ReportBench) -> None:
    after = document("t", 4.0, isolated="2", cmdline="quiet isolcpus=2-3")
    _, out = bench.call(*_arms(bench, document("s", 90.0), after))
    assert "Not in effect: isolcpus: CPU 3 measured after, but not isolated" in out
    assert out.splitlines()[0].startswith("Noise on the measured CPUs")


def test_cpus_nobody_wanted_isolated_are_not_missing(bench: ReportBench) -> None:
    _, out = bench.call(*_arms(bench, document("s", 90.0), document("t", 4.0, isolated="")))
    assert "Not in effect" not in out and out.startswith("Noise on the measured CPUs")


# The text


def _arms(bench: ReportBench, before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    return [*bench.runs("b", before), "--against", *bench.runs("a", after)]


def test_text_says_the_finding_first_and_fits_a_screen(bench: ReportBench) -> None:
    before, after = (document(n, e, emulated=True) for n, e in (("stock", 236.1), ("tuned", 3.8)))
    _, out = bench.call(*_arms(bench, before, after))
    lines = out.splitlines()
    assert lines[0] == (
        "Interrupts on the isolated CPUs: 236.1/s in stock, 3.80/s in tuned (descriptive only: 1 "
        "boot each; a test needs 6 pairs of boots)."
    )
    assert len(lines) < 40
    assert re.match("Next: (sudo )?lowlat-gen ", lines[1]) and lines.index("") <= 8
    assert out.isascii()
    assert "LOC (local timer)" in out
    assert "236.1 -> 3.80" in out


@pytest.mark.parametrize(
    ("before", "after", "words", "change"),
    [
        (100.0, 250.0, "100.0/s in s, 250.0/s in t", "2.50 times more"),
        (100.0, 103.0, "100.0/s in s, 103.0/s in t", "1.03 times more"),
        (100.0, 100.0, "100.0/s in s, 100.0/s in t", "equal"),
        (0.0, 0.0, "0 a CPU in 120 s in s, 0 a CPU in 120 s in t", "-"),
        (250.0, 0.0, "30,000 a CPU in 120 s in s, 0 a CPU in 120 s in t", "-"),
        (26.2, 1 / 120, "3,144 a CPU in 120 s in s, 1 a CPU in 120 s in t", "3,000 times fewer"),
        (0.0, 4.0, "0 a CPU in 120 s in s, 480 a CPU in 120 s in t", "up from 0"),
    ],
)
def test_few_events_are_told_as_counts_and_a_change_has_their_digits(
    bench: ReportBench, before: float, after: float, words: str, change: str
) -> None:
    runs = (document(n, e, emulated=True) for n, e in (("s", before), ("t", after)))
    lines = bench.call(*_arms(bench, *runs))[1].splitlines()
    assert lines[0].startswith(f"Interrupts on the isolated CPUs: {words} (descriptive only")
    (row,) = [line for line in lines if line.startswith("interrupts, ")]
    assert row.split("  ")[-1].strip() == change


def test_many_cpus_show_the_worst(bench: ReportBench) -> None:
    cpus = [cpu_run(n, 4.0, float(n)) for n in range(2, 40)]
    runs = (document(name, 0, cpus=cpus, isolated="2-39") for name in ("s", "t"))
    _, out = bench.call(*_arms(bench, *runs))
    assert "(the worst 8; 30 more in --json)" in out
    assert "\n39 " in out
    assert "\n31 " not in out


def test_foreign_text_cannot_move_the_cursor_or_become_markup(bench: ReportBench) -> None:
    arms = _arms(bench, document("s", 9.0), document("t", 4.0, problems=["a\n\x1b[2Jb <x>|"]))
    assert "a ?[2Jb <x>|" in bench.call(*arms)[1]
    assert "a ?\\[2Jb \\<x>\\|" in bench.call(*arms, "--markdown")[1]


def test_markdown_is_a_headline_tables_and_notes(bench: ReportBench) -> None:
    _, out = bench.call(*_arms(bench, document("s", 90.0), document("t", 4.0)), "--markdown")
    assert out.startswith("**Noise on the isolated CPUs: 100.0 ppm (0.010 %) in s, ")
    assert "| CPUs 2-3 | s | t | change |\n| --- | ---: | ---: | ---: |" in out
    assert "| LOC (local timer) | 67.5 | 3.00 | 22 times fewer |" in out


# The gate


@pytest.mark.parametrize("require", ["interrupts_per_s>=2", "noise_ppm >= 0.1", "max_ns>=0.5"])
def test_a_gate_without_a_bound_is_missed_after_the_report(
    bench: ReportBench, require: str
) -> None:
    """Whatever the ratio is, a single boot gives no bound."""
    arms = _arms(bench, document("s", 200.0), document("t", 4.0, 0.0))
    with pytest.raises(Unmet, match="--require not met: .*there is no bound of it: 1 boot each"):
        bench.call(*arms, "--json", "--require", require)
    assert json.loads(bench.printed.out)["schema"] == "lowlat.report/1"


def test_a_gate_on_what_emulation_leaves_out_is_refused(bench: ReportBench) -> None:
    arms = _arms(bench, *(document(n, 4.0, emulated=True) for n in "st"))
    with pytest.raises(Refused, match="noise_ppm is not in the report of 't'") as caught:
        bench.call(*arms, "--require", "noise_ppm>=2")
    assert (caught.value.status, bench.printed.out) == (2, "")
    assert "one of interrupts_per_s" in str(caught.value)


def test_a_gate_on_runs_that_cannot_be_compared_is_missed(bench: ReportBench) -> None:
    arms = _arms(bench, document("s", 4.0, emulated=True), document("t", 4.0))
    with pytest.raises(Unmet, match="noise_ppm>=2, but the runs cannot be compared: some runs"):
        bench.call(*arms, "--require", "noise_ppm>=2")


# Bad input


def _without(*path: str) -> dict[str, Any]:
    run = document("bad", 4.0)
    inner: Any = run
    for key in path[:-1]:
        inner = inner[int(key)] if isinstance(inner, list) else inner[key]
    del inner[path[-1]]
    return run


def _histogram(counts: list[list[object]], unit: str = "ns") -> dict[str, Any]:
    return document("b", 0, cpus=[cpu_run(2, 1.0, histogram={"unit": unit, "counts": counts})])


BAD: dict[str, tuple[object, str]] = {
    "empty": ("", "not JSON"),
    "cut short": ('{"schema": "lowlat.run/1", "label": ', "not JSON"),
    "not an object": ("[1, 2]", "not a lowlat.run/1 document"),
    "another schema": ({"schema": "lowlat.plan/1"}, "not a lowlat.run/1 document"),
    "a number that is none": ('{"schema": "lowlat.run/1", "x": NaN}', "NaN is no JSON number"),
    "far too deep": ("[" * 100_000, "not JSON"),
    "no cpus": (_without("cpus"), "cpus: missing"),
    "no kernel": (_without("kernel"), "kernel: missing"),
    "no runtime": (_without("cpus", "1", "runtime_ns"), "cpus[1].runtime_ns: missing"),
    "no clock source": (_without("clock", "source"), "clock.source: missing"),
    "text for a number": (
        document("b", 4.0, duration_s="120"),
        "duration_s: a number",
    ),
    "infinite": (
        json.dumps(document("b", 4.0)).replace('"duration_s": 120', '"duration_s": 1e999'),
        "duration_s: a number",
    ),
    "huge": (document("b", 4.0, threshold_ns=10**400), "threshold_ns: a number"),
    "a number for a flag": (document("b", 4.0, emulated=1), "emulated: true or false is expected"),
    "negative": (
        document("b", 0, cpus=[cpu_run(2, -1.0)]),
        "rates_per_s.100ns: a number",
    ),
    "half a CPU": (
        document("b", 0, cpus=[cpu_run(2, 1.0, cpu=2.5)]),
        "cpu: a whole number",
    ),
    "a CPU twice": (document("b", 0, cpus=[cpu_run(2, 1.0)] * 2), "occurs twice"),
    "half a histogram": (_histogram([[100, 200]]), "counts: a list of 3 numbers"),
    "a histogram of text": (
        _histogram([["a", 2, 3]]),
        "counts: a list of 3 numbers",
    ),
    "a huge histogram": (
        _histogram([[1, 2, 10**400]]),
        "counts: a list of 3 numbers",
    ),
    "a count with no sum": (_histogram([[1e308, 2, 1e308]]), "counts: a list of 3 numbers"),
    "no window": (
        document("b", 0, cpus=[cpu_run(2, 1.0, pace={"window_ns": 0, "work": {"p50": 1}})]),
        "pace.window_ns: a number above zero is expected",
    ),
    "a negative count": (_histogram([[1, 2, -1]]), "counts: a list of 3 numbers"),
    "a true count": (_histogram([[1, 2, True]]), "counts: a list of 3 numbers"),
    "a histogram in us": (_histogram([], unit="us"), "histogram.unit: ns is expected"),
    "a cause without time": (
        document(
            "b", 0, cpus=[cpu_run(2, 1.0, causes=[{"class": "irq", "cause": "x", "events": 1}])]
        ),
        "causes[0].time_ns: missing",
    ),
    "a bad list": (document("b", 4.0, isolated="3-2"), "isolated: '3-2' runs backwards"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_run_is_refused_in_one_line(bench: ReportBench, name: str) -> None:
    content, words = BAD[name]
    good = bench.write("good.json", document("good", 4.0))
    bad = bench.write("bad.json", content)
    for arms in ([bad, "--against", good], [good, "--against", bad]):
        with pytest.raises(Refused) as caught:
            bench.call(*arms, "--json")
        assert bench.printed.out == ""
        assert caught.value.status == 2
        assert bad in str(caught.value)
        assert words in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_binary_is_refused(bench: ReportBench, tmp_path: Path) -> None:
    good = bench.write("good.json", document("good", 4.0))
    binary = tmp_path / "binary.json"
    binary.write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(Refused, match="give a file of 'lowlat-gen measure'"):
        bench.call(good, "--against", str(binary))


def test_the_command_line_has_status_1_for_a_missed_gate(bench: ReportBench) -> None:
    good, after = _arms(bench, document("good", 4.0), document("after", 4.0))[::2]
    answer = lowlat("report", good, "--against", after, "--require", "noise_ppm>=2")
    assert answer.status == 1
    assert answer.out.startswith("Noise on the isolated CPUs: 100.0 ppm (0.010 %) in good")
    assert answer.err == (
        "lowlat-gen: --require not met: noise_ppm>=2, but there is no bound of it: 1 boot each; "
        "a test needs 6 pairs of boots\n"
    )


def test_a_run_keeps_what_it_read(bench: ReportBench) -> None:
    run = read_run(Path(bench.write("run.json", document("stock", 4.0))))
    assert str(run.measured) == "2-3"
    assert (run.cpu(3).interrupts_per_s or {})["LOC"] == 3.0
    assert run.loads[0].command == "stress-ng --fault 1 --yaml /tmp/stock.yaml"
    assert run.clock.floor_ns == 18.4
    assert run.cpu(2).histogram.rows == ((100.0, 200.0, 5.0),)
    assert (run.cpu(2).causes, run.harness) == (None, "0.1.0")


def test_a_run_keeps_causes_and_work(bench: ReportBench) -> None:
    cause = {"class": "irq", "cause": "local_timer", "events": 4, "time_ns": 900, "more": "x"}
    cpus = [cpu_run(2, 4.0, causes=[cause])]
    work = [{"kind": "usleep", "samples": 5}, {"kind": "throughput", "samples": 5, "mean": 9.5}]
    content = document("stock", 0, cpus=cpus, work=work)
    run = read_run(Path(bench.write("run.json", content)))
    (found,) = run.cpu(2).causes or ()
    assert (found.kind, found.cause, found.events, found.time_ns) == ("irq", "local_timer", 4, 900)
    assert run.throughput is not None
    assert run.throughput.figures == {"matrix alone": 9.5}


# Recorded output


def test_a_recorded_run_of_the_harness(bench: ReportBench) -> None:
    recorded = str(DATA / "harness.json")
    first, again = bench.runs("r", *[json.loads(Path(recorded).read_text())] * 2)
    run = read_run(Path(recorded))
    assert run.complete
    assert str(run.measured) == "1"
    assert run.oslat is not None
    assert run.oslat.result is not None
    status, out = bench.call(first, "--against", again, "--json")
    assert status == 0
    names = {e["name"] for e in json.loads(out)["endpoints"]}
    assert names >= {"noise_ppm", "interrupts_per_s@LOC", "bogo_ops_per_s@vm", "oslat_max_us"}
    assert {e["ratio"] for e in json.loads(out)["endpoints"]} <= {1.0, None}


def test_stress_ng_yaml_of_0_15() -> None:
    found = stress_ng.read(STRESS)
    assert found is not None
    assert found.result.version == "0.15.06 gcc 12.2.0"
    assert list(found.result.figures) == ["fault", "vm", "timer"]
    assert found.result.figures["timer"] == pytest.approx(98.999237)


def test_stress_ng_instances_are_not_added_up() -> None:
    nested = """metrics:
    - stressor: vm
      bogo-ops: 30
      instances:
        - instance: 0
          bogo-ops: 10
          bogo-ops-per-second-real-time: 1.0
        - instance: 1
          bogo-ops: 20
      bogo-ops-per-second-real-time: 3.0

times:
      run-time: 1.0
"""
    found = stress_ng.read(nested)
    assert found is not None
    assert found.result.figures == {"vm": 3.0}
    assert stress_ng.read("") is None


def test_what_only_a_guests_init_reads_is_no_part_of_the_line(bench: ReportBench) -> None:
    before, after = (
        document(
            name,
            200.0,
            cmdline=f"virtme_x=1 nr_open=1024 virtme.exec=`{name}=` quiet init=/x/virtme/init",
        )
        for name in ("Zm9v", "YmFy")
    )
    result = bench.json([before], [after])
    assert "the kernel command line is the same in both arms" in result["flags"]
