# SPDX-License-Identifier: GPL-2.0-or-later
"""The parsers of other tools' output, tested with recorded output (tests/data/tools/record)."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from lowlat.measure.tools import cyclictest, files, oslat, results, rtla, stress_ng
from lowlat.model.tool import ToolFile, ToolResult
from support.runs import ReportBench, document, endpoint

TOOLS = Path(__file__).parents[1] / "data" / "tools"
OSLAT_VERSIONS = {"2.4": "2.40", "2.6": "2.60", "2.10": "2.10"}
STRESS_VERSIONS = {"0.15.06": "gcc 12.2.0", "0.19.02": "gcc 14.2.0", "0.22.01": "gcc 16.2.0"}


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> ReportBench:
    return ReportBench(tmp_path, capsys)


def text(name: str) -> str:
    return (TOOLS / name).read_text()


def read(name: str) -> ToolFile:
    """A recorded file as its reader gives it."""
    return files.read(text(name), json.loads(text(name)) if name.endswith(".json") else None)


def oslat_of(name: str) -> ToolResult:
    return read(name).result


def maxima(result: ToolResult) -> list[float]:
    return [one.max_us or 0.0 for one in result.times]


def rtla_maxima(output: str) -> list[float]:
    found = rtla.read(output)
    return maxima(found.result) if found else []


def printed(name: str, row: str) -> list[float]:
    """The numbers after a label in the text output."""
    found = re.search(rf"^ *{row}:([ \t\d.]+)", text(name), re.M)
    assert found is not None
    return [float(value) for value in found[1].split()]


@pytest.mark.parametrize("release", OSLAT_VERSIONS)
def test_oslat_names_its_version_and_cpus(release: str) -> None:
    found = oslat_of(f"oslat-{release}-text.txt")
    assert found.version == OSLAT_VERSIONS[release]
    assert [one.cpu for one in found.times] == [0, 1]


@pytest.mark.parametrize(
    ("name", "rounded_down"),
    [
        ("2.4-text.txt", 0), ("2.4-bias.txt", 0), ("2.6-text.txt", 0), ("2.6-bias.txt", 0),
        ("2.10-text.txt", 1), ("2.10-bias.txt", 1), ("2.1-text-from-source.txt", 0),
    ],
)  # fmt: skip
def test_oslat_maximum_is_an_upper_limit(name: str, rounded_down: float) -> None:
    limits = [most + rounded_down for most in printed(f"oslat-{name}", "Maximum")]
    assert maxima(oslat_of(f"oslat-{name}")) == pytest.approx(limits, abs=1e-9)


def test_oslat_2_1_is_told_from_2_10(bench: ReportBench) -> None:
    """Both versions call themselves 2.10, but round in opposite directions."""
    names = ("oslat-2.1-text-from-source.txt", "oslat-2.10-text.txt")
    assert [oslat_of(name).version for name in names] == ["2.1", "2.10"]
    before, after = (
        document(name, 9.0, oslat={"version": "2.10", "command": ["oslat"], "output": text(name)})
        for name in names
    )
    flags = bench.json([before], [after])["flags"]
    assert any(f"oslat versions differ: {names[0]} 2.1, {names[1]} 2.10" in flag for flag in flags)


def test_the_report_has_oslats_upper_limit(bench: ReportBench) -> None:
    output = text("oslat-2.10-text.txt").replace("Core:\t 0 1", "Core:\t 2 3")
    oslat_ = {"version": "2.10", "command": ["oslat"], "output": output}
    runs = [document(label, 9.0, oslat=oslat_) for label in ("stock", "tuned")]
    result = bench.json(runs[:1], runs[1:])
    first, second = printed("oslat-2.10-text.txt", "Maximum")
    assert endpoint(result, "oslat_max_us", 3)["before"] == second + 1
    assert endpoint(result, "oslat_max_us")["before"] == max(first, second) + 1


@pytest.mark.parametrize(
    "output",
    [
        "", "oslat V 2.40\nPre-heat for 1 seconds...", "Core: 1\nMinimum: 1 2\nMaximum: 3\n",
    ],
)  # fmt: skip
def test_oslat_without_a_result(output: str) -> None:
    assert oslat.read(output) is None


@pytest.mark.parametrize("release", ["2.4", "2.6", "2.10"])
def test_cyclictest_has_a_maximum_for_each_thread(release: str) -> None:
    name = f"cyclictest-{release}-text.txt"
    assert maxima(read(name).result) == printed(name, "# Max Latencies")


@pytest.mark.parametrize("output", ["", "# Max Latencies: x\n", "# T: 0"])
def test_cyclictest_without_a_result(output: str) -> None:
    assert cyclictest.read(output) is None


def test_rtla_osnoise_maximum_is_the_upper_edge_of_its_bucket() -> None:
    output = text("rtla-6.12-osnoise-from-docs.txt")
    assert re.search(r"^max: +30 +310\b", output, re.M)
    assert rtla_maxima(output) == [40, 320]


def test_rtla_timerlat_has_interrupt_and_thread() -> None:
    assert rtla_maxima(text("rtla-6.5-timerlat-from-docs.txt")) == [17, 37, 16, 59]


def test_rtla_columns_without_a_sample_have_no_maximum_and_the_total_no_column() -> None:
    assert rtla_maxima(text("rtla-7.0-timerlat-from-source.txt")) == [10, 10]


@pytest.mark.parametrize("release", ["6.1.192", "6.12.117", "7.2.13"])
def test_rtla_without_its_tracer_gives_none(release: str) -> None:
    output = text(f"rtla-{release}-osnoise.txt")
    assert "status 1" in output
    assert rtla_maxima(output) == []


@pytest.mark.parametrize("release", STRESS_VERSIONS)
def test_stress_ng_figures_are_those_of_the_stressor(release: str) -> None:
    """Compared with the tool's printed table, which has two digits."""
    found = read(f"stress-ng-{release}-mixed.yaml").result
    assert found.version == f"{release} {STRESS_VERSIONS[release]}"
    assert list(found.figures) == ["fault", "vm", "timer"]
    table = dict(
        re.findall(r"metrc: \[\d+\] (\w+) +(\d+ .*)", text(f"stress-ng-{release}-mixed.txt"))
    )
    for name, rate in found.figures.items():
        assert rate == pytest.approx(float(table[name].split()[4]), abs=0.01)
    rounded = {name: round(rate, 2) for name, rate in found.figures.items()}
    assert read(f"stress-ng-{release}-mixed.txt").result.figures == rounded


