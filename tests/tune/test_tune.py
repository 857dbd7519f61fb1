# SPDX-License-Identifier: GPL-2.0-or-later
"""The loop's pure parts: the order of boots, the next step, and the gate. tests/boot runs the loop
itself."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Optional

import pytest

from lowlat.base.errors import Refused, Unmet
from lowlat.boot.status import Running
from lowlat.claim.build import Report
from lowlat.claim.pair import ComparedFigure
from lowlat.claim.throughput import Loss
from lowlat.figures.measure import Key
from lowlat.host.root import Root
from lowlat.measure.options import MeasureChoice
from lowlat.model.cpuset import CpuSet
from lowlat.tune import gate, state
from lowlat.tune.loop import Loop, exclusive_lock
from lowlat.tune.schedule import decide, order
from lowlat.tune.state import STOCK, TUNED, LoopState, MeasuredBoot, Outcome, Phase

RUN = f"{state.RUNS}/tune-20260101T000000Z"

WAITING = LoopState(
    started="20260101T000000Z",
    profile="lowlat",
    plan="0123456789ab",
    kernel="6.12",
    isolated=CpuSet.of([2, 3]),
    measured=CpuSet.of([2, 3]),
    entry="lowlat-6.12-0123456789",
    default="gnulinux-simple",
    duration="10s",
    warmup="5s",
    reboot=False,
    boots=None,
    seed=1,
    order=(STOCK, TUNED),
    phase=Phase.BOOT,
    boot_id="first",
    legs=(MeasuredBoot(STOCK, "first", f"{RUN}-01-stock.json"),),
)


def running(plan: Optional[str], kernel: str = "6.12") -> Running:
    return Running(kernel, plan, plan == WAITING.plan, plan is not None)


# ------------------------------------------------------------------- order


def test_one_trial_measures_this_boot_and_a_tuned_one() -> None:
    assert order(None, 7) == (STOCK, TUNED)


def test_many_boots_come_in_a_random_order_that_the_seed_tells() -> None:
    assert order(5, 7) == order(5, 7)
    assert Counter(order(5, 7)) == {STOCK: 5, TUNED: 5}
    assert len({order(5, seed) for seed in range(80)}) == 18


def test_arms_take_turns_by_pairs_each_in_an_order_as_likely() -> None:
    """Three pairs have eight orders, two of them the same for all pairs, and two in turn. Of 600
    seeds, each of the other four gets about 150."""
    found = Counter(order(3, seed) for seed in range(600))
    assert len(found) == 4
    assert (STOCK, TUNED) * 3 not in found and (TUNED, STOCK) * 3 not in found
    assert all(110 < number < 190 for number in found.values()), found
    assert all(set(order(5, 3)[n : n + 2]) == {STOCK, TUNED} for n in range(0, 10, 2))
    assert {order(1, seed) for seed in range(9)} == {(STOCK, TUNED), (TUNED, STOCK)}


# --------------------------------------------------------------- next step


@pytest.mark.parametrize(
    ("phase", "plan", "kernel", "boot", "step"),
    [
        (Phase.ARM, None, "6.12", "first", Phase.ARM),
        (Phase.ARM, None, "6.12", "second", Phase.ARM),
        (Phase.ARM, WAITING.plan, "6.12", "second", Phase.MEASURE),
        (Phase.BOOT, None, "6.12", "first", Phase.BOOT),
        (Phase.BOOT, WAITING.plan, "6.12", "second", Phase.MEASURE),
        (Phase.BOOT, None, "6.12", "second", None),
        (Phase.BOOT, "of-another", "6.12", "second", None),
        (Phase.BOOT, WAITING.plan, "6.1", "second", None),
        (Phase.MEASURE, WAITING.plan, "6.12", "first", Phase.MEASURE),
        (Phase.MEASURE, None, "6.12", "second", None),
        (Phase.MEASURE, WAITING.plan, "6.12", "second", None),
        (Phase.JUDGE, WAITING.plan, "6.12", "first", Phase.JUDGE),
        (Phase.CLOSE, None, "6.1", "second", Phase.CLOSE),
        (Phase.DONE, None, "6.12", "first", Phase.DONE),
    ],
)
def test_the_next_step_follows_from_the_boot(
    phase: Phase, plan: Optional[str], kernel: str, boot: str, step: Optional[Phase]
) -> None:
    found, why = decide(replace(WAITING, phase=phase), running(plan, kernel), boot)
    assert (None if why else found) is step


@pytest.mark.parametrize(
    ("plan", "kernel", "step", "words"),
    [
        (None, "6.12", Phase.MEASURE, ""),
        (WAITING.plan, "6.12", None, "where the stock one was due"),
        (None, "6.1", None, "Linux 6.1 was booted, not 6.12"),
    ],
)
def test_a_stock_boot_that_is_due_has_no_marker(
    plan: Optional[str], kernel: str, step: Optional[Phase], words: str
) -> None:
    due = replace(WAITING, order=(STOCK, STOCK))
    found, why = decide(due, running(plan, kernel), "second")
    assert (None if why else found) is step and words in why


def test_a_boot_is_thrown_away_wherever_the_kind_changes() -> None:
    order = (STOCK, TUNED, TUNED, STOCK)
    legs = tuple(replace(WAITING.legs[0], arm=arm) for arm in order)
    due = [replace(WAITING, discard=True, order=order, legs=legs[:n]) for n in range(5)]
    assert [one.discards for one in due] == [True, True, False, True, False]
    assert not replace(due[1], discarded=True).discards
    assert not replace(due[1], discard=False).discards


# -------------------------------------------------------------------- gate


def endpoint(name: str, cpu: int | str, before: float, after: float) -> ComparedFigure:
    return ComparedFigure(Key(name, cpu), "1/s", before, after, None, None)


def report(*endpoints: ComparedFigure, emulated: bool = False, verdict: str = "") -> Report:
    word = verdict or "descriptive-only"
    arms = "after", "before", word, "why", (1, 1)
    return Report(*arms, emulated, endpoints, (), (), isolated=True, seconds=(30.0, 30.0))


INTERRUPTS = "interrupts_per_s"
GOOD = (
    endpoint(INTERRUPTS, "all", 100, 1),
    endpoint(INTERRUPTS, 2, 100, 1),
    endpoint(INTERRUPTS, 3, 100, 0),
    endpoint("noise_ppm", "all", 50, 55),
)
ISOLATED = CpuSet.of([2, 3])


def test_the_gate_lets_through_what_is_effective_and_quieter() -> None:
    assert gate.misses(report(*GOOD), ISOLATED, ()) == ()
    assert "100.0 before, 1.00 after" in gate.passed(report(*GOOD))


def test_a_setting_that_is_not_in_effect_is_named_once() -> None:
    (why,) = gate.misses(report(*GOOD), ISOLATED, ("isolcpus", "nohz_full", "isolcpus"))
    assert why == "verify finds not in effect: isolcpus, nohz_full"


@pytest.mark.parametrize("after", [100.0, 101.0])
def test_every_isolated_cpu_has_to_have_fewer_interrupts(after: float) -> None:
    found = (*GOOD[:2], endpoint(INTERRUPTS, 3, 100, after), GOOD[3])
    (why,) = gate.misses(report(*found), ISOLATED, ())
    assert "not lower on CPU 3 " in why


def test_a_cpu_without_a_figure_does_not_pass() -> None:
    (why,) = gate.misses(report(*GOOD), CpuSet.of([2, 3, 4]), ())
    assert "not known on CPU 4" in why
    (why,) = gate.misses(report(*GOOD[:3]), ISOLATED, ())
    assert "noise" in why


def test_noise_may_be_a_tenth_more_and_not_beyond() -> None:
    worse = (*GOOD[:3], endpoint("noise_ppm", "all", 50, 55.1))
    (why,) = gate.misses(report(*worse), ISOLATED, ())
    assert "more than 1.1 times" in why


def test_under_emulation_durations_do_not_count() -> None:
    assert gate.misses(report(*GOOD[:3], emulated=True), ISOLATED, ()) == ()
    assert "noise" not in gate.passed(report(*GOOD, emulated=True))


@pytest.mark.parametrize(
    ("lost", "most", "passes"),
    [(0.02, 0.04, True), (0.02, 0.051, False), (0.06, None, False), (-0.1, None, True)],
)
def test_who_may_lose_more_throughput_than_the_margin_does_not_win(
    lost: float, most: Optional[float], passes: bool
) -> None:
    measured = replace(report(*GOOD), throughput=Loss(lost, most and lost, most, tested=False))
    reasons = gate.misses(measured, ISOLATED, (), 0.05)
    assert bool(reasons) is not passes
    assert all("more than 5 % of the throughput may be lost: throughput ch" in r for r in reasons)
    assert "throughput changed by" in gate.passed(measured)
    # The user did not ask for this.
    assert gate.misses(measured, ISOLATED, ()) == ()
    assert "not known in every boot" in gate.misses(report(*GOOD), ISOLATED, (), 0.05)[0]


def test_runs_that_do_not_compare_do_not_pass() -> None:
    (why,) = gate.misses(report(verdict="refused"), ISOLATED, ())
    assert why == "the runs cannot be compared: why"


# ------------------------------------------------------------------- state


def test_the_state_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    root = Root(str(tmp_path))
    assert state.read(root) is None
    full = replace(
        WAITING,
        legs=(
            *WAITING.legs,
            MeasuredBoot(TUNED, "second", f"{RUN}-02.json", f"{RUN}-v.json", ("nohz_full",)),
        ),
        phase=Phase.DONE,
        outcome=Outcome.FELL_BACK,
        why="because",
        report=f"{RUN}-report.json",
    )
    several = replace(
        WAITING,
        measure=MeasureChoice(policy="other,fifo:1", load="cpu"),
        legs=(replace(WAITING.legs[0], further=(f"{RUN}-01-stock-fifo1.json",)),),
    )
    for written in (WAITING, full, several):
        state.write(root, written)
        assert state.read(root) == written
    kept = json.loads((tmp_path / state.STATE.lstrip("/")).read_text())
    assert (kept["policy"], kept["load"], kept["causes"]) == ("other,fifo:1", "cpu", None)


def test_a_boot_without_a_run_of_each_policy_is_no_state_of_ours(tmp_path: Path) -> None:
    root = Root(str(tmp_path))
    state.write(root, replace(WAITING, measure=MeasureChoice(policy="other,fifo:1")))
    with pytest.raises(Refused, match="is damaged"):
        state.read(root)


def test_who_holds_an_old_state_moves_nothing(tmp_path: Path) -> None:
    root = Root(str(tmp_path))
    state.write(root, WAITING)
    mine, other = Loop(root, WAITING), Loop(root, WAITING)
    other.end(Outcome.ABORTED, "--abort")
    with pytest.raises(Unmet, match="another lowlat-gen"):
        mine.end(Outcome.FELL_BACK, "because")
    assert state.read(root) == other.state


def test_one_at_a_time_has_the_turn(tmp_path: Path) -> None:
    root = Root(str(tmp_path))
    with exclusive_lock(root), pytest.raises(Refused, match="at work"), exclusive_lock(root):
        pass
    with exclusive_lock(root):
        pass
