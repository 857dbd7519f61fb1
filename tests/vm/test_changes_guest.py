# SPDX-License-Identifier: GPL-2.0-or-later
"""A machine that changes under a run: a measured CPU goes offline, the wall clock is set back."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from lowlat.measure.child import find_harness
from support.guest import host_files
from support.guest.kernels import KERNELS, packaged_or_skip

pytestmark = pytest.mark.vm

#: In CPU seconds.
_LIMIT_S = 400.0
_SECONDS = 12

#: Each change comes in the middle of a run of its own. By FIFO, a detector that is moved takes the
#: CPU where it arrives; CPU 3 has come back when its run ends, and stays away in the next one.
_TASK = """cd {folder}
run() {{
	name=$1; shift
	{harness} --cpus 2-3 --duration {seconds}s --warmup 2s --emulated --no-oslat \\
		--json $name.json "$@" >$name.out 2>$name.err &
	sleep 7
}}
ended() {{ wait $!; echo $? >$name.status; date +%s >$name.ended; }}
online=/sys/devices/system/cpu/cpu3/online

date +%s >clock.begun
run clock; date -s @$(($(date +%s) - 3600)) >/dev/null; ended
run back --policy fifo:1; echo 0 >$online; sleep 2; echo 1 >$online; ended
run gone; echo 0 >$online; ended
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one boot left."""
    kernel = packaged_or_skip(KERNELS["6.12"])
    shared = tmp_path_factory.mktemp("changes")
    words = {"harness": find_harness(), "seconds": _SECONDS}
    host_files.run(kernel, shared, _TASK, _LIMIT_S, **words)
    return shared


def _run(folder: Path, name: str) -> Any:
    assert (folder / f"{name}.err").read_text() == ""
    return json.loads((folder / f"{name}.json").read_text())


def _number(folder: Path, name: str) -> int:
    return int((folder / name).read_text())


def test_a_clock_that_is_set_back_changes_no_duration(folder: Path) -> None:
    run = _run(folder, "clock")
    begun = _number(folder, "clock.begun")
    assert _number(folder, "clock.ended") < begun - 3000, "it was set back"
    assert _number(folder, "clock.status") == 0, run["problems"]
    assert run["complete"] and run["valid"], run["problems"]
    started = datetime.strptime(run["started"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
    assert abs(started.timestamp() - begun) < timedelta(minutes=2).total_seconds()
    for cpu in run["cpus"]:
        assert 0.999e9 * _SECONDS <= cpu["runtime_ns"] < 1.5e9 * _SECONDS
        assert cpu["max_ns"] < 60e9
    ends = run["series"]["ends_s"]
    assert ends == sorted(ends) and _SECONDS - 1 <= ends[-1] < 1.5 * _SECONDS


@pytest.mark.parametrize("name", ["back", "gone"])
def test_a_cpu_that_goes_offline_ends_the_run_and_is_named(folder: Path, name: str) -> None:
    run = _run(folder, name)
    assert _number(folder, f"{name}.status") == 1
    assert not run["complete"] and not run["valid"]
    said = [problem for problem in run["problems"] if problem.startswith("CPU ")]
    assert said == [
        "CPU 3: went offline, or left the cpuset, during the run; its detector measured another "
        "CPU since"
    ], run["problems"]
    assert all(cpu["runtime_ns"] < 0.95e9 * _SECONDS for cpu in run["cpus"]), "it ended there"
