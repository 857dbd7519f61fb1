# SPDX-License-Identifier: GPL-2.0-or-later
"""The tick on isolated CPUs: apart, stopped, or kept, and why."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from booted import DMESG, LINE, TIMERS, about, count, lowlat, planned, rows, ticks, timers


@pytest.fixture
def host(tmp_path: Path) -> Path:
    return planned(tmp_path)


def test_ticks_at_once_are_not_apart(host: Path) -> None:
    (host / "proc/timer_list").write_text(TIMERS.replace("8000500000", "8004000000"))
    row = rows(host, 1)["skew_tick"]
    assert row["state"] == "ignored-by-kernel" and "/proc/timer_list" in row["evidence"]


@pytest.mark.parametrize(
    ("now_s", "hertz", "state"),
    [
        (8.0, 1000, "ignored-by-kernel"),
        (86400.0, 1000, "ignored-by-kernel"),
        (86400.0, 250, "effective"),
        (310.0, 250, "unverifiable"),
        (86400.0, 77, "unverifiable"),
    ],
)
def test_ticks_are_apart_by_less_than_a_period(
    host: Path, now_s: float, hertz: int, state: str
) -> None:
    config = host / "boot/config-6.12.107-test"
    config.write_text(re.sub("CONFIG_HZ=.*", "", config.read_text()))
    (host / "proc/timer_list").write_text(timers(0, 1_000_000, now_s=now_s, hertz=hertz))
    assert rows(host, int(state == "ignored-by-kernel"))["skew_tick"]["state"] == state


def test_where_the_kernels_options_are_known_ticks_are_told_apart_at_any_time(host: Path) -> None:
    """After 300 s the count of ticks says nothing."""
    (host / "proc/timer_list").write_text(timers(0, 1_000_000, now_s=310.0, hertz=250))
    assert rows(host, 0)["skew_tick"]["state"] == "effective"


def test_a_stopped_tick_is_effective(host: Path) -> None:
    count(host, [250, 1, 4, 0], spinning="1-2", watching="3")
    found = ticks(host, 0)
    assert set(found) == {f"/proc/interrupts CPU {cpu}" for cpu in (1, 2, 3)}
    assert {row["state"] for row in found.values()} == {"effective"}
    row = found["/proc/interrupts CPU 2"]
    assert (row["name"], row["planned"]) == ("nohz_full", "the tick stops")
    assert row["effective"].startswith("LOC 4.0")


def test_a_tick_that_runs_is_ignored_by_the_kernel(host: Path) -> None:
    with (host / "boot/config-6.12.107-test").open("a") as config:
        config.write("CONFIG_HZ=250\n")
    count(host, [250, 1, 250, 1])
    found = ticks(host, 1)
    row = found["/proc/interrupts CPU 2"]
    assert row["state"] == "ignored-by-kernel"
    assert "LOC 250.0 per second" in row["evidence"] and "250 times (HZ)" in row["evidence"]
    assert found["/proc/interrupts CPU 1"]["state"] == "effective"


@pytest.mark.parametrize(
    ("stops", "words"),
    [
        (
            "traced\nseen 2 TICK 9 SCHED\nseen 2 TICK 90 PERF_EVENTS\nseen 1 TICK 3 RCU\n",
            "timer:tick_stop names a perf event (90 of 99), the scheduler: more than one task, or "
            "a deadline or round-robin task (9 of 99)",
        ),
        ("traced\n", "the kernel did not try to stop it"),
        (
            "traced\nunseen TICK no tracefs is mounted (/sys/kernel/tracing)\n",
            "no tracefs is mounted",
        ),
        ("", "why is not known: it was not recorded"),
    ],
)
def test_why_a_tick_runs_is_read_not_guessed(host: Path, stops: str, words: str) -> None:
    count(host, [250, 1, 250, 1], stops=stops)
    row = ticks(host, 1)["/proc/interrupts CPU 2"]
    assert words in row["evidence"]
    assert "likely" not in row["evidence"]


def test_an_idle_cpu_proves_nothing(host: Path) -> None:
    count(host, [250, 1, 1, 1], spinning="")
    assert {row["state"] for row in ticks(host, 0).values()} == {"unverifiable"}


def test_nothing_is_counted_where_nobody_wants_it(host: Path) -> None:
    count(host, [250, 250, 250, 250])
    assert lowlat("verify", "--root", host, "--duration", "0s").status == 0


def test_without_nohz_full_the_figures_are_only_shown(tmp_path: Path) -> None:
    root = planned(tmp_path, "--disable", "nohz_full")
    count(root, [250, 250, 250, 250])
    row = ticks(root, 0)["/proc/interrupts CPU 1"]
    assert row["state"] == "not-planned" and row["effective"].startswith("LOC 250.0")


def test_without_the_parameter_the_running_tick_is_no_fault_of_the_kernel(host: Path) -> None:
    (host / "proc/cmdline").write_text(LINE.replace("nohz_full=1-3 ", ""))
    count(host, [250, 250, 250, 250])
    assert {row["state"] for row in ticks(host, 1).values()} == {"not-applied"}


_FROM_ITS_START = "tsc: Marking TSC unstable due to TSCs unsynchronized"

_UNSTABLE_TSC = (
    _FROM_ITS_START,
    "clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable because",
    "TSC found unstable after boot, most likely due to broken BIOS. Use 'tsc=unstable'.",
)


@pytest.mark.parametrize("message", _UNSTABLE_TSC)
def test_an_unstable_tsc_keeps_the_tick_unless_it_is_seen_to_stop(host: Path, message: str) -> None:
    (host / "var/log/dmesg").write_text(f"{DMESG}{message}\n")
    count(host, [250, 250, 1, 1])
    boot, one, *_ = about(host, 1, "nohz_full")
    assert boot["state"] == one["state"] == "ignored-by-kernel"
    assert message in one["evidence"]
    count(host, [250, 1, 1, 1])
    boot, *_ = about(host, 0, "nohz_full")
    assert boot["state"] == "effective" and message in boot["evidence"]


@pytest.mark.parametrize(
    ("messages", "state"),
    [
        (_FROM_ITS_START, "effective"),
        (f"{_FROM_ITS_START}\nTSC found unstable after boot", "ignored-by-kernel"),
        ("sched_clock: Marking unstable (1, 2)<-(3, 4)", "ignored-by-kernel"),
    ],
)
def test_only_a_clock_that_becomes_unstable_keeps_the_tick(
    host: Path, messages: str, state: str
) -> None:
    (host / "var/log/dmesg").write_text(f"{DMESG}{messages}\n")
    row = rows(host, int(state != "effective"))["nohz_full"]
    assert row["state"] == state and messages.splitlines()[0] in row["evidence"]


@pytest.mark.parametrize("message", [*_UNSTABLE_TSC, "sched_clock: Marking unstable (1, 2)"])
def test_an_unstable_tsc_contradicts_the_trust_in_it(tmp_path: Path, message: str) -> None:
    host = planned(tmp_path, "--enable", "tsc")
    (host / "var/log/dmesg").write_text(f"{DMESG}{message}\n")
    row = rows(host, 1)["tsc"]
    assert row["state"] == "ignored-by-kernel" and message in row["evidence"]
