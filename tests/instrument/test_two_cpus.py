# SPDX-License-Identifier: GPL-2.0-or-later
"""Gaps that two CPUs have at the same time: a pair of hogs causes them, together or in turns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from programs import NEEDS_ROOT, Programs, Tell

from support.figures import figure
from support.waits import GUARD_S

pytest_plugins = ["programs"]
pytestmark = [pytest.mark.root, NEEDS_ROOT]

#: Takes its CPU away for half of each tenth of a second, the first half or the second.
HOG = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
print("ready", flush=True)
while True:
    at = (time.monotonic() - float(sys.argv[2])) % 0.1
    if at > 0.05:
        time.sleep(0.1 - at)
"""


@pytest.fixture
def preferred() -> Iterator[list[str]]:
    """Words before a command that keep ordinary tasks of a busy machine away from it."""
    for top, weight in (("cpu/", "cpu.shares"), ("", "cpu.weight")):
        group = Path(f"/sys/fs/cgroup/{top}lowlat-test-{os.getpid()}")
        with suppress(OSError):
            group.mkdir()
            try:
                (group / weight).write_text("10000" if top == "" else "262144")
                script = f'echo $$ >{group}/cgroup.procs && exec "$@"'
                yield ["sh", "-c", script, "sh"]
            finally:
                group.rmdir()
            return
    yield []


@pytest.mark.parametrize("together", [True, False])
def test_planted_simultaneous_gaps_are_found_and_named(
    programs: Programs, tmp_path: Path, tell: Tell, preferred: list[str], together: bool
) -> None:
    cpus = (programs.cpu - 1, programs.cpu)
    phases = ("0", "0" if together else "0.05")
    hogs = [
        subprocess.Popen([sys.executable, "-c", HOG, str(cpu), phase], stdout=subprocess.PIPE)
        for cpu, phase in zip(cpus, phases)
    ]
    try:
        assert [hog.stdout.readline() for hog in hogs if hog.stdout] == [b"ready\n"] * 2
        done = subprocess.run(
            [*preferred, Path(sys.executable).with_name("lowlat-gen"), "measure", "--label", "two",
             "--out", tmp_path / "run.json", "--cpus", "{}-{}".format(*cpus), "--duration", "2s",
             "--warmup", "500ms", "--no-oslat"],
            capture_output=True, text=True, check=False, timeout=GUARD_S,
            env={**os.environ, "PATH": f"{programs.harness.parent}:{os.environ['PATH']}"},
        )  # fmt: skip
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    (found,) = json.loads((tmp_path / "run.json").read_text())["together"]
    at_once, by_chance = found["time_ns"] / 1e6, found["by_chance_ns"] / 1e6
    tell(
        f"{'At once' if together else 'In turns'}: CPUs {found['cpus']} away together for "
        f"{at_once:.0f} ms of 2 s, {by_chance:.0f} by chance"
    )
    assert found["cpus"] == "{}-{}".format(*cpus)
    figure(f"at_once_{'together' if together else 'in_turns'}", at_once - by_chance, "ms")
    assert f"CPUs {found['cpus']} by chance" in done.stdout
