# SPDX-License-Identifier: GPL-2.0-or-later
"""The kinds of work that lowlat-measure times, and the throughput of a CPU."""

from __future__ import annotations

import signal
import statistics
from shutil import which

import pytest

from support import needs, procs, waits
from support.harness import (
    SHORT,
    Bench,
    metrics,
    needs_stress,
    needs_two_cpus,
    option,
)

pytest_plugins = ["support.harness"]
pytestmark = needs_two_cpus

KINDS = ["usleep", "clock_nanosleep", "memory", "registers", "kill", "clock_gettime"]


def test_work_kinds_have_a_distribution_and_variance(bench: Bench) -> None:
    done = bench.call(*SHORT, "--work", "all")
    assert done.status == 0, done.run["problems"]
    assert list(dict.fromkeys(entry["kind"] for entry in done.run["work"])) == KINDS
    for entry in done.run["work"]:
        counts = entry["histogram"]["counts"]
        assert sum(count for _, _, count in counts) == entry["samples"] > 1
        keys = ("min_ns", "p50_ns", "p99_ns", "p99.9_ns", "max_ns")
        values = [entry[key] for key in keys]
        # Percentiles are the middles of their buckets.
        assert all(low <= high * 1.001 for low, high in zip(values, values[1:])), entry["kind"]
        middle = [((low + high - 1) / 2, count) for low, high, count in counts]
        mean = sum(value * count for value, count in middle) / entry["samples"]
        spread = sum(count * (value - mean) ** 2 for value, count in middle)
        assert entry["mean_ns"] == pytest.approx(mean, rel=0.01, abs=1)
        assert entry["variance_ns2"] == pytest.approx(
            spread / (entry["samples"] - 1), rel=0.05, abs=2
        )


def test_sleeping_kinds_say_what_they_asked_for(bench: Bench) -> None:
    work = bench.call(*SHORT, "--work", "usleep,registers").run["work"]
    asked = {entry["kind"]: entry["requested_ns"] for entry in work}
    assert asked == {"usleep": 100000, "registers": 0}
    assert all(entry["min_ns"] >= entry["requested_ns"] for entry in work)


def test_work_runs_on_all_cpus_at_once_or_on_one_after_another(bench: Bench) -> None:
    words = (*SHORT, "--cpus", "0-1", "--work", "memory")
    together = bench.call(*words).run["work"]
    assert [(entry["cpus"], entry["beside"]) for entry in together] == [("0", "0-1"), ("1", "0-1")]
    alone = bench.call(*words, "--work-alone").run["work"]
    assert [(entry["cpus"], entry["beside"]) for entry in alone] == [("0", "0"), ("1", "1")]


def test_work_under_emulation_is_marked(bench: Bench) -> None:
    done = bench.call(*SHORT, "--emulated", "--work", "kill")
    assert done.run["work"][0]["emulated"] is True
    assert done.said("--work measures durations only")
    assert "work kill" not in done.out


def test_a_run_that_was_stopped_works_on(bench: Bench) -> None:
    run = bench.start("--cpus", "1", "--duration", "2s", "--warmup", "0s", "--no-oslat",
                      "--work", "usleep", "--json", str(bench.json))  # fmt: skip
    waits.phase(run.phases, "work")
    for _ in range(10):
        run.send_signal(signal.SIGSTOP)
        waits.until(lambda: procs.state(run.pid) in ("T", "Z"))
        run.send_signal(signal.SIGCONT)
        waits.until(lambda: procs.state(run.pid) != "T")
    (work,) = bench.result(run).run["work"]
    assert work["samples"] * work["mean_ns"] > 1e9, "of 2 s"


#: Run n of a part does 100 n a second; the second part does 7 more.
MATRIX = f"""part=0; case "$*" in *load-1.yaml*) part=1; esac
echo >>$HOME/$part; rate=$(($(wc -l <$HOME/$part) * 100 + part * 7))
{metrics("matrix", "$rate", "load-$part.yaml")}"""


def test_throughput_is_the_mean_of_its_runs(bench: Bench) -> None:
    """The figure belongs to the stressor, not to one of its instances, which follow with the same
    keys."""
    bench.play("stress-ng", MATRIX)
    done = bench.call(*SHORT, "--cpus", "1", "--throughput", "3")
    (entry,) = done.run["work"]
    assert done.status == 0, done.run["problems"]
    values = [run["value"] for run in entry["runs"]]
    assert values == [100, 200, 300]
    assert (entry["kind"], entry["unit"], entry["samples"]) == ("throughput", "bogo-ops/s", 3)
    assert entry["mean"] == statistics.mean(values)
    assert entry["variance"] == pytest.approx(statistics.variance(values))
    command = entry["command"]
    assert command[-6:] == ["--matrix", "1", "--matrix-method", "prod", "--matrix-size", "128"]
    assert option(command, "--timeout") == "2s"
    assert entry["version"] == "0.15.06"
    (entry,) = bench.call(*SHORT, "--cpus", "1", "--throughput", "2x5m").run["work"]
    assert (entry["samples"], option(entry["command"], "--timeout")) == (2, "300s")


def test_throughput_is_the_sum_over_all_cpus(bench: Bench) -> None:
    bench.play("stress-ng", MATRIX)
    words = (*SHORT, "--cpus", "0-1", "--throughput", "2")
    (entry,) = bench.call(*words).run["work"]
    assert (entry["cpus"], entry["mean"]) == ("0-1", 307)
    assert [run["value"] for run in entry["runs"]] == [207, 407]
    parts = [[(part["cpus"], part["value"]) for part in run["parts"]] for run in entry["runs"]]
    assert parts == [[("0", 100), ("1", 107)], [("0", 200), ("1", 207)]]
    # If one CPU gave no figure, the run has none.
    bench.play("stress-ng", MATRIX + "[ $part = 0 ] || rm *.yaml")
    done = bench.call(*words)
    (entry,) = done.run["work"]
    assert (done.status, entry["samples"]) == (1, 0) and done.said("stress-ng gave no figure")
    assert [run["value"] for run in entry["runs"]] == [0]


@needs_stress
@needs.program("taskset", "util-linux")
def test_the_real_stress_ng_runs_on_each_cpu_and_stays_there(bench: Bench) -> None:
    ask = "taskset -p -c 0,1 $$; taskset -p -c $$"
    bench.play("stress-ng", f'#!/bin/sh\n{ask}; exec {which("stress-ng")} "$@"')
    done = bench.call(*SHORT, "--cpus", "0-1", "--throughput", "1")
    (entry,) = done.run["work"]
    assert done.run["complete"], done.run["problems"]
    (run,) = entry["runs"]
    assert [part["cpus"] for part in run["parts"]] == ["0", "1"]
    for part in run["parts"]:
        assert f"current affinity list: {part['cpus']}\n" in part["log"]
        assert part["value"] > 0
    assert entry["mean"] == pytest.approx(sum(part["value"] for part in run["parts"]))
    assert "throughput of CPU 0-1" in done.out