@pytest.mark.parametrize("release", STRESS_VERSIONS)
def test_stress_ng_in_scientific_notation(release: str) -> None:
    source = text(f"stress-ng-{release}-scientific.yaml")
    assert "e+05" in source
    found = re.findall(r"(?:bogo-ops|wall-clock-time): (\S+)", source)
    count, seconds = map(float, found[:2])  # of the stressor, before its instances
    ran = stress_ng.read(source)
    assert ran is not None
    assert ran.result.figures["switch"] == pytest.approx(count / seconds, rel=1e-3)


@pytest.mark.parametrize("release", STRESS_VERSIONS)
def test_stress_ng_matrix_gives_one_throughput(release: str) -> None:
    rates = read(f"stress-ng-{release}-matrix.yaml").result.figures
    assert list(rates) == ["matrix"]
    assert rates["matrix"] > 0
    assert math.isfinite(rates["matrix"])


def test_stress_ng_0_13_and_duplicate_keys_of_other_sections() -> None:
    found = read("stress-ng-0.13.12-from-source.yaml").result
    assert found == ToolResult("0.13.12", {"matrix": 1059.87})


def pinned(mean: float, release: str = "0.15.06") -> dict[str, Any]:
    """The throughput of a run alone, as lowlat-measure writes it."""
    output = text(f"stress-ng-{release}-matrix.yaml")
    runs = [{"value": mean, "exit": 0, "output": output, "log": ""}]
    return {"kind": "throughput", "tool": "stress-ng", "version": release, "unit": "bogo-ops/s",
            "samples": 5, "mean": mean, "variance": 4.0, "runs": runs}  # fmt: skip


def test_throughput_alone_is_compared(bench: ReportBench) -> None:
    stock = document("stock", 236.0, work=[pinned(1000.0)])
    tuned = document("tuned", 4.0, work=[{"kind": "usleep"}, pinned(900.0)])
    result = bench.json([stock], [tuned])
    found = endpoint(result, "bogo_ops_per_s@matrix alone")
    assert (found["before"], found["after"]) == (1000, 900)


@pytest.mark.parametrize("emulated", [True, False])
def test_throughput_under_emulation_is_the_emulators(bench: ReportBench, emulated: bool) -> None:
    runs = [document(label, 9.0, emulated=emulated) for label in ("stock", "tuned")]
    files = [*bench.runs("b", runs[0]), "--against", *bench.runs("a", runs[1])]
    for form in ((), ("--markdown",)):
        _, out = bench.call(*files, *form)
        _, _, below = out.partition("throughput of the loads, bogo ops/s")
        assert "stress-ng vm" in below
        assert ("(throughput of the emulator by the host's clock" in below) is emulated


def test_throughput_alone_of_differing_stress_ng_is_not(bench: ReportBench) -> None:
    stock = document("stock", 236.0, loads=[], work=[pinned(1000.0)])
    tuned = document("tuned", 4.0, loads=[], work=[pinned(900.0, "0.22.01")])
    result = bench.json([stock], [tuned])
    assert any("stress-ng versions differ" in flag for flag in result["flags"])
    assert not [e for e in result["endpoints"] if e["name"].startswith("bogo_ops")]


