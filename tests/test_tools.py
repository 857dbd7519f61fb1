# SPDX-License-Identifier: GPL-2.0-or-later
"""The parsers of what other tools write, on what they wrote (tests/data/tools/record)."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from lowlat.report import alone, cyclictest, opinion, oslat, rtla, stress
from lowlat.run import Load
from report_runs import Bench, document, endpoint

TOOLS = Path(__file__).parent / "data" / "tools"
OSLAT_VERSIONS = {"2.4": "2.40", "2.6": "2.60", "2.10": "2.10"}
STRESS_VERSIONS = {"0.15.06": "gcc 12.2.0", "0.19.02": "gcc 14.2.0", "0.22.01": "gcc 16.2.0"}


def text(name: str) -> str:
    return (TOOLS / name).read_text()


def oslat_of(name: str) -> oslat.Oslat:
    found = oslat.parse(text(name))
    assert found is not None, name
    return found


def printed(name: str, row: str) -> list[float]:
    """The numbers that the text form has behind a label."""
    found = re.search(rf"^ *{row}:([ \t\d.]+)", text(name), re.M)
    assert found is not None
    return [float(value) for value in found[1].split()]


@pytest.mark.parametrize("release", OSLAT_VERSIONS)
def test_oslat_names_its_version_and_cpus_in_text_and_json(release: str) -> None:
    for form in ("text.txt", "json.json"):
        found = oslat_of(f"oslat-{release}-{form}")
        assert found.version == OSLAT_VERSIONS[release]
        assert [thread.cpu for thread in found.threads] == [0, 1]


@pytest.mark.parametrize("release", OSLAT_VERSIONS)
def test_oslat_mean_is_time_by_iterations_not_the_average_it_prints(release: str) -> None:
    name = f"oslat-{release}-text.txt"
    for thread, duration, average in zip(
        oslat_of(name).threads, printed(name, "Duration"), printed(name, "Average")
    ):
        samples = sum(bucket.count for bucket in thread.histogram)
        mean = thread.mean_us or 0
        assert mean == pytest.approx(duration * 1e6 / samples)
        assert mean < 0.2 * average


@pytest.mark.parametrize("release", OSLAT_VERSIONS)
def test_oslat_buckets_of_all_versions_lie_on_one_scale(release: str) -> None:
    """An iteration takes well below a microsecond here, whatever the bucket is called."""
    for form in ("text.txt", "json.json", "overflow.json"):
        for thread in oslat_of(f"oslat-{release}-{form}").threads:
            first, last = thread.histogram[0], thread.histogram[-1]
            assert (first.lower_us, first.upper_us) == (0, 1)
            assert first.count > 0.99 * sum(bucket.count for bucket in thread.histogram)
            assert last.upper_us == thread.max_range_us[1]


@pytest.mark.parametrize(("release", "way"), [("2.4", "up"), ("2.6", "up"), ("2.10", "down")])
def test_oslat_maximum_is_known_to_its_rounding(release: str, way: str) -> None:
    found = oslat_of(f"oslat-{release}-text.txt")
    assert f"rounds {way}" in found.flags[0]
    for thread in found.threads:
        low = thread.max_us - 1 if way == "up" else thread.max_us
        assert thread.max_range_us == (low, low + 1)
    assert ("one us too high" in " ".join(found.flags)) == (release == "2.6")


@pytest.mark.parametrize("release", OSLAT_VERSIONS)
def test_oslat_bias_leaves_no_iteration_outside_its_bucket(release: str) -> None:
    name = f"oslat-{release}-bias.txt"
    for thread in oslat_of(name).threads:
        assert thread.histogram[0].lower_us <= max(thread.min_us - 1, 0)
        assert thread.histogram[0].count > 1e6


@pytest.mark.parametrize("release", ["2.6", "2.10"])
def test_oslat_json_with_w_has_all_in_microseconds(release: str) -> None:
    name = f"oslat-{release}-width-json.json"
    raw = json.loads(text(name))["thread"]["0"]
    thread = oslat_of(name).threads[0]
    assert (thread.min_us, thread.max_us) == (raw["min"] / 1000, raw["max"] / 1000)
    assert (thread.histogram[0].lower_us, thread.histogram[0].upper_us) == (0, 0.1)
    assert thread.min_us < 0.1 < thread.max_us
    assert oslat_of(f"oslat-{release}-width.txt").threads[0].histogram[0].upper_us == 0.1
    assert thread.max_range_us[1] - thread.max_range_us[0] == pytest.approx(0.001)


def test_oslat_2_9_mixes_units_and_averages_wrongly() -> None:
    found = oslat_of("oslat-2.9-json-from-source.json")
    (thread,) = found.threads
    assert (thread.min_us, thread.max_us) == (0.041, 28506.923)
    assert thread.mean_us == pytest.approx(2e6 / 34000025)
    assert thread.histogram[0] == oslat.Bucket(0.04, 0.05, 30000000)
    assert thread.histogram[-1] == oslat.Bucket(31.99, 28506.924, 25)
    assert "rounds down" in found.flags[0]


def test_oslat_2_1_is_told_from_2_10() -> None:
    found = oslat_of("oslat-2.1-text-from-source.txt")
    assert found.version == "2.10"
    assert "rounds up" in found.flags[0]
    assert "is 2.1" in found.flags[-1]
    assert not any("is 2.1" in flag for flag in oslat_of("oslat-2.10-text.txt").flags)


@pytest.mark.parametrize(
    "output",
    [
        "", "oslat V 2.40\nPre-heat for 1 seconds...", "{", '{"a": 1}', '{"thread": {"0": {}}}',
        '{"thread": {"0": {"cpu": 1, "min": 1, "max": 2, "histogram": []}}}', '{"thread": {}}',
        '{"thread": {"0": {"cpu": "x", "min": 1, "max": 2}}}', "[" * 100000,
        "Core: 1\nMinimum: 1 2\nMaximum: 3\n",
    ],
)  # fmt: skip
def test_oslat_without_a_result(output: str) -> None:
    assert oslat.parse(output) is None


def test_oslat_that_refused_an_option_gives_none() -> None:
    assert oslat.parse(text("oslat-2.4-width.txt")) is None


@pytest.mark.parametrize("release", ["2.4", "2.6", "2.10"])
def test_cyclictest_counts_each_cycle_once(release: str) -> None:
    in_json = cyclictest.parse(text(f"cyclictest-{release}-json.json"))
    in_text = cyclictest.parse(text(f"cyclictest-{release}-text.txt"))
    assert in_json is not None
    assert in_text is not None
    assert (in_json.version, in_json.unit) == (OSLAT_VERSIONS[release], "us")
    assert [thread.cpu for thread in in_json.threads] == [0, 1]
    overflows = [
        int(n) for n in text(f"cyclictest-{release}-text.txt").split("Overflows: ")[1].split()[:2]
    ]
    assert [thread.overflows for thread in in_text.threads] == overflows
    for thread in (*in_json.threads, *in_text.threads):
        assert thread.min <= thread.mean <= thread.max
        assert sum(thread.histogram.values()) + thread.overflows == thread.cycles
        assert thread.overflows > 0
        assert max(thread.histogram) < 100 <= thread.max


@pytest.mark.parametrize("output", ["", "{", '{"thread": 1}', "# Min Latencies: 1 2\n", "# T: 0"])
def test_cyclictest_without_a_result(output: str) -> None:
    assert cyclictest.parse(output) is None


def test_rtla_osnoise_maximum_is_a_lower_edge() -> None:
    found = rtla.parse(text("rtla-6.12-osnoise-from-docs.txt"))
    assert found is not None
    assert (found.tracer, found.seconds) == ("osnoise", 60)
    quiet, noisy = found.columns
    assert (quiet.cpu, quiet.kind, quiet.count) == (0, "noise", 55215)
    assert quiet.histogram == {0: 42982, 10: 12224, 20: 8, 30: 1}
    assert (quiet.max_range_us, quiet.mean_us) == ((30, 40), None)
    assert (noisy.over, noisy.max_range_us) == (1, (310, 320))


def test_rtla_timerlat_has_interrupt_and_thread() -> None:
    found = rtla.parse(text("rtla-6.5-timerlat-from-docs.txt"))
    assert found is not None
    assert [(c.kind, c.cpu) for c in found.columns] == [
        ("irq", 0), ("thread", 0), ("irq", 1), ("thread", 1),
    ]  # fmt: skip
    thread = found.columns[1]
    assert (thread.mean_us, thread.max_range_us, thread.histogram[36]) == (5, (36, 37), 1)


def test_rtla_columns_without_a_sample_have_no_figures_and_the_total_no_column() -> None:
    found = rtla.parse(text("rtla-7.0-timerlat-from-source.txt"))
    assert found is not None
    assert len(found.columns) == 6
    assert found.columns[0].count == 10000
    empty = found.columns[2]
    assert (empty.kind, empty.count, empty.max_range_us, empty.mean_us) == ("user", 0, None, None)


@pytest.mark.parametrize("release", ["6.1.192", "6.12.117", "7.2.13"])
def test_rtla_without_its_tracer_gives_none(release: str) -> None:
    output = text(f"rtla-{release}-osnoise.txt")
    assert "status 1" in output
    assert rtla.parse(output) is None


@pytest.mark.parametrize("release", STRESS_VERSIONS)
def test_stress_ng_figures_are_those_of_the_stressor(release: str) -> None:
    """Against the table it prints, which has them to two digits."""
    found = stress.parse(text(f"stress-ng-{release}-mixed.yaml"))
    assert (found.version, found.compiler) == (release, STRESS_VERSIONS[release])
    assert list(found.metrics) == ["fault", "vm", "timer"]
    table = dict(
        re.findall(r"metrc: \[\d+\] (\w+) +(\d+ .*)", text(f"stress-ng-{release}-mixed.txt"))
    )
    for name, metrics in found.metrics.items():
        cells = [float(cell) for cell in table[name].split()]
        assert metrics["bogo-ops"] == cells[0]
        assert metrics["bogo-ops-per-second-real-time"] == pytest.approx(cells[4], abs=0.01)
        assert metrics["max-rss"] == cells[7]


@pytest.mark.parametrize("release", STRESS_VERSIONS)
def test_stress_ng_means_over_instances_are_left_out(release: str) -> None:
    """Geometric in some versions, harmonic in others: only documented keys are taken."""
    found = stress.parse(text(f"stress-ng-{release}-mixed.yaml"))
    assert "page-fault" in text(f"stress-ng-{release}-mixed.yaml")
    assert all("page-fault" not in key for values in found.metrics.values() for key in values)


@pytest.mark.parametrize("release", STRESS_VERSIONS)
def test_stress_ng_in_scientific_notation(release: str) -> None:
    source = text(f"stress-ng-{release}-scientific.yaml")
    assert "e+05" in source
    found = stress.parse(source).metrics["switch"]
    rate = found["bogo-ops-per-second-real-time"]
    assert rate == pytest.approx(found["bogo-ops"] / found["wall-clock-time"], rel=1e-3)


@pytest.mark.parametrize("release", STRESS_VERSIONS)
def test_stress_ng_matrix_gives_one_throughput(release: str) -> None:
    throughput = stress.parse(text(f"stress-ng-{release}-matrix.yaml")).throughput()
    assert list(throughput) == ["matrix"]
    assert throughput["matrix"] > 0
    assert math.isfinite(throughput["matrix"])


def test_stress_ng_0_13_and_duplicate_keys_of_other_sections() -> None:
    found = stress.parse(text("stress-ng-0.13.12-from-source.yaml"))
    assert (found.version, found.compiler) == ("0.13.12", "")
    assert found.throughput() == {"matrix": 1059.87}
    assert "max-rss" not in found.metrics["matrix"]


def pinned(mean: float, release: str = "0.15.06") -> dict[str, Any]:
    """A run's throughput alone, as lowlat-measure writes it."""
    output = text(f"stress-ng-{release}-matrix.yaml")
    runs = [{"value": mean, "exit": 0, "output": output, "log": ""}]
    return {"kind": "throughput", "tool": "stress-ng", "version": release, "unit": "bogo-ops/s",
            "samples": 5, "mean": mean, "variance": 4.0, "runs": runs}  # fmt: skip


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Bench:
    return Bench(tmp_path, capsys)


