# SPDX-License-Identifier: GPL-2.0-or-later
"""The detector, its rivals and the disturbing programs, on one CPU. (PYTEST_DONT_REWRITE)

``LOWLAT_MEASURE`` names another harness; the programs of ``measure/tests/instrument`` are then
built beside it.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import pytest
from gaps import Gaps, read_spans

from support import needs

SOURCE = Path(__file__).resolve().parents[2] / "measure"

#: ``make instrument-full``: more runs of everything.
FULL = os.environ.get("LOWLAT_INSTRUMENT") == "full"

#: Exit statuses of the programs.
NO_COUNTER = 77
NOT_PERMITTED = 78

NEEDS_ROOT = needs.root("SCHED_FIFO, oslat and the kernel's trace")

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Programs:
    """The paths of the programs, and the measured CPU."""

    harness: Path
    folder: Path
    cpu: int


@dataclass(frozen=True)
class Loop:
    """A run of the loop program; in ticks unless stated otherwise."""

    gaps: Gaps
    #: The period by the method's own conversion, and the true period.
    ticks_per_ns: float
    true_ticks_per_ns: float
    floor: float
    reads: int
    dead: int
    spent: int


def online() -> list[int]:
    """The CPUs on which this process may run."""
    return sorted(os.sched_getaffinity(0))


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    given = os.environ.get("LOWLAT_MEASURE")
    harness = Path(given or SOURCE / "build" / "lowlat-measure").absolute()
    build = os.path.relpath(harness.parent, SOURCE)
    targets = ["instrument"] if given else ["all", "instrument"]
    made = subprocess.run(
        ["make", "-C", SOURCE, f"BUILD={build}", *targets],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    if len(online()) < 2:
        needs.absent("one CPU: what disturbs and what counts need another one")
    built = Programs(harness, harness.parent / "tests" / "instrument", online()[-1])
    if measure(built, tmp_path_factory.mktemp("first"), 0.1).run["emulated"]:
        needs.absent("durations mean nothing under emulation")
    return built


@pytest.fixture
def tell(capsys: pytest.CaptureFixture[str]) -> Tell:
    """Prints figures, visible even without -s."""

    def tell(text: str) -> None:
        with capsys.disabled():
            print(f"\n{text}", end="", flush=True)

    return tell


def run_loop(
    programs: Programs,
    method: str,
    folder: Path,
    threshold_ns: int = 100,
    seconds: int = 60,
    plan: Optional[Path] = None,
) -> Loop:
    """Run the loop of ``method``; with a plan, the truth goes to ``folder/METHOD.truth``."""
    events = folder / f"{method}.events"
    planned = [plan, folder / f"{method}.truth"] if plan else []
    done = subprocess.run(
        [programs.folder / "loop", method, str(programs.cpu), str(threshold_ns), str(seconds),
         events, *planned],
        capture_output=True, text=True, check=False, timeout=seconds + 60,
    )  # fmt: skip
    if done.returncode == NO_COUNTER:
        needs.absent("this machine has no counter that programs can read")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    spans = read_spans(events)
    spent = found["end"] - found["begin"] - found["dead"] - sum(end - begin for begin, end in spans)
    return Loop(
        gaps=Gaps(spans),
        ticks_per_ns=found["ticks_per_ns"],
        true_ticks_per_ns=found["true_ticks_per_ns"],
        floor=found["floor"],
        reads=found["reads"] - len(spans),
        dead=found["dead"],
        spent=spent,
    )


@dataclass(frozen=True)
class Measured:
    """A run of lowlat-measure: its JSON, and its events on the measured CPU."""

    run: Mapping[str, Any]
    gaps: Gaps


def measure(programs: Programs, folder: Path, seconds: float, *options: str) -> Measured:
    events = folder / "lowlat-measure.events"
    done = subprocess.run(
        [programs.harness, "--cpus", str(programs.cpu), "--duration", f"{int(seconds * 1000)}ms",
         "--warmup", "200ms", "--no-oslat", "--events", events, "--json", *options],
        capture_output=True, text=True, check=False, timeout=seconds + 60,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    run = json.loads(done.stdout)
    if run["clock"]["source"] not in ("tsc", "cntvct"):
        needs.absent(f"the run's clock is {run['clock']['source']}, the injectors' is the counter")
    return Measured(run, Gaps(read_spans(events, programs.cpu)))


@contextmanager
def injector(programs: Programs, folder: Path, seconds: int) -> Iterator[None]:
    """Preempt the CPU about once a millisecond; the truth goes to ``folder/inject.truth``."""
    process = subprocess.Popen(
        [programs.folder / "inject", str(programs.cpu), str(seconds), "1", "1000",
         folder / "inject.truth"],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield
        _, wrong = process.communicate(timeout=seconds + 60)
        if process.returncode == NOT_PERMITTED:
            needs.absent(f"the injector: {wrong.strip()}")
        assert process.returncode == 0, wrong
    finally:
        process.kill()
        process.wait()