@pytest.mark.parametrize(
    "entry",
    [{}, {"kind": "usleep"}, {"kind": "throughput"},
     {"kind": "throughput", "samples": 0, "mean": 0},
     {"kind": "throughput", "samples": "many", "mean": "much"}],
)  # fmt: skip
def test_throughput_that_was_not_measured(entry: dict[str, object]) -> None:
    document: dict[str, Any] = {"work": [dict(entry)]}
    results.add(document)
    assert not document["work"][0].get("parsed")


def test_a_kept_run_has_the_results_beside_the_output() -> None:
    run = document("stock", 9.0, work=[pinned(1000.0)])
    results.add(run)
    oslat, load, work = (one["parsed"] for one in (run["oslat"], run["loads"][0], run["work"][0]))
    assert oslat["version"] == "2.40"
    assert [(one["cpu"], one["max_us"]) for one in oslat["times"]][1] == (3, 12059)
    assert load["version"] == "0.15.06 gcc 12.2.0"
    assert sorted(load["figures"]) == ["fault", "timer", "vm"]
    assert work["figures"] == {"matrix alone": 1000}


@pytest.mark.parametrize(
    "output", ["", None, 5, ["x"], "{" * 9999, '{"thread": {"0": {"cpu": 1e999}}}',
               "metrics:\n    - stressor: vm\n      bogo-ops-per-second-real-time: 1e999\n"]
)  # fmt: skip
def test_what_a_tool_garbled_costs_no_run(bench: ReportBench, output: object) -> None:
    part = {"tool": "stress-ng", "version": "1", "command": [], "output": output}
    opinion = {**part, "tool": "cyclictest"}
    parts: dict[str, Any] = {"loads": [part], "oslat": part, "second_opinions": [opinion]}
    stock, tuned = (document(label, 9.0, **parts) for label in ("stock", "tuned"))
    names = {end["name"] for end in bench.json([stock], [tuned])["endpoints"]}
    assert "noise_ppm" in names
    assert not [name for name in names if "_max_us" in name or name.startswith("bogo")]


def opined(tool: str, version: str, name: str) -> dict[str, Any]:
    return {"tool": tool, "version": version, "command": [tool], "cpus": "2-3", "exit": 0,
            "output": text(name), "json": None}  # fmt: skip


def test_second_opinions_are_compared_by_their_longest_time(bench: ReportBench) -> None:
    stock = [opined("cyclictest", "2.40", "cyclictest-2.4-text.txt"),
             opined("osnoise", "6.12", "rtla-6.12-osnoise-from-docs.txt")]  # fmt: skip
    tuned = [opined("timerlat", "6.5", "rtla-6.5-timerlat-from-docs.txt"),
             opined("osnoise", "6.12", "rtla-6.12.117-osnoise.txt")]  # fmt: skip
    result = bench.json(
        [document("stock", 236.0, second_opinions=stock)],
        [document("tuned", 4.0, second_opinions=stock)],
    )
    longest = printed("cyclictest-2.4-text.txt", "# Max Latencies")
    assert endpoint(result, "cyclictest_max_us")["before"] == max(longest)
    assert endpoint(result, "osnoise_max_us")["after"] == 320
    longest = [max(rtla_maxima(one["output"]), default=0.0) for one in tuned]
    assert longest == [59, 0]


def test_second_opinions_have_their_rows_on_a_screen(bench: ReportBench) -> None:
    given = [opined("cyclictest", "2.40", "cyclictest-2.4-text.txt"),
             opined("osnoise", "6.12", "rtla-6.12-osnoise-from-docs.txt"),
             opined("timerlat", "6.5", "rtla-6.5-timerlat-from-docs.txt")]  # fmt: skip
    runs = [document(label, 9.0, second_opinions=given) for label in ("stock", "tuned")]
    files = [bench.runs("b", runs[0]), bench.runs("a", runs[1])]
    for form in ((), ("--markdown",)):
        _, out = bench.call(*files[0], "--against", *files[1], *form)
        for tool in ("cyclictest", "rtla osnoise", "rtla timerlat"):
            (row,) = [line for line in out.splitlines() if f"{tool} maximum of any CPU, us" in line]
            assert row.rstrip(" |").endswith("equal")


def test_second_opinions_of_differing_versions_are_not_compared(bench: ReportBench) -> None:
    runs = [
        document(
            label, 9.0, second_opinions=[opined("cyclictest", shown, f"cyclictest-{v}-text.txt")]
        )
        for label, shown, v in (("stock", "2.40", "2.4"), ("tuned", "2.60", "2.6"))
    ]
    result = bench.json(runs[:1], runs[1:])
    assert any("cyclictest versions differ" in flag for flag in result["flags"])
    assert not [e for e in result["endpoints"] if e["name"].startswith("cyclictest")]
