# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs that several tests and the table use; each is made only once. (PYTEST_DONT_REWRITE)"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from gaps import Gaps, Recall, read_spans, recall
from programs import FULL, Loop, Measured, Programs, injector, measure, run_loop
from stalls import SIZES, Score, read_truth, score, write_plan

TEN_SECONDS = 10_000_000_000
INJECT_SECONDS = 60 if FULL else 6


@dataclass(frozen=True)
class Exact:
    """Exact stalls in one method's loop."""

    threshold_ns: int
    loop: Loop
    score: Score


def lowest_threshold(programs: Programs, folder: Path) -> int:
    """The threshold to which the harness raises its minimum on this machine."""
    return int(measure(programs, folder, 0.1, "--threshold", "50ns").run["threshold_ns"])


def stalled(programs: Programs, folder: Path, method: str, threshold_ns: int, *more: int) -> Exact:
    """``more``: lengths in ns that are stalled once each, in addition to all others."""
    plan = write_plan(folder / "plan", {**SIZES, **dict.fromkeys(more, 1)})
    loop = run_loop(programs, method, folder, threshold_ns, 600, plan)
    truth = read_truth(folder / f"{method}.truth")
    return Exact(threshold_ns, loop, score(truth, loop, threshold_ns))


@pytest.fixture(scope="session")
def exact(programs: Programs, tmp_path_factory: pytest.TempPathFactory) -> Exact:
    """lowlat's loop at the default threshold, raised as the harness would."""
    folder = tmp_path_factory.mktemp("exact")
    threshold_ns = max(100, lowest_threshold(programs, folder))
    return stalled(programs, folder, "lowlat", threshold_ns, TEN_SECONDS)


@dataclass(frozen=True)
class Preempted:
    """A run that the SCHED_FIFO injector disturbed."""

    recall: Recall
    #: The excess of the gap over the preemption that it contains, us.
    longer_us: tuple[float, ...]


def preempted(gaps: Gaps, truth: Path, ticks_per_ns: float) -> Preempted:
    spans = read_spans(truth)
    around = [(gaps.around(span), span) for span in spans]
    longer = [gap[1] - gap[0] - span[1] + span[0] for gap, span in around if gap]
    return Preempted(recall(spans, gaps), tuple(ticks / ticks_per_ns / 1000 for ticks in longer))


@pytest.fixture(scope="session")
def preempted_harness(
    programs: Programs, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Measured, Preempted]:
    """The same for lowlat-measure itself."""
    folder = tmp_path_factory.mktemp("preempted")
    with injector(programs, folder, INJECT_SECONDS):
        measured = measure(programs, folder, INJECT_SECONDS - 0.5)
    rate = measured.run["clock"]["hz"] / 1e9
    return measured, preempted(measured.gaps, folder / "inject.truth", rate)