def test_throughput_alone_is_compared(bench: Bench) -> None:
    stock = document("stock", 236.0, work=[pinned(1000.0)])
    tuned = document("tuned", 4.0, work=[{"kind": "usleep"}, pinned(900.0)])
    result = bench.json([stock], [tuned])
    found = endpoint(result, "bogo_ops_per_s@matrix alone")
    assert (found["before"], found["after"]) == (1000, 900)


def test_throughput_alone_of_differing_stress_ng_is_not(bench: Bench) -> None:
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
    assert alone.find([entry]) is None


def opined(tool: str, version: str, name: str) -> dict[str, Any]:
    return {"tool": tool, "version": version, "command": [tool], "cpus": "2-3", "exit": 0,
            "output": text(name), "json": None}  # fmt: skip


def test_second_opinions_are_compared_by_their_longest_time(bench: Bench) -> None:
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
    assert [opinion.longest_us(Load(one["tool"], "", "", one["output"])) for one in tuned] == [
        59, None,
    ]  # fmt: skip


def test_second_opinions_have_their_rows_on_a_screen(bench: Bench) -> None:
    given = [opined("cyclictest", "2.40", "cyclictest-2.4-text.txt"),
             opined("osnoise", "6.12", "rtla-6.12-osnoise-from-docs.txt"),
             opined("timerlat", "6.5", "rtla-6.5-timerlat-from-docs.txt")]  # fmt: skip
    runs = [document(label, 9.0, second_opinions=given) for label in ("stock", "tuned")]
    files = [bench.runs("b", runs[0]), bench.runs("a", runs[1])]
    for form in ((), ("--markdown",)):
        _, out = bench.call(*files[0], "--against", *files[1], *form)
        for tool in ("cyclictest", "rtla osnoise", "rtla timerlat"):
            (row,) = [line for line in out.splitlines() if f"{tool} maximum of any CPU, us" in line]
            assert "same" in row


def test_second_opinions_of_differing_versions_are_not_compared(bench: Bench) -> None:
    runs = [
        document(
            label, 9.0, second_opinions=[opined("cyclictest", shown, f"cyclictest-{v}-text.txt")]
        )
        for label, shown, v in (("stock", "2.40", "2.4"), ("tuned", "2.60", "2.6"))
    ]
    result = bench.json(runs[:1], runs[1:])
    assert any("second opinion versions differ" in flag for flag in result["flags"])
    assert not [e for e in result["endpoints"] if e["name"].startswith("cyclictest")]
