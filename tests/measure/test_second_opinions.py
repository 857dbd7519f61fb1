# SPDX-License-Identifier: GPL-2.0-or-later
"""The cross-checks that lowlat-measure runs, and the result of a run when one misbehaves: the JSON
exists, with ``complete`` false and the reason."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from support import needs
from support.harness import HELP, Bench, Harness, needs_root, needs_two_cpus, ran_for

pytest_plugins = ["support.harness"]
pytestmark = needs_two_cpus

QUICK = ("--duration", "300ms", "--warmup", "0s")

needs_oslat = needs.program("oslat", "rt-tests")
needs_cyclictest = needs.program("cyclictest", "rt-tests")


@needs_oslat
@pytest.mark.root
@needs_root
def test_second_opinion(harness: Harness) -> None:
    done = harness("--duration", "300ms", "--warmup", "0s", "--oslat", "--json")
    oslat = done.run["oslat"]
    assert done.status == 0, done.run["problems"]
    assert oslat["exit"] == 0
    assert oslat["version"] in oslat["output"]
    assert oslat["json"] is None or json.loads(oslat["json"])["num_threads"] > 0


@pytest.mark.parametrize(
    ("args", "status", "words"),
    [
        ([], 0, "oslat is not installed"),
        (["--oslat"], 1, "oslat is not installed"),
        (["--no-oslat", "--load", "vm"], 1, "stress-ng is not installed"),
    ],
)
def test_missing_program(
    harness: Harness, tmp_path: Path, args: list[str], status: int, words: str
) -> None:
    done = harness(
        "--duration", "200ms", "--warmup", "0s", "--json", *args,
        env={**os.environ, "PATH": str(tmp_path)},
    )  # fmt: skip
    assert done.status == status
    assert done.run["complete"] is (status == 0)
    assert len(done.run["cpus"]) > 0, "measured nevertheless"
    assert any(words in problem for problem in done.run["problems"])


@needs_cyclictest
@needs_root
@pytest.mark.root
def test_cyclictest_is_a_second_opinion(bench: Bench) -> None:
    from lowlat.measure.tools import cyclictest

    done = bench.call(*QUICK, "--no-oslat", "--second-opinion", "cyclictest")
    (opinion,) = done.run["second_opinions"]
    assert done.status == 0, done.run["problems"]
    assert (opinion["tool"], opinion["exit"]) == ("cyclictest", 0)
    assert len(cyclictest.maxima_us(opinion["output"])) == len(done.run["cpus"])


@pytest.mark.parametrize("tool", ["cyclictest", "osnoise", "timerlat"])
def test_a_second_opinion_that_is_missing_makes_the_run_partial(bench: Bench, tool: str) -> None:
    bench.env["PATH"] = str(bench.folder)
    done = bench.call(*QUICK, "--no-oslat", "--second-opinion", tool)
    assert (done.status, done.run["complete"], done.run["valid"]) == (1, False, True)
    assert done.said(f"{tool} is not installed")


def test_rtla_is_told_cpus_time_and_policy(bench: Bench) -> None:
    bench.play("rtla", 'case $1 in --help) echo "rtla version 6.1.0" >&2;; *) echo "$@";; esac')
    done = bench.call(*QUICK, "--no-oslat", "--cpus", "1", "--second-opinion", "osnoise,timerlat")
    assert [o["tool"] for o in done.run["second_opinions"]] == ["osnoise", "timerlat"]
    assert {o["version"] for o in done.run["second_opinions"]} == {"6.1.0"}
    said = "osnoise hist --cpus 1 --duration 1s --priority=o:0 --threshold=1\n"
    assert done.run["second_opinions"][0]["output"] == said


def test_a_kernel_without_the_tracer_is_said(bench: Bench) -> None:
    bench.play("rtla", 'echo "Tracer osnoise not found!" >&2; exit 1')
    done = bench.call(*QUICK, "--no-oslat", "--second-opinion", "osnoise")
    assert (done.status, done.run["complete"]) == (1, False)
    assert done.said("Tracer osnoise not found!); it needs root and a kernel with CONFIG_OSNOISE")


# oslat's behaviour, and the resulting text

OSLAT_FAULTS = {
    "aborts": ("kill -ABRT $$", "oslat was killed by signal 6"),
    "dies": ("kill -KILL $$", "oslat was killed by signal 9"),
    "fails": ("echo 'ERROR: errno=1 (no)'; exit 3", "oslat failed with status 3 (errno=1 (no))"),
    "says nothing": ("exit 0", "oslat ended without a result"),
    "hangs": ("trap '' INT TERM; while :; do sleep 0.1; done", "oslat did not end in time"),
    "never stops talking": ("exec yes lots", "oslat was killed by signal 25: it wrote too much"),
    "talks too much": ("yes lots | head -c 6000000", "oslat wrote more than 4 MiB"),
    "leaves a child": ("(trap '' INT TERM; exec setsid sleep 300) & exit 0", "without a result"),
}


@pytest.mark.parametrize("fault", OSLAT_FAULTS)
def test_an_oslat_at_fault_costs_no_run(bench: Bench, fault: str) -> None:
    script, words = OSLAT_FAULTS[fault]
    bench.play("oslat", HELP + script + "\n")
    done = bench.call(*QUICK, "--oslat")
    assert (done.status, done.run["complete"], done.run["valid"]) == (1, False, True)
    assert done.said(words), done.run["problems"]
    assert ran_for(done.run, 0.3)
    assert list(bench.scratch.iterdir()) == []
