# SPDX-License-Identifier: GPL-2.0-or-later
"""``measure --on-gap``: a command runs at a long gap, aside, bounded, and the run goes on."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest

from lowlat import cli
from lowlat.measure.on_gap import OnGap
from lowlat.model.cpuset import CpuSet
from lowlat.verbs import measure
from support import needs, procs, waits

REAL = Path(__file__).parents[2] / "measure" / "build" / "lowlat-measure"
CPU = max(os.sched_getaffinity(0))

#: Takes the CPU for 30 ms, twice a second; the scheduler cuts that to pieces.
HOG = f"""import os, time
os.sched_setaffinity(0, {{{CPU}}})
while True:
    begin = time.monotonic()
    while time.monotonic() < begin + 0.03:
        pass
    time.sleep(0.5)
"""

#: Writes what it was told and where it may run, and then stays.
COMMAND = """import json, os, sys, time
told = {name: text for name, text in os.environ.items() if name.startswith("LOWLAT_GAP_")}
with open(sys.argv[1], "a") as file:
    print(json.dumps([os.getpid(), sorted(os.sched_getaffinity(0)), told]), file=file)
print("heard")
time.sleep(1000)
"""


@pytest.fixture
def hog() -> Iterator[None]:
    with Popen([sys.executable, "-c", HOG]) as other:
        yield
        other.kill()


@pytest.mark.harness
@needs.file(REAL, "make harness")
@needs.two_cpus()
@pytest.mark.usefixtures("hog")
def test_a_command_runs_once_beside_the_run_and_ends_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [str(REAL.with_name("lowlat-gen")), "measure"])
    out, told = tmp_path / "run.json", tmp_path / "told"
    words = ["--label=a", f"--out={out}", f"--cpus={CPU}", "--duration=3s", "--warmup=0s"]
    words += ["--no-oslat", "--no-causes", "--json", "--on-gap=1ms", "--"]
    asked = cli.arguments("measure", [*words, sys.executable, "-c", COMMAND, str(told)])
    assert measure.main(asked, {}) == 0
    run: dict[str, Any] = json.loads(out.read_text())
    assert (run["complete"], run["problems"]) == (True, [])
    assert run["on_gap"]["gaps"] > 1, "the hog comes twice a second"
    (one,) = run["on_gap"]["runs"]
    ((pid, cpus, given),) = map(json.loads, told.read_text().splitlines())
    assert CPU not in cpus
    assert given == {
        "LOWLAT_GAP_CPU": str(CPU),
        "LOWLAT_GAP_NS": str(one["gap_ns"]),
        "LOWLAT_GAP_TIME": one["at"],
    }
    assert 1_000_000 <= one["gap_ns"] <= run["cpus"][0]["max_ns"] * 1.001
    assert (one["cpu"], one["status"], procs.alive(pid)) == (CPU, -15, False)
    said = capfd.readouterr()
    assert json.loads(said.out)["schema"] == "lowlat.measured/1" and "heard" in said.err
    assert CPU in os.sched_getaffinity(0)


def heard(command: list[str], *events: tuple[float, str]) -> dict[str, Any]:
    """What is told of a run with these lines at these seconds."""
    times = iter([time for time, line in events if line.startswith("gap")])
    on_gap = OnGap(command, CpuSet.of([CPU]), lambda: next(times))
    with on_gap:
        for _, line in events:
            on_gap.hear(line)
            waits.until(lambda: not on_gap.running())
    return on_gap.to_json()


def test_it_runs_at_most_once_a_minute() -> None:
    gaps = [(second, f"gap {CPU} {second:.0f}000") for second in (100.0, 101, 159, 161, 162, 222)]
    lines = [(99.0, "measuring"), *gaps, (300.0, "measured")]
    told = heard(["sh", "-c", "exit 3"], *lines)
    assert told["gaps"] == 6
    assert [(one["gap_ns"], one["status"]) for one in told["runs"]] == [
        *((100_000, 3), (161_000, 3), (222_000, 3))
    ]


def test_one_that_cannot_be_started_is_told(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/nowhere\n")
    program.chmod(0o755)
    told = heard([str(program)], (0.0, f"gap {CPU} 7"))
    assert [one["status"] for one in told["runs"]] == [None]
