# SPDX-License-Identifier: GPL-2.0-or-later
"""The cross-checks that lowlat-measure runs."""

from __future__ import annotations

import json

import pytest

from lowlat.measure.tools import cyclictest
from support import needs
from support.harness import SHORT, Bench, Harness, needs_root, needs_two_cpus

pytest_plugins = ["support.harness"]
pytestmark = needs_two_cpus


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


@needs_cyclictest
@needs_root
@pytest.mark.root
def test_cyclictest_is_a_second_opinion(bench: Bench) -> None:
    done = bench.call(*SHORT, "--second-opinion", "cyclictest")
    (opinion,) = done.run["second_opinions"]
    assert done.status == 0, done.run["problems"]
    assert (opinion["tool"], opinion["exit"]) == ("cyclictest", 0)
    found = cyclictest.read(opinion["output"])
    assert found is not None and len(found.result.times) == len(done.run["cpus"])


def test_rtla_is_told_cpus_time_and_policy(bench: Bench) -> None:
    bench.play("rtla", 'case $1 in --help) echo "rtla version 6.1.0" >&2;; *) echo "$@";; esac')
    done = bench.call(*SHORT, "--cpus", "1", "--second-opinion", "osnoise,timerlat")
    assert [o["tool"] for o in done.run["second_opinions"]] == ["osnoise", "timerlat"]
    assert {o["version"] for o in done.run["second_opinions"]} == {"6.1.0"}
    said = "osnoise hist --cpus 1 --duration 1s --priority=o:0 --threshold=1\n"
    assert done.run["second_opinions"][0]["output"] == said
